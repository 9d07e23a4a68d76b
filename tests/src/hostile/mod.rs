//! The fuzz targets: one function for each parser of text that others wrote, all within small limits of time and
//! memory. `tests/fuzz/` searches for inputs that make one panic, and `cargo test` replays the inputs found so far.
//!
//! | target | input |
//! | --- | --- |
//! | `ptx` | PTX, to be parsed and lowered |
//! | `emulate` | a byte of setup, then PTX, to be run with a small instruction limit |
//! | `recordings` | the name of a recording in the first line, then its bytes |
//! | `tables` | a byte that selects the file, then its text: `bench.json`, `tiles.csv`, accesses for `banks` |
//! | `answers` | answers to an exam's questions, in TOML |
//! | `layouts` | words after `cargo ladder layout`, one on each line |
//! | `sources` | a selector byte, then CUDA source, from which the device code is extracted |
//! | `launches` | a selector byte, then arguments of a launch and the head of a file, or a `.npy` file |
//! | `machine_code` | a selector byte, then machine code as `nvdisasm` prints it or as it is committed; a launch is timed with it |
//! | `approximate` | words after `cargo ladder approximate`, one on each line |
//! | `arguments` | words after `cargo run -p rung01_naive --`, one on each line |
mod arguments;
mod emulate;
mod launches;
mod machine_code;
pub mod mutate;
mod tables;

/// Accepts any bytes and must return.
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

/// The target of this name, which is also the fuzzer's name.
///
/// # Panics
/// If there is none.
pub fn target(name: &str) -> Target {
    let found = TARGETS.iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("no target {name}")).1
}
