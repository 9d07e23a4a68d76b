//! What `ncu --page source --csv` prints: a machine instruction a row, with what the instrumented counters say of it.
//!
//! There are two views. That of SASS has a line `"Kernel Name","…"` and a header with `Address` and `Source`. That of
//! both languages (`--print-source cuda,sass`) has for each file the lines `"File Path","…"` and `"Function Name","…"`,
//! and a header with `Line No`, `Source`, `Address`, `Source`: below each line of the file, whose numbers are sums,
//! stand its instructions, which have an address and no line number.
use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};

use super::super::ncu::head;

/// A machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Without guard and operands: `LDS.128`.
    pub opcode: String,
    /// Whether it has a guard: then it is executed even if no lane takes part.
    pub guarded: bool,
    /// How often a warp executed it.
    pub executions: u64,
    /// Lanes that took part, summed.
    pub threads: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// The same without bank conflicts.
    pub ideal: u64,
    /// Sectors of global memory.
    pub sectors: u64,
    /// What ncu calls tag requests: a request may need several.
    pub tag_requests: u64,
}

/// By address.
pub type Listing = BTreeMap<String, Instruction>;

/// A column by its label, or by the metric's name, as some versions and settings write it.
const EXECUTIONS: [&str; 2] = ["Instructions Executed", "inst_executed"];
const THREADS: [&str; 2] = [
    "Predicated-On Thread Instructions Executed",
    "thread_inst_executed_true",
];
const WAVEFRONTS: [&str; 2] = ["L1 Wavefronts Shared", "memory_l1_wavefronts_shared"];
const IDEAL: [&str; 2] = [
    "L1 Wavefronts Shared Ideal",
    "memory_l1_wavefronts_shared_ideal",
];
const SECTORS: [&str; 2] = [
    "L2 Theoretical Sectors Global",
    "memory_l2_theoretical_sectors_global",
];
const TAG_REQUESTS: [&str; 2] = ["L1 Tag Requests Global", "memory_l1_tag_requests_global"];

/// Instructions that the counters of shared memory are about; ncu leaves those columns out where a kernel has none.
const SHARED: [&str; 4] = ["LDS", "STS", "LDSM", "STSM"];
/// The same of global memory.
const GLOBAL: [&str; 2] = ["LDG", "STG"];

/// The guard of an instruction that no lane ever takes part in; ptxas puts such loads before the first `LDGSTS`.
const NEVER: &str = "@!PT ";

/// A line of a page as fields.
fn records(text: &str) -> impl Iterator<Item = Vec<String>> {
    // Messages of ncu's own stand between the tables.
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("=="))
        .collect();
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(std::io::Cursor::new(rows.join("\n")));
    let records = reader.into_records().map_while(std::result::Result::ok);
    records.map(|record| record.iter().map(|field| field.trim().to_owned()).collect())
}

fn is_header(fields: &[String]) -> bool {
    ["Address", "Source"].map(|name| fields.iter().any(|field| field == name)) == [true; 2]
}

/// Where an instruction's address stands, and where its text: to the right of it.
fn place(header: &[String]) -> Option<(usize, usize)> {
    let address = header.iter().position(|name| name == "Address")?;
    let source = header
        .iter()
        .skip(address)
        .position(|name| name == "Source")?;
    Some((address, address + source))
}

fn is_address(field: &str) -> bool {
    let digits = field.strip_prefix("0x").unwrap_or(field);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// The instructions of the view of SASS.
///
/// # Errors
/// If it has none, or lacks a column; the message shows how the page begins.
pub fn instructions(text: &str) -> Result<Listing> {
    let begins = || format!("what ncu printed begins with\n{}", head(text));
    let mut listing = Listing::new();
    let mut header: Option<Vec<String>> = None;
    for fields in records(text) {
        if is_header(&fields) {
            header = Some(fields);
            continue;
        }
        let Some(header) = &header else { continue };
        let Some((address, source)) = place(header) else {
            continue;
        };
        let Some(at) = fields.get(address).filter(|at| is_address(at)) else {
            continue;
        };
        let opcode = opcode(fields.get(source).map_or("", String::as_str));
        let number = |names: [&str; 2], about: Option<&[&str]>| -> Result<u64> {
            let column = header
                .iter()
                .position(|name| names.contains(&name.as_str()));
            let base = opcode.split('.').next().unwrap_or_default();
            if column.is_none() && about.is_some_and(|about| !about.contains(&base)) {
                return Ok(0);
            }
            let column = column
                .with_context(|| format!("the source page has no column {:?}", names[0]))
                .with_context(begins)?;
            let text = fields.get(column).map_or("", String::as_str);
            if ["", "-", "n/a"].contains(&text) {
                return Ok(0);
            }
            let number = text.replace(',', "").parse::<f64>().ok();
            let number = number.filter(|number| *number >= 0.0 && number.fract() == 0.0);
            let number = number.with_context(|| format!("{text:?} as {:?} of {at}", names[0]))?;
            Ok(number as u64)
        };
        let text = fields.get(source).map_or("", String::as_str);
        if text.starts_with(NEVER) {
            continue;
        }
        let new = Instruction {
            guarded: text.starts_with('@'),
            threads: number(THREADS, None)?,
            executions: number(EXECUTIONS, None)?,
            wavefronts: number(WAVEFRONTS, Some(&SHARED))?,
            ideal: number(IDEAL, Some(&SHARED))?,
            sectors: number(SECTORS, Some(&GLOBAL))?,
            tag_requests: number(TAG_REQUESTS, Some(&GLOBAL))?,
            opcode,
        };
        if listing.insert(at.clone(), new).is_some() {
            bail!("{at} stands twice in the source page: there is more than one kernel");
        }
    }
    if listing.is_empty() {
        bail!("the source page lists no instruction; {}", begins());
    }
    Ok(listing)
}

/// The line of `file` that each address belongs to, from the view of both languages.
///
/// # Errors
/// If no address has a line; the message shows how the page begins.
pub fn lines(text: &str, file: &str) -> Result<BTreeMap<String, u32>> {
    let mut lines = BTreeMap::new();
    let (mut header, mut line) = (None::<Vec<String>>, None);
    let mut is_ours = true;
    for fields in records(text) {
        let first = fields.first().map_or("", String::as_str);
        if first == "File Path" {
            let path = fields.get(1).map_or("", String::as_str);
            is_ours = path.rsplit(['/', '\\']).next() == Some(file);
            (header, line) = (None, None);
        } else if is_header(&fields) {
            header = Some(fields);
        } else if let Some(header) = header.as_ref().filter(|_| is_ours)
            && let Some((address, _)) = place(header)
        {
            let column = header.iter().position(|name| name == "Line No");
            let number = column.and_then(|at| fields.get(at)?.parse::<u32>().ok());
            line = number.or(line);
            if let (Some(at), Some(line)) = (fields.get(address), line)
                && is_address(at)
            {
                lines.entry(at.clone()).or_insert(line);
            }
        }
    }
    if lines.is_empty() {
        let begins = head(text);
        bail!("no instruction belongs to a line of {file}; what ncu printed begins with\n{begins}");
    }
    Ok(lines)
}

/// `LDS.128` of `@!P0 LDS.128 R4, [R2]`.
fn opcode(text: &str) -> String {
    let mut words = text.split_whitespace();
    let opcode = words.find(|word| !word.starts_with('@'));
    opcode.unwrap_or("").trim_end_matches(';').to_owned()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const SASS: &str = "==PROF== Disconnected\n\
\"Kernel Name\",\"gemm\"\n\
\"#\",\"Address\",\"Source\",\"# Samples\",\"Instructions Executed\",\"Predicated-On Thread Instructions Executed\",\"Access Size\",\"L1 Tag Requests Global\",\"L1 Wavefronts Shared\",\"L1 Wavefronts Shared Ideal\",\"L2 Theoretical Sectors Global\"\n\
\"0\",\"0x7f01\",\"      MOV R1, c[0x0][0x28] \",\"1\",\"64\",\"2048\",\"-\",\"0\",\"0\",\"0\",\"0\"\n\
\"1\",\"0x7f11\",\"@!P0  LDG.E.128.CONSTANT R4, [R2] \",\"1\",\"64\",\"2048\",\"128\",\"128\",\"0\",\"0\",\"1,024\"\n\
\"2\",\"0x7f21\",\"      STS [R0], R4 \",\"1\",\"64\",\"2048\",\"32\",\"0\",\"128\",\"64\",\"0\"\n\
\"3\",\"0x7f31\",\"      LDSM.16.M88.4 R4, [R0] ;\",\"1\",\"64\",\"2048\",\"32\",\"0\",\"256\",\"256\",\"0\"\n\
\"4\",\"0x7f41\",\"      STS [R0+0x80], R4 \",\"1\",\"64\",\"2048\",\"32\",\"0\",\"64\",\"64\",\"0\"\n";

    pub const BOTH: &str = "\"File Path\",\"/rungs/02_smem/kernel.cu\"\n\
\"Function Name\",\"gemm\"\n\
\"Line No\",\"Source\",\"Address\",\"Source\",\"Instructions Executed\"\n\
\"1\",\"// a kernel\",\"\",\"\",\"0\"\n\
\"9\",\"float a = A[i];\",\"\",\"\",\"128\"\n\
\"\",\"\",\"0x7f01\",\"      MOV R1, c[0x0][0x28] \",\"64\"\n\
\"\",\"\",\"0x7f11\",\"@!P0  LDG.E.128.CONSTANT R4, [R2] \",\"64\"\n\
\"12\",\"As[j] = a;\",\"\",\"\",\"128\"\n\
\"\",\"\",\"0x7f21\",\"      STS [R0], R4 \",\"64\"\n\
\"\",\"\",\"0x7f41\",\"      STS [R0+0x80], R4 \",\"64\"\n\
\"File Path\",\"/usr/include/mma.h\"\n\
\"Function Name\",\"gemm\"\n\
\"Line No\",\"Source\",\"Address\",\"Source\",\"Instructions Executed\"\n\
\"77\",\"ldmatrix\",\"\",\"\",\"64\"\n\
\"\",\"\",\"0x7f31\",\"      LDSM.16.M88.4 R4, [R0] ;\",\"64\"\n";

    #[test]
    fn instructions_have_their_counters() {
        let listing = instructions(SASS).expect("a page");
        assert_eq!(listing.len(), 5);
        let load = &listing["0x7f11"];
        assert_eq!(load.opcode, "LDG.E.128.CONSTANT");
        assert_eq!(
            (load.executions, load.sectors, load.tag_requests),
            (64, 1024, 128)
        );
        let store = &listing["0x7f21"];
        assert_eq!((store.wavefronts, store.ideal), (128, 64));
        assert_eq!(listing["0x7f31"].opcode, "LDSM.16.M88.4");
        assert!(load.guarded && !store.guarded);
        assert_eq!(load.threads, 2048);
        // One that no lane can take part in is no access.
        let never = SASS.replace("      STS [R0],", "@!PT  STS [R0],");
        assert_eq!(instructions(&never).expect("a page").len(), 4);
    }

    #[test]
    fn a_kernel_without_such_accesses_has_no_such_column() {
        let lines = SASS.lines().filter(|line| !line.contains("LDG"));
        let without: String = lines.map(|line| line.to_owned() + "\n").collect();
        let without = without
            .replace("L1 Tag Requests Global", "?")
            .replace("L2 Theoretical Sectors Global", "?");
        let listing = instructions(&without).expect("a page");
        assert_eq!(listing["0x7f21"].sectors, 0);
        assert_eq!(listing["0x7f21"].wavefronts, 128);
    }

    #[test]
    fn names_of_metrics_are_taken_for_labels() {
        let renamed = SASS
            .replace("L1 Wavefronts Shared\"", "memory_l1_wavefronts_shared\"")
            .replace("\"Instructions Executed", "\"inst_executed");
        assert_eq!(
            instructions(&renamed).expect("a page"),
            instructions(SASS).expect("a page")
        );
    }

    #[test]
    fn lines_are_those_of_the_kernels_file() {
        let found = lines(BOTH, "kernel.cu").expect("a page");
        let expected = [("0x7f01", 9), ("0x7f11", 9), ("0x7f21", 12), ("0x7f41", 12)];
        assert_eq!(
            found,
            expected.map(|(at, line)| (at.to_owned(), line)).into()
        );
    }

    #[test]
    fn a_page_that_cannot_be_read_is_shown() {
        let error = |text: &str| format!("{:#}", instructions(text).expect_err("no page"));
        let lost = SASS.replace("L1 Wavefronts Shared Ideal", "?");
        assert!(error(&lost).contains("no column \"L1 Wavefronts Shared Ideal\""));
        let lost = SASS.replace("L2 Theoretical Sectors Global", "?");
        assert!(error(&lost).contains("no column \"L2 Theoretical Sectors Global\""));
        assert!(error(&lost).contains("Kernel Name"), "it begins so");
        assert!(error("==WARNING== nothing\n").contains("no instruction"));
        assert!(error(&SASS.replace("1,024", "many")).contains("\"many\" as"));
        assert!(error(&(SASS.to_owned() + SASS)).contains("more than one kernel"));
        let error = format!("{:#}", lines(SASS, "kernel.cu").expect_err("no lines"));
        assert!(
            error.contains("no instruction belongs to a line of kernel.cu"),
            "{error}"
        );
        assert!(error.contains("\"Kernel Name\",\"gemm\""), "{error}");
    }
}
