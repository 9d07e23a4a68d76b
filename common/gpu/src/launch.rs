//! One kernel launch.
use crate::driver::check;
use crate::{Context, Function, GpuError, KernelArg, LaunchConfig};
use cudarc::driver::sys;
use std::ffi::c_void;
use std::ptr::null_mut;

impl KernelArg<'_> {
    fn bytes(&self) -> usize {
        match self {
            Self::Buffer(_) | Self::U64(_) => 8,
            Self::U32(_) => 4,
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    /// The address from which the launch reads it.
    fn pointer(&self) -> *mut c_void {
        match self {
            Self::Buffer(buffer) => buffer.argument().cast_mut().cast(),
            Self::U32(value) => (&raw const *value).cast_mut().cast(),
            Self::U64(value) => (&raw const *value).cast_mut().cast(),
            Self::Bytes(bytes) => bytes.as_ptr().cast_mut().cast(),
        }
    }
}

impl Context {
    /// Enqueues `kernel`. It runs after all work enqueued before; its faults are reported by the next
    /// [`synchronize`](Self::synchronize) or [`read`](Self::read).
    ///
    /// # Errors
    /// [`GpuError::Arguments`] if `args` do not match the kernel's parameters;
    /// [`GpuError::SharedMemory`]; [`GpuError::Driver`] for a shape that the GPU refuses.
    pub fn launch(
        &self,
        kernel: &Function,
        config: &LaunchConfig,
        args: &[KernelArg],
    ) -> Result<(), GpuError> {
        let sizes: Vec<usize> = args.iter().map(KernelArg::bytes).collect();
        kernel.takes(&sizes)?;
        kernel.allow_shared(config.dynamic_shared)?;
        if config
            .cluster
            .iter()
            .map(|&side| u64::from(side))
            .fold(1, u64::saturating_mul)
            > 8
        {
            kernel.allow_large_clusters()?;
        }
        let mut pointers: Vec<*mut c_void> = args.iter().map(KernelArg::pointer).collect();
        let mut attributes = attributes(config);
        let shape = sys::CUlaunchConfig {
            gridDimX: config.grid[0],
            gridDimY: config.grid[1],
            gridDimZ: config.grid[2],
            blockDimX: config.block[0],
            blockDimY: config.block[1],
            blockDimZ: config.block[2],
            sharedMemBytes: config.dynamic_shared,
            hStream: self.context.stream(),
            attrs: attributes.as_mut_ptr(),
            numAttrs: attributes.len() as u32,
        };
        self.context.bind()?;
        // SAFETY: the function is loaded; there is one pointer for each parameter that its PTX declares, to as many
        // bytes as it declares (checked above), which the driver copies before it returns; the attributes outlive the
        // call. What the kernel then does on the device is its author's responsibility: it can corrupt this context's
        // device memory, but not the host's.
        let result = unsafe {
            sys::cuLaunchKernelEx(
                &raw const shape,
                kernel.function(),
                pointers.as_mut_ptr(),
                null_mut(),
            )
        };
        check("cuLaunchKernelEx", result)
    }
}

fn attributes(config: &LaunchConfig) -> Vec<sys::CUlaunchAttribute> {
    use sys::CUlaunchAttributeID as Id;
    let attribute = |id, value| sys::CUlaunchAttribute {
        id,
        pad: [0; 4],
        value,
    };
    let mut attributes = Vec::new();
    if config.cluster != [1; 3] {
        let dimensions = sys::CUlaunchAttributeValue_union__bindgen_ty_1 {
            x: config.cluster[0],
            y: config.cluster[1],
            z: config.cluster[2],
        };
        attributes.push(attribute(
            Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
            sys::CUlaunchAttributeValue {
                clusterDim: dimensions,
            },
        ));
    }
    if config.overlap {
        attributes.push(attribute(
            Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            sys::CUlaunchAttributeValue {
                programmaticStreamSerializationAllowed: 1,
            },
        ));
    }
    if config.cooperative {
        attributes.push(attribute(
            Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
            sys::CUlaunchAttributeValue { cooperative: 1 },
        ));
    }
    attributes
}
