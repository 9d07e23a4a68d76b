//! The common form of all tables: a [`Sheet`] of facts and grids, which becomes text, SVG or (through serde)
//! JSON. This crate makes tables and never prints them.
mod grid;
mod svg;
mod text;

pub use grid::{Cell, Grid, GridRow};
pub use text::wrap;

use serde::{Serialize, Serializer};

/// The evidence for a sheet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Arithmetic alone.
    Computed,
    /// Measurements on an H100.
    Measured,
    /// NVIDIA's documents or CUTLASS; not measured in this project.
    Documented,
}

impl Basis {
    /// A sentence for the reader.
    pub fn sentence(self) -> &'static str {
        match self {
            Basis::Computed => "Computed.",
            Basis::Measured => "Computed; banks and phases by rules measured on an H100.",
            Basis::Documented => "Documented, not measured.",
        }
    }
}

/// The value of a fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// A count.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Anything else.
    Text(String),
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(number.into())
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Value::Flag(flag)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Flag(flag) => f.write_str(if *flag { "yes" } else { "no" }),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// One table, or several that belong together, with facts and notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sheet {
    /// Its name, also for a screen reader.
    pub title: String,
    /// The evidence.
    pub basis: Basis,
    /// Names and values, in order; a map in JSON.
    #[serde(serialize_with = "as_map")]
    pub facts: Vec<(String, Value)>,
    /// The tables.
    pub grids: Vec<Grid>,
    /// Sentences that explain.
    pub notes: Vec<String>,
    /// The sources of the rules: documents, by the title of their section.
    pub sources: Vec<String>,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(title: impl Into<String>, basis: Basis) -> Self {
        Self {
            title: title.into(),
            basis,
            facts: Vec::new(),
            grids: Vec::new(),
            notes: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds a fact.
    pub fn fact(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.facts.push((name.into(), value.into()));
        self
    }

    /// Adds a table.
    pub fn grid(mut self, grid: Grid) -> Self {
        self.grids.push(grid);
        self
    }

    /// Adds a sentence.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds a source.
    pub fn source(mut self, source: &str) -> Self {
        self.sources.push(source.into());
        self
    }

    /// The value of a fact.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let (_, value) = self.facts.iter().find(|(fact, _)| fact == name)?;
        Some(value)
    }

    /// The width in characters of the facts' names.
    fn width(&self) -> usize {
        widest(self.facts.iter().map(|(name, _)| name))
    }

    /// As text for a terminal, each line without trailing blanks.
    pub fn to_text(&self) -> String {
        text::text(self)
    }

    /// As an SVG that paints its own background, in light and in dark, and has a title for screen readers.
    pub fn to_svg(&self) -> String {
        svg::svg(self)
    }
}

fn as_map<S: Serializer>(facts: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(facts.iter().map(|(name, value)| (name, value)))
}

/// The width in characters of the widest text.
fn widest<'a>(texts: impl Iterator<Item = &'a String>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// `1 wavefront`, `2 wavefronts`.
pub(crate) fn count(number: u32, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `0, 1, 2`.
pub(crate) fn list<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}
