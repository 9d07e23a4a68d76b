//! Where variables and parameters lie.
use std::collections::HashMap;

use super::{Result, SHARED_BASE};
use crate::program::Param;
use crate::ptx::{Kernel, Module, PtxError, VariableSpace};

/// Bytes of parameters (PTX ISA, "Kernel Function Parameters", since 8.1).
const MAX_PARAMS: u32 = 32764;
/// Bytes of static shared memory, for ptxas as well.
const MAX_STATIC_SHARED: u64 = 48 << 10;
/// A bound for hostile input: bytes of all `.global` variables.
const MAX_GLOBALS: u64 = 1 << 28;

/// A variable's place in its state space.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Global(u32),
    Const(u32),
    Shared(u32),
    Dynamic,
    Local(u32),
}

pub(super) struct Layout<'a> {
    pub places: HashMap<&'a str, Place>,
    pub params: Vec<Param>,
    pub shared: u32,
    pub dynamic_align: u32,
    pub local: u32,
    pub constants: Vec<u8>,
    pub globals: Vec<(String, Vec<u8>)>,
}

impl<'a> Layout<'a> {
    pub fn new(module: &'a Module, kernel: &'a Kernel) -> Result<Self> {
        let mut layout = Layout {
            places: HashMap::new(),
            params: Vec::new(),
            shared: 0,
            dynamic_align: 16,
            local: 0,
            constants: Vec::new(),
            globals: Vec::new(),
        };
        let (mut param_bytes, mut global_bytes) = (0u32, 0u64);
        for param in &kernel.params {
            let offset = param_bytes.next_multiple_of(param.align.max(1));
            param_bytes = offset + param.bytes;
            // PTX ISA, "Kernel Function Parameters".
            if param_bytes > MAX_PARAMS {
                let message = format!("more than {MAX_PARAMS} bytes of parameters");
                return Err(PtxError::new(kernel.line, message));
            }
            layout.params.push(Param {
                name: param.name.clone(),
                bytes: param.bytes,
                offset,
            });
        }
        for variable in module.variables.iter().chain(&kernel.variables) {
            let hint = match variable.space {
                VariableSpace::Shared => {
                    " (48 KiB; more is possible with `extern __shared__`, whose size the launch gives)"
                }
                _ => "",
            };
            let too_large = || {
                PtxError::new(
                    0,
                    format!(
                        "the variable `{}` does not fit its memory{hint}",
                        variable.name
                    ),
                )
            };
            let place = match variable.space {
                VariableSpace::DynamicShared => {
                    layout.dynamic_align = layout.dynamic_align.max(variable.align);
                    Place::Dynamic
                }
                VariableSpace::Global => {
                    global_bytes += variable.bytes;
                    if global_bytes > MAX_GLOBALS {
                        return Err(too_large());
                    }
                    let mut bytes = variable.init.clone();
                    bytes.resize(variable.bytes as usize, 0);
                    layout.globals.push((variable.name.clone(), bytes));
                    Place::Global(layout.globals.len() as u32 - 1)
                }
                VariableSpace::Const => {
                    let at = layout
                        .constants
                        .len()
                        .next_multiple_of(variable.align as usize);
                    // 64 KiB is the whole bank (CUDA C++ Programming Guide, "Compute Capabilities").
                    if at as u64 + variable.bytes > 1 << 16 {
                        return Err(too_large());
                    }
                    layout.constants.resize(at, 0);
                    layout.constants.extend_from_slice(&variable.init);
                    layout.constants.resize(at + variable.bytes as usize, 0);
                    Place::Const(at as u32)
                }
                VariableSpace::Shared => {
                    let at = layout.shared.next_multiple_of(variable.align);
                    if u64::from(at) + variable.bytes > MAX_STATIC_SHARED {
                        return Err(too_large());
                    }
                    layout.shared = at + variable.bytes as u32;
                    Place::Shared(SHARED_BASE + at)
                }
                VariableSpace::Local => {
                    let at = layout.local.next_multiple_of(variable.align);
                    // 512 KiB a thread (same table).
                    if u64::from(at) + variable.bytes > 1 << 19 {
                        return Err(too_large());
                    }
                    layout.local = at + variable.bytes as u32;
                    Place::Local(at)
                }
            };
            layout.places.insert(&variable.name, place);
        }
        Ok(layout)
    }
}
