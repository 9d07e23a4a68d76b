//! Which words a warp can read in one wavefront.

use super::{kernel, words};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "broadcast",
    about: "One read of 32 words: all the same, pairs, other words of one bank, strides 1 to 33",
    kernels: &[kernel!("broadcast", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
    time: None,
};

/// The value that the kernel stores in a word.
fn value(word: u32) -> u32 {
    100 * word
}

/// The word that a lane reads.
type Word = fn(u32) -> u32;

/// Patterns other than strides.
const CHOSEN: [(&str, Word); 5] = [
    ("one word", |_| 7),
    ("pairs", |lane| lane / 2),
    ("backwards", |lane| 31 - lane),
    ("two words of each bank", |lane| lane / 2 + lane % 2 * 32),
    (
        "two words of one bank",
        |lane| if lane == 31 { 32 } else { lane },
    ),
];

fn launches(_: Scale) -> Vec<Launch> {
    let expected = |word: &dyn Fn(u32) -> u32| {
        Expected::Words((0..32).map(|lane| value(word(lane))).collect())
    };
    let chosen = CHOSEN.map(|(name, word)| {
        let which = Argument::Input(words((0..32).map(word)));
        let arguments = vec![which, Argument::Output(128)];
        Launch::of_a_warp(name, "chosen", arguments, expected(&word))
    });
    let strided = [1, 2, 3, 4, 8, 16, 32, 33].map(|stride| {
        let arguments = vec![Argument::Int(stride), Argument::Output(128)];
        let expected = expected(&|lane| lane * stride);
        Launch::of_a_warp(format!("stride {stride}"), "strided", arguments, expected)
    });
    chosen.into_iter().chain(strided).collect()
}
