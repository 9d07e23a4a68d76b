//! Accesses of a kernel by line and kind, from machine code and from PTX, so that the two can be compared.
use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::program::{KernelRun, table};
use super::source_page::{Instruction, Listing};

/// The kind of an instruction, in PTX or machine code.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AccessKind {
    /// Loads and stores whose counters are compared, by their name in PTX.
    Compared(&'static str),
    /// One of [`NOT_COMPARABLE`].
    NotComparable(&'static str),
    /// Not an access to shared or global memory.
    None,
    /// An instruction that no kernel of the ladder should have.
    Unknown(String),
}

/// Kinds that are not compared, and why.
pub const NOT_COMPARABLE: [(&str, &str); 4] = [
    (
        "cp.async",
        "the hardware counts 4 wavefronts for a full warp whatever the addresses, but the instrumented counter 3 to 32",
    ),
    ("bulk copies", "these counters do not include TMA's traffic"),
    (
        "wgmma",
        "the tensor cores read the operands without an access of a warp, so the wavefronts belong to no instruction",
    ),
    (
        "mbarriers",
        "the number of turns of a waiting loop depends on time, which the emulator does not model; these counters do not include arrivals",
    ),
];

const COMPARED: [(&str, &str); 6] = [
    ("LDS", "ld.shared"),
    ("STS", "st.shared"),
    ("LDSM", "ldmatrix"),
    ("STSM", "stmatrix"),
    ("LDG", "ld.global"),
    ("STG", "st.global"),
];

/// Machine instructions that are not compared, by the start of their name.
const OF_SASS: [(&str, &str); 9] = [
    ("LDGSTS", "cp.async"),
    ("UTMA", "bulk copies"),
    ("UBLKCP", "bulk copies"),
    ("HGMMA", "wgmma"),
    ("SYNCS", "mbarriers"),
    ("UCGABAR", "mbarriers"),
    ("WARPGROUP", "wgmma"),
    ("LDGDEPBAR", "cp.async"),
    ("LDGMC", "bulk copies"),
];

/// PTX operations that are not compared, by the start of their name; the first match counts.
const OF_PTX: [(&str, &str); 5] = [
    ("cp.async.bulk", "bulk copies"),
    ("cp.reduce.async.bulk", "bulk copies"),
    ("cp.async", "cp.async"),
    ("wgmma", "wgmma"),
    ("mbarrier", "mbarriers"),
];

/// Machine instructions with other memory accesses, which these kernels should not have. Constants and launch
/// parameters (`LDC`, `ULDC`) are not traffic of shared or global memory.
const UNKNOWN: [&str; 8] = ["LD", "ST", "LDL", "STL", "ATOM", "ATOMS", "ATOMG", "RED"];

impl AccessKind {
    /// The name in a comparison.
    pub fn name(&self) -> &str {
        match self {
            Self::Compared(name) | Self::NotComparable(name) => name,
            Self::Unknown(name) => name,
            Self::None => "",
        }
    }

    /// The kind of a machine instruction, such as `LDS.U.128`.
    pub fn of_sass(opcode: &str) -> Self {
        let base = opcode.split('.').next().unwrap_or_default();
        if let Some((_, name)) = OF_SASS.iter().find(|(start, _)| base.starts_with(start)) {
            return Self::NotComparable(name);
        }
        if let Some((_, name)) = COMPARED.iter().find(|(sass, _)| *sass == base) {
            return Self::Compared(name);
        }
        if UNKNOWN.contains(&base) {
            return Self::Unknown(opcode.to_owned());
        }
        Self::None
    }

    /// The kind of a PTX operation, such as `ld.shared.v4.f32`.
    pub fn of_ptx(operation: &str) -> Self {
        if let Some((_, name)) = OF_PTX
            .iter()
            .find(|(start, _)| operation.starts_with(start))
        {
            return Self::NotComparable(name);
        }
        let mut parts = operation.split('.');
        let (verb, has) = (parts.next().unwrap_or_default(), |part: &str| {
            // `shared::cta` is shared memory, too.
            operation
                .split('.')
                .any(|other| other.split("::").next() == Some(part))
        });
        let found = COMPARED
            .iter()
            .find(|(_, name)| match name.split_once('.') {
                Some((wanted, space)) => verb == wanted && has(space),
                None => verb == *name,
            });
        match found {
            Some((_, name)) => Self::Compared(name),
            None if has("param") || has("const") => Self::None,
            None => Self::Unknown(operation.to_owned()),
        }
    }
}

/// The counters that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Warp instructions: requests.
    pub executions: u64,
    /// Active lanes, summed.
    pub threads: u64,
    /// Wavefronts of shared memory.
    #[serde(rename = "shared_wavefronts")]
    pub wavefronts: u64,
    /// The same without bank conflicts.
    #[serde(rename = "shared_wavefronts_ideal")]
    pub ideal: u64,
    /// Sectors of global memory.
    #[serde(rename = "global_sectors")]
    pub sectors: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.executions += other.executions;
        self.threads += other.threads;
        self.wavefronts += other.wavefronts;
        self.ideal += other.ideal;
        self.sectors += other.sectors;
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "requests {}, threads {}, wavefronts {}, ideal {}, sectors {}",
            self.executions, self.threads, self.wavefronts, self.ideal, self.sectors
        )
    }
}

/// A row of `accesses.csv`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessRow {
    pub run: KernelRun,
    pub access: MachineAccess,
    pub counts: Counts,
    pub not_compared: NotCompared,
}

/// The machine instructions of one name at one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineAccess {
    /// Line of the kernel's file; `None` without line information.
    pub line: Option<u32>,
    /// Such as `LDS.128`.
    pub opcode: String,
    /// Whether they have a guard: such an instruction is executed even without active lanes, so executions are not
    /// requests.
    pub guarded: bool,
    /// Instructions of that name there.
    pub instructions: u64,
}

/// Counters that are recorded for the reader only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotCompared {
    pub global_tag_requests: u64,
}

impl AccessRow {
    /// The rows of a table.
    pub fn all(name: &str, bytes: &[u8]) -> Result<Vec<Self>> {
        table(name, bytes, |row| {
            Ok(Self {
                run: row.get()?,
                access: row.get()?,
                counts: row.get()?,
                not_compared: row.get()?,
            })
        })
    }

    fn key(&self, with_lines: bool) -> Key {
        let line = self.access.line.filter(|_| with_lines);
        (line, AccessKind::of_sass(&self.access.opcode))
    }

    /// The columns, in their order.
    pub fn columns(&self) -> impl Serialize {
        (&self.run, &self.access, &self.counts, &self.not_compared)
    }
}

/// The accesses of a listing, summed by line and name; an address without a line has `None`.
pub fn rows(run: &KernelRun, listing: &Listing, lines: &BTreeMap<String, u32>) -> Vec<AccessRow> {
    let mut rows = BTreeMap::<_, AccessRow>::new();
    for (address, instruction) in listing {
        let Instruction {
            opcode, guarded, ..
        } = instruction;
        if AccessKind::of_sass(opcode) != AccessKind::None {
            let line = lines.get(address).copied();
            let row = rows
                .entry((line, opcode, guarded))
                .or_insert_with(|| AccessRow {
                    run: run.clone(),
                    access: MachineAccess {
                        line,
                        opcode: opcode.clone(),
                        guarded: *guarded,
                        instructions: 0,
                    },
                    counts: Counts::default(),
                    not_compared: NotCompared::default(),
                });
            row.access.instructions += 1;
            row.counts += instruction.counts;
            row.not_compared.global_tag_requests += instruction.tag_requests;
        }
    }
    rows.into_values().collect()
}

/// The part of a rung's report on one instruction.
#[derive(Clone, Debug, Deserialize)]
pub struct EmulatedAccess {
    /// Line of the kernel's file.
    pub line: Option<u32>,
    /// Such as `ld.shared.v4.f32`.
    pub operation: String,
    /// What it did.
    #[serde(flatten)]
    pub counts: Counts,
    /// The addresses that warps accessed, each pattern once.
    pub patterns: Vec<AddressPattern>,
}

/// One pattern of addresses that a warp accessed.
#[derive(Clone, Debug, Deserialize)]
pub struct AddressPattern {
    /// `shared` or `global`.
    pub space: String,
    /// `ld`, `st` or `matrix`.
    pub access: String,
    /// The width of each lane's access.
    pub bytes: u32,
    /// The offset of each lane.
    pub offsets: Vec<Option<u64>>,
}

/// A line and what is accessed there.
pub type Key = (Option<u32>, AccessKind);
/// Counters by line and kind.
pub type Sums = BTreeMap<Key, Counts>;

/// The measured counters, without the kinds that are not comparable. Without lines, each kind has one sum.
pub fn measured(rows: &[&AccessRow], with_lines: bool) -> Sums {
    let rows = rows.iter();
    sums(rows.map(|row| (row.key(with_lines), row.counts)))
}

/// The keys whose machine instructions have guards: their executions are not requests.
pub fn guarded(rows: &[&AccessRow], with_lines: bool) -> BTreeSet<Key> {
    let guarded = rows.iter().filter(|row| row.access.guarded);
    guarded.map(|row| row.key(with_lines)).collect()
}

/// The emulated counters, in the same form; `with_lines` as for the measured ones.
pub fn emulated(rows: &[EmulatedAccess], with_lines: bool) -> Sums {
    let key = |row: &EmulatedAccess| {
        let line = row.line.filter(|_| with_lines);
        (line, AccessKind::of_ptx(&row.operation))
    };
    sums(rows.iter().map(|row| (key(row), row.counts)))
}

fn sums(rows: impl Iterator<Item = (Key, Counts)>) -> Sums {
    let mut sums = Sums::new();
    for (key, counts) in rows {
        let counted = match key.1 {
            AccessKind::Compared(_) | AccessKind::Unknown(_) => true,
            AccessKind::NotComparable(_) | AccessKind::None => false,
        };
        // An access that no warp executed does not count: ptxas may keep it for a case that did not occur.
        if counted && counts.executions > 0 {
            *sums.entry(key).or_default() += counts;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::super::source_page::{self, tests};
    use super::*;

    #[test]
    fn sass_and_ptx_of_an_access_have_one_kind() {
        for (sass, ptx) in [
            ("LDS", "ld.shared.f32"),
            ("LDS.U.128", "ld.shared.v4.f32"),
            ("LDS.64", "ld.shared::cta.b64"),
            ("STS.U16", "st.shared.u16"),
            (
                "LDSM.16.MT88.4",
                "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
            ),
            ("STSM.16.M88.4", "stmatrix.sync.aligned.m8n8.x4.shared.b16"),
            ("LDG.E.64.CONSTANT", "ld.global.nc.v2.u32"),
            ("STG.E.U16", "st.global.b16"),
        ] {
            assert!(
                matches!(AccessKind::of_sass(sass), AccessKind::Compared(_)),
                "{sass}"
            );
            assert_eq!(AccessKind::of_sass(sass), AccessKind::of_ptx(ptx), "{ptx}");
        }
        for (sass, ptx) in [
            ("LDGSTS.E.BYPASS.128", "cp.async.cg.shared.global"),
            (
                "UTMALDG.2D.MULTICAST",
                "cp.async.bulk.tensor.2d.shared::cluster.global",
            ),
            (
                "UTMASTG.2D",
                "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
            ),
            (
                "HGMMA.64x256x16.F32",
                "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16",
            ),
            (
                "SYNCS.PHASECHK.TRANS64.TRYWAIT",
                "mbarrier.try_wait.parity.shared::cta.b64",
            ),
        ] {
            let AccessKind::NotComparable(name) = AccessKind::of_sass(sass) else {
                panic!("{sass} is not comparable");
            };
            assert_eq!(
                AccessKind::of_ptx(ptx),
                AccessKind::NotComparable(name),
                "{ptx}"
            );
            assert!(NOT_COMPARABLE.iter().any(|(listed, _)| *listed == name));
        }
        assert_eq!(AccessKind::of_sass("FFMA"), AccessKind::None);
        assert_eq!(AccessKind::of_sass("LDC.64"), AccessKind::None);
        assert_eq!(AccessKind::of_ptx("ld.param.u64"), AccessKind::None);
        assert_eq!(
            AccessKind::of_sass("LDL.64"),
            AccessKind::Unknown("LDL.64".into())
        );
        assert!(matches!(
            AccessKind::of_ptx("atom.global.add.u32"),
            AccessKind::Unknown(_)
        ));
    }

    #[test]
    fn instructions_of_a_line_are_added_up() {
        let run = KernelRun {
            rung: "02_smem".into(),
            arch: "sm_80".into(),
            tile: String::new(),
            size: "256x256x256".into(),
        };
        let listing = source_page::instructions(tests::SASS).expect("a page");
        let lines = source_page::lines(tests::BOTH, "kernel.cu").expect("a page");
        let found = rows(&run, &listing, &lines);
        let stores = found
            .iter()
            .find(|row| row.access.opcode == "STS")
            .expect("stores");
        assert_eq!(
            (stores.access.line, stores.access.instructions),
            (Some(12), 2)
        );
        assert_eq!((stores.counts.wavefronts, stores.counts.ideal), (192, 128));
        assert_eq!(found.len(), 3, "{found:?}");
        let sums = measured(&found.iter().collect::<Vec<_>>(), true);
        let load = sums[&(Some(9), AccessKind::Compared("ld.global"))];
        assert_eq!((load.executions, load.sectors), (64, 1024));
        // An instruction in another file has no line of this one.
        assert!(sums.contains_key(&(None, AccessKind::Compared("ldmatrix"))));
        assert!(
            rows(&run, &listing, &BTreeMap::new())
                .iter()
                .all(|row| row.access.line.is_none())
        );
    }
}
