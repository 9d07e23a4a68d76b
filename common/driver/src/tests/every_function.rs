//! Calls every exported function with arbitrary arguments: null, small and huge numbers, handles, and valid memory.
//!
//! The calls are made in a child process, which must not end by a signal. Host pointers are null, too low or too high
//! to be valid, or point to zeroed memory: CUDA, too, dereferences any other pointer.
use std::process::Command;

use super::*;
use crate::error::UNKNOWN;
use crate::host::call_any;
use crate::proc_address::all;
use crate::table::HANDLES;

/// In the child: a seed, and how often each function is called. `GEMM_DRIVER_FUZZ="7 20000" cargo test -p driver
/// no_function` is a long run.
const CHILD: &str = "GEMM_DRIVER_FUZZ";
const USUAL: &str = "24 120";
/// Bytes of memory behind a host pointer: more than the longest list that a count below can describe.
const ROOM: usize = 1 << 20;
/// These take the address of a function, which CUDA calls.
const CALLBACKS: [&str; 3] = [
    "cuLaunchHostFunc",
    "cuStreamAddCallback",
    "cuUserObjectCreate",
];

/// splitmix64
fn next(state: &mut u64) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) as usize
}

/// A word in a list or struct: as an address, it is too low or too high to be valid.
fn in_memory(state: &mut u64, given: &[usize]) -> u64 {
    let any = next(state);
    let handle = given[any % given.len()];
    match next(state) % 12 {
        0 | 1 if handle >= HANDLES => handle as u64,
        2 => any as u64 % 40,
        3 => u64::MAX,
        4 => 1 << 63 | 1 << 31,
        5 => 1 << 61 | 1,
        _ => 0,
    }
}

#[test]
fn calls_of_the_child() {
    let numbers = std::env::var(CHILD).unwrap_or_default();
    let Some((seed, rounds)) = numbers.split_once(' ') else {
        return;
    };
    let (mut state, rounds): (u64, usize) = (
        seed.parse().expect("a seed"),
        rounds.parse().expect("a number"),
    );
    let memory: &'static mut [u64] = Box::leak(vec![0; ROOM / 8].into_boxed_slice());
    let _context = Current::new();
    let mut given = vec![module(ADD)];
    given.push(function(given[0], c"bare"));
    given.push(upload(&[0; 64]) as usize);
    let mut most_arguments = 0;
    for _ in 0..rounds {
        for one in all().iter().filter(|one| !CALLBACKS.contains(&one.name)) {
            for word in &mut memory[..512] {
                *word = in_memory(&mut state, &given);
            }
            let there = memory.as_ptr() as usize;
            let mut arguments = [0; 12];
            for (argument, kind) in arguments.iter_mut().zip(one.arguments) {
                let any = next(&mut state);
                *argument = match next(&mut state) % 8 {
                    0 | 1 => there + any % 4 * 64,
                    2 | 3 => given[any % given.len()],
                    4 => any % 4,
                    5 => [16, 100, 1024, 4096][any % 4],
                    6 => [usize::MAX, usize::MAX / 2, 1 << 60][any % 3],
                    _ => 0,
                };
                // CUDA, too, dereferences a device address that is passed as a host address.
                if !matches!(*kind, "u64" | "Handle")
                    && (1 << 36..HANDLES).contains(argument)
                    && *argument != there
                {
                    *argument = there;
                }
                most_arguments = most_arguments.max(one.arguments.len());
            }
            // Names the call that is responsible if the process crashes.
            eprintln!("{} {arguments:x?}", one.name);
            let code = call_any(one.address, arguments);
            assert_ne!(code, UNKNOWN, "{} panicked", one.name);
            // Remember an output that is a handle or an address.
            let written = memory[0] as usize;
            if code == 0 && written >= 1 << 36 && given.len() < 4000 {
                given.push(written);
            }
        }
    }
    assert!(most_arguments <= 12);
}

#[test]
fn no_function_crashes_the_client() {
    let numbers = std::env::var(CHILD).unwrap_or(USUAL.into());
    let child = Command::new(std::env::current_exe().expect("a path"))
        .args([
            "--exact",
            "tests::every_function::calls_of_the_child",
            "--nocapture",
        ])
        .env(CHILD, numbers)
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&child.stderr);
    let last: Vec<&str> = said.lines().rev().take(6).collect();
    assert!(child.status.success(), "{}: {last:#?}", child.status);
    assert!(
        said.lines().count() > 100 * (all().len() - CALLBACKS.len()),
        "all calls were made"
    );
}
