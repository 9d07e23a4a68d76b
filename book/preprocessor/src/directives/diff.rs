//! `{{#diff 4 5 | hunks 2-3}}`: what changed between two rungs.
use anyhow::{Context, Result, bail};
use transcript::CommandLine;

use super::{Directive, Shown, options};
use crate::fence::fenced;
use crate::world::World;

/// Two rungs, and which of the changes are shown.
pub struct Diff {
    command: CommandLine,
    hunks: Option<(usize, usize)>,
}

impl Diff {
    pub fn read(words: &str) -> Result<Self> {
        let (rungs, rest) = options::split(words);
        let [from, to] = rungs.split_whitespace().collect::<Vec<_>>()[..] else {
            bail!("`{{{{#diff 4 5}}}}` takes two rungs");
        };
        let options = options::named(rest, &["hunk", "hunks"])?;
        let hunks = match options[..] {
            [] => None,
            [(_, range)] => Some(numbers(range).context("`| hunks 2-3` takes numbers from 1")?),
            _ => bail!("either `| hunk 2` or `| hunks 2-3`"),
        };
        Ok(Self {
            command: format!("cargo ladder diff {from} {to}").parse()?,
            hunks,
        })
    }
}

/// `2` or `2-3`.
fn numbers(range: &str) -> Option<(usize, usize)> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

impl Directive for Diff {
    fn commands(&self, _: &World) -> Vec<CommandLine> {
        vec![self.command.clone()]
    }

    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let text = world.success(&self.command)?;
        let text = match self.hunks {
            None => text.to_owned(),
            Some((first, last)) => {
                hunks(text, first, last).with_context(|| format!("`{}`", self.command.text))?
            }
        };
        let listing = fenced("diff", &text);
        Ok(Shown::Block(format!(
            "<div class=\"listing\">\n<p class=\"where\"><code>{}</code></p>\n\n{listing}\n</div>\n",
            self.command.text
        )))
    }
}

/// The hunks with these numbers, below the names of the files.
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
            assert!(Diff::read(wrong).is_err(), "{wrong}");
        }
        assert!(Diff::read("04 05 | hunks 1-2").is_ok());
    }
}
