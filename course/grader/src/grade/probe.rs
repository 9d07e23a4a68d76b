//! Finds out which elements a kernel multiplies with each other if tensor-core operands do not tell: with the identity
//! matrix for A or B, C should be the other matrix, and shows which element ended up where.
use std::collections::HashSet;

use harness::{Launched, Size, Trial, TrialLaunch, Values};

use super::diagnosis::{Cause, CauseKind};
use super::labels::{Element, Labels};
use super::misplaced::ENOUGH;

/// The hint if a factor belongs to another k.
const ANOTHER_K: &str = "which k do the two addresses name at this moment, and do both advance to the next one together?";

/// The hint if it belongs to the neighboring one.
const EXCHANGED: &str = "which half of a 32-bit word holds the element that comes first in memory, and do the code that stores the two and the code that loads them agree? If a shuffle brings the element: from which lane?";

/// The hint if the neighboring one is a factor where it belongs, too.
const TWICE: &str = "are these two stored to one place, so that only one of them stays, or is one of them read for both?";

/// What is added about factors that belong to another k, the hint, and what kind of mistake it is.
fn another_k(all: &[Found]) -> (&'static str, &'static str, CauseKind) {
    let is_neighbor = |found: &Found| match found.is {
        What::Element(Element::A(_, k)) => k == found.column ^ 1,
        What::Element(Element::B(k, _)) => k == found.row ^ 1,
        _ => false,
    };
    if !all.iter().all(is_neighbor) {
        return ("", ANOTHER_K, CauseKind::Factors);
    }
    let wrong: HashSet<_> = all.iter().map(|one| (one.row, one.column)).collect();
    let is_right_there = |found: &&Found| match found.is {
        What::Element(Element::A(row, column) | Element::B(row, column)) => {
            !wrong.contains(&(row, column))
        }
        _ => false,
    };
    match most(all, is_right_there).is_some() {
        true => (
            ", and where it belongs it is the factor, too",
            TWICE,
            CauseKind::Other("two-in-one-place"),
        ),
        false => (
            ": neighbors along k have changed places",
            EXCHANGED,
            CauseKind::Factors,
        ),
    }
}

/// An element of C after the launch.
struct Found {
    row: u32,
    column: u32,
    is: What,
}

enum What {
    Nothing,
    Element(Element),
    /// The bits of the right element, as an integer; its whole part; its value, several times.
    Bits(u16),
    WholePart(f32),
    Times(f32),
    Infinite,
    /// A sum, or a number that is in neither matrix.
    Another,
}

/// Launches the kernel with the identity matrix as A, then as B.
pub fn of(trial: &Trial, size: Size, on: &TrialLaunch) -> Option<Cause> {
    let launch = |values| {
        let on = TrialLaunch {
            size,
            values,
            ..*on
        };
        trial.launch(&on).ok()
    };
    let (a, b) = (launch(Values::IdentityB)?, launch(Values::IdentityA)?);
    let of_a = wrong(&a, &a.problem.a, a.problem.padded.k);
    let of_b = wrong(&b, &b.problem.b, b.problem.padded.n);
    // If the row of A or the column of B is wrong, that says more than what it is multiplied with. A sum may equal an
    // element by chance.
    let other_row = |found: &&Found| match found.is {
        What::Element(Element::A(row, k)) => row != found.row && k == found.column,
        _ => false,
    };
    if let Some(found) = most(&of_a, other_row)
        && let What::Element(Element::A(row, _)) = found.is
    {
        return Some(cause(
            found,
            &format!(
                "is computed from row {row} of A, and not from row {}",
                found.row
            ),
            "which row does the address of A name there, and which does C's? And is it the sum of this row that is stored?",
        ));
    }
    let other_column = |found: &&Found| match found.is {
        What::Element(Element::B(k, column)) => column != found.column && k == found.row,
        _ => false,
    };
    if let Some(found) = most(&of_b, other_column)
        && let What::Element(Element::B(_, column)) = found.is
    {
        return Some(cause(
            found,
            &format!(
                "is computed from column {column} of B, and not from column {}",
                found.column
            ),
            "which column does the address of B name there, and which does C's? And is it the sum of this column that is stored?",
        ));
    }
    if let Some(found) = as_integers(&of_a, 'A').or_else(|| as_integers(&of_b, 'B')) {
        return Some(found);
    }
    if let Some(found) = elsewhere(&of_a, &of_b) {
        return Some(found);
    }
    // If B is the identity, C[i][j] is the element that is multiplied with B[j][j].
    let is_another_k = |found: &&Found| match found.is {
        What::Element(Element::A(row, _)) => row == found.row,
        _ => false,
    };
    let is_nothing = |found: &&Found| matches!(found.is, What::Nothing | What::WholePart(0.0));
    let of_another_k = most(&of_a, is_another_k);
    // If A is, it is the element that is multiplied with A[i][i].
    let is_another_k_of_b = |found: &&Found| match found.is {
        What::Element(Element::B(_, column)) => column == found.column,
        _ => false,
    };
    if of_another_k.is_none()
        && let Some(found) = most(&of_b, is_another_k_of_b)
        && let What::Element(Element::B(k, column)) = found.is
    {
        let row = found.row;
        let (more, hint, kind) = another_k(&of_b);
        let cause = cause(
            found,
            &format!(
                "has the product of A[{row}][{row}] and B[{k}][{column}], where B[{row}][{column}] should be the factor{more}"
            ),
            hint,
        );
        return Some(Cause { kind, ..cause });
    }
    // Neither, and what A is multiplied with is 0: B's address is that of another row and another column, as after a step of the
    // wrong length.
    let is_elsewhere = |found: &&Found| matches!(found.is, What::Element(Element::B(..)));
    if of_another_k.is_none()
        && most(&of_a, is_nothing).is_some()
        && let Some(found) = most(&of_b, is_elsewhere)
        && let What::Element(Element::B(k, other)) = found.is
    {
        let (row, column) = (found.row, found.column);
        return Some(cause(
            found,
            &format!(
                "has the product of A[{row}][{row}] and B[{k}][{other}], where B[{row}][{column}] should be the factor"
            ),
            "is each operand where the product expects it, how many elements is it from one row of B to the next, and how far does the address go on with each k and each step?",
        ));
    }
    let found = of_another_k.or_else(|| most(&of_a, is_nothing));
    let Some(found) = found else {
        let found = of_a.iter().find(|found| !is_nothing(found));
        let found = found.or(of_a.first())?;
        let (row, column) = (found.row, found.column);
        return Some(cause(
            found,
            &format!(
                "has something other than the product of A[{row}][{column}] and B[{column}][{column}]: one factor is no element, or the sum of several"
            ),
            "which k do the two addresses name in each step, and do both advance to the next step together?",
        ));
    };
    let (row, column) = (found.row, found.column);
    let should = format!("A[{row}][{column}]");
    let with = format!("B[{column}][{column}]");
    let (more, hint, kind) = another_k(&of_a);
    Some(match found.is {
        What::Element(Element::A(_, k)) => Cause {
            kind,
            ..cause(
                found,
                &format!(
                    "has the product of A[{row}][{k}] and {with}, where {should} should be the factor{more}"
                ),
                hint,
            )
        },
        _ => cause(
            found,
            &format!("lacks the product of {should} and {with}"),
            "does every loop over k cover all of it, does each operand hold the element that belongs there, is every product added, and is it the sum that is stored?",
        ),
    })
}

/// C has the right elements in other places: both times the same ones, in another row and another column.
fn elsewhere(of_a: &[Found], of_b: &[Found]) -> Option<Cause> {
    let place = |found: &Found| match found.is {
        What::Element(Element::A(row, column) | Element::B(row, column)) => Some((row, column)),
        _ => None,
    };
    let places = of_b
        .iter()
        .map(|found| (found.row, found.column, place(found)));
    let places: HashSet<_> = places.collect();
    let first_of_b: HashSet<_> = of_b.iter().map(|found| (found.row, found.column)).collect();
    let is_moved = |found: &&Found| {
        place(found).is_some_and(|(row, column)| row != found.row && column != found.column)
    };
    // Both matrices have an element in this place.
    let both: Vec<_> = (of_a.iter())
        .filter(|found| is_moved(found) && first_of_b.contains(&(found.row, found.column)))
        .collect();
    let agree = |found: &&&Found| places.contains(&(found.row, found.column, place(found)));
    let count = both.iter().filter(agree).count();
    let found = *both.iter().find(agree)?;
    let (row, column) = place(found)?;
    (count >= ENOUGH && 10 * count >= 9 * both.len() && 2 * count > of_a.len()).then(|| Cause {
        what: format!(
            "C[{}][{}] holds what belongs to C[{row}][{column}], and most other wrong elements belong to another row and another column, too",
            found.row, found.column
        ),
        hint: "of which row and which column of C is the sum in each register of a lane, and where is it stored?".into(),
        kind: CauseKind::Other("exchanged-indices"),
    })
}

/// Whether the right elements of this matrix are multiplied, but not by their values.
fn as_integers(all: &[Found], name: char) -> Option<Cause> {
    let is = |is_it: fn(&What) -> bool| most(all, |found| is_it(&found.is));
    let cause = |found: &Found, what: String, hint: &str| Cause {
        what: format!("C[{}][{}] {what}", found.row, found.column),
        hint: hint.into(),
        kind: CauseKind::Other("bits-as-an-integer"),
    };
    const CONVERTED: &str = "to C++ an `unsigned short` is an integer: is every element of A and of B converted from f16 to float before it is \
                             multiplied, and every sum to f16 before it is stored?";
    let element = |found: &Found| format!("{name}[{}][{}]", found.row, found.column);
    if let Some(found) = is(|is| matches!(is, What::Bits(_)))
        && let What::Bits(bits) = found.is
    {
        let of = element(found);
        let what = format!(
            "is computed from {bits}, which are the bits of {of} as an integer, 0x{bits:04x}"
        );
        return Some(cause(found, what, CONVERTED));
    }
    let whole = |found: &&Found| matches!(found.is, What::WholePart(part) if part != 0.0);
    if all
        .iter()
        .all(|found| matches!(found.is, What::WholePart(_)))
        && let Some(found) = all.iter().find(whole)
    {
        let what = format!("is computed from {} without its fraction", element(found));
        let hint =
            "which variable or conversion on the way is an integer, so that the fraction is lost?";
        return Some(cause(found, what, hint));
    }
    if all.iter().all(|found| matches!(found.is, What::Infinite)) {
        let found = all.first()?;
        let what = "is infinite: its factors are larger than any element".to_owned();
        return Some(cause(found, what, CONVERTED));
    }
    let found = is(|is| matches!(is, What::Times(_) | What::Infinite))?;
    let found = match found.is {
        What::Times(_) => found,
        _ => all
            .iter()
            .find(|found| matches!(found.is, What::Times(_)))?,
    };
    let What::Times(times) = found.is else {
        return None;
    };
    Some(Cause {
        what: format!("C[{}][{}] has {times} times the product of {}", found.row, found.column, element(found)),
        hint: "is this product added more than once, or a sum to itself, such as `sum += fmaf(a, b, sum)`?".into(),
        kind: CauseKind::Other("missing-step"),
    })
}

fn is_whole_part(got: half::f16, want: half::f16) -> bool {
    want.to_f32().fract() != 0.0 && got.to_f32() == want.to_f32().trunc()
}

/// What a wrong number is of the element that should be there.
fn distorted(got: half::f16, want: half::f16) -> Option<What> {
    let (value, right) = (got.to_f32(), want.to_f32());
    let bits = want.to_bits();
    if value.is_infinite() {
        return Some(What::Infinite);
    }
    let signed = f32::from(bits.cast_signed());
    if is_rounded(value, f32::from(bits)) || is_rounded(value, signed) {
        return Some(What::Bits(bits));
    }
    // Any two numbers are some multiple of each other: few are a whole one, or a power of two.
    let times = value / right;
    let power = times > 0.0 && times.log2().round().exp2() == times;
    let is_few = times == times.round() && (2.0..=16.0).contains(&times);
    (times > 1.5 && (power || is_few)).then_some(What::Times(times))
}

/// The first of these, if most satisfy the predicate.
fn most(all: &[Found], is_it: impl Fn(&&Found) -> bool) -> Option<&Found> {
    let count = all.iter().filter(&is_it).count();
    let first = all.iter().find(is_it)?;
    (2 * count > all.len()).then_some(first)
}

fn cause(found: &Found, what: &str, hint: &str) -> Cause {
    Cause {
        what: format!("C[{}][{}] {what}", found.row, found.column),
        hint: hint.into(),
        kind: CauseKind::Factors,
    }
}

/// Whether a number is right but for rounding, to bf16 at worst. Factors are distinct and spread over many powers of two, so another
/// one is hardly ever as close.
fn is_rounded(got: f32, want: f32) -> bool {
    (got - want).abs() <= want.abs() / 256.0
}

/// The wrong elements of C, which should be this matrix padded with zeros.
fn wrong(launched: &Launched, matrix: &[half::f16], pitch: u32) -> Vec<Found> {
    let problem = &launched.problem;
    let labels = Labels::of(problem);
    let Size { m, n, .. } = problem.size;
    let (rows, columns) = (matrix.len() as u32 / pitch.max(1), pitch);
    let all = (0..m).flat_map(|row| (0..n).map(move |column| (row, column)));
    let found = all.filter_map(|(row, column)| {
        let got = launched.c.get((row * problem.padded.n + column) as usize)?;
        let want = match row < rows && column < columns {
            true => *matrix.get((row * pitch + column) as usize)?,
            false => half::f16::ZERO,
        };
        let is = match (got.to_f32() == 0.0, labels.get(got.to_bits())) {
            _ if is_rounded(got.to_f32(), want.to_f32()) => return None,
            (true, _) if want.to_f32().abs() < 1.0 && want != half::f16::ZERO => {
                What::WholePart(0.0)
            }
            (true, _) => What::Nothing,
            (false, _) if is_whole_part(*got, want) => What::WholePart(got.to_f32()),
            (false, Some(element)) => What::Element(element),
            (false, None) => distorted(*got, want).unwrap_or(What::Another),
        };
        Some(Found { row, column, is })
    });
    found.collect()
}
