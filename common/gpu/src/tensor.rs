//! Tensor maps, through which TMA, Hopper's copy engine, reads and writes tiles of a tensor.
use crate::driver::check;
use crate::{Buffer, Context, Element, Fill, GpuError, Swizzle, TensorMap};
use cudarc::driver::sys;

impl Element {
    /// The driver's name for it, and its size in bytes.
    fn data_type(self) -> (sys::CUtensorMapDataType, u64) {
        use sys::CUtensorMapDataType as Type;
        match self {
            Self::U8 => (Type::CU_TENSOR_MAP_DATA_TYPE_UINT8, 1),
            Self::U16 => (Type::CU_TENSOR_MAP_DATA_TYPE_UINT16, 2),
            Self::U32 => (Type::CU_TENSOR_MAP_DATA_TYPE_UINT32, 4),
            Self::I32 => (Type::CU_TENSOR_MAP_DATA_TYPE_INT32, 4),
            Self::U64 => (Type::CU_TENSOR_MAP_DATA_TYPE_UINT64, 8),
            Self::I64 => (Type::CU_TENSOR_MAP_DATA_TYPE_INT64, 8),
            Self::F16 => (Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2),
            Self::F32 => (Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4),
            Self::F64 => (Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8),
            Self::Bf16 => (Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2),
        }
    }
}

/// The driver writes the map with this alignment (64 bytes before CUDA 13).
#[repr(C, align(128))]
struct Aligned(sys::CUtensorMap);

impl Context {
    /// Encodes the map of a tensor at the start of `buffer`, to be passed to a kernel as
    /// [`KernelArg::Bytes`](crate::KernelArg::Bytes) for a `const __grid_constant__ CUtensorMap`.
    ///
    /// # Errors
    /// [`GpuError::TensorRank`] if the lists disagree or are too long; [`GpuError::Size`] if the buffer is too small;
    /// [`GpuError::Driver`] if one of the rules above is broken.
    pub fn tensor_map(&self, buffer: &Buffer, map: &TensorMap) -> Result<[u8; 128], GpuError> {
        let (dimensions, strides, tile) = (map.dimensions.len(), map.strides.len(), map.tile.len());
        let steps = map.element_strides.len();
        let complete =
            strides + 1 == dimensions && tile == dimensions && (steps == 0 || steps == dimensions);
        if !(1..=5).contains(&dimensions) || !complete {
            return Err(GpuError::TensorRank {
                dimensions,
                strides,
                tile,
                element_strides: steps,
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
        let fill = match map.fill {
            Fill::Zeros => sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            Fill::Nan => {
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
            }
        };
        let element_strides = match map.element_strides {
            [] => &[1; 5],
            strides => strides,
        };
        // SAFETY: the lists have the lengths that the rank implies (checked above), an aligned place
        // takes the result, and the tensor lies within the buffer.
        let result = unsafe {
            sys::cuTensorMapEncodeTiled(
                &raw mut encoded.0,
                map.element.data_type().0,
                dimensions as u32,
                buffer.address() as *mut _,
                map.dimensions.as_ptr(),
                map.strides.as_ptr(),
                map.tile.as_ptr(),
                element_strides.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle,
                sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                fill,
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
        .saturating_mul(map.element.data_type().1);
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
            element: Element::F16,
            dimensions,
            strides,
            tile: &[8, 8],
            element_strides: &[],
            swizzle: Swizzle::None,
            fill: Fill::Zeros,
        };
        assert_eq!(extent(&map(&[100, 3], &[256])), 2 * 256 + 200);
        assert_eq!(extent(&map(&[100, u64::MAX], &[256])), usize::MAX);
    }
}
