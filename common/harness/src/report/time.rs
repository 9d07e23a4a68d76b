//! The clock model's prediction for a kernel, as text and as JSON.
use std::path::Path;

use clock::{PARTITIONS, Pipe, STALLS, Stall};
use serde::Serialize;

use crate::measured::Measured;
use crate::predict::Prediction;
use crate::records::{self, Errors};
use crate::table::{plural, table, thousands};
use crate::{Error, Result, schema};

/// Most source lines listed.
const MAX_LINES: usize = 12;

/// A prediction, for programs: `time --json`.
#[derive(Serialize)]
pub struct TimeReport {
    /// The kernel.
    pub kernel: String,
    /// For a rung, its tile of C.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tile: Option<String>,
    /// For a rung, the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// The card that the constants belong to.
    pub card: String,
    /// Clocks of an SM, including the launch.
    pub clocks: f64,
    /// The SM clock in MHz, if nothing throttles it.
    pub mhz: f64,
    /// Milliseconds at that clock.
    pub milliseconds: f64,
    /// For a rung, TFLOP/s at that clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tflops: Option<f64>,
    /// For a rung, its speed as a fraction of cuBLAS's: in clocks, the fewest recorded on the card.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_cublas: Option<f64>,
    /// Why list-scheduled PTX stands in for ptxas's machine code; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed: Option<String>,
    /// The prediction errors for rungs; for a prediction from PTX, the errors of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Errors>,
    /// A GPU's measurement, if there is a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub measured: Option<Measured>,
    /// What limits it.
    pub limit: Limiter,
    /// CTAs that an SM holds at a time.
    pub resident: u32,
    /// Clusters of the busiest SM, and those of them that were simulated.
    pub clusters: u64,
    /// See `clusters`.
    pub simulated: u64,
    /// The fraction of the simulated SMs' time in which each pipe was busy.
    pub busy: Busy,
    /// Warp clocks per issued instruction, under ncu's names.
    pub stalls: Vec<StallReason>,
    /// The warp clocks of each source line.
    pub lines: Vec<Line>,
}

/// Utilization of an SM's pipes and of its share of the memory behind them, from 0 to 1.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Busy {
    pub tensor: f64,
    pub fma: f64,
    pub fma_heavy: f64,
    pub alu: f64,
    pub special: f64,
    pub uniform: f64,
    pub shared_memory: f64,
    pub l2_port: f64,
    pub l2: f64,
    pub dram: f64,
    pub stores: f64,
    pub issue: f64,
}

impl Busy {
    /// Each pipe with its name in reports.
    fn named(&self) -> [(&'static str, f64); 12] {
        [
            ("tensor cores", self.tensor),
            ("shared memory's data pipe", self.shared_memory),
            ("port to the L2", self.l2_port),
            ("share of the L2", self.l2),
            ("share of DRAM", self.dram),
            ("stores to the L2", self.stores),
            ("issue slots", self.issue),
            ("FMA", self.fma),
            ("FMA, heavy half", self.fma_heavy),
            ("ALU", self.alu),
            ("uniform", self.uniform),
            ("MUFU and conversions", self.special),
        ]
    }
}

/// A pipe that is busy for at least this fraction of the time limits a kernel.
const SATURATED: f64 = 0.85;

/// What limits a kernel, and what would limit it next.
#[derive(Clone, Debug, Serialize)]
pub struct Limiter {
    /// The saturated pipe; null if warps wait for latencies.
    pub pipe: Option<&'static str>,
    /// The most frequent stall reason, under ncu's name.
    pub waits: Stall,
    /// `kernel.cu:97`
    pub line: Option<String>,
    /// The busiest pipe that is not saturated.
    pub next: &'static str,
    /// How many times as fast the kernel could be before that pipe is saturated.
    pub allows: f64,
}

impl Limiter {
    fn new(busy: &Busy, stalls: &[StallReason], lines: &[Line]) -> Self {
        let mut pipes = busy.named();
        pipes.sort_by(|a, b| b.1.total_cmp(&a.1));
        let full = pipes[0].1 >= SATURATED;
        let next = pipes[usize::from(full)];
        let is_wait =
            |one: &&StallReason| !matches!(one.finer, Stall::Selected | Stall::NotSelected);
        let most = stalls.iter().filter(is_wait);
        let waits = most
            .max_by(|a, b| a.per_issue.total_cmp(&b.per_issue))
            .map_or(Stall::Wait, |one| one.finer);
        let line = lines.iter().find(|line| line.mostly == waits);
        Self {
            pipe: full.then_some(pipes[0].0),
            waits,
            line: line.map(|line| line.source.clone()),
            next: next.0,
            allows: 1.0 / next.1.max(1e-3),
        }
    }

    fn sentences(&self) -> String {
        let allows = format!(
            "{} would allow {:.1} times this speed",
            self.next, self.allows
        );
        let line = self
            .line
            .as_ref()
            .map_or_else(String::new, |line| format!(" at {line}"));
        match self.pipe {
            Some(pipe) => format!("limited by: {pipe}; the next limit, {allows}"),
            None => format!(
                "limited by latency: warps wait, mostly {}{line}; the next limit, {allows}",
                shown(self.waits)
            ),
        }
    }
}

/// A stall reason.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StallReason {
    /// Under ncu's name.
    pub name: &'static str,
    /// Under the model's, which tells the wait for `wgmma` from that at a barrier.
    pub finer: Stall,
    /// Warp clocks per issued instruction.
    pub per_issue: f64,
}

/// ncu's name, with the model's own where that says more: `barrier (gmma)`.
fn shown(stall: Stall) -> String {
    match (stall.ncu(), stall.name()) {
        (ncu, own) if ncu == own => ncu.to_owned(),
        (ncu, own) => format!("{ncu} ({own})"),
    }
}

/// A line of the source.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `kernel.cu:97`
    pub source: String,
    /// The fraction of the warps' clocks spent there, from 0 to 1.
    pub share: f64,
    /// The line's main stall reason.
    pub mostly: Stall,
    /// The fraction of the line's clocks with that reason.
    pub mostly_share: f64,
}

impl TimeReport {
    /// Converts a prediction.
    pub fn new(prediction: &Prediction) -> Self {
        let (estimate, card) = (&prediction.estimate, &prediction.card);
        let simulation = &estimate.simulation;
        let product = prediction.product.as_ref();
        let milliseconds = estimate.clocks / card.mhz / 1e3;
        let end = simulation.ends.iter().copied().fold(1.0, f64::max);
        let all = end * f64::from(simulation.sms);
        let pipe = |pipe: Pipe| simulation.busy[pipe as usize] / all / PARTITIONS as f64;
        let mut sums = [0.0; STALLS.len()];
        for stalls in &simulation.stalls {
            for (sum, one) in sums.iter_mut().zip(stalls) {
                *sum += one;
            }
        }
        let issued = (simulation.issued as f64).max(1.0);
        let stalls: Vec<StallReason> = (STALLS.iter().zip(sums))
            .map(|(&finer, sum)| StallReason {
                name: finer.ncu(),
                finer,
                per_issue: sum / issued,
            })
            .collect();
        let memory = &simulation.memory;
        let busy = Busy {
            tensor: pipe(Pipe::Tensor),
            fma: (pipe(Pipe::Fma) + pipe(Pipe::FmaHeavy)) / 2.0,
            fma_heavy: pipe(Pipe::FmaHeavy),
            alu: pipe(Pipe::Alu),
            special: pipe(Pipe::Special),
            uniform: pipe(Pipe::Uniform),
            shared_memory: simulation.shared_busy / all,
            l2_port: memory.port / all,
            l2: memory.l2 / all,
            dram: memory.dram / all,
            stores: memory.stores / all,
            issue: issued / all / PARTITIONS as f64,
        };
        let lines = lines(prediction);
        let cublas = product.and_then(|product| records::cublas_clocks(product.size).ok()?);
        Self {
            kernel: prediction.kernel.clone(),
            tile: product.map(|product| product.tile.clone()),
            size: product.map(|product| product.size.to_string()),
            card: card.name.to_owned(),
            clocks: estimate.clocks,
            mhz: card.mhz,
            milliseconds,
            tflops: product.map(|product| product.size.flop() / milliseconds / 1e9),
            of_cublas: cublas.map(|clocks| clocks / estimate.clocks),
            error: match prediction.listed {
                None => Errors::recorded().ok().flatten(),
                Some(_) => Errors::recorded_from_ptx().ok().flatten(),
            },
            listed: prediction.listed.clone(),
            measured: prediction.measured.clone(),
            resident: prediction.resident,
            clusters: estimate.clusters,
            simulated: estimate.simulated,
            limit: Limiter::new(&busy, &stalls, &lines),
            busy,
            stalls,
            lines,
        }
    }
}

impl Prediction {
    /// The source line on which warps spend most clocks, such as `kernel.cu:97`, with its fraction of all clocks and
    /// the main stall reason.
    pub fn slowest_line(&self) -> Option<(String, f64, Stall)> {
        let line = lines(self).into_iter().next()?;
        Some((line.source, line.share, line.mostly))
    }
}

/// The source lines, in descending order of clocks.
fn lines(prediction: &Prediction) -> Vec<Line> {
    let mut by_line = std::collections::BTreeMap::<&str, [f64; STALLS.len()]>::new();
    let code = &prediction.code.instructions;
    for (one, stalls) in code.iter().zip(&prediction.estimate.simulation.stalls) {
        let before = prediction.sources.range(..=one.ptx_line).next_back();
        let source = before.map_or("(no line)", |(_, source)| source);
        let sums = by_line.entry(source).or_insert([0.0; STALLS.len()]);
        for (sum, one) in sums.iter_mut().zip(stalls) {
            *sum += one;
        }
    }
    let all = by_line.values().flatten().sum::<f64>().max(1.0);
    let mut lines: Vec<Line> = (by_line.into_iter())
        .map(|(source, stalls)| {
            let own = stalls.iter().sum::<f64>();
            let reasons = STALLS.iter().zip(stalls);
            let most = reasons.max_by(|a, b| a.1.total_cmp(&b.1));
            let (&mostly, clocks) = most.unwrap_or((&Stall::Selected, 0.0));
            Line {
                source: source.to_owned(),
                share: own / all,
                mostly,
                mostly_share: clocks / own.max(1.0),
            }
        })
        .collect();
    lines.sort_by(|a, b| b.share.total_cmp(&a.share));
    lines.truncate(MAX_LINES);
    lines
}

/// Two loop iterations of the warps of one SM, for programs.
#[derive(Serialize)]
struct Timeline<'a> {
    /// Clocks from the start of the first CTA.
    from: f64,
    to: f64,
    /// Events of warps.
    spans: &'a [clock::Span],
    /// Events of pipes, copies and mbarriers.
    activities: &'a [clock::Activity],
    /// `time --json` for the whole launch.
    time: TimeReport,
}

/// A prediction as text or JSON. With a path, its timeline is written there, as SVG or JSON by the path's extension;
/// with the path `-`, only its timeline is returned, as SVG or JSON.
///
/// # Errors
/// If no wait of the warps repeats, so that there are no iterations to draw; if the path has another extension, or
/// cannot be written.
pub fn predicted(of: &Prediction, as_json: bool, picture: Option<&Path>) -> Result<String> {
    if let Some(path) = picture {
        let no_steps = "no wait of its warps repeats, so there are no steps to draw";
        let none = || Error::NotPredicted(of.kernel.clone(), no_steps.into());
        let (from, to) = of.window.ok_or_else(none)?;
        let simulation = &of.estimate.simulation;
        let printed = path == Path::new("-");
        let ending = match path.extension().and_then(std::ffi::OsStr::to_str) {
            _ if printed && as_json => Some("json"),
            _ if printed => Some("svg"),
            ending => ending,
        };
        let text = match ending {
            Some("svg") => clock::timeline(simulation, (from, to)),
            Some("json") => schema::TIMELINE.pretty(&Timeline {
                from,
                to,
                spans: &simulation.spans,
                activities: &simulation.activities,
                time: TimeReport::new(of),
            }),
            _ => return Err(Error::PictureEnding(path.display().to_string())),
        };
        if printed {
            return Ok(text);
        }
        std::fs::write(path, text)
            .map_err(|error| Error::Picture(path.display().to_string(), error))?;
    }
    Ok(match as_json {
        true => schema::TIME.pretty(&TimeReport::new(of)),
        false => prediction(of),
    })
}

/// The prediction in one line, for the report of a run.
pub fn one_line(of: &Prediction) -> String {
    let report = TimeReport::new(of);
    let error = report.error.map_or_else(String::new, |error| {
        format!(
            "; {:.0}% off in the median, {:.0}% at worst, over {} timed launches",
            100.0 * error.median,
            100.0 * error.worst,
            error.count
        )
    });
    format!(
        "{:.4} ms on an {}, {} clocks predicted{error}",
        report.milliseconds,
        report.card,
        thousands(report.clocks as u64)
    )
}

/// A prediction, for a reader.
fn prediction(prediction: &Prediction) -> String {
    let report = TimeReport::new(prediction);
    let percent = |part: f64| format!("{:.1}%", 100.0 * part);
    let tile = report.tile.iter().map(|tile| format!("tile {tile}"));
    let what: Vec<String> = ([report.kernel].into_iter().chain(report.size).chain(tile)).collect();
    let speed = report.tflops;
    let speed = speed.map_or_else(String::new, |tflops| format!(" and {tflops:.1} TFLOP/s"));
    let cublas = report.of_cublas.map_or_else(String::new, |part| {
        format!(", {} of cuBLAS's recorded speed", percent(part))
    });
    let measured = report
        .measured
        .as_ref()
        .map_or_else(String::new, |measured| {
            let clocks = measured.clocks.map_or_else(String::new, |clocks| {
                format!(
                    ", {} clocks at {:.0} MHz; the prediction is {:+.1}% off",
                    thousands(clocks as u64),
                    measured.sm_mhz.unwrap_or_default(),
                    100.0 * (report.clocks / clocks - 1.0)
                )
            });
            format!(
                "measured on an {}: {:.4} ms{clocks}\n",
                measured.gpu, measured.milliseconds
            )
        });
    let off = report.error.map_or_else(String::new, |error| {
        let (median, worst) = (percent(error.median), percent(error.worst));
        format!(", on rungs by {median} in the median and {worst} at worst")
    });
    let listed = report.listed.map_or_else(String::new, |why| {
        format!("from list-scheduled PTX and not from machine code, so less exact{off}: {why}\n")
    });
    let text = format!(
        "{}: {} clocks of an SM predicted\n\
         {:.4} ms{speed} on an {} at an SM clock of {} MHz{cublas}\n\
         {measured}{listed}{}\n\
         {} an SM at a time; of the busiest SM's {}, {} simulated and the rest extended\n\n",
        what.join(", "),
        thousands(report.clocks as u64),
        report.milliseconds,
        report.card,
        report.mhz,
        report.limit.sentences(),
        plural(report.resident.into(), "CTA"),
        plural(report.clusters, "cluster"),
        report.simulated,
    );
    let busy = report.busy;
    let pipes = busy.named();
    let rows = |rows: &mut dyn Iterator<Item = Vec<String>>| rows.collect::<Vec<_>>();
    let pipes = rows(
        &mut (pipes.iter().filter(|(_, part)| *part >= 0.0005))
            .map(|(name, part)| vec![(*name).to_owned(), percent(*part)]),
    );
    let reasons = report.stalls.iter().filter(|one| one.per_issue >= 0.005);
    let reasons =
        rows(&mut reasons.map(|one| vec![shown(one.finer), format!("{:.2}", one.per_issue)]));
    let lines = rows(&mut report.lines.iter().map(|line| {
        let mostly = format!("{} {}", shown(line.mostly), percent(line.mostly_share));
        vec![line.source.clone(), percent(line.share), mostly]
    }));
    let tables = [
        table(&["pipe", "busy"], &pipes),
        table(&["stall reason", "clocks an instruction"], &reasons),
        table(&["line", "clocks of warps", "mostly"], &lines),
    ];
    let tables: Vec<String> = tables.iter().map(|lines| lines.join("\n") + "\n").collect();
    text + &tables.join("\n")
}
