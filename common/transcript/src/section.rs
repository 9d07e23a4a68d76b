//! A section of a Markdown file.

/// The lines below the heading whose link is `name`, up to the next heading of the same or a higher level; `None` if
/// there is no such heading. A heading's link is its title in lower case with hyphens for blanks.
pub fn section<'a>(markdown: &'a str, name: &str) -> Option<Vec<&'a str>> {
    let rank = |line: &str| match line.split_once(' ') {
        Some((marks, _)) if !marks.is_empty() && marks.bytes().all(|byte| byte == b'#') => {
            Some(marks.len())
        }
        _ => None,
    };
    let link = |line: &str| {
        line.trim_start_matches('#')
            .trim()
            .to_lowercase()
            .replace(' ', "-")
    };
    let mut lines = markdown.lines();
    let own = lines.find_map(|line| rank(line).filter(|_| link(line) == name))?;
    Some(
        lines
            .take_while(|line| rank(line).is_none_or(|rank| rank > own))
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_rank() {
        let text = "# T\n## By rung\na\n### more\nb\n## Other one\n#hash\nc\n";
        assert_eq!(section(text, "by-rung"), Some(vec!["a", "### more", "b"]));
        assert_eq!(section(text, "other-one"), Some(vec!["#hash", "c"]));
        assert_eq!(section(text, "more"), Some(vec!["b"]));
        assert_eq!(section(text, "third"), None);
    }
}
