//! How long warps wait, in steps: warp instructions that the cluster executes meanwhile.
use super::block::Execution;
use super::warp::{Pending, Warp};
use crate::Wait;

/// A wait that has begun: the warp's lanes `mask` found an incomplete phase of an mbarrier at `pc`.
pub(super) struct Begun {
    pc: usize,
    mask: u32,
    mbarrier: u32,
    since: u64,
}

impl Warp {
    /// Warp instructions that the cluster has executed.
    pub(super) fn steps(&self, cx: &Execution<'_>) -> u64 {
        cx.common.others + self.clock
    }

    /// The phase is incomplete. Whether lanes that are already waiting for it continue to wait.
    pub(super) fn begin_wait(
        &mut self,
        pc: usize,
        mask: u32,
        mbarrier: u32,
        cx: &Execution<'_>,
    ) -> bool {
        let own = |begun: &Begun| begun.pc == pc && begun.mask & mask != 0;
        if self.waits.iter().any(|w| own(w) && w.mbarrier == mbarrier) {
            return true;
        }
        let since = self.steps(cx);
        self.waits.retain(|begun| !own(begun));
        self.waits.push(Begun {
            pc,
            mask,
            mbarrier,
            since,
        });
        false
    }

    /// The phase is complete; the last copy that landed in it was issued at the step `issued`.
    pub(super) fn end_wait(
        &mut self,
        pc: usize,
        mask: u32,
        mbarrier: u32,
        issued: Option<u64>,
        cx: &mut Execution<'_>,
    ) {
        let now = self.steps(cx);
        let own = |w: &Begun| w.pc == pc && w.mask & mask != 0 && w.mbarrier == mbarrier;
        let begun = self.waits.iter().position(own);
        let begun = begun.map(|index| self.waits.swap_remove(index).since);
        let since = begun.unwrap_or(now);
        *cx.profiler.waits.entry((pc, Some(mbarrier))).or_default() += Wait {
            times: 1,
            waited: begun.is_some().into(),
            steps: now.saturating_sub(since),
            longest: now.saturating_sub(since),
            copied: issued.is_some().into(),
            ahead: issued.map_or(0, |issued| since.saturating_sub(issued)),
            ..Wait::default()
        };
    }

    /// Records a wait for these `cp.async`s, which land now.
    pub(super) fn wait_for_copies<'a>(
        &self,
        pc: usize,
        landing: impl Iterator<Item = &'a Pending>,
        cx: &mut Execution<'_>,
    ) {
        let (mut issued, mut bytes, mut products) = (None, 0, 0);
        for copy in landing {
            let wanted = u64::from(copy.wanted);
            issued = issued.max(Some(copy.issued));
            bytes += wanted;
            products += wanted * self.products.saturating_sub(copy.products);
        }
        let Some(issued) = issued else { return };
        let ahead = self.steps(cx).saturating_sub(issued);
        *cx.profiler.waits.entry((pc, None)).or_default() += Wait {
            times: 1,
            copied: 1,
            ahead,
            bytes,
            products,
            ..Wait::default()
        };
    }
}
