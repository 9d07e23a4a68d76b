//! `cargo ladder clocks`: the clocks at which the consumers of a rung's kernel begin, wait for a tile, pause between
//! two tiles of C, and end.
mod draw;
mod instrument;
mod recorded;
mod timeline;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use emulator::Ptx;
use harness::rungs;
use harness::schema;
use harness::table::table;
use harness::{LaunchSpec, Size};
use serde_json::Value;

use crate::tiles;
use explain::layout::Format;
use instrument::{BLOCKS, EVENTS, Event, WARPS, event};

#[derive(clap::Args)]
pub struct Arguments {
    /// The rung, from 06 on
    #[arg(required_unless_present = "recorded")]
    rung: Option<String>,
    /// Summarize the logs in this folder, or with a rung and `--format svg`, draw that rung's log over time; needs no
    /// GPU
    #[arg(long, value_name = "DIR")]
    recorded: Option<PathBuf>,
    /// The format of the summary of recorded logs
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "recorded")]
    format: Format,
    /// The size
    #[arg(long, default_value = "4096")]
    size: Size,
    /// For a kernel with several tiles, the one to log [default: the tile that the rung takes at this size]
    #[arg(long)]
    tile: Option<String>,
    /// Where to run: gpu or gpu:N. On the emulator a clock is a warp instruction, which is not a GPU's time
    #[arg(long, default_value = "gpu")]
    device: String,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(folder) = &arguments.recorded {
        let logs = recorded::all(folder)?;
        let text = match &arguments.rung {
            Some(rung) => one(&logs, &rungs::find(rung)?.name, arguments.format)?,
            None => summary(&logs, arguments.format)?,
        };
        harness::print!("{text}");
        return Ok(true);
    }
    let rung = rungs::find(arguments.rung.as_deref().unwrap_or_default())?;
    rungs::build(std::slice::from_ref(&rung))?;
    let kernels = rung.kernels()?;
    let tile = match (&arguments.tile, &kernels[..]) {
        (None, [_, _, ..]) => tiles::taken(&rung, arguments.size)?,
        (tile, _) => tile.clone(),
    };
    let wanted = |of: &String| tile.as_ref().is_none_or(|wanted| wanted == of);
    let kernel = kernels
        .iter()
        .find(|kernel| wanted(&kernel.kernel().tile()));
    let kernel = kernel
        .with_context(|| {
            let tiles: Vec<String> = kernels
                .iter()
                .map(|kernel| kernel.kernel().tile())
                .collect();
            let (wanted, tiles) = (tile.as_deref().unwrap_or_default(), tiles.join(", "));
            format!(
                "rung {} has no tile {wanted}, only {tiles}; omit `--tile`",
                rung.name
            )
        })?
        .kernel();
    let ptx = instrument::instrumented(&kernel.current(&rung.place())?.ptx)?;
    let steps = steps_of_a_tile(&ptx, arguments.size);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("clocks.ptx");
    std::fs::write(&path, ptx)?;
    let output = Command::new(rung.executable()?)
        .args([
            "--json",
            "--device",
            &arguments.device,
            "--size",
            &arguments.size.to_string(),
        ])
        .arg("--kernel")
        .arg(&path)
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(
        output.status.success(),
        "rung {} did not run, or C was wrong; `clocks` needs an NVIDIA GPU, and results/ has recorded logs (clocks/)",
        rung.name
    );
    let report: Value = serde_json::from_slice(&output.stdout).context("the rung's report")?;
    let words = report["clock_log"]
        .as_array()
        .context("the kernel logged nothing")?;
    let words: Vec<u64> = words.iter().filter_map(Value::as_u64).collect();
    let logs: Vec<Log> = words
        .chunks(WARPS * EVENTS)
        .take(BLOCKS)
        .filter_map(Log::of_block)
        .collect();
    if logs.is_empty() {
        bail!(
            "no block logged two steps and its end: at {} K has a single step, or more than the log holds, which are \
             {EVENTS} events a warp",
            arguments.size
        );
    }
    let whose = report["provenance"]["gpu"]
        .as_str()
        .unwrap_or("the emulator, where a clock is a warp instruction");
    let of_tile = tile.map_or(String::new(), |tile| format!(", tile {tile}"));
    harness::println!(
        "{} at {}{of_tile}, clocks on {whose}\n",
        rung.name,
        arguments.size
    );
    let rows: Vec<Vec<String>> = logs
        .iter()
        .enumerate()
        .map(|(block, log)| log.row(block, steps))
        .collect();
    for line in table(
        &[
            "block",
            "prologue",
            "steps",
            "a step",
            "slowest 10%",
            "pause",
            "end",
            "in all",
        ],
        &rows,
    ) {
        harness::println!("{line}");
    }
    harness::println!(
        "\nof the first warp that multiplies. prologue: until A and B of the first step are there; a step: from one to the\n\
         next, the median; pause: how much longer the first step of each further tile of C takes; end: from the last step on"
    );
    Ok(true)
}

/// A summary of the recorded logs. As JSON it is an object with the rungs' names as keys, from which the book takes
/// its numbers.
fn summary(logs: &[recorded::Recorded], format: Format) -> Result<String> {
    Ok(match format {
        Format::Text => recorded::text(logs),
        Format::Svg => draw::svg(logs),
        Format::Json => {
            let named: BTreeMap<_, _> = logs.iter().map(|log| (&log.rung, log)).collect();
            schema::CLOCKS.pretty(&named)
        }
    })
}

/// The log of one rung.
fn one(logs: &[recorded::Recorded], rung: &str, format: Format) -> Result<String> {
    let place = logs.iter().position(|log| log.rung == rung);
    let place = place.with_context(|| {
        let names: Vec<&str> = logs.iter().map(|log| log.rung.as_str()).collect();
        format!(
            "no clock log of {rung} is recorded there, only of {}; on a GPU, omit `--recorded`",
            names.join(", ")
        )
    })?;
    Ok(match format {
        Format::Text => recorded::text(&logs[place..=place]),
        Format::Svg => {
            let before = place.checked_sub(1).map(|place| &logs[place]);
            timeline::svg(&logs[place], before)
        }
        Format::Json => schema::CLOCKS.pretty(&logs[place]),
    })
}

/// Steps along K for each tile of C, if a block computes several; every kernel waits once in each step.
fn steps_of_a_tile(ptx: &str, size: Size) -> Option<usize> {
    let spec = LaunchSpec::of(&Ptx::parse(ptx).ok()?).ok()?;
    let steps = size.k.div_ceil(spec.tile.bk) as usize;
    (spec.persistent_per_sm > 0).then_some(steps)
}

/// The log of one consumer warp.
struct Log {
    start: u64,
    /// The clock at which each tile of A and B was loaded.
    steps: Vec<u64>,
    end: u64,
}

impl Log {
    /// The log of the first warp that multiplies: the first that commits groups of wgmmas, or the first warp if none
    /// does.
    fn of_block(words: &[u64]) -> Option<Self> {
        let warps: Vec<Vec<(Event, u64)>> = words
            .chunks(EVENTS)
            .map(|warp| warp.iter().map_while(|&word| event(word)).collect())
            .collect();
        let multiplies =
            |warp: &&Vec<(Event, u64)>| warp.iter().any(|(event, _)| *event == Event::Multiply);
        let warp = warps.iter().find(multiplies).or_else(|| warps.first())?;
        let of = |wanted| {
            warp.iter()
                .filter(move |(event, _)| *event == wanted)
                .map(|(_, clock)| *clock)
        };
        let steps: Vec<u64> = of(Event::Wait).collect();
        (steps.len() > 1).then_some(())?;
        Some(Self {
            start: of(Event::Start).next()?,
            steps,
            end: of(Event::End).max()?,
        })
    }

    /// `per_tile`: steps for each tile of C, if there are several.
    fn row(&self, block: usize, per_tile: Option<usize>) -> Vec<String> {
        let between: Vec<u64> = self
            .steps
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .collect();
        let step = at(between.clone(), 50);
        // From the last step of a tile of C to the first of the next.
        let pauses = between.iter().skip(per_tile.unwrap_or(usize::MAX) - 1);
        let pauses: Vec<u64> = pauses.step_by(per_tile.unwrap_or(1)).copied().collect();
        let (first, last) = (self.steps[0], self.steps[self.steps.len() - 1]);
        let numbers = [
            Some(first.saturating_sub(self.start)),
            Some(self.steps.len() as u64),
            step,
            at(between, 90),
            at(pauses, 50)
                .zip(step)
                .map(|(pause, step)| pause.saturating_sub(step)),
            Some(self.end.saturating_sub(last)),
            Some(self.end.saturating_sub(self.start)),
        ];
        let cells = numbers.map(|number| number.map_or(String::new(), harness::thousands));
        std::iter::once(block.to_string()).chain(cells).collect()
    }
}

/// The percentile of the numbers.
fn at(mut numbers: Vec<u64>, percent: usize) -> Option<u64> {
    numbers.sort_unstable();
    let last = numbers.len().checked_sub(1)?;
    Some(numbers[last * percent / 100])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_the_additional_time_of_a_tiles_first_step() {
        let log = Log {
            start: 1000,
            steps: vec![1500, 1600, 1700, 2100, 2200, 2300],
            end: 2700,
        };
        let row = |per_tile| log.row(3, per_tile).join(" ");
        assert_eq!(row(Some(3)), "3 500 6 100 100 300 400 1,700");
        assert_eq!(row(None), "3 500 6 100 100  400 1,700");
        assert_eq!(row(Some(6)), "3 500 6 100 100  400 1,700");
    }
}
