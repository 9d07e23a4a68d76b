//! Traces undefined bits through a warp's operations, and reports those that matter.
use super::{Mark, all_bits, bytes_of};
use crate::Space;
use crate::banks::LANES;
use crate::exec::block::Execution;
use crate::exec::lane_access::space_of;
use crate::exec::lanes::lanes;
use crate::exec::load::extend;
use crate::exec::warp::Warp;
use crate::exec::warp_access::cut;
use crate::finding::{FindingKind, UndefinedUse};
use crate::lower::window;
use crate::op::{
    Address, Class, Code, ColdOp, LaneOp, LoadStore, MatrixOp, Reg, SyncOp, SystemCall, WarpOp,
    WgmmaOp,
};
use crate::program::{DataFlow, Flow};

/// Values substituted for undefined bits, by run and operand position: no two operands have the same value in every
/// run.
const PATTERNS: [[u64; 3]; 4] = [
    [0; 3],
    [u64::MAX; 3],
    [
        0xaaaa_aaaa_aaaa_aaaa,
        0x5555_5555_5555_5555,
        0xcccc_cccc_cccc_cccc,
    ],
    [
        0x5555_5555_5555_5555,
        0xaaaa_aaaa_aaaa_aaaa,
        0x3333_3333_3333_3333,
    ],
];

impl Warp {
    /// Traces an operation that may read undefined values. `mask` are the lanes at it, of which the `active` ones
    /// execute it.
    #[inline(never)]
    pub(in crate::exec) fn trace(
        &mut self,
        pc: u32,
        mask: u32,
        active: u32,
        cx: &mut Execution<'_>,
    ) {
        let program = cx.machine.program;
        let op = &program.ops[pc as usize];
        let Some(Some(flow)) = program.flows.get(pc as usize) else {
            return;
        };
        let mut unclear = 0;
        if let (Some((p, _)), Some((&guard, _))) = (op.guard, flow.uses.split_last()) {
            assert_eq!(p, guard.index, "a guard is the last register that is read");
            unclear = self.undefined.lanes(guard, mask);
            if !matches!(flow.flow, Flow::Moves | Flow::Computes) {
                self.use_undefined(guard, mask, UndefinedUse::Condition, pc, cx);
            }
        }
        let uses = match op.guard {
            Some(_) => &flow.uses[..flow.uses.len() - 1],
            None => &flow.uses[..],
        };
        match (&op.code, flow.flow) {
            (Code::Lane(code), Flow::Moves | Flow::Computes) => {
                self.trace_result(flow, uses, pc, active, active, cx, |warp, cx| {
                    warp.execute_once(code, pc as usize, active, cx);
                });
                // If the guard is undefined, it is open whether these are written.
                for &d in &flow.defs {
                    let bits = [all_bits(d.class); LANES];
                    let open = Mark {
                        lanes: unclear,
                        computed: unclear,
                        bits,
                        read_at: Some(pc as usize),
                    };
                    self.undefined.set(d, unclear, &open);
                }
                return;
            }
            (Code::Sync(SyncOp::Warp { mask: members, .. }), Flow::Computes) => {
                // The rest is traced when all lanes have arrived.
                let members = Reg {
                    class: Class::B32,
                    index: *members,
                };
                return self.use_undefined(members, active, UndefinedUse::Operand, pc, cx);
            }
            (Code::Lane(LaneOp::Load(access)), Flow::Loads) => {
                self.use_undefined(access.address.base, active, UndefinedUse::Address, pc, cx);
                return self.trace_load(access, pc, active);
            }
            (Code::Lane(LaneOp::Store(access)), _) => {
                self.use_undefined(access.address.base, active, UndefinedUse::Address, pc, cx);
                return self.trace_store(access, pc, active, cx);
            }
            (Code::Lane(LaneOp::Cold(cold)), Flow::Stores) => {
                if let ColdOp::System(SystemCall::Print {
                    result: Some(at), ..
                }) = **cold
                {
                    for lane in lanes(active) {
                        let at = self.calls.base(lane) + at;
                        if let Some(bits) = self.undefined.local_bits(lane, at as usize, 4) {
                            bits.fill(0);
                        }
                    }
                }
            }
            (Code::Lane(LaneOp::Atomic(access)), _) => {
                self.use_undefined(access.address.base, active, UndefinedUse::Address, pc, cx);
                for reg in [access.b, access.c] {
                    self.use_undefined(reg, active, UndefinedUse::Store, pc, cx);
                }
            }
            (Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))), _) => {
                let (p, negated) = wgmma.scale_d;
                let adds = self.get(Reg::predicate(p), 0) != u64::from(negated);
                let sums = wgmma.d.len();
                let looked = if adds { uses.len() } else { uses.len() - sums };
                for &reg in &uses[..looked] {
                    self.use_undefined(reg, active, UndefinedUse::Matrix(None), pc, cx);
                }
            }
            (Code::Matrix(MatrixOp::Mma(mma)), _) => {
                let [of_a, of_b, of_c] = mma.counts();
                let operands = [
                    ('a', &mma.a[..of_a]),
                    ('b', &mma.b[..of_b]),
                    ('c', &mma.c[..of_c]),
                ];
                for &reg in uses {
                    let named = operands.iter().find_map(|(name, registers)| {
                        let at = registers.iter().position(|index| *index == reg.index)?;
                        Some((*name, at as u8))
                    });
                    self.use_undefined(reg, active, UndefinedUse::Matrix(named), pc, cx);
                }
            }
            (code, _) => {
                let of = match code {
                    Code::Matrix(MatrixOp::Move(access)) if access.store => UndefinedUse::Store,
                    Code::Matrix(_) => UndefinedUse::Address,
                    Code::Lane(LaneOp::Load(_) | LaneOp::AsyncCopy(_)) => UndefinedUse::Address,
                    Code::Lane(_) | Code::Sync(_) => UndefinedUse::Operand,
                    Code::Branch { .. }
                    | Code::Call(_)
                    | Code::Return
                    | Code::Exit
                    | Code::Trap => UndefinedUse::Condition,
                };
                for &reg in uses {
                    self.use_undefined(reg, active, of, pc, cx);
                }
            }
        }
        for &d in &flow.defs {
            self.undefined.define(d, active);
        }
    }

    /// Traces values that lanes exchange.
    #[inline(never)]
    pub(in crate::exec) fn trace_exchange(
        &mut self,
        op: &WarpOp,
        pc: u32,
        mask: u32,
        cx: &mut Execution<'_>,
    ) {
        let Some(Some(flow)) = cx.machine.program.flows.get(pc as usize) else {
            return;
        };
        if flow.flow == Flow::Computes {
            self.trace_result(flow, &flow.uses, pc, mask, mask, cx, |warp, _| {
                warp.exchange(op, mask);
            });
        }
    }

    #[inline(never)]
    fn execute_once(&mut self, op: &LaneOp, pc: usize, mask: u32, cx: &mut Execution<'_>) {
        // Pure computation cannot fail.
        let _ = self.execute(op, pc, mask, cx, false);
    }

    /// Marks the undefined results of an operation in the lanes `written`; they depend on its sources in the lanes
    /// `read`.
    #[expect(clippy::too_many_arguments, reason = "two callers, side by side")]
    fn trace_result(
        &mut self,
        flow: &DataFlow,
        uses: &[Reg],
        pc: u32,
        read: u32,
        written: u32,
        cx: &mut Execution<'_>,
        execute: impl Fn(&mut Warp, &mut Execution<'_>),
    ) {
        let mut sources: Vec<(Reg, Mark)> = Vec::new();
        for &reg in uses {
            let known = sources.iter().any(|(known, _)| *known == reg);
            if let Some(mark) = self.undefined.mark(reg)
                && mark.lanes & read != 0
                && !known
            {
                sources.push((reg, mark.clone()));
            }
        }
        if sources.is_empty() {
            let defs = flow.defs.iter();
            return defs.for_each(|&d| self.undefined.define(d, written));
        }
        let values = |warp: &Warp, reg: Reg| -> [u64; LANES] {
            std::array::from_fn(|lane| warp.get(reg, lane))
        };
        let held = uses.iter().chain(&flow.defs);
        let held: Vec<(Reg, [u64; LANES])> = held.map(|&reg| (reg, values(self, reg))).collect();
        let restore = |warp: &mut Warp| {
            for (reg, values) in &held {
                (0..LANES).for_each(|lane| warp.set(*reg, lane, values[lane]));
            }
        };
        let runs = PATTERNS.map(|patterns| {
            restore(self);
            for (place, (reg, mark)) in sources.iter().enumerate() {
                for lane in lanes(mark.lanes & read) {
                    let (old, bits) = (self.get(*reg, lane), mark.bits[lane]);
                    self.set(*reg, lane, old & !bits | patterns[place % 3] & bits);
                }
            }
            execute(self, cx);
            let results = flow.defs.iter().map(|&d| values(self, d));
            results.collect::<Vec<_>>()
        });
        restore(self);
        let union = |of: fn(&Mark) -> u32| sources.iter().fold(0, |all, (_, mark)| all | of(mark));
        let read_at = sources.iter().find_map(|(_, mark)| mark.read_at);
        for (i, &d) in flow.defs.iter().enumerate() {
            let mut mark = Mark::NONE;
            for lane in lanes(written) {
                let bits = |run: &Vec<[u64; LANES]>| run[i][lane] ^ runs[0][i][lane];
                mark.bits[lane] = runs.iter().map(bits).fold(0, |all, bits| all | bits);
                mark.lanes |= u32::from(mark.bits[lane] != 0) << lane;
            }
            mark.computed = match flow.flow {
                Flow::Computes => mark.lanes,
                _ => union(|mark| mark.computed) & mark.lanes,
            };
            mark.read_at = read_at.or(Some(pc as usize));
            self.undefined.set(d, written, &mark);
        }
    }

    /// Reports a use of undefined bits of a register, and treats them as defined from now on.
    fn use_undefined(
        &mut self,
        reg: Reg,
        mask: u32,
        of: UndefinedUse,
        pc: u32,
        cx: &mut Execution<'_>,
    ) {
        let Some(mark) = self.undefined.mark(reg) else {
            return;
        };
        let (wrong, read_at) = (mark.lanes & mask, mark.read_at);
        if wrong != 0 {
            self.report_undefined(of, wrong, read_at, pc, cx);
            self.undefined.define(reg, wrong);
        }
    }

    fn report_undefined(
        &self,
        of: UndefinedUse,
        mask: u32,
        read_at: Option<usize>,
        pc: u32,
        cx: &mut Execution<'_>,
    ) {
        let thread = self.first_thread(mask);
        let first_read = read_at.filter(|&at| at != pc as usize);
        let first_read = first_read.map(|at| {
            let location = cx.machine.location(at, thread, cx.block.index);
            Box::new(location)
        });
        let kind = FindingKind::UndefinedRegister { of, first_read };
        self.report(kind, pc, mask, cx);
    }

    /// The offset of a lane's address in its local memory, if it points there.
    fn local_at(&self, space: Space, address: u64, bytes: u32) -> Option<usize> {
        let offset = match space {
            Space::Local => address,
            Space::Generic if space_of(address) == Space::Local => address - window::LOCAL,
            Space::Generic
            | Space::Global
            | Space::Shared
            | Space::Cluster
            | Space::Const
            | Space::Param => return None,
        };
        let each = (self.undefined.local.len() / LANES) as u64;
        (offset.checked_add(bytes.into())? <= each).then_some(offset as usize)
    }

    /// A loaded value has the undefined bits of the local memory that it was loaded from.
    fn trace_load(&mut self, access: &LoadStore, pc: u32, mask: u32) {
        let addresses = self.lane_addresses(access.address, mask);
        for i in 0..access.count as usize {
            let mut mark = Mark {
                read_at: Some(pc as usize),
                ..Mark::NONE
            };
            for lane in lanes(mask) {
                let address = addresses[lane].wrapping_add(i as u64 * u64::from(access.bytes));
                let at = self.local_at(access.space, address, access.bytes);
                let bits = at.and_then(|at| self.undefined.local_bits(lane, at, access.bytes));
                let mut raw = [0; 8];
                if let Some(bits) = bits {
                    raw[..bits.len()].copy_from_slice(bits);
                }
                let bits = extend(u64::from_le_bytes(raw), access.bytes, access.signed);
                mark.bits[lane] = bits & cut(u64::MAX, bytes_of(access.class));
                mark.lanes |= u32::from(bits != 0) << lane;
            }
            self.undefined.set(access.reg(i), mask, &mark);
        }
    }

    /// Undefined bits may be stored to local memory. Elsewhere they are a mistake, except as padding: part of a
    /// vector store or of a packed word that also holds defined bits, if they were not used in a computation.
    fn trace_store(&mut self, access: &LoadStore, pc: u32, mask: u32, cx: &mut Execution<'_>) {
        let addresses = self.lane_addresses(access.address, mask);
        let size = access.bytes * access.count;
        let (mut wrong, mut read_at) = (0, None);
        for lane in lanes(mask) {
            let (mut any, mut computed, mut defined) = (false, false, false);
            let mut raw = [0; 16];
            for i in 0..access.count as usize {
                let mark = self.undefined.mark(access.reg(i));
                let mark = mark.filter(|mark| mark.lanes >> lane & 1 == 1);
                let all = cut(u64::MAX, access.bytes);
                let bits = mark.map_or(0, |mark| mark.bits[lane]) & all;
                defined |= bits != all;
                if let Some(mark) = mark
                    && bits != 0
                {
                    any = true;
                    computed |= mark.computed >> lane & 1 == 1;
                    read_at = read_at.or(mark.read_at);
                }
                let (at, bytes) = (i * access.bytes as usize, access.bytes as usize);
                raw[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
            }
            match self.local_at(access.space, addresses[lane], size) {
                Some(at) => {
                    if let Some(bits) = self.undefined.local_bits(lane, at, size) {
                        bits.copy_from_slice(&raw[..size as usize]);
                    }
                }
                None if any && (computed || !defined) => wrong |= 1 << lane,
                None => {}
            }
        }
        if wrong != 0 {
            self.report_undefined(UndefinedUse::Store, wrong, read_at, pc, cx);
            for i in 0..access.count as usize {
                self.undefined.define(access.reg(i), wrong);
            }
        }
    }

    fn lane_addresses(&self, at: Address, mask: u32) -> [u64; LANES] {
        self.addresses(at, mask)
    }
}
