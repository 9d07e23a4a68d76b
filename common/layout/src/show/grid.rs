//! A table: named rows and columns of short cells.
use serde::Serialize;

use super::widest;

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Grid {
    /// What the cells are.
    pub title: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows.
    pub rows: Vec<GridRow>,
}

/// One row of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GridRow {
    /// Its name.
    pub name: String,
    /// One cell a column.
    pub cells: Vec<Cell>,
}

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cell {
    /// Its text.
    pub text: String,
    /// Cells of one group have one color in SVG.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
}

impl Cell {
    /// A cell without a color.
    pub fn plain(text: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            group: None,
        }
    }

    /// A cell in the color of its group.
    pub fn of(text: impl ToString, group: u32) -> Self {
        Self {
            group: Some(group),
            ..Self::plain(text)
        }
    }
}

impl Grid {
    /// A table whose columns carry these names.
    pub fn new<T: ToString>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = T>,
    ) -> Self {
        let columns = columns.into_iter().map(|name| name.to_string()).collect();
        Self {
            title: title.into(),
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(mut self, name: impl ToString, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.rows.push(GridRow {
            name: name.to_string(),
            cells: cells.into_iter().collect(),
        });
        self
    }

    /// A table of `rows` rows, named `what 0`, `what 1` and so on, with a cell for each row and column.
    pub fn by_cell<T: ToString>(
        title: impl Into<String>,
        columns: impl IntoIterator<Item = T>,
        what: &str,
        rows: u32,
        cell: impl Fn(u32, u32) -> Cell,
    ) -> Self {
        let mut grid = Self::new(title, columns);
        let columns = grid.columns.len() as u32;
        for row in 0..rows {
            let cells = (0..columns).map(|column| cell(row, column));
            grid = grid.row(format!("{what} {row}"), cells);
        }
        grid
    }

    /// The width in characters of the row names, and of the widest cell or column name.
    pub(crate) fn widths(&self) -> (usize, usize) {
        let names = self.rows.iter().map(|row| &row.name);
        let cells = self.rows.iter().flat_map(|row| &row.cells);
        let cells = cells.map(|cell| &cell.text).chain(&self.columns);
        (widest(names), widest(cells))
    }
}
