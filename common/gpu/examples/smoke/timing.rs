//! Interleaved contestants, and the sensors during the measurement.
use std::time::Duration;

use gpu::{
    Buffer, Contestant, Context, Cublas, CublasLt, Elements, GpuError, KernelArg, Samples,
    Telemetry, Timing, alternate, kernels_of,
};

use super::cublas::{as_f16, numbers};
use super::launches::{ADD, plain};
use super::{Outcome, ensure};

pub fn alternation(gpu: &Context) -> Outcome {
    const N: usize = 1024;
    const ROTATIONS: usize = 12; // 12 x 6 MiB: more than any L2 cache
    let matrix = |seed| gpu.upload("in", &as_f16(&numbers(N * N, seed)));
    let sets = (0..ROTATIONS)
        .map(|i| {
            Ok([
                matrix(2 * i)?,
                matrix(2 * i + 1)?,
                gpu.alloc("out", N * N * 2)?,
            ])
        })
        .collect::<Result<Vec<[Buffer; 3]>, GpuError>>()?;
    let cublas = Cublas::new(gpu)?;
    let lt = CublasLt::tune(gpu, &[sets[0].each_ref()], [N; 3], 1)?;
    let add = gpu.load_module(ADD)?.function("add")?;
    let add_args = |set: &[Buffer; 3]| {
        let args = [
            KernelArg::Buffer(&set[0]),
            KernelArg::Buffer(&set[2]),
            KernelArg::U32(1),
        ];
        gpu.launch(&add, &plain(1024, 256), &args)
    };
    let contestants = [
        Contestant {
            name: "cublas".into(),
            enqueue: Box::new(|i| cublas.gemm(Elements::F16, sets[i].each_ref(), [N; 3])),
        },
        Contestant {
            name: "cublaslt".into(),
            enqueue: Box::new(|i| lt.run(0, sets[i].each_ref())),
        },
        Contestant {
            name: "add".into(),
            enqueue: Box::new(|i| add_args(&sets[i])),
        },
    ];
    let mut report = String::new();
    for (graph, rest) in [(false, 0), (true, 0), (true, 5)] {
        let timing = Timing {
            rounds: 20,
            warmup: 5,
            launches_per_sample: 24,
            graph,
            rotations: ROTATIONS,
            rest: Duration::from_millis(rest),
            ..Timing::default()
        };
        let all = alternate(gpu, &contestants, &timing)?;
        report += &format!("\n  graph: {graph}, idle for {rest} ms after each sample");
        for samples in &all {
            ensure(samples.milliseconds.len() == 20, "a sample is missing")?;
            ensure(
                samples.mhz.len() == 20
                    && samples.mhz.iter().all(|mhz| (200.0..3000.0).contains(mhz)),
                format!("implausible clocks: {:?}", samples.mhz),
            )?;
            ensure(
                samples.min() > 1e-4 && samples.max() < 10.0,
                format!("implausible: {samples:?}"),
            )?;
            report += &line(samples, N);
        }
    }
    for contestant in &contestants {
        let kernels = kernels_of(gpu, || (contestant.enqueue)(0))?;
        let own = contestant.name == "add";
        ensure(
            kernels
                .iter()
                .all(|name| !name.is_empty() && (!own || name == "add")),
            format!("implausible names: {kernels:?}"),
        )?;
        report += &format!("\n    {} launches {}", contestant.name, kernels.join(" + "));
    }
    let failing = [Contestant {
        name: "none".into(),
        enqueue: Box::new(|_| Err(GpuError::NoDevice)),
    }];
    let timing = Timing {
        warmup: 0,
        graph: true,
        ..Timing::default()
    };
    ensure(
        alternate(gpu, &failing, &timing).is_err(),
        "a failing contestant was timed",
    )?;
    let fails = kernels_of(gpu, || Err(GpuError::NoDevice));
    ensure(
        fails.is_err() || fails.is_ok_and(|names| names.is_empty()),
        "a failing contestant has a kernel",
    )?;
    ensure(
        gpu.read(&sets[0][2]).is_ok(),
        "the stream is stuck in a capture",
    )?;
    Ok(report)
}

fn line(samples: &Samples, n: usize) -> String {
    let (name, median, spread) = (&samples.name, samples.median(), samples.spread());
    let tflops = 2.0 * (n as f64).powi(3) / median / 1e9;
    format!(
        "\n    {name:8} {median:.5} ms, {tflops:.0} TFLOP/s if a product, spread {:.1}%, {:.0} MHz",
        spread * 100.0,
        samples.median_mhz().unwrap_or(f64::NAN)
    )
}

pub fn telemetry(gpu: &Context) -> Outcome {
    const N: usize = 4096;
    let (a, b) = (
        gpu.upload("in", &as_f16(&numbers(N * N, 1)))?,
        gpu.upload("in", &as_f16(&numbers(N * N, 2)))?,
    );
    let c = gpu.alloc("out", N * N * 2)?;
    let cublas = Cublas::new(gpu)?;
    let (ran, telemetry) = Telemetry::during(gpu, || {
        for _ in 0..2000 {
            cublas.gemm(Elements::F16, [&a, &b, &c], [N; 3])?;
        }
        gpu.synchronize()
    });
    ran?;
    match telemetry {
        None => Ok("none offered".into()),
        Some(telemetry) => {
            ensure(
                telemetry.sm_mhz.max > 100.0
                    && telemetry.samples > 2
                    && telemetry
                        .mean_watts
                        .is_none_or(|watts| (20.0..2000.0).contains(&watts)),
                format!("implausible: {telemetry:?}"),
            )?;
            Ok(format!("{telemetry:?}"))
        }
    }
}
