//! How early a kernel issues the copies that it will wait for, and the granularity of its TMA copies.
use std::collections::{BTreeMap, BTreeSet};

use emulator::{CopyLead, Swizzle};
use harness::Launched;

use super::judge::Judged;
use super::launches::LaunchResults;
use super::plan::{Class, PlannedLaunch, SMS};
use super::rubric::{Measure, What};
use super::{barriers, groups};

/// Bytes of an element.
const ELEMENT: u32 = 2;

/// The limits are for few steps. Where a producer waits for an empty stage, its first copies are the earliest, and over many steps
/// the average falls: with three stages, to little more than 1.
const LONG_RUN: f64 = 1.05;

/// Launches with fewer steps along K are not examined for barriers per step.
const MANY_STEPS: u64 = 16;

/// A step waits for its copies if they were issued less than this many steps ahead.
const WAITS: f64 = 0.5;

/// If fewer tiles than this are in flight, the complaint says how many.
const FEW_IN_FLIGHT: f64 = 1.25;

/// The largest fraction of steps that may wait. If more do, others that are far ahead do not make up for them.
const MOST_WAIT: f64 = 0.125;

/// What the average then counts as at most: that of two stages.
const TWO_STAGES: f64 = 1.0;

/// The K steps that a warp multiplies between the issue of a tile's last copy and the moment when it waits for the tile
/// or reads it, averaged over the steps: 0 if every copy is waited for at once, 1 with two stages, 2 - 1 / (steps - 1)
/// with three, since no tile can be issued before the first step.
///
/// Counted in the matrix products of each warp that reads or waits; the worst warp counts. A warp that only copies
/// multiplies nothing, and its copies are seen by the warps that read them. But no tile counts for more steps than
/// there are tiles in flight together: for a warp that waits for each of its copies, that is one. Launches with at most
/// two steps do not count, because they are all prologue.
pub fn copies_ahead<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in right(all) {
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let tiles = rows * columns;
        // Leads are recorded under the sanitizer, under which only a cluster of a launch of many tiles may have run, or none.
        let is_many = matches!(launch.class, Class::Many(_));
        if steps <= 2 || is_many && one.run.leads.is_empty() {
            continue;
        }
        let products = products(one);
        let of_all: u64 = products.values().sum();
        // A launch that is graded alone runs as a whole.
        let of_a_tile = match is_many && all.planned.len() > 1 {
            true => of_a_step(all, launch).map(|of| of * steps as f64),
            false => Some(of_all as f64 / tiles as f64),
        };
        let Some(of_a_tile) = of_a_tile else {
            continue;
        };
        // A persistent block computes its part of the tiles, by its products.
        let tiles_of = |block| {
            let of_block = products.get(block).copied().unwrap_or_default();
            (of_block as f64 / of_a_tile.max(1.0)).round().max(1.0) as u64
        };
        let mut warps = BTreeMap::<_, Vec<&CopyLead>>::new();
        for lead in one.run.leads.iter().filter(|lead| lead.of > 0) {
            warps.entry((lead.block, lead.warp)).or_default().push(lead);
        }
        let each = warps.iter();
        let least = each.map(|((block, _), leads)| {
            let tiles = tiles_of(block);
            let in_flight = leads.first().map(|lead| in_flight(lead, steps, tiles));
            (
                ahead(leads, steps, tiles),
                in_flight.unwrap_or(f64::INFINITY),
            )
        });
        let least = least.reduce(|a, b| if b.0 < a.0 { b } else { a });
        let (least, in_flight) = least.unwrap_or((0.0, f64::INFINITY));
        let few = match in_flight < FEW_IN_FLIGHT {
            true => format!(": in half of the steps, only {in_flight:.1} tiles are in flight"),
            false => String::new(),
        };
        let words = format!(
            "{least:.2} K steps are multiplied between a tile's last copy and the wait for it (at most {TWO_STAGES} if more than one step in \
             eight has less than {WAITS}){few}"
        );
        let number = match launch.class {
            Class::Deep { .. } => least * LONG_RUN,
            _ => least,
        };
        let before = judged.complaints.len();
        judged.measured(measure, all, launch, (number, words), "too-few-stages");
        if let Some(complaint) = judged.complaints.get_mut(before).filter(|_| !launch.closed) {
            complaint.what += &format!("\n  measured {}", all.label(launch));
            for line in groups::waits(all.trial(launch), one) {
                complaint.what += &format!("\n  {line}");
            }
        }
    }
}

/// The matrix products of each block's warps, as far as these have leads.
fn products(one: &Launched) -> BTreeMap<[u32; 3], u64> {
    let leads = one.run.leads.iter();
    let of_warps: BTreeMap<_, _> = leads
        .map(|lead| ((lead.block, lead.warp), lead.of))
        .collect();
    let mut of_blocks = BTreeMap::new();
    for ((block, _), of) in of_warps {
        *of_blocks.entry(block).or_default() += of;
    }
    of_blocks
}

/// The products of a step of a tile of C, by another launch with the same tile of which all leads are known.
fn of_a_step(all: &LaunchResults, launch: &PlannedLaunch) -> Option<f64> {
    let is_known =
        |other: &PlannedLaunch| other.tile == launch.tile && !matches!(other.class, Class::Many(_));
    let mut others = right(all).filter(|(other, _)| is_known(other));
    others.find_map(|(other, one)| {
        let steps: u64 = other.tiles(all.rubric).into_iter().product();
        let of_all: u64 = products(one).values().sum();
        (of_all > 0).then(|| of_all as f64 / steps.max(1) as f64)
    })
}

/// The average of one warp, which has multiplied these tiles, each of them in `of_a_tile` steps.
fn ahead(leads: &[&CopyLead], of_a_tile: u64, tiles: u64) -> f64 {
    let steps = of_a_tile * tiles;
    let of = leads.first().map_or(0, |lead| lead.of);
    let of_a_step = (of as f64 / steps as f64).max(1.0);
    let mut least = BTreeMap::<u64, f64>::new();
    for lead in leads {
        // A wait after the last product belongs to a step that does not exist.
        let step = (lead.at * steps / of).min(steps - 1);
        let ahead = (lead.products as f64 / of_a_step).min(in_flight(lead, of_a_tile, tiles));
        let found = least.entry(step).or_insert(ahead);
        *found = ahead.min(*found);
    }
    // Average over all steps but the first of each tile: no product precedes it, unless the ring goes on from tile to tile.
    let others = (tiles * (of_a_tile - 1)) as f64;
    let average = least.values().sum::<f64>() / others;
    let waiting = least.values().filter(|ahead| **ahead < WAITS).count() as f64 - tiles as f64;
    match waiting > MOST_WAIT * others {
        true => average.min(TWO_STAGES),
        false => average,
    }
}

/// Tiles that the block has in flight together with a copy of the issuing warp, if it computes this many tiles of C in so many steps each.
/// Its pipeline may be drained after each of them.
fn in_flight(lead: &CopyLead, steps: u64, tiles: u64) -> f64 {
    let of_a_step = (lead.bytes as f64 / (steps * tiles) as f64).max(1.0);
    // Seen from the middle of one of a tile's copies, half of the tile comes later on average.
    lead.bytes_in_flight(tiles - 1) / of_a_step + 0.5
}

/// Blocks that copied something, per SM.
pub fn persistent_blocks<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let blocks = blocks(one);
        let of_an_sm = blocks as f64 / f64::from(SMS);
        let words = format!("{blocks} blocks copy tiles, on {SMS} SMs");
        judged.measured(measure, all, launch, (of_an_sm, words), "another-way");
    }
}

/// The launches whose C is right; others may have ended early.
fn right<'b, 'a>(
    all: &'b LaunchResults<'a>,
) -> impl Iterator<Item = &'b (&'a PlannedLaunch, Launched)> {
    all.done.iter().filter(|(_, one)| one.verification.ok())
}

/// How often a warp that multiplies waits for other warps per tile of C, or per step: at barriers, and at mbarriers, which can form a barrier,
/// too. One warp of a block may wait for an empty stage before each copy that other warps wait for: if several do, they meet in each step.
/// The warp with the most waits counts, because others would dilute an average.
pub fn block_barriers<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in right(all) {
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let (of_a_tile, unit, mistake) = match measure.what {
            // With few steps, it is mostly the barriers of the epilogue.
            What::BarriersPerStep if steps < MANY_STEPS => continue,
            What::BarriersPerStep => (steps + 1, "step along K", "another-way"),
            _ => (1, "tile of C", "barrier-in-each-step"),
        };
        let tiles_of_a_block = (rows * columns).div_ceil(blocks(one).max(1));
        let multiplying = || one.run.leads.iter().filter(|lead| lead.of > 0);
        let mut copying = BTreeMap::new();
        for lead in multiplying().filter(|lead| lead.copies_for_others > 0) {
            let most = copying.entry(lead.block).or_insert(lead);
            if lead.copies_for_others > most.copies_for_others {
                *most = lead;
            }
        }
        let own = match measure.what {
            What::BarriersPerStep => barriers::of_own_lanes(all.trial(launch), one),
            _ => 0.0,
        };
        let waits = multiplying().map(|lead| {
            let copies = copying.get(&lead.block).filter(|of| of.warp == lead.warp);
            let free = copies.map_or(0, |of| of.copies_for_others);
            lead.barriers + lead.waits_for_warps.saturating_sub(free)
        });
        let [most, own] = [waits.max().unwrap_or_default() as f64, own]
            .map(|waits| waits / (tiles_of_a_block.max(1) * of_a_tile) as f64);
        let mut words = format!(
            "a warp that multiplies waits {most:.2} times per {unit} for other warps, at barriers and mbarriers"
        );
        // A warp that does not wait for others copies its operands itself, and its lanes wait for each other.
        let own = if most < 1.0 { own } else { 0.0 };
        if own > 0.0 {
            words += &format!(", and {own:.2} times for its own lanes");
        }
        let most = most + own;
        judged.measured(measure, all, launch, (most, words), mistake);
    }
}

/// Blocks that copied something.
fn blocks(one: &Launched) -> u64 {
    let blocks: BTreeSet<_> = one.run.leads.iter().map(|lead| lead.block).collect();
    blocks.len() as u64
}

/// The warps of a block that multiply, where one of them issues the copies; the block with the fewest counts. With a producer, one warp
/// suffices. Warps do not work together if another one waits for less than half of the copies of one of them; they count as one.
pub fn multiplying_warps<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in right(all) {
        let mut warps = BTreeMap::<_, BTreeSet<u32>>::new();
        for lead in one.run.leads.iter().filter(|lead| lead.of > 0) {
            warps.entry(lead.block).or_default().insert(lead.warp);
        }
        let has_producer = one
            .run
            .leads
            .iter()
            .all(|lead| lead.of == 0 || lead.issuer_of == 0);
        let fewest = warps.values().map(BTreeSet::len).min();
        let Some(fewest) = fewest.filter(|_| !has_producer) else {
            continue;
        };
        let mut multiplying = one.run.leads.iter().filter(|lead| lead.of > 0);
        let is_alone = multiplying.any(|lead| 2 * lead.copies_for_others < lead.copies);
        let (fewest, words) = match fewest > 1 && is_alone {
            true => (
                1,
                "each warp multiplies only what it has copied itself".into(),
            ),
            false => (
                fewest,
                format!("{fewest} of a block's warps multiply, and load, too"),
            ),
        };
        judged.measured(measure, all, launch, (fewest as f64, words), "another-way");
    }
}

/// The fraction of tile reads whose copy was issued by a multiplying warp.
pub fn multiplying_producers<'a>(
    measure: &Measure,
    all: &LaunchResults<'a>,
    judged: &mut Judged<'a>,
) {
    for (launch, one) in right(all) {
        let needs = one.run.leads.iter().filter(|lead| lead.of > 0);
        let (mut of, mut multiplying) = (0u64, 0u64);
        for lead in needs {
            of += 1;
            multiplying += u64::from(lead.issuer_of > 0);
        }
        let part = multiplying as f64 / of.max(1) as f64;
        let words = format!(
            "{:.0}% of the tiles that are multiplied were copied by a warp that also multiplies",
            100.0 * part
        );
        judged.measured(measure, all, launch, (part, words), "too-few-stages");
    }
}

/// Bytes of a box's row that count if it is not swizzled: a kernel that copies wider rows has to rearrange them before they can be read
/// without conflicts, or by wgmma.
const CHUNK: u32 = 16;

/// Bytes of a row in the narrowest box of A or B, as far as they are swizzled; 0 without boxes.
pub fn box_bytes<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, _) in all.done.iter() {
        let boxes = all.trial(launch).boxes();
        let of_operands = boxes.iter().flat_map(|[a, b, _]| [a, b]);
        let bytes = of_operands.clone().map(|of| of.columns * ELEMENT);
        let bytes = bytes.min().unwrap_or_default();
        let plain = of_operands.clone().any(|of| of.swizzle == Swizzle::None);
        let (bytes, beside) = match plain && bytes > CHUNK {
            true => (
                CHUNK,
                format!(", since rows of {bytes} bytes without a swizzle count as {CHUNK}"),
            ),
            false => (bytes, String::new()),
        };
        let words = format!("the boxes of A and B have rows of at least {bytes} bytes{beside}");
        judged.measured(measure, all, launch, (bytes.into(), words), "narrow-boxes");
    }
}
