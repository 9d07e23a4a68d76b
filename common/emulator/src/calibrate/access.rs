//! `shared_memory.csv` and `global_memory.csv`: what one access of a warp costs.
use rayon::prelude::*;

use super::table::number;
use super::{
    BadRow, CalibrateError, Comparison, Difference, Experiment, Hardware, RecordError, Recording,
    Row, Table, all, is_named, on,
};
use crate::banks::LANES;
use crate::{Card, Counters, SharedAccess, shared_wavefronts};

/// What a warp asks for in one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern<'a> {
    /// As written: `ld`, `st`, or `ldmatrix`, `stmatrix` with `.x1`, `.x2`, `.x4` and perhaps `.trans`.
    pub op: &'a str,
    /// Which of them that is.
    pub access: SharedAccess,
    /// Bytes that each lane asks for.
    pub bytes: u32,
    /// Byte offset of each lane; none for a lane that takes no part.
    pub offsets: [Option<u32>; LANES],
}

impl<'a> Pattern<'a> {
    /// The columns that [`Pattern::parse`] takes.
    pub const COLUMNS: [&'static str; 3] = ["op", "bytes_per_lane", "byte_offset_per_lane"];
    /// Memory that is accessed is smaller; a bound for what is typed.
    const LARGEST: u32 = 1 << 24;

    /// From the fields of the columns [`Pattern::COLUMNS`]; the offsets have blanks between them, and `-`
    /// for a lane that takes no part. A matrix has an offset for each of its 8 rows.
    ///
    /// # Errors
    /// If there is no such access.
    pub fn parse([op, bytes, offsets]: [&'a str; 3]) -> Result<Self, BadRow> {
        let bad = |why: String| Err(BadRow(why));
        let Some((access, lanes)) = access(op) else {
            return bad(format!(
                "{op:?} is no access: there are ld, st, ldmatrix and stmatrix .x1, .x2, .x4, also .trans"
            ));
        };
        let bytes = match bytes.parse() {
            Ok(bytes @ (1 | 2 | 4 | 8 | 16)) if access != SharedAccess::Matrix || bytes == 16 => {
                bytes
            }
            _ if access == SharedAccess::Matrix => {
                return bad(format!("{bytes:?} bytes a lane: a row of a matrix has 16"));
            }
            _ => {
                return bad(format!(
                    "{bytes:?} bytes a lane: there are 1, 2, 4, 8 and 16"
                ));
            }
        };
        let fields: Vec<&str> = offsets.split_whitespace().collect();
        if fields.len() != lanes {
            return bad(format!(
                "{} byte offsets: {op} has {lanes}; write - for a lane that takes no part",
                fields.len()
            ));
        }
        let mut offsets = [None; LANES];
        for (lane, field) in fields.into_iter().enumerate() {
            if field == "-" {
                continue;
            }
            let Some(offset) = field.parse().ok().filter(|at: &u32| *at < Self::LARGEST) else {
                return bad(format!(
                    "lane {lane}: {field:?} is no byte offset below {}",
                    Self::LARGEST
                ));
            };
            if !offset.is_multiple_of(bytes) {
                return bad(format!(
                    "lane {lane}: byte offset {offset} is misaligned: an access of {bytes} bytes \
                     starts at a multiple of {bytes}"
                ));
            }
            offsets[lane] = Some(offset);
        }
        Ok(Self {
            op,
            access,
            bytes,
            offsets,
        })
    }

    /// The offsets, 0 where there is none, and a bit for each lane that takes part: as
    /// [`crate::shared_wavefronts`] takes them.
    pub fn lanes(&self) -> ([u32; LANES], u32) {
        let active = (0..LANES).fold(0, |mask, lane| {
            mask | u32::from(self.offsets[lane].is_some()) << lane
        });
        (self.offsets.map(Option::unwrap_or_default), active)
    }

    /// The instruction's name.
    fn instruction(&self, space: Space) -> String {
        let space = space.name();
        match self.op.split_once(".x") {
            Some((op, shape)) => {
                let (count, trans) = match shape.strip_suffix(".trans") {
                    Some(count) => (count, ".trans"),
                    None => (shape, ""),
                };
                format!("{op}.sync.aligned.m8n8.x{count}{trans}.{space}.b16")
            }
            None => {
                let kind = match self.bytes {
                    1 => "u8",
                    2 => "u16",
                    4 => "u32",
                    8 => "v2.u32",
                    _ => "v4.u32",
                };
                format!("{}.{space}.{kind}", self.op)
            }
        }
    }

    /// Lanes that give an address.
    fn addresses(&self) -> usize {
        access(self.op).map_or(LANES, |(_, lanes)| lanes)
    }

    /// Registers that each lane gives or takes.
    fn registers(&self) -> usize {
        match self.access {
            SharedAccess::Matrix => self.addresses() / 8,
            _ => self.bytes.div_ceil(4) as usize,
        }
    }

    /// A kernel of one warp that makes this access, and no other to this kind of memory but a store that
    /// never happens: it keeps a load's result in use.
    fn experiment(&self, space: Space) -> Result<Experiment, BadRow> {
        const INACTIVE: u32 = u32::MAX;
        let matrix = self.access == SharedAccess::Matrix;
        let mut offsets = self.offsets;
        if matrix {
            let (rows, others) = offsets.split_at_mut(self.addresses());
            if rows.iter().any(Option::is_none) {
                return Err(BadRow(format!(
                    "{} needs the address of every row: a lane can take no part in ld and st only",
                    self.op
                )));
            }
            // The other lanes' addresses are not looked at.
            others.fill(rows[0]);
        }
        let table = offsets.map(|offset| offset.unwrap_or(INACTIVE).to_string());
        let end = offsets.iter().flatten().max().copied().unwrap_or(0) + self.bytes.max(4);
        let values: Vec<String> = (0..self.registers()).map(|i| format!("%v{i}")).collect();
        let list = match &values[..] {
            [one] if !matrix => one.clone(),
            all => format!("{{{}}}", all.join(", ")),
        };
        let guard = if matrix { "" } else { "@%active " };
        let instruction = self.instruction(space);
        let is_load = self.op.starts_with("ld");
        let operands = if is_load {
            format!("{list}, [%at]")
        } else {
            format!("[%at], {list}")
        };
        let address = match space {
            Space::Shared => "mov.u32 %base, tile;\nadd.u32 %at, %base, %offset;\n",
            Space::Global => "cvt.u64.u32 %at, %offset;\nadd.u64 %at, %at, %out;\n",
        };
        let width = if space == Space::Shared { 32 } else { 64 };
        let mut body = format!(
            ".reg .b32 %offset, %base, %lane, %v<4>;\n.reg .b64 %entry;\n.reg .b{width} %at;\n\
             .reg .pred %active, %never;\n\
             mov.u32 %lane, %tid.x;\n\
             mov.u64 %entry, offsets;\n\
             mad.wide.u32 %entry, %lane, 4, %entry;\n\
             ld.const.u32 %offset, [%entry];\n\
             setp.ne.u32 %active, %offset, {INACTIVE};\n\
             {address}"
        );
        for value in ["%v0", "%v1", "%v2", "%v3"] {
            body += &format!("mov.u32 {value}, %lane;\n");
        }
        body += &format!("{guard}{instruction} {operands};\n");
        if is_load {
            for value in &values {
                body += &format!(
                    "setp.eq.u32 %never, {value}, 0x5bd1e995;\n@%never st.global.u32 [%out], {value};\n"
                );
            }
        }
        let declarations = format!(
            ".const .align 4 .u32 offsets[{LANES}] = {{{}}};\n.extern .shared .align 128 .b8 tile[];\n",
            table.join(", ")
        );
        Ok(Experiment {
            ptx: Experiment::module(&declarations, &body),
            blocks: 1,
            threads: LANES as u32,
            dynamic_shared: if space == Space::Shared { end } else { 0 },
            input: Vec::new(),
            tensor: None,
            output_bytes: if space == Space::Global {
                end as usize
            } else {
                4
            },
        })
    }
}

/// What an op does, and how many lanes give addresses.
fn access(op: &str) -> Option<(SharedAccess, usize)> {
    match op {
        "ld" => return Some((SharedAccess::Load, LANES)),
        "st" => return Some((SharedAccess::Store, LANES)),
        _ => {}
    }
    let count = op
        .strip_prefix("ldmatrix.x")
        .or_else(|| op.strip_prefix("stmatrix.x"))?;
    let lanes = match count.strip_suffix(".trans").unwrap_or(count) {
        "1" => 8,
        "2" => 16,
        "4" => 32,
        _ => return None,
    };
    Some((SharedAccess::Matrix, lanes))
}

/// Which memory a table is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Space {
    Shared,
    Global,
}

impl Space {
    fn name(self) -> &'static str {
        match self {
            Self::Shared => "shared",
            Self::Global => "global",
        }
    }
    /// The columns that were measured.
    pub(super) fn measured(self) -> [&'static str; 2] {
        match self {
            Self::Shared => ["wavefronts", "bank_conflicts"],
            Self::Global => ["sectors", "requests"],
        }
    }
    /// What the emulator counts in these columns.
    fn counted(self, counters: &Counters) -> [u64; 2] {
        match self {
            Self::Shared => [counters.shared.wavefronts, counters.shared.conflicts],
            Self::Global => [counters.global_sectors, counters.global_requests],
        }
    }
}

pub(super) fn shared(stem: &str) -> Option<Box<dyn Recording>> {
    is_named(stem, "shared_memory").then(|| Box::new(Space::Shared) as _)
}

pub(super) fn global(stem: &str) -> Option<Box<dyn Recording>> {
    is_named(stem, "global_memory").then(|| Box::new(Space::Global) as _)
}

impl Space {
    fn table(self, bytes: &[u8]) -> Result<Table<'_>, CalibrateError> {
        let ([op, width, offsets], columns) = (Pattern::COLUMNS, self.measured());
        Table::of_bytes(bytes, ',', &[op, width, offsets, columns[0], columns[1]])
    }

    /// What `of` makes of each row's pattern.
    fn each<'a, T: Send>(
        self,
        table: &Table<'a>,
        of: impl Fn(&Row<'a>, Pattern<'a>) -> Result<T, BadRow> + Sync,
    ) -> Result<Vec<T>, CalibrateError> {
        let rows = table.rows.par_iter().map(|row| {
            let made = Pattern::parse(table.pick(row, Pattern::COLUMNS)?);
            made.and_then(|pattern| of(row, pattern))
        });
        let rows: Vec<Result<T, BadRow>> = rows.collect();
        let rows = rows.into_iter().zip(&table.rows);
        rows.map(|(made, row)| {
            made.map_err(|why| CalibrateError::Row {
                line: row.line,
                why,
            })
        })
        .collect()
    }

    /// Metrics of Nsight Compute that count what the columns hold; `ld` and `st` include the matrices.
    fn metrics(self, pattern: &Pattern<'_>) -> [&'static str; 2] {
        match (self, pattern.op.starts_with("ld")) {
            (Self::Shared, true) => [
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            ],
            (Self::Shared, false) => [
                "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
                "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
            ],
            (Self::Global, true) => [
                "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            ],
            (Self::Global, false) => [
                "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
                "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            ],
        }
    }
}

impl Recording for Space {
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison, CalibrateError> {
        let (table, columns) = (self.table(bytes)?, self.measured());
        let rows = self.each(&table, |row, pattern| {
            let [first, second] = table.pick(row, columns)?;
            let expected = [number(columns[0], first)?, number(columns[1], second)?];
            let found = pattern.measure(*self, card)?;
            Ok((expected != found).then(|| Difference {
                place: format!("line {}", row.line),
                what: format!("{}, {} bytes a lane", pattern.op, pattern.bytes),
                expected: say(columns, expected),
                found: say(columns, found),
            }))
        })?;
        Ok(Comparison {
            unit: "rows",
            all: rows.len(),
            differences: rows.into_iter().flatten().collect(),
        })
    }

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>, CalibrateError> {
        self.each(&self.table(bytes)?, |_, pattern| pattern.experiment(*self))
    }

    fn record(&self, bytes: &[u8], hardware: &mut dyn Hardware) -> Result<Vec<u8>, RecordError> {
        let table = self.table(bytes)?;
        let metrics = self.each(&table, |_, pattern| Ok(self.metrics(&pattern)))?;
        let counts = hardware.counts(&metrics).map_err(RecordError::Hardware)?;
        let counts = all(counts, metrics.len())?;
        let columns = self.measured();
        Ok(table.rewritten(',', |row, name| {
            let column = columns.iter().position(|column| *column == name)?;
            Some(counts.get(row)?[column].to_string())
        }))
    }
}

impl Pattern<'_> {
    /// Executes it; what the columns [`Space::measured`] hold.
    fn measure(&self, space: Space, card: Card) -> Result<[u64; 2], BadRow> {
        if space == Space::Global && self.access == SharedAccess::Matrix {
            return Err(BadRow(format!("{} is for shared memory only", self.op)));
        }
        let (addresses, active) = self.lanes();
        if active == 0 && self.access != SharedAccess::Matrix {
            // The emulator skips an instruction that no lane takes part in, as a profile by lines would; alone
            // in a kernel it still is a request, and a wavefront by the measured rule.
            let shared = shared_wavefronts(self.access, self.bytes, &addresses, active);
            let counters = Counters {
                shared,
                global_requests: 1,
                ..Counters::default()
            };
            return Ok(space.counted(&counters));
        }
        let observed = self
            .experiment(space)?
            .on_emulator(&on(card))
            .map_err(|error| BadRow(error.to_string()))?;
        let counters = observed.of(&self.instruction(space));
        Ok(space.counted(&counters))
    }
}

fn say(columns: [&str; 2], values: [u64; 2]) -> String {
    format!("{} {}, {} {}", columns[0], values[0], columns[1], values[1])
}
