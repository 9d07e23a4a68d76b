//! `{{#predict` … `}}`: the reader predicts a number before it is shown.
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use html_escape::encode_double_quoted_attribute as escape;
use serde::Deserialize;
use transcript::CommandLine;

use super::Directive;
use super::lines::Lines;
use super::number::{Take, grouped};
use super::run::Run;
use crate::sentence::Sentence;
use crate::world::World;

/// A prediction in TOML.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// In Markdown, with numbers by `{{#number …}}`, as `why` and every `reply`.
    question: String,
    answer: Answer,
    #[serde(default)]
    unit: String,
    /// The tolerance for a right prediction.
    #[serde(default)]
    within: f64,
    #[serde(default)]
    wrong: Vec<Wrong>,
    /// Shown with the answer.
    why: String,
    /// Whether to show the output with the answer.
    output: Option<Lines>,
}

/// How to find the answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    run: String,
    /// In its JSON.
    pointer: Option<String>,
    /// With one group, around the number.
    regex: Option<String>,
    /// The expected exit code.
    #[serde(default)]
    exit: i32,
}

/// A plausible wrong number, and the reply to it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    value: f64,
    reply: String,
}

/// A question whose answer comes from a command.
struct Prediction {
    question: Sentence,
    run: Run,
    take: Take,
    unit: String,
    within: f64,
    /// Plausible wrong numbers, with replies.
    wrong: Vec<(f64, Sentence)>,
    why: Sentence,
    shows_output: bool,
}

/// Parses the TOML.
pub fn read(body: &str) -> Result<Directive> {
    let written: Written = toml::from_str(body).context("the TOML of a prediction")?;
    let prediction = Arc::new(Prediction::of(written)?);
    let shown = Arc::clone(&prediction);
    Ok(Directive {
        commands: Box::new(move |world| prediction.commands(world)),
        ..Directive::block(move |world, id| shown.show(world, id))
    })
}

impl Prediction {
    fn of(written: Written) -> Result<Self> {
        let Written {
            question,
            answer,
            unit,
            within,
            wrong,
            why,
            output,
        } = written;
        ensure!(
            !question.trim().is_empty() && !why.trim().is_empty(),
            "a prediction needs a `question` and a `why`"
        );
        let wrong = wrong.into_iter().map(|Wrong { value, reply }| {
            let reply = Sentence::read(reply.trim())?;
            anyhow::Ok((value, reply))
        });
        let (pointer, regex) = (answer.pointer.as_deref(), answer.regex.as_deref());
        Ok(Self {
            question: Sentence::read(question.trim())?,
            take: Take::new(pointer, regex, (None, None))?,
            shows_output: output.is_some(),
            run: Run {
                command: answer.run.parse()?,
                exit: answer.exit,
                lines: output.unwrap_or_default(),
            },
            unit,
            within,
            wrong: wrong.collect::<Result<_>>()?,
            why: Sentence::read(why.trim())?,
        })
    }

    fn commands(&self, world: &World) -> Vec<CommandLine> {
        let replies = self.wrong.iter().map(|(_, reply)| reply);
        let texts = replies.chain([&self.question, &self.why]);
        let commands = texts.flat_map(|text| text.commands(world));
        commands.chain([self.run.command.clone()]).collect()
    }

    fn show(&self, world: &World, id: &str) -> Result<String> {
        let command = &self.run.command.text;
        let answer = self.take.number(&self.run.output(world)?.text);
        let answer = answer.with_context(|| format!("`{command}`"))?;
        let mut replies = String::new();
        for (value, reply) in &self.wrong {
            if (value - answer).abs() <= self.within {
                bail!("{value} is listed as wrong, but `{command}` says that it is right");
            }
            let reply = reply.show(world, id)?;
            replies += &format!(
                "<div class=\"reply\" data-value=\"{value}\" hidden>\n\n{reply}\n\n</div>\n"
            );
        }
        let shown = match self.shows_output {
            true => self.run.block(world)?,
            false => format!("`{command}`\n"),
        };
        let data_unit = escape(&self.unit);
        let unit = [" ", &self.unit].concat();
        let unit = unit.trim_end();
        let (number, within) = (grouped(answer), self.within);
        let (question, why) = (self.question.show(world, id)?, self.why.show(world, id)?);
        Ok(format!(
            "<div class=\"predict\" id=\"{id}\" data-answer=\"{answer}\" data-within=\"{within}\" data-unit=\"{data_unit}\">\n\
             <div class=\"question\" id=\"{id}-question\">\n\n**Predict.** {question}\n\n</div>\n{replies}\
             <details>\n<summary>The answer</summary>\n\n**{number}{unit}.** {why}\n\n{shown}\n</details>\n</div>\n"
        ))
    }
}
