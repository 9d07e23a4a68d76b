//! What the source calls an mbarrier: the variable and the line that initializes it.
use std::collections::BTreeMap;

use super::Mbarrier;
use crate::program::{Program, SourceLine};

/// Bytes of an mbarrier.
const BYTES: u32 = 8;

/// Names the mbarrier at an address of a block that has these: `full[2] (initialized at kernel.cu:41)`. In a struct, whose
/// members PTX does not have, it is one of those that a line initializes: `s + 0x10 (index 2 of the 3 initialized at …)`.
pub(in crate::exec) fn name(program: &Program, all: &BTreeMap<u32, Mbarrier>, at: u32) -> String {
    let (place, is_element) = place(program, all, at);
    let Some(line) = all.get(&at).and_then(|own| line(program, own)) else {
        return place;
    };
    let mut alike = all
        .iter()
        .filter(|(_, one)| self::line(program, one) == Some(line));
    let (count, index) = (
        alike.clone().count(),
        alike.position(|(other, _)| *other == at),
    );
    match index {
        Some(index) if count > 1 && !is_element => {
            format!("{place} (index {index} of the {count} initialized at {line})")
        }
        _ => format!("{place} (initialized at {line})"),
    }
}

fn line<'a>(program: &'a Program, barrier: &Mbarrier) -> Option<&'a SourceLine> {
    let op = program.ops.get(barrier.init)?;
    program.instructions[op.instruction as usize]
        .source
        .as_ref()
}

/// The variable at an address, and whether all of it consists of mbarriers, which then have an index.
fn place(program: &Program, all: &BTreeMap<u32, Mbarrier>, at: u32) -> (String, bool) {
    let Some((symbol, offset)) = program.shared_symbol(at.into()) else {
        return (format!("0x{at:x}"), false);
    };
    let name = &symbol.name;
    let bytes = symbol.bytes.unwrap_or(0);
    let inside = all.range(symbol.start..symbol.start.saturating_add(bytes));
    let is_element = inside.count() as u32 * BYTES == bytes && bytes > 0;
    let place = match (is_element, offset) {
        (true, _) if bytes > BYTES => format!("{name}[{}]", offset / u64::from(BYTES)),
        (_, 0) => name.clone(),
        _ => format!("{name} + 0x{offset:x}"),
    };
    (place, is_element)
}
