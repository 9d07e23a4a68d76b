//! Explains a wrong C, if its numbers allow that: the kernel is launched again on inputs whose numbers identify their
//! elements.
use std::collections::BTreeSet;
use std::num::FpCategory;

use emulator::{FactorFormat, Instruction, InstructionKind};
use harness::{DISTINCT, Launched, Size, TrialLaunch, Values};

use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::AssignmentKind;
use super::{epilogue, fragment, labels, misplaced, one_place, probe};

/// What is wrong, and a question to think about.
pub struct Cause {
    pub what: String,
    pub hint: String,
    pub kind: CauseKind,
}

/// What kind of mistake a cause is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CauseKind {
    /// A register holds an element of another chunk of 16 bytes of its row.
    Chunk,
    /// A register holds another wrong element.
    Fragment,
    /// Factors of different k, or none.
    Factors,
    /// Any other, with its anchor on the book's page of mistakes.
    Other(&'static str),
}

impl CauseKind {
    /// The anchor on the book's page of mistakes.
    pub fn mistake(self) -> &'static str {
        match self {
            Self::Chunk | Self::Fragment => "wrong-fragment",
            Self::Factors => "wrong-factors",
            Self::Other(mistake) => mistake,
        }
    }
}

/// The most products of a launch in whose C misplaced elements are searched for; for a larger one it would take
/// minutes.
const MOST_WORK: u64 = 1 << 25;

/// The cause, if one is found.
pub fn of(all: &LaunchResults, launch: &PlannedLaunch, wrong: &Launched) -> Option<Cause> {
    let (tile, task) = (all.rubric.tile[launch.tile], all.rubric.task);
    let known = match task {
        AssignmentKind::Gemm | AssignmentKind::Predict => no_products(all, launch, wrong),
        AssignmentKind::Transpose => None,
    };
    let known = known
        .or_else(|| extreme(launch, wrong))
        .or_else(|| as_integers(wrong, task));
    if known.is_some() {
        return known;
    }
    let Size { m, n, k } = launch.on.size;
    let size = match u64::from(m + n) * u64::from(k) <= DISTINCT {
        true => launch.on.size,
        false if task == AssignmentKind::Transpose => launch.on.size,
        false => Size {
            m: tile.m,
            n: tile.n,
            k: (2 * tile.k).min(k),
        },
    };
    if task == AssignmentKind::Transpose
        && let Some(cause) = words(wrong)
    {
        return Some(cause);
    }
    if let Some(cause) = other_format(all, launch, wrong) {
        return Some(cause);
    }
    let on = TrialLaunch {
        size,
        values: Values::Distinct,
        ..launch.on
    };
    let of_one_tile = TrialLaunch {
        size: Size {
            m: tile.m,
            n: tile.n,
            k: tile.k,
        },
        ..on
    };
    if let Some(cause) = one_place::of(all.trial(launch), &of_one_tile, task) {
        return Some(cause);
    }
    let told = all.trial(launch).launch(&on).ok();
    let told = told.filter(|told| !told.verification.ok());
    let by_fragment = told.as_ref().and_then(|told| {
        let instructions = all.trial(launch).instructions();
        fragment::wrong(told, instructions, tile.k)
    });
    by_fragment
        .or_else(|| {
            let is_small = u64::from(m) * u64::from(n) * u64::from(k) <= MOST_WORK;
            let launched = told.iter().chain(is_small.then_some(wrong));
            let is_gemm = task == AssignmentKind::Gemm;
            let by_step = launched.clone().filter(|_| is_gemm).find_map(epilogue::of);
            let place = |launched| misplaced::of(launched, task, &tile);
            let by_place = || launched.clone().find_map(place);
            by_step.or_else(by_place).map(|cause| match &told {
                Some(told) if has_all_products(told, [tile.m, tile.n]) => of_sums(cause),
                _ => cause,
            })
        })
        .or_else(|| {
            // Two steps, and an identity matrix that is not cut off.
            let k = 2 * tile.k;
            let size = Size {
                m: k.next_multiple_of(tile.m),
                n: k.next_multiple_of(tile.n),
                k,
            };
            let is_written = !wrong
                .verification
                .first_wrong
                .iter()
                .all(|one| one.got.is_nan());
            (task == AssignmentKind::Gemm && is_written)
                .then(|| probe::of(all.trial(launch), size, &launch.on))
                .flatten()
                .map(|cause| tried_at(size, launch.on.size, cause))
        })
        .or_else(|| {
            (task == AssignmentKind::Gemm)
                .then(|| rounded(wrong))
                .flatten()
        })
}

/// Whether the tensor cores multiplied all that C consists of.
fn has_all_products(told: &Launched, tile: [u32; 2]) -> bool {
    let found = labels::coverage(told, tile);
    !told.run.factors.is_empty() && found.products == found.of
}

/// What is asked if all products are there: if those of a sum are right, too, it is stored in the wrong place.
fn of_sums(cause: Cause) -> Cause {
    let hint = match cause.kind {
        CauseKind::Other("exchanged-indices") => {
            "every product is computed: of which row and which column of C is the sum in each register of a lane, and where is it stored? If \
             that is right: which rows of A and which columns of B does a warp multiply?"
        }
        CauseKind::Other("swizzle-on-one-side") => {
            "every product is computed, so this may be about C: do the code that writes its tile and the code that reads it compute the same \
             place for an element?"
        }
        _ => return cause,
    };
    Cause {
        hint: hint.into(),
        ..cause
    }
}

/// The tensor cores multiply numbers of another format than those of A and B.
fn other_format(all: &LaunchResults, launch: &PlannedLaunch, wrong: &Launched) -> Option<Cause> {
    let counted = all.trial(launch).instructions().iter();
    let executed = counted
        .zip(&wrong.run.counters)
        .filter(|(_, counters)| counters.executions > 0);
    let other = |of: &Instruction| match of.kind {
        InstructionKind::Mma(product) | InstructionKind::Wgmma(product) => {
            product.factors != FactorFormat::F16
        }
        _ => false,
    };
    let (of, _) = executed.into_iter().find(|(of, _)| other(of))?;
    Some(Cause {
        what: format!("{} does not multiply f16, which A and B are", of.opcode),
        hint: "which part of the instruction's name is the type of A, and which one that of B?"
            .into(),
        kind: CauseKind::Factors,
    })
}

/// Names the size of the launch that the cause was found in, if it is another one.
fn tried_at(size: Size, asked: Size, cause: Cause) -> Cause {
    let what = match size == asked {
        true => cause.what,
        false => format!("tried at {size}: {}", cause.what),
    };
    Cause { what, ..cause }
}

/// The loop that multiplies did not run: a kernel with tensor-core instructions executed none of them.
pub fn no_products(all: &LaunchResults, launch: &PlannedLaunch, wrong: &Launched) -> Option<Cause> {
    let counted = all.trial(launch).instructions().iter();
    let products = counted
        .zip(&wrong.run.counters)
        .filter(|(of, _)| matches!(of.kind, InstructionKind::Mma(_) | InstructionKind::Wgmma(_)));
    let mut executions = products.map(|(_, counters)| counters.executions).peekable();
    executions.peek()?;
    (executions.sum::<u64>() == 0).then(|| Cause {
        what: "no tensor-core instruction is executed in this launch".into(),
        hint: "how many steps along K does this size have, how many iterations does the loop around the instruction make, and which \
                   condition may skip it?"
            .into(),
        kind: CauseKind::Other("missing-step"),
    })
}

/// Smaller elements of C are rare where no number is extreme.
const SMALL: f64 = 1.0 / 1024.0;

/// Among extreme numbers, only elements of C are wrong that are extreme themselves.
fn extreme(launch: &PlannedLaunch, wrong: &Launched) -> Option<Cause> {
    let kind = |want: f64| match want.abs() {
        _ if want.is_nan() => Some("NaNs"),
        size if size >= half::f16::MAX.to_f64() => Some("infinities"),
        size => (size < SMALL).then_some("small numbers"),
    };
    let found = wrong.verification.first_wrong.iter();
    let kinds = found.map(|one| kind(one.want));
    let kinds: Vec<_> = kinds
        .collect::<Option<BTreeSet<_>>>()?
        .into_iter()
        .collect();
    (matches!(launch.on.values, Values::Extreme { .. }) && !kinds.is_empty()).then(|| Cause {
        what: format!("only elements that should be {} are wrong, as far as they were examined", kinds.join(" or ")),
        hint: "f16 has NaNs, infinities and subnormal numbers, and a sum that is too large for it is infinite: which line changes one of these?".into(),
        kind: CauseKind::Other("extreme-numbers"),
    })
}

/// The largest error that is taken for rounding, relative to the tolerance (chosen, not measured).
const ROUNDING: f64 = 32.0;

/// All elements are nearly right, and so are single products. A small product that is missing leaves them nearly right,
/// too, so any other explanation comes first.
fn rounded(wrong: &Launched) -> Option<Cause> {
    let found = &wrong.verification;
    let is_number = found.first_wrong.iter().all(|one| one.got.is_finite());
    (is_number && found.max_error <= ROUNDING * found.bound).then(|| Cause {
        what: format!(
            "all wrong elements are nearly right: the largest error is {:.4}, where {:.4} is allowed",
            found.max_error, found.bound
        ),
        hint: "in which format are the factors and the sums, and where is each of them rounded? f16 has 11 significant bits, f32 has 24".into(),
        kind: CauseKind::Other("rounded-sums"),
    })
}

/// The most products of a launch of which all wrong elements are examined.
const FEW_PRODUCTS: u64 = 1 << 22;

/// A short description of which elements are wrong, if there is one.
pub fn pattern(wrong: &Launched, task: AssignmentKind) -> Option<String> {
    let Size { m, n, k } = wrong.problem.size;
    let work = u64::from(m) * u64::from(n) * u64::from(k);
    (work <= FEW_PRODUCTS)
        .then(|| misplaced::pattern(wrong, task))
        .flatten()
}

/// C holds integers: the whole part of each sum, as bits or as a number. In a transposition: only some bits of each word.
fn as_integers(wrong: &Launched, task: AssignmentKind) -> Option<Cause> {
    let found = &wrong.verification.first_wrong;
    let all = |is_it: &dyn Fn(f64, f64) -> bool| found.iter().all(|one| is_it(one.got, one.want));
    let not_zero = found.iter().filter(|one| one.got != 0.0).count() > 1;
    if task == AssignmentKind::Transpose {
        let low = |got: f64, want: f64| {
            let [got, want] = [got, want].map(|value| half::f16::from_f64(value).to_bits());
            got == want & 0xff
        };
        return (not_zero && all(&low)).then(|| Cause {
            what: "of each wrong element, the lower 8 bits are right, and the upper 8 bits are 0"
                .into(),
            hint: "an element has 16 bits: which variable or array on the way is narrower?".into(),
            kind: CauseKind::Other("words-not-numbers"),
        });
    }
    let bits = |got: f64, want: f64| {
        f64::from(half::f16::from_f64(got).to_bits()) == want.trunc().max(0.0)
    };
    let whole = |got: f64, _: f64| got.fract() == 0.0 && got.abs() < 512.0;
    let (what, hint) = if not_zero && all(&bits) {
        (
            "what should be the value of each wrong element is in its bits: they are its whole part as an integer",
            "to C++ an `unsigned short` is an integer: what converts a sum to the bits of an f16?",
        )
    } else if not_zero && found.len() > 3 && all(&whole) {
        (
            "all wrong elements that were examined are whole numbers",
            "which variable or conversion on the way is an integer, so that the fraction is lost?",
        )
    } else {
        return None;
    };
    Some(Cause {
        what: what.into(),
        hint: hint.into(),
        kind: CauseKind::Other("bits-as-an-integer"),
    })
}

/// Detects that a transposition gets only certain kinds of words wrong.
fn words(wrong: &Launched) -> Option<Cause> {
    let Size { m, k, .. } = wrong.problem.padded;
    let (m, k) = (m as usize, k as usize);
    let kind = |value: half::f16| match value.classify() {
        FpCategory::Nan => Some("NaNs"),
        FpCategory::Infinite => Some("infinities"),
        FpCategory::Subnormal => Some("subnormals"),
        FpCategory::Zero => Some("zeros"),
        FpCategory::Normal => None,
    };
    let all = wrong.c.iter().enumerate().filter_map(|(at, got)| {
        let want = wrong.problem.a.get(at % m * k + at / m)?;
        (got.to_bits() != want.to_bits()).then(|| kind(*want))
    });
    let kinds = all.collect::<Option<BTreeSet<_>>>()?;
    let kinds: Vec<_> = kinds.into_iter().collect();
    (!kinds.is_empty()).then(|| Cause {
        what: format!("only {} are wrong", kinds.join(" and ")),
        hint: "the elements are 16-bit words, not numbers: where does the kernel do arithmetic on one?".into(),
        kind: CauseKind::Other("words-not-numbers"),
    })
}
