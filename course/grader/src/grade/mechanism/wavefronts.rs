//! Wavefronts of a single instruction, and of lanes that take turns.
use super::by_line::by_measure;
use crate::grade::judge::Judged;
use crate::grade::launches::LaunchResults;
use crate::grade::rubric::Measure;
use crate::grade::turns::{self, Turns};

/// The worst ratio of wavefronts to their minimum of any instruction.
pub fn by_instruction<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let quotients = one.run.counters.iter().map(|counters| {
            let shared = counters.shared;
            shared.wavefronts as f64 / shared.ideal.max(1) as f64
        });
        let degree = quotients.fold(1.0, f64::max);
        let words =
            format!("the worst access takes {degree:.2} times the ideal number of wavefronts");
        by_measure(measure, all, launch, (degree, words), judged);
    }
}

/// Lanes that take turns cost what conflicts between them would cost.
pub fn in_turns<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    for (launch, one) in all.done.iter() {
        let Some(Turns { times, words }) = turns::worst(all, launch, one) else {
            continue;
        };
        let credit = measure.credit(times);
        if credit < 1.0 && !judged.has_complained() {
            judged.complain(all, launch, &words, turns::HINT, "shared-traffic");
        }
        let words = format!("where lanes take turns, {times:.2} times the necessary wavefronts");
        judged.note(credit, times, words, launch);
    }
}
