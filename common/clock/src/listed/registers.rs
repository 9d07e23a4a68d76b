//! Estimates the registers that a thread needs, from the live ranges of the PTX's virtual registers.
use emulator::{Instruction, InstructionKind};
use rustc_hash::FxHashMap as HashMap;

use super::choose::{Chosen, names};

/// Registers that ptxas needs in addition: addresses, counters, the stack pointer.
const BESIDES: u32 = 8;
/// The maximum per thread.
const MOST: u32 = 255;

/// The largest number of 32-bit registers that are live at once, with the code in PTX order.
pub(super) fn needed(ptx: &str, instructions: &[Instruction], chosen: &[Chosen]) -> u32 {
    let mut lives: HashMap<&str, (usize, usize)> = HashMap::default();
    for (at, (one, chosen)) in instructions.iter().zip(chosen).enumerate() {
        let sums = match one.kind {
            InstructionKind::Wgmma(_) => one.text.as_str(),
            _ => "",
        };
        let own = chosen
            .writes
            .iter()
            .chain(&chosen.reads)
            .map(String::as_str);
        for name in own.chain(names(sums)) {
            if width(name) > 0 {
                lives.entry(name).or_insert((at, at)).1 = at;
            }
        }
    }
    // A value that is defined before a loop and used in it is live for the whole loop.
    let lines: HashMap<&str, u32> = (1..)
        .zip(ptx.lines())
        .filter_map(|(number, line)| Some((line.trim().strip_suffix(':')?, number)))
        .collect();
    for (at, one) in instructions.iter().enumerate() {
        if !matches!(one.kind, InstructionKind::Branch) {
            continue;
        }
        let label = one
            .text
            .trim_end_matches(';')
            .rsplit(' ')
            .next()
            .unwrap_or_default();
        let Some(&line) = lines.get(label) else {
            continue;
        };
        let Some(start) = instructions[..at]
            .iter()
            .position(|other| other.ptx_line >= line)
        else {
            continue;
        };
        for (first, last) in lives.values_mut() {
            if *first < start && *last >= start && *last < at {
                *last = at;
            }
        }
    }
    let mut changes = vec![0i64; instructions.len() + 1];
    for (name, (first, last)) in lives {
        changes[first] += i64::from(width(name));
        changes[last] -= i64::from(width(name));
    }
    let (mut live, mut most) = (0, 0);
    for change in changes {
        live += change;
        most = most.max(live);
    }
    let bound = bound(ptx).unwrap_or(MOST);
    (most as u32 + BESIDES).next_multiple_of(8).min(bound)
}

/// The limit that `__launch_bounds__` implies: 65,536 registers divided among the CTAs that must fit on an SM.
fn bound(ptx: &str) -> Option<u32> {
    let number = |name: &str| -> Option<u32> {
        let rest = ptx.split(name).nth(1)?;
        let sides = rest
            .lines()
            .next()?
            .split(',')
            .map(|side| side.trim().parse::<u32>().ok());
        sides
            .collect::<Option<Vec<u32>>>()
            .map(|sides| sides.iter().product())
    };
    let threads = number(".maxntid")?.max(1);
    let blocks = number(".minnctapersm").unwrap_or(1).max(1);
    Some((65_536 / (threads * blocks)).min(MOST) / 8 * 8)
}

/// How many 32-bit registers a virtual register takes, judged by the names that NVRTC and nvcc give; 0 for predicates.
fn width(name: &str) -> u32 {
    let Some(name) = name.strip_prefix('%') else {
        return 0;
    };
    match name.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "rd" | "fd" => 2,
        "r" | "f" | "rs" | "h" | "hh" => 1,
        _ => 0,
    }
}
