//! Parses the output of `ncu --page source --csv`: one machine instruction in each row, with its instrumented
//! counters.
//!
//! There are two views. The SASS view has a line `"Kernel Name","…"` and a header with `Address` and `Source`. The
//! view of both languages (`--print-source cuda,sass`) has for each file the lines `"File Path","…"` and `"Function
//! Name","…"`, and a header with `Line No`, `Source`, `Address`, `Source`. Each line of the file, whose numbers are
//! sums, is followed by its instructions, which have an address and no line number.
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use csv::StringRecord;

use super::accesses::Counts;
use crate::ncu::head;

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The opcode, without guard and operands: `LDS.128`.
    pub opcode: String,
    /// Whether it has a guard: then it is executed even without active lanes.
    pub guarded: bool,
    /// Its counters.
    pub counts: Counts,
    /// ncu's tag requests: a request may need several.
    pub tag_requests: u64,
}

/// Instructions by address.
pub type Listing = BTreeMap<String, Instruction>;

/// A counter of the page: its label and its metric, either of which may be the column's name, depending on version
/// and settings; and the instructions that it applies to, empty for all. If a kernel has none of these instructions,
/// ncu omits the column.
struct Counter(&'static str, &'static str, &'static [&'static str]);

const SHARED: &[&str] = &["LDS", "STS", "LDSM", "STSM"];
const GLOBAL: &[&str] = &["LDG", "STG"];

const EXECUTIONS: Counter = Counter("Instructions Executed", "inst_executed", &[]);
const THREADS: Counter = Counter(
    "Predicated-On Thread Instructions Executed",
    "thread_inst_executed_true",
    &[],
);
const WAVEFRONTS: Counter = Counter(
    "L1 Wavefronts Shared",
    "memory_l1_wavefronts_shared",
    SHARED,
);
const IDEAL: Counter = Counter(
    "L1 Wavefronts Shared Ideal",
    "memory_l1_wavefronts_shared_ideal",
    SHARED,
);
const TAG_REQUESTS: Counter = Counter(
    "L1 Tag Requests Global",
    "memory_l1_tag_requests_global",
    GLOBAL,
);
const SECTORS: Counter = Counter(
    "L2 Theoretical Sectors Global",
    "memory_l2_theoretical_sectors_global",
    GLOBAL,
);

/// The guard of an instruction that is never executed; ptxas puts such loads before the first `LDGSTS`.
const NEVER: &str = "@!PT ";

/// The lines of a page.
fn records(text: &str) -> impl Iterator<Item = StringRecord> {
    // ncu's own messages are between the tables.
    let rows = text.lines().filter(|line| !line.starts_with("=="));
    let rows = rows.collect::<Vec<_>>().join("\n");
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(std::io::Cursor::new(rows));
    reader.into_records().map_while(std::result::Result::ok)
}

/// The line above a table.
struct Header {
    names: StringRecord,
    /// The column of an instruction's address.
    address: usize,
    /// The column of its text.
    source: usize,
}

impl Header {
    fn of(record: &StringRecord) -> Option<Self> {
        let address = record.iter().position(|name| name == "Address")?;
        // To the left of the address is the text of the kernel's file.
        let source = record
            .iter()
            .skip(address)
            .position(|name| name == "Source")?;
        Some(Self {
            names: record.clone(),
            address,
            source: address + source,
        })
    }

    /// The address in a row, if the row is an instruction.
    fn address<'a>(&self, row: &'a StringRecord) -> Option<&'a str> {
        let field = row.get(self.address)?;
        let digits = field.strip_prefix("0x").unwrap_or(field);
        let is_address =
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        is_address.then_some(field)
    }

    /// A counter of an instruction.
    fn count(&self, row: &StringRecord, opcode: &str, counter: &Counter) -> Result<u64> {
        let Counter(label, metric, about) = *counter;
        let column = self
            .names
            .iter()
            .position(|name| name == label || name == metric);
        let base = opcode.split('.').next().unwrap_or_default();
        if column.is_none() && !about.is_empty() && !about.contains(&base) {
            return Ok(0);
        }
        let column = column.with_context(|| format!("the source page has no column {label:?}"))?;
        let text = row.get(column).unwrap_or_default();
        if ["", "-", "n/a"].contains(&text) {
            return Ok(0);
        }
        let number = text.replace(',', "").parse::<f64>().ok();
        let number = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
        let number = number.with_context(|| format!("{text:?} as {label:?} of {opcode}"))?;
        Ok(number as u64)
    }
}

/// The instructions of the SASS view.
///
/// # Errors
/// If it has none, or lacks a column; the message shows the first lines of the page.
pub fn instructions(text: &str) -> Result<Listing> {
    let begins = || format!("ncu's output begins with\n{}", head(text));
    let mut listing = Listing::new();
    let mut header = None;
    for row in records(text) {
        if let Some(new) = Header::of(&row) {
            header = Some(new);
            continue;
        }
        let Some(header) = &header else { continue };
        let Some(address) = header.address(&row) else {
            continue;
        };
        let source = row.get(header.source).unwrap_or_default();
        if source.starts_with(NEVER) {
            continue;
        }
        let opcode = opcode(source);
        let count = |counter| header.count(&row, &opcode, counter).with_context(begins);
        let new = Instruction {
            guarded: source.starts_with('@'),
            counts: Counts {
                executions: count(&EXECUTIONS)?,
                threads: count(&THREADS)?,
                wavefronts: count(&WAVEFRONTS)?,
                ideal: count(&IDEAL)?,
                sectors: count(&SECTORS)?,
            },
            tag_requests: count(&TAG_REQUESTS)?,
            opcode: opcode.clone(),
        };
        if listing.insert(address.to_owned(), new).is_some() {
            bail!("{address} occurs twice in the source page: there is more than one kernel");
        }
    }
    if listing.is_empty() {
        bail!("the source page lists no instruction; {}", begins());
    }
    Ok(listing)
}

/// The line of `file` for each address, from the view of both languages. A function inlined from a header belongs to
/// the header, though ncu also lists some of its instructions below the line that calls it.
///
/// # Errors
/// If no address has a line; the message shows the first lines of the page.
pub fn lines(text: &str, file: &str) -> Result<BTreeMap<String, u32>> {
    let (mut lines, mut of_headers) = (BTreeMap::new(), BTreeSet::new());
    let (mut header, mut line) = (None, None);
    let mut is_ours = true;
    for row in records(text) {
        if row.get(0) == Some("File Path") {
            let path = row.get(1).unwrap_or_default();
            is_ours = path.rsplit(['/', '\\']).next() == Some(file);
            (header, line) = (None, None);
        } else if let Some(new) = Header::of(&row) {
            header = Some(new);
        } else if let Some(header) = &header {
            if !is_ours {
                of_headers.extend(header.address(&row).map(str::to_owned));
                continue;
            }
            let column = header.names.iter().position(|name| name == "Line No");
            let number = column.and_then(|at| row.get(at)?.parse::<u32>().ok());
            line = number.or(line);
            if let (Some(address), Some(line)) = (header.address(&row), line) {
                lines.entry(address.to_owned()).or_insert(line);
            }
        }
    }
    lines.retain(|address, _| !of_headers.contains(address));
    if lines.is_empty() {
        let begins = head(text);
        bail!("no instruction belongs to a line of {file}; ncu's output begins with\n{begins}");
    }
    Ok(lines)
}

/// The opcode `LDS.128` of `@!P0 LDS.128 R4, [R2]`.
fn opcode(text: &str) -> String {
    let mut words = text.split_whitespace();
    let opcode = words.find(|word| !word.starts_with('@'));
    opcode.unwrap_or("").trim_end_matches(';').to_owned()
}

#[cfg(test)]
pub mod tests;
