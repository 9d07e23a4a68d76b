//! What the `layout` crate calculates from the text of a formula, without executing anything.
use anyhow::{Context, Result, ensure};
use layout::banks::{BankTable, LANES, Phase};
use layout::expression::Expression;
use layout::sectors::sectors;

use super::access::{Count, Op, WarpAccess};
use super::formula::Formula;

/// The memory of every question is smaller than this.
pub const LARGEST: u32 = 1 << 24;

/// Byte offset of each lane; fewer than 32 if the other lanes take no part.
pub fn offsets(access: &WarpAccess) -> Result<Vec<u32>> {
    let [row, col] = match &access.place {
        Some([row, col]) => [Some(parsed(row)?), Some(parsed(col)?)],
        None => [None, None],
    };
    let address = parsed(&access.address)?;
    let number = |number: i64| {
        let found = u32::try_from(number)
            .ok()
            .filter(|number| *number < LARGEST);
        found.with_context(|| format!("{number} is not the address of a question"))
    };
    let of = |lane| {
        let at = |formula: &Option<Expression>, or| match formula {
            Some(formula) => number(formula.value(lane, 0)?),
            None => Ok(or),
        };
        let offset = number(address.value(at(&row, lane)?, at(&col, 0)?)?)?;
        ensure!(
            offset.is_multiple_of(access.bytes),
            "lane {lane}'s address, {offset}, is not a multiple of {}",
            access.bytes
        );
        Ok(offset)
    };
    (0..access.lanes.min(LANES)).map(of).collect()
}

/// The layout crate's formulas have the variables `row` and `col`; `lane` is passed as the row.
fn parsed(formula: &Formula) -> Result<Expression> {
    let text = formula.to_string().replace("lane", "row");
    Ok(Expression::parse(&text)?)
}

/// The counts.
pub fn counts(op: Op, bytes: u32, offsets: &[u32]) -> Vec<(Count, u64)> {
    let of = |count| match (count, banks(op, bytes, offsets)) {
        (Count::Wavefronts, Some(table)) => table.wavefronts(),
        (Count::Conflicts, Some(table)) => table.conflicts(),
        _ => sectors(bytes, |lane| offsets.get(lane as usize).copied()),
    };
    let counts = op.counts().iter();
    counts
        .map(|count| (*count, u64::from(of(*count))))
        .collect()
}

/// Two lanes that conflict, without a number of wavefronts; none for global memory.
pub fn meeting(op: Op, bytes: u32, offsets: &[u32]) -> Option<String> {
    let table = banks(op, bytes, offsets)?;
    let phases = table.phases();
    let mut text = match phases.iter().find_map(Phase::first_conflict) {
        Some((one, other, bank)) => {
            let rows = if op == Op::Matrix { "the rows of " } else { "" };
            format!(
                "{rows}lanes {one} and {other} are served together and access different words of bank {bank}"
            )
        }
        None => "no two that are served together want different words of one bank".into(),
    };
    text += match (op, phases.len(), table.ideal() as usize) {
        (Op::Matrix, _, 2..) => "; the matrices are served one after the other",
        (Op::Matrix, ..) | (_, 1, _) => "",
        (_, all, some) if some < all => {
            "; groups of lanes are served one after the other, and one in which no lane takes part takes no wavefront"
        }
        _ => "; groups of lanes are served one after the other",
    };
    Some(text)
}

fn banks(op: Op, bytes: u32, offsets: &[u32]) -> Option<BankTable> {
    let offset = |lane: u32| offsets.get(lane as usize).copied();
    Some(BankTable::new(op.shared()?, bytes, offset))
}

#[cfg(test)]
mod tests {
    use super::super::formula::{COL, LANE, ROW};
    use super::*;

    #[test]
    fn by_hand() {
        let mut access = WarpAccess {
            op: Op::Matrix,
            bytes: 16,
            lanes: 8,
            place: Some([LANE % 8, LANE / 8]),
            address: ROW * 64 + (COL ^ (ROW & 3)) * 16,
        };
        let rows = offsets(&access).expect("a formula");
        assert_eq!(rows, [0, 80, 160, 240, 256, 336, 416, 496]);
        let found = counts(access.op, access.bytes, &rows);
        assert_eq!(found, [(Count::Wavefronts, 2), (Count::Conflicts, 1)]);
        let meet = meeting(access.op, access.bytes, &rows).expect("shared");
        assert!(meet.starts_with("the rows of lanes 0 and 4 "), "{meet}");
        access.address = ROW * 8;
        assert!(offsets(&access).is_err(), "misaligned");
    }
}
