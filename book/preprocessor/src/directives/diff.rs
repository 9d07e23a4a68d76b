//! `{{#diff 4 5 | hunks 2-3}}`: the changes between two rungs.
use anyhow::{Context, Result, bail};
use transcript::CommandLine;

use super::code::listed;
use super::{Directive, options};
use crate::fence::fenced;

/// Two rungs, and the hunks to show.
pub fn read(words: &str) -> Result<Directive> {
    let (rungs, rest) = options::split(words);
    let [from, to] = rungs.split_whitespace().collect::<Vec<_>>()[..] else {
        bail!("`{{{{#diff 4 5}}}}` takes two rungs");
    };
    let options = options::named(rest, &["hunk", "hunks"])?;
    let shown = match options[..] {
        [] => None,
        [(_, range)] => Some(numbers(range).context("`| hunks 2-3` takes numbers from 1")?),
        _ => bail!("either `| hunk 2` or `| hunks 2-3`"),
    };
    let command: CommandLine = format!("cargo ladder diff {from} {to}").parse()?;
    Ok(Directive::of_command(command.clone(), move |world, _| {
        let text = world.success(&command)?;
        let text = match shown {
            None => text.to_owned(),
            Some((first, last)) => {
                hunks(text, first, last).with_context(|| format!("`{}`", command.text))?
            }
        };
        let place = format!("<code>{}</code>", command.text);
        Ok(listed(&place, &fenced("diff", &text)))
    }))
}

/// `2` or `2-3`.
fn numbers(range: &str) -> Option<(usize, usize)> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

/// The hunks with these numbers, below the file names.
fn hunks(text: &str, first: usize, last: usize) -> Result<String> {
    let mut number = 0;
    let shown: Vec<&str> = text
        .lines()
        .filter(|line| {
            number += usize::from(line.starts_with("@@"));
            number == 0 || (first..=last).contains(&number)
        })
        .collect();
    if number < last {
        bail!("there are {number} hunks, so there is no hunk {last}");
    }
    Ok(shown.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_by_their_number() {
        let text = "--- a\n+++ b\n@@ 1\n-x\n@@ 2\n-y\n@@ 3\n-z\n";
        assert_eq!(hunks(text, 2, 2).expect("there"), "--- a\n+++ b\n@@ 2\n-y");
        assert_eq!(
            hunks(text, 2, 3).expect("there"),
            "--- a\n+++ b\n@@ 2\n-y\n@@ 3\n-z"
        );
        assert!(hunks(text, 3, 4).is_err_and(|why| why.to_string().contains("3 hunks")));
    }

    #[test]
    fn words_are_checked() {
        for wrong in [
            "4",
            "4 5 6",
            "4 5 | hunk 0",
            "4 5 | hunks 3-2",
            "4 5 | lines 2",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read("04 05 | hunks 1-2").is_ok());
    }
}
