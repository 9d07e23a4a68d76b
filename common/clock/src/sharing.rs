//! How much of what the SMs ask of the L2 they share, from the addresses of the CTAs that run at the same time.

use emulator::{Effect, Instruction, InstructionKind, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

/// What the launch as a whole asks of the memory behind the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// Of the bytes that all SMs ask of the L2 at a time, the part that no other SM asks for as well.
    pub distinct: f64,
    /// Of the same bytes, the part that no SM of the same GPC asks for at the same moment: these the L2 reads, the others are
    /// passed on with them.
    pub read: f64,
    /// Of the GPU's SMs, the part that runs a CTA.
    pub at_work: f64,
    /// Of the distinct bytes, the part that comes from DRAM.
    pub cold: f64,
}

/// Bytes that some warps read from global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// As the SMs ask for them: a line that the L1 keeps counts once for its SM, one that is copied past the L1 once for
    /// its CTA.
    pub asked: u64,
    /// Each sector once.
    pub distinct: u64,
    /// As the L2 reads them: once for all SMs of a GPC that ask at the same moment.
    pub read: u64,
}

/// CTAs of an SM that ask for the same lines as those of other SMs at the same moment.
const IN_STEP: f64 = 4.0;

/// How CTAs are spread over the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Groups of SMs (GPCs) that share a way to the L2.
    pub gpcs: f64,
    /// CTAs that an SM holds at a time.
    pub resident: u32,
}

impl Spread {
    /// Of a line that `askers` CTAs ask for, the part that the L2 reads; those of other SMs are anywhere in the GPU.
    ///
    /// Up to [`IN_STEP`] CTAs of an SM are served like one with as many boxes in flight. More of them are out of step with
    /// each other, and share less (microbenchmark `tma/tiles`: 43 to 46 bytes a clock and SM with two to four CTAs, 32 with
    /// twelve).
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
    /// What these warps read; `sm` says where a block runs.
    pub fn of(
        warps: &[WarpTrace],
        instructions: &[Instruction],
        sm: impl Fn([u32; 3]) -> u64,
        spread: Spread,
    ) -> Self {
        // By the L1 of an SM or by a CTA; and by all.
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
        // Of each line: how many ask for it, and for how many bytes in all.
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
    /// The same where so many SMs of all run a CTA: they have the L2 to themselves.
    pub fn of_sms(self, at_work: u64, all: u32) -> Self {
        Self {
            at_work: (at_work as f64 / f64::from(all.max(1))).clamp(f64::MIN_POSITIVE, 1.0),
            ..self
        }
    }

    /// `wave` is what all CTAs that run at the same time read in the same steps, `all` what the whole launch asks for, and
    /// `memory` the bytes of its buffers, of which `l2` fit into the L2.
    ///
    /// Memory that fits comes from DRAM once; not at all if a launch before this one has `warmed` the L2. Of what does not fit, each wave reads its part again, but for the half that
    /// the wave before has left.
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
        // Ten SMs ask for the same; the launch asks for 1,000 bytes of a buffer of 50.
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
        // All 132 SMs: once for each GPC.
        assert!((spread(1).read(132, false) * 132.0 - 8.0).abs() < 0.01);
        // Four CTAs on an SM are in step; of twelve, three ask at different moments.
        assert_eq!(spread(4).read(24, false), spread(1).read(24, false));
        assert_eq!(spread(12).read(24, false), spread(1).read(8, false));
        // What the L1 keeps an SM asks for once.
        assert_eq!(spread(12).read(24, true), spread(1).read(24, false));
    }

    #[test]
    fn a_kernel_that_reads_nothing_shares_nothing() {
        let sharing = Sharing::new(Read::default(), 0.0, 0.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (1.0, 0.0));
    }
}
