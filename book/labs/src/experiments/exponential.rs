//! Powers by a polynomial and by the special function unit.
use emulator::InstructionKind;
use harness::table::table;

use super::{kernel, words};
use crate::expected::{Expected, Near};
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "exponential",
    about: "2^x and e^x by a polynomial, by ex2.approx with and without .ftz, and by expf: instructions and errors",
    kernels: &[kernel!("exponential", "kernel", "sm_80")],
    launches,
    remarks,
    time: None,
};

/// A kernel, and the function that it computes.
type Way = (&'static str, fn(f64) -> f64);

const WAYS: [Way; 6] = [
    ("copy", |x| x),
    ("polynomial", f64::exp2),
    ("ex2_ftz", f64::exp2),
    ("ex2", f64::exp2),
    ("e_ex2_ftz", f64::exp),
    ("e_expf", f64::exp),
];
/// Inputs from -`RANGE` to 0: the range in which a softmax computes powers of 2 or e.
const COUNT: u32 = 8192;
const RANGE: f32 = 16.0;

fn inputs() -> impl Iterator<Item = f32> {
    (0..COUNT).map(|i| (i as f32 + 0.3) / COUNT as f32 * RANGE - RANGE)
}

fn launches(_: Scale) -> Vec<Launch> {
    let x = words(inputs().map(f32::to_bits));
    let launch = |(name, function): Way| {
        let near = |(place, x): (usize, f32)| {
            let value = function(x.into());
            Near {
                place,
                value,
                // Many times the error of any of them.
                bound: value.abs() * 2f64.powi(-18),
            }
        };
        let expected = Expected::NearF32(inputs().enumerate().map(near).collect());
        let arguments = vec![
            Argument::Input(x.clone()),
            Argument::Output(x.len()),
            Argument::Int(COUNT),
        ];
        Launch::of_a_warp(name, name, arguments, expected)
    };
    WAYS.map(launch).into()
}

/// For each way, the instructions of a warp's 32 results beyond those of `copy`, and the errors.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    let emulated = || done.iter().filter(|done| done.emulated.is_some());
    let executions = |done: &CompletedLaunch| done.counted().sum().executions;
    let Some(copy) = emulated().find(|done| done.launch.name == "copy") else {
        return Vec::new();
    };
    let results = f64::from(COUNT / 32);
    let row = |done: &CompletedLaunch| {
        let mufu = done
            .counted()
            .sum_of(|kind| matches!(kind, InstructionKind::Approximate { .. }));
        let more = executions(done).saturating_sub(executions(copy));
        let (least, most, nearest) = errors(done);
        vec![
            done.launch.name.clone(),
            format!("{:.1}", more as f64 / results),
            format!("{:.1}", mufu.executions as f64 / results),
            format!("{least:.2} to {most:.2}"),
            format!("{:.0}%", 100.0 * nearest),
        ]
    };
    let head = [
        "",
        "PTX instructions",
        "of these approximate",
        "error in ulp",
        "the nearest f32",
    ];
    let others = emulated().filter(|done| done.launch.name != "copy");
    vec![table(&head, &others.map(row).collect::<Vec<_>>())]
}

/// The smallest and the largest error in ulps of f32, and the fraction of results that are the nearest f32.
fn errors(done: &CompletedLaunch) -> (f64, f64, f64) {
    let function = WAYS.iter().find(|(name, _)| *name == done.launch.name);
    let (mut least, mut most, mut nearest) = (f64::INFINITY, f64::NEG_INFINITY, 0u32);
    let (results, _) = done.output.as_chunks();
    for (x, result) in inputs().zip(results) {
        let result = f32::from_le_bytes(*result);
        let exact = function.map_or(f64::NAN, |(_, function)| function(x.into()));
        let ulp = 2f64.powi(exact.log2().floor() as i32 - 23);
        let error = (f64::from(result) - exact) / ulp;
        least = least.min(error);
        most = most.max(error);
        nearest += u32::from(result == exact as f32);
    }
    (least, most, f64::from(nearest) / f64::from(COUNT))
}
