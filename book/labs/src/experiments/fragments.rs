//! Loads one A fragment into its registers in four ways.
use emulator::InstructionKind;
use harness::table::{table, thousands};

use super::{fragments_a, kernel, sixteen_rows, table_of};
use crate::expected::Expected;
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "fragments",
    about: "One 16x16 operand A by scalar loads, by words, by shuffles, by one ldmatrix; whose addresses x1, x2, x4 use",
    kernels: &[
        kernel!("fragments", "kernel", "sm_80"),
        kernel!("fragments", "kernel_addresses", "sm_80"),
    ],
    launches,
    remarks,
    time: None,
};

fn launches(_: Scale) -> Vec<Launch> {
    let arguments = || vec![Argument::Input(sixteen_rows(16)), Argument::Output(512)];
    let registers = fragments_a(16);
    let ways = ["scalars", "words", "shuffles", "ldmatrix"]
        .map(|name| Launch::of_a_warp(name, name, arguments(), Expected::Words(registers.clone())));
    // Registers that an x1 or x2 does not load stay 0.
    let addresses = [("x1", 1), ("x2", 2), ("x4", 4)].map(|(name, matrices)| {
        let loaded = |(index, word): (usize, &u32)| if index % 4 < matrices { *word } else { 0 };
        let expected = registers.iter().enumerate().map(loaded).collect();
        let launch = Launch::of_a_warp(name, name, arguments(), Expected::Words(expected));
        launch.in_file("kernel_addresses.cu")
    });
    ways.into_iter().chain(addresses).collect()
}

/// The instructions and wavefronts of each way from the tile to the registers.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    let of_ways = done.iter().filter(|done| done.launch.file == "kernel.cu");
    let row = |done: &CompletedLaunch| {
        let section = done.section("Bring");
        let all = section.sum();
        let count = |is: fn(&InstructionKind) -> bool| thousands(section.sum_of(is).executions);
        vec![
            done.launch.name.clone(),
            thousands(all.executions),
            count(InstructionKind::is_load),
            count(|operation| matches!(operation, InstructionKind::Shuffle)),
            thousands(all.shared.wavefronts),
            thousands(all.bytes),
        ]
    };
    let head = [
        "section Bring",
        "PTX instructions",
        "loads",
        "shuffles",
        "wavefronts",
        "bytes",
    ];
    let mut remarks = vec![table_of(&head, of_ways, row)];
    let mut done = done.iter();
    let ldmatrix = done.find(|done| done.launch.name == "ldmatrix");
    remarks.extend(ldmatrix.map(registers));
    remarks
}

/// The elements in lanes 0 to 3 and 31: row and column of the lower half of each register.
fn registers(done: &CompletedLaunch) -> Vec<String> {
    let (found, _) = done.output.as_chunks::<16>();
    let cell = |register: &[u8]| {
        let name = |low: usize| {
            let bits = [register[low], register[low + 1]];
            let number = half::f16::from_le_bytes(bits).to_f32() as u32;
            format!("({}, {})", number / 16, number % 16)
        };
        format!("{} {}", name(0), name(2))
    };
    let row = |lane: usize| {
        let registers = found
            .get(lane)
            .into_iter()
            .flat_map(|bytes| bytes.chunks(4));
        let cells = registers.map(cell);
        [lane.to_string()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = [0, 1, 2, 3, 4, 31].map(row).into();
    let head = [
        "lane",
        "register 0",
        "register 1",
        "register 2",
        "register 3",
    ];
    table(&head, &rows)
}
