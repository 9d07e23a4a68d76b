//! The report of a launch for a reader.
use std::fmt::Write as _;

use emulator::{LaunchReport, Printed};
use harness::lines::by_line;
use harness::table::{plural, table, thousands};
use harness::{Function, LaunchConfig, Target, memory, source_lines};
use owo_colors::OwoColorize;
use serde::Serialize;

use super::compare::Comparison;
use super::npy::Array;
use super::program::Program;

/// The most elements of a buffer that are shown.
const FIRST: usize = 6;

/// The buffer of an argument after the launch.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    pub argument: usize,
    #[serde(rename = "type")]
    pub element: &'static str,
    pub shape: Vec<u64>,
    /// How many elements have changed.
    pub changed: usize,
    /// The range of the elements that are numbers.
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub mean: Option<f64>,
    pub nan: usize,
    pub first: Vec<String>,
}

impl Summary {
    pub fn new(argument: usize, before: &Array, after: &Array) -> Self {
        let width = after.element.bytes();
        let pairs = before
            .bytes
            .chunks_exact(width)
            .zip(after.bytes.chunks_exact(width));
        let values = || after.element.values(&after.bytes);
        let numbers: Vec<f64> = values()
            .map(|value| value.as_f64())
            .filter(|value| !value.is_nan())
            .collect();
        let some = |value: f64| (!numbers.is_empty()).then_some(value);
        Self {
            argument,
            element: after.element.name(),
            shape: after.shape.clone(),
            changed: pairs.filter(|(before, after)| before != after).count(),
            min: some(numbers.iter().copied().fold(f64::INFINITY, f64::min)),
            max: some(numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
            mean: some(numbers.iter().sum::<f64>() / numbers.len() as f64),
            nan: values().len() - numbers.len(),
            first: values()
                .take(FIRST)
                .map(|value| value.to_string())
                .collect(),
        }
    }

    fn row(&self) -> Vec<String> {
        let sides: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.6}"));
        let all = npy_count(&self.shape);
        let more = if all > self.first.len() { " …" } else { "" };
        vec![
            format!("{}: {}[{}]", self.argument, self.element, sides.join(",")),
            thousands(self.changed as u64),
            number(self.min),
            number(self.max),
            number(self.mean),
            thousands(self.nan as u64),
            self.first.join(" ") + more,
        ]
    }
}

fn npy_count(shape: &[u64]) -> usize {
    super::npy::count(shape).unwrap_or(usize::MAX)
}

/// What ran on which device.
pub fn head(
    program: &Program,
    config: &LaunchConfig,
    target: &Target,
    warnings: &[String],
) -> String {
    let mut text = format!("{}\n", program.kernel.shown().bold());
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "  {}{value}", format!("{label:<10}").dimmed());
    };
    line(
        "on",
        match target {
            Target::Emulator(card) => format!("the emulator, as an {}", card.name().to_uppercase()),
            Target::Gpu(info) => info.name.clone(),
        },
    );
    let source = &program.source;
    line(
        "kernel",
        format!("{} for {}, {}", source.file, source.arch, source.origin),
    );
    let shape = |[x, y, z]: [u32; 3]| match (y, z) {
        (1, 1) => x.to_string(),
        (_, 1) => format!("{x} x {y}"),
        _ => format!("{x} x {y} x {z}"),
    };
    let counted = |size: [u32; 3], noun| match size {
        [1, 1, 1] => format!("1 {noun}"),
        _ => format!("{} {noun}s", shape(size)),
    };
    let mut launch = format!(
        "{} of {}",
        counted(config.grid, "block"),
        counted(config.block, "thread")
    );
    if config.cluster != [1; 3] {
        launch += &format!(", in clusters of {}", shape(config.cluster));
    }
    if config.dynamic_shared > 0 {
        launch += &format!(
            ", {} of dynamic shared memory",
            plural(config.dynamic_shared.into(), "byte")
        );
    }
    line("launch", launch);
    for warning in warnings {
        line("warning", warning.yellow().to_string());
    }
    text
}

/// The buffers that the launch changed.
pub fn buffers(summaries: &[Summary]) -> String {
    let changed: Vec<Vec<String>> = summaries
        .iter()
        .filter(|one| one.changed > 0)
        .map(Summary::row)
        .collect();
    let head = [
        "argument",
        "changed",
        "min",
        "max",
        "mean",
        "NaN",
        "first values",
    ];
    let mut text = String::new();
    match changed.is_empty() {
        true if summaries.is_empty() => {}
        true => text += "\n  no buffer was changed\n",
        false => harness::section(&mut text, &table(&head, &changed)),
    }
    text
}

/// Whether each buffer is as expected, and the first elements that differ.
pub fn comparisons(all: &[Comparison]) -> String {
    let mut text = String::new();
    for one in all {
        let elements = plural(one.elements as u64, "element");
        if one.different == 0 {
            let near = if one.largest > 0.0 {
                format!(", the worst {:e} off", one.largest)
            } else {
                String::new()
            };
            let said = format!("argument {} is as expected: {elements}{near}", one.argument);
            let _ = writeln!(text, "\n  {}", said.green());
            continue;
        }
        let said = format!(
            "argument {} is WRONG: {} of {elements} differ, the worst by {:e}; --tolerance REL,ABS allows some",
            one.argument,
            thousands(one.different as u64),
            one.largest
        );
        let _ = writeln!(text, "\n  {}", said.red().bold());
        let rows: Vec<Vec<String>> = one
            .first
            .iter()
            .map(|first| {
                let index: String = first.index.iter().map(|i| format!("[{i}]")).collect();
                vec![index, first.is.clone(), first.expected.clone()]
            })
            .collect();
        for line in table(&["first", "is", "expected"], &rows) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text
}

/// The source line by line, then the total memory traffic.
pub fn profile(program: &Program, function: &Function, run: &LaunchReport) -> String {
    let instructions = function.instructions();
    let lines = by_line(&program.source, instructions, &run.counters);
    let mut text = format!("\n{}", source_lines(&program.source, &lines));
    text += &memory(instructions, &run.counters);
    text
}

/// The kernel's printf output, as CUDA prints it.
pub fn printed(all: &[Printed]) -> String {
    all.iter().map(|one| one.text.as_str()).collect()
}

/// The same, each line with its thread.
pub fn printed_by(all: &[Printed]) -> String {
    let mut text = String::new();
    for one in all {
        let ([x, y, z], [bx, by, bz]) = (one.location.thread, one.location.block);
        for line in one.text.lines() {
            let _ = writeln!(text, "block ({bx},{by},{bz}) thread ({x},{y},{z}): {line}");
        }
    }
    text
}
