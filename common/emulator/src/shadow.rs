//! The sanitizer's memory of shared memory: who wrote what, who read it, by which proxy.
//!
//! What is ordered before what is the matter of `order.rs`.
use crate::order::{Actor, Eyes};

/// A past access: the actor's clock at the time (0: none yet), and who and where.
#[derive(Clone, Copy, Default)]
struct Stamp {
    clock: u32,
    /// Operation in the upper 27 bits, lane in the lower 5.
    who: u32,
}

impl Stamp {
    fn new(clock: u32, op: usize, lane: u32) -> Self {
        Self {
            clock,
            who: (op as u32) << 5 | lane & 31,
        }
    }
    fn op(self) -> usize {
        (self.who >> 5) as usize
    }
    fn lane(self) -> u32 {
        self.who & 31
    }
}

#[derive(Clone, Copy)]
struct Write {
    stamp: Stamp,
    /// Whose clock it is.
    actor: u16,
    /// The warp that did it or had it done.
    warp: u16,
    last: Last,
}

impl Write {
    const NONE: Write = Write {
        stamp: Stamp { clock: 0, who: 0 },
        actor: 0,
        warp: 0,
        last: Last::Plain,
    };

    fn hazard(&self) -> Hazard {
        Hazard {
            op: self.stamp.op(),
            warp: self.warp.into(),
            lane: self.stamp.lane(),
            how: match self.last {
                Last::Plain | Last::Mbarrier => How::Write,
                Last::Atomic => How::Atomic,
                Last::InFlight | Last::Launched | Last::Landed => How::AsyncWrite,
            },
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Read {
    stamp: Stamp,
    /// The lanes that have read at that clock.
    lanes: u32,
}

/// Reads by an actor that is no warp of the block: a warp of another block, or an engine.
struct Column {
    actor: Actor,
    /// For each cell, with the warp that had it read.
    reads: Vec<(Read, u16)>,
}

/// The other side of a race.
pub(crate) struct Hazard {
    pub op: usize,
    /// Warp of the cluster.
    pub warp: Actor,
    pub lane: u32,
    pub how: How,
}

pub(crate) enum Verdict {
    Fine,
    Uninitialised,
    Race(Hazard),
    /// Ordered, but no proxy fence has shown the write to the async proxy.
    Unfenced(Hazard),
    /// The bytes belong to an mbarrier, initialised there.
    Mbarrier(Hazard),
}

impl Verdict {
    /// Keeps the graver of two.
    fn worse(&mut self, other: Verdict) {
        let weight = |verdict: &Verdict| match verdict {
            Verdict::Fine => 0,
            Verdict::Uninitialised => 1,
            Verdict::Unfenced(_) => 2,
            Verdict::Race(_) => 3,
            Verdict::Mbarrier(_) => 4,
        };
        if weight(&other) >= weight(self) {
            *self = other;
        }
    }
}

/// Shadow of one block's shared memory.
pub(crate) struct Shadow {
    /// Number of the block's first warp in the cluster.
    first: Actor,
    warps: usize,
    /// log2 of the bytes of a cell.
    shift: u32,
    writes: Vec<Write>,
    /// One for each cell and warp of the block, and the lanes that have read at that clock.
    reads: Vec<Stamp>,
    lanes: Vec<u32>,
    others: Vec<Column>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Read,
    Write,
    Atomic,
    /// A `cp.async` starts. It may land at any time from now on, though here it lands late.
    Launch,
    /// Its thread has waited for it.
    Land,
    /// `mbarrier.init`: from now on only mbarrier instructions may touch these bytes.
    Init,
    /// `mbarrier.inval`: ordinary memory again.
    Invalidate,
    /// By the async proxy.
    AsyncRead,
    AsyncWrite,
}

/// The last write of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Plain,
    /// Atomics do not race with each other.
    Atomic,
    /// A `cp.async` that its thread has not waited for: nobody may touch the cell.
    InFlight,
    /// The same of a bulk copy that has not landed.
    Launched,
    /// A bulk copy has landed.
    Landed,
    /// An mbarrier lies here.
    Mbarrier,
}

/// An engine's operation, as the shadow notes it.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub actor: Actor,
    pub clock: u32,
    pub op: usize,
    /// The warp and lane to name in a report.
    pub warp: Actor,
    pub lane: u32,
}

impl Shadow {
    /// `bytes` of shared memory for `warps` warps, the first of which is number `first` of its cluster;
    /// at least `grain` bytes are touched at a time.
    pub fn new(bytes: usize, first: Actor, warps: usize, grain: u32) -> Self {
        let (shift, cells) = Self::cells(bytes, grain);
        Self {
            first,
            warps,
            shift,
            writes: vec![Write::NONE; cells],
            reads: vec![Stamp::default(); cells * warps],
            lanes: vec![0; cells * warps],
            others: Vec::new(),
        }
    }

    fn cells(bytes: usize, grain: u32) -> (u32, usize) {
        let shift = grain.clamp(1, 4).ilog2();
        (shift, (bytes >> shift) + 1)
    }

    /// The shadow's own size in bytes, without reads by others than the block's threads.
    pub fn bytes(bytes: usize, warps: usize, grain: u32) -> usize {
        let (_, cells) = Self::cells(bytes, grain);
        cells * (warps * size_of::<Read>() + size_of::<Write>())
    }

    fn range(&self, address: u32, bytes: u32) -> std::ops::RangeInclusive<usize> {
        let cell = |at: u32| (at >> self.shift) as usize;
        cell(address)..=cell(address + bytes.max(1) - 1)
    }

    /// Notes the access of one lane to `bytes` bytes at `address` and says what is wrong with it.
    pub fn access(
        &mut self,
        how: How,
        address: u32,
        bytes: u32,
        op: usize,
        eyes: &Eyes<'_>,
    ) -> Verdict {
        let (warp, lane) = (eyes.actor, eyes.lanes.trailing_zeros());
        let now = Stamp::new(eyes.epoch, op, lane);
        let mut verdict = Verdict::Fine;
        for cell in self.range(address, bytes) {
            let write = self.writes[cell];
            let (stamp, actor) = (write.stamp, usize::from(write.actor));
            if how == How::Land {
                self.write(cell, now, warp, warp, Last::Plain);
                continue;
            }
            if write.last == Last::Mbarrier && !matches!(how, How::Init | How::Invalidate) {
                verdict.worse(Verdict::Mbarrier(write.hazard()));
                continue;
            }
            if matches!(write.last, Last::InFlight | Last::Launched) {
                verdict.worse(Verdict::Race(write.hazard()));
            } else if stamp.clock == 0 {
                if matches!(how, How::Read | How::Atomic) {
                    verdict.worse(Verdict::Uninitialised);
                }
            } else if !eyes.see(actor, stamp.lane(), stamp.clock)
                && (actor != warp || stamp.lane() != lane)
                && !(how == How::Atomic && write.last == Last::Atomic)
            {
                verdict.worse(Verdict::Race(write.hazard()));
            }
            if how == How::Read {
                self.read(cell, now, warp, warp);
                continue;
            }
            self.unordered_reads(cell, eyes, &mut verdict);
            let last = match how {
                How::Atomic => Last::Atomic,
                How::Launch => Last::InFlight,
                How::Init => Last::Mbarrier,
                _ => Last::Plain,
            };
            self.write(cell, now, warp, warp, last);
        }
        verdict
    }

    /// Notes what these lanes read, each at its address, and looks at lanes of one address together; `eyes` are those
    /// that all of them share. Returns the lanes for which that does not suffice: whose bytes were last written by what
    /// the whole warp does not know of. They want [`Shadow::access`], which may find that nothing is wrong.
    pub fn read_by_warp(
        &mut self,
        addresses: &[u32; 32],
        bytes: u32,
        op: usize,
        eyes: &Eyes<'_>,
    ) -> u32 {
        let own = eyes.actor.wrapping_sub(self.first);
        if own >= self.warps {
            return eyes.lanes;
        }
        let (mut left, mut unclear) = (eyes.lanes, 0);
        while left != 0 {
            let address = addresses[left.trailing_zeros() as usize & 31];
            let same = (0..32).fold(0, |same, lane| {
                same | u32::from(addresses[lane] == address) << lane
            }) & left;
            left &= !same;
            // The one that reads last is named.
            let now = Stamp::new(eyes.epoch, op, 31 - same.leading_zeros());
            let cells = self.range(address, bytes);
            let is_clear = |write: &Write| {
                let clock = write.stamp.clock;
                clock != 0
                    && matches!(write.last, Last::Plain | Last::Atomic | Last::Landed)
                    && eyes.all_seen(write.actor.into(), clock)
            };
            if !self.writes[cells.clone()].iter().all(is_clear) {
                unclear |= same;
                continue;
            }
            for cell in cells {
                let at = cell * self.warps + own;
                let (stamp, lanes) = (&mut self.reads[at], &mut self.lanes[at]);
                let before = if stamp.clock == now.clock { *lanes } else { 0 };
                (*stamp, *lanes) = (now, before | same);
            }
        }
        unclear
    }

    /// Notes an access by an engine, issued by these threads together, and says what is wrong with it. A
    /// write is on its way from now on, until it lands.
    pub fn asynchronous(
        &mut self,
        how: How,
        address: u32,
        bytes: u32,
        by: Operation,
        issuers: &[Eyes<'_>],
    ) -> Verdict {
        let now = Stamp::new(by.clock, by.op, by.lane);
        let mut verdict = Verdict::Fine;
        for cell in self.range(address, bytes) {
            let write = self.writes[cell];
            let (stamp, actor) = (write.stamp, usize::from(write.actor));
            match write.last {
                Last::Mbarrier => {
                    verdict.worse(Verdict::Mbarrier(write.hazard()));
                    continue;
                }
                Last::InFlight | Last::Launched => verdict.worse(Verdict::Race(write.hazard())),
                _ if stamp.clock == 0 => {
                    if how == How::AsyncRead {
                        verdict.worse(Verdict::Uninitialised);
                    }
                }
                last => {
                    for eyes in issuers {
                        let own = actor == eyes.actor && eyes.lanes >> stamp.lane() & 1 == 1;
                        if !own && !eyes.see(actor, stamp.lane(), stamp.clock) {
                            verdict.worse(Verdict::Race(write.hazard()));
                        } else if last != Last::Landed
                            && !eyes.fenced(actor, stamp.lane(), stamp.clock)
                        {
                            verdict.worse(Verdict::Unfenced(write.hazard()));
                        }
                    }
                }
            }
            if how == How::AsyncRead {
                self.read(cell, now, by.actor, by.warp);
                continue;
            }
            for eyes in issuers {
                self.unordered_reads(cell, eyes, &mut verdict);
            }
            self.write(cell, now, by.actor, by.warp, Last::Launched);
        }
        verdict
    }

    /// A bulk copy has landed: whoever is ordered after its completion may touch the bytes.
    pub fn land(&mut self, address: u32, bytes: u32, by: Operation, generic: bool) {
        let last = if generic { Last::Plain } else { Last::Landed };
        let now = Stamp::new(by.clock, by.op, by.lane);
        for cell in self.range(address, bytes) {
            self.write(cell, now, by.actor, by.warp, last);
        }
    }

    /// The operation of the bulk copy that brought what lies at an address, if one did.
    pub fn brought_by(&self, address: u32) -> Option<usize> {
        let write = self.writes.get((address >> self.shift) as usize)?;
        matches!(write.last, Last::Launched | Last::Landed).then(|| write.stamp.op())
    }

    /// An mbarrier instruction by a thread, or by the async proxy for it: has the `mbarrier.init` at this
    /// address reached it?
    pub fn use_mbarrier(&self, address: u32, asynchronous: bool, eyes: &Eyes<'_>) -> Verdict {
        let Some(write) = self.writes.get((address >> self.shift) as usize) else {
            return Verdict::Fine;
        };
        let (stamp, actor) = (write.stamp, usize::from(write.actor));
        if write.last != Last::Mbarrier || eyes.initialised(actor, stamp.lane(), stamp.clock) {
            return Verdict::Fine;
        }
        let own = actor == eyes.actor && eyes.lanes >> stamp.lane() & 1 == 1;
        if !own && !eyes.see(actor, stamp.lane(), stamp.clock) {
            Verdict::Race(write.hazard())
        } else if asynchronous && !eyes.fenced(actor, stamp.lane(), stamp.clock) {
            Verdict::Unfenced(write.hazard())
        } else {
            Verdict::Fine
        }
    }

    fn write(&mut self, cell: usize, stamp: Stamp, actor: Actor, warp: Actor, last: Last) {
        self.writes[cell] = Write {
            stamp,
            actor: actor as u16,
            warp: warp as u16,
            last,
        };
    }

    fn read(&mut self, cell: usize, now: Stamp, actor: Actor, warp: Actor) {
        let own = actor.wrapping_sub(self.first);
        let (stamp, lanes) = if own < self.warps {
            let at = cell * self.warps + own;
            (&mut self.reads[at], &mut self.lanes[at])
        } else {
            let at = match self.others.iter().position(|c| c.actor == actor) {
                Some(at) => at,
                None => {
                    let reads = vec![(Read::default(), 0); self.writes.len()];
                    self.others.push(Column { actor, reads });
                    self.others.len() - 1
                }
            };
            let (read, by) = &mut self.others[at].reads[cell];
            *by = warp as u16;
            (&mut read.stamp, &mut read.lanes)
        };
        let before = if stamp.clock == now.clock { *lanes } else { 0 };
        (*stamp, *lanes) = (now, before | 1 << now.lane());
    }

    /// Looks for reads that are not ordered before a write by these threads.
    #[inline(always)]
    fn unordered_reads(&self, cell: usize, eyes: &Eyes<'_>, verdict: &mut Verdict) {
        let own = |actor: Actor, read: &Read| actor == eyes.actor && read.lanes & !eyes.lanes == 0;
        let racing = |actor: Actor, read: &Read| {
            read.stamp.clock != 0
                && !eyes.see_lanes(actor, read.lanes, read.stamp.clock)
                && !own(actor, read)
        };
        let hazard = |warp: Actor, read: &Read, how| {
            Verdict::Race(Hazard {
                op: read.stamp.op(),
                warp,
                lane: read.stamp.lane(),
                how,
            })
        };
        let row = cell * self.warps;
        for (warp, &stamp) in self.reads[row..row + self.warps].iter().enumerate() {
            let actor = self.first + warp;
            if stamp.clock == 0 || eyes.all_seen(actor, stamp.clock) {
                continue;
            }
            let lanes = self.lanes[row + warp];
            let read = Read { stamp, lanes };
            if racing(actor, &read) {
                verdict.worse(hazard(actor, &read, How::Read));
            }
        }
        for column in &self.others {
            let (read, warp) = &column.reads[cell];
            if racing(column.actor, read) {
                let how = if column.actor == usize::from(*warp) {
                    How::Read
                } else {
                    How::AsyncRead
                };
                verdict.worse(hazard((*warp).into(), read, how));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::{Engine, Order, View};

    const ALL: u32 = u32::MAX;

    fn race(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Race(_))
    }
    fn fine(verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Fine)
    }
    fn touch(
        shadow: &mut Shadow,
        order: &Order,
        how: How,
        address: u32,
        bytes: u32,
        thread: usize,
    ) -> Verdict {
        let eyes = order.eyes(thread / 32, 1 << (thread % 32)).expect("a warp");
        shadow.access(how, address, bytes, 0, &eyes)
    }
    /// All warps meet at a block's barrier.
    fn barrier(order: &mut Order, warps: usize) {
        let mut view = View::default();
        (0..warps).for_each(|warp| order.release(warp, ALL, ALL, &mut view));
        (0..warps).for_each(|warp| order.acquire(warp, ALL, ALL, &view));
    }

    #[test]
    fn a_barrier_orders_and_its_absence_races() {
        let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), Order::new(2));
        let first = touch(&mut shadow, &order, How::Read, 0, 4, 0);
        assert!(matches!(first, Verdict::Uninitialised));
        assert!(fine(touch(&mut shadow, &order, How::Write, 8, 4, 0)));
        assert!(fine(touch(&mut shadow, &order, How::Read, 8, 4, 0)));
        assert!(
            race(touch(&mut shadow, &order, How::Read, 8, 4, 1)),
            "another lane, same warp, no sync"
        );
        assert!(
            race(touch(&mut shadow, &order, How::Read, 8, 4, 32)),
            "another warp"
        );
        barrier(&mut order, 2);
        assert!(fine(touch(&mut shadow, &order, How::Read, 8, 4, 33)));
        assert!(
            race(touch(&mut shadow, &order, How::Write, 8, 4, 0)),
            "write after a read that is not ordered"
        );
    }

    /// Lanes together are the lanes one by one: by the addresses that they share, by what they know, by its size.
    #[test]
    fn a_warp_reads_as_its_lanes_do() {
        let mut state = 1;
        let mut random = |below: u64| (crate::random::random(&mut state) % below) as u32;
        let mut unclear = 0;
        for _ in 0..200 {
            let (mut together, mut order) = (Shadow::new(256, 0, 3, 2), Order::new(3));
            let mut singly = Shadow::new(256, 0, 3, 2);
            // Nobody has written the last bytes, and some are written after the barrier.
            let written = 128 + 2 * random(60);
            for at in 0..written {
                let thread = random(96) as usize;
                for shadow in [&mut together, &mut singly] {
                    touch(shadow, &order, How::Write, at, 1, thread);
                }
            }
            barrier(&mut order, 3);
            let late = random(8) * 16;
            for shadow in [&mut together, &mut singly] {
                touch(shadow, &order, How::Write, late, 2, 40);
            }
            let bytes = 1 << random(5);
            let (spread, of) = (1 + random(9), 1 + random(31));
            let addresses: [u32; 32] =
                std::array::from_fn(|lane| (lane as u32 % of * spread * bytes) % (256 - bytes));
            for warp in [0, 1] {
                let mask = random(1 << 32) | 1;
                let eyes = order.eyes(warp, mask).expect("a warp");
                let rest = together.read_by_warp(&addresses, bytes, 7, &eyes);
                assert_eq!(rest & !mask, 0);
                unclear += rest.count_ones();
                for lane in (0..32).filter(|lane| mask >> lane & 1 == 1) {
                    let verdict =
                        singly.access(How::Read, addresses[lane], bytes, 7, &eyes.of(lane));
                    match rest >> lane & 1 {
                        0 => assert!(fine(verdict), "lane {lane}"),
                        _ => {
                            let again = together.access(
                                How::Read,
                                addresses[lane],
                                bytes,
                                7,
                                &eyes.of(lane),
                            );
                            assert_eq!(fine(again), fine(verdict), "lane {lane}");
                        }
                    }
                }
            }
            assert_eq!(together.lanes, singly.lanes);
            let clocks = |shadow: &Shadow| -> Vec<u32> {
                shadow.reads.iter().map(|stamp| stamp.clock).collect()
            };
            assert_eq!(clocks(&together), clocks(&singly));
        }
        assert!(unclear > 0, "no read that has to be looked at singly");
    }

    #[test]
    fn halves_of_a_word_do_not_race_when_the_grain_is_two() {
        let (mut shadow, order) = (Shadow::new(64, 0, 1, 2), Order::new(1));
        assert!(fine(touch(&mut shadow, &order, How::Write, 0, 2, 0)));
        assert!(fine(touch(&mut shadow, &order, How::Write, 2, 2, 1)));
        assert!(race(touch(&mut shadow, &order, How::Write, 2, 2, 2)));
    }

    /// One thread issues an asynchronous access.
    fn issue(shadow: &mut Shadow, order: &mut Order, how: How, thread: usize) -> Verdict {
        let engine = Engine::Bulk(thread / 32);
        let clock = order.begin(engine);
        let by = Operation {
            actor: order.engine(engine),
            clock,
            op: 0,
            warp: thread / 32,
            lane: 0,
        };
        let eyes = order.eyes(thread / 32, 1 << (thread % 32)).expect("a warp");
        shadow.asynchronous(how, 0, 16, by, &[eyes])
    }

    #[test]
    fn the_async_proxy_wants_a_fence_before_the_barrier_or_after_it() {
        for fences in [[false, false], [true, false], [false, true]] {
            let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), Order::new(2));
            for thread in 0..4 {
                touch(
                    &mut shadow,
                    &order,
                    How::Write,
                    4 * thread,
                    4,
                    thread as usize,
                );
            }
            if fences[0] {
                order.fence_proxy(0, ALL, ALL);
            }
            barrier(&mut order, 2);
            if fences[1] {
                order.fence_proxy(1, 1, ALL);
            }
            let verdict = issue(&mut shadow, &mut order, How::AsyncRead, 32);
            let unfenced = matches!(verdict, Verdict::Unfenced(_));
            assert_eq!(unfenced, fences == [false, false]);
            assert!(unfenced || fine(verdict));
        }
    }

    #[test]
    fn an_asynchronous_read_ends_when_somebody_has_waited_for_it() {
        let (mut shadow, mut order) = (Shadow::new(64, 0, 2, 4), Order::new(2));
        for thread in 0..4 {
            touch(
                &mut shadow,
                &order,
                How::Write,
                4 * thread,
                4,
                thread as usize,
            );
        }
        order.fence_proxy(0, ALL, ALL);
        barrier(&mut order, 2);
        assert!(fine(issue(&mut shadow, &mut order, How::AsyncRead, 0)));
        assert!(race(touch(&mut shadow, &order, How::Write, 0, 4, 0)));
        let mut view = View::default();
        order.complete(Engine::Bulk(0), 1, &mut view);
        order.acquire(0, 1, ALL, &view);
        assert!(fine(touch(&mut shadow, &order, How::Write, 4, 4, 0)));
        assert!(race(touch(&mut shadow, &order, How::Write, 8, 4, 32)));
        barrier(&mut order, 2);
        assert!(fine(touch(&mut shadow, &order, How::Write, 12, 4, 32)));
    }
}
