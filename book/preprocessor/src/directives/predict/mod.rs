//! `{{#predict` … `}}`: the reader says a number before it is shown.
mod number;
mod written;

use anyhow::{Context, Result, bail};
use transcript::CommandLine;

use super::lines::Lines;
use super::run::Run;
use super::{Directive, Shown};
use crate::world::World;
use html_escape::encode_double_quoted_attribute as escape;
use number::Take;
pub use number::grouped;
use written::{Written, Wrong};

/// A question whose answer a command gives.
pub struct Predict {
    written: Written,
    run: Run,
    take: Take,
    /// Whether the output stands with the answer.
    shows: bool,
}

impl Predict {
    pub fn read(body: &str) -> Result<Self> {
        let mut written: Written = toml::from_str(body).context("the TOML of a prediction")?;
        let answer = &mut written.answer;
        let take = Take::new(answer.pointer.take(), answer.regex.take())?;
        let (shows, lines) = match written.output.take() {
            Some(lines) => (true, lines),
            None => (false, Lines::default()),
        };
        let run = Run::new(answer.run.parse()?, answer.exit, lines);
        if let Some(text) = [&written.question, &written.why]
            .into_iter()
            .find(|text| text.trim().is_empty())
        {
            bail!("a question and a reason are wanted, not `{text}`");
        }
        Ok(Self {
            written,
            run,
            take,
            shows,
        })
    }
}

impl Directive for Predict {
    fn commands(&self, _: &World) -> Vec<CommandLine> {
        vec![self.run.line()]
    }

    fn show(&self, world: &World, id: &str) -> Result<Shown> {
        let Written {
            question,
            unit,
            within,
            wrong,
            why,
            ..
        } = &self.written;
        let command = self.run.command();
        let answer = self.take.from(&self.run.output(world)?.text);
        let answer = answer.with_context(|| format!("`{command}`"))?;
        if let Some(Wrong { value, .. }) =
            wrong.iter().find(|w| (w.value - answer).abs() <= *within)
        {
            bail!("{value} is listed as wrong, but `{command}` says that it is right");
        }
        let replies: String = wrong.iter().map(reply).collect();
        let shown = match self.shows {
            true => self.run.block(world)?,
            false => format!("`{command}`\n"),
        };
        let data_unit = escape(unit);
        let unit = [" ", unit].concat();
        let unit = unit.trim_end();
        let number = grouped(answer);
        Ok(Shown::Block(format!(
            "<div class=\"predict\" id=\"{id}\" data-answer=\"{answer}\" data-within=\"{within}\" data-unit=\"{data_unit}\">\n\
             <div class=\"question\" id=\"{id}-question\">\n\n**Predict.** {}\n\n</div>\n{replies}\
             <details>\n<summary>The answer</summary>\n\n**{number}{unit}.** {}\n\n{shown}\n</details>\n</div>\n",
            question.trim(),
            why.trim(),
        )))
    }
}

/// What is said to those who come to a known wrong number.
fn reply(Wrong { value, reply }: &Wrong) -> String {
    format!(
        "<div class=\"reply\" data-value=\"{value}\" hidden>\n\n{}\n\n</div>\n",
        reply.trim()
    )
}
