//! A command as the reader types it.
use std::str::FromStr;

use crate::Error;

/// `cargo run -p PACKAGE [-- …]` or `cargo ladder …`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandLine {
    /// The command as typed.
    pub text: String,
    /// The package, which is also the executable's name.
    pub package: String,
    /// The executable's arguments.
    pub arguments: Vec<String>,
}

impl FromStr for CommandLine {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let words = shlex::split(text).ok_or_else(|| Error::OpenQuote(text.into()))?;
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (package, arguments) = match &words[..] {
            ["cargo", "run", "-p", package] => (*package, &[][..]),
            ["cargo", "run", "-p", package, "--", arguments @ ..] => (*package, arguments),
            ["cargo", "ladder", arguments @ ..] => ("ladder", arguments),
            _ => return Err(Error::NotOurs(text.into())),
        };
        // The name becomes a path and an argument of cargo.
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if package.starts_with('-') || !package.chars().all(plain) {
            return Err(Error::NotOurs(text.into()));
        }
        Ok(Self {
            text: text.to_owned(),
            package: package.to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(String, Vec<String>), String> {
        let line: CommandLine = text.parse().map_err(|error: Error| error.to_string())?;
        Ok((line.package, line.arguments))
    }

    #[test]
    fn ours_and_no_others() {
        let words = |words: &[&str]| words.iter().map(|&word| word.into()).collect::<Vec<_>>();
        for (text, package, arguments) in [
            ("cargo run -p rung03_padded", "rung03_padded", &[][..]),
            (
                "cargo run -p labs -- map --rows 8",
                "labs",
                &["map", "--rows", "8"],
            ),
            (
                "cargo ladder layout map 'col ^ (row & 7)'",
                "ladder",
                &["layout", "map", "col ^ (row & 7)"],
            ),
        ] {
            assert_eq!(parsed(text), Ok((package.into(), words(arguments))));
        }
        for text in [
            "",
            "rm -r x",
            "cargo run -p ../x",
            "cargo run -p --release",
            "cargo test",
        ] {
            assert!(
                parsed(text).is_err_and(|why| why.contains("neither")),
                "{text}"
            );
        }
        assert!(parsed("cargo ladder map 'x").is_err_and(|why| why.contains("quotation")));
    }
}
