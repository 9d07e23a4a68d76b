//! The native engine: a request per line on standard input, an answer per line on standard output. Tests compare the
//! WebAssembly module with it.
use std::io::{BufRead, stdin};

fn main() {
    for line in stdin().lock().lines() {
        let line = line.expect("standard input");
        println!("{}", live::answer(line.as_bytes()));
    }
}
