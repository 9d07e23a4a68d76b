//! Recordings that are tables: one row is one case, and its last columns are hardware's results. [`Row`] defines how
//! a case is parsed, executed and written; comparing and recording is the same for all.
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use anyhow::{Context, Error, Result};
use emulator::Card;
use harness::{RowError, Table, TableError, TableRow};
use rayon::prelude::*;

use super::{Comparison, Difference, Experiment, Recorder, Recording, options};

/// A row of a recording, without its results.
pub trait Row: Sized + Send + Sync {
    /// The type of the results, which are in the last columns.
    type Measured: PartialEq + Send + Sync;

    /// The separator of columns.
    const SEPARATOR: char = ',';
    /// The first line: all columns.
    const HEADER: &'static str;
    /// The number of result columns, which are the last ones.
    const MEASURED: usize = 1;

    /// Parses row `number`, counted from 0, from its fields in the columns of [`Row::HEADER`].
    ///
    /// # Errors
    /// If a field is malformed.
    fn parse(number: usize, fields: &[&str]) -> Result<(Self, Self::Measured)>;
    /// The experiments, one after the other.
    ///
    /// # Errors
    /// If the row has nothing that can be executed.
    fn experiments(&self) -> Result<Vec<Experiment>>;
    /// The results, from the outputs of the experiments.
    ///
    /// # Errors
    /// If they cannot be outputs of these experiments.
    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Self::Measured>;
    /// The result columns.
    fn fields(&self, measured: &Self::Measured) -> Vec<String>;
    /// What differs, the recorded value, and the value found.
    fn difference(&self, recorded: &Self::Measured, found: &Self::Measured) -> [String; 3];

    /// The results on the emulator of a card.
    ///
    /// # Errors
    /// If the emulator refuses it.
    fn on_emulator(&self, card: Card) -> Result<Self::Measured> {
        let mut outputs = Vec::new();
        for experiment in self.experiments()? {
            outputs.push(experiment.on_emulator(&options(card))?.output);
        }
        self.measured(&outputs)
    }

    /// The results on a GPU, for these rows.
    ///
    /// # Errors
    /// If the GPU cannot execute one of them.
    fn on_gpu(rows: &[Recorded<Self>], recorder: &mut dyn Recorder) -> Result<Vec<Self::Measured>> {
        let measure = |Recorded { line, case, .. }: &Recorded<Self>| {
            let mut outputs = Vec::new();
            for experiment in case.experiments().map_err(at(*line))? {
                outputs.push(recorder.output(&experiment)?);
            }
            case.measured(&outputs).map_err(at(*line))
        };
        rows.iter().map(measure).collect()
    }
}

/// A row with its results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded<R: Row> {
    /// Its line in the file, counted from 1.
    pub line: usize,
    /// The row.
    pub case: R,
    /// The results.
    pub measured: R::Measured,
}

/// The rows of a file.
///
/// # Errors
/// If the file has no rows, or one of them is malformed.
pub fn rows<R: Row>(bytes: &[u8]) -> Result<Vec<Recorded<R>>> {
    Ok(read(bytes)?.1)
}

fn read<R: Row>(bytes: &[u8]) -> Result<(Table, Vec<Recorded<R>>)> {
    let columns: Vec<&str> = R::HEADER.split(R::SEPARATOR).collect();
    let table = Table::read(bytes, R::SEPARATOR, &columns)?;
    if table.rows.is_empty() {
        return Err(TableError::Empty("rows").into());
    }
    let parse = |(number, row): (usize, &TableRow)| {
        let fields = table.pick(row, &columns);
        let parsed = fields.map_err(Error::from);
        let parsed = parsed.and_then(|fields| R::parse(number, &fields));
        let (case, measured) = parsed.map_err(at(row.line))?;
        Ok(Recorded {
            line: row.line,
            case,
            measured,
        })
    };
    let rows: Result<_> = table.rows.iter().enumerate().map(parse).collect();
    Ok((table, rows?))
}

fn at(line: usize) -> impl Fn(Error) -> Error {
    move |why| {
        let why = RowError(why.to_string());
        TableError::Row { line, why }.into()
    }
}

/// The recordings with rows of this type.
pub(super) struct TableOf<R>(PhantomData<fn() -> R>);

impl<R> TableOf<R> {
    pub const NEW: Self = Self(PhantomData);
}

impl<R: Row> Recording for TableOf<R> {
    fn header(&self) -> &'static str {
        R::HEADER
    }

    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison> {
        let rows = rows::<R>(bytes)?;
        let found: Vec<Result<R::Measured>> = rows
            .par_iter()
            .map(|row| row.case.on_emulator(card))
            .collect();
        let mut differences = Vec::new();
        for (row, found) in rows.iter().zip(found) {
            let found = found.map_err(at(row.line))?;
            if found != row.measured {
                let [what, expected, found] = row.case.difference(&row.measured, &found);
                differences.push(Difference {
                    place: format!("line {}", row.line),
                    what,
                    expected,
                    found,
                });
            }
        }
        Ok(Comparison {
            unit: "rows",
            all: rows.len(),
            differences,
        })
    }

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>> {
        let mut all = Vec::new();
        for row in rows::<R>(bytes)? {
            all.extend(row.case.experiments().map_err(at(row.line))?);
        }
        Ok(all)
    }

    fn record(&self, bytes: &[u8], recorder: &mut dyn Recorder) -> Result<Vec<u8>> {
        let (table, rows) = read::<R>(bytes)?;
        let measured = R::on_gpu(&rows, recorder)?;
        // Results are popped from the end, so they are reversed.
        let columns = R::HEADER.rsplit(R::SEPARATOR).take(R::MEASURED);
        let columns: Vec<&str> = columns.collect();
        let mut writer = csv::WriterBuilder::new()
            .delimiter(R::SEPARATOR as u8)
            .from_writer(Vec::new());
        writer.write_record(&table.columns)?;
        for ((row, recorded), measured) in table.rows.iter().zip(&rows).zip(&measured) {
            let new = recorded.case.fields(measured);
            let fields = table.columns.iter().zip(&row.fields).map(|(name, old)| {
                let column = columns.iter().position(|column| *column == name);
                column.map_or(old, |column| &new[R::MEASURED - 1 - column])
            });
            writer.write_record(fields)?;
        }
        writer
            .into_inner()
            .map_err(|error| error.into_error().into())
    }
}

/// An integer in a column.
pub(super) fn number<T: FromStr>(name: &str, field: &str) -> Result<T> {
    let number = field.parse().ok();
    number.with_context(|| format!("{name} is {field:?}, expected an integer"))
}

/// The integers in the columns of these names.
pub(super) fn whole_numbers<'a, T: FromStr + Default + Copy, const N: usize>(
    names: impl Iterator<Item = &'a str>,
    fields: &[&str],
) -> Result<[T; N]> {
    let mut numbers = [T::default(); N];
    for ((to, name), field) in numbers.iter_mut().zip(names).zip(fields) {
        *to = number(name, field)?;
    }
    Ok(numbers)
}

/// A digest of many results: FNV-1a of their bytes, as 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u64);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    pub(super) fn parse(field: &str) -> Result<Self> {
        let parsed = u64::from_str_radix(field, 16).ok().map(Self);
        // Exactly what `Display` writes.
        let parsed = parsed.filter(|digest| digest.to_string() == field);
        let needed = "expected 16 lower-case hexadecimal digits";
        parsed.with_context(|| format!("digest is {field:?}, {needed}"))
    }

    pub(super) const fn bits(self) -> u64 {
        self.0
    }

    /// The two sides of a [`Difference`].
    pub(super) fn sides(recorded: &Self, found: &Self) -> [String; 2] {
        [recorded, found].map(|digest| format!("digest {digest}"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
