//! How early asynchronous copies are issued, in matrix products of the warps that need them ([`CopyLead`]).
//!
//! When a warp issues a copy, vector clocks tell how many products of every other warp are ordered before it. All later
//! products may run while the copy is in flight, in whatever order a GPU runs its warps. This measure works for a
//! producer warp that only copies as well as for one that also computes.
//!
//! It cannot tell that a warp waits for each of its copies before it issues the next, or that several warps take turns doing so: then
//! one tile is in flight at a time, however many stages are full. So the bytes that are in flight together are counted, too: for each
//! copy, those of all copies of the block from it up to the first one that a wait for it happens before. Of other warps' copies, those that
//! happen before it do not count, and those that are concurrent with it count half. The copies that fill the pipeline, issued one after the
//! other before any wait, are left out, since in a short launch they would raise the average. A block that computes several tiles of C may
//! drain its pipeline after each, so there is a second count, without what fills and drains the pipeline whenever it restarts. Bytes that
//! neither `ldmatrix` nor `wgmma` reads do not count, so that a copy for show adds nothing.
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
    /// Of a block.
    warps_of_block: usize,
    issues: Vec<Issued>,
    /// By warp: the copies that it issued, and how many are in flight together with them.
    issuers: Vec<Issuer>,
    /// By block.
    blocks: Vec<BlockIssues>,
    /// By rank: each unit of shared memory.
    units: Vec<Vec<Unit>>,
    /// The smallest lead where a warp waited for a copy; and, by the warp's products so far, where it waited or read.
    waits: BTreeMap<(Actor, Issue), u64>,
    needs: BTreeMap<(Actor, u64, Issue), u64>,
}

/// The copy that last wrote a unit, 0 if none did, and whether `ldmatrix` or `wgmma` has read it since.
#[derive(Clone, Copy, Default)]
struct Unit {
    issue: Issue,
    read: bool,
}

/// What the warps of a block have issued.
#[derive(Clone, Default)]
struct BlockIssues {
    /// How many copies.
    count: usize,
    /// The numbers of those issued when no other was in flight, but for the first.
    restarts: Vec<usize>,
    /// Whether a copy has been issued after a wait since the pipeline last started, other than the one that restarted it.
    is_filled: bool,
}

/// An instruction that issued copies.
struct Issued {
    by: Actor,
    /// The number of products of each warp that are ordered before it.
    before: Vec<u64>,
    /// Its number among the issues of its block, from 0, in the order of this run.
    number: usize,
    /// How many issues of each warp of the block happen before it.
    known: Vec<usize>,
    /// Whether it fills the pipeline: since this started, no copy of the block was issued after a wait for another; and how often the
    /// pipeline has restarted.
    fills: Option<usize>,
    /// How many of the bytes that it wrote were read by `ldmatrix` or `wgmma`.
    bytes: u64,
    /// The warps that waited for it, each with its epoch at that time.
    waited: Vec<(Actor, u32)>,
}

/// The issues of one warp.
#[derive(Clone, Default)]
struct Issuer {
    issues: Vec<Issue>,
    /// Epochs with issues, and the number of issues up to each.
    epochs: Vec<(u32, usize)>,
    /// Issues for which no wait of any warp is yet known to happen before a later issue of the block.
    unknown: Vec<Issue>,
    /// The others, by their place among those of the warp, each with the number of the first issue of the block after its wait.
    flights: Vec<(usize, usize)>,
}

/// The matrix products of a warp.
#[derive(Default)]
struct Products {
    total: u64,
    /// Epochs with products, and the number of products up to each.
    epochs: Vec<(u32, u64)>,
    /// How often the warp waited at a barrier of several warps.
    barriers: u64,
    /// How often it waited for a phase of an mbarrier in which no copy landed.
    empty_waits: u64,
    /// Its waits for a phase in which a copy landed, as far as they tell it of other warps.
    joint_waits: Vec<JointWait>,
    /// Its products at its last wait for a copy, and at the last one before with fewer products.
    waited: [u64; 2],
    /// Its products when it last waited at a barrier, or for a phase without a copy.
    met: Option<u64>,
}

/// What a wait for copies tells a warp of the others.
struct JointWait {
    /// The products of the waiting warp at its previous wait.
    before: u64,
    /// The warps that arrived in this phase, except those that issued the copies.
    arrived: Vec<Actor>,
    /// The products of other warps that are now ordered before.
    known: Vec<(Actor, u64)>,
}

impl Products {
    /// The number of products in the epochs that are known to happen before. All lanes of a warp compute a product
    /// together, so it is enough if one lane's epoch is known.
    fn known(&self, is_known: impl Fn(u32) -> bool) -> u64 {
        up_to(&self.epochs, is_known)
    }
}

/// Each batch is a weighted sum and its weight. Returns the sum and the weight of that half, by weight, whose averages are smallest.
fn least_half(mut batches: Vec<[u64; 2]>) -> [u64; 2] {
    let average = |[sum, bytes]: &[u64; 2]| *sum as f64 / *bytes as f64;
    batches.sort_by(|a, b| average(a).total_cmp(&average(b)));
    let mut left = batches
        .iter()
        .map(|[_, bytes]| bytes)
        .sum::<u64>()
        .div_ceil(2);
    let mut least = [0; 2];
    for [sum, bytes] in batches {
        let part = bytes.min(left);
        let of_part = u128::from(sum) * u128::from(part) / u128::from(bytes);
        least = [least[0] + of_part as u64, least[1] + part];
        left -= part;
    }
    least
}

/// The count up to the last epoch that is known.
fn up_to<T: Copy + Default>(epochs: &[(u32, T)], is_known: impl Fn(u32) -> bool) -> T {
    let before = epochs.partition_point(|&(at, _)| is_known(at));
    let last = before.checked_sub(1).and_then(|at| epochs.get(at));
    last.map_or(T::default(), |&(_, count)| count)
}

impl Lookahead {
    pub fn new(warps: usize, ranks: usize, shared_bytes: u32) -> Self {
        Self {
            warps: (0..warps).map(|_| Products::default()).collect(),
            warps_of_block: (warps / ranks.max(1)).max(1),
            issues: Vec::new(),
            issuers: vec![Issuer::default(); warps],
            blocks: vec![BlockIssues::default(); ranks.max(1)],
            units: vec![vec![Unit::default(); shared_bytes.div_ceil(UNIT) as usize]; ranks],
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
        let known = self.known_issues(actor, lane, order);
        let ended = self.end_flights(actor, lane, order);
        let mut issuers = self.block_of(actor).map(|by| &self.issuers[by]);
        let is_idle = issuers.all(|issuer| issuer.unknown.is_empty());
        let block = &mut self.blocks[actor / self.warps_of_block];
        let number = block.count;
        block.count += 1;
        if is_idle && number > 0 {
            block.restarts.push(number);
            block.is_filled = false;
        } else if ended {
            block.is_filled = true;
        }
        self.issues.push(Issued {
            by: actor,
            before,
            number,
            known,
            fills: (!block.is_filled).then_some(block.restarts.len()),
            bytes: 0,
            waited: Vec::new(),
        });
        let issue = self.issues.len() as Issue;
        let epoch = order.observer(actor, 1 << lane).map_or(0, |own| own.epoch);
        let issuer = &mut self.issuers[actor];
        issuer.issues.push(issue);
        match issuer.epochs.last_mut() {
            Some((last, count)) if *last == epoch => *count = issuer.issues.len(),
            _ => issuer.epochs.push((epoch, issuer.issues.len())),
        }
        issuer.unknown.push(issue);
        issue
    }

    /// How many issues of each warp of its block happen before what this lane does next.
    fn known_issues(&self, actor: Actor, lane: usize, order: &HappensBefore) -> Vec<usize> {
        let observer = order.observer(actor, 1 << lane);
        self.block_of(actor)
            .map(|by| {
                let (issues, epochs) = (&self.issuers[by].issues, &self.issuers[by].epochs);
                let Some(observer) = observer.as_ref().filter(|_| by != actor) else {
                    return issues.len();
                };
                up_to(epochs, |epoch| {
                    (0..32).any(|lane| observer.see(by, lane, epoch))
                })
            })
            .collect()
    }

    /// The warps of a warp's block.
    fn block_of(&self, actor: Actor) -> std::ops::Range<Actor> {
        let first = actor / self.warps_of_block * self.warps_of_block;
        first..first + self.warps_of_block
    }

    /// The warp is about to issue a copy. Earlier copies of its block are no longer in flight if a wait for them, by any warp,
    /// happens before this issue. Returns whether there are such.
    fn end_flights(&mut self, actor: Actor, lane: usize, order: &HappensBefore) -> bool {
        let observer = order.observer(actor, 1 << lane);
        let knows = |(by, epoch): (Actor, u32)| {
            by == actor
                || observer
                    .as_ref()
                    .is_none_or(|observer| (0..32).any(|lane| observer.see(by, lane, epoch)))
        };
        let end = self.blocks[actor / self.warps_of_block].count;
        let mut ended = false;
        let (issues, all) = (&self.issues, self.block_of(actor));
        for by in all {
            let issuer = &mut self.issuers[by];
            issuer.unknown.retain(|&issue| {
                let one = issue.checked_sub(1).and_then(|at| issues.get(at as usize));
                if !one.is_some_and(|one| one.waited.iter().copied().any(knows)) {
                    return true;
                }
                let place = issuer.issues.partition_point(|other| *other < issue);
                issuer.flights.push((place, end));
                ended = true;
                false
            });
        }
        ended
    }

    fn issued(&self, issue: Issue) -> Option<&Issued> {
        self.issues.get(issue.checked_sub(1)? as usize)
    }

    /// The warp reads copied data, or waits for the copy.
    fn need(&mut self, actor: Actor, issue: Issue, waits: bool, epoch: u32) {
        let at = self.warps[actor].total;
        let one = issue
            .checked_sub(1)
            .and_then(|at| self.issues.get_mut(at as usize));
        let Some(one) = one else {
            return;
        };
        let lead = at.saturating_sub(one.before[actor]);
        if waits && one.waited.iter().all(|&(by, _)| by != actor) {
            one.waited.push((actor, epoch));
        }
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
        let issuer = self.issued(issue).and_then(|one| waited(one.by));
        [issuer, waited(actor)]
            .into_iter()
            .flatten()
            .fold(lead, u64::min)
    }

    /// How often the warp waited for a phase of an mbarrier that other warps complete. A third warp may complete it after it has
    /// waited for them: then the warp knows after the wait that another one is as far as itself.
    fn waits_for_warps(&self, actor: Actor) -> u64 {
        let products = &self.warps[actor];
        let multiplies = |by: &Actor| self.warps[*by].total > 0;
        let joint = products.joint_waits.iter().filter(|wait| {
            let is_as_far = |&(by, known): &(Actor, u64)| {
                known * products.total > wait.before * self.warps[by].total
            };
            wait.arrived.iter().any(multiplies) || wait.known.iter().any(is_as_far)
        });
        products.empty_waits + joint.count() as u64
    }

    /// The bytes before each issue of a warp, and last all of them.
    fn bytes_before(&self, of: &Issuer) -> Vec<u64> {
        let mut before = vec![0];
        let mut all = 0;
        for one in of.issues.iter().filter_map(|&issue| self.issued(issue)) {
            all += one.bytes;
            before.push(all);
        }
        before
    }

    /// Of what a warp has copied, [`CopyLead::in_flight`], or [`CopyLead::between_restarts`], with the bytes before each issue of each warp.
    fn flights(&self, actor: Actor, before: &[Vec<u64>], between_restarts: bool) -> [u64; 2] {
        let restarts = match between_restarts {
            true => &self.blocks[actor / self.warps_of_block].restarts[..],
            false => &[],
        };
        let fills = |one: &Issued| {
            one.fills
                .is_some_and(|before| between_restarts || before == 0)
        };
        // Copies whose flights end at the same issue form a batch, about one tile.
        let mut batches = BTreeMap::<usize, [u64; 2]>::new();
        let all = self.block_of(actor);
        for &(place, end) in &self.issuers[actor].flights {
            let issue = self.issuers[actor].issues.get(place);
            let one = issue.and_then(|&issue| self.issued(issue));
            let drains = restarts.binary_search(&end).is_ok();
            let Some(one) = one.filter(|one| !drains && !fills(one)) else {
                continue;
            };
            let mut twice = 0;
            for (by, &known) in all.clone().zip(&one.known) {
                let issues = &self.issuers[by].issues;
                let until = |is_before: &dyn Fn(&Issued) -> bool| {
                    let place =
                        issues.partition_point(|&issue| self.issued(issue).is_some_and(is_before));
                    before[by][place]
                };
                let last = until(&|other| other.number < end);
                if by == actor {
                    twice += 2 * (last - before[by][place]) - one.bytes;
                    continue;
                }
                // Issues that do not know of this one are concurrent with it, from the first that it does not know.
                let of_this = actor - all.start;
                let first = before[by][known].min(last);
                let concurrent = until(&|other| other.known[of_this] <= place);
                let concurrent = concurrent.clamp(first, last);
                twice += 2 * (last - concurrent) + (concurrent - first);
            }
            let [sum, bytes] = batches.entry(end).or_default();
            (*sum, *bytes) = (*sum + one.bytes * twice / 2, *bytes + one.bytes);
        }
        least_half(
            batches
                .into_values()
                .filter(|[_, bytes]| *bytes > 0)
                .collect(),
        )
    }

    /// The leads, once all warps have exited.
    pub fn leads(&self, warps: usize, block: impl Fn(usize) -> [u32; 3]) -> Vec<CopyLead> {
        let mut all = BTreeMap::new();
        let mut for_others = vec![0; self.warps.len()];
        for issued in &self.issues {
            let others = issued.waited.iter().any(|&(by, _)| by != issued.by);
            for_others[issued.by] += u64::from(others);
        }
        let issuers = self.issuers.iter();
        let before: Vec<_> = issuers.map(|one| self.bytes_before(one)).collect();
        let of_warp = |by: Actor| before[by].last().copied().unwrap_or_default();
        let flights: Vec<_> = (0..self.issuers.len())
            .map(|by| {
                let bytes: u64 = self.block_of(by).map(of_warp).sum();
                let both = [false, true].map(|between| self.flights(by, &before, between));
                (both, bytes)
            })
            .collect();
        for (&(actor, at, issue), &lead) in &self.needs {
            let Some(by) = self.issued(issue).map(|one| one.by) else {
                continue;
            };
            let ([in_flight, between_restarts], bytes) = flights[by];
            let restarts = self.blocks[by / self.warps_of_block].restarts.len();
            let one = CopyLead {
                block: block(actor / warps),
                warp: (actor % warps) as u32,
                at,
                products: self.lead(actor, issue, lead),
                of: self.warps[actor].total,
                issuer_of: self.warps[by].total,
                in_flight,
                between_restarts,
                restarts: restarts as u64,
                bytes,
                copies_for_others: for_others[actor],
                copies: self.issuers[actor].issues.len() as u64,
                barriers: self.warps[actor].barriers,
                waits_for_warps: self.waits_for_warps(actor),
            };
            let least: &mut CopyLead = all.entry((actor, at)).or_insert(one);
            least.products = least.products.min(one.products);
            least.issuer_of = least.issuer_of.max(one.issuer_of);
            let share = |one: &CopyLead| one.bytes_in_flight(0) / one.bytes.max(1) as f64;
            if share(&one) < share(least) {
                (least.in_flight, least.between_restarts) = (one.in_flight, one.between_restarts);
                (least.restarts, least.bytes) = (one.restarts, one.bytes);
            }
        }
        all.into_values().collect()
    }
}

impl Warp {
    /// A lane issues a copy.
    #[inline(always)]
    pub(super) fn note_issue(&self, lane: usize, cx: &mut Execution<'_>) -> Issue {
        match cx.common.lookahead() {
            Some(lookahead) => lookahead.issue(self.actor, lane, cx.order),
            None => 0,
        }
    }

    /// The warp waits for these copies.
    #[inline(always)]
    pub(super) fn note_wait(&self, issues: &[Issue], cx: &mut Execution<'_>) {
        if let Some(lookahead) = cx.common.lookahead() {
            let epoch = cx.order.observer(self.actor, 1).map_or(0, |own| own.epoch);
            issues
                .iter()
                .for_each(|&issue| lookahead.need(self.actor, issue, true, epoch));
        }
    }

    /// Whether the warp has waited for all of these copies, if there are any.
    pub(super) fn has_waited_for(&self, issues: &[Issue], cx: &mut Execution<'_>) -> bool {
        let Some(lookahead) = cx.common.lookahead() else {
            return false;
        };
        let waits = &lookahead.waits;
        let mut known = issues
            .iter()
            .map(|&issue| waits.contains_key(&(self.actor, issue)));
        !issues.is_empty() && known.all(|known| known)
    }

    /// The warp has waited for a phase in which no copy landed.
    #[inline(always)]
    pub(super) fn note_empty_wait(&self, cx: &mut Execution<'_>) {
        if let Some(lookahead) = cx.common.lookahead() {
            let products = &mut lookahead.warps[self.actor];
            products.empty_waits += 1;
            products.met = Some(products.total);
        }
    }

    /// These lanes have waited for a phase in which these copies landed and these warps arrived.
    pub(super) fn note_joint_wait(
        &self,
        lanes: u32,
        arrived: Vec<Actor>,
        issues: &[Issue],
        cx: &mut Execution<'_>,
    ) {
        let Some(lookahead) = cx.common.lookahead() else {
            return;
        };
        let issued = |by: Actor| {
            let issues = issues.iter().filter_map(|&issue| lookahead.issued(issue));
            issues.into_iter().any(|one| one.by == by)
        };
        let mut wait = JointWait {
            before: 0,
            arrived,
            known: Vec::new(),
        };
        wait.arrived.retain(|&by| by != self.actor && !issued(by));
        let own = &lookahead.warps[self.actor];
        // What a barrier has told it is counted there.
        if own.met != Some(own.total)
            && let Some(observer) = cx.order.observer(self.actor, lanes)
        {
            let others = lookahead.warps.iter().enumerate();
            let others = others.filter(|(by, products)| products.total > 0 && *by != self.actor);
            let known = others.map(|(by, products)| {
                let is_known = |epoch| (0..32).any(|lane| observer.see(by, lane, epoch));
                (by, products.known(is_known))
            });
            wait.known = known.filter(|&(_, known)| known > 0).collect();
        }
        let own = &mut lookahead.warps[self.actor];
        if own.total > own.waited[0] {
            own.waited = [own.total, own.waited[0]];
        }
        wait.before = own.waited[1];
        if !wait.arrived.is_empty() || !wait.known.is_empty() {
            own.joint_waits.push(wait);
        }
    }

    /// The warp waits at a barrier of several warps.
    #[inline(always)]
    pub(super) fn note_barrier(&self, cx: &mut Execution<'_>) {
        if let Some(lookahead) = cx.common.lookahead() {
            let products = &mut lookahead.warps[self.actor];
            products.barriers += 1;
            products.met = Some(products.total);
        }
    }

    /// The warp reads these bytes of its block's shared memory.
    #[inline(always)]
    pub(super) fn note_read(&self, starts: impl Iterator<Item = u32>, cx: &mut Execution<'_>) {
        let rank = cx.rank;
        if let Some(lookahead) = cx.common.lookahead() {
            for at in starts {
                let Some(unit) = lookahead.units[rank].get_mut((at / UNIT) as usize) else {
                    continue;
                };
                let Unit { issue, read } = *unit;
                unit.read = true;
                if !read
                    && let Some(issued) = issue.checked_sub(1)
                    && let Some(issued) = lookahead.issues.get_mut(issued as usize)
                {
                    issued.bytes += u64::from(UNIT);
                }
                lookahead.need(self.actor, issue, false, 0);
            }
        }
    }

    /// The warp multiplies.
    #[inline(always)]
    pub(super) fn note_product(&self, cx: &mut Execution<'_>) {
        let Some(lookahead) = cx.common.lookahead() else {
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
        if let Some(lookahead) = self.common.lookahead() {
            let end = (to + bytes).div_ceil(UNIT);
            for unit in to / UNIT..end {
                if let Some(unit) = lookahead.units[rank].get_mut(unit as usize) {
                    *unit = Unit { issue, read: false };
                }
            }
        }
    }
}
