//! The sanitizer's memory of shared memory: who wrote what, who read it, and what is ordered before what.
//!
//! Happens-before by vector clocks, one component a warp (after FastTrack, Flanagan and Freund 2009). A
//! warp's own component counts its synchronisations. An access made at clock `c` of warp `w` is ordered
//! before what another thread does now if that thread's warp has seen more than `c` of `w`.

/// A past access: the warp's clock at the time (0: none yet), and who and where.
#[derive(Clone, Copy, Default)]
struct Stamp {
    clock: u32,
    /// Operation in the upper 22 bits, thread of the block in the lower 10.
    who: u32,
}

impl Stamp {
    fn new(clock: u32, op: usize, thread: usize) -> Self {
        Self {
            clock,
            who: (op as u32) << 10 | thread as u32 & 1023,
        }
    }
    fn op(self) -> usize {
        (self.who >> 10) as usize
    }
    fn thread(self) -> usize {
        (self.who & 1023) as usize
    }
}

/// The other side of a race.
pub(crate) struct Hazard {
    pub op: usize,
    pub thread: usize,
    pub how: How,
}

pub(crate) enum Verdict {
    Fine,
    Uninitialised,
    Race(Hazard),
}

/// What a warp knows of all warps' clocks.
pub(crate) type Clocks = Vec<u32>;

/// Shadow of one block's shared memory.
pub(crate) struct Shadow {
    warps: usize,
    /// log2 of the bytes of a cell.
    shift: u32,
    writes: Vec<Stamp>,
    last: Vec<Last>,
    /// One for each cell and warp.
    reads: Vec<Stamp>,
    /// Several lanes of the warp have read at that clock.
    shared_reads: Vec<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Read,
    Write,
    Atomic,
    /// An asynchronous copy starts. It may land at any time from now on, though here it lands late.
    Launch,
    /// Its thread has waited for it.
    Land,
}

/// The last write of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Plain,
    /// Atomics do not race with each other.
    Atomic,
    /// An asynchronous copy that its thread has not waited for: nobody may touch the cell.
    InFlight,
}

impl Shadow {
    /// `bytes` of shared memory for `warps` warps, of which at least `grain` bytes are touched at a time.
    pub fn new(bytes: usize, warps: usize, grain: u32) -> Self {
        let (shift, cells) = Self::cells(bytes, grain);
        Self {
            warps,
            shift,
            writes: vec![Stamp::default(); cells],
            last: vec![Last::Plain; cells],
            reads: vec![Stamp::default(); cells * warps],
            shared_reads: vec![false; cells * warps],
        }
    }

    fn cells(bytes: usize, grain: u32) -> (u32, usize) {
        let shift = grain.clamp(1, 4).ilog2();
        (shift, (bytes >> shift) + 1)
    }

    /// The shadow's own size in bytes.
    pub fn bytes(bytes: usize, warps: usize, grain: u32) -> usize {
        let (_, cells) = Self::cells(bytes, grain);
        cells * (warps + 1) * (size_of::<Stamp>() + size_of::<bool>())
    }

    /// Notes an access to `bytes` bytes at `address` and says what is wrong with it.
    pub fn access(
        &mut self,
        how: How,
        address: u32,
        bytes: u32,
        op: usize,
        thread: usize,
        clocks: &[u32],
    ) -> Verdict {
        let warp = thread / 32;
        let now = Stamp::new(clocks[warp], op, thread);
        let mut verdict = Verdict::Fine;
        let first = (address >> self.shift) as usize;
        let last = ((address + bytes - 1) >> self.shift) as usize;
        for cell in first..=last {
            let write = self.writes[cell];
            if how == How::Land {
                (self.writes[cell], self.last[cell]) = (now, Last::Plain);
                continue;
            }
            if self.last[cell] == Last::InFlight {
                verdict = Verdict::Race(Hazard {
                    op: write.op(),
                    thread: write.thread(),
                    how: How::Write,
                });
            } else if write.clock == 0 {
                if matches!(how, How::Read | How::Atomic) && matches!(verdict, Verdict::Fine) {
                    verdict = Verdict::Uninitialised;
                }
            } else if write.clock >= clocks[write.thread() / 32]
                && write.thread() != thread
                && !(how == How::Atomic && self.last[cell] == Last::Atomic)
            {
                verdict = Verdict::Race(Hazard {
                    op: write.op(),
                    thread: write.thread(),
                    how: if self.last[cell] == Last::Atomic {
                        How::Atomic
                    } else {
                        How::Write
                    },
                });
            }
            let row = cell * self.warps;
            if how == How::Read {
                let (read, many) = (
                    &mut self.reads[row + warp],
                    &mut self.shared_reads[row + warp],
                );
                *many = read.clock == now.clock && (*many || read.thread() != thread);
                *read = now;
                continue;
            }
            for (other, read) in self.reads[row..row + self.warps].iter().enumerate() {
                let own =
                    other == warp && read.thread() == thread && !self.shared_reads[row + other];
                if read.clock != 0 && read.clock >= clocks[other] && !own {
                    verdict = Verdict::Race(Hazard {
                        op: read.op(),
                        thread: read.thread(),
                        how: How::Read,
                    });
                }
            }
            self.writes[cell] = now;
            self.last[cell] = match how {
                How::Atomic => Last::Atomic,
                How::Launch => Last::InFlight,
                _ => Last::Plain,
            };
        }
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn race(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Race(_))
    }

    #[test]
    fn a_barrier_orders_and_its_absence_races() {
        let mut shadow = Shadow::new(64, 2, 4);
        let (mut a, mut b): (Clocks, Clocks) = (vec![1, 0], vec![0, 1]);
        assert!(matches!(
            shadow.access(How::Read, 0, 4, 0, 0, &a),
            Verdict::Uninitialised
        ));
        assert!(matches!(
            shadow.access(How::Write, 8, 4, 1, 0, &a),
            Verdict::Fine
        ));
        assert!(matches!(
            shadow.access(How::Read, 8, 4, 2, 0, &a),
            Verdict::Fine
        ));
        assert!(
            race(shadow.access(How::Read, 8, 4, 2, 1, &a)),
            "another lane, same warp, no sync"
        );
        assert!(
            race(shadow.access(How::Read, 8, 4, 2, 32, &b)),
            "another warp"
        );
        (a[0], b[1]) = (2, 2);
        (a[1], b[0]) = (2, 2);
        assert!(matches!(
            shadow.access(How::Read, 8, 4, 2, 33, &b),
            Verdict::Fine
        ));
        assert!(
            race(shadow.access(How::Write, 8, 4, 3, 0, &a)),
            "write after a read that is not ordered"
        );
    }

    #[test]
    fn halves_of_a_word_do_not_race_when_the_grain_is_two() {
        let mut shadow = Shadow::new(64, 1, 2);
        let clocks = vec![1];
        assert!(matches!(
            shadow.access(How::Write, 0, 2, 0, 0, &clocks),
            Verdict::Fine
        ));
        assert!(matches!(
            shadow.access(How::Write, 2, 2, 0, 1, &clocks),
            Verdict::Fine
        ));
        assert!(race(shadow.access(How::Write, 2, 2, 0, 2, &clocks)));
    }
}
