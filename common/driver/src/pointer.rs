//! What is known of a pointer.
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::memory::{DEVICE, HOST};
use crate::state::{State, with};

/// The value of an attribute, as wide as the header says.
#[derive(Clone, Copy)]
enum Value {
    Word(u32),
    Wide(u64),
}

impl Value {
    fn put(self, at: usize) -> Answer {
        match self {
            Self::Word(value) => Out::at(at).put(value),
            Self::Wide(value) => Out::at(at).put(value),
        }
    }
}

/// An attribute, by its number of `CUpointer_attribute`.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for a number that is none, for a pointer that the driver does not know, and for the host's
/// address of memory that the host cannot reach.
fn attribute(state: &State, which: u32, pointer: u64) -> Result<Value, Fault> {
    use Value::{Wide, Word};
    let unknown = Fault::silent(INVALID_VALUE);
    let on_device = state.range(pointer).ok();
    let on_host = state.on_host(pointer).map(|(host, _)| host);
    let on_host = on_host.or(state.host_range(pointer).map(|_| pointer));
    let (base, bytes) = on_device
        .or(state.host_range(pointer))
        .ok_or(unknown.clone())?;
    let owner = state.allocations.get(&base);
    let managed = state.is_managed(pointer);
    // Managed memory may be on either side; what a kernel reads is the device's.
    let pinned = on_host.is_some() && !managed;
    let owners = on_host.and_then(|host| state.owners_of_host_memory(host));
    let owners = owner.map(|one| [one.context, one.pool]).or(owners);
    let [context, pool] = owners.unwrap_or_default();
    Ok(match which {
        1 => Wide(context as u64),
        2 => Word(if pinned { HOST } else { DEVICE }),
        3 => Wide(match on_device {
            Some(_) => pointer,
            None => state.on_device(pointer).ok_or(unknown)?,
        }),
        4 => Wide(on_host.ok_or(unknown)?),
        6 => Word(managed.into()), // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, as on an H100
        7 | 20 => Wide(base),      // a number for the allocation, and for the memory behind it
        8 => Word(managed.into()),
        9 => Word(0),            // device
        10 | 15 | 21 => Word(0), // legacy IPC, GPUDirect RDMA, decompression by hardware
        11 | 19 => Wide(base),
        12 | 18 => Wide(bytes as u64),
        13 => Word(1), // mapped
        14 => Word(0), // handle types that may be shared
        16 => Word(3), // readable and writable
        17 => Wide(pool as u64),
        5 => {
            return Err(Fault::of(
                NOT_SUPPORTED,
                "there is no other device that could be given the pointer",
            ));
        }
        _ => return Err(unknown),
    })
}

/// What [`cuPointerGetAttributes`] answers of a pointer that the driver does not know, or where there is nothing.
fn default_value(which: u32) -> Result<Value, Fault> {
    match which {
        1 | 3 | 4 | 7 | 11 | 12 | 17..=20 => Ok(Value::Wide(0)),
        9 => Ok(Value::Word(-2i32 as u32)), // CU_DEVICE_INVALID
        2 | 6 | 8 | 10 | 13..=16 | 21 => Ok(Value::Word(0)),
        _ => Err(Fault::silent(INVALID_VALUE)),
    }
}

entry_points! {
    /// What is known of a pointer.
    4000 fn cuPointerGetAttribute(out: usize, which: u32, pointer: u64) {
        with(|state| attribute(state, which, pointer)?.put(out))
    }
    /// Several at once; what there is nothing to be said of is 0.
    7000 fn cuPointerGetAttributes(count: u32, which: In<u32>, outs: In<usize>, pointer: u64) {
        with(|state| {
            if count > 64 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            let which = which.all(count as usize)?;
            for (which, out) in which.into_iter().zip(outs.all(count as usize)?) {
                let nothing = default_value(which)?;
                attribute(state, which, pointer).unwrap_or(nothing).put(out)?;
            }
            Ok(())
        })
    }
    /// A hint without effect here.
    6000 fn cuPointerSetAttribute(_value: usize, _which: u32, pointer: u64) {
        with(|state| state.range(pointer).map(|_| ()))
    }
}
