//! What a call returns: a `CUresult`, by number, name and description.
use std::ffi::CStr;

/// The outcome of a call: success, or why it is refused.
pub type Answer = Result<(), Fault>;

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The `CUresult`.
    pub code: u32,
    /// The message for standard error, if the code alone does not say what to do.
    pub why: Option<String>,
}

impl Fault {
    /// The client gets only the code, which needs no explanation.
    pub fn silent(code: u32) -> Self {
        Self { code, why: None }
    }
    /// The code, and a reason with its remedy, printed to standard error.
    pub fn of(code: u32, why: impl Into<String>) -> Self {
        Self {
            code,
            why: Some(why.into()),
        }
    }
}

impl From<emulator::Error> for Fault {
    fn from(error: emulator::Error) -> Self {
        use emulator::Error;
        let code = match &error {
            Error::Ptx(_) => INVALID_PTX,
            Error::NoKernel { .. } | Error::NoVariable { .. } => NOT_FOUND,
            Error::OutOfMemory { .. } | Error::MemoryLimit { .. } => OUT_OF_MEMORY,
            Error::OtherContext(_) | Error::Unloaded => INVALID_HANDLE,
            Error::LaunchBounds { .. } | Error::SharedMemory { .. } => LAUNCH_OUT_OF_RESOURCES,
            Error::ClusterRank { .. } | Error::NoClusters(_) => INVALID_CLUSTER_SIZE,
            Error::CooperativeLaunchTooLarge { .. } => COOPERATIVE_LAUNCH_TOO_LARGE,
            Error::Card(_) => NO_BINARY_FOR_GPU,
            Error::BlockLimit { .. } => NOT_SUPPORTED,
            Error::InstructionLimit { .. } => LAUNCH_TIMEOUT,
            // Shapes, lists and addresses that are wrong. The enum is another crate's and may grow.
            _ => INVALID_VALUE,
        };
        Self::of(code, error.to_string())
    }
}

macro_rules! results {
    ($($code:literal $name:ident $text:literal)*) => {
        $(#[allow(dead_code)] pub const $name: u32 = $code;)*

        /// Name and description of a `CUresult`.
        pub fn describe(code: u32) -> Option<[&'static CStr; 2]> {
            let texts = match code {
                0 => [c"CUDA_SUCCESS".to_bytes_with_nul(), c"no error".to_bytes_with_nul()],
                $($code => [
                    concat!("CUDA_ERROR_", stringify!($name), "\0").as_bytes(),
                    concat!($text, "\0").as_bytes(),
                ],)*
                _ => return None,
            };
            let [name, text] = texts.map(|bytes| CStr::from_bytes_with_nul(bytes).ok());
            Some([name?, text?])
        }

        /// All of them but success.
        #[cfg(test)]
        const CODES: &[u32] = &[$($code),*];
    };
}

// CUDA driver API, "Data types used by CUDA driver": enum cudaError_enum.
results! {
    1 INVALID_VALUE "invalid argument"
    2 OUT_OF_MEMORY "out of memory"
    3 NOT_INITIALIZED "initialization error"
    4 DEINITIALIZED "driver shutting down"
    5 PROFILER_DISABLED "profiler disabled while using external profiling tool"
    6 PROFILER_NOT_INITIALIZED "profiler not initialized: call cuProfilerInitialize()"
    7 PROFILER_ALREADY_STARTED "profiler already started"
    8 PROFILER_ALREADY_STOPPED "profiler already stopped"
    34 STUB_LIBRARY "CUDA driver is a stub library"
    46 DEVICE_UNAVAILABLE "CUDA-capable device(s) is/are busy or unavailable"
    100 NO_DEVICE "no CUDA-capable device is detected"
    101 INVALID_DEVICE "invalid device ordinal"
    102 DEVICE_NOT_LICENSED "device doesn't have valid Grid license"
    200 INVALID_IMAGE "device kernel image is invalid"
    201 INVALID_CONTEXT "invalid device context"
    202 CONTEXT_ALREADY_CURRENT "context already current"
    205 MAP_FAILED "mapping of buffer object failed"
    206 UNMAP_FAILED "unmapping of buffer object failed"
    207 ARRAY_IS_MAPPED "array is mapped"
    208 ALREADY_MAPPED "resource already mapped"
    209 NO_BINARY_FOR_GPU "no kernel image is available for execution on the device"
    210 ALREADY_ACQUIRED "resource already acquired"
    211 NOT_MAPPED "resource not mapped"
    212 NOT_MAPPED_AS_ARRAY "resource not mapped as array"
    213 NOT_MAPPED_AS_POINTER "resource not mapped as pointer"
    214 ECC_UNCORRECTABLE "uncorrectable ECC error encountered"
    215 UNSUPPORTED_LIMIT "limit is not supported on this architecture"
    216 CONTEXT_ALREADY_IN_USE "exclusive-thread device already in use by a different thread"
    217 PEER_ACCESS_UNSUPPORTED "peer access is not supported between these two devices"
    218 INVALID_PTX "a PTX JIT compilation failed"
    219 INVALID_GRAPHICS_CONTEXT "invalid OpenGL or DirectX context"
    220 NVLINK_UNCORRECTABLE "uncorrectable NVLink error detected during the execution"
    221 JIT_COMPILER_NOT_FOUND "PTX JIT compiler library not found"
    222 UNSUPPORTED_PTX_VERSION "the provided PTX was compiled with an unsupported toolchain."
    223 JIT_COMPILATION_DISABLED "PTX JIT compilation was disabled"
    300 INVALID_SOURCE "device kernel image is invalid"
    301 FILE_NOT_FOUND "file not found"
    302 SHARED_OBJECT_SYMBOL_NOT_FOUND "shared object symbol not found"
    303 SHARED_OBJECT_INIT_FAILED "shared object initialization failed"
    304 OPERATING_SYSTEM "OS call failed or operation not supported on this OS"
    400 INVALID_HANDLE "invalid resource handle"
    401 ILLEGAL_STATE "the operation cannot be performed in the present state"
    500 NOT_FOUND "named symbol not found"
    600 NOT_READY "device not ready"
    700 ILLEGAL_ADDRESS "an illegal memory access was encountered"
    701 LAUNCH_OUT_OF_RESOURCES "too many resources requested for launch"
    702 LAUNCH_TIMEOUT "the launch timed out and was terminated"
    703 LAUNCH_INCOMPATIBLE_TEXTURING "launch uses incompatible texturing mode"
    704 PEER_ACCESS_ALREADY_ENABLED "peer access is already enabled"
    705 PEER_ACCESS_NOT_ENABLED "peer access has not been enabled"
    708 PRIMARY_CONTEXT_ACTIVE "cannot set while device is active in this process"
    709 CONTEXT_IS_DESTROYED "context is destroyed"
    710 ASSERT "device-side assert triggered"
    711 TOO_MANY_PEERS "peer mapping resources exhausted"
    712 HOST_MEMORY_ALREADY_REGISTERED "part or all of the requested memory range is already mapped"
    713 HOST_MEMORY_NOT_REGISTERED "pointer does not correspond to a registered memory region"
    714 HARDWARE_STACK_ERROR "hardware stack error"
    715 ILLEGAL_INSTRUCTION "an illegal instruction was encountered"
    716 MISALIGNED_ADDRESS "misaligned address"
    717 INVALID_ADDRESS_SPACE "operation not supported on global/shared address space"
    718 INVALID_PC "invalid program counter"
    719 LAUNCH_FAILED "unspecified launch failure"
    720 COOPERATIVE_LAUNCH_TOO_LARGE "too many blocks in cooperative launch"
    800 NOT_PERMITTED "operation not permitted"
    801 NOT_SUPPORTED "operation not supported"
    802 SYSTEM_NOT_READY "system not yet initialized"
    803 SYSTEM_DRIVER_MISMATCH "system has unsupported display driver / cuda driver combination"
    804 COMPAT_NOT_SUPPORTED_ON_DEVICE "forward compatibility was attempted on non supported HW"
    900 STREAM_CAPTURE_UNSUPPORTED "operation not permitted when stream is capturing"
    901 STREAM_CAPTURE_INVALIDATED "operation failed due to a previous error during capture"
    902 STREAM_CAPTURE_MERGE "operation would result in a merge of separate capture sequences"
    903 STREAM_CAPTURE_UNMATCHED "capture was not ended in the same stream as it began"
    904 STREAM_CAPTURE_UNJOINED "capturing stream has unjoined work"
    905 STREAM_CAPTURE_ISOLATION "dependency created on uncaptured work in another stream"
    906 STREAM_CAPTURE_IMPLICIT "operation would make the legacy stream depend on a capturing blocking stream"
    907 CAPTURED_EVENT "operation not permitted on an event last recorded in a capturing stream"
    908 STREAM_CAPTURE_WRONG_THREAD "attempt to terminate a thread-local capture sequence from another thread"
    909 TIMEOUT "wait operation timed out"
    910 GRAPH_EXEC_UPDATE_FAILURE "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"
    911 EXTERNAL_DEVICE "an async error has occured in external entity outside of CUDA"
    912 INVALID_CLUSTER_SIZE "a kernel launch error has occurred due to cluster misconfiguration"
    999 UNKNOWN "unknown error"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_has_a_name_and_a_description() {
        for &code in CODES.iter().chain(&[0]) {
            let [name, text] = describe(code).expect("described");
            assert!(name.to_bytes().starts_with(b"CUDA_") && !text.is_empty());
        }
        let [name, _] = describe(NOT_FOUND).expect("described");
        assert_eq!(name, c"CUDA_ERROR_NOT_FOUND");
        assert_eq!(describe(12345), None);
    }
}
