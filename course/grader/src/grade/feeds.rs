//! Which operand of a matrix product the result of an instruction reaches, by the registers in the PTX.
use std::collections::HashMap;

use emulator::Instruction;

/// The first operand of a product is 1, the second 2; both have both bits.
pub type Operands = u8;

/// For each instruction, the operands that its result reaches through registers. A load ends the search: what its address depends on
/// reaches no operand.
pub fn operands(instructions: &[Instruction]) -> Vec<Operands> {
    let parsed: Vec<Parsed<'_>> = instructions.iter().map(Parsed::of).collect();
    let mut reached = HashMap::<&str, Operands>::new();
    // Backwards, and again as long as a loop brings more.
    loop {
        let before = reached.values().map(|by| u64::from(*by)).sum::<u64>();
        for one in parsed.iter().rev() {
            let all = match one {
                Parsed::Product { a, b } => vec![(a, 1), (b, 2)],
                Parsed::Other { from, .. } => vec![(from, one.reaches(&reached))],
            };
            for (registers, by) in all {
                for register in registers {
                    *reached.entry(register).or_default() |= by;
                }
            }
        }
        if reached.values().map(|by| u64::from(*by)).sum::<u64>() == before {
            break;
        }
    }
    parsed.iter().map(|one| one.reaches(&reached)).collect()
}

/// The registers of an instruction.
enum Parsed<'a> {
    Product {
        a: Vec<&'a str>,
        b: Vec<&'a str>,
    },
    Other {
        to: Vec<&'a str>,
        from: Vec<&'a str>,
    },
}

impl<'a> Parsed<'a> {
    fn of(instruction: &'a Instruction) -> Self {
        let text = instruction.text.as_str();
        if instruction.opcode.contains("mma.") && text.contains('{') {
            let mut groups = text.split('{').skip(1).map(|group| {
                let inside = group.split('}').next().unwrap_or_default();
                registers(inside)
            });
            let (a, b) = (groups.nth(1), groups.next());
            return Self::Product {
                a: a.unwrap_or_default(),
                b: b.unwrap_or_default(),
            };
        }
        // After the guard and the opcode.
        let rest = text.split_once(&*instruction.opcode);
        let rest = rest.map_or(text, |(_, rest)| rest).trim_start();
        let (to, from) = match rest.strip_prefix('{') {
            Some(rest) => rest.split_once('}').unwrap_or((rest, "")),
            None => rest.split_once(',').unwrap_or((rest, "")),
        };
        let is_load = instruction.kind.is_load();
        Self::Other {
            to: registers(to),
            from: if is_load { Vec::new() } else { registers(from) },
        }
    }

    fn reaches(&self, reached: &HashMap<&str, Operands>) -> Operands {
        match self {
            Self::Product { .. } => 0,
            Self::Other { to, .. } => to
                .iter()
                .filter_map(|register| reached.get(register))
                .fold(0, |all, one| all | one),
        }
    }
}

fn registers(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !(c.is_alphanumeric() || c == '%' || c == '_' || c == '$'));
    words.filter(|word| word.starts_with('%')).collect()
}
