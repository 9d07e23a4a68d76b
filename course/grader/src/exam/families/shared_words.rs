//! Lanes that read the same words.
use super::{Draft, period};
use crate::exam::access::{Op, WarpAccess};
use crate::exam::formula::{Formula, LANE};
use crate::exam::random::SeededRandom;

/// How lanes are grouped that access the same place.
#[derive(Clone, Copy)]
enum Shared {
    /// This many neighbors.
    Neighbors(u32),
    /// Lanes this far apart.
    Apart(u32),
}

impl Shared {
    fn formula(self) -> Formula {
        match self {
            Self::Neighbors(share) => LANE / share,
            Self::Apart(distance) => LANE % distance,
        }
    }

    /// Number of different places among this many lanes, which make up a phase.
    fn places(self, lanes: u32) -> u32 {
        match self {
            Self::Neighbors(share) => (lanes / share).max(1),
            Self::Apart(distance) => distance.min(lanes),
        }
    }

    /// Whether each lane accesses the same place as the lane whose number differs in this bit.
    fn with(self, bit: u32) -> bool {
        match self {
            Self::Neighbors(share) => share > bit,
            Self::Apart(distance) => distance <= bit,
        }
    }
}

/// Words that several lanes load.
pub fn broadcast(draw: &mut SeededRandom) -> Draft {
    let number = draw.pick(&[2, 4, 8, 16]);
    let shared = match draw.below(2) {
        0 => Shared::Neighbors(number),
        _ => Shared::Apart(number),
    };
    let words = draw.pick(&[1, 2, 4, 8, 16, 32, 33, 64]);
    let places = shared.places(32);
    let different = different(places, words, 32, ["word", "words"]);
    Draft {
        story: "several lanes want the same".into(),
        access: WarpAccess::new(Op::Load, 4, shared.formula() * (4 * words)),
        reason: format!(
            "A word that several lanes want is fetched once for all of them. That leaves {different}."
        ),
    }
}

/// Whether this many different units, with a constant step, conflict.
fn different(number: u32, step: u32, places: u32, [one, more]: [&str; 2]) -> String {
    let unit = if step == 1 { one } else { more };
    let begin = format!("{number} different {more}, {step} {unit} apart");
    match period(step, places) {
        back if back < number => format!("{begin}: number {back} is back at the banks of number 0"),
        _ => format!("{begin}: they are in different banks"),
    }
}

/// Elements smaller than a word.
pub fn narrow(draw: &mut SeededRandom) -> Draft {
    let bytes = draw.pick(&[1, 2]);
    let stride = match draw.below(2) {
        0 => bytes * draw.pick(&[1, 2 / bytes]),
        _ => 4 * draw.pick(&[1, 2, 3, 4, 6, 8, 16, 33]),
    };
    let op = draw.pick(&[Op::Load, Op::Store]);
    let first = bytes * draw.below(4 / bytes);
    let first = if stride < 4 { 0 } else { first };
    let reason = match stride {
        1..4 => format!(
            "{} lanes have their bytes in the same word, which is served once for all of them; the words are side by side.",
            4 / stride
        ),
        _ => {
            let words = stride / 4;
            let back = match period(words, 32) {
                32 => "an odd number, so no two lanes meet".into(),
                back => format!("so lane {back} is back at the bank of lane 0"),
            };
            format!(
                "A bank serves a word in a wavefront, however few of its bytes are wanted. Neighbors are {words} \
                 word{} apart, {back}.",
                if words == 1 { "" } else { "s" }
            )
        }
    };
    let address = LANE * stride;
    Draft {
        story: "elements smaller than a word".into(),
        access: WarpAccess::new(op, bytes, address.plus(first)),
        reason,
    }
}

/// Wide accesses in which lanes read the same: phases of loads may merge.
pub fn merged(draw: &mut SeededRandom) -> Draft {
    let bytes = draw.pick(&[8, 16, 16]);
    let shared = match draw.below(2) {
        0 => Shared::Neighbors(draw.pick(&[2, 4, 8])),
        _ => Shared::Apart(draw.pick(&[2, 4, 8, 16])),
    };
    let units = draw.pick(&[1, 2, 3, 4, 8]);
    let op = draw.pick(&[Op::Load, Op::Load, Op::Store]);
    let single = 128 / bytes;
    let partner = [1, 2].into_iter().find(|bit| shared.with(*bit));
    let merges = op == Op::Load && partner.is_some();
    let together = if merges { 2 * single } else { single };
    let phases = match (op, partner) {
        (Op::Load, Some(bit)) => format!(
            "Lanes `i` and `i ^ {bit}` want the same all over the warp, so this load serves {together} lanes together, \
             not {single}"
        ),
        (Op::Load, None) => format!(
            "Lanes `i` and `i ^ 1` differ, and so do `i` and `i ^ 2`: the load serves {single} lanes together, \
             as if no lanes shared"
        ),
        _ => format!(
            "Phases of a store do not merge, whichever lanes share: {single} lanes are served together"
        ),
    };
    let unit = ["place", "places"].map(|word| format!("{word} of {bytes} bytes"));
    let unit = unit.each_ref().map(String::as_str);
    let different = different(shared.places(together), units, single, unit);
    Draft {
        story: "several lanes want the same".into(),
        access: WarpAccess::new(op, bytes, shared.formula() * (units * bytes)),
        reason: format!("{phases}. In such a group: {different}."),
    }
}
