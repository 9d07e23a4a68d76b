//! `{{#predict` … `}}`: the reader says a number before it is shown.
use anyhow::{Context, Result, bail};
use regex::Regex;
use serde::Deserialize;
use transcript::CommandLine;

use super::{Directive, Shown};
use crate::svg::escape;
use crate::world::World;

/// A question whose answer a command gives.
pub struct Predict {
    question: String,
    command: CommandLine,
    take: Take,
    unit: String,
    wrong: Vec<Wrong>,
    why: String,
}

/// What of an output is the answer.
enum Take {
    Pointer(String),
    Regex(Regex),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    question: String,
    answer: Answer,
    #[serde(default)]
    unit: String,
    #[serde(default)]
    wrong: Vec<Wrong>,
    why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    run: String,
    pointer: Option<String>,
    regex: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    value: f64,
    reply: String,
}

impl Predict {
    pub fn read(body: &str) -> Result<Self> {
        let written: Written = toml::from_str(body).context("the TOML of a prediction")?;
        let take = match (written.answer.pointer, written.answer.regex) {
            (Some(pointer), None) => Take::Pointer(pointer),
            (None, Some(regex)) => {
                let regex = Regex::new(&regex).with_context(|| format!("`{regex}`"))?;
                if regex.captures_len() != 2 {
                    bail!("`{regex}` needs one group, around the number");
                }
                Take::Regex(regex)
            }
            _ => bail!("`answer` takes a `run` and either a `pointer` or a `regex`"),
        };
        Ok(Self {
            question: written.question,
            command: written.answer.run.parse()?,
            take,
            unit: written.unit,
            wrong: written.wrong,
            why: written.why,
        })
    }

    /// The number in what the command printed.
    fn answer(&self, output: &str) -> Result<f64> {
        let text = match &self.take {
            Take::Pointer(pointer) => {
                let json: serde_json::Value =
                    serde_json::from_str(output).context("its output is not JSON")?;
                match json.pointer(pointer) {
                    Some(serde_json::Value::Number(number)) => number.to_string(),
                    Some(serde_json::Value::String(text)) => text.clone(),
                    Some(_) => bail!("`{pointer}` is no number"),
                    None => bail!("its output has no `{pointer}`"),
                }
            }
            Take::Regex(regex) => {
                let found = regex.captures(output).and_then(|found| found.get(1));
                found
                    .with_context(|| format!("`{regex}` is not found in its output"))?
                    .as_str()
                    .to_owned()
            }
        };
        let number: Option<f64> = text.replace(',', "").trim().parse().ok();
        number
            .filter(|number| number.is_finite())
            .with_context(|| format!("`{text}` is no number"))
    }
}

impl Directive for Predict {
    fn commands(&self) -> Vec<CommandLine> {
        vec![self.command.clone()]
    }

    fn show(&self, world: &World, id: &str) -> Result<Shown> {
        let output = world.output(&self.command)?;
        let answer = self
            .answer(&output.text)
            .with_context(|| format!("`{}`", self.command.text))?;
        if let Some(wrong) = self.wrong.iter().find(|wrong| wrong.value == answer) {
            bail!(
                "{} is listed as wrong, but `{}` says that it is right",
                wrong.value,
                self.command.text
            );
        }
        let wrong: String = self
            .wrong
            .iter()
            .map(|wrong| {
                format!(
                    "<p class=\"reply\" hidden data-value=\"{}\">{}</p>\n",
                    wrong.value,
                    escape(&wrong.reply)
                )
            })
            .collect();
        let unit = if self.unit.is_empty() {
            String::new()
        } else {
            format!(" {}", self.unit)
        };
        Ok(Shown::Block(format!(
            "<div class=\"predict\" id=\"{id}\" data-answer=\"{answer}\" data-unit=\"{}\">\n<div class=\"question\">\n\n\
             {}\n\n</div>\n{wrong}<details>\n<summary>The answer</summary>\n\n**{}{unit}.** {}\n\n\
             `{}`\n\n</details>\n</div>\n",
            escape(&self.unit),
            self.question.trim(),
            grouped(answer),
            self.why.trim(),
            self.command.text
        )))
    }
}

/// A number with commas between groups of three digits.
pub fn grouped(number: f64) -> String {
    let text = number.to_string();
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    format!("{sign}{}{rest}", groups.join(","))
}
