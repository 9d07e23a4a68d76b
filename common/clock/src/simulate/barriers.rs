//! Block barriers and mbarriers.
use emulator::Effect;

use super::state::{Item, Mbarrier, MbarrierWait};
use super::{PARTITIONS, Simulator, Unit};
use crate::stall::Stall;

impl Simulator<'_> {
    pub(super) fn barrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        waits: bool,
        time: f64,
    ) -> bool {
        let named = effects.iter().find_map(|one| match one.effect {
            Effect::Barrier { number, threads } => Some((number, threads)),
            _ => None,
        });
        let Some((barrier, threads)) = named else {
            return false;
        };
        let latency = &self.card.latency;
        let cta = &mut self.ctas[self.warps[number].cta];
        let alive = 32 * cta.alive as u32;
        let wanted = threads.unwrap_or(cta.threads.min(alive));
        let state = cta.barriers.entry(barrier).or_default();
        state.arrived += 32;
        if waits {
            state.parked.push(number);
        }
        if state.arrived < wanted {
            return waits;
        }
        let parked = std::mem::take(&mut state.parked);
        state.arrived = 0;
        let free = time + latency.barrier + latency.barrier_warp * f64::from(wanted / 32);
        for warp in parked {
            self.unpark(warp, free, Stall::Barrier);
        }
        waits
    }

    pub(super) fn unpark(&mut self, number: usize, time: f64, why: Stall) {
        let warp = &mut self.warps[number];
        (warp.released, warp.why) = (time, why);
        let next = warp.next.max(time);
        self.push_warp(next, number);
    }

    pub(super) fn mbarrier(&mut self, number: usize, effects: &[emulator::TraceEffect], time: f64) {
        let latency = &self.card.latency;
        let own = self.warps[number].cta;
        let arrives =
            |one: &emulator::TraceEffect| matches!(one.effect, Effect::MbarrierArrive { .. });
        let performed = match effects.iter().any(arrives) {
            true => self.arrival(number, time),
            false => time,
        };
        for one in effects {
            match one.effect {
                Effect::MbarrierInit { at, count } => {
                    let barrier = Mbarrier {
                        expected: count,
                        pending: count.into(),
                        ..Mbarrier::default()
                    };
                    self.ctas[own].mbarriers.insert(at, barrier);
                }
                Effect::MbarrierArrive {
                    rank,
                    at,
                    count,
                    bytes,
                } => {
                    let cluster = &self.clusters[self.ctas[own].cluster];
                    let cta = cluster.ctas.get(rank as usize).copied().unwrap_or(own);
                    let remote = if cta == own {
                        0.0
                    } else {
                        latency.mbarrier_remote
                    };
                    let due = performed + latency.mbarrier_arrive + remote;
                    self.push(
                        due,
                        Item::Arrive {
                            cta,
                            at,
                            count,
                            bytes,
                        },
                    );
                }
                Effect::MbarrierCopies { at, noinc } => {
                    let count = u32::from(noinc);
                    let due = self.warps[number].open_copies.max(time) + latency.mbarrier_arrive;
                    self.push(
                        due,
                        Item::Arrive {
                            cta: own,
                            at,
                            count,
                            bytes: 0,
                        },
                    );
                }
                _ => {}
            }
        }
    }

    /// When the SM performs a warp's arrival: it serializes the arrivals of its warps, and performs a warp's 32 lanes
    /// at once.
    fn arrival(&mut self, number: usize, time: f64) -> f64 {
        let warp = &self.warps[number];
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        let start = sm.arrivals_free.max(time);
        sm.arrivals_free = start + self.card.interval.mbarrier_arrive;
        sm.queue[warp.index % PARTITIONS].push_back(start);
        start
    }

    pub(super) fn arrive(&mut self, cta: usize, at: u32, count: u32, bytes: i64, time: f64) {
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return;
        };
        barrier.pending -= i64::from(count);
        barrier.bytes += bytes;
        if barrier.pending > 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending += i64::from(barrier.expected);
        let parity = (barrier.phase as u32 - 1) & 1;
        let (free, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut barrier.parked)
            .into_iter()
            .partition(|wait| wait.parity == parity);
        barrier.parked = parked;
        let since = std::mem::replace(&mut barrier.since, time);
        let sm = self.ctas[cta].sm;
        self.act(sm, Unit::Phase, since, time);
        let (poll, test) = (
            self.card.interval.mbarrier_poll,
            self.card.latency.mbarrier_test,
        );
        for wait in free {
            let polls = ((time - wait.since) / poll).ceil();
            let done = wait.since + polls * poll + test;
            self.unpark(wait.warp, done, Stall::LongScoreboard);
        }
    }

    pub(super) fn wait_mbarrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        write: Option<u8>,
        time: f64,
    ) -> bool {
        let done = time + self.card.latency.mbarrier_test;
        self.release(number, write, done, Stall::LongScoreboard);
        let wanted = effects.iter().find_map(|one| match one.effect {
            Effect::MbarrierWait { at, parity } => Some((at, parity)),
            _ => None,
        });
        let Some((at, parity)) = wanted else {
            return false;
        };
        let cta = self.warps[number].cta;
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return false;
        };
        if barrier.phase & 1 != u64::from(parity) {
            return false;
        }
        barrier.parked.push(MbarrierWait {
            warp: number,
            parity,
            since: time,
        });
        true
    }
}

#[cfg(test)]
mod tests {
    use emulator::{Effect, TraceEffect, TraceEvent, WarpTrace};

    use crate::card::Card;
    use crate::machine_code::MachineCode;
    use crate::path::Step;
    use crate::sharing::{Read, Sharing};
    use crate::simulate::{Job, Program, simulate};

    /// An mbarrier's initialization, a wait, an arrival, an instruction that takes 15 clocks, and the end.
    const CODE: &str = "registers 8
1 1 - - 00 - SYNCS.EXCH.64
2 1 - - 00 - SYNCS.PHASECHK.TRANS64.TRYWAIT
3 1 - - 00 - SYNCS.ARRIVE.TRANS64
4 15 - - 00 - NOP
5 1 - - 00 - EXIT
";

    /// A warp that executes these instructions, of which some have an effect.
    fn warp(number: u32, all: &[(u32, Option<Effect>)]) -> (WarpTrace, Vec<Step>) {
        let mut trace = WarpTrace {
            warp: number,
            ..WarpTrace::default()
        };
        let mut steps = Vec::new();
        for (event, &(instruction, effect)) in (0..).zip(all) {
            trace.events.push(TraceEvent {
                instruction,
                active: 1,
            });
            trace
                .effects
                .extend(effect.map(|effect| TraceEffect { event, effect }));
            steps.push(Step {
                instruction,
                event: Some(event),
            });
        }
        (trace, steps)
    }

    /// When a warp goes on that waits for another one, which arrives after this many instructions.
    fn end(instructions: usize) -> f64 {
        let at = 64;
        let wait = Effect::MbarrierWait { at, parity: 0 };
        let arrive = Effect::MbarrierArrive {
            rank: 0,
            at,
            count: 1,
            bytes: 0,
        };
        let init = Effect::MbarrierInit { at, count: 1 };
        let mut late = vec![(3, None); instructions];
        late.extend([(2, Some(arrive)), (4, None)]);
        let waits = warp(0, &[(0, Some(init)), (1, Some(wait)), (4, None)]);
        let arrives = warp(1, &late);
        let both = [&waits, &arrives];
        let programs = both.map(|(trace, steps)| Program::new(steps.clone().into(), trace));
        let job = Job {
            clusters: vec![vec![programs.into()]],
            resident: 1,
            count: 1,
            shared_bytes: 0,
            sharing: Sharing::new(Read::default(), 0.0, 0.0, 0.0, 1e6, true),
            window: None,
        };
        let code = MachineCode::of_text(CODE).expect("machine code");
        let simulation = simulate(&Card::H200, &code, &job).expect("a simulation");
        simulation.ends[0]
    }

    #[test]
    fn a_waiting_warp_polls() {
        let card = Card::H200;
        let poll = card.interval.mbarrier_poll;
        let first = end(2);
        for instructions in 2..30 {
            let (arrived, end) = (15.0 * instructions as f64, end(instructions));
            let polls = (end - first) / poll;
            assert!(
                (polls - polls.round()).abs() < 1e-9,
                "{instructions}: {end}"
            );
            let late = end - arrived - card.latency.mbarrier_arrive - card.latency.mbarrier_test;
            assert!((0.0..poll + 3.0).contains(&late), "{instructions}: {late}");
        }
    }
}
