//! The object that `--json` prints.
use std::collections::BTreeMap;

use emulator::{Finding, LaunchReport, Printed};
use harness::metrics::Metric;
use harness::{Function, LaunchConfig, Remark, Target, counted_lines, schema};
use serde::Serialize;

use super::compare::Comparison;
use super::program::Program;
use super::report::Summary;

#[derive(Serialize)]
struct Report<'a> {
    file: &'a str,
    kernel: &'a str,
    /// Its name in the PTX.
    entry: &'a str,
    device: String,
    arch: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    dynamic_shared: u32,
    buffers: &'a [Summary],
    expected: &'a [Comparison],
    printed: Vec<Text<'a>>,
    findings: Vec<Found>,
    /// Warnings and notes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remarks: Vec<Remark>,
    warnings: &'a [String],
    /// With Nsight Compute's names; absent after a fatal finding.
    metrics: Option<BTreeMap<&'a str, u64>>,
    /// The lines that access memory, if a profile was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<harness::CountedLine>>,
}

#[derive(Serialize)]
struct Text<'a> {
    block: [u32; 3],
    thread: [u32; 3],
    text: &'a str,
}

#[derive(Serialize)]
struct Found {
    text: String,
    file: Option<String>,
    line: Option<u32>,
    ptx_line: u32,
    block: [u32; 3],
    thread: [u32; 3],
    count: u64,
    fatal: bool,
}

impl From<&Finding> for Found {
    fn from(finding: &Finding) -> Self {
        let place = &finding.location;
        let source = place.source.as_ref();
        Self {
            text: finding.to_string(),
            file: source.map(|source| source.file.to_string()),
            line: source.map(|source| source.line),
            ptx_line: place.ptx_line,
            block: place.block,
            thread: place.thread,
            count: finding.count,
            fatal: finding.is_fatal(),
        }
    }
}

/// The report of a launch.
pub struct Launched<'a> {
    pub program: &'a Program,
    pub config: &'a LaunchConfig,
    pub target: &'a Target,
    pub function: &'a Function,
    pub run: Option<&'a LaunchReport>,
    pub buffers: &'a [Summary],
    pub expected: &'a [Comparison],
    pub metrics: Option<&'a [Metric]>,
    pub profile: bool,
}

/// The object, indented.
pub fn text(launched: &Launched<'_>) -> String {
    let &Launched {
        program,
        config,
        run,
        ..
    } = launched;
    let printed = run
        .iter()
        .flat_map(|run| &run.printed)
        .map(|one: &Printed| Text {
            block: one.location.block,
            thread: one.location.thread,
            text: &one.text,
        });
    let lines = run
        .filter(|run| launched.profile && !run.counters.is_empty())
        .map(|run| {
            counted_lines(
                &program.source,
                launched.function.instructions(),
                &run.counters,
            )
        });
    schema::EMULATE.pretty(&Report {
        file: &program.source.file,
        kernel: &program.kernel.name,
        entry: &program.kernel.entry,
        device: launched.target.name(),
        arch: &program.source.arch,
        grid: config.grid,
        block: config.block,
        cluster: config.cluster,
        dynamic_shared: config.dynamic_shared,
        buffers: launched.buffers,
        expected: launched.expected,
        printed: printed.collect(),
        findings: run
            .iter()
            .flat_map(|run| &run.findings)
            .map(Found::from)
            .collect(),
        remarks: run
            .iter()
            .flat_map(|run| &run.remarks)
            .map(Remark::from)
            .collect(),
        warnings: launched.function.warnings(),
        metrics: launched
            .metrics
            .map(|all| all.iter().map(|metric| (metric.0, metric.2)).collect()),
        lines,
    })
}
