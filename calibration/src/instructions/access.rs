//! `shared_memory.csv` and `global_memory.csv`: the cost of one access of a warp.
use std::marker::PhantomData;

use anyhow::{Result, bail, ensure};
use emulator::{Card, Counters, LANES, SharedAccess, shared_wavefronts};
use harness::WarpAccess;

use super::table::number;
use super::{Experiment, Recorded, Recorder, Row, check_count, options};

/// A kind of memory.
pub trait Space: Send + Sync + 'static {
    /// Its state space in PTX.
    const NAME: &'static str;
    /// The first line of a recording.
    const HEADER: &'static str;
    /// The measured columns.
    const MEASURED: [&'static str; 2];
    /// Metrics of Nsight Compute for these columns, without the suffix `ld` or `st`; they include matrix accesses.
    const METRICS: [&'static str; 2];
    /// Computes `%at` from `%offset`.
    const ADDRESS: &'static str;
    /// The emulator's counters for these columns.
    fn counted(counters: &Counters) -> [u64; 2];
}

/// Shared memory.
pub struct Shared;

impl Space for Shared {
    const NAME: &'static str = "shared";
    const HEADER: &'static str = "op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts";
    const MEASURED: [&'static str; 2] = ["wavefronts", "bank_conflicts"];
    const METRICS: [&'static str; 2] = [
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op",
    ];
    const ADDRESS: &'static str =
        ".reg .b32 %at, %base;\nmov.u32 %base, tile;\nadd.u32 %at, %base, %offset;\n";

    fn counted(counters: &Counters) -> [u64; 2] {
        [counters.shared.wavefronts, counters.shared.conflicts]
    }
}

/// Global memory.
pub struct Global;

impl Space for Global {
    const NAME: &'static str = "global";
    const HEADER: &'static str = "op,bytes_per_lane,byte_offset_per_lane,sectors,requests";
    const MEASURED: [&'static str; 2] = ["sectors", "requests"];
    const METRICS: [&'static str; 2] = [
        "l1tex__t_sectors_pipe_lsu_mem_global_op",
        "l1tex__t_requests_pipe_lsu_mem_global_op",
    ];
    const ADDRESS: &'static str =
        ".reg .b64 %at;\ncvt.u64.u32 %at, %offset;\nadd.u64 %at, %at, %out;\n";

    fn counted(counters: &Counters) -> [u64; 2] {
        [counters.global_sectors, counters.global_requests]
    }
}

/// A row: an access of a warp.
pub struct Access<S> {
    access: WarpAccess,
    space: PhantomData<S>,
}

impl<S: Space> Access<S> {
    fn is_matrix(&self) -> bool {
        self.access.kind == SharedAccess::Matrix
    }

    fn is_load(&self) -> bool {
        self.access.op.starts_with("ld")
    }

    fn instruction(&self) -> String {
        let (op, space) = (&self.access.op, S::NAME);
        match op.split_once(".x") {
            Some((op, shape)) => format!("{op}.sync.aligned.m8n8.x{shape}.{space}.b16"),
            None => {
                let kind = match self.access.bytes {
                    1 => "u8",
                    2 => "u16",
                    4 => "u32",
                    8 => "v2.u32",
                    _ => "v4.u32",
                };
                format!("{op}.{space}.{kind}")
            }
        }
    }

    /// A kernel of one warp that makes this access. Its only other access to this kind of memory is a store that
    /// never executes, which keeps a load's result in use.
    fn experiment(&self) -> Result<Experiment> {
        const INACTIVE: u32 = u32::MAX;
        let WarpAccess { op, bytes, .. } = &self.access;
        let mut offsets = self.access.offsets;
        if self.is_matrix() {
            let (rows, others) = offsets.split_at_mut(self.access.addresses());
            ensure!(
                rows.iter().all(Option::is_some),
                "{op} needs the address of every row: only ld and st can have inactive lanes"
            );
            // The addresses of the other lanes are ignored.
            others.fill(rows[0]);
        }
        let table = offsets.map(|offset| offset.unwrap_or(INACTIVE).to_string());
        let end = offsets.iter().flatten().max().copied().unwrap_or(0) + bytes.max(&4);
        let registers = match self.is_matrix() {
            true => self.access.addresses() / 8,
            false => bytes.div_ceil(4) as usize,
        };
        let values = &["%v0", "%v1", "%v2", "%v3"][..registers];
        let list = match values {
            [one] if !self.is_matrix() => (*one).to_owned(),
            all => format!("{{{}}}", all.join(", ")),
        };
        let guard = if self.is_matrix() { "" } else { "@%active " };
        let operands = match self.is_load() {
            true => format!("{list}, [%at]"),
            false => format!("[%at], {list}"),
        };
        let mut body = format!(
            ".reg .b32 %offset, %lane, %v<4>;\n.reg .b64 %entry;\n.reg .pred %active, %never;\n\
             mov.u32 %lane, %tid.x;\n\
             mov.u64 %entry, offsets;\n\
             mad.wide.u32 %entry, %lane, 4, %entry;\n\
             ld.const.u32 %offset, [%entry];\n\
             setp.ne.u32 %active, %offset, {INACTIVE};\n\
             {address}\
             mov.u32 %v0, %lane;\nmov.u32 %v1, %lane;\nmov.u32 %v2, %lane;\nmov.u32 %v3, %lane;\n\
             {guard}{instruction} {operands};\n",
            address = S::ADDRESS,
            instruction = self.instruction(),
        );
        for value in values.iter().filter(|_| self.is_load()) {
            body += &format!(
                "setp.eq.u32 %never, {value}, 0x5bd1e995;\n@%never st.global.u32 [%out], {value};\n"
            );
        }
        let declarations = format!(
            ".const .align 4 .u32 offsets[{LANES}] = {{{}}};\n.extern .shared .align 128 .b8 tile[];\n",
            table.join(", ")
        );
        let (dynamic_shared, output_bytes) = match S::NAME == Shared::NAME {
            true => (end, 4),
            false => (0, end as usize),
        };
        Ok(Experiment {
            ptx: Experiment::module(&declarations, &body),
            blocks: 1,
            threads: LANES as u32,
            dynamic_shared,
            input: Vec::new(),
            tensor: None,
            output_bytes,
        })
    }
}

impl<S: Space> Row for Access<S> {
    type Measured = [u64; 2];

    const HEADER: &'static str = S::HEADER;
    const MEASURED: usize = 2;

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, [u64; 2])> {
        let [op, bytes, offsets, first, second] = fields else {
            bail!("an access has 5 fields");
        };
        let access = Self {
            access: WarpAccess::parse(&[op, bytes, offsets])?,
            space: PhantomData,
        };
        let measured = [
            number(S::MEASURED[0], first)?,
            number(S::MEASURED[1], second)?,
        ];
        Ok((access, measured))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(vec![self.experiment()?])
    }

    fn measured(&self, _: &[Vec<u8>]) -> Result<[u64; 2]> {
        bail!("an access has counters, not outputs")
    }

    fn fields(&self, measured: &[u64; 2]) -> Vec<String> {
        measured.map(|count| count.to_string()).into()
    }

    fn difference(&self, recorded: &[u64; 2], found: &[u64; 2]) -> [String; 3] {
        let WarpAccess { op, bytes, .. } = &self.access;
        let say = |[first, second]: &[u64; 2]| {
            format!("{} {first}, {} {second}", S::MEASURED[0], S::MEASURED[1])
        };
        let what = format!("{op}, {bytes} bytes a lane");
        [what, say(recorded), say(found)]
    }

    fn on_emulator(&self, card: Card) -> Result<[u64; 2]> {
        if S::NAME != Shared::NAME && self.is_matrix() {
            bail!("{} is for shared memory only", self.access.op);
        }
        let (addresses, active) = self.access.lanes();
        if active == 0 && !self.is_matrix() {
            // The emulator does not count an instruction without active lanes, as a profile by lines would not. Alone
            // in a kernel such an instruction still counts as a request, and as a wavefront by the measured rule.
            let WarpAccess { kind, bytes, .. } = self.access;
            return Ok(S::counted(&Counters {
                shared: shared_wavefronts(kind, bytes, &addresses, active),
                global_requests: 1,
                ..Counters::default()
            }));
        }
        let observed = self.experiment()?.on_emulator(&options(card))?;
        Ok(S::counted(&observed.counters_of(&self.instruction())))
    }

    /// A GPU's counters come from Nsight Compute, which profiles all rows at once.
    fn on_gpu(rows: &[Recorded<Self>], recorder: &mut dyn Recorder) -> Result<Vec<[u64; 2]>> {
        let metrics = rows.iter().map(|row| {
            let op = if row.case.is_load() { "ld" } else { "st" };
            S::METRICS.map(|metric| format!("{metric}_{op}.sum"))
        });
        let counters = recorder.counters(&metrics.collect::<Vec<_>>())?;
        check_count(counters.len(), rows.len())?;
        Ok(counters)
    }
}
