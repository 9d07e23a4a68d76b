//! What must hold of the operands of a `wgmma` in shared memory: order, swizzle and addresses.
use super::ROWS;
use super::gather::units;
use crate::descriptor::{Descriptor, K, UNIT};
use crate::exec::block::Execution;
use crate::exec::lane_access::Result;
use crate::exec::lanes::ALL;
use crate::exec::warp::Warp;
use crate::exec::warpgroup::{Descriptors, WARPS};
use crate::finding::FindingKind;
use crate::lower::SHARED_BASE;
use crate::op::Wgmma;
use crate::shadow::{AccessMode, AsyncOp};

impl Warp {
    /// Reports to the sanitizer what the `wgmma` of this number and operation reads. Each warp must be ordered
    /// after the write of the operands, because the warps do not wait for each other when they issue it.
    pub(super) fn check_operand_order(
        &self,
        wgmma: &Wgmma,
        descriptors: &Descriptors,
        (at, op): (u64, usize),
        cx: &mut Execution<'_>,
    ) {
        let group = &mut cx.block.warpgroups[self.index / WARPS];
        let Some(clock) = group.entry(at).map(|issued| issued.clock) else {
            return;
        };
        if cx.block.shadow.is_none() {
            return;
        }
        let by = AsyncOp {
            engine: self.engine(),
            actor: cx.order.engine(self.engine()),
            clock,
            site: self.site(op, 0),
        };
        let operands = [
            ("A", descriptors.a, ROWS, wgmma.transposed[0]),
            (
                "B",
                Some(descriptors.b),
                wgmma.product.n,
                wgmma.transposed[1],
            ),
        ];
        for (name, bits, mn, transposed) in operands {
            let Some(Ok(descriptor)) = bits.map(Descriptor::decode) else {
                continue;
            };
            self.check_swizzle(name, &descriptor, op, cx);
            let units = units(mn, transposed);
            let starts: Vec<u32> = units
                .map(|(row, k)| descriptor.unit(transposed, row, k))
                .collect();
            self.note_read(starts.iter().copied(), cx);
            let (at, issuers) = ((cx.rank, &starts[..]), [(self.actor, ALL)]);
            cx.asynchronous(AccessMode::AsyncRead, &by, at, UNIT, &issuers);
        }
    }

    /// A tile written by TMA must be read with the swizzle of that copy.
    pub(super) fn check_swizzle(
        &self,
        operand: &str,
        descriptor: &Descriptor,
        op: usize,
        cx: &mut Execution<'_>,
    ) {
        let at = descriptor.unit(false, 0, 0);
        let shadow = cx.block.shadow.as_ref();
        let Some(copy) = shadow.and_then(|shadow| shadow.brought_by(at)) else {
            return;
        };
        let width = descriptor.swizzle_width();
        let Some(&Some(brought)) = cx.common.swizzles.get(&copy) else {
            return;
        };
        if brought == width {
            return;
        }
        let words = |width: u32| match width {
            0 => "no swizzle".to_string(),
            width => format!("the {width}-byte swizzle"),
        };
        let reason = format!(
            "operand {operand} at 0x{at:x} was copied with {} at {}, but its descriptor says {}",
            words(brought),
            cx.machine.location(copy, 0, [0; 3]).at(),
            words(width)
        );
        self.report(FindingKind::SwizzleMismatch(reason), op as u32, ALL, cx);
    }

    /// A 64-bit register that must be the same in all lanes.
    pub(super) fn uniform(
        &self,
        reg: u32,
        operand: &str,
        pc: usize,
        cx: &mut Execution<'_>,
    ) -> Result<u64> {
        let lanes = &self.b64[reg as usize].0;
        if lanes.iter().all(|&value| value == lanes[0]) {
            return Ok(lanes[0]);
        }
        let reason =
            format!("the descriptor of {operand} is not the same in all threads of the warpgroup");
        self.invalid(pc, reason, cx)
    }

    /// Checks every 16 bytes that the descriptors address.
    pub(super) fn check_operands(
        &self,
        wgmma: &Wgmma,
        descriptors: &Descriptors,
        pc: usize,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let a = descriptors
            .a
            .map(|a| ("A", "row", a, ROWS, wgmma.transposed[0]));
        let n = wgmma.product.n;
        let b = ("B", "column", descriptors.b, n, wgmma.transposed[1]);
        let end = cx.machine.shared_end;
        for (name, side, bits, mn, transposed) in a.into_iter().chain([b]) {
            let checked = Descriptor::decode(bits)
                .and_then(|found| found.check_row(transposed, mn).map(|()| found));
            let descriptor = match checked {
                Ok(descriptor) => descriptor,
                Err(reason) => return self.invalid(pc, format!("operand {name}: {reason}"), cx),
            };
            if SHARED_BASE <= descriptor.start() && descriptor.bound(transposed, mn) <= end {
                continue;
            }
            for (row, k) in units(mn, transposed) {
                let address = descriptor.unit(transposed, row, k);
                if address < SHARED_BASE || address.saturating_add(16) > end {
                    // The first element of the unit, for any element size.
                    let k = k * wgmma.product.k / K;
                    let reason = format!(
                        "operand {name}: {side} {row}, k {k} is at 0x{address:x}, outside the block's {} bytes of \
                         shared memory, which start at 0x{SHARED_BASE:x}; the descriptor is 0x{bits:016x}",
                        end - SHARED_BASE
                    );
                    return self.invalid(pc, reason, cx);
                }
            }
        }
        Ok(())
    }
}
