//! How much of what the SMs ask of the L2 they share, from the addresses of the CTAs that run at the same time.

use emulator::{Effect, Instruction, InstructionKind, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

/// What the launch as a whole asks of the memory behind the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// Of the bytes that all SMs ask of the L2 at a time, the part that no other SM asks for as well.
    pub distinct: f64,
    /// Of those, the part that comes from DRAM.
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
}

impl Read {
    /// What these warps read; `sm` says where a block runs.
    pub fn of(
        warps: &[WarpTrace],
        instructions: &[Instruction],
        sm: impl Fn([u32; 3]) -> u64,
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
        Self {
            asked: asked.values().map(bytes).sum(),
            distinct: distinct.values().map(bytes).sum(),
        }
    }
}

impl Sharing {
    /// `wave` is what all CTAs that run at the same time read in the same steps, `all` what the whole launch asks for, and
    /// `memory` the bytes of its buffers, of which `l2` fit into the L2.
    ///
    /// Memory that fits comes from DRAM once; not at all if a launch before this one has `warmed` the L2. Of what does not fit, each wave reads its part again, but for the half that
    /// the wave before has left.
    pub fn new(wave: Read, all: f64, memory: f64, l2: f64, warmed: bool) -> Self {
        let distinct = match wave.asked {
            0 => 1.0,
            asked => (wave.distinct as f64 / asked as f64).min(1.0),
        };
        let fetched = (distinct * all).max(1.0);
        let from_dram = match memory <= l2 {
            true if warmed => 0.0,
            true => memory.min(fetched),
            false => (memory.min(fetched) + fetched) / 2.0,
        };
        Self {
            distinct,
            cold: from_dram / fetched,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(asked: u64, distinct: u64) -> Read {
        Read { asked, distinct }
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
    fn a_kernel_that_reads_nothing_shares_nothing() {
        let sharing = Sharing::new(Read::default(), 0.0, 0.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (1.0, 0.0));
    }
}
