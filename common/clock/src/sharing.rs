//! How much of their L2 traffic SMs share, from the addresses of the CTAs that run at the same time.

use emulator::{Effect, Instruction, InstructionKind, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

/// How the CTAs of a launch share the memory behind the SMs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sharing {
    /// The bytes that the SMs request from the L2 at the same time, each sector counted once, as a fraction of all these
    /// requests.
    pub distinct: f64,
    /// The bytes that the L2 reads for these requests, as the same kind of fraction: a sector is read once for all SMs of a
    /// GPC that request it at the same moment.
    pub read: f64,
    /// The fraction of the GPU's SMs that run a CTA.
    pub at_work: f64,
    /// The fraction of the distinct bytes that comes from DRAM.
    pub cold: f64,
    /// Whether the memory does not fit into the half of the L2 that is near to an SM.
    pub far: bool,
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

/// Where a CTA of the first wave runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its SM.
    pub sm: u32,
    /// The group of SMs (GPC) that share a way to the L2.
    pub gpc: u32,
    /// The number of CTAs that its SM received before. CTAs with equal turns start together and issue their loads in step.
    pub turn: u32,
}

/// SM and GPC, and which CTA of the SM if its L1 keeps nothing.
type Asker = (u32, u32, Option<u32>);

impl Read {
    /// What these warps read; `place` says where a block runs.
    pub fn of(
        warps: &[WarpTrace],
        instructions: &[Instruction],
        place: impl Fn([u32; 3]) -> Place,
    ) -> Self {
        // Sectors by requester (an SM's L1, or a CTA that bypasses it), and over all requesters.
        let mut asked = HashMap::<(Asker, u64), u8>::default();
        let mut distinct = HashMap::<u64, u8>::default();
        for warp in warps {
            let place = place(warp.block);
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
                    let turn = (!kept).then_some(place.turn);
                    let asker = (place.sm, place.gpc, turn);
                    *asked.entry((asker, line.number)).or_default() |= line.sectors;
                    *distinct.entry(line.number).or_default() |= line.sectors;
                }
            }
        }
        let mut read = HashMap::<(u32, Option<u32>, u64), u8>::default();
        for (&((_, gpc, turn), line), sectors) in &asked {
            *read.entry((gpc, turn, line)).or_default() |= sectors;
        }
        let bytes = |sectors: &u8| 32 * u64::from(sectors.count_ones());
        Self {
            asked: asked.values().map(bytes).sum(),
            distinct: distinct.values().map(bytes).sum(),
            read: read.values().map(bytes).sum(),
        }
    }
}

/// Bytes that some warps write to global memory, counting each sector once.
pub fn written(warps: &[WarpTrace], instructions: &[Instruction]) -> u64 {
    let mut sectors = HashMap::<u64, u8>::default();
    for warp in warps {
        for one in &warp.effects {
            let (first, count) = match one.effect {
                Effect::Global { first, count } => {
                    let event = warp.events.get(one.event as usize);
                    let executed =
                        event.and_then(|event| instructions.get(event.instruction as usize));
                    match executed.is_some_and(|one| one.kind.is_store()) {
                        true => (first, count),
                        false => continue,
                    }
                }
                Effect::BulkCopy {
                    mbarrier: None,
                    first,
                    count,
                    ..
                } => (first, count),
                _ => continue,
            };
            let lines = first as usize..(first + count) as usize;
            for line in warp.lines.get(lines).unwrap_or_default() {
                *sectors.entry(line.number).or_default() |= line.sectors;
            }
        }
    }
    sectors
        .values()
        .map(|sectors| 32 * u64::from(sectors.count_ones()))
        .sum()
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
    /// and `memory` the bytes of its buffers, of which `l2` fit into the L2. The launch writes `written` of them.
    ///
    /// Memory that fits is read from DRAM once, or not at all if an earlier launch has `warmed` the L2. Of memory that
    /// does not fit, each wave reads again the half that the wave before it has not left in the L2. Each half of the L2 holds half of the
    /// memory, and a copy of what its SMs read from the other half (microbenchmark `chase_cg`).
    pub fn new(wave: Read, all: f64, memory: f64, written: f64, l2: f64, warmed: bool) -> Self {
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
            far: memory - written / 2.0 > l2 / 2.0,
            at_work: 1.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::{Context, Options, TraceEffect, TraceEvent, TraceLine};

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
        let sharing = Sharing::new(read(100, 10), 1000.0, 50.0, 0.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (0.1, 0.5));
        let again = Sharing::new(read(100, 10), 1000.0, 50.0, 0.0, 1e6, true);
        assert_eq!((again.distinct, again.cold), (0.1, 0.0));
    }

    #[test]
    fn a_half_of_the_l2_holds_what_its_sms_read_and_half_of_what_is_written() {
        let far =
            |memory, written| Sharing::new(read(100, 10), 1000.0, memory, written, 60.0, true).far;
        assert!(!far(30.0, 0.0) && far(31.0, 0.0));
        assert!(!far(40.0, 20.0) && far(40.0, 18.0));
    }

    #[test]
    fn what_does_not_fit_is_read_again_by_half() {
        let sharing = Sharing::new(read(100, 10), 1000.0, 50.0, 0.0, 40.0, true);
        assert_eq!((sharing.distinct, sharing.cold), (0.1, 0.75));
    }

    /// Blocks, each in its place, of which each loads one line by a bulk copy.
    fn of(blocks: &[(Place, u64)]) -> Read {
        let mut context = Context::new(Options::default());
        let ptx = ".version 8.8\n.target sm_90a\n.address_size 64\n.entry k() { ret; }";
        let module = context.load_module(ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let warp = |(x, &(_, number)): (usize, &(Place, u64))| WarpTrace {
            block: [x as u32, 0, 0],
            events: vec![TraceEvent {
                instruction: 0,
                active: 1,
            }],
            effects: vec![TraceEffect {
                event: 0,
                effect: Effect::BulkCopy {
                    bytes: 128,
                    first: 0,
                    count: 1,
                    mbarrier: Some(0),
                    ranks: 1,
                },
            }],
            lines: vec![TraceLine {
                number,
                sectors: 15,
            }],
            ..WarpTrace::default()
        };
        let warps: Vec<WarpTrace> = blocks.iter().enumerate().map(warp).collect();
        Read::of(&warps, function.instructions(), |[x, _, _]| {
            blocks[x as usize].0
        })
    }

    #[test]
    fn the_l2_reads_once_for_all_of_a_gpc_that_ask_at_a_time() {
        let place = |sm, gpc, turn| Place { sm, gpc, turn };
        let both = |one, other| of(&[(one, 7), (other, 7)]);
        let first = place(0, 0, 0);
        let together = both(first, place(1, 0, 0));
        let lines = |lines: u64| 128 * lines;
        assert_eq!((together.asked, together.read), (lines(2), lines(1)));
        for apart in [place(17, 1, 0), place(1, 0, 1), place(0, 0, 1)] {
            let read = both(first, apart);
            let counts = (read.asked, read.distinct, read.read);
            assert_eq!(counts, (lines(2), lines(1), lines(2)), "{apart:?}");
        }
        let other = of(&[(first, 7), (place(1, 0, 0), 8)]);
        assert_eq!((other.distinct, other.read), (lines(2), lines(2)));
    }

    #[test]
    fn a_kernel_that_reads_nothing_shares_nothing() {
        let sharing = Sharing::new(Read::default(), 0.0, 0.0, 0.0, 1e6, false);
        assert_eq!((sharing.distinct, sharing.cold), (1.0, 0.0));
    }
}
