//! Functions that the emulator does not implement, and what to do instead.
//!
//! They are exported so that a client that calls one is told the remedy, and not only that a symbol is missing. They do
//! not read their arguments. `cuGetProcAddress` reports functions that are not in any of these lists.
use crate::entry::entry_points;
use crate::error::{Answer, Fault, NOT_SUPPORTED};

fn refused(remedy: &str) -> Answer {
    Err(Fault::of(NOT_SUPPORTED, remedy))
}

const ARRAYS: &str = "textures and CUDA arrays are not supported: pass the kernel a pointer to device memory and read it by index";
const SHARING: &str = "processes cannot share the emulated GPU's memory: copy through host memory";
const MAPPING: &str =
    "addresses cannot be reserved and mapped: allocate by cuMemAlloc or from a pool";
const MULTICAST: &str = "there is only one GPU: copy to its memory without multicast";
const PARTS: &str = "SMs cannot be partitioned: launch in an ordinary context or stream";
const GRAPHICS: &str =
    "memory and semaphores of graphics APIs are not supported: copy through host memory";
const VALUES: &str = "a stream cannot wait for a value in memory, since its work is done when it is enqueued: use events between streams";
const GRAPHS: &str = "the emulator's graphs have no such nodes: allocate by cuMemAllocAsync in a capture or before the graph, and branch on the host";
const OLD: &str = "this way of launching is older than CUDA 4: use cuLaunchKernel";

/// Refuses functions, each with the CUDA version that introduced it, and names a remedy.
macro_rules! refuse {
    ($($remedy:ident: $($since:literal $($name:ident)+;)+)+) => {
        entry_points! {
            $($($(
                /// Not implemented.
                $since fn $name() { refused($remedy) }
            )+)+)+
        }
    };
}

refuse! {
    ARRAYS:
        2000 cuArray3DCreate_v2 cuArray3DGetDescriptor_v2 cuArrayCreate_v2 cuArrayDestroy cuArrayGetDescriptor_v2
            cuMemcpyAtoA_v2 cuMemcpyAtoD_v2 cuMemcpyAtoH_v2 cuMemcpyAtoHAsync_v2 cuMemcpyDtoA_v2 cuMemcpyHtoA_v2
            cuMemcpyHtoAAsync_v2 cuModuleGetSurfRef cuModuleGetTexRef cuTexRefCreate cuTexRefDestroy cuTexRefSetAddress_v2
            cuTexRefSetArray cuTexRefSetFormat;
        5000 cuMipmappedArrayCreate cuMipmappedArrayDestroy cuMipmappedArrayGetLevel cuSurfObjectCreate cuSurfObjectDestroy
            cuSurfObjectGetResourceDesc cuTexObjectCreate cuTexObjectDestroy cuTexObjectGetResourceDesc
            cuTexObjectGetResourceViewDesc cuTexObjectGetTextureDesc;
    SHARING:
        4010 cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcGetMemHandle cuIpcOpenEventHandle;
        11000 cuIpcOpenMemHandle_v2;
        11020 cuMemPoolExportPointer cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle
            cuMemPoolImportPointer;
    MAPPING:
        10020 cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle cuMemGetAllocationGranularity
            cuMemImportFromShareableHandle cuMemMap cuMemRelease cuMemSetAccess cuMemUnmap;
    MULTICAST:
        12010 cuMulticastAddDevice cuMulticastBindMem cuMulticastCreate cuMulticastGetGranularity;
    PARTS:
        12040 cuCtxFromGreenCtx cuCtxGetDevResource cuDevResourceGenerateDesc cuDevSmResourceSplitByCount
            cuDeviceGetDevResource cuGreenCtxCreate cuGreenCtxDestroy cuGreenCtxStreamCreate;
    GRAPHICS:
        3000 cuGraphicsMapResources cuGraphicsResourceGetMappedPointer_v2 cuGraphicsSubResourceGetMappedArray
            cuGraphicsUnmapResources cuGraphicsUnregisterResource;
        10000 cuDestroyExternalMemory cuDestroyExternalSemaphore cuExternalMemoryGetMappedBuffer cuImportExternalMemory
            cuImportExternalSemaphore cuSignalExternalSemaphoresAsync cuWaitExternalSemaphoresAsync;
    VALUES:
        11070 cuStreamBatchMemOp_v2 cuStreamWaitValue32_v2 cuStreamWaitValue64_v2 cuStreamWriteValue32_v2
            cuStreamWriteValue64_v2;
    GRAPHS:
        11010 cuGraphAddEventRecordNode cuGraphAddEventWaitNode;
        11040 cuGraphAddMemAllocNode cuGraphAddMemFreeNode;
        12030 cuGraphConditionalHandleCreate;
    OLD:
        2000 cuLaunch cuLaunchGrid cuLaunchGridAsync cuParamSetSize cuParamSetf cuParamSeti cuParamSetv;
}
