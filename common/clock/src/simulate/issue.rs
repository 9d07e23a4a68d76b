//! Whether and when a warp issues its next instruction.
use super::result::keep;
use super::state::{Operands, Warp};
use super::{PARTITIONS, SCOREBOARDS, Simulator, Span, Unit};
use crate::class::{Class, Does, Pipe};
use crate::machine_code::MachineInstruction;
use crate::stall::Stall;

impl Warp<'_> {
    /// When its next instruction's operands are ready.
    fn operands(&self, one: &MachineInstruction, class: Class) -> Operands {
        let mut all = Operands {
            at: 0.0,
            why: Stall::ShortScoreboard,
        };
        for board in 0..SCOREBOARDS {
            if one.wait >> board & 1 == 1 && self.boards[board] > all.at {
                all = Operands {
                    at: self.boards[board],
                    why: self.board_why[board],
                };
            }
        }
        if let Does::WaitGroups(left) = class.does {
            let groups = if self.waits_bulk {
                &self.bulk
            } else {
                &self.copies
            };
            let until = groups.len().checked_sub(left as usize + 1);
            let at = until.map_or(0.0, |last| {
                groups[..=last].iter().copied().fold(0.0, f64::max)
            });
            if at > all.at {
                let why = Stall::LongScoreboard;
                all = Operands { at, why };
            }
        }
        all
    }
}

impl Simulator<'_> {
    /// A warp's next instruction, if it can issue at this time. Returns when the warp is due again, unless it is parked or has
    /// exited.
    pub(super) fn step(&mut self, number: usize, time: f64) -> Option<f64> {
        let warp = &mut self.warps[number];
        let Some(&step) = warp.program.steps.get(warp.at) else {
            self.exit(number, time);
            return None;
        };
        let index = step.instruction as usize;
        let (one, class) = (&self.code[index], self.classes[index]);
        let partition = warp.index % PARTITIONS;
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        // Nothing that a warp waits for changes while it is due.
        let boards = match warp.operands {
            Some(operands) => operands,
            None => warp.operands(one, class),
        };
        warp.operands = Some(boards);
        let takes = match class.pipe {
            Pipe::Fma => sm.free_half(partition, time),
            pipe => pipe,
        };
        let pipe = match takes {
            Pipe::None => (0.0, Stall::Wait),
            Pipe::Memory => {
                let queue = &mut sm.queue[partition];
                while queue.front().is_some_and(|&start| start <= time) {
                    queue.pop_front();
                }
                let full = queue.len() as f64 >= self.card.queue.memory_instructions;
                let until = if full { queue.front().copied() } else { None };
                let why = match class.does {
                    Does::GlobalLoad
                    | Does::GlobalStore { .. }
                    | Does::AsyncCopy { .. }
                    | Does::Atomic => Stall::LgThrottle,
                    _ => Stall::MioThrottle,
                };
                (until.unwrap_or(0.0), why)
            }
            Pipe::Tensor if matches!(class.does, Does::Wgmma(_)) => (0.0, Stall::Gmma),
            pipe => {
                let free = &sm.pipe_free[partition];
                let own = free[pipe as usize];
                // See `interval.fma` in the card's file: f32 arithmetic is dispatched through the ALU's port.
                let port = match class.pipe {
                    Pipe::Fma => free[Pipe::Alu as usize],
                    _ => 0.0,
                };
                (own.max(port), Stall::MathPipeThrottle)
            }
        };
        let ready = warp.next.max(warp.released).max(boards.at).max(pipe.0);
        let slot = sm.slot_free[partition];
        let earliest = ready.max(slot);
        if earliest > time {
            return Some(earliest);
        }
        // It issues now.
        sm.slot_free[partition] = time + 1.0;
        let waited = [
            (warp.next, Stall::Wait),
            (warp.released, warp.why),
            (boards.at, boards.why),
            pipe,
            (time, Stall::NotSelected),
        ];
        let mut from = warp.issued + 1.0;
        let window = self.job.window;
        let (cta, warp_index) = (&self.ctas[warp.cta], warp.index as u32);
        for (until, why) in waited {
            let until = until.min(time);
            if until > from {
                self.result.stalls[index][why as usize] += until - from;
                keep(&mut self.result.spans, window, || Span {
                    sm: cta.sm as u32,
                    cta: cta.number,
                    warp: warp_index,
                    from,
                    to: until,
                    instruction: step.instruction,
                    stall: why,
                });
                from = until;
            }
        }
        self.result.stalls[index][Stall::Selected as usize] += 1.0;
        keep(&mut self.result.spans, window, || Span {
            sm: cta.sm as u32,
            cta: cta.number,
            warp: warp_index,
            from: time,
            to: time + 1.0,
            instruction: step.instruction,
            stall: Stall::Selected,
        });
        self.result.issued += 1;
        if class.pipe != Pipe::None && !matches!(class.does, Does::Wgmma(_)) {
            self.result.busy[takes as usize] += class.interval;
            sm.pipe_free[partition][takes as usize] = time + class.interval;
            if class.pipe == Pipe::Fma {
                sm.pipe_free[partition][Pipe::Alu as usize] = time + self.card.interval.fma;
            }
        }
        if self.watched == Some((number, step.instruction)) {
            self.result.steps.push(time);
        }
        let stall = f64::from(one.stall).max(1.0);
        let sm_number = cta.sm;
        if class.pipe == Pipe::Tensor && !matches!(class.does, Does::Wgmma(_)) {
            self.act(sm_number, Unit::Tensor, time, time + class.interval);
        }
        let warp = &mut self.warps[number];
        warp.issued = time;
        warp.next = time + stall;
        warp.at += 1;
        warp.operands = None;
        let parked = self.effect(number, index, step, time);
        (!parked).then(|| self.warps[number].next)
    }

    pub(super) fn release(&mut self, number: usize, board: Option<u8>, at: f64, why: Stall) {
        if let Some(board) = board {
            let warp = &mut self.warps[number];
            let board = board as usize;
            if at > warp.boards[board] {
                (warp.boards[board], warp.board_why[board]) = (at, why);
            }
        }
    }

    /// Enqueues an access in the data pipe of shared memory and the L1; returns when it begins.
    pub(super) fn enqueue(&mut self, number: usize, time: f64, wavefronts: f64) -> f64 {
        let warp = &self.warps[number];
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        let start = sm.data_free.max(time + 1.0);
        sm.data_free = start + wavefronts;
        sm.starts.push_back(start);
        // It leaves its sub-partition's queue when the SM's queue has room.
        let is_full = sm.starts.len() > self.card.queue.data_accesses as usize;
        let leaves = if is_full { sm.starts.pop_front() } else { None };
        sm.queue[warp.index % PARTITIONS].push_back(leaves.unwrap_or(time));
        let at = self.ctas[self.warps[number].cta].sm;
        self.result.shared_busy += wavefronts;
        self.act(at, Unit::SharedMemory, start, start + wavefronts);
        start
    }
}
