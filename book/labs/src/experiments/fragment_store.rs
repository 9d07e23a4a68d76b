//! Stores an accumulator's registers to shared memory.
use emulator::InstructionKind;
use harness::table::thousands;

use super::{kernel, same_words, sixteen_rows, table_of, ways};
use crate::expected::Expected;
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "fragment_store",
    about: "A fragment from registers to rows in shared memory: 4-byte stores, shuffles and stmatrix, plain and swizzled",
    kernels: &[kernel!("fragment_store", "kernel_hopper", "sm_90a")],
    launches,
    remarks,
    time: None,
};

fn launches(_: Scale) -> Vec<Launch> {
    let bytes = sixteen_rows(64);
    let expected = Expected::Words(same_words(&bytes));
    let launch = |entry: &'static str, layout: &str, mask: u32| {
        let arguments = vec![
            Argument::Input(bytes.clone()),
            Argument::Output(bytes.len()),
            Argument::Int(mask),
        ];
        let name = format!("{entry}, {layout}");
        let launch = Launch::of_a_warp(name, entry, arguments, expected.clone());
        launch.in_file("kernel_hopper.cu")
    };
    let of = |entry| [launch(entry, "plain", 0), launch(entry, "swizzled", 7)];
    ["stores", "shuffles", "stmatrix"]
        .into_iter()
        .flat_map(of)
        .collect()
}

/// The instructions and wavefronts of each way from the registers to the tile.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    let row = |done: &CompletedLaunch| {
        let section = done.section("Put");
        let all = section.sum();
        let stores = section.sum_of(InstructionKind::is_store);
        let is_shuffle = |kind: &InstructionKind| matches!(kind, InstructionKind::Shuffle);
        let shuffles = section.sum_of(is_shuffle);
        let [wavefronts, ways] = ways(&all);
        vec![
            done.launch.name.clone(),
            thousands(all.executions),
            thousands(shuffles.executions),
            thousands(stores.executions),
            wavefronts,
            ways,
        ]
    };
    let head = [
        "section Put",
        "PTX instructions",
        "shuffles",
        "stores",
        "wavefronts / ideal",
        "ways",
    ];
    vec![table_of(&head, done, row)]
}
