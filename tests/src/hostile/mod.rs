//! What a fuzzer feeds with any bytes: one function for each reader of text that others wrote, all of them within
//! small bounds of time and memory. `tests/fuzz/` looks for inputs that make one panic, and `cargo test` replays those
//! that it found.
//!
//! | target | input |
//! | --- | --- |
//! | `ptx` | PTX, to be parsed and lowered |
//! | `emulate` | a byte of setup, then PTX, to be run with little fuel |
//! | `recordings` | the name of a recording in the first line, then its bytes |
//! | `tables` | which file in the first byte, then its text: `bench.json`, `tiles.csv`, accesses for `banks` |
//! | `answers` | answers to an exam's questions, in TOML |
//! | `layouts` | words after `cargo ladder layout`, one a line |
//! | `sources` | a byte of choice, then CUDA source, of which the device's part is taken |
//! | `launches` | a byte of choice, then arguments of a launch and the head of a file, or a `.npy` file |
//! | `machine_code` | a byte of choice, then machine code as `nvdisasm` prints it or as the clock keeps it; a launch is timed with it |
//! | `approximate` | words after `cargo ladder approximate`, one a line |
//! | `arguments` | words after `cargo run -p rung01_naive --`, one a line |
mod arguments;
mod emulate;
mod launches;
mod machine_code;
pub mod mutate;
mod tables;

/// Takes any bytes and must come back.
pub type Target = fn(&[u8]);

/// Every target with its name, which is its folder in `tests/fuzz/corpus/`.
pub const TARGETS: [(&str, Target); 11] = [
    ("ptx", emulate::ptx),
    ("emulate", emulate::emulate),
    ("recordings", tables::recordings),
    ("tables", tables::tables),
    ("answers", tables::answers),
    ("layouts", arguments::layouts),
    ("arguments", arguments::arguments),
    ("sources", launches::sources),
    ("launches", launches::launches),
    ("machine_code", machine_code::machine_code),
    ("approximate", machine_code::approximate),
];

/// The target of this name, which is the program's.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target {name}")).1
}
