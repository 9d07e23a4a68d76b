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

#[cfg(test)]
mod tests {
    use emulator::{Context, Options};

    use super::*;

    /// A comes from ordinary loads, by way of a `mov`; B from `ldmatrix`. The addresses of both reach nothing.
    #[test]
    fn each_load_reaches_its_operand() {
        let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() {\n\
            .reg .b32 %r<16>;\n.reg .f32 %f<4>;\n.shared .align 16 .b8 tile[1024];\n\
            mov.u32 %r8, tile;\n\
            ld.shared.u32 %r9, [%r8];\n\
            mov.b32 %r1, %r9;\n\
            ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r5, %r6}, [%r8];\n\
            mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r1, %r1, %r1, %r1}, {%r5, %r6}, \
            {%f0, %f1, %f2, %f3};\nret;\n}\n";
        let module = Context::new(Options::default()).load_module(ptx);
        let function = module.and_then(|module| module.function("k"));
        let function = function.expect("PTX");
        let opcodes = function
            .instructions()
            .iter()
            .zip(operands(function.instructions()));
        let reached: Vec<_> = opcodes.map(|(of, by)| (&*of.opcode, by)).collect();
        assert_eq!(
            reached[..4],
            [
                ("mov.u32", 0),
                ("ld.shared.u32", 1),
                ("mov.b32", 1),
                ("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16", 2)
            ]
        );
    }
}
