//! `{{#claims}}`: the page of claims, generated from `book/claims.toml`. A claim that contradicts its checks is an
//! error.
use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use regex::RegexBuilder;
use serde::Deserialize;
use transcript::CommandLine;

use super::{Directive, run};
use crate::world::{World, exit_code};

const FILE: &str = "book/claims.toml";

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    claim: Vec<Claim>,
}

/// A common claim.
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

#[derive(Deserialize)]
enum Verdict {
    #[serde(rename = "wrong")]
    Wrong,
    #[serde(rename = "true")]
    True,
    #[serde(rename = "not always")]
    NotAlways,
}

/// The evidence.
#[derive(Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a check has `run` and `shows`, perhaps with `exit`, `below`, `above`; or `file` and `shows`; or `ptx` and `says`"
)]
enum Check {
    /// By a command.
    Run {
        run: String,
        #[serde(default)]
        exit: i32,
        shows: Vec<String>,
        below: Option<f64>,
        above: Option<f64>,
    },
    /// By a file of the repository.
    File { file: String, shows: Vec<String> },
    /// By the PTX ISA.
    Ptx { ptx: String, says: String },
}

/// The directive, which has no arguments.
pub(super) fn directive() -> Directive {
    Directive {
        commands: Box::new(commands),
        ..Directive::block(|world, _| show(world))
    }
}

fn commands(world: &World) -> Vec<CommandLine> {
    // Errors in the list are reported when it is shown.
    let claims = list(world).unwrap_or_default();
    let checks = claims.iter().flat_map(|claim| &claim.check);
    let commands = checks.filter_map(|check| match check {
        Check::Run { run, .. } => run.parse().ok(),
        Check::File { .. } | Check::Ptx { .. } => None,
    });
    commands.collect()
}

fn show(world: &World) -> Result<String> {
    let claims = list(world)?;
    let mut text = contents(&claims);
    let mut wrong = Vec::new();
    for group in claims.chunk_by(|one, other| one.group == other.group) {
        text += &format!("## {}\n\n", group[0].group);
        for claim in group {
            match claim.show(world) {
                Ok(shown) => text += &shown,
                Err(error) => wrong.push(format!("claim {}: {error:#}", claim.id)),
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(text)
}

fn list(world: &World) -> Result<Vec<Claim>> {
    let list: List = toml::from_str(&world.read(FILE)?).context(FILE)?;
    for (index, claim) in list.claim.iter().enumerate() {
        let id = &claim.id;
        let twice = list.claim[..index].iter().any(|other| other.id == *id);
        ensure!(!twice, "{FILE}: the id {id} occurs twice");
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

/// An overview table, so that the answer can be found without reading the page.
fn contents(claims: &[Claim]) -> String {
    let rows = claims.iter().map(|claim| {
        let cell = |text: &str| text.replace('|', "\\|");
        format!(
            "| {} | [{}](#{}) |\n",
            cell(&claim.says),
            claim.verdict.shown().0.to_lowercase(),
            claim.id
        )
    });
    format!(
        "| claim | verdict |\n| --- | --- |\n{}\n",
        rows.collect::<String>()
    )
}

impl Verdict {
    /// The verdict, capitalized, and its CSS class.
    fn shown(&self) -> (&'static str, &'static str) {
        match self {
            Self::Wrong => ("Wrong", "warn"),
            Self::True => ("True", "good"),
            Self::NotAlways => ("Not always", "muted"),
        }
    }
}

impl Claim {
    fn show(&self, world: &World) -> Result<String> {
        let (verdict, class) = self.verdict.shown();
        let mut text = format!(
            "<a id=\"{}\"></a>\n\n> {}\n>\n> ({})\n\n<b class=\"{class}\">{verdict}.</b> {} [More]({}).\n\n",
            self.id, self.says, self.source, self.truth, self.page,
        );
        for check in &self.check {
            text += &check.show(world)?;
            text.push('\n');
        }
        Ok(text)
    }
}

impl Check {
    fn show(&self, world: &World) -> Result<String> {
        match self {
            Self::Run {
                run,
                exit,
                shows,
                below,
                above,
            } => {
                let command: CommandLine = run.parse()?;
                let output = world.output(&command)?;
                exit_code(&command, output, *exit)?;
                let text = format!("{}{}", output.text, output.errors);
                let lines = matching(&text, shows, *below, *above);
                let lines = lines.with_context(|| format!("`{run}`"))?;
                Ok(run::some_lines(world, &command, &lines))
            }
            Self::File { file, shows } => {
                let lines = matching(&world.read(file)?, shows, None, None);
                let lines = lines.with_context(|| file.clone())?;
                Ok(run::listing(&format!("in {file}"), &lines))
            }
            Self::Ptx { ptx, says } => Ok(format!(
                "Settled by the document, not run here: PTX ISA, “{ptx}”: {says}.\n"
            )),
        }
    }
}

/// The lines in which the expressions match, each once, in order.
fn matching(
    text: &str,
    shows: &[String],
    below: Option<f64>,
    above: Option<f64>,
) -> Result<String> {
    ensure!(
        !shows.is_empty(),
        "`shows` is empty: name at least one expression"
    );
    let mut found = BTreeMap::new();
    for expression in shows {
        let regex = RegexBuilder::new(expression).multi_line(true).build()?;
        let groups = regex
            .captures(text)
            .with_context(|| format!("nothing matches `{expression}`"))?;
        let place = groups.get(0).map_or(0, |whole| whole.start());
        let number = text[..place].matches('\n').count();
        found.insert(number, cut(text.lines().nth(number).unwrap_or_default()));
        if below.is_some() || above.is_some() {
            let value = groups
                .get(1)
                .with_context(|| format!("`{expression}` has no group for the number"))?;
            let value: f64 = value.as_str().replace(',', "").parse()?;
            ensure!(
                below.is_none_or(|limit| value < limit) && above.is_none_or(|limit| value > limit),
                "{value} is not within the bounds `below` and `above`"
            );
        }
    }
    let (mut lines, mut next) = (String::new(), 0);
    for (number, line) in found {
        if number > next {
            lines += "…\n";
        }
        lines += &format!("{line}\n");
        next = number + 1;
    }
    Ok(lines)
}

/// A line, shortened to its two ends if it is too long for a page.
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

/// All errors in the list, for a test without mdBook: none if every claim agrees with its checks.
///
/// # Errors
/// The first error in the list itself, or all claims that contradict their checks.
pub fn check(root: &std::path::Path) -> Result<usize> {
    let (page, problems) = crate::page::Page::read("claims.md".into(), "{{#claims}}\n");
    ensure!(problems.is_empty(), "the page cannot be read");
    let world = World::of(root, &[&page]);
    let (_, problems) = page.show(&world);
    let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
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
    fn numbers_are_compared_with_their_bounds() {
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
