//! Listings in Markdown: where they begin and end, and how to write one.

/// Tracks listings line by line.
#[derive(Default)]
pub struct Fences {
    open: Option<(char, usize)>,
}

impl Fences {
    /// Whether the next line belongs to a listing, including its first and last line.
    pub fn inside(&mut self, line: &str) -> bool {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| line.chars().take_while(|&c| c == mark).count());
        match (self.open, mark) {
            (Some((open, least)), _) => {
                let only_marks = line.chars().all(|c| c == open);
                if mark == Some(open) && length >= least && only_marks {
                    self.open = None;
                }
                true
            }
            (None, Some(mark)) if length >= 3 => {
                // Three backticks with more after them on the same line are a code span.
                let span = mark == '`' && line[length..].contains('`');
                if !span {
                    self.open = Some((mark, length));
                }
                !span
            }
            (None, _) => false,
        }
    }
}

/// Tracks text outside of listings line by line: text between `<details>` and `</details>` is folded.
#[derive(Default)]
pub struct Folds {
    /// Whether the previous line was inside.
    pub open: bool,
}

impl Folds {
    /// Consumes the next line.
    pub fn follow(&mut self, line: &str) {
        self.open = (self.open || line.contains("<details>")) && !line.contains("</details>");
    }
}

/// A listing in this language.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!(
        "{fence}{language}\n{}\n{fence}\n",
        text.trim_end_matches('\n')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_are_followed() {
        let text = "a\n```cpp\n~~~\n````\nb\n~~~~\n```\n~~~\n```x`\n";
        let mut fences = Fences::default();
        let inside: Vec<bool> = text.lines().map(|line| fences.inside(line)).collect();
        assert_eq!(
            inside,
            [false, true, true, true, false, true, true, true, true]
        );
    }

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("text", "a\n"), "```text\na\n```\n");
        assert_eq!(fenced("text", "a\n```\n"), "````text\na\n```\n````\n");
    }
}
