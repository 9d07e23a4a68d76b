//! CSV tables whose columns are found by name, in any order.
use csv::{Position, ReaderBuilder, StringRecord, Trim};

/// A table with the line number of each row.
#[derive(Clone, Debug)]
pub struct Table {
    /// The names of the columns: the first line.
    pub columns: StringRecord,
    /// The other lines, except empty ones.
    pub rows: Vec<TableRow>,
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct TableRow {
    /// Its line number, from 1.
    pub line: usize,
    /// The fields of the line; [`Table::pick`] checks their number.
    pub fields: StringRecord,
}

/// Why a row is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RowError(pub String);

/// Why a text is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// The text is empty.
    #[error("it holds no {0}")]
    Empty(&'static str),
    /// A row is bad.
    #[error("line {line}: {why}")]
    Row {
        /// Its line number, from 1.
        line: usize,
        /// What is wrong with it.
        why: RowError,
    },
}

impl Table {
    /// Reads a table that has at least the columns `needed`.
    ///
    /// # Errors
    /// If it is not UTF-8 text, has no first line, or lacks a column.
    pub fn read(text: &[u8], separator: char, needed: &[&str]) -> Result<Self, TableError> {
        let mut lines = Lines {
            text,
            at: 0,
            line: 1,
        };
        let mut reader = ReaderBuilder::new()
            .delimiter(separator as u8)
            .trim(Trim::All)
            .flexible(true)
            .has_headers(false)
            .from_reader(text);
        let mut rows = Vec::new();
        for record in reader.records() {
            let position = record
                .as_ref()
                .map_or_else(csv::Error::position, StringRecord::position);
            let line = lines.of(position);
            // Reading from memory has no other error.
            let fields = record.map_err(|_| bad(line, "it is not UTF-8 text".into()))?;
            if fields.iter().any(|field| !field.is_empty()) {
                rows.push(TableRow { line, fields });
            }
        }
        if rows.is_empty() {
            return Err(TableError::Empty("lines"));
        }
        let TableRow { line, fields } = rows.remove(0);
        let is_missing = |name: &&&str| !fields.iter().any(|found| found == **name);
        if let Some(missing) = needed.iter().find(is_missing) {
            let needed = needed.join(&separator.to_string());
            let why = format!("there is no column {missing}; the table needs {needed}");
            return Err(bad(line, why));
        }
        Ok(Self {
            columns: fields,
            rows,
        })
    }

    /// The fields of a row in these columns.
    ///
    /// # Errors
    /// If the row does not have as many fields as the first line, or a column is missing.
    pub fn pick<'a>(&self, row: &'a TableRow, names: &[&str]) -> Result<Vec<&'a str>, RowError> {
        let (has, named) = (row.fields.len(), self.columns.len());
        if has != named {
            return Err(RowError(format!(
                "{has} fields, but the first line has {named}"
            )));
        }
        let field = |name: &&str| {
            let column = self.columns.iter().position(|found| found == *name);
            let field = column.and_then(|column| row.fields.get(column));
            field.ok_or_else(|| RowError(format!("there is no column {name}")))
        };
        names.iter().map(field).collect()
    }
}

fn bad(line: usize, why: String) -> TableError {
    TableError::Row {
        line,
        why: RowError(why),
    }
}

/// Counts lines: csv's own count is wrong after empty lines and `\r\n`.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// The line of a record, which is never before the last one returned.
    fn of(&mut self, record: Option<&Position>) -> usize {
        let start = record.map_or(0, |record| record.byte() as usize);
        let rest = self.text.get(start..).unwrap_or_default();
        let breaks = rest.iter().take_while(|byte| b"\r\n".contains(byte));
        let end = start + breaks.count();
        let passed = self.text.get(self.at..end).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count();
        self.at = end;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_line() {
        let text = "\u{feff}\na, b\r\n\r\n1,2\r\n \n\"3\n3\",4\n5,6";
        let table = Table::read(text.as_bytes(), ',', &["b"]).expect("a table");
        let rows: Vec<_> = table
            .rows
            .iter()
            .map(|row| (row.line, &row.fields[0]))
            .collect();
        assert_eq!(rows, [(4, "1"), (6, "3\n3"), (8, "5")]);
        assert_eq!(table.pick(&table.rows[0], &["b", "a"]), Ok(vec!["2", "1"]));
        let error = |text: &[u8]| {
            Table::read(text, ',', &["b"])
                .expect_err("no table")
                .to_string()
        };
        assert_eq!(error(b"\r\n"), "it holds no lines");
        assert_eq!(
            error(b"\na;b\n"),
            "line 2: there is no column b; the table needs b"
        );
        assert_eq!(error(b"b\r\n1\r\n\xff\n"), "line 3: it is not UTF-8 text");
    }
}
