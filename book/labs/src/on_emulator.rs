//! A launch on the emulator.
use emulator::{Arg, Element, Fill, Limits, Memory, Module, Options, Program, TensorMap};
use harness::{KernelFile, Source};

use crate::arguments::{Arguments, Command};
use crate::lab::{Argument, Done, Lab, Launch, Map};
use crate::run::{Error, Result};

/// Bytes of device memory: far more than any experiment needs.
const MEMORY: u64 = 1 << 30;
/// Warp instructions: an experiment takes some thousands.
const INSTRUCTIONS: u64 = 1 << 26;

/// Makes the launch.
pub fn run(lab: &Lab, launch: Launch, arguments: &Arguments) -> Result<Done> {
    let source = source(lab, &launch, arguments)?;
    let bad = |error| harness::Error::Ptx {
        file: source.file.clone(),
        error,
    };
    let module = Module::parse(&source.ptx).map_err(bad)?;
    let program = Program::new(&module, launch.entry).map_err(bad)?;
    let mut memory = Memory::new(MEMORY);
    let mut output = None;
    let mut args = Vec::new();
    for argument in &launch.arguments {
        args.push(match argument {
            Argument::Int(value) => Arg::U32(*value),
            Argument::Input(bytes) => Arg::U64(alloc(&mut memory, "input", bytes.clone())?),
            Argument::Output(bytes) => {
                let address = alloc(&mut memory, "output", vec![0xff; *bytes])?;
                output.get_or_insert(address);
                Arg::U64(address)
            }
            Argument::Map(map) => {
                let address = alloc(&mut memory, "matrix", map.bytes.clone())?;
                Arg::Bytes(encode(map, address)?)
            }
        });
    }
    let shape = emulator::Launch {
        grid: [launch.grid[0], launch.grid[1], 1],
        block: [launch.threads, 1, 1],
        dynamic_shared: launch.dynamic_shared,
        cluster: [1; 3],
        args,
    };
    let options = Options {
        sanitize: arguments.command == Command::Sanitize,
        schedule: arguments.schedule,
        limits: Limits {
            instructions: INSTRUCTIONS,
            memory: MEMORY,
            ..Limits::default()
        },
        ..Options::default()
    };
    let run = emulator::launch(&program, &mut memory, &shape, &options)
        .map_err(harness::Error::Launch)?;
    // Counters are there unless a finding stopped the launch.
    let output = output.and_then(|address| memory.bytes(address));
    let output = output.unwrap_or_default().to_vec();
    let ended = run.findings.is_empty() || !run.counters.is_empty();
    Ok(Done {
        verdict: ended.then(|| launch.expected.check(&output)),
        launch,
        source,
        output,
        emulated: Some((program, run)),
    })
}

/// The PTX of a launch's kernel: the reader's file, or the lab's own.
pub fn source(lab: &Lab, launch: &Launch, arguments: &Arguments) -> Result<Source> {
    let is_it = |kernel: &&KernelFile| kernel.file == launch.file;
    let kernel = lab.kernels.iter().find(is_it);
    let kernel =
        kernel.ok_or_else(|| Error::Usage(format!("{} has no {}", lab.name, launch.file)))?;
    Ok(match &arguments.kernel {
        Some(path) => Source::of_file(path, kernel.arch)?,
        None => kernel.committed(&format!("book/labs/{}", lab.name))?,
    })
}

fn alloc(memory: &mut Memory, name: &str, bytes: Vec<u8>) -> Result<u64> {
    memory.alloc(name, bytes).map_err(|error| {
        harness::Error::Memory {
            wanted: error.wanted,
            limit: error.limit,
        }
        .into()
    })
}

fn encode(map: &Map, address: u64) -> Result<Vec<u8>> {
    let encoded = TensorMap {
        address,
        element: Element::F16,
        dimensions: &map.dimensions,
        strides: &[2 * map.dimensions[0]],
        tile: &map.tile,
        element_strides: &[],
        swizzle: map.swizzle,
        fill: Fill::Zeros,
    }
    .encode();
    let encoded = encoded.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(encoded.to_vec())
}
