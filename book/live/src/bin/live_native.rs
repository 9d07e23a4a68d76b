//! The engine without WebAssembly: a request a line on standard input, an answer a line on standard output. Tests hold the
//! module against it.
use std::io::{BufRead, stdin};

fn main() {
    for line in stdin().lock().lines() {
        let line = line.expect("standard input");
        println!("{}", live::answer(line.as_bytes()));
    }
}
