//! An accumulator's registers on their way to shared memory.
use harness::lines::sum;
use harness::table::{factor, thousands};

use super::{kernel, named, table_of};
use crate::expected::Expected;
use crate::lab::{Argument, Done, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "fragment_store",
    about: "A fragment from registers to rows in shared memory: 4-byte stores and stmatrix, plain and swizzled",
    kernels: &[kernel!("fragment_store", "kernel_hopper", "sm_90a")],
    launches,
    remarks,
};

const ROWS: usize = 16;
const COLUMNS: usize = 64;

fn launches(_: Scale) -> Vec<Launch> {
    let matrix: Vec<_> = (0..ROWS * COLUMNS)
        .map(|i| named(i / COLUMNS, i % COLUMNS, COLUMNS))
        .collect();
    let bytes = harness::to_bytes(&matrix);
    let (words, _) = bytes.as_chunks::<4>();
    let expected = Expected::Words(words.iter().map(|word| u32::from_le_bytes(*word)).collect());
    let launch = |entry: &'static str, layout: &str, mask: u32| {
        let arguments = vec![
            Argument::Input(bytes.clone()),
            Argument::Output(bytes.len()),
            Argument::Int(mask),
        ];
        let launch = Launch::of_a_warp(
            &format!("{entry}, {layout}"),
            entry,
            arguments,
            expected.clone(),
        );
        Launch {
            file: "kernel_hopper.cu",
            ..launch
        }
    };
    let of = |entry| [launch(entry, "plain", 0), launch(entry, "swizzled", 7)];
    ["stores", "stmatrix"].into_iter().flat_map(of).collect()
}

/// What each way takes between the registers and the tile.
fn remarks(done: &[Done]) -> Vec<Vec<String>> {
    let row = |done: &Done| {
        let section = done.section("Put");
        let all = sum(section.iter().map(|(_, counters)| *counters));
        let stores = section.iter().filter(|(text, _)| text.starts_with("st"));
        vec![
            done.launch.name.clone(),
            thousands(all.executions),
            thousands(stores.map(|(_, counters)| counters.executions).sum()),
            format!(
                "{} / {}",
                thousands(all.shared.wavefronts),
                thousands(all.shared.ideal)
            ),
            factor(all.shared.wavefronts, all.shared.ideal),
        ]
    };
    let head = [
        "section Put",
        "PTX instructions",
        "stores",
        "wavefronts / ideal",
        "ways",
    ];
    vec![table_of(&head, done, row)]
}
