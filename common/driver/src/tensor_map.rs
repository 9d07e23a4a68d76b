//! Tensor maps: 128 opaque bytes that a client passes to a kernel. Their encoding is the emulator's own.
use emulator::{Element, Fill, Swizzle, TensorMap};

use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::state::with;

/// Elements by the number of `CUtensorMapDataType`. Larger numbers are f32 types that are rounded by the copy, and
/// packed formats.
const ELEMENTS: [Element; 10] = [
    Element::U8,
    Element::U16,
    Element::U32,
    Element::I32,
    Element::U64,
    Element::I64,
    Element::F16,
    Element::F32,
    Element::F64,
    Element::Bf16,
];
const SWIZZLES: [Swizzle; 4] = [Swizzle::None, Swizzle::B32, Swizzle::B64, Swizzle::B128];
const FILLS: [Fill; 2] = [Fill::Zeros, Fill::Nan];

/// Looks up a client's number in a table; a number beyond its end is refused with its name.
fn of<T: Copy>(table: &[T], number: u32, known: u32, what: &str) -> Result<T, Fault> {
    match table.get(number as usize) {
        Some(&one) => Ok(one),
        None if number < known => Err(Fault::of(
            NOT_SUPPORTED,
            format!("tensor maps with {what} {number} are not emulated"),
        )),
        None => Err(Fault::silent(INVALID_VALUE)),
    }
}

fn refused(what: &str) -> Answer {
    Err(Fault::of(
        NOT_SUPPORTED,
        format!("{what} is not emulated; encode tensor maps by cuTensorMapEncodeTiled"),
    ))
}

entry_points! {
    /// Encodes a tiled tensor map.
    12000 fn cuTensorMapEncodeTiled(
        map: Out<[u8; 128]>, element: u32, rank: u32, address: u64,
        dimensions: In<u64>, strides: In<u64>, tile: In<u32>, steps: In<u32>,
        interleave: u32, swizzle: u32, _promotion: u32, fill: u32,
    ) {
        map.check()?;
        if !(1..=5).contains(&rank) {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let rank = rank as usize;
        if interleave != 0 {
            return refused("interleaving");
        }
        let described = TensorMap {
            element: of(&ELEMENTS, element, 16, "CUtensorMapDataType")?,
            dimensions: &dimensions.all(rank)?,
            strides: &strides.all(rank - 1)?,
            tile: &tile.all(rank)?,
            element_strides: &steps.all(rank)?,
            swizzle: of(&SWIZZLES, swizzle, 7, "CUtensorMapSwizzle")?,
            fill: of(&FILLS, fill, 2, "CUtensorMapFloatOOBfill")?,
        };
        with(|_| {
            let encoded = described.encode(address);
            map.put(encoded.map_err(|error| Fault::of(INVALID_VALUE, error.to_string()))?)
        })
    }
    /// Replaces the address of a tensor map: not supported, since the bytes do not contain the parameters.
    12000 fn cuTensorMapReplaceAddress(_map: Out<[u8; 128]>, _address: u64) {
        refused("cuTensorMapReplaceAddress")
    }
    /// Convolution maps, which are not supported.
    12000 fn cuTensorMapEncodeIm2col(_map: Out<[u8; 128]>, _element: u32, _rank: u32, _address: u64) {
        refused("im2col")
    }
}
