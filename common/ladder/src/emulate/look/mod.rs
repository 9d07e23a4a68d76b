//! `emulate --show tiles --at 120` and `--show-registers --lane 5 --at 131`: shows a block's memory or registers at a
//! line.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `mod` | what is requested, and for which instructions? |
//! | `declaration` | which rows, columns and type does the source declare? |
//! | `table` | how is shared memory shown? |
//! | `registers` | how are operands shown? |
pub mod declaration;
mod registers;
mod table;

use std::ops::RangeInclusive;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use emulator::{Instruction, InstructionKind, Snapshot, SnapshotRequest};
use harness::labels::Labels;
use harness::{DISTINCT, Function, Nvrtc, Size, Source, Task, Trial, TrialLaunch, Values, lines};

use super::element::Element;
use super::launch::Launch;

/// What to show of a block.
#[derive(Clone, Debug, clap::Args)]
pub struct Look {
    /// Show this variable in shared memory, as it is when the last warp reaches the line of --at
    #[arg(long, value_name = "SYMBOL", requires = "at", conflicts_with_all = ["profile", "sanitize", "csv", "json", "time"])]
    pub show: Option<String>,
    /// Show the operands of one lane at the matrix instructions, loads and stores of the line of --at
    #[arg(long, requires = "at", conflicts_with_all = ["profile", "sanitize", "csv", "json", "time"])]
    pub show_registers: bool,
    /// A line of the source, or of the PTX if there is no source
    #[arg(long, value_name = "LINE")]
    pub at: Option<u32>,
    /// The execution of the line, counted per warp: 1 is the first. In an unrolled loop, each copy of the line's
    /// instructions counts as an execution. To count iterations, give the line of a wait or barrier that is not unrolled
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub execution: u64,
    /// The index of the block
    #[arg(long, value_name = "X,Y,Z", default_value = "0", value_parser = index)]
    pub block_index: [u32; 3],
    /// The warp for --show-registers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warp: u32,
    /// The lane for --show-registers
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..32))]
    pub lane: u32,
    /// Rows and columns of the variable, in elements [default: as declared, else rows of 128 bytes]
    #[arg(long, value_name = "ROWSxCOLUMNS", requires = "show", value_parser = table::shape)]
    pub shape: Option<(usize, usize)>,
    /// Bytes before the first element, for example for a second tile in the same array
    #[arg(long, value_name = "BYTES", requires = "show", default_value_t = 0)]
    pub offset: usize,
    /// The element type: f16, bf16, f32, … [default: as declared; unsigned short is f16, and with --size a struct or bytes, too. With --size, elements of A and B are shown by name unless --as is given]
    #[arg(long = "as", value_name = "TYPE", requires = "show", value_parser = element)]
    pub element: Option<Element>,
    /// The position in its row of 16-byte chunk `col` of row `row`, such as 'col ^ (row & 7)': elements are shown in
    /// logical order
    #[arg(
        long,
        value_name = "FORMULA",
        requires = "show",
        allow_hyphen_values = true
    )]
    pub swizzle: Option<String>,
    /// The file is a kernel like a rung's or an assignment's: launch it on matrices of this size, as the grader does, and show what --at says. To
    /// sanitize or profile such a kernel, give it to a rung's program: `cargo run -p rung05_swizzle -- sanitize --kernel FILE`
    #[arg(long, value_name = "N|MxNxK", requires = "at", conflicts_with_all = ["grid", "block", "arguments"])]
    pub size: Option<Size>,
}

/// `5`, `5,2`, `5,2,0`: omitted numbers are 0.
fn index(text: &str) -> Result<[u32; 3], &'static str> {
    const WRONG: &str = "expected one to three numbers, such as 5 or 5,2,0";
    let given: Result<Vec<u32>, _> = text.split(',').map(|one| one.trim().parse()).collect();
    let given = given.map_err(|_| WRONG)?;
    let mut index = [0; 3];
    let places = index.get_mut(..given.len()).ok_or(WRONG)?;
    places.copy_from_slice(&given);
    Ok(index)
}

fn element(name: &str) -> Result<Element, String> {
    let known = || {
        let names = Element::ALL.map(Element::name);
        format!("expected one of {}", names.join(", "))
    };
    Element::parse(name).ok_or_else(known)
}

impl Look {
    /// Whether anything is to be shown.
    pub fn is_asked_for(&self) -> bool {
        self.show.is_some() || self.show_registers
    }

    /// What the emulator has to keep.
    ///
    /// # Errors
    /// If the line has no instruction, or no such operand.
    pub fn request(
        &self,
        source: &Source,
        instructions: &[Instruction],
    ) -> Result<SnapshotRequest> {
        let line = self.at.context("--at names a line")?;
        let within = |lines: RangeInclusive<u32>| -> Vec<usize> {
            let is_there = |&index: &usize| {
                lines_of(source, &instructions[index]).any(|of| lines.contains(&of))
            };
            (0..instructions.len()).filter(is_there).collect()
        };
        let mut all = within(line..=line);
        // The compiler gives a statement of several lines, such as inline PTX, the number of its last one.
        if all.is_empty() {
            all = within(line..=end_of_statement(source, line));
        }
        if all.is_empty() {
            let mut near: Vec<u32> = instructions
                .iter()
                .flat_map(|one| lines_of(source, one))
                .collect();
            near.sort_unstable_by_key(|other| (other.abs_diff(line), *other));
            near.dedup();
            near.truncate(4);
            near.sort_unstable();
            let near: Vec<_> = near.iter().map(u32::to_string).collect();
            bail!(
                "line {line} has no instruction; lines near it that have: {}",
                near.join(", ")
            );
        }
        let moves = |&index: &usize| registers::has_operands(&instructions[index].kind);
        let operands_of: Vec<usize> = all.iter().copied().filter(moves).collect();
        ensure!(
            !self.show_registers || !operands_of.is_empty(),
            "line {line} has no load, store or matrix instruction: {}",
            opcodes(&all, instructions)
        );
        // For a line that moves data or waits, that moment is meant, not its first address computation.
        let waits = |&&index: &&usize| {
            let kind = &instructions[index].kind;
            kind.is_barrier()
                || matches!(kind, InstructionKind::MbarrierWait { .. })
                || moves(&index)
        };
        let meant = all.iter().find(waits).or(all.first()).copied();
        // An unrolled loop contains the line several times, and not every copy is executed at every size.
        let shared_at = meant.filter(|_| self.show.is_some()).map(|meant| {
            let is_copy =
                |&&index: &&usize| instructions[index].opcode == instructions[meant].opcode;
            all.iter().filter(is_copy).copied().collect()
        });
        Ok(SnapshotRequest {
            block: self.block_index,
            execution: self.execution,
            shared_at: shared_at.unwrap_or_default(),
            operands_of: match self.show_registers {
                true => operands_of,
                false => Vec::new(),
            },
            ..SnapshotRequest::default()
        })
    }

    /// Formats what was kept; `labels` tells which elements of A and B the numbers are.
    ///
    /// # Errors
    /// If the variable does not exist, or the line was not executed that often.
    pub fn text(
        &self,
        source: &Source,
        function: &Function,
        snapshot: &Snapshot,
        labels: Option<&Labels>,
    ) -> Result<String> {
        let mut text = String::new();
        if let Some(symbol) = &self.show {
            text += &table::text(self, symbol, source, function, snapshot, labels)?;
        }
        if self.show_registers {
            text += &registers::text(self, function, snapshot, labels)?;
        }
        Ok(text)
    }

    /// The line, and which execution of it.
    fn moment(&self) -> String {
        let line = self.at.unwrap_or_default();
        match self.execution {
            1 => format!("line {line}"),
            number => format!("execution {number} of line {line}"),
        }
    }

    /// The message if nothing was kept.
    fn nothing(&self) -> anyhow::Error {
        let [x, y, z] = self.block_index;
        anyhow!(
            "no warp of block ({x},{y},{z}) reaches {}: does the block exist, and does it execute the line that often?",
            self.moment()
        )
    }
}

/// The last line of the statement that `line` is in.
fn end_of_statement(source: &Source, line: u32) -> u32 {
    let lines = source.text.iter().flat_map(|text| text.lines());
    let from = lines.skip(line.saturating_sub(1) as usize).zip(line..);
    let mut code =
        from.map(|(text, at)| (text.split("//").next().unwrap_or_default().trim_end(), at));
    let end = code.find(|(code, _)| code.is_empty() || code.ends_with([';', '{', '}']));
    end.map_or(line, |(_, at)| at)
}

/// The lines of the source that an instruction belongs to: in the kernel, and in the function that was inlined there.
fn lines_of<'a>(
    source: &'a Source,
    instruction: &'a Instruction,
) -> impl Iterator<Item = u32> + 'a {
    let callee = instruction.callee.as_deref();
    let inlined = callee.map(|callee| [&callee.line, &callee.call]);
    let inlined = inlined.into_iter().flatten();
    let all = inlined.chain(&instruction.inlined_from);
    let own = all.filter(|line| *line.file == *source.name && line.line > 0);
    let in_kernel = lines::line_of(source, instruction).filter(|line| *line > 0);
    in_kernel.into_iter().chain(own.map(|line| line.line))
}

/// The names of some instructions, without duplicates.
fn opcodes(all: &[usize], instructions: &[Instruction]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for &index in all {
        let name = instructions[index].opcode.as_str();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// Shows a kernel that is launched like a rung's, or as the grader launches an assignment's.
///
/// # Errors
/// If it cannot be compiled, or does not state its launch as rungs do; and as for [`Look::text`].
pub fn at_size(
    look: &Look,
    size: Size,
    path: &Path,
    launch: &Launch,
    arch: &str,
) -> Result<String> {
    let source = match launch.defines.is_empty() {
        true => Source::of_file(path, arch, "")?,
        false => {
            let read = std::fs::read_to_string(path);
            let text = read.map_err(|error| harness::Error::Read {
                path: path.to_owned(),
                error,
            })?;
            let nvrtc = Nvrtc::find().map_err(harness::Error::from)?;
            let file = path.display().to_string();
            Source::compiled(&file, &text, arch, &launch.defines, &nvrtc)?
        }
    };
    let (task, values) = match source.ptx.contains("transpose_launch") {
        true => (Task::Transpose, Values::Words),
        // An element is recognized by its number, if there are enough numbers.
        false if u64::from(size.m + size.n) * u64::from(size.k) <= DISTINCT => {
            (Task::Gemm, Values::Distinct)
        }
        false => (Task::Gemm, Values::Random),
    };
    let trial = Trial::new(source, task)?;
    let request = look.request(trial.source(), trial.instructions())?;
    let on = TrialLaunch {
        size,
        values,
        seed: 0,
        schedule: 0,
    };
    let done = trial.snapshot(&on, request)?;
    let labels = (values == Values::Distinct).then(|| Labels::of(&done.problem));
    let (source, function) = (trial.source(), trial.function());
    look.text(source, function, &done.run.snapshot, labels.as_ref())
}
