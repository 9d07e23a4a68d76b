//! A vector clock: for each actor, the epoch up to which its accesses are known (FastTrack, Flanagan and Freund 2009).
use crate::happens_before::Actor;

/// The epoch up to which accesses are known, by actor; for single threads possibly a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VectorClock {
    base: Vec<u32>,
    /// (32 actor + lane, epoch), in order.
    more: Vec<(u32, u32)>,
}

impl VectorClock {
    #[inline(always)]
    pub fn base(&self, actor: Actor) -> u32 {
        self.base.get(actor).copied().unwrap_or(0)
    }

    /// Whether the access of this lane at `clock` is known.
    #[inline(always)]
    pub fn covers(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        clock < self.base(actor) || self.knows_more(actor, lane, clock)
    }

    #[inline(never)]
    fn knows_more(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        let thread = actor as u32 * 32 + lane;
        self.more
            .binary_search_by_key(&thread, |&(thread, _)| thread)
            .is_ok_and(|i| clock < self.more[i].1)
    }

    pub fn raise(&mut self, actor: Actor, clock: u32) {
        if self.base.len() <= actor {
            self.base.resize(actor + 1, 0);
        }
        self.base[actor] = self.base[actor].max(clock);
    }

    pub fn raise_lanes(&mut self, actor: Actor, lanes: u32, clock: u32) {
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            let thread = actor as u32 * 32 + lane;
            match self.more.binary_search_by_key(&thread, |&(t, _)| t) {
                Ok(i) => self.more[i].1 = self.more[i].1.max(clock),
                Err(i) => self.more.insert(i, (thread, clock)),
            }
        }
    }

    /// Raises the clock of the whole warp if all live lanes take part.
    pub fn raise_some(&mut self, actor: Actor, lanes: u32, alive: u32, clock: u32) {
        match lanes & alive == alive {
            true => self.raise(actor, clock),
            false => self.raise_lanes(actor, lanes, clock),
        }
    }

    /// Whether the other clock covers all of this one.
    pub fn within(&self, other: &VectorClock) -> bool {
        let base = self.base.iter().enumerate();
        base.into_iter()
            .all(|(actor, &clock)| clock <= other.base(actor))
            && self.more.iter().all(|&(thread, clock)| {
                clock == 0 || other.covers(thread as usize / 32, thread % 32, clock - 1)
            })
    }

    pub fn join(&mut self, other: &VectorClock) {
        if self.base.len() < other.base.len() {
            self.base.resize(other.base.len(), 0);
        }
        for (a, &b) in self.base.iter_mut().zip(&other.base) {
            *a = (*a).max(b);
        }
        for &(thread, clock) in &other.more {
            self.raise_lanes(thread as usize / 32, 1 << (thread % 32), clock);
        }
        let base = &self.base;
        self.more
            .retain(|&(t, clock)| base.get(t as usize / 32).is_none_or(|&known| known < clock));
    }
}
