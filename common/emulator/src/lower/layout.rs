//! Addresses of variables and parameters.
use std::collections::HashMap;

use super::{Result, SHARED_BASE};
use crate::program::{Param, Symbol};
use crate::ptx::{Kernel, Parsed, PtxError, Variable, VariableSpace};

/// The most bytes of parameters (PTX ISA, "Kernel Function Parameters", since 8.1).
const MAX_PARAMS: u32 = 32764;
/// The most static shared memory in bytes, as in ptxas.
const MAX_STATIC_SHARED: u64 = 48 << 10;
/// A bound for hostile input: bytes of all `.global` variables.
const MAX_GLOBALS: u64 = 1 << 28;
/// The whole constant bank (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_CONSTANTS: u64 = 64 << 10;
/// Local memory of a thread (same table).
const MAX_LOCAL: u64 = 512 << 10;

/// A variable's address in its state space.
#[derive(Clone, Copy)]
pub(super) enum VariableAddress {
    Global(u32),
    Const(u32),
    Shared(u32),
    Dynamic,
    Local(u32),
    /// In the frame of the function that names it.
    Frame(u32),
}

pub(super) struct Layout<'a> {
    pub places: HashMap<&'a str, VariableAddress>,
    pub params: Vec<Param>,
    pub shared: u32,
    pub dynamic_align: u32,
    pub local: u32,
    /// Bytes of the frame of each function that is not inlined.
    pub frames: Vec<u32>,
    /// The variables in shared memory.
    pub symbols: Vec<Symbol>,
}

/// The location of a variable that persists from launch to launch.
#[derive(Clone, Copy)]
pub(crate) enum VariablePlace {
    /// Its index among the `.global` variables.
    Global(u32),
    /// Its offset in the constant bank.
    Const(u32),
}

/// The `.global` and `.const` variables of a module, in the order of the text. The parser allows them only at module
/// scope.
pub(crate) fn variables(module: &Parsed) -> Result<Vec<(&Variable, VariablePlace)>> {
    let (mut globals, mut global_bytes, mut bank) = (0, 0u64, 0);
    let mut placed = Vec::new();
    for variable in &module.variables {
        let place = match variable.space {
            VariableSpace::Global => {
                global_bytes += variable.bytes;
                if global_bytes > MAX_GLOBALS {
                    return Err(too_large(variable));
                }
                globals += 1;
                VariablePlace::Global(globals - 1)
            }
            VariableSpace::Const => {
                let at = u64::next_multiple_of(bank, variable.align.into());
                bank = at + variable.bytes;
                if bank > MAX_CONSTANTS {
                    return Err(too_large(variable));
                }
                VariablePlace::Const(at as u32)
            }
            VariableSpace::Shared
            | VariableSpace::DynamicShared
            | VariableSpace::Local
            | VariableSpace::Frame(_) => continue,
        };
        placed.push((variable, place));
    }
    Ok(placed)
}

fn too_large(variable: &Variable) -> PtxError {
    let hint = match variable.space {
        VariableSpace::Shared => {
            " (48 KiB; more is possible with `extern __shared__`, whose size the launch gives)"
        }
        VariableSpace::Global
        | VariableSpace::Const
        | VariableSpace::DynamicShared
        | VariableSpace::Local
        | VariableSpace::Frame(_) => "",
    };
    let (name, bytes) = (source_name(&variable.name), variable.bytes);
    let message = format!("the variable `{name}` of {bytes} bytes does not fit its memory{hint}");
    PtxError::new(0, message)
}

/// Places a variable after the used bytes, and returns its offset.
fn append(variable: &Variable, used: &mut u32, most: u64) -> Result<u32> {
    let at = used.next_multiple_of(variable.align);
    if u64::from(at) + variable.bytes > most {
        return Err(too_large(variable));
    }
    *used = at + variable.bytes as u32;
    Ok(at)
}

/// The kernel's parameters, each at its offset.
pub(crate) fn params(kernel: &Kernel) -> Result<Vec<Param>> {
    let (mut params, mut bytes) = (Vec::new(), 0u32);
    for param in &kernel.params {
        let offset = bytes.next_multiple_of(param.align.max(1));
        bytes = offset + param.bytes;
        if bytes > MAX_PARAMS {
            let message = format!("more than {MAX_PARAMS} bytes of parameters");
            return Err(PtxError::new(kernel.line, message));
        }
        params.push(Param {
            name: param.name.clone(),
            bytes: param.bytes,
            kind: param.kind,
            offset,
        });
    }
    Ok(params)
}

impl<'a> Layout<'a> {
    pub fn new(module: &'a Parsed, kernel: &'a Kernel) -> Result<Self> {
        let mut layout = Layout {
            places: HashMap::new(),
            params: params(kernel)?,
            shared: 0,
            dynamic_align: 16,
            local: 0,
            frames: Vec::new(),
            symbols: Vec::new(),
        };
        let mut dynamic = None;
        for (variable, place) in variables(module)? {
            let place = match place {
                VariablePlace::Global(index) => VariableAddress::Global(index),
                VariablePlace::Const(at) => VariableAddress::Const(at),
            };
            layout.places.insert(&variable.name, place);
        }
        for variable in module.variables.iter().chain(&kernel.variables) {
            let place = match variable.space {
                VariableSpace::DynamicShared => {
                    layout.dynamic_align = layout.dynamic_align.max(variable.align);
                    dynamic = Some(source_name(&variable.name));
                    VariableAddress::Dynamic
                }
                VariableSpace::Global | VariableSpace::Const => continue,
                VariableSpace::Shared => {
                    let at = append(variable, &mut layout.shared, MAX_STATIC_SHARED)?;
                    layout.symbols.push(Symbol {
                        name: source_name(&variable.name),
                        start: SHARED_BASE + at,
                        bytes: Some(variable.bytes as u32),
                    });
                    VariableAddress::Shared(SHARED_BASE + at)
                }
                VariableSpace::Local => {
                    VariableAddress::Local(append(variable, &mut layout.local, MAX_LOCAL)?)
                }
                VariableSpace::Frame(function) => {
                    let function = function as usize;
                    if layout.frames.len() <= function {
                        layout.frames.resize(function + 1, 0);
                    }
                    let frame = &mut layout.frames[function];
                    VariableAddress::Frame(append(variable, frame, MAX_LOCAL)?)
                }
            };
            layout.places.insert(&variable.name, place);
        }
        let start = (SHARED_BASE + layout.shared).next_multiple_of(layout.dynamic_align);
        layout.symbols.extend(dynamic.map(|name| Symbol {
            name,
            start,
            bytes: None,
        }));
        Ok(layout)
    }
}

/// A variable's name in the source: the last part of a mangled name such as `_ZZ3sumE2As` (Itanium C++ ABI,
/// "Mangling").
pub(crate) fn source_name(mangled: &str) -> String {
    let plain = |rest: &str| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length: usize = rest[..digits].parse().ok()?;
        Some(rest[digits..].get(..length)?.to_owned())
    };
    let ends = mangled.match_indices('E').map(|(at, _)| at);
    let local = mangled.starts_with("_ZZ");
    let found = ends.rev().find_map(|at| plain(&mangled[at + 1..]));
    found
        .filter(|_| local)
        .unwrap_or_else(|| mangled.to_owned())
}

#[cfg(test)]
mod tests {
    use super::source_name;

    #[test]
    fn names_as_in_the_source() {
        for (mangled, name) in [
            ("_ZZ3sumE2As", "As"),
            ("_ZZ6kernelPfiE4tile", "tile"),
            ("_ZZN3foo3barEvE7counter_0", "counter"),
            ("room", "room"),
            ("_ZN3foo1xE", "_ZN3foo1xE"),
            ("_ZZE", "_ZZE"),
        ] {
            assert_eq!(source_name(mangled), name);
        }
    }
}
