//! The launch's memory: the contents of each argument and variable before and after it.
use anyhow::{Result, anyhow, bail};
use emulator::ParamKind;
use harness::table::plural;
use harness::{Arg, Buffer, Device, Module};

use super::argument::{Argument, BufferSpec, Described};
use super::element::Element;
use super::fill::{Fill, read_npy};
use super::launch::Symbol;
use super::npy::{self, Array};
use super::program::Program;
use super::tensor_map::MapOf;

/// The buffer of an argument.
pub struct Held {
    /// Number of the argument.
    pub argument: usize,
    pub buffer: Buffer,
    /// Its contents before the launch.
    pub before: Array,
}

/// The inputs of a launch.
pub struct Arguments {
    pub args: Vec<Arg>,
    pub buffers: Vec<Held>,
}

/// Puts the arguments into the device's memory. A buffer may have at most `limit` bytes.
///
/// # Errors
/// If they do not fit the kernel's parameters.
pub fn place(
    device: &mut Device,
    program: &Program,
    given: &[Argument],
    limit: u64,
) -> Result<Arguments> {
    let params = &program.params;
    if given.len() != params.len() {
        bail!(
            "{} takes {}, but was given {}:{}",
            program.kernel.name,
            plural(params.len() as u64, "argument"),
            given.len(),
            listed(program)
        );
    }
    let (mut args, mut buffers) = (Vec::new(), Vec::<Held>::new());
    for (position, (argument, param)) in given.iter().zip(params).enumerate() {
        let declared = program.types.get(position).and_then(Option::as_deref);
        let described = Described {
            position,
            param,
            declared,
        };
        if let Some(value) = argument.by_value(&described).map_err(|why| anyhow!(why))? {
            args.push(Arg::Bytes(value.into()));
            continue;
        }
        match argument {
            Argument::Same(other) => {
                let found = buffers.iter().find(|held| held.argument == *other);
                let found = found.ok_or_else(|| {
                    anyhow!("{described}: @{other} is not a buffer of an earlier argument")
                })?;
                args.push(found.buffer.arg());
            }
            Argument::Buffer(spec) => {
                let before = array(spec, None, position as u64, limit)
                    .map_err(|why| anyhow!("{described}: {why}"))?;
                let buffer = device.upload(&format!("argument {position}"), &before.bytes)?;
                args.push(buffer.arg());
                buffers.push(Held {
                    argument: position,
                    buffer,
                    before,
                });
            }
            Argument::Map(map) => {
                let said = |why: String| anyhow!("{described}: {why}");
                if let MapOf::Buffer(spec) = &map.of {
                    let before = array(spec, None, position as u64, limit).map_err(said)?;
                    let buffer = device.upload(&format!("argument {position}"), &before.bytes)?;
                    buffers.push(Held {
                        argument: position,
                        buffer,
                        before,
                    });
                }
                let whose = match map.of {
                    MapOf::Buffer(_) => position,
                    MapOf::Same(other) => other,
                };
                let held = buffers.iter().find(|held| held.argument == whose);
                let held = held.ok_or_else(|| {
                    anyhow!("{described}: @{whose} is not a buffer of an earlier argument")
                })?;
                let tiling = map.tiling(held.before.element, &held.before.shape);
                let tiling = tiling.map_err(said)?;
                let value = device.tensor_map_of(&held.buffer, &tiling);
                let value = value.map_err(|error| said(error.to_string()))?;
                args.push(match (&value, param.kind) {
                    // Passed as `const CUtensorMap*`.
                    (Arg::TensorMap(bytes, _), ParamKind::Pointer | ParamKind::Integer) => {
                        let name = format!("the tensor map of argument {position}");
                        device.upload(&name, &bytes[..])?.arg()
                    }
                    _ => value,
                });
            }
            Argument::Null | Argument::Number(_) | Argument::Typed(..) | Argument::Bytes(_) => {}
        }
    }
    Ok(Arguments { args, buffers })
}

/// The parameters of a kernel, one per line.
pub fn listed(program: &Program) -> String {
    let lines = program.params.iter().zip(&program.types).enumerate();
    let lines = lines.map(|(position, (param, declared))| {
        let described = Described {
            position,
            param,
            declared: declared.as_deref(),
        };
        format!("\n  {described}")
    });
    lines.collect()
}

/// Writes a variable of the module.
///
/// # Errors
/// If there is no variable of this name, or its size differs.
pub fn write_symbol(
    device: &mut Device,
    module: &Module,
    symbol: &Symbol,
    limit: u64,
) -> Result<()> {
    let buffer = module.global(&symbol.name)?;
    let bytes = device.read(&buffer)?.len();
    let array = array(&symbol.holds, Some(bytes), 0, limit)
        .map_err(|why| anyhow!("{}: {why}", symbol.name))?;
    if array.bytes.len() != bytes {
        bail!(
            "{} has {}, but {} were given",
            symbol.name,
            plural(bytes as u64, "byte"),
            array.bytes.len()
        );
    }
    Ok(device.write(&buffer, &array.bytes)?)
}

/// The contents of a buffer; without a shape, as many elements as fit into this many bytes.
fn array(spec: &BufferSpec, bytes: Option<usize>, seed: u64, limit: u64) -> Result<Array, String> {
    if let Fill::Npy(path) = &spec.fill {
        let found = read_npy(path)?;
        return converted(found, spec).map_err(|why| format!("{}: {why}", path.display()));
    }
    let element = spec.element.ok_or("its type is not given")?;
    let shape = match (&spec.shape, bytes) {
        (Some(shape), _) => shape.clone(),
        (None, Some(bytes)) => vec![(bytes / element.bytes()) as u64],
        (None, None) => return Err(format!("how many elements? Write {}[4096]", element.name())),
    };
    let count = npy::count(&shape);
    let bytes = count.and_then(|count| count.checked_mul(element.bytes()));
    match (count, bytes) {
        (Some(count), Some(bytes)) if bytes as u64 <= limit => {
            let bytes = spec.fill.bytes(element, count, seed)?;
            Ok(Array {
                element,
                shape,
                bytes,
            })
        }
        _ => Err(format!(
            "a buffer may have {limit} bytes; --max-memory allows more"
        )),
    }
}

/// An array in a file, converted to the requested type and shape. Floats are rounded to other floats.
fn converted(found: Array, spec: &BufferSpec) -> Result<Array, String> {
    let element = spec.element.unwrap_or(found.element);
    let bits = |element: Element| (element.bytes(), element.is_float());
    let bytes = match (found.element, element) {
        (is, wanted) if is == wanted => found.bytes,
        // NumPy has no bf16; unsigned integers may represent its bits.
        (Element::U16, Element::Bf16) => found.bytes,
        (is, wanted) if is.is_float() && wanted.is_float() => {
            let values = is.values(&found.bytes);
            values
                .flat_map(|value| wanted.of_f64(value.as_f64()))
                .collect()
        }
        (is, wanted) if bits(is) == bits(wanted) => found.bytes,
        (is, wanted) => return Err(format!("it holds {}, not {}", is.name(), wanted.name())),
    };
    let shape = match &spec.shape {
        Some(shape) if npy::count(shape) != npy::count(&found.shape) => {
            return Err(format!("its shape is {:?}, not {shape:?}", found.shape));
        }
        Some(shape) => shape.clone(),
        None => found.shape,
    };
    Ok(Array {
        element,
        shape,
        bytes,
    })
}
