//! The definition of an experiment.
use std::ops::Range;

use emulator::{Counters, Finding, Instruction, InstructionKind, LaunchReport};
use harness::lines::sum;
use harness::{Function, KernelFile, Source, Tiling};

use crate::arguments::Arguments;
use crate::expected::{Comparison, Expected};
use crate::run::Result;

/// One experiment: kernels, and launches of them to compare.
#[derive(Clone, Copy)]
pub struct Lab {
    /// The name of its folder in `book/labs`.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Its kernel files.
    pub kernels: &'static [KernelFile<'static>],
    /// Its launches, in the order of the report.
    pub launches: fn(Scale) -> Vec<Launch>,
    /// Additional lines of the report, below its table.
    pub remarks: fn(&[CompletedLaunch]) -> Vec<Vec<String>>,
    /// The output of `time`, if it is more than the interleaved times of the launches.
    pub time: Option<fn(&Arguments, gpu::Context) -> Result<String>>,
}

/// The amount of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// Enough to show what happens.
    Small,
    /// Enough to fill a GPU.
    Full,
}

/// One launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Its name in the report.
    pub name: String,
    /// The file of the lab that contains the kernel.
    pub file: &'static str,
    /// For a file with several tiles, the tile of C, such as `128x256`; else empty.
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
    /// The arguments, one for each parameter.
    pub arguments: Vec<Argument>,
    /// The expected contents of the first output.
    pub expected: Expected,
    /// What this launch should show.
    pub purpose: Purpose,
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
            purpose: Purpose::Right,
            flops: 0.0,
        }
    }

    /// The same for a kernel in another file.
    pub fn in_file(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    /// The same for a launch that should show something other than correct values.
    pub fn showing(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }
}

/// One kernel argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// A pointer to these bytes.
    Input(Vec<u8>),
    /// A pointer to an output of this many bytes, filled with 0xff before the launch.
    Output(usize),
    /// An int.
    Int(u32),
    /// The tensor map of this row-major matrix of 16-bit floats.
    Map(Vec<u8>, Tiling),
    /// The tensor map of an output matrix, filled with 0xff before the launch.
    OutputMap(Tiling),
}

/// What a launch should show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Correct values.
    Right,
    /// Wrong values.
    Wrong,
    /// A finding with these words, which stops it.
    Fault(&'static str),
}

impl Purpose {
    /// Correct values if addresses are aligned, else a fault.
    pub fn aligned(is: bool) -> Self {
        match is {
            true => Self::Right,
            false => Self::Fault("misaligned"),
        }
    }
}

/// A completed launch.
pub struct CompletedLaunch {
    /// The launch.
    pub launch: Launch,
    /// The source of the kernel.
    pub source: Source,
    /// The comparison of the output; `None` if the launch stopped.
    pub verdict: Option<Comparison>,
    /// The first output.
    pub output: Vec<u8>,
    /// The emulator's report.
    pub emulated: Option<(Function, LaunchReport)>,
}

impl CompletedLaunch {
    /// Whether it showed what it should.
    pub fn as_intended(&self) -> bool {
        match (self.launch.purpose, &self.verdict) {
            (Purpose::Right, Some(verdict)) => verdict.ok(),
            (Purpose::Wrong, Some(verdict)) => !verdict.ok(),
            (Purpose::Fault(words), None) => {
                self.findings().iter().any(|found| found.contains(words))
            }
            _ => false,
        }
    }

    /// The emulator's findings.
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

    /// The counters of a section of the file: of the lines from a comment that begins with `name` to the next blank
    /// line, for every such comment.
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
    /// The sum of all counters.
    pub fn sum(&self) -> Counters {
        self.sum_of(|_| true)
    }

    /// The sum over the instructions of this kind.
    pub fn sum_of(&self, is: impl Fn(&InstructionKind) -> bool) -> Counters {
        let these = self.0.iter().filter(|(one, _)| is(&one.kind));
        sum(these.map(|(_, counters)| *counters))
    }
}

/// The line ranges, from 1, of the sections of this name.
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
