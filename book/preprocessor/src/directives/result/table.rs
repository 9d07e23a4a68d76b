//! A recorded table.
use anyhow::{Context, Result, bail};

use crate::directives::{Directive, Shown};
use crate::world::World;

/// A file of the record, and which of its sections.
pub struct Table {
    file: String,
    section: Option<String>,
}

impl Table {
    pub fn of_csv(file: &str) -> Self {
        Self {
            file: file.into(),
            section: None,
        }
    }

    pub fn of_markdown(what: &str) -> Result<Self> {
        let (file, section) = what
            .split_once('#')
            .context("which of its sections? `FILE.md#section`")?;
        Ok(Self {
            file: file.into(),
            section: Some(section.into()),
        })
    }
}

impl Directive for Table {
    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let record = world.record()?;
        let text = record.file(world, &self.file)?;
        let rows = match &self.section {
            Some(section) => of_section(&text, section),
            None => of_csv(&text),
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

/// A CSV file as a Markdown table; columns of numbers stand to the right.
fn of_csv(text: &str) -> Result<String> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let head: Vec<String> = reader.headers()?.iter().map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = reader
        .records()
        .map(|row| row.map(|row| row.iter().map(str::to_owned).collect()))
        .collect::<Result<_, _>>()?;
    let number = |text: &String| text.is_empty() || text.parse::<f64>().is_ok();
    let rules = (0..head.len()).map(|i| match rows.iter().all(|row| number(&row[i])) {
        true => "---:".to_owned(),
        false => "---".to_owned(),
    });
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |", cells.join(" | "))
    };
    let mut lines = vec![line(&head), line(&rules.collect::<Vec<_>>())];
    lines.extend(rows.iter().map(|row| line(row)));
    Ok(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_file_becomes_a_table() {
        let table = of_csv("name,n\na|b,1\n\"c, d\",2.5\n").expect("a table");
        assert_eq!(
            table,
            "| name | n |\n| --- | ---: |\n| a\\|b | 1 |\n| c, d | 2.5 |"
        );
        assert!(of_csv("a,b\n1\n").is_err());
    }
}
