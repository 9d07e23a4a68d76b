//! Times the launches of an experiment, interleaved in one process.
//!
//! Each reads and writes the same buffers again and again, so that data that fits into the L2 cache is there. That is
//! suitable for comparing launches that move the same bytes, but is not a measurement of DRAM.
use gpu::{Contestant, Context, Telemetry, Timing, alternate};
use harness::table::table;
use harness::{Device, Error as HarnessError, OnGpu, Provenance, on_gpu};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::device::{PreparedLaunch, source};
use crate::lab::{Lab, Launch, Purpose};
use crate::run::{Error, Result};

/// All launches of a lab, timed.
#[derive(Serialize)]
pub struct Timed {
    lab: &'static str,
    launches: Vec<Time>,
    provenance: Provenance,
}

/// The timing of one launch.
#[derive(Serialize)]
struct Time {
    name: String,
    /// Blocks along x and y, and threads of each.
    grid: [u32; 2],
    threads: u32,
    /// Median, least and greatest over all samples, in microseconds a launch.
    microseconds: f64,
    fastest: f64,
    slowest: f64,
    /// The width of the middle 80% of the samples, relative to the median.
    spread: f64,
    /// The first launch's time divided by this one's.
    speedup: f64,
    /// The rate of the matrix products alone; null if there are none.
    tflops: Option<f64>,
    samples: usize,
    registers: u32,
    blocks_per_multiprocessor: u32,
    checked: usize,
}

/// Checks the values of each launch, then times all launches with correct values.
pub fn run(lab: &Lab, launches: &[Launch], arguments: &Arguments, gpu: Context) -> Result<Timed> {
    let right = launches.iter().filter(|one| one.purpose == Purpose::Right);
    let right: Vec<&Launch> = right.collect();
    let Some(first) = right.first() else {
        return Err(Error::Usage(format!(
            "{} has no such launch whose values are right",
            lab.name
        )));
    };
    let mut device = Device::Gpu(gpu);
    let mut all = Vec::new();
    for launch in &right {
        let one = PreparedLaunch::new(lab, launch, arguments, &mut device)?;
        one.launch(&mut device)?;
        let verdict = launch.expected.check(&one.output(&device)?);
        if !verdict.ok() {
            let why = format!(
                "{} {}: {} of {} values are wrong",
                lab.name, launch.name, verdict.wrong, verdict.checked
            );
            return Err(harness::Error::Fault(vec![why]).into());
        }
        all.push((launch, one, verdict.checked));
    }
    let Device::Gpu(gpu) = &device else {
        return Err(HarnessError::OtherDevice.into());
    };
    let mut contestants = Vec::new();
    let mut resources = Vec::new();
    for (launch, ready, _) in &all {
        let function = ready.function.on_gpu()?;
        let (config, args) = on_gpu(&ready.config, &ready.args)?;
        let blocks = function.blocks_per_sm(config.block[0], config.dynamic_shared)?;
        resources.push((function.registers(), blocks));
        contestants.push(Contestant {
            name: launch.name.clone(),
            enqueue: Box::new(move |_| gpu.launch(function, &config, &args)),
        });
    }
    let timing = Timing {
        rounds: 50,
        graph: true,
        ..Timing::default()
    };
    let (samples, sensors) = Telemetry::during(gpu, || alternate(gpu, &contestants, &timing));
    let samples = samples?;
    let base = samples.first().map_or(f64::NAN, gpu::Samples::median);
    let mut launches = Vec::new();
    let timed = all.iter().zip(&samples).zip(resources);
    for (((launch, _, checked), samples), (registers, blocks_per_multiprocessor)) in timed {
        let median = samples.median();
        launches.push(Time {
            name: launch.name.clone(),
            grid: launch.grid,
            threads: launch.threads,
            microseconds: median * 1e3,
            fastest: samples.min() * 1e3,
            slowest: samples.max() * 1e3,
            spread: samples.spread(),
            speedup: base / median,
            tflops: (launch.flops > 0.0).then_some(launch.flops / median / 1e9),
            samples: samples.milliseconds.len(),
            registers,
            blocks_per_multiprocessor,
            checked: *checked,
        });
    }
    let source = source(lab, first, arguments)?;
    let mut provenance = Provenance::of(source.file.clone(), source.origin.to_string());
    provenance.gpu = Some(OnGpu::new(gpu.info(), None).with(sensors));
    Ok(Timed {
        lab: lab.name,
        launches,
        provenance,
    })
}

impl Timed {
    /// As text for a terminal.
    pub fn text(&self) -> String {
        let row = |time: &Time| {
            vec![
                time.name.clone(),
                format!("{:.2}", time.microseconds),
                format!("{:.1}%", 100.0 * time.spread),
                format!("{:.2}x", time.speedup),
                time.tflops.map_or("-".into(), |rate| format!("{rate:.1}")),
                time.registers.to_string(),
                time.blocks_per_multiprocessor.to_string(),
            ]
        };
        let rows: Vec<_> = self.launches.iter().map(row).collect();
        let head = [
            "",
            "microseconds",
            "spread",
            "speedup",
            "TFLOP/s",
            "registers",
            "blocks",
        ];
        let mut lines = table(&head, &rows);
        lines.extend(self.provenance.lines());
        let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("{}\n\n{lines}", self.lab)
    }
}
