//! `cargo ladder sass 4 5`: the machine instructions of two rungs, side by side.
use std::collections::{BTreeMap, BTreeSet};

use harness::table::{head, markdown_table};

/// Integer arithmetic, by the part of the name before the first dot: addresses, counters, comparisons.
const INTEGER: [&str; 24] = [
    "I2F", "F2I", "IABS", "IADD3", "IMAD", "IMNMX", "ISETP", "LEA", "LOP3", "MUFU", "PLOP3",
    "PRMT", "SEL", "SHF", "UIADD3", "UIMAD", "UISETP", "ULEA", "ULOP3", "USEL", "USHF", "VIADD",
    "VIMNMX", "UPRMT",
];
/// Moves between registers and constants, and control flow.
const MOVES_AND_CONTROL: [&str; 19] = [
    "BMOV", "BRA", "BRX", "BSSY", "BSYNC", "CALL", "CS2R", "EXIT", "LDC", "MOV", "NOP", "R2UR",
    "RET", "S2R", "S2UR", "ULDC", "UMOV", "WARPSYNC", "YIELD",
];

/// The purpose of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Use {
    /// Memory, tensor cores, barriers, conversions: everything else.
    Data,
    Integer,
    MovesAndControl,
}

impl Use {
    fn of(name: &str) -> Self {
        let family = name.split('.').next().unwrap_or(name);
        if INTEGER.contains(&family) {
            Use::Integer
        } else if MOVES_AND_CONTROL.contains(&family) {
            Use::MovesAndControl
        } else {
            Use::Data
        }
    }
}

/// Number of instructions, by name.
type Counts = BTreeMap<String, usize>;

/// How often each instruction occurs in a kernel, and in its longest loop.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct InstructionCounts {
    all: Counts,
    in_loop: Counts,
}

impl InstructionCounts {
    /// Parses the output of `nvdisasm --print-code`.
    pub fn of(listing: &str) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        let mut longest = 0..0;
        for line in listing.lines() {
            if let Some(label) = line
                .strip_suffix(':')
                .filter(|label| label.starts_with(".L_"))
            {
                labels.insert(label, names.len());
            } else if let Some((name, operands)) = instruction(line) {
                names.push(name);
                // A backward branch closes a loop.
                let target = operands
                    .split(['`', '(', ')'])
                    .find_map(|word| labels.get(word));
                if let (true, Some(&start)) = (name.starts_with("BRA"), target)
                    && names.len() - start > longest.len()
                {
                    longest = start..names.len();
                }
            }
        }
        let count = |names: &[&str]| {
            names.iter().fold(BTreeMap::new(), |mut counts, name| {
                *counts.entry((*name).to_owned()).or_insert(0) += 1;
                counts
            })
        };
        Self {
            all: count(&names),
            in_loop: count(&names[longest]),
        }
    }

    fn sum(counts: &Counts, used: Use) -> usize {
        let of_use = counts.iter().filter(|(name, _)| Use::of(name) == used);
        of_use.map(|(_, count)| count).sum()
    }
}

/// The name and operands of an instruction in a line such as `/*0230*/  @P0 BRA `(.L_x_0) ;`.
fn instruction(line: &str) -> Option<(&str, &str)> {
    let (_, code) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    let code = code.trim().strip_suffix(';')?.trim_end();
    let code = match code.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ')?.1.trim_start(),
        None => code,
    };
    Some(code.split_once(' ').unwrap_or((code, "")))
}

/// Two kernels side by side: each instruction that touches data, and the others in two sums.
pub fn table(names: [&str; 2], kernels: [&InstructionCounts; 2]) -> String {
    let in_loop = names.map(|name| format!("loop of {name}"));
    let [first, second] = in_loop.each_ref();
    let mut rows = vec![head([
        "for",
        "instruction",
        names[0],
        names[1],
        first,
        second,
    ])];
    let counted = [
        &kernels[0].all,
        &kernels[1].all,
        &kernels[0].in_loop,
        &kernels[1].in_loop,
    ];
    let mut row = |what: &str, instruction: &str, of: &dyn Fn(&Counts) -> usize| {
        let mut row = head([what, instruction]);
        row.extend(counted.iter().map(|counts| of(counts).to_string()));
        rows.push(row);
    };
    let data = kernels.iter().flat_map(|kernel| kernel.all.keys());
    let data: BTreeSet<&String> = data.collect();
    for name in data.into_iter().filter(|name| Use::of(name) == Use::Data) {
        let times = |counts: &Counts| counts.get(name).copied().unwrap_or(0);
        row("data", name, &times);
    }
    let sum = |used| move |counts: &Counts| InstructionCounts::sum(counts, used);
    let (integer, others) = (sum(Use::Integer), sum(Use::MovesAndControl));
    row("addresses", "LOP3 and other integers", &integer);
    row("the rest", "moves, constants, branches", &others);
    markdown_table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "gemm:\n.text.gemm:\n\
        \t//## File \"/rungs/05_swizzle/kernel.cu\", line 60\n\
        \x20       /*0000*/                   LDC R1, c[0x0][0x28] ;\n\
        .L_x_1:\n\
        \x20       /*0010*/                   LDSM.16.M88.4 R4, [R5] ;\n\
        \x20       /*0020*/                   LOP3.LUT R4, R4, R5, RZ, 0x3c, !PT ;\n\
        \x20       /*0030*/              @!P0 BRA `(.L_x_1) ;\n\
        \x20       /*0040*/                   EXIT ;\n\
        .L_x_2:\n\
        \x20       /*0050*/                   BRA `(.L_x_2);\n\
        \x20       /*0060*/                   NOP;\n";

    #[test]
    fn instructions_are_counted_and_the_longest_loop_found() {
        let census = InstructionCounts::of(LISTING);
        assert_eq!(census.all.values().sum::<usize>(), 7, "{census:?}");
        let in_loop: Vec<_> = census.in_loop.keys().map(String::as_str).collect();
        assert_eq!(in_loop, ["BRA", "LDSM.16.M88.4", "LOP3.LUT"]);
        assert_eq!(
            InstructionCounts::of("no code"),
            InstructionCounts::default()
        );
    }

    #[test]
    fn data_instructions_have_rows_and_the_others_are_summed() {
        let (one, none) = (InstructionCounts::of(LISTING), InstructionCounts::default());
        insta::assert_snapshot!(table(["one", "none"], [&one, &none]));
    }
}
