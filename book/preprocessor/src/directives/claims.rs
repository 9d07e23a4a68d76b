//! `{{#claims}}`: the page of claims, made from `book/claims.toml`. A claim whose checks say otherwise is an error.
use anyhow::{Context, Result, anyhow, bail, ensure};
use regex::RegexBuilder;
use serde::Deserialize;
use transcript::CommandLine;

use super::{Directive, Shown, run};
use crate::world::{World, exit_code};

const FILE: &str = "book/claims.toml";

/// The directive, which has no words.
pub struct Claims;

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    claim: Vec<Claim>,
}

/// What is commonly written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    id: String,
    group: String,
    says: String,
    source: String,
    verdict: Verdict,
    truth: String,
    page: String,
    check: Vec<Check>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum Verdict {
    #[serde(rename = "wrong")]
    Wrong,
    #[serde(rename = "true")]
    True,
    #[serde(rename = "not always")]
    NotAlways,
}

/// What says so.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a check has `run` and `shows`, perhaps with `exit`, `below`, `above`; or `file` and `shows`; or `ptx` and `says`"
)]
enum Check {
    Run(Told),
    File(Held),
    Ptx(Written),
}

/// By a command.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Told {
    run: String,
    #[serde(default)]
    exit: i32,
    shows: Vec<String>,
    below: Option<f64>,
    above: Option<f64>,
}

/// By a file of the repository.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    file: String,
    shows: Vec<String>,
}

/// By the PTX ISA.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    ptx: String,
    says: String,
}

impl Claims {
    pub(super) fn read(words: &str) -> Result<Self> {
        ensure!(words.is_empty(), "`{{{{#claims}}}}` takes no words");
        Ok(Self)
    }
}

impl Directive for Claims {
    fn commands(&self, world: &World) -> Vec<CommandLine> {
        // What is wrong with the list is said when it is shown.
        let claims = list(world).unwrap_or_default();
        let checks = claims.iter().flat_map(|claim| &claim.check);
        checks
            .filter_map(|check| match check {
                Check::Run(told) => told.run.parse().ok(),
                Check::File(_) | Check::Ptx(_) => None,
            })
            .collect()
    }

    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let claims = list(world)?;
        let mut text = contents(&claims);
        let mut wrong = Vec::new();
        let mut group = "";
        for claim in &claims {
            if claim.group != group {
                group = &claim.group;
                text += &format!("## {group}\n\n");
            }
            match claim.show(world) {
                Ok(shown) => text += &shown,
                Err(error) => wrong.push(format!("claim {}: {error:#}", claim.id)),
            }
        }
        ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
        Ok(Shown::Block(text))
    }
}

fn list(world: &World) -> Result<Vec<Claim>> {
    let list: List = toml::from_str(&world.read(FILE)?).context(FILE)?;
    for (index, claim) in list.claim.iter().enumerate() {
        let id = &claim.id;
        let twice = list.claim[..index].iter().any(|other| other.id == *id);
        ensure!(!twice, "{FILE}: {id} stands there twice");
        ensure!(
            !claim.check.is_empty(),
            "{FILE}: nothing is checked for {id}"
        );
        world
            .read(&format!("book/src/{}", claim.page))
            .with_context(|| format!("{FILE}: the page of {id}"))?;
    }
    Ok(list.claim)
}

/// A table of all, so that the answer is found without reading the page.
fn contents(claims: &[Claim]) -> String {
    let rows = claims.iter().map(|claim| {
        let cell = |text: &str| text.replace('|', "\\|");
        format!(
            "| {} | [{}](#{}) |\n",
            cell(&claim.says),
            claim.verdict.word(),
            claim.id
        )
    });
    format!(
        "| it is said | verdict |\n| --- | --- |\n{}\n",
        rows.collect::<String>()
    )
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::True => "true",
            Self::NotAlways => "not always",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Self::Wrong => "warn",
            Self::True => "good",
            Self::NotAlways => "muted",
        }
    }
}

impl Claim {
    fn show(&self, world: &World) -> Result<String> {
        let mut text = format!(
            "<a id=\"{}\"></a>\n\n> {}\n>\n> ({})\n\n<b class=\"{}\">{}.</b> {} [More]({}).\n\n",
            self.id,
            self.says,
            self.source,
            self.verdict.class(),
            capital(self.verdict.word()),
            self.truth,
            self.page,
        );
        for check in &self.check {
            text += &check.show(world)?;
            text.push('\n');
        }
        Ok(text)
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}

impl Check {
    fn show(&self, world: &World) -> Result<String> {
        match self {
            Self::Run(told) => told.show(world),
            Self::File(held) => {
                let text = world.read(&held.file)?;
                let lines =
                    matching(&text, &held.shows, None, None).with_context(|| held.file.clone())?;
                Ok(run::listing(&format!("in {}", held.file), &lines))
            }
            Self::Ptx(Written { ptx, says }) => Ok(format!(
                "Settled by the document, not run here: PTX ISA, “{ptx}”: {says}.\n"
            )),
        }
    }
}

impl Told {
    fn show(&self, world: &World) -> Result<String> {
        let command: CommandLine = self.run.parse()?;
        let output = world.output(&command)?;
        exit_code(&command, output, self.exit)?;
        let text = format!("{}{}", output.text, output.errors);
        let lines = matching(&text, &self.shows, self.below, self.above)
            .with_context(|| format!("`{}`", self.run))?;
        Ok(run::block(&self.run, &lines))
    }
}

/// The lines in which the expressions are found, each once, in the order of the text.
fn matching(
    text: &str,
    shows: &[String],
    below: Option<f64>,
    above: Option<f64>,
) -> Result<String> {
    ensure!(!shows.is_empty(), "nothing is to be shown");
    let mut found = Vec::new();
    for expression in shows {
        let regex = RegexBuilder::new(expression).multi_line(true).build()?;
        let groups = regex
            .captures(text)
            .with_context(|| format!("nothing matches `{expression}`"))?;
        let place = groups.get(0).map_or(0, |whole| whole.start());
        let number = text[..place].matches('\n').count();
        found.push((number, cut(text.lines().nth(number).unwrap_or_default())));
        if below.is_some() || above.is_some() {
            let value = groups
                .get(1)
                .with_context(|| format!("`{expression}` has no group for the number"))?;
            let value: f64 = value.as_str().replace(',', "").parse()?;
            if below.is_some_and(|limit| value >= limit)
                || above.is_some_and(|limit| value <= limit)
            {
                bail!("{value} is not what was said of it");
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    let mut before = None;
    let mut lines = String::new();
    for (number, line) in found {
        if before.map_or(number, |before: usize| number - before - 1) > 0 {
            lines += "…\n";
        }
        lines += &line;
        lines.push('\n');
        before = Some(number);
    }
    Ok(lines)
}

/// A line, or its two ends if it is too long for a page.
fn cut(line: &str) -> String {
    const LONGEST: usize = 120;
    let letters: Vec<char> = line.chars().collect();
    if letters.len() <= LONGEST {
        return line.to_owned();
    }
    let part = |range: &[char]| range.iter().collect::<String>();
    let half = LONGEST / 2;
    format!(
        "{} … {}",
        part(&letters[..half]).trim_end(),
        part(&letters[letters.len() - half..]).trim_start()
    )
}

/// All that is wrong with the list, for a test that has no mdBook: none if every claim is what its checks say.
///
/// # Errors
/// The first thing that is wrong with the list itself, or all claims whose checks say otherwise.
pub fn check(root: &std::path::Path) -> Result<usize> {
    let (page, problems) = crate::page::Page::read("claims.md".into(), "{{#claims}}\n");
    ensure!(problems.is_empty(), "the page cannot be read");
    let world = World::of(root, &[&page]);
    let (_, problems) = page.show(&world);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    if !problems.is_empty() {
        return Err(anyhow!(problems.join("\n")));
    }
    Ok(list(&world)?.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(text: &str, shows: &[&str], below: Option<f64>) -> Result<String, String> {
        let shows: Vec<String> = shows.iter().map(|&show| show.into()).collect();
        matching(text, &shows, below, None).map_err(|error| error.to_string())
    }

    #[test]
    fn lines_are_shown_once_and_in_order() {
        let text = "a 1\nb 2\nc 3\nd 4\n";
        assert_eq!(
            matched(text, &["c", "3$", "^a"], None),
            Ok("a 1\n…\nc 3\n".into())
        );
        assert_eq!(matched(text, &["b", "c"], None), Ok("…\nb 2\nc 3\n".into()));
        assert!(matched(text, &["e"], None).is_err_and(|why| why.contains("`e`")));
        assert!(matched(text, &[], None).is_err());
    }

    #[test]
    fn numbers_are_held_against_what_is_said() {
        assert!(matched("x 3.1\n", &["x (.*)"], Some(8.0)).is_ok());
        assert!(matched("x 8.0\n", &["x (.*)"], Some(8.0)).is_err());
        assert!(matched("x 3.1\n", &["x .*"], Some(8.0)).is_err());
    }

    #[test]
    fn a_verdict_that_a_command_contradicts_is_an_error() {
        let text = r#"
            [[claim]]
            id = "a"
            group = "g"
            says = "s"
            source = "x"
            verdict = "wrong"
            truth = "t"
            page = "start.md"
            check = [{ run = "cargo ladder round '1 * 1'", shows = ['one k16 .* 2$'] }]
        "#;
        let list: List = toml::from_str(text).expect("a list");
        let command: CommandLine = "cargo ladder round '1 * 1'".parse().expect("a command");
        let output = transcript::Output {
            code: Some(0),
            text: "  one k16   0x3f800000   1\n".into(),
            errors: String::new(),
        };
        let outputs = [(command, Ok(output))].into();
        let world = World::new(std::path::Path::new("."), outputs);
        let error = list.claim[0]
            .show(&world)
            .expect_err("it says 1")
            .to_string();
        assert!(error.contains("1 * 1"), "{error}");
        assert!(toml::from_str::<List>(&text.replace("shows", "show")).is_err());
    }
}
