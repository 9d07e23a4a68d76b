//! How long a launch takes by the clock: a prediction, the same on every machine, of which the largest part of the clocks is named.
use harness::{Error, Launched, Tile, TimedLaunch, thousands};
use sha2::{Digest, Sha256};

use super::judge::Judged;
use super::launches::LaunchResults;
use super::plan::{Class, PlannedLaunch, SMS};
use super::rubric::Measure;

/// The fraction of its fair share of C that the timed CTAs must compute: with an uneven distribution of tiles they
/// compute less.
const FAIR_SHARE: f64 = 0.6;

/// The prediction for the first SM, or for a slower one of two others: the last, and one that a hash of the PTX and of the launches'
/// seeds chooses, which a secret determines. These may have less to do than their share, as at the edges of C, but a launch lasts as long as
/// its slowest SM.
fn slowest(
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> harness::Result<TimedLaunch> {
    let trial = all.trial(launch);
    let mut hash = Sha256::new().chain_update(&trial.source().ptx);
    for launch in all.planned {
        hash.update(launch.on.seed.to_le_bytes());
    }
    let hash = hash.finalize();
    let drawn = hash[..4]
        .iter()
        .fold(0, |all, byte| (256 * all + u32::from(*byte)) % SMS);
    let mut slowest = trial.time(&launch.on, one, 0)?;
    if !is_like_the_whole(&slowest) {
        return Ok(slowest);
    }
    for sm in [SMS - 1, drawn] {
        let other = TimedLaunch {
            share: 1.0,
            ..trial.time(&launch.on, one, sm)?
        };
        if !other.same {
            return Ok(other);
        }
        if clocks(&other) > clocks(&slowest) {
            slowest = other;
        }
    }
    Ok(slowest)
}

/// Whether these CTAs compute what they compute in the whole launch, and enough of it.
fn is_like_the_whole(time: &TimedLaunch) -> bool {
    time.same && time.share >= FAIR_SHARE
}

/// What these CTAs leave to others would take them as long.
fn clocks(time: &TimedLaunch) -> f64 {
    (time.prediction.estimate.clocks / time.share.min(1.0)).round()
}

/// Grades the predicted clocks of the timed launch.
pub fn predicted_clocks<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let timed = all.done.iter();
    let timed = timed.filter(|(launch, one)| launch.class == Class::Timed && one.verification.ok());
    for (launch, one) in timed {
        let none = |judged: &mut Judged<'a>, why: String, hint: &str| {
            judged.credit = 0.0;
            judged.complain(all, launch, &why, hint, "not-timed");
        };
        let time = match slowest(all, launch, one) {
            Ok(time) => time,
            Err(error) => {
                let hint = match error {
                    Error::IndirectCall(..) => {
                        "which function is called by a pointer, or which `switch` has many cases?"
                    }
                    _ => {
                        "the prediction runs the blocks of one SM without all others: does one of them wait for another?"
                    }
                };
                none(judged, error.to_string(), hint);
                continue;
            }
        };
        if !is_like_the_whole(&time) {
            let what = match time.same {
                true => format!(
                    "the blocks of the SM that is timed compute {:.0}% of their share of C",
                    100.0 * time.share
                ),
                false => {
                    "without the other blocks, the blocks of the timed SM store wrong values in C"
                        .into()
                }
            };
            let hint = "does every block have as much work as the others, and does it do that work itself?";
            none(judged, what, hint);
            continue;
        }
        let (share, clocks) = (time.share.min(1.0), clocks(&time));
        let mut words = format!("{} clocks are predicted", thousands(clocks as u64));
        if share < 0.99 {
            let percent = 100.0 * share;
            words += &format!(
                ", after division by {percent:.0}%, the part of their share of C that the timed blocks compute"
            );
        }
        let slowest = time.prediction.slowest_line();
        if let Some((line, part, stall)) = &slowest {
            let (part, stall) = (100.0 * part, stall.name());
            words += &format!("; {part:.0}% of them at {line}, mostly {stall}");
        }
        let better = measure.degree.iter().filter_map(|degree| degree.at_most);
        if let Some(next) = better.filter(|most| *most < clocks).reduce(f64::max) {
            words += &format!("; {} would give more points", thousands(next as u64));
        }
        let Tile { bm, bn, .. } = all.trial(launch).tile();
        let tiles = launch.on.size.m.div_ceil(bm) * launch.on.size.n.div_ceil(bn);
        if tiles < SMS {
            words += &format!(
                "; {tiles} tiles leave {} of {SMS} SMs without one",
                SMS - tiles
            );
        }
        let before = judged.complaints.len();
        judged.measured(measure, all, launch, (clocks, words), "too-slow");
        if let (Some(complaint), Some((line, ..))) = (judged.complaints.get_mut(before), slowest) {
            let number = line.rsplit(':').next();
            complaint.line = number.and_then(|number| number.parse().ok());
        }
    }
}
