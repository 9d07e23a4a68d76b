//! Reads of 16 and 8 bytes a lane.
use super::{kernel, words};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "vectors",
    about: "One read of float4 or float2: strides, phases of different degree, lanes that share, rows padded by a word",
    kernels: &[kernel!("vectors", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
    time: None,
};

/// The first word that a lane reads.
type First = fn(u32) -> u32;

const FOURS: [(&str, First); 13] = [
    ("stride 4", |lane| lane * 4),
    ("stride 8", |lane| lane * 8),
    ("stride 16", |lane| lane * 16),
    ("stride 32", |lane| lane * 32),
    ("stride 36", |lane| lane * 36),
    ("stride 33", |lane| lane * 33),
    ("phases 1, 2, 4, 8", |lane| lane % 8 * (4 << (lane / 8))),
    ("phases 8, 1, 1, 1", |lane| {
        if lane < 8 { lane * 32 } else { lane * 4 }
    }),
    ("phases in the same banks", |lane| {
        lane % 8 * 4 + lane / 8 * 32
    }),
    ("pairs share", |lane| lane / 2 * 4),
    ("every other shares", |lane| (lane / 4 * 2 + lane % 2) * 4),
    ("lanes 8 apart share", |lane| lane % 8 * 4),
    ("all share", |_| 4),
];

const PAIRS: [(&str, First); 6] = [
    ("stride 2", |lane| lane * 2),
    ("stride 4", |lane| lane * 4),
    ("stride 32", |lane| lane * 32),
    ("stride 34", |lane| lane * 34),
    ("stride 33", |lane| lane * 33),
    (
        "phases 1, 16",
        |lane| if lane < 16 { lane * 2 } else { lane * 32 },
    ),
];

fn launches(_: Scale) -> Vec<Launch> {
    let fours = FOURS.map(|(name, first)| launch(format!("float4: {name}"), "fours", 4, first));
    let pairs = PAIRS.map(|(name, first)| launch(format!("float2: {name}"), "pairs", 2, first));
    fours.into_iter().chain(pairs).collect()
}

fn launch(name: String, entry: &'static str, width: u32, first: First) -> Launch {
    let read = (0..32).flat_map(|lane| (0..width).map(move |i| 100 * (first(lane) + i)));
    let arguments = vec![
        Argument::Input(words((0..32).map(first))),
        Argument::Output(128 * width as usize),
    ];
    let launch = Launch::of_a_warp(name, entry, arguments, Expected::Words(read.collect()));
    let aligned = (0..32).all(|lane| first(lane).is_multiple_of(width));
    launch.showing(Purpose::aligned(aligned))
}
