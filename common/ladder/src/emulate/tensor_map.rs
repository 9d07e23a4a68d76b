//! `--arg 'map(f16[2048,2048]=normal; box=128x64; swizzle=128)'`: a tensor map, as `cuTensorMapEncodeTiled` encodes it.
use emulator::{Element as MapElement, Swizzle};
use harness::TensorTiling;

use super::argument::{Argument, BufferSpec};
use super::element::Element;

/// A requested tensor map. Lists begin with the outermost dimension, like a buffer's shape.
#[derive(Clone, Debug, PartialEq)]
pub struct MapSpec {
    /// The buffer that contains the tensor: a new one, or that of an earlier argument.
    pub of: MapOf,
    /// The box that TMA copies at a time, in elements.
    pub tile: Vec<u32>,
    /// How a box is swizzled in shared memory.
    pub swizzle: Swizzle,
    /// The shape of the tensor; none: the shape of the buffer.
    pub shape: Option<Vec<u64>>,
    /// Strides in elements of each dimension but the innermost; none: contiguous.
    pub strides: Option<Vec<u64>>,
}

/// The buffer of a tensor map.
#[derive(Clone, Debug, PartialEq)]
pub enum MapOf {
    /// `f16[64,64]=normal`
    Buffer(BufferSpec),
    /// `@0`
    Same(usize),
}

/// The syntax of tensor maps.
pub const FORM: &str = "map(f16[2048,2048]=normal; box=128x64; swizzle=128)";

impl MapSpec {
    /// Parses the text within `map(…)`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(inside: &str) -> Result<Self, String> {
        let mut parts = inside.split(';').map(str::trim);
        let of = match parts.next().unwrap_or_default().parse()? {
            Argument::Buffer(spec) => MapOf::Buffer(spec),
            Argument::Same(other) => MapOf::Same(other),
            _ => return Err(format!("a tensor map is of a buffer; write {FORM}")),
        };
        let (mut tile, mut swizzle, mut shape, mut strides) = (None, Swizzle::None, None, None);
        for part in parts {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let numbers = || {
                numbers(value)
                    .ok_or_else(|| format!("`{part}` is not a list of numbers, such as 128x64"))
            };
            match name.trim() {
                "box" => {
                    let sides = numbers()?.into_iter().map(u32::try_from);
                    let sides: Result<Vec<u32>, _> = sides.collect();
                    tile =
                        Some(sides.map_err(|_| format!("`{part}`: a side of a box is 1 to 256"))?);
                }
                "shape" => shape = Some(numbers()?),
                "strides" => strides = Some(numbers()?),
                "swizzle" => {
                    let width = value.trim().parse().ok().and_then(Swizzle::of_width);
                    swizzle = width.ok_or_else(|| {
                        format!("`{part}`: a swizzle is 0, 32, 64 or 128 bytes wide")
                    })?;
                }
                _ => {
                    return Err(format!(
                        "a tensor map has no `{part}`; it has box, swizzle, shape and strides, as in {FORM}"
                    ));
                }
            }
        }
        Ok(Self {
            of,
            tile: tile.ok_or_else(|| format!("how large is a box? Write {FORM}"))?,
            swizzle,
            shape,
            strides,
        })
    }

    /// Encodes the map of a buffer with this element type and shape.
    ///
    /// # Errors
    /// If its lists do not match.
    pub fn tiling(&self, element: Element, held: &[u64]) -> Result<TensorTiling, String> {
        let shape = self.shape.as_deref().unwrap_or(held);
        let outer = shape.len().saturating_sub(1);
        let elements = match &self.strides {
            Some(strides) if strides.len() == outer => strides.clone(),
            Some(strides) => {
                return Err(format!(
                    "a tensor of {} dimensions has {outer} strides, from the outermost on, but {} were given",
                    shape.len(),
                    strides.len()
                ));
            }
            None => (0..outer)
                .map(|dim| shape[dim + 1..].iter().product())
                .collect(),
        };
        if self.tile.len() != shape.len() {
            return Err(format!(
                "its box has {} sides and its tensor {} dimensions",
                self.tile.len(),
                shape.len()
            ));
        }
        let bytes = |elements: &u64| elements.saturating_mul(element.bytes() as u64);
        Ok(TensorTiling {
            element: map_element(element),
            dimensions: shape.iter().rev().copied().collect(),
            strides: elements.iter().rev().map(bytes).collect(),
            tile: self.tile.iter().rev().copied().collect(),
            swizzle: self.swizzle,
        })
    }
}

/// `128x64`, `128,64`
fn numbers(text: &str) -> Option<Vec<u64>> {
    let parts = text.split([',', 'x']).map(|part| part.trim().parse().ok());
    parts.collect()
}

/// TMA moves bits; the only signed integers that it has are those of 32 and 64 bits.
fn map_element(element: Element) -> MapElement {
    match element {
        Element::F16 => MapElement::F16,
        Element::Bf16 => MapElement::Bf16,
        Element::F32 => MapElement::F32,
        Element::F64 => MapElement::F64,
        Element::I8 | Element::U8 => MapElement::U8,
        Element::I16 | Element::U16 => MapElement::U16,
        Element::I32 => MapElement::I32,
        Element::U32 => MapElement::U32,
        Element::I64 => MapElement::I64,
        Element::U64 => MapElement::U64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_begins_with_the_outermost_dimension() {
        let map = MapSpec::parse("f16[256,512]=normal; box=128x64; swizzle=128").expect("a map");
        let tiling = map.tiling(Element::F16, &[256, 512]).expect("a tiling");
        assert_eq!(tiling.dimensions, [512, 256]);
        assert_eq!(tiling.strides, [1024]);
        assert_eq!(
            (tiling.tile, tiling.swizzle),
            (vec![64, 128], Swizzle::B128)
        );
    }

    #[test]
    fn a_matrix_can_be_seen_as_panels() {
        let map = MapSpec::parse("@0; box=1x128x64; shape=8x256x64; strides=64x512");
        let map = map.expect("a map");
        assert_eq!(map.of, MapOf::Same(0));
        let tiling = map.tiling(Element::F16, &[256, 512]).expect("a tiling");
        assert_eq!(tiling.dimensions, [64, 256, 8]);
        assert_eq!(tiling.strides, [1024, 128]);
        assert_eq!(tiling.tile, [64, 128, 1]);
    }

    #[test]
    fn what_is_wrong_names_the_remedy() {
        for (text, why) in [
            ("4096; box=1x1", "a tensor map is of a buffer; write map("),
            ("f16[64,64]", "how large is a box? Write map("),
            (
                "f16[64,64]; box=8by8",
                "`box=8by8` is not a list of numbers, such as 128x64",
            ),
            (
                "f16[64,64]; box=8x8; swizzle=48",
                "`swizzle=48`: a swizzle is 0, 32, 64 or 128",
            ),
            (
                "f16[64,64]; tile=8x8",
                "a tensor map has no `tile=8x8`; it has box,",
            ),
        ] {
            let error = MapSpec::parse(text).expect_err(text);
            assert!(error.starts_with(why), "{text}: {error}");
        }
        let map = MapSpec::parse("f16[64,64]; box=8").expect("a map");
        let error = map.tiling(Element::F16, &[64, 64]).expect_err("one side");
        assert_eq!(error, "its box has 1 sides and its tensor 2 dimensions");
    }
}
