//! What the recordings of layouts have in common: a row is a case, and in its last column where things lie.
use std::fmt::Display;
use std::marker::PhantomData;

use rayon::prelude::*;

use super::{
    BadRow, CalibrateError, Comparison, Difference, Experiment, Hardware, RecordError, Recording,
    Row, Table, all, on,
};
use crate::Card;

/// A row of such a recording. Its text is the line.
pub(super) trait Placement: Display + Sized + Send + Sync {
    const COLUMNS: &'static [&'static str];

    fn parse_row(table: &Table<'_>, row: &Row<'_>) -> Result<Self, BadRow>;
    /// What its case consists of.
    fn experiments(&self) -> Vec<Experiment>;
    /// The same case with what the outputs say.
    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Self, BadRow>;
    /// Where it differs: what, expected, found.
    fn difference(&self, found: &Self) -> Option<[String; 3]>;
}

pub(super) struct Placements<P>(PhantomData<P>);

impl<P> Placements<P> {
    pub const NEW: Self = Self(PhantomData);
}

/// The rows of a file, with their lines counted from 1.
pub(super) fn rows<P: Placement>(bytes: &[u8]) -> Result<Vec<(usize, P)>, CalibrateError> {
    let table = Table::of_bytes(bytes, ',', P::COLUMNS)?;
    let rows = table.rows.iter().map(|row| {
        let placement = P::parse_row(&table, row);
        let placement = placement.map_err(|why| at(row.line, why))?;
        Ok((row.line, placement))
    });
    rows.collect()
}

fn at(line: usize, why: BadRow) -> CalibrateError {
    CalibrateError::Row { line, why }
}

/// What the emulator of a card measures.
pub(super) fn on_emulator<P: Placement>(row: &P, card: Card) -> Result<P, BadRow> {
    let outputs: Vec<Vec<u8>> = row
        .experiments()
        .iter()
        .map(|experiment| Ok(experiment.on_emulator(&on(card))?.output))
        .collect::<Result<_, super::ExperimentError>>()
        .map_err(|error| BadRow(error.to_string()))?;
    row.measured(&outputs)
}

impl<P: Placement> Recording for Placements<P> {
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison, CalibrateError> {
        let rows = rows::<P>(bytes)?;
        let differences: Vec<Option<Difference>> = rows
            .par_iter()
            .map(|(line, recorded)| {
                let found = on_emulator(recorded, card).map_err(|why| at(*line, why))?;
                let difference = recorded.difference(&found);
                Ok(difference.map(|[what, expected, found]| Difference {
                    place: format!("line {line}"),
                    what,
                    expected,
                    found,
                }))
            })
            .collect::<Result<_, CalibrateError>>()?;
        Ok(Comparison {
            unit: "rows",
            all: rows.len(),
            differences: differences.into_iter().flatten().collect(),
        })
    }

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>, CalibrateError> {
        let rows = rows::<P>(bytes)?;
        Ok(rows.iter().flat_map(|(_, row)| row.experiments()).collect())
    }

    fn record(&self, bytes: &[u8], hardware: &mut dyn Hardware) -> Result<Vec<u8>, RecordError> {
        let mut text = P::COLUMNS.join(",") + "\n";
        for (line, row) in rows::<P>(bytes)? {
            let experiments = row.experiments();
            let outputs = hardware.outputs(&experiments);
            let outputs = all(outputs.map_err(RecordError::Hardware)?, experiments.len())?;
            let measured = row.measured(&outputs).map_err(|why| at(line, why))?;
            text += &format!("{measured}\n");
        }
        Ok(text.into_bytes())
    }
}
