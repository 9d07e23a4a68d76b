//! Which registers of the PTX are live where, and how many a thread may have.
use emulator::Instruction;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use super::choose::Chosen;
use crate::occupancy::Sm;

/// Registers that ptxas needs in addition: addresses, counters, the stack pointer.
const BESIDES: u32 = 8;
/// The maximum per thread.
const MOST: u32 = 255;
/// The resources of an SM that a CTA takes, besides registers. They limit how many CTAs are resident, and so how many
/// registers a thread can have.
#[derive(Clone, Copy, Debug)]
pub struct CtaSize {
    /// Its threads.
    pub threads: u32,
    /// Its bytes of shared memory, static and dynamic. If this is less than the launch requests, the schedule may save
    /// registers for CTAs that do not fit on the SM.
    pub shared_bytes: u32,
}

/// Registers of the PTX, by number, as far as they take registers of the machine: not predicates, parameters and constants.
/// One that only renames another has that one's number.
#[derive(Clone)]
pub(super) struct Registers {
    /// Of each instruction those that it writes and reads.
    pub writes: Vec<Vec<usize>>,
    pub reads: Vec<Vec<usize>>,
    /// 32-bit registers that each takes.
    pub widths: Vec<u32>,
    /// Of each block those that are live at its start and at its end.
    pub live_in: Vec<HashSet<usize>>,
    pub live_out: Vec<HashSet<usize>>,
    /// The register count that the schedule aims at.
    aim: u32,
    bounds: Bounds,
    cta: CtaSize,
}

impl Registers {
    /// Of a kernel whose blocks are these ranges of instructions.
    pub fn new(
        ptx: &str,
        instructions: &[Instruction],
        chosen: &[Chosen],
        blocks: &[(usize, usize)],
        successors: &[Vec<usize>],
        cta: CtaSize,
    ) -> Self {
        let renamed = renamed(instructions, chosen);
        let mut numbers: HashMap<&str, usize> = HashMap::default();
        let mut widths = Vec::new();
        let mut all = Vec::with_capacity(chosen.len());
        for one in chosen {
            let sides = [&one.writes, &one.reads].map(|names| {
                let mut side: Vec<usize> = Vec::new();
                for name in names {
                    let root = root(&renamed, name);
                    side.extend(root.map(|root| {
                        *numbers.entry(root).or_insert_with(|| {
                            widths.push(width(root));
                            widths.len() - 1
                        })
                    }));
                }
                side.sort_unstable();
                side.dedup();
                side
            });
            all.push(sides);
        }
        let (writes, reads) = all
            .into_iter()
            .map(|[writes, reads]| (writes, reads))
            .unzip();
        let bounds = Bounds::of(header(ptx, instructions));
        let mut registers = Self {
            writes,
            reads,
            widths,
            live_in: vec![HashSet::default(); blocks.len()],
            live_out: vec![HashSet::default(); blocks.len()],
            aim: bounds.most,
            bounds,
            cta,
        };
        registers.flow(successors, blocks);
        registers
    }

    /// A copy for which the schedule moves an instruction up only if that needs no further register.
    pub fn as_few_as_possible(&self) -> Self {
        Self {
            aim: 0,
            ..self.clone()
        }
    }

    /// Aims at the most registers per thread that leave the occupancy as it is with `least` live registers. Does nothing if the
    /// kernel states its blocks per SM.
    pub fn keep_occupancy(&mut self, least: u32) {
        if !self.bounds.blocks_are_stated {
            let threads = self.cta.threads.clamp(1, 1024);
            let held = Sm::HOPPER.holds(threads, self.needed(least), self.cta.shared_bytes);
            let resident = threads.next_multiple_of(32) * held.blocks.max(1);
            self.aim = Sm::HOPPER.registers_of(resident).min(self.bounds.most);
        }
    }

    /// Registers live at once up to which instructions are taken early.
    pub fn room(&self) -> u32 {
        self.aim.saturating_sub(BESIDES)
    }

    /// Registers per thread if `live` are live at once.
    pub fn needed(&self, live: u32) -> u32 {
        (live + BESIDES).next_multiple_of(8).min(self.bounds.most)
    }

    /// How many 32-bit registers these take.
    pub fn width<'a>(&self, of: impl IntoIterator<Item = &'a usize>) -> u32 {
        of.into_iter().map(|&register| self.widths[register]).sum()
    }

    /// What is live at the start and at the end of each block.
    fn flow(&mut self, successors: &[Vec<usize>], blocks: &[(usize, usize)]) {
        // Backwards, so that most of it is known after two rounds.
        let mut changed = true;
        while changed {
            changed = false;
            for (block, &(from, to)) in blocks.iter().enumerate().rev() {
                let mut live = HashSet::default();
                for &next in &successors[block] {
                    live.extend(self.live_in[next].iter().copied());
                }
                self.live_out[block].clone_from(&live);
                for at in (from..to).rev() {
                    for register in &self.writes[at] {
                        live.remove(register);
                    }
                    live.extend(self.reads[at].iter().copied());
                }
                changed |= live.len() != self.live_in[block].len();
                self.live_in[block] = live;
            }
        }
    }
}

/// Of registers that are written once, and for which ptxas executes nothing: what they rename; nothing if they are a constant or a
/// parameter, which is an operand in the constant bank.
fn renamed<'a>(
    instructions: &[Instruction],
    chosen: &'a [Chosen],
) -> HashMap<&'a str, Option<&'a str>> {
    let mut written: HashMap<&str, u32> = HashMap::default();
    for name in chosen.iter().flat_map(|one| &one.writes) {
        *written.entry(name).or_default() += 1;
    }
    let mut renamed = HashMap::default();
    for (instruction, one) in instructions.iter().zip(chosen) {
        let mut reads = one.reads.iter().filter(|name| width(name) > 0);
        let source = (reads.next(), reads.next());
        if !one.machine.is_empty() || instruction.guard.is_some() || source.1.is_some() {
            continue;
        }
        for name in one.writes.iter().filter(|name| written[name.as_str()] == 1) {
            renamed.insert(name.as_str(), source.0.map(String::as_str));
        }
    }
    renamed
}

/// The register that a name stands for after renaming; none for constants and parameters.
fn root<'a>(renamed: &HashMap<&'a str, Option<&'a str>>, name: &'a str) -> Option<&'a str> {
    let mut name = name;
    // Bounds the search if renamings form a cycle.
    for _ in 0..64 {
        match renamed.get(name) {
            Some(of) => name = (*of)?,
            None => break,
        }
    }
    (width(name) > 0).then_some(name)
}

/// The text from the kernel's `.entry` to its first instruction.
fn header<'a>(ptx: &'a str, instructions: &[Instruction]) -> &'a str {
    let lines = instructions.first().map_or(0, |first| first.ptx_line);
    let before = ptx.split_inclusive('\n').take(lines as usize);
    let before = &ptx[..before.map(str::len).sum()];
    &before[before.rfind(".entry").unwrap_or(0)..]
}

/// What `__launch_bounds__` says.
#[derive(Clone, Copy)]
struct Bounds {
    /// Registers per thread, at most.
    most: u32,
    /// Whether it says how many blocks an SM is to hold.
    blocks_are_stated: bool,
}

impl Bounds {
    fn of(header: &str) -> Self {
        let number = |name: &str| -> Option<u32> {
            let rest = header.split(name).nth(1)?;
            let sides = rest
                .lines()
                .next()?
                .split(',')
                .map(|side| side.trim().parse::<u32>().ok());
            sides
                .collect::<Option<Vec<u32>>>()
                .map(|sides| sides.into_iter().fold(1, u32::saturating_mul))
        };
        let blocks = number(".minnctapersm");
        let threads = number(".maxntid").map(|threads| threads.max(1));
        let held = threads.map(|threads| threads.saturating_mul(blocks.unwrap_or(1).max(1)));
        Self {
            most: held.map_or(MOST, |threads| Sm::HOPPER.registers_of(threads)),
            blocks_are_stated: blocks.is_some(),
        }
    }
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
