//! Accesses of a kernel by line and kind, from machine code and from PTX, so that both can be compared.
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::source_page::{Instruction, Listing};

/// What an instruction does, whichever of the two languages it is written in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Loads and stores whose counters are compared, by their name in PTX.
    Compared(&'static str),
    /// One of [`NOT_COMPARABLE`].
    NotComparable(&'static str),
    /// No access to shared or global memory.
    None,
    /// One that no kernel of ours should have.
    Unknown(String),
}

/// Kinds that are not compared, and why.
pub const NOT_COMPARABLE: [(&str, &str); 4] = [
    (
        "cp.async",
        "the hardware counts 4 wavefronts for a full warp whatever the addresses, the instrumented counter 3 to 32",
    ),
    (
        "bulk copies",
        "TMA's traffic does not pass through what these counters watch",
    ),
    (
        "wgmma",
        "operands are read by the tensor cores, not by an access of a warp; their wavefronts are those of no instruction",
    ),
    (
        "mbarriers",
        "how often a loop that waits turns is a matter of time, of which the emulator has none; arrivals are no access that these counters watch",
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

/// PTX operations that are not compared, by the start of their name; the first that fits counts.
const OF_PTX: [(&str, &str); 5] = [
    ("cp.async.bulk", "bulk copies"),
    ("cp.reduce.async.bulk", "bulk copies"),
    ("cp.async", "cp.async"),
    ("wgmma", "wgmma"),
    ("mbarrier", "mbarriers"),
];

/// Machine instructions that reach memory in other ways: what these kernels should not have. Constants and the
/// launch's parameters (`LDC`, `ULDC`) are no traffic of shared or global memory.
const UNKNOWN: [&str; 8] = ["LD", "ST", "LDL", "STL", "ATOM", "ATOMS", "ATOMG", "RED"];

impl Kind {
    /// Of a machine instruction, `LDS.U.128`.
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

    /// Of a PTX operation, `ld.shared.v4.f32`.
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

/// Counters that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Warp instructions: requests.
    pub executions: u64,
    /// Lanes that took part, summed.
    pub threads: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// Without bank conflicts.
    pub ideal: u64,
    /// Sectors of global memory.
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

/// Which kernel at which size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Run {
    /// Such as `05_swizzle`.
    pub rung: String,
    /// Such as `sm_90a`.
    pub arch: String,
    /// Such as `128x256`; empty if there is only one.
    pub tile: String,
    /// Such as `200x136x72`.
    pub size: String,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.rung, self.arch)?;
        if !self.tile.is_empty() {
            write!(f, " {}", self.tile)?;
        }
        write!(f, " at {}", self.size)
    }
}

/// A row of `accesses.csv`: the machine instructions of one name at one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Such as `05_swizzle`.
    pub rung: String,
    /// See [`Run`].
    pub arch: String,
    /// See [`Run`].
    pub tile: String,
    /// See [`Run`].
    pub size: String,
    /// Line of the kernel's file; none if the GPU's compiler did not say.
    pub line: Option<u32>,
    /// Such as `LDS.128`.
    pub opcode: String,
    /// Whether they have a guard: then they are executed even if no lane takes part, and so are no requests.
    pub guarded: bool,
    /// Instructions of that name there.
    pub instructions: u64,
    /// Executions by a warp.
    pub executions: u64,
    /// Lanes that took part, summed.
    pub threads: u64,
    /// See [`Counts`].
    pub shared_wavefronts: u64,
    /// See [`Counts`].
    pub shared_wavefronts_ideal: u64,
    /// See [`Counts`].
    pub global_sectors: u64,
    /// Not compared.
    pub global_tag_requests: u64,
}

/// Line, name, guard.
type Key<'a> = (Option<u32>, &'a str, bool);

/// The accesses of a listing, added up by line and name; an address without a line keeps none.
pub fn rows(run: &Run, listing: &Listing, lines: &BTreeMap<String, u32>) -> Vec<Row> {
    let mut sums = BTreeMap::<Key<'_>, (u64, Instruction)>::new();
    for (at, instruction) in listing {
        if Kind::of_sass(&instruction.opcode) == Kind::None {
            continue;
        }
        let opcode = instruction.opcode.as_str();
        let sum = sums.entry((lines.get(at).copied(), opcode, instruction.guarded));
        match sum {
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert((1, instruction.clone()));
            }
            std::collections::btree_map::Entry::Occupied(mut old) => {
                let (count, sum) = old.get_mut();
                *count += 1;
                sum.executions += instruction.executions;
                sum.threads += instruction.threads;
                sum.wavefronts += instruction.wavefronts;
                sum.ideal += instruction.ideal;
                sum.sectors += instruction.sectors;
                sum.tag_requests += instruction.tag_requests;
            }
        }
    }
    let row = |((line, _, guarded), (instructions, sum)): (Key<'_>, (u64, Instruction))| Row {
        rung: run.rung.clone(),
        arch: run.arch.clone(),
        tile: run.tile.clone(),
        size: run.size.clone(),
        line,
        opcode: sum.opcode,
        guarded,
        instructions,
        executions: sum.executions,
        threads: sum.threads,
        shared_wavefronts: sum.wavefronts,
        shared_wavefronts_ideal: sum.ideal,
        global_sectors: sum.sectors,
        global_tag_requests: sum.tag_requests,
    };
    sums.into_iter().map(row).collect()
}

/// What a rung's `--accesses` says of an instruction.
#[derive(Clone, Debug, Deserialize)]
pub struct Emulated {
    /// Line of the kernel's file.
    pub line: Option<u32>,
    /// Such as `ld.shared.v4.f32`.
    pub operation: String,
    /// Executions by a warp.
    pub executions: u64,
    /// Lanes that took part, summed.
    pub threads: u64,
    /// See [`Counts`].
    pub shared_wavefronts: u64,
    /// See [`Counts`].
    pub shared_wavefronts_ideal: u64,
    /// See [`Counts`].
    pub global_sectors: u64,
    /// How lanes asked.
    pub patterns: Vec<Pattern>,
}

/// One way in which a warp asked.
#[derive(Clone, Debug, Deserialize)]
pub struct Pattern {
    /// `shared` or `global`.
    pub space: String,
    /// `ld`, `st` or `matrix`.
    pub access: String,
    /// Of each lane.
    pub bytes: u32,
    /// For each lane.
    pub offsets: Vec<Option<u64>>,
}

/// By line and kind.
pub type Sums = BTreeMap<(Option<u32>, Kind), Counts>;

/// What was measured; kinds that are not comparable are left out. Without lines, all of a kind is one sum.
pub fn measured(rows: &[&Row], with_lines: bool) -> Sums {
    let mut sums = Sums::new();
    for row in rows {
        let counts = Counts {
            executions: row.executions,
            threads: row.threads,
            wavefronts: row.shared_wavefronts,
            ideal: row.shared_wavefronts_ideal,
            sectors: row.global_sectors,
        };
        let line = row.line.filter(|_| with_lines);
        add(&mut sums, line, Kind::of_sass(&row.opcode), counts);
    }
    sums
}

/// The keys whose machine instructions have guards: their executions are no requests.
pub fn guarded(rows: &[&Row], with_lines: bool) -> BTreeSet<(Option<u32>, Kind)> {
    let guarded = rows.iter().filter(|row| row.guarded);
    let key = |row: &&Row| (row.line.filter(|_| with_lines), Kind::of_sass(&row.opcode));
    guarded.map(key).collect()
}

/// What was emulated, likewise; `with_lines` as they were measured.
pub fn emulated(rows: &[Emulated], with_lines: bool) -> Sums {
    let mut sums = Sums::new();
    for row in rows {
        let counts = Counts {
            executions: row.executions,
            threads: row.threads,
            wavefronts: row.shared_wavefronts,
            ideal: row.shared_wavefronts_ideal,
            sectors: row.global_sectors,
        };
        let line = row.line.filter(|_| with_lines);
        add(&mut sums, line, Kind::of_ptx(&row.operation), counts);
    }
    sums
}

fn add(sums: &mut Sums, line: Option<u32>, kind: Kind, counts: Counts) {
    // What no warp executed is no access: ptxas may keep it for a case that did not come.
    let counted = !matches!(kind, Kind::None | Kind::NotComparable(_)) && counts.executions > 0;
    if counted {
        *sums.entry((line, kind)).or_default() += counts;
    }
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
            assert!(matches!(Kind::of_sass(sass), Kind::Compared(_)), "{sass}");
            assert_eq!(Kind::of_sass(sass), Kind::of_ptx(ptx), "{ptx}");
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
            let Kind::NotComparable(name) = Kind::of_sass(sass) else {
                panic!("{sass} is not comparable");
            };
            assert_eq!(Kind::of_ptx(ptx), Kind::NotComparable(name), "{ptx}");
            assert!(NOT_COMPARABLE.iter().any(|(listed, _)| *listed == name));
        }
        assert_eq!(Kind::of_sass("FFMA"), Kind::None);
        assert_eq!(Kind::of_sass("LDC.64"), Kind::None);
        assert_eq!(Kind::of_ptx("ld.param.u64"), Kind::None);
        assert_eq!(Kind::of_sass("LDL.64"), Kind::Unknown("LDL.64".into()));
        assert!(matches!(
            Kind::of_ptx("atom.global.add.u32"),
            Kind::Unknown(_)
        ));
    }

    #[test]
    fn instructions_of_a_line_are_added_up() {
        let run = Run {
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
            .find(|row| row.opcode == "STS")
            .expect("stores");
        assert_eq!((stores.line, stores.instructions), (Some(12), 2));
        assert_eq!(
            (stores.shared_wavefronts, stores.shared_wavefronts_ideal),
            (192, 128)
        );
        assert_eq!(found.len(), 3, "{found:?}");
        let sums = measured(&found.iter().collect::<Vec<_>>(), true);
        let load = sums[&(Some(9), Kind::Compared("ld.global"))];
        assert_eq!((load.executions, load.sectors), (64, 1024));
        // One in another file has no line of this one.
        assert!(sums.contains_key(&(None, Kind::Compared("ldmatrix"))));
        assert!(
            rows(&run, &listing, &BTreeMap::new())
                .iter()
                .all(|row| row.line.is_none())
        );
    }
}
