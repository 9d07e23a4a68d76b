//! A directive's options, which follow its arguments after ` | `.
use anyhow::{Result, bail};

/// Splits at the first ` | ` outside of quotation marks.
pub fn split(text: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, '|') if text[..at].ends_with(' ') && text[at + 1..].starts_with(' ') => {
                return (text[..at].trim_end(), Some(text[at + 1..].trim_start()));
            }
            _ => {}
        }
    }
    (text, None)
}

/// Parses `from TEXT | to TEXT` as names and values; each name occurs at most once.
pub fn named<'a>(text: Option<&'a str>, names: &[&str]) -> Result<Vec<(&'a str, &'a str)>> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for option in text.into_iter().flat_map(|text| text.split(" | ")) {
        let (name, value) = option.trim().split_once(' ').unwrap_or((option.trim(), ""));
        if !names.contains(&name) || value.trim().is_empty() {
            bail!(
                "`| {option}` is none of {}, each with a value",
                names.join(", ")
            );
        }
        if found.iter().any(|(other, _)| *other == name) {
            bail!("`| {name}` occurs twice here");
        }
        found.push((name, value.trim()));
    }
    Ok(found)
}

/// The value of an option.
pub fn value<'a>(options: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    options
        .iter()
        .find(|(other, _)| *other == name)
        .map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bar_outside_quotes() {
        assert_eq!(split("a b"), ("a b", None));
        assert_eq!(split("a 'x | y' | c | d"), ("a 'x | y'", Some("c | d")));
        assert_eq!(split("a|b"), ("a|b", None));
    }

    #[test]
    fn options_have_names_and_values() {
        let found = named(Some("from a b | exit 1"), &["from", "exit"]).expect("understood");
        assert_eq!(found, [("from", "a b"), ("exit", "1")]);
        assert_eq!(value(&found, "exit"), Some("1"));
        assert_eq!(value(&found, "to"), None);
        for wrong in ["to x", "from", "from a | from b"] {
            assert!(named(Some(wrong), &["from"]).is_err(), "{wrong}");
        }
    }
}
