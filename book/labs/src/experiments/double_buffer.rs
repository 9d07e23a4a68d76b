//! Two buffers that are swapped by one XOR of the address.
use harness::lines::sum;
use harness::table::thousands;

use super::{kernel, table_of, words};
use crate::expected::Expected;
use crate::lab::{Argument, Done, Lab, Launch, Meant, Scale};

pub const LAB: Lab = Lab {
    name: "double_buffer",
    about: "One buffer, two chosen by the step's number, two swapped by one XOR of the address; and where that goes wrong",
    kernels: &[kernel!("double_buffer", "kernel", "sm_80")],
    launches,
    remarks,
};

const STEPS: u32 = 16;
const THREADS: u32 = 128;
/// Floats before the buffers, of which the kernel gives an account.
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
        let given = [Argument::Input(input.clone()), output, Argument::Int(STEPS)];
        given
            .into_iter()
            .chain(more.iter().copied().map(Argument::Int))
            .collect()
    };
    let launch = |name, entry, arguments, expected| Launch {
        threads: THREADS,
        ..Launch::of_a_warp(name, entry, arguments, Expected::Words(expected))
    };
    let untouched = vec![(-1f32).to_bits(); BEFORE as usize];
    let with_before = [sums.clone(), untouched].concat();
    vec![
        launch("one", "one", arguments(&[]), sums.clone()),
        launch("two, chosen", "chosen", arguments(&[]), sums),
        launch(
            "two, swapped by XOR",
            "swapped",
            arguments(&[0]),
            with_before.clone(),
        ),
        // The sums are right even so: an XOR loses no address. But half of the second buffer lies before the first.
        launch(
            "swapped, not aligned",
            "swapped",
            arguments(&[BEFORE]),
            with_before,
        )
        .meant(Meant::Wrong),
    ]
}

fn remarks(done: &[Done]) -> Vec<Vec<String>> {
    let row = |done: &Done| {
        let section = done.section("Step");
        let warps = u64::from(done.launch.threads / 32 * STEPS);
        let of = |is: &dyn Fn(&str) -> bool| {
            let of = section
                .iter()
                .filter(|(text, _)| is(text))
                .map(|(_, counters)| *counters);
            format!("{:.2}", sum(of).executions as f64 / warps as f64)
        };
        vec![
            done.launch.name.clone(),
            of(&|_| true),
            of(&|text| text.starts_with("bar")),
            thousands(sum(section.iter().map(|(_, counters)| *counters)).executions),
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
