//! What an experiment says of itself.
use std::ops::Range;

use emulator::{Counters, Finding, Instruction, InstructionKind, LaunchReport};
use harness::lines::sum;
use harness::{Function, KernelFile, Source, Tiling};

use crate::arguments::Arguments;
use crate::expected::{Comparison, Expected};
use crate::run::Result;

/// One experiment: kernels, and launches of them that are to be compared.
#[derive(Clone, Copy)]
pub struct Lab {
    /// The name of its folder in `book/labs`.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// Its files.
    pub kernels: &'static [KernelFile<'static>],
    /// What is launched, in the order of the report.
    pub launches: fn(Scale) -> Vec<Launch>,
    /// What the report adds to its table.
    pub remarks: fn(&[Done]) -> Vec<Vec<String>>,
    /// What `time` prints, where it does more than time the launches beside each other.
    pub time: Option<fn(&Arguments, gpu::Context) -> Result<String>>,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// As much as shows what happens.
    Small,
    /// Enough to fill a GPU.
    Full,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// What the report calls it.
    pub name: String,
    /// The file of the lab that the kernel is in.
    pub file: &'static str,
    /// Of a file with several tiles, the tile of C, such as `128x256`; else empty.
    pub tile: &'static str,
    /// The kernel.
    pub entry: &'static str,
    /// Blocks, along x and y.
    pub grid: [u32; 2],
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
    /// One for each parameter.
    pub arguments: Vec<Argument>,
    /// What the first output holds in the end.
    pub expected: Expected,
    /// What this launch is there to show.
    pub meant: Meant,
    /// Multiplications and additions of matrix products, for a rate.
    pub flops: f64,
}

impl Launch {
    /// One warp of one block.
    pub fn of_a_warp(
        name: impl Into<String>,
        entry: &'static str,
        arguments: Vec<Argument>,
        expected: Expected,
    ) -> Self {
        Self {
            name: name.into(),
            file: "kernel.cu",
            tile: "",
            entry,
            grid: [1, 1],
            threads: 32,
            dynamic_shared: 0,
            cluster: 1,
            arguments,
            expected,
            meant: Meant::Right,
            flops: 0.0,
        }
    }

    /// The same, of a kernel in another file.
    pub fn in_file(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    /// The same, where something else than the right values is meant.
    pub fn meant(self, meant: Meant) -> Self {
        Self { meant, ..self }
    }
}

/// One kernel argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Where these bytes lie.
    Input(Vec<u8>),
    /// Where so many bytes are to be written; poisoned with 0xff.
    Output(usize),
    /// An int.
    Int(u32),
    /// The map of this row-major matrix of 16-bit floats, for TMA.
    Map(Vec<u8>, Tiling),
    /// The map of a matrix that is to be written; poisoned with 0xff.
    OutputMap(Tiling),
}

/// What a launch is there to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meant {
    /// That it works.
    Right,
    /// That its values are wrong.
    Wrong,
    /// That it stops with a finding that has these words.
    Fault(&'static str),
}

impl Meant {
    /// That it works where addresses are aligned, and only there.
    pub fn aligned(is: bool) -> Self {
        match is {
            true => Self::Right,
            false => Self::Fault("misaligned"),
        }
    }
}

/// A launch that was made.
pub struct Done {
    /// What was launched.
    pub launch: Launch,
    /// Where the kernel comes from.
    pub source: Source,
    /// How the output compares; none if the launch stopped.
    pub verdict: Option<Comparison>,
    /// The first output.
    pub output: Vec<u8>,
    /// What the emulator ran and saw.
    pub emulated: Option<(Function, LaunchReport)>,
}

impl Done {
    /// Whether it showed what it is meant to.
    pub fn as_meant(&self) -> bool {
        match (self.launch.meant, &self.verdict) {
            (Meant::Right, Some(verdict)) => verdict.ok(),
            (Meant::Wrong, Some(verdict)) => !verdict.ok(),
            (Meant::Fault(words), None) => {
                self.findings().iter().any(|found| found.contains(words))
            }
            _ => false,
        }
    }

    /// What the emulator found wrong.
    pub fn findings(&self) -> Vec<String> {
        let run = self.emulated.iter().map(|(_, run)| run);
        run.flat_map(|run| &run.findings)
            .map(ToString::to_string)
            .collect()
    }

    /// Warnings and notes.
    pub fn remarks(&self) -> &[Finding] {
        self.emulated.as_ref().map_or(&[], |(_, run)| &run.remarks)
    }

    /// The counters of all instructions.
    pub fn counted(&self) -> Counted<'_> {
        let emulated = self.emulated.iter();
        let counted =
            emulated.flat_map(|(program, run)| program.instructions().iter().zip(&run.counters));
        Counted(counted.collect())
    }

    /// Those in a section of the file: of the lines from a comment that begins with `name` to the next blank line,
    /// wherever there is such a comment.
    pub fn section(&self, name: &str) -> Counted<'_> {
        let sections = sections(self.source.text.as_deref().unwrap_or_default(), name);
        let mut counted = self.counted();
        counted.0.retain(|(instruction, _)| {
            let line = instruction.source.as_ref().map(|source| source.line);
            line.is_some_and(|line| sections.iter().any(|section| section.contains(&line)))
        });
        counted
    }
}

/// PTX instructions with their counters.
pub struct Counted<'a>(Vec<(&'a Instruction, &'a Counters)>);

impl Counted<'_> {
    /// All counters, added up.
    pub fn sum(&self) -> Counters {
        self.sum_of(|_| true)
    }

    /// Those of the instructions that do this.
    pub fn sum_of(&self, is: impl Fn(&InstructionKind) -> bool) -> Counters {
        let these = self.0.iter().filter(|(one, _)| is(&one.kind));
        sum(these.map(|(_, counters)| *counters))
    }
}

/// The lines, from 1, of the sections of this name.
fn sections(text: &str, name: &str) -> Vec<Range<u32>> {
    let (mut found, mut open) = (Vec::new(), None);
    for (line, number) in text.lines().map(str::trim).chain([""]).zip(1..) {
        let comment = line.strip_prefix("//").map(str::trim_start);
        if open.is_none() && comment.is_some_and(|comment| comment.starts_with(name)) {
            open = Some(number);
        }
        if line.is_empty() {
            found.extend(open.take().map(|first| first..number));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn a_section_ends_with_a_blank_line() {
        let text = "int a;\n// Load.\nb = c;\n// more\nd;\n\ne;\n    // Load again\nf;";
        assert_eq!(sections(text, "Load"), [2..6, 8..10]);
        assert_eq!(sections(text, "Store"), []);
    }
}
