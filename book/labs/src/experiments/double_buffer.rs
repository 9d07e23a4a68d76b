//! Two buffers that are swapped by one XOR of the address.
use emulator::InstructionKind;
use harness::table::thousands;

use super::{kernel, table_of, words};
use crate::expected::Expected;
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "double_buffer",
    about: "One buffer, two chosen by the step's number, two swapped by one XOR of the address; and where that goes wrong",
    kernels: &[kernel!("double_buffer", "kernel", "sm_80")],
    launches,
    remarks,
    time: None,
};

const STEPS: u32 = 16;
const THREADS: u32 = 128;
/// Floats before the buffers, which move the buffers away from an aligned address.
const BEFORE: u32 = 64;

fn launches(_: Scale) -> Vec<Launch> {
    let value = |step: u32, t: u32| (step * THREADS + t) as f32;
    let tiles = (0..STEPS * THREADS).map(|i| value(i / THREADS, i % THREADS).to_bits());
    let input = words(tiles);
    let column = |t: u32| {
        (0..STEPS)
            .map(|step| value(step, THREADS - 1 - t))
            .sum::<f32>()
    };
    let sums: Vec<u32> = (0..THREADS).map(|t| column(t).to_bits()).collect();
    let arguments = |more: &[u32]| {
        let output = Argument::Output(4 * (THREADS + BEFORE) as usize);
        let mut given = vec![Argument::Input(input.clone()), output, Argument::Int(STEPS)];
        given.extend(more.iter().copied().map(Argument::Int));
        given
    };
    let launch = |name, entry, arguments, expected| Launch {
        threads: THREADS,
        ..Launch::of_a_warp(name, entry, arguments, Expected::Words(expected))
    };
    let untouched = vec![(-1f32).to_bits(); BEFORE as usize];
    let with_before = [sums.clone(), untouched].concat();
    let swapped = |name, before| launch(name, "swapped", arguments(&[before]), with_before.clone());
    vec![
        launch("one", "one", arguments(&[]), sums.clone()),
        launch("two, chosen", "chosen", arguments(&[]), sums),
        swapped("two, swapped by XOR", 0),
        // The sums are right even so, since an XOR loses no address. But half of the second buffer is before the
        // first.
        swapped("swapped, not aligned", BEFORE).showing(Purpose::Wrong),
    ]
}

fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    let row = |done: &CompletedLaunch| {
        let section = done.section("Step");
        let warps = u64::from(done.launch.threads / 32 * STEPS);
        let all = section.sum().executions;
        let barriers = section.sum_of(InstructionKind::is_barrier).executions;
        let a_step = |executions: u64| format!("{:.2}", executions as f64 / warps as f64);
        vec![
            done.launch.name.clone(),
            a_step(all),
            a_step(barriers),
            thousands(all),
        ]
    };
    let head = [
        "section Step",
        "PTX instructions a step",
        "barriers",
        "in all",
    ];
    vec![table_of(&head, done, row)]
}
