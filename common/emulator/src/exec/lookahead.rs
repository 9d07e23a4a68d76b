//! How early asynchronous copies are issued, in matrix products of the warps that need them ([`CopyLead`]).
//!
//! When a warp issues a copy, vector clocks tell how many products of every other warp are ordered before it. All later
//! products may run while the copy is in flight, in whatever order a GPU runs its warps. This measure works for a
//! producer warp that only copies as well as for one that also computes.
use std::collections::BTreeMap;

use super::block::Execution;
use super::warp::Warp;
use crate::CopyLead;
use crate::happens_before::{Actor, HappensBefore};

/// The granularity in bytes of tracked shared memory: what one lane copies.
const UNIT: u32 = 16;

/// A copy's number, from 1.
pub(super) type Issue = u32;

/// The records of a cluster.
pub(super) struct Lookahead {
    warps: Vec<Products>,
    /// For each issue of a copy: by which warp, and how many products of each warp are ordered before it.
    issues: Vec<(Actor, Vec<u64>)>,
    /// By rank: the copy that last wrote each unit of shared memory; 0 if none did.
    units: Vec<Vec<Issue>>,
    /// The smallest lead where a warp waited for a copy; and, by the warp's products so far, where it waited or read.
    waits: BTreeMap<(Actor, Issue), u64>,
    needs: BTreeMap<(Actor, u64, Issue), u64>,
}

/// The matrix products of a warp.
#[derive(Clone, Default)]
struct Products {
    total: u64,
    /// Epochs with products, and the number of products up to each.
    epochs: Vec<(u32, u64)>,
}

impl Products {
    /// The number of products in the epochs that are known to happen before. All lanes of a warp compute a product
    /// together, so it is enough if one lane's epoch is known.
    fn known(&self, is_known: impl Fn(u32) -> bool) -> u64 {
        let before = self.epochs.partition_point(|&(at, _)| is_known(at));
        let last = before.checked_sub(1).and_then(|at| self.epochs.get(at));
        last.map_or(0, |&(_, total)| total)
    }
}

impl Lookahead {
    pub fn new(warps: usize, ranks: usize, shared_bytes: u32) -> Self {
        Self {
            warps: vec![Products::default(); warps],
            issues: Vec::new(),
            units: vec![vec![0; shared_bytes.div_ceil(UNIT) as usize]; ranks],
            waits: BTreeMap::new(),
            needs: BTreeMap::new(),
        }
    }

    fn issue(&mut self, actor: Actor, lane: usize, order: &HappensBefore) -> Issue {
        let seen = |(other, products): (Actor, &Products)| match order
            .observer(actor, 1 << lane)
            .filter(|_| other != actor)
        {
            Some(observer) => {
                products.known(|epoch| (0..32).any(|lane| observer.see(other, lane, epoch)))
            }
            None => products.total,
        };
        let before = self.warps.iter().enumerate().map(seen).collect();
        self.issues.push((actor, before));
        self.issues.len() as Issue
    }

    fn issued(&self, issue: Issue) -> Option<&(Actor, Vec<u64>)> {
        self.issues.get(issue.checked_sub(1)? as usize)
    }

    /// The warp reads copied data, or waits for the copy.
    fn need(&mut self, actor: Actor, issue: Issue, waits: bool) {
        let Some((_, before)) = self.issued(issue) else {
            return;
        };
        let at = self.warps[actor].total;
        let lead = at.saturating_sub(before[actor]);
        let least = self.needs.entry((actor, at, issue)).or_insert(lead);
        *least = lead.min(*least);
        if waits {
            let least = self.waits.entry((actor, issue)).or_insert(lead);
            *least = lead.min(*least);
        }
    }

    /// The lead of a copy when this warp needs it, limited by the lead where the warp itself waited for it, or where
    /// its issuer did if that computes products too.
    fn lead(&self, actor: Actor, issue: Issue, lead: u64) -> u64 {
        let waited = |by: Actor| {
            let lead = self.waits.get(&(by, issue))?;
            let total = self.warps[by].total;
            (total > 0).then(|| lead * self.warps[actor].total / total)
        };
        let issuer = self.issued(issue).and_then(|&(issuer, _)| waited(issuer));
        [issuer, waited(actor)]
            .into_iter()
            .flatten()
            .fold(lead, u64::min)
    }

    /// The leads, once all warps have exited.
    pub fn leads(&self, warps: usize, block: impl Fn(usize) -> [u32; 3]) -> Vec<CopyLead> {
        let mut least = BTreeMap::new();
        for (&(actor, at, issue), &lead) in &self.needs {
            let lead = self.lead(actor, issue, lead);
            let issuer = self
                .issued(issue)
                .map_or(0, |&(by, _)| self.warps[by].total);
            let (found, most) = least.entry((actor, at)).or_insert((lead, issuer));
            *found = lead.min(*found);
            *most = issuer.max(*most);
        }
        let all = least
            .into_iter()
            .map(|((actor, at), (products, issuer_of))| CopyLead {
                block: block(actor / warps),
                warp: (actor % warps) as u32,
                at,
                products,
                of: self.warps[actor].total,
                issuer_of,
            });
        all.collect()
    }
}

impl Warp {
    /// A lane issues a copy.
    #[inline(always)]
    pub(super) fn note_issue(&self, lane: usize, cx: &mut Execution<'_>) -> Issue {
        match &mut cx.common.lookahead {
            Some(lookahead) => lookahead.issue(self.actor, lane, cx.order),
            None => 0,
        }
    }

    /// The warp waits for these copies.
    #[inline(always)]
    pub(super) fn note_wait(&self, issues: &[Issue], cx: &mut Execution<'_>) {
        if let Some(lookahead) = &mut cx.common.lookahead {
            issues
                .iter()
                .for_each(|&issue| lookahead.need(self.actor, issue, true));
        }
    }

    /// The warp reads these bytes of its block's shared memory.
    #[inline(always)]
    pub(super) fn note_read(&self, starts: impl Iterator<Item = u32>, cx: &mut Execution<'_>) {
        let rank = cx.rank;
        if let Some(lookahead) = &mut cx.common.lookahead {
            for at in starts {
                let issue = lookahead.units[rank].get((at / UNIT) as usize).copied();
                lookahead.need(self.actor, issue.unwrap_or(0), false);
            }
        }
    }

    /// The warp multiplies.
    #[inline(always)]
    pub(super) fn note_product(&self, cx: &mut Execution<'_>) {
        let Some(lookahead) = &mut cx.common.lookahead else {
            return;
        };
        let epoch = cx.order.observer(self.actor, 1).map_or(0, |own| own.epoch);
        let products = &mut lookahead.warps[self.actor];
        products.total += 1;
        let total = products.total;
        match products.epochs.last_mut() {
            Some((last, known)) if *last == epoch => *known = total,
            _ => products.epochs.push((epoch, total)),
        }
    }
}

impl Execution<'_> {
    /// A copy has landed.
    #[inline(always)]
    pub(super) fn note_landed(&mut self, rank: usize, to: u32, bytes: u32, issue: Issue) {
        if let Some(lookahead) = &mut self.common.lookahead {
            let end = (to + bytes).div_ceil(UNIT);
            for unit in to / UNIT..end {
                if let Some(brought) = lookahead.units[rank].get_mut(unit as usize) {
                    *brought = issue;
                }
            }
        }
    }
}
