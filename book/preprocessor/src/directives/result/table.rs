//! A recorded table.
use anyhow::{Context, Result, bail};

use crate::directives::choice::{Cells, Choice};
use crate::directives::{Directive, Shown};
use crate::world::World;

/// A file of the record, and what of it.
pub struct Table {
    file: String,
    part: Part,
}

enum Part {
    Section(String),
    Csv(Choice),
}

impl Table {
    pub fn of_csv(file: &str, choice: Option<&str>) -> Result<Self> {
        Ok(Self {
            file: file.into(),
            part: Part::Csv(Choice::read(choice)?),
        })
    }

    pub fn of_markdown(what: &str) -> Result<Self> {
        let (file, section) = what
            .split_once('#')
            .context("which of its sections? `FILE.md#section`")?;
        Ok(Self {
            file: file.into(),
            part: Part::Section(section.into()),
        })
    }
}

impl Directive for Table {
    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let record = world.record()?;
        let text = record.file(world, &self.file)?;
        let rows = match &self.part {
            Part::Section(section) => of_section(&text, section),
            Part::Csv(choice) => Cells::of_csv(&text).and_then(|cells| choice.markdown(cells)),
        };
        let rows = rows.with_context(|| self.file.clone())?;
        Ok(Shown::Block(format!(
            "{rows}\n\n{}",
            super::provenance(record)
        )))
    }
}

/// The table in a section.
fn of_section(text: &str, name: &str) -> Result<String> {
    let lines =
        transcript::section(text, name).with_context(|| format!("it has no section {name}"))?;
    let rows: Vec<&str> = lines
        .into_iter()
        .filter(|line| line.starts_with('|'))
        .collect();
    if rows.is_empty() {
        bail!("its section {name} holds no table");
    }
    Ok(rows.join("\n"))
}
