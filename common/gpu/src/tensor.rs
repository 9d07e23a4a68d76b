//! The map by which TMA, Hopper's copy engine, reads and writes tiles of a tensor.
use crate::driver::check;
use crate::{Buffer, Context, GpuError};
use cudarc::driver::sys;

/// How TMA scatters the 16-byte chunks of a tile over the banks of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// In order.
    #[default]
    None,
    /// Within rows of 32 bytes.
    B32,
    /// Within rows of 64 bytes.
    B64,
    /// Within rows of 128 bytes.
    B128,
}

/// A tensor of f16 in device memory and the tile that one copy moves. All lists begin with the
/// innermost dimension.
///
/// Rules of the hardware: strides are multiples of 16 bytes; sides of the tile at most 256; the tile's
/// innermost side a multiple of 16 bytes and, swizzled, at most the swizzle's width. Outside the
/// tensor, reads give zero and writes do nothing.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap<'a> {
    /// Elements in each dimension; 1 to 5 dimensions.
    pub dimensions: &'a [u64],
    /// Bytes from one element to the next in each dimension but the innermost.
    pub strides: &'a [u64],
    /// Elements of the tile in each dimension.
    pub tile: &'a [u32],
    /// The order in shared memory.
    pub swizzle: Swizzle,
}

/// The driver writes the map at this alignment (64 bytes before CUDA 13).
#[repr(C, align(128))]
struct Aligned(sys::CUtensorMap);

impl Context {
    /// Encodes the map of a tensor at the start of `buffer`, to be handed to a kernel as
    /// [`KernelArg::Bytes`](crate::KernelArg::Bytes) for a `const __grid_constant__ CUtensorMap`.
    ///
    /// # Errors
    /// [`GpuError::TensorRank`] if the lists disagree; [`GpuError::Size`] if the buffer is too small;
    /// [`GpuError::Driver`] if a rule above is broken.
    pub fn tensor_map(&self, buffer: &Buffer, map: &TensorMap) -> Result<[u8; 128], GpuError> {
        let (dimensions, strides, tile) = (map.dimensions.len(), map.strides.len(), map.tile.len());
        if !(1..=5).contains(&dimensions) || strides + 1 != dimensions || tile != dimensions {
            return Err(GpuError::TensorRank {
                dimensions,
                strides,
                tile,
            });
        }
        buffer.holds("the tensor", [1, extent(map)], 1)?;
        self.context.bind()?;
        let mut encoded = Aligned(sys::CUtensorMap { opaque: [0; 16] });
        let swizzle = match map.swizzle {
            Swizzle::None => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
            Swizzle::B32 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
            Swizzle::B64 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
            Swizzle::B128 => sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        };
        // SAFETY: the lists have the lengths that the rank implies (checked above), an aligned place
        // takes the result, and the tensor lies within the buffer.
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut encoded.0,
                sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
                dimensions as u32,
                buffer.address() as *mut _,
                map.dimensions.as_ptr(),
                map.strides.as_ptr(),
                map.tile.as_ptr(),
                [1; 5].as_ptr(), // every element of the tile, in each dimension
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        };
        check("cuTensorMapEncodeTiled", result)?;
        let mut bytes = [0; 128];
        for (bytes, word) in bytes.chunks_exact_mut(8).zip(encoded.0.opaque) {
            bytes.copy_from_slice(&word.to_ne_bytes());
        }
        Ok(bytes)
    }
}

/// Bytes from the tensor's first element to the end of its last.
fn extent(map: &TensorMap) -> usize {
    let last = |size: u64| size.saturating_sub(1);
    let inner = map
        .dimensions
        .first()
        .copied()
        .unwrap_or(0)
        .saturating_mul(2);
    let outer = map.dimensions.iter().skip(1).zip(map.strides);
    let bytes = outer.fold(inner, |sum, (&size, &stride)| {
        sum.saturating_add(last(size).saturating_mul(stride))
    });
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_ends_with_its_last_element() {
        let map = |dimensions, strides| TensorMap {
            dimensions,
            strides,
            tile: &[8, 8],
            swizzle: Swizzle::None,
        };
        assert_eq!(extent(&map(&[100, 3], &[256])), 2 * 256 + 200);
        assert_eq!(extent(&map(&[100, u64::MAX], &[256])), usize::MAX);
    }
}
