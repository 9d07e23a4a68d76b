//! How much of their L2 traffic SMs share, from the addresses of the CTAs that run at the same time.

use emulator::{Effect, Instruction, InstructionKind, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

/// How the CTAs of a launch share the memory behind the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// Of the bytes that all SMs request from the L2 at the same time, the fraction that no other SM requests.
    pub distinct: f64,
    /// Of the same bytes, the fraction that the L2 reads: what no other SM of the GPC requests at the same moment. The
    /// rest is delivered along with it.
    pub read: f64,
    /// The fraction of the GPU's SMs that run a CTA.
    pub at_work: f64,
    /// The fraction of the distinct bytes that comes from DRAM.
    pub cold: f64,
}

/// Bytes that some warps read from global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// As the SMs request them: a line that the L1 holds counts once per SM, one that bypasses the L1 once per CTA.
    pub asked: u64,
    /// Counting each sector once.
    pub distinct: u64,
    /// As the L2 reads them: once for all SMs of a GPC that request them at the same moment.
    pub read: u64,
}

/// CTAs of one SM that request the same lines at the same moment as those of other SMs.
const IN_STEP: f64 = 4.0;

/// How CTAs are distributed over the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// GPCs: groups of SMs that share a path to the L2.
    pub gpcs: f64,
    /// CTAs resident on an SM.
    pub resident: u32,
}

impl Spread {
    /// The fraction of a line's requests that the L2 reads, if `askers` CTAs request it and they are spread over the
    /// GPU at random.
    ///
    /// Up to [`IN_STEP`] CTAs of an SM behave like one CTA with as many boxes in flight. More of them drift apart and
    /// share less (microbenchmark `tma/tiles`: 43 to 46 bytes per clock and SM with two to four CTAs, 32 with twelve).
    fn read(self, askers: usize, kept: bool) -> f64 {
        let at_once = if kept {
            1.0
        } else {
            (f64::from(self.resident) / IN_STEP).max(1.0)
        };
        let askers = askers as f64;
        let together = askers / at_once;
        let gpcs = self.gpcs * (1.0 - (1.0 - 1.0 / self.gpcs).powf(together));
        (gpcs / together).min(1.0)
    }
}

impl Read {
    /// What these warps read; `sm` maps a CTA to its SM.
    pub fn of(
        warps: &[WarpTrace],
        instructions: &[Instruction],
        sm: impl Fn([u32; 3]) -> u64,
        spread: Spread,
    ) -> Self {
        // Requests by the L1 of an SM or by a CTA, and by all.
        let mut asked = HashMap::<(bool, u64, u64), u8>::default();
        let mut distinct = HashMap::<u64, u8>::default();
        for warp in warps {
            let [x, y, z] = warp.block.map(u64::from);
            let block = x | y << 32 | z << 48;
            let sm = sm(warp.block);
            for one in &warp.effects {
                let event = warp.events.get(one.event as usize);
                let Some(instruction) = event.and_then(|event| {
                    let at = event.instruction as usize;
                    instructions.get(at)
                }) else {
                    continue;
                };
                let (kept, first, count) = match (one.effect, &instruction.kind) {
                    (Effect::Global { first, count }, InstructionKind::Load(load)) => {
                        (load.through_l1, first, count)
                    }
                    (
                        Effect::Global { first, count },
                        &InstructionKind::AsyncCopy { through_l1, .. },
                    ) => (through_l1, first, count),
                    (
                        Effect::BulkCopy {
                            mbarrier: Some(_),
                            first,
                            count,
                            ..
                        },
                        _,
                    ) => (false, first, count),
                    _ => continue,
                };
                let lines = first as usize..(first + count) as usize;
                for line in warp.lines.get(lines).unwrap_or_default() {
                    let whose = if kept { sm } else { block };
                    *asked.entry((kept, whose, line.number)).or_default() |= line.sectors;
                    *distinct.entry(line.number).or_default() |= line.sectors;
                }
            }
        }
        let bytes = |sectors: &u8| 32 * u64::from(sectors.count_ones());
        // For each line, the number of requests and their bytes.
        let mut lines = HashMap::<(bool, u64), (usize, u64)>::default();
        for (&(kept, _, line), sectors) in &asked {
            let (askers, all) = lines.entry((kept, line)).or_default();
            *askers += 1;
            *all += bytes(sectors);
        }
        let read = lines
            .iter()
            .map(|(&(kept, _), &(askers, all))| all as f64 * spread.read(askers, kept));
        Self {
            asked: asked.values().map(bytes).sum(),
            distinct: distinct.values().map(bytes).sum(),
            read: read.sum::<f64>() as u64,
        }
    }
}

impl Sharing {
    /// The same with only `at_work` of all SMs running CTAs: they have the L2 to themselves.
    pub fn of_sms(self, at_work: u64, all: u32) -> Self {
        Self {
            at_work: (at_work as f64 / f64::from(all.max(1))).clamp(f64::MIN_POSITIVE, 1.0),
            ..self
        }
    }

    /// `wave` is what the CTAs that run at the same time read in the same steps, `all` what the whole launch requests,
    /// and `memory` the bytes of its buffers, of which `l2` fit into the L2.
    ///
    /// Memory that fits is read from DRAM once, or not at all if an earlier launch has `warmed` the L2. Of memory that
    /// does not fit, each wave reads again the half that the wave before it has not left in the L2.
    pub fn new(wave: Read, all: f64, memory: f64, l2: f64, warmed: bool) -> Self {
        let of_asked = |bytes: u64| match wave.asked {
            0 => 1.0,
            asked => (bytes as f64 / asked as f64).min(1.0),
        };
        let (distinct, read) = (of_asked(wave.distinct), of_asked(wave.read));
        let fetched = (distinct * all).max(1.0);
        let from_dram = match memory <= l2 {
            true if warmed => 0.0,
            true => memory.min(fetched),
            false => (memory.min(fetched) + fetched) / 2.0,
        };
        Self {
            distinct,
            read,
            cold: from_dram / fetched,
            at_work: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: u64, distinct: u64) -> Read {
        Read {
            asked,
            distinct,
            read: distinct,
        }
    }

    #[test]
    fn what_fits_into_the_l2_comes_from_dram_once() {
        // Ten SMs request the same bytes; the launch requests 1,000 bytes of a buffer of 50.
        let sharing = Sharing::new(read(100, 10), 1000.0, 50.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (0.1, 0.5));
        let again = Sharing::new(read(100, 10), 1000.0, 50.0, 1e6, true);
        assert_eq!((again.distinct, again.cold), (0.1, 0.0));
    }

    #[test]
    fn what_does_not_fit_is_read_again_by_half() {
        let sharing = Sharing::new(read(100, 10), 1000.0, 50.0, 40.0, true);
        assert_eq!((sharing.distinct, sharing.cold), (0.1, 0.75));
    }

    #[test]
    fn the_l2_reads_once_for_all_of_a_gpc_that_ask_at_a_time() {
        let spread = |resident| Spread {
            gpcs: 8.0,
            resident,
        };
        assert_eq!(spread(1).read(1, false), 1.0);
        // All 132 SMs: one read for each GPC.
        assert!((spread(1).read(132, false) * 132.0 - 8.0).abs() < 0.01);
        // Four CTAs on an SM are in step; twelve request at three different moments.
        assert_eq!(spread(4).read(24, false), spread(1).read(24, false));
        assert_eq!(spread(12).read(24, false), spread(1).read(8, false));
        // An SM requests a line once if its L1 keeps it.
        assert_eq!(spread(12).read(24, true), spread(1).read(24, false));
    }

    #[test]
    fn a_kernel_that_reads_nothing_shares_nothing() {
        let sharing = Sharing::new(Read::default(), 0.0, 0.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (1.0, 0.0));
    }
}
