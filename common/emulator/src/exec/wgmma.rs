//! `wgmma`: it is queued when a warp executes it, and its results land when the warp waits for it, as late as
//! the program allows. PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions".
//!
//! The four warps of a warpgroup execute it together, each with 16 rows of the 64. So the first warp whose wait
//! ends reads the operands for all of them, and no wait ends before all four warps have issued it.
mod check;
mod gather;

use gather::{gather, sign};

use super::block::Execution;
use super::lane_access::{Fatal, Result};
use super::lanes::ALL;
use super::warp::Warp;
use super::warpgroup::{Descriptors, Issued, Operands, Unordered, WARPS};
use crate::Card;
use crate::banks::LANES;
use crate::descriptor::K;
use crate::finding::{FindingKind, WgmmaOrder};
use crate::happens_before::Engine;
use crate::op::{Code, MatrixOp, Wgmma, WgmmaA, WgmmaOp};
use crate::tensor::{self, Accumulators, Rows};

/// Rows of the whole instruction.
const ROWS: u32 = 64;

/// The most `wgmma` of a warpgroup in flight, a bound for hostile input.
const MOST: usize = 1 << 12;

impl Warp {
    /// Executes an instruction of the `wgmma` family.
    ///
    /// # Returns
    /// The number of the `wgmma` that all warps must have issued before a `wgmma.wait_group` can end, if they have not.
    pub(super) fn wgmma(
        &mut self,
        op: &WgmmaOp,
        pc: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<Option<u64>> {
        cx.before_load();
        self.check_warpgroup(pc, mask, cx)?;
        match op {
            WgmmaOp::Mma(wgmma) => self.issue(wgmma, pc, cx)?,
            WgmmaOp::Fence => self.matrices.fence(),
            WgmmaOp::Commit => self.commit_wgmma(pc, cx)?,
            WgmmaOp::Wait { pending, .. } => return Ok(self.wait_wgmma(*pending, mask, cx)),
        }
        cx.block.activity += 1;
        Ok(None)
    }

    /// The accumulators that a `wgmma.wait_group` completes, each once.
    pub(super) fn accumulators_waited_for(&self, pending: u32, cx: &Execution<'_>) -> Vec<u32> {
        let mut found: Vec<&[u32]> = Vec::new();
        let group = cx.block.warpgroups.get(self.index / WARPS);
        let ops = group.map(|group| group.completed_by_wait(self.index % WARPS, pending));
        for op in ops.into_iter().flatten() {
            if let Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))) =
                &cx.machine.program.ops[op].code
                && !found.contains(&&wgmma.d[..])
            {
                found.push(&wgmma.d);
            }
        }
        found.concat()
    }

    /// Whether results of this warp's `wgmma`s have not landed yet.
    pub(super) fn has_wgmma_in_flight(&self, cx: &Execution<'_>) -> bool {
        let group = cx.block.warpgroups.get(self.index / WARPS);
        group.is_some_and(|group| {
            group.issued[self.index % WARPS] > group.landed[self.index % WARPS]
        })
    }

    /// `wgmma.commit_group`
    fn commit_wgmma(&mut self, pc: usize, cx: &mut Execution<'_>) -> Result<()> {
        let (number, warp) = (self.index / WARPS, self.index % WARPS);
        let group = &mut cx.block.warpgroups[number];
        if group.commits[warp].len() >= MOST {
            let reason = format!("more than {MOST} groups: wgmma.wait_group is missing");
            return self.invalid(pc, reason, cx);
        }
        let issued = group.issued[warp];
        group.commits[warp].push_back(issued);
        Ok(())
    }

    fn invalid<T>(&self, pc: usize, reason: String, cx: &mut Execution<'_>) -> Result<T> {
        self.report(FindingKind::InvalidWgmma(reason), pc as u32, self.alive, cx);
        Err(Fatal)
    }

    /// Checks that a warpgroup is four whole warps.
    fn check_warpgroup(&self, pc: usize, mask: u32, cx: &mut Execution<'_>) -> Result<()> {
        let first = self.index / WARPS * WARPS;
        if cx.block.warpgroups.get(self.index / WARPS).is_none() {
            let reason = format!(
                "a warpgroup is 4 warps, 128 threads; the block's {} threads end before warp {} of this one",
                cx.machine.threads,
                first + WARPS - 1
            );
            return self.invalid(pc, reason, cx);
        }
        if mask != ALL {
            let (missing, why) = match self.alive {
                ALL => (32 - mask.count_ones(), "are elsewhere"),
                alive => (32 - alive.count_ones(), "have exited"),
            };
            let reason = format!(
                "all threads of the warpgroup must execute it together, but {missing} of warp {} {why}",
                self.index
            );
            return self.invalid(pc, reason, cx);
        }
        Ok(())
    }

    /// A warp issues a `wgmma`.
    fn issue(&mut self, wgmma: &Wgmma, pc: usize, cx: &mut Execution<'_>) -> Result<()> {
        let (number, warp) = (self.index / WARPS, self.index % WARPS);
        let a = match wgmma.a {
            WgmmaA::Descriptor(a) => Some(self.uniform(a, "A", pc, cx)?),
            WgmmaA::Registers(_) => None,
        };
        let b = self.uniform(wgmma.b, "B", pc, cx)?;
        let (p, negated) = wgmma.scale_d;
        let scale_d = match self.predicates[p as usize] {
            0 => negated,
            ALL => !negated,
            _ => {
                let reason = "scale-d is not the same in all threads of the warpgroup";
                return self.invalid(pc, reason.into(), cx);
            }
        };
        let descriptors = Descriptors { a, b, scale_d };
        let engine = self.engine();
        let group = &mut cx.block.warpgroups[number];
        let (at, full) = (group.issued[warp], group.queue.len() >= MOST);
        group.issued[warp] += 1;
        match group.entry(at) {
            None if full => {
                let reason =
                    format!("more than {MOST} wgmma are in flight: wgmma.wait_group is missing");
                return self.invalid(pc, reason, cx);
            }
            None => {
                group.queue.push_back(Issued {
                    op: pc,
                    descriptors,
                    clock: cx.order.begin(engine),
                    operands: None,
                });
                self.check_operands(wgmma, &descriptors, pc, cx)?;
                count(wgmma, pc, cx);
            }
            Some(issued) if issued.op != pc => {
                let other = cx.machine.location(issued.op, 0, [0; 3]).at();
                let reason = format!(
                    "all warps of a warpgroup must execute the same wgmma, but another one is at {other}"
                );
                return self.invalid(pc, reason, cx);
            }
            Some(issued) if issued.descriptors != descriptors => {
                let before = issued.descriptors;
                let reason = differing(&before, &descriptors);
                return self.invalid(pc, reason, cx);
            }
            Some(_) => {}
        }
        self.check_operand_order(wgmma, &descriptors, (at, pc), cx);
        self.note_product(cx);
        let a = wgmma.a_registers();
        // What else is in registers is known only to ptxas.
        let needed = wgmma.d.len() + a.len();
        let owned = cx.block.registers.set(self.index);
        if let Some(owned) = owned.filter(|owned| needed > *owned as usize) {
            let reason = format!(
                "accumulators and A of this wgmma take {needed} registers, and the warp owns {owned} a thread: ptxas ignores \
                 every setmaxnreg of the kernel. Leave this warp {} or more, a multiple of 8, since it needs others, too",
                (needed + 1).next_multiple_of(8)
            );
            self.report(FindingKind::TooFewRegisters(reason), pc as u32, ALL, cx);
        }
        use WgmmaOrder::{Fence, Wait};
        let (missing, reason) = match self.matrices.take(at, pc, (&wgmma.d, wgmma.product), a) {
            None => return Ok(()),
            Some(Unordered::Fence) => (
                Fence,
                "wgmma.fence is missing: its registers were accessed since the last one, \
                 or there was none"
                    .to_string(),
            ),
            Some(Unordered::Shape(before)) => (
                Fence,
                format!(
                    "wgmma.fence is missing: its accumulators were those of an m64n{}k{} before, and only \
                     accumulators of the same shape are ordered without it",
                    before.n, before.k
                ),
            ),
            Some(Unordered::InFlight(op)) => (
                Wait,
                format!(
                    "its A is in registers that the wgmma at {} writes: wgmma.wait_group is missing",
                    cx.machine.location(op, 0, [0; 3]).at()
                ),
            ),
        };
        let kind = FindingKind::UnorderedWgmma(missing, reason);
        self.report(kind, pc as u32, ALL, cx);
        Ok(())
    }

    /// The sanitizer's engine for the `wgmma` of this warpgroup.
    fn engine(&self) -> Engine {
        Engine::Matrix(self.actor - self.index % WARPS)
    }

    /// `wgmma.wait_group`: lands all but the latest `pending` groups. If other warps of the warpgroup have not
    /// issued all of them yet, returns how many `wgmma` they must issue.
    fn wait_wgmma(&mut self, pending: u32, mask: u32, cx: &mut Execution<'_>) -> Option<u64> {
        let (number, warp) = (self.index / WARPS, self.index % WARPS);
        let group = &mut cx.block.warpgroups[number];
        let end = group.end_of_wait(warp, pending)?;
        if !group.all_issued(end) {
            return Some(end);
        }
        let closing = group.commits[warp].len() - pending as usize;
        group.commits[warp].drain(..closing);
        let program = cx.machine.program;
        let (mut clock, mut kept) = (None, Vec::new());
        let mut spare = std::mem::take(&mut group.spare);
        for at in group.landed[warp]..end {
            let Some(issued) = group.entry(at) else {
                continue;
            };
            clock = Some(issued.clock);
            let Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(wgmma))) = &program.ops[issued.op].code
            else {
                continue;
            };
            if issued.operands.is_none() && cx.machine.peers.is_none() {
                let mut operands = spare.pop().unwrap_or_default();
                let descriptors = &issued.descriptors;
                let read = gather(wgmma, descriptors, &cx.block.shared, &mut operands);
                issued.operands = read.map(|()| operands);
            }
            if let Some(operands) = &issued.operands {
                if cx.profiler.keeps_factors() {
                    kept.extend(
                        self.wgmma_factors(wgmma, operands)
                            .map(|of| (issued.op, of)),
                    );
                }
                self.land(wgmma, issued.descriptors.scale_d, operands);
            }
        }
        group.spare = spare;
        group.landed[warp] = end;
        group.forget();
        for (op, factors) in kept {
            self.keep_factors(op, factors, cx);
        }
        self.matrices.land(end);
        if let Some(clock) = clock {
            cx.completed(self.engine(), clock, self, mask);
        }
        cx.block.activity += 1;
        None
    }

    /// D = A B + D of this warp's 16 rows. With g = lane / 4 and t = lane % 4, register r of D holds row
    /// `g + 8 (r / 2 % 2)`, column `8 (r / 4) + 2 t + r % 2`; register r of A row `g + 8 (r % 2)`, bytes
    /// `4 t + 16 (r / 2)` and on.
    fn land(&mut self, wgmma: &Wgmma, scale_d: bool, operands: &Operands) {
        let mut own;
        let a = match (&wgmma.a, &operands.a) {
            (WgmmaA::Registers(regs), _) => {
                let sign = sign(wgmma, 0);
                own = Rows::ZERO;
                for (r, &reg) in regs.iter().enumerate() {
                    for lane in 0..LANES {
                        let value = self.b32[reg as usize].0[lane] ^ sign;
                        let (row, k) = (lane / 4 + 8 * (r % 2), lane % 4 * 2 + 8 * (r / 2));
                        own.bits[16 * row + k] = value as u16;
                        own.bits[16 * row + k + 1] = (value >> 16) as u16;
                    }
                }
                if let Some(format) = wgmma.arithmetic.half() {
                    own.convert(format);
                }
                &own
            }
            (WgmmaA::Descriptor(_), a) => &a[self.index % WARPS],
        };
        let packed = wgmma.arithmetic.is_packed();
        let panels = wgmma.d.chunks_exact(if packed { 2 } else { 4 });
        let left = match wgmma.arithmetic.half() {
            Some(_) if !packed => {
                let (registers, d) = (&mut self.b32[..], &wgmma.d[..]);
                tensor::add_panels(a, &operands.b, scale_d, Accumulators { registers, d })
            }
            Some(_) | None => u32::MAX,
        };
        for (i, (b, regs)) in operands.b.iter().zip(panels).enumerate() {
            if left >> i & 1 == 0 {
                continue;
            }
            let mut sums = match scale_d {
                true => self.sums(packed, regs),
                false => [0; 128],
            };
            let (card, arithmetic) = (Card::H100, wgmma.arithmetic);
            tensor::multiply::<16, 256, 128>(card, arithmetic, &a.bits, &b.bits(), &mut sums);
            self.put_sums(packed, regs, &sums);
        }
    }

    /// An ordinary instruction's access to registers that a `wgmma` names.
    #[inline(never)]
    pub(super) fn touch(&mut self, pc: u32, active: u32, cx: &mut Execution<'_>) {
        for &(reg, writes) in &cx.machine.program.watched[pc as usize] {
            let Some(op) = self.matrices.touch(reg) else {
                continue;
            };
            let reason = format!(
                "{} a register of the wgmma at {}, which is still in flight: wgmma.commit_group and \
                 wgmma.wait_group must come first",
                if writes { "this writes" } else { "this reads" },
                cx.machine.location(op, 0, [0; 3]).at()
            );
            let kind = FindingKind::UnorderedWgmma(WgmmaOrder::Wait, reason);
            self.report(kind, pc, active, cx);
        }
    }
}

/// Counts as an H100 does, once for the four warps: one wavefront for each 128 bytes of the operands in
/// shared memory and no conflicts, for every swizzle and both majors (measured).
fn count(wgmma: &Wgmma, pc: usize, cx: &mut Execution<'_>) {
    let a = match wgmma.a {
        WgmmaA::Descriptor(_) => ROWS,
        WgmmaA::Registers(_) => 0,
    };
    let bytes = u64::from(2 * K * (a + wgmma.product.n));
    let counters = &mut cx.profiler.ops[pc];
    counters.bytes += bytes;
    counters.shared.wavefronts += bytes / 128;
    counters.shared.ideal += bytes / 128;
}

/// The argument in which two warps differ.
fn differing(before: &Descriptors, now: &Descriptors) -> String {
    let (what, before, now) = match () {
        () if before.a != now.a => {
            let [before, now] = [before.a, now.a].map(Option::unwrap_or_default);
            ("the descriptor of A", before, now)
        }
        () if before.b != now.b => ("the descriptor of B", before.b, now.b),
        () => ("scale-d", before.scale_d.into(), now.scale_d.into()),
    };
    format!("{what} is 0x{now:x}, but 0x{before:x} in another warp of the warpgroup")
}
