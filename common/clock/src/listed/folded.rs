//! Integer arithmetic that ptxas saves: the upper halves of 64-bit values that nothing reads, and instructions that become part of the
//! one that reads their result (`LEA` shifts and adds, `IADD3` and `LOP3` have three operands).
use emulator::{Instruction, InstructionKind, Number};
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::choose::{names, split};

/// What ptxas saves in a kernel.
#[derive(Default)]
pub(super) struct Folded<'a> {
    /// 64-bit registers of which only the lower half is read.
    pub narrow: HashSet<&'a str>,
    /// Instructions that become part of another one.
    pub parts: HashSet<usize>,
}

/// An instruction of integer arithmetic.
struct Integer<'a> {
    root: &'a str,
    written: &'a str,
    reads: Vec<&'a str>,
}

fn integer(one: &Instruction) -> Option<Integer<'_>> {
    let is_integer = matches!(
        one.kind,
        InstructionKind::Arithmetic {
            number: Number::Integer,
            ..
        }
    );
    if !is_integer || one.guard.is_some() {
        return None;
    }
    let (head, rest) = split(one);
    Some(Integer {
        root: one.opcode.split('.').next()?,
        written: names(head).next()?,
        reads: names(rest).collect(),
    })
}

/// Whether the lower half of the result needs only the lower halves of the operands.
fn keeps_halves_apart(root: &str) -> bool {
    matches!(
        root,
        "add" | "sub" | "and" | "or" | "xor" | "shl" | "mul" | "mad" | "mov"
    )
}

/// Whether one instruction computes both.
fn is_one(inner: &str, outer: &str) -> bool {
    let is_logic = |root| matches!(root, "and" | "or" | "xor" | "not");
    let is_sum = |root| matches!(root, "add" | "sub");
    is_logic(inner) && is_logic(outer) || (inner == "shl" || is_sum(inner)) && is_sum(outer)
}

impl<'a> Folded<'a> {
    pub fn of(instructions: &'a [Instruction]) -> Self {
        let all: Vec<Option<Integer<'a>>> = instructions.iter().map(integer).collect();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::default();
        let mut writers: HashMap<&str, Vec<usize>> = HashMap::default();
        for (at, one) in instructions.iter().enumerate() {
            let (head, rest) = split(one);
            let guard = one
                .text
                .strip_prefix('@')
                .and_then(|text| text.split(' ').next());
            for name in names(rest).chain(guard.into_iter().flat_map(names)) {
                readers.entry(name).or_default().push(at);
            }
            for name in names(head) {
                writers.entry(name).or_default().push(at);
            }
        }
        let mut folded = Self::default();
        // All, until something reads an upper half.
        let wide = all.iter().flatten().map(|one| one.written);
        folded
            .narrow
            .extend(wide.filter(|name| name.starts_with("%rd")));
        loop {
            let reads_lower = |&at: &usize| {
                let truncates = instructions[at].opcode.starts_with("cvt.u32.u64");
                truncates
                    || all[at].as_ref().is_some_and(|one| {
                        keeps_halves_apart(one.root)
                            && !instructions[at].opcode.contains(".hi")
                            && folded.narrow.contains(one.written)
                    })
            };
            let is_narrow = |name: &&str| {
                readers
                    .get(*name)
                    .is_some_and(|all| all.iter().all(reads_lower))
            };
            let kept: HashSet<&str> = folded
                .narrow
                .iter()
                .copied()
                .filter(|name| is_narrow(name))
                .collect();
            if kept.len() == folded.narrow.len() {
                break;
            }
            folded.narrow = kept;
        }
        let mut grown: HashSet<usize> = HashSet::default();
        for (at, outer) in all.iter().enumerate() {
            let Some(outer) = outer else { continue };
            let inner = outer.reads.iter().find_map(|name| {
                let [writer] = writers.get(name)?.as_slice() else {
                    return None;
                };
                let is_only = readers.get(name).is_some_and(|all| all.len() == 1);
                let inner = all[*writer].as_ref()?;
                // `LEA` shifts by a constant.
                let shifts_by_register = inner.root == "shl" && inner.reads.len() > 1;
                let fits = is_only
                    && is_one(inner.root, outer.root)
                    && !shifts_by_register
                    && !grown.contains(writer);
                fits.then_some(*writer)
            });
            if let Some(inner) = inner {
                folded.parts.insert(inner);
                grown.insert(at);
            }
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use emulator::{Context, Options};

    use super::*;

    fn of(body: &str) -> (Vec<usize>, Vec<String>) {
        let ptx = format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.entry k()\n{{\n.reg .b32 %r<9>; .reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
        );
        let mut context = Context::new(Options::default());
        let module = context.load_module(&ptx).expect("a module");
        let function = module.function("k").expect("a kernel");
        let folded = Folded::of(function.instructions());
        let mut parts: Vec<usize> = folded.parts.into_iter().collect();
        parts.sort_unstable();
        let mut narrow: Vec<String> = folded.narrow.into_iter().map(str::to_owned).collect();
        narrow.sort();
        (parts, narrow)
    }

    #[test]
    fn a_shift_is_part_of_the_sum_that_alone_reads_it() {
        let lea = "shl.b32 %r2, %r1, 4;\nadd.s32 %r3, %r2, %r1;\n";
        assert_eq!(of(lea).0, [0]);
        let twice = format!("{lea}add.s32 %r4, %r2, %r3;\n");
        assert_eq!(of(&twice).0, [1], "the first sum is part of the second");
        let logic = "and.b32 %r2, %r1, 4;\nor.b32 %r3, %r2, %r1;\nxor.b32 %r4, %r3, %r1;";
        assert_eq!(of(logic).0, [0], "no more than three operands");
        assert_eq!(of("shl.b32 %r2, %r1, 4;\nxor.b32 %r3, %r2, %r1;").0, [0; 0]);
    }

    #[test]
    fn what_becomes_32_bits_has_no_upper_half() {
        let sum = "add.s64 %rd2, %rd1, 16;\nshl.b64 %rd3, %rd2, 1;\ncvt.u32.u64 %r1, %rd3;\n";
        assert_eq!(of(sum).1, ["%rd2", "%rd3"]);
        let shifted = "add.s64 %rd2, %rd1, 16;\nshr.u64 %rd3, %rd2, 1;\ncvt.u32.u64 %r1, %rd3;\n";
        assert_eq!(of(shifted).1, ["%rd3"]);
        let loaded = format!("{sum}ld.global.u32 %r2, [%rd2];\n");
        assert_eq!(of(&loaded).1, ["%rd3"]);
    }
}
