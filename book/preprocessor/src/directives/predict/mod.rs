//! `{{#predict` … `}}`: the reader says a number before it is shown.
mod number;

use anyhow::{Context, Result, bail};
use html_escape::encode_double_quoted_attribute as escape;
use serde::Deserialize;

use super::Directive;
use super::lines::Lines;
use super::run::Run;
use number::Take;
pub use number::grouped;

/// The TOML of a prediction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    /// In Markdown.
    question: String,
    answer: Answer,
    #[serde(default)]
    unit: String,
    /// How far from the answer a right prediction may be.
    #[serde(default)]
    within: f64,
    #[serde(default)]
    wrong: Vec<Wrong>,
    /// In Markdown; stands with the answer.
    why: String,
    /// Shows the output with the answer, too.
    output: Option<Lines>,
}

/// Where the answer is found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    run: String,
    /// In its JSON.
    pointer: Option<String>,
    /// With one group, around the number.
    regex: Option<String>,
    /// The exit code that it has to end with.
    #[serde(default)]
    exit: i32,
}

/// A number that somebody may come to, and what is to be said to them, in Markdown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wrong {
    value: f64,
    reply: String,
}

/// A question whose answer a command gives.
pub fn read(body: &str) -> Result<Directive> {
    let written: Written = toml::from_str(body).context("the TOML of a prediction")?;
    let Written {
        question,
        answer,
        unit,
        within,
        wrong,
        why,
        output,
    } = written;
    let take = Take::new(answer.pointer, answer.regex)?;
    let shows = output.is_some();
    let run = Run {
        command: answer.run.parse()?,
        exit: answer.exit,
        lines: output.unwrap_or_default(),
    };
    if let Some(text) = [&question, &why]
        .into_iter()
        .find(|text| text.trim().is_empty())
    {
        bail!("a question and a reason are wanted, not `{text}`");
    }
    Ok(Directive::of_command(
        run.command.clone(),
        move |world, id| {
            let command = &run.command.text;
            let answer = take.from(&run.output(world)?.text);
            let answer = answer.with_context(|| format!("`{command}`"))?;
            if let Some(Wrong { value, .. }) =
                wrong.iter().find(|w| (w.value - answer).abs() <= within)
            {
                bail!("{value} is listed as wrong, but `{command}` says that it is right");
            }
            let replies: String = wrong.iter().map(reply).collect();
            let shown = match shows {
                true => run.block(world)?,
                false => format!("`{command}`\n"),
            };
            let data_unit = escape(&unit);
            let unit = [" ", &unit].concat();
            let unit = unit.trim_end();
            let number = grouped(answer);
            Ok(format!(
                "<div class=\"predict\" id=\"{id}\" data-answer=\"{answer}\" data-within=\"{within}\" data-unit=\"{data_unit}\">\n\
             <div class=\"question\" id=\"{id}-question\">\n\n**Predict.** {}\n\n</div>\n{replies}\
             <details>\n<summary>The answer</summary>\n\n**{number}{unit}.** {}\n\n{shown}\n</details>\n</div>\n",
                question.trim(),
                why.trim(),
            ))
        },
    ))
}

/// What is said to those who come to a known wrong number.
fn reply(Wrong { value, reply }: &Wrong) -> String {
    format!(
        "<div class=\"reply\" data-value=\"{value}\" hidden>\n\n{}\n\n</div>\n",
        reply.trim()
    )
}
