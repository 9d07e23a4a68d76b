//! Launches the kernel at every planned size, and compiles it for a tile when that is first launched.
use std::cell::OnceCell;
use std::collections::BTreeMap;

use anyhow::Result;
use harness::{Compile, Error, Launched, Source, Tile, Trial, thousands};

use super::budget::Effect;
use super::labels::{self, Coverage};
use super::plan::{Class, PlannedLaunch};
use super::rubric::{Part, Rubric, TileVariant, What};
use super::{Complaint, LaunchOutcome, rates};

/// The kernel, compiled for each tile of the rubric that was launched. If an earlier launch decides the grade, a later tile is not
/// compiled, which would take as long as some launches.
pub struct Trials<'a> {
    rubric: &'a Rubric,
    part: &'a Part,
    /// The file's name and its text.
    kernel: (&'a str, &'a str),
    compiler: &'a dyn Compile,
    /// Whether any launch is timed, for which the kernel is assembled.
    is_timed: bool,
    tiles: Vec<OnceCell<Trial>>,
}

impl<'a> Trials<'a> {
    /// Nothing is compiled yet.
    pub fn new(
        rubric: &'a Rubric,
        part: &'a Part,
        kernel: (&'a str, &'a str),
        launches: &[PlannedLaunch],
        compiler: &'a dyn Compile,
    ) -> Self {
        Self {
            rubric,
            part,
            kernel,
            compiler,
            is_timed: launches.iter().any(|one| one.class == Class::Timed),
            tiles: rubric.tile.iter().map(|_| OnceCell::new()).collect(),
        }
    }

    /// What was compiled, in the rubric's order.
    pub fn compiled(&self) -> impl Iterator<Item = &Trial> {
        self.tiles.iter().filter_map(OnceCell::get)
    }

    /// The kernel for the tile of a launch, or a complaint.
    fn of(&self, launch: &PlannedLaunch) -> Result<Result<&Trial, Complaint>> {
        let tile = &self.tiles[launch.tile];
        if let Some(known) = tile.get() {
            return Ok(Ok(known));
        }
        let trial = trial(self, launch)?;
        Ok(trial.map(|trial| tile.get_or_init(|| trial)))
    }
}

/// How a launch that is right if C holds only NaN goes wrong if C holds something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnStaleC {
    /// C is wrong if it holds a mixture of NaN, 0 and 1 before the launch.
    Wrong,
    /// The launch then fails.
    Fails,
    /// C is wrong if it holds the result before the launch.
    WrongOnResult,
    /// The launch then fails.
    FailsOnResult,
    /// The launch then stores fewer bytes.
    StoresLess,
}

/// The launches of a part, in order, up to the first one that failed, and why it failed, or the first hidden one whose result is
/// wrong: the points for hidden sizes are then lost, and so are those that count only if every result is right.
pub struct LaunchResults<'a> {
    pub rubric: &'a Rubric,
    pub part: &'a Part,
    pub planned: &'a [PlannedLaunch],
    trials: BTreeMap<usize, &'a Trial>,
    pub done: Vec<(&'a PlannedLaunch, Launched)>,
    pub stopped: Option<(&'a PlannedLaunch, Error)>,
    /// A launch that depends on what C holds before it, and what it does then.
    pub reads_c: Option<(&'a PlannedLaunch, OnStaleC)>,
    /// For each launch in `done`, what was multiplied; none if the inputs do not identify elements.
    coverage: Vec<Option<Coverage>>,
}

impl<'a> LaunchResults<'a> {
    /// No launches yet.
    pub fn none(planned: &'a [PlannedLaunch], trials: &'a Trials<'a>) -> Self {
        Self {
            rubric: trials.rubric,
            part: trials.part,
            planned,
            trials: BTreeMap::new(),
            done: Vec::new(),
            stopped: None,
            reads_c: None,
            coverage: Vec::new(),
        }
    }

    /// Performs the launches, or complains about the first tile for which the kernel does not compile.
    pub fn of(
        planned: &'a [PlannedLaunch],
        trials: &'a Trials<'a>,
    ) -> Result<Result<Self, Complaint>> {
        let mut all = Self::none(planned, trials);
        for launch in planned {
            let trial = match trials.of(launch)? {
                Ok(trial) => trial,
                Err(complaint) => return Ok(Err(complaint)),
            };
            all.trials.insert(launch.tile, trial);
            let launched = match launch.class {
                Class::Many(_) => all.launch_many(launch),
                // In an assignment to debug, the bug may need all blocks of a large launch.
                Class::Large if all.rubric.bug.is_none() => trial.launch_on_one_sm(&launch.on),
                _ => trial.launch(&launch.on),
            };
            match launched {
                Ok(launched) => {
                    let told = !launched.run.factors.is_empty();
                    let is_decided = !launch.is_public() && !launched.verification.ok();
                    let tile = all.rubric.tile[launch.tile];
                    let coverage = || labels::coverage(&launched, [tile.m, tile.n]);
                    all.coverage.push(told.then(coverage));
                    all.done.push((launch, launched));
                    if is_decided {
                        break;
                    }
                }
                Err(error) => {
                    all.stopped = Some((launch, error));
                    break;
                }
            }
        }
        all.reads_c = all.depends_on_c().or(all.reads_c);
        Ok(Ok(all))
    }

    /// A launch of many tiles, on a C that holds stale values. Under the sanitizer it would take longer than all other launches together,
    /// so it is repeated there only if it executes instructions that smaller launches do not execute, or products, accesses or barriers at
    /// another rate, or if its result is wrong. For a wrong result, the launch on NaN counts, which shows what is not written.
    fn launch_many(&mut self, launch: &'a PlannedLaunch) -> harness::Result<Launched> {
        let trial = self.trial(launch);
        let on_stale_c = trial.launch_on_stale_c(&launch.on);
        let does = match on_stale_c {
            Ok(_) => OnStaleC::Wrong,
            Err(_) => OnStaleC::Fails,
        };
        if let Some(right) = on_stale_c.ok().filter(|one| one.verification.ok()) {
            return match self.does_more(launch, &right) {
                true => trial.launch(&launch.on),
                false => self.with_leads(launch, right),
            };
        }
        let on_nan = trial.launch_unsanitized(&launch.on)?;
        if on_nan.verification.ok() {
            self.reads_c = Some((launch, does));
            return Ok(on_nan);
        }
        // Its findings explain the wrong result.
        let repeated = trial.launch(&launch.on).ok();
        let repeated =
            repeated.filter(|again| !again.verification.ok() && !again.run.findings.is_empty());
        Ok(repeated.unwrap_or(on_nan))
    }

    /// Under the sanitizer, one of its clusters tells how early copies are issued, where the rubric asks for that. What it finds there is
    /// explained by the whole launch.
    fn with_leads(&self, launch: &PlannedLaunch, mut right: Launched) -> harness::Result<Launched> {
        let trial = self.trial(launch);
        let mut measures = self.rubric.measure.iter();
        let is_asked = measures.any(|measure| measure.what == What::CopiesAhead);
        if trial.is_persistent() || !is_asked {
            return Ok(right);
        }
        let sample = trial.launch_one_cluster(&launch.on, launch.on.seed)?;
        if !sample.findings.is_empty() {
            return trial.launch(&launch.on);
        }
        right.run.leads = sample.leads;
        Ok(right)
    }

    /// Whether a launch of many tiles executes instructions that no smaller launch with the same tile has executed, or products, accesses or
    /// barriers at another rate. If no large launch with this tile was done, there is nothing to compare with, so the answer is no. It is yes
    /// for a launch that is graded alone, since that is to be explained.
    pub fn does_more(&self, launch: &PlannedLaunch, many: &Launched) -> bool {
        let same = |(other, _): &&(&PlannedLaunch, Launched)| {
            other.tile == launch.tile && !matches!(other.class, Class::Many(_))
        };
        let same: Vec<_> = self.done.iter().filter(same).collect();
        let has_large = same.iter().any(|(other, _)| other.class == Class::Large);
        // Not executions, of which those with a false guard do nothing.
        let is_new = |at: usize| {
            let mut before = same.iter().map(|(_, one)| &one.run.counters);
            many.run.counters[at].threads > 0
                && before.all(|counters| counters.get(at).is_none_or(|one| one.threads == 0))
        };
        let all = || 0..many.run.counters.len();
        self.planned.len() == 1
            || has_large
                && (all().any(is_new)
                    || rates::differ(self, (launch, many), &same).unwrap_or(false))
    }

    /// Of the first public launch of several tiles, and of the one with the largest K: one whose result is right, but not if C holds
    /// stale values before the launch, or that stores less if it holds the result.
    fn depends_on_c(&self) -> Option<(&'a PlannedLaunch, OnStaleC)> {
        let several = self.done.iter().find(|(launch, _)| {
            let [rows, columns, _] = launch.tiles(self.rubric);
            launch.is_public() && rows * columns > 1
        });
        let is_deep =
            |(launch, _): &&(&PlannedLaunch, _)| matches!(launch.class, Class::Deep { .. });
        let deep = self.done.iter().find(is_deep);
        let right = several.into_iter().chain(deep);
        let mut right = right.filter(|(_, one)| one.verification.ok());
        right.find_map(|(launch, one)| {
            let trial = self.trial(launch);
            let does = match trial.launch_on_stale_c(&launch.on) {
                Ok(again) if !again.verification.ok() => OnStaleC::Wrong,
                // Both run without the sanitizer, under which a library's wait loop may store another number of bytes.
                Ok(stale) => match trial.launch_on_result(&launch.on, one.c.clone()) {
                    Ok(again) if !again.verification.ok() => OnStaleC::WrongOnResult,
                    Ok(again) if stored(trial, &again) < stored(trial, &stale) => {
                        OnStaleC::StoresLess
                    }
                    Ok(_) => return None,
                    Err(_) => OnStaleC::FailsOnResult,
                },
                Err(_) => OnStaleC::Fails,
            };
            Some((*launch, does))
        })
    }

    /// The compiled kernel of a launch.
    pub fn trial(&self, launch: &PlannedLaunch) -> &'a Trial {
        // Every launch that was performed has one.
        self.trials[&launch.tile]
    }

    /// What tensor cores multiplied in a launch; empty if its inputs do not identify elements.
    pub fn coverage(&self, launch: &PlannedLaunch) -> Coverage {
        let mut all = self.done.iter().zip(&self.coverage);
        let found = all.find(|((other, _), _)| *other == launch);
        found
            .and_then(|(_, coverage)| *coverage)
            .unwrap_or_default()
    }

    /// Whether a wrong result at a hidden size made the launches after it unnecessary.
    pub fn is_cut_short(&self) -> bool {
        self.stopped.is_none() && self.done.len() < self.planned.len()
    }

    /// Whether C is right at every size.
    pub fn sound(&self) -> bool {
        self.stopped.is_none() && self.done.iter().all(|(_, one)| one.verification.ok())
    }

    /// The outcome of every planned launch.
    pub fn outcomes(&self) -> impl Iterator<Item = LaunchOutcome> {
        self.planned.iter().map(|launch| {
            let done = self.done.iter().find(|(other, _)| *other == launch);
            let is_stopped = self.stopped.as_ref().is_some_and(|(at, _)| *at == launch);
            let label = self.label(launch);
            LaunchOutcome {
                name: match self.part.name.as_str() {
                    "" => label,
                    part => format!("{part}: {label}"),
                },
                right: match done {
                    Some((_, one)) => Some(one.verification.ok()),
                    None => is_stopped.then_some(false),
                },
                clean: done.is_some_and(|(_, one)| one.run.findings.is_empty()),
            }
        })
    }

    /// Bytes of the sums in f32 that warps of a block have to exchange in a launch, because they divide K among them. What each warp
    /// multiplies is known from launches whose inputs identify elements, and is the same in every launch with this tile.
    pub fn bytes_of_sums(&self, launch: &PlannedLaunch) -> u64 {
        const SUM: u64 = 4;
        let tiles = |of: &PlannedLaunch| {
            let [rows, columns, _] = of.tiles(self.rubric);
            (rows * columns).max(1)
        };
        let same = |(other, one): &&(&PlannedLaunch, Launched)| {
            other.tile == launch.tile && !one.run.factors.is_empty() && one.verification.ok()
        };
        let told = self.done.iter().find(same);
        told.map_or(0, |(other, _)| {
            SUM * self.coverage(other).more_sums * tiles(launch) / tiles(other)
        })
    }

    /// The name of a launch.
    pub fn label(&self, launch: &PlannedLaunch) -> String {
        launch.label(self.rubric)
    }
}

/// Bytes that a launch stores in global memory.
fn stored(trial: &Trial, one: &Launched) -> f64 {
    let counted = trial.instructions().iter().zip(&one.run.counters);
    let of = |(of, counters)| {
        let stores = [Effect::RegistersToGlobal, Effect::BulkStores];
        stores
            .map(|effect| effect.done(of, counters))
            .iter()
            .sum::<f64>()
    };
    counted.map(of).sum()
}

/// In NVRTC's message about a function without `__device__`, and about a generic lambda in a kernel.
const NO_SPACE: &str = "without execution space annotations";

/// The macros of a part and a tile.
pub fn macros_of(rubric: &Rubric, part: &Part, tile: usize) -> Vec<String> {
    let TileVariant { m, n, k, .. } = rubric.tile[tile];
    let macros = [("TILE_M", m), ("TILE_N", n), ("TILE_K", k)];
    let mut defines: Vec<String> = macros.map(|(name, side)| format!("{name}={side}")).into();
    defines.extend(part.define.clone());
    defines
}

fn trial(trials: &Trials, launch: &PlannedLaunch) -> Result<Result<Trial, Complaint>> {
    let Trials {
        rubric,
        part,
        kernel: (file, text),
        compiler,
        is_timed,
        ..
    } = *trials;
    let TileVariant { m, n, k, .. } = rubric.tile[launch.tile];
    let defines = macros_of(rubric, part, launch.tile);
    let task = rubric.task.task();
    let source = Source::compiled(file, text, &rubric.arch, &defines, compiler);
    let source = source.and_then(|mut source| {
        if is_timed {
            // Whether it can be launched is said in better words than the assembler's.
            Trial::new(source.clone(), task)?;
            source.sass = compiler.assemble(&source.ptx, "gemm", &rubric.arch)?;
        }
        Ok(source)
    });
    let trial = match source.and_then(|source| Trial::new(source, task)) {
        Ok(trial) => trial,
        Err(error) if is_the_kernels(&error) => {
            let hint = match &error {
                Error::Compile { .. } if error.to_string().contains(NO_SPACE) => {
                    "a function that a kernel calls begins with __device__; if it is a lambda with a parameter of type auto, write the \
                     type instead, since NVRTC takes such a lambda for a host function"
                }
                Error::Compile { .. } => {
                    "begin with the compiler's first message: others may follow from it"
                }
                Error::Ptx { error, .. } if error.line == 0 => {
                    "the message names the limit, and by how much the kernel exceeds it"
                }
                Error::Ptx { error, .. } if error.to_string().contains("requires .target") => {
                    "README.md says for which architecture this assignment is compiled: which instruction of that one does the same?"
                }
                Error::BadLaunch { why, .. } if why.contains("shared bytes") => {
                    "how many stages, or how large a tile, fit into a block's shared memory?"
                }
                Error::Ptx { .. } => {
                    "the line contains inline PTX, or calls a function that does: compare its modifiers and operands with \
                     the PTX ISA, and with the assignment's kernel.cu"
                }
                _ => {
                    "begin with the assignment's kernel.cu, and keep its parameters and its launch"
                }
            };
            let bytes = rubric.tile[launch.tile].shared_bytes;
            let allowed = match error.to_string().contains("does not fit its memory") {
                true => format!(
                    "\n  {} bytes of shared memory are allowed with this tile",
                    thousands(bytes)
                ),
                false => String::new(),
            };
            let what = match launch.tile {
                0 => error.to_string(),
                other => format!(
                    "with tile {} ({}): {error}",
                    other + 1,
                    rubric.tile[other].name()
                ),
            };
            return Ok(Err(Complaint::new(what + &allowed, hint, "not-launched")));
        }
        Err(error) => return Err(error.into()),
    };
    let Tile { bm, bn, bk } = trial.tile();
    if rubric.own_tile || [bm, bn, bk] == [m, n, k] {
        return Ok(Ok(trial));
    }
    Ok(Err(Complaint::new(
        format!(
            "the kernel declares a tile of {bm}x{bn}x{bk}, but TILE_M, TILE_N and TILE_K are {m}x{n}x{k}"
        ),
        "these three are macros that the grader defines: take the tile from them",
        "not-launched",
    )))
}

/// Whether an error is the kernel's fault and not the machine's.
fn is_the_kernels(error: &Error) -> bool {
    !matches!(
        error,
        Error::NoNvrtc { .. }
            | Error::NoAssembler(_)
            | Error::Read { .. }
            | Error::Gpu(_)
            | Error::Locked(_)
    )
}

/// Why a launch failed. Limits are set by the grader, so the emulator's remedies are omitted.
pub fn why_stopped(error: &Error) -> String {
    match error {
        Error::Emulator(emulator::Error::InstructionLimit { limit }) => {
            format!("the kernel was stopped after {limit} warp instructions")
        }
        Error::Emulator(emulator::Error::MemoryLimit { limit }) => {
            format!("the kernel's blocks need more than {limit} bytes of memory")
        }
        Error::Emulator(emulator::Error::BlockLimit { blocks, limit }) => {
            format!("a grid of {blocks} blocks, but only {limit} are allowed")
        }
        Error::Memory { wanted, limit } => {
            format!("the matrices need {wanted} bytes, but only {limit} are allowed")
        }
        other => other.to_string(),
    }
}
