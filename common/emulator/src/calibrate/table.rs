//! Tables as text: a first line that names the columns, then a row a line.
use super::CalibrateError;

/// A table whose columns are known by their names; their order does not matter.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// The first line.
    pub names: Vec<&'a str>,
    /// The others, without the empty ones.
    pub rows: Vec<Row<'a>>,
}

/// A line of a table.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Counted from 1.
    pub line: usize,
    /// As many as the line has: [`Table::pick`] checks that.
    pub fields: Vec<&'a str>,
}

/// Why a row says nothing that could be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadRow(pub String);

impl<'a> Table<'a> {
    /// Reads a table that has the columns `needed`, and perhaps others.
    ///
    /// # Errors
    /// If there is no first line, or it lacks a column.
    pub fn of(text: &'a str, separator: char, needed: &[&str]) -> Result<Self, CalibrateError> {
        let split = |line: &'a str| line.split(separator).map(str::trim).collect::<Vec<_>>();
        let text = text.trim_start_matches('\u{feff}');
        let mut lines = (1..)
            .zip(text.lines())
            .filter(|(_, line)| !line.trim().is_empty());
        let (line, header) = lines.next().ok_or(CalibrateError::Empty("lines"))?;
        let names = split(header);
        if let Some(missing) = needed.iter().find(|name| !names.contains(name)) {
            let needed = needed.join(&separator.to_string());
            let why = BadRow(format!("it names no column {missing}; {needed} are needed"));
            return Err(CalibrateError::Row { line, why });
        }
        let rows = lines.map(|(line, text)| Row {
            line,
            fields: split(text),
        });
        Ok(Self {
            names,
            rows: rows.collect(),
        })
    }

    /// The same of a file's bytes, with at least one row.
    pub(super) fn of_bytes(
        bytes: &'a [u8],
        separator: char,
        needed: &[&str],
    ) -> Result<Self, CalibrateError> {
        let text = std::str::from_utf8(bytes).map_err(|error| CalibrateError::Row {
            line: 1 + bytes[..error.valid_up_to()]
                .iter()
                .filter(|byte| **byte == b'\n')
                .count(),
            why: BadRow("it is not UTF-8 text".into()),
        })?;
        let table = Self::of(text, separator, needed)?;
        if table.rows.is_empty() {
            return Err(CalibrateError::Empty("rows"));
        }
        Ok(table)
    }

    /// The text of the table, with the fields of a row (counted from 0) and a column that `new` gives.
    pub(super) fn rewritten(
        &self,
        separator: char,
        new: impl Fn(usize, &str) -> Option<String>,
    ) -> Vec<u8> {
        let separator = separator.to_string();
        let mut text = self.names.join(&separator) + "\n";
        for (number, row) in self.rows.iter().enumerate() {
            let fields = self.names.iter().zip(&row.fields);
            let fields: Vec<String> = fields
                .map(|(name, field)| new(number, name).unwrap_or_else(|| (*field).to_owned()))
                .collect();
            text += &(fields.join(&separator) + "\n");
        }
        text.into_bytes()
    }

    /// A row's fields in the columns of these names.
    ///
    /// # Errors
    /// If the row has not as many fields as the first line, or there is no such column.
    pub fn pick<const N: usize>(
        &self,
        row: &Row<'a>,
        names: [&str; N],
    ) -> Result<[&'a str; N], BadRow> {
        let (has, named) = (row.fields.len(), self.names.len());
        if has != named {
            return Err(BadRow(format!(
                "{has} fields where the first line names {named}"
            )));
        }
        let mut picked = [""; N];
        for (field, name) in picked.iter_mut().zip(names) {
            let at = self.names.iter().position(|found| *found == name);
            *field = at
                .and_then(|at| row.fields.get(at))
                .ok_or_else(|| BadRow(format!("there is no column {name}")))?;
        }
        Ok(picked)
    }
}

/// A whole number in a column.
pub(super) fn number(name: &str, field: &str) -> Result<u64, BadRow> {
    field
        .parse()
        .map_err(|_| BadRow(format!("{name} is {field:?}: a whole number is needed")))
}

/// A digest, as a column holds it.
pub(super) fn as_digits(digest: u64) -> String {
    format!("{digest:016x}")
}

/// Refuses what [`as_digits`] never writes.
pub(super) fn is_digest(field: &str) -> Result<(), BadRow> {
    let is_hexadecimal = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if field.len() == 16 && field.bytes().all(is_hexadecimal) {
        return Ok(());
    }
    let needed = "16 lower-case hexadecimal digits are needed";
    Err(BadRow(format!("digest is {field:?}: {needed}")))
}
