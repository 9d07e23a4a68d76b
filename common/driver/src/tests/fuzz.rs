//! Random calls from a seed with all kinds of arguments: none may crash or panic.
//!
//! Host pointers are null, null plus an offset, or valid: CUDA, too, dereferences any other pointer.
use super::*;
use crate::context::*;
use crate::device::*;
use crate::error::UNKNOWN;
use crate::event::*;
use crate::graph::*;
use crate::graph_node::*;
use crate::host_memory::*;
use crate::launch::*;
use crate::link::*;
use crate::memory::*;
use crate::module::*;
use crate::occupancy::*;
use crate::pointer::*;
use crate::pool::*;
use crate::results::*;
use crate::stream::*;
use crate::table::HANDLES;
use crate::tensor_map::*;

const CALLS: usize = 30_000;
/// Bytes behind a host pointer.
const ROOM: usize = 1 << 12;

/// Draws random arguments.
struct Draw {
    state: u64,
    /// Handles and addresses that calls have returned, some of them freed since.
    given: Vec<usize>,
    /// Input memory is all zeros, so that no word of it is taken for a pointer; output memory is never read.
    zeros: Box<[u64]>,
    written: Box<[u64]>,
}

impl Draw {
    /// splitmix64
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }
    /// Usually something of the wanted kind, perhaps freed since. Never a handle of another test, since tests share the
    /// driver: these are all multiples of 16.
    fn of(&mut self, is: impl Fn(usize) -> bool) -> usize {
        let any = self.next() as usize;
        let near = self.next() % 8;
        let mut recent = self
            .given
            .iter()
            .rev()
            .copied()
            .filter(|&one| is(one))
            .take(4);
        let fitting = recent
            .nth(any % 4)
            .or_else(|| self.given.iter().rev().copied().find(|&one| is(one)));
        match (near, fitting) {
            (0, _) | (_, None) => self.one(&[0, 1, 2, 3, usize::MAX, HANDLES | 0x12_0000_0008]),
            (1, _) if !self.given.is_empty() => self.given[any % self.given.len()],
            (2, Some(fitting)) => fitting.wrapping_add(8),
            (_, Some(fitting)) => fitting,
        }
    }
    /// A handle; the kinds are those of `State`.
    fn h(&mut self, kind: usize) -> usize {
        self.of(|one| one >> 32 == HANDLES >> 32 | kind)
    }
    /// A device address.
    fn d(&mut self) -> u64 {
        self.of(|one| (1 << 40..HANDLES).contains(&one)) as u64
    }
    /// A stream, sometimes the default one.
    fn s(&mut self) -> usize {
        match self.next() % 3 {
            0 => self.one(&[0, 1, 2]),
            _ => self.h(STREAM),
        }
    }
    fn n(&mut self) -> usize {
        let any = self.next() as usize;
        self.one(&[
            0,
            1,
            4,
            16,
            100,
            4096,
            any % 5000,
            usize::MAX,
            usize::MAX / 2,
            1 << 40,
        ])
    }
    fn u(&mut self) -> u32 {
        let any = self.next() as u32;
        self.one(&[0, 1, 2, 3, 8, 32, any % 200, u32::MAX, any])
    }
    fn i(&mut self) -> i32 {
        self.u() as i32
    }
    /// Numbers of blocks or threads small enough to run quickly.
    fn small(&mut self) -> u32 {
        self.one(&[0, 1, 2, 3, 33, 64, 1025, u32::MAX])
    }
    fn address(&mut self, there: usize) -> usize {
        match self.next() % 6 {
            0 => 0,
            1 => self.next() as usize % 60_000,
            _ => there,
        }
    }
    fn read<T: Plain>(&mut self) -> In<T> {
        let there = self.zeros.as_ptr() as usize;
        In::at(self.address(there))
    }
    fn write<T: Plain>(&mut self) -> Out<T> {
        let there = self.written.as_mut_ptr() as usize;
        Out::at(self.address(there))
    }
    fn host(&mut self) -> u64 {
        let there = self.written.as_mut_ptr() as usize;
        self.address(there) as u64
    }
    fn name(&mut self) -> Text {
        let name = self.one(&[c"add", c"bare", c"", c"launches", c"none"]);
        let there = name.as_ptr() as usize;
        Text::at(self.address(there))
    }
    /// Remembers the output of a call.
    fn keep(&mut self, call: impl FnOnce(&mut Self, Out<usize>) -> u32) -> u32 {
        let mut handle = 0;
        let code = call(self, out(&mut handle));
        if code == 0 {
            self.given.push(handle);
        }
        code
    }
}

const CONTEXT: usize = 0x10;
const MODULE: usize = 0x11;
const KERNEL: usize = 0x12;
const LINK: usize = 0x13;
const STREAM: usize = 0x14;
const EVENT: usize = 0x15;
const GRAPH: usize = 0x16;
const NODE: usize = 0x17;
const EXECUTABLE: usize = 0x18;
const POOL: usize = 0x19;

type Call = fn(&mut Draw) -> u32;

const TABLE: &[Call] = &[
    |d| cuDeviceGetAttribute(d.write(), d.i(), d.one(&[0, 0, 1, -1])),
    |d| cuDeviceGetName(d.write(), d.i() % ROOM as i32, 0),
    |d| cuDeviceGetPCIBusId(d.write(), d.i() % ROOM as i32, 0),
    |d| cuDeviceTotalMem_v2(d.write(), d.i()),
    |d| cuDevicePrimaryCtxGetState(d.i(), d.write(), d.write()),
    |d| cuCtxGetCurrent(d.write()),
    |d| cuCtxSetLimit(d.u(), d.n()),
    |d| cuCtxGetLimit(d.write(), d.u()),
    |d| cuCtxGetId(d.h(CONTEXT), d.write()),
    |d| cuCtxSetFlags(d.u()),
    |d| cuCtxSynchronize_v2(d.h(CONTEXT)),
    |d| d.keep(|_, at| cuModuleLoadData(at, ADD_C.as_ptr() as usize)),
    |d| cuModuleLoadDataEx(d.write(), 0, d.u(), d.read(), d.write()),
    |d| {
        d.keep(|d, at| {
            cuLibraryLoadData(
                at,
                ADD_C.as_ptr() as usize,
                In::at(0),
                Out::at(0),
                0,
                d.read(),
                d.write(),
                d.u(),
            )
        })
    },
    |d| cuModuleUnload(d.h(MODULE)),
    |d| cuLibraryUnload(d.h(MODULE)),
    |d| d.keep(|d, at| cuModuleGetFunction(at, d.h(MODULE), d.name())),
    |d| d.keep(|d, at| cuLibraryGetKernel(at, d.h(MODULE), d.name())),
    |d| cuModuleGetGlobal_v2(d.write(), d.write(), d.h(MODULE), d.name()),
    |d| cuModuleGetFunctionCount(d.write(), d.h(MODULE)),
    |d| cuModuleEnumerateFunctions(d.write(), d.u(), d.h(MODULE)),
    |d| cuFuncGetAttribute(d.write(), d.one(&[0, 1, 2, 3, 5, 8, 16, 99]), d.h(KERNEL)),
    |d| cuFuncSetAttribute(d.h(KERNEL), d.u(), d.i()),
    |d| cuFuncGetParamInfo(d.h(KERNEL), d.n(), d.write(), d.write()),
    |d| cuFuncGetName(d.write(), d.h(KERNEL)),
    |d| d.keep(|d, at| cuMemAlloc_v2(Out::at(at.address()), d.n())),
    |d| {
        d.keep(|d, at| {
            cuMemAllocPitch_v2(
                Out::at(at.address()),
                d.write(),
                d.n(),
                d.n(),
                d.one(&[3, 4, 16]),
            )
        })
    },
    |d| d.keep(|d, at| cuMemAllocHost_v2(Out::at(at.address()), d.n())),
    |d| d.keep(|d, at| cuMemAllocManaged(Out::at(at.address()), d.n(), d.one(&[1, 2, 9]))),
    |d| d.keep(|d, at| cuMemAllocAsync(Out::at(at.address()), d.n(), d.s())),
    |d| cuMemFree_v2(d.d()),
    |d| cuMemFreeHost(d.d()),
    |d| cuMemFreeAsync(d.d(), d.s()),
    |d| cuMemGetAddressRange_v2(d.write(), d.write(), d.d()),
    |d| cuMemGetInfo_v2(d.write(), d.write()),
    |d| cuPointerGetAttribute(d.host() as usize, d.u(), d.d()),
    |d| cuPointerGetAttributes(d.u(), d.read(), d.read(), d.d()),
    |d| cuMemcpyHtoD_v2(d.d(), d.host(), d.n() % ROOM),
    |d| cuMemcpyDtoH_v2(d.host(), d.d(), d.n() % ROOM),
    |d| cuMemcpyDtoD_v2(d.d(), d.d(), d.n()),
    |d| cuMemcpy2D_v2(d.read()),
    |d| cuMemcpy3D_v2(d.read()),
    |d| {
        let copy = Memcpy2d {
            src_x: d.n() as u64,
            src_y: d.n() as u64,
            src_type: d.one(&[0, 2, 2, 2, 3, 9]),
            src_device: d.d(),
            src_pitch: d.n() as u64,
            dst_x: d.n() as u64,
            dst_y: d.n() as u64,
            dst_type: 2,
            dst_device: d.d(),
            dst_pitch: d.n() as u64,
            width: d.n() as u64,
            height: d.one(&[0, 1, 2, 9, 1 << 40]),
            ..Memcpy2d::default()
        };
        cuMemcpy2DAsync_v2(input(&[copy]), d.s())
    },
    |d| cuMemsetD8_v2(d.d(), 1, d.n()),
    |d| cuMemsetD2D32_v2(d.d(), d.n(), 1, d.n(), d.one(&[0, 1, 3, 1 << 40])),
    |d| cuMemsetD16Async(d.d(), 1, d.n(), d.s()),
    |d| d.keep(|d, at| cuStreamCreate(at, d.one(&[0, 1, 7]))),
    |d| cuStreamDestroy_v2(d.h(STREAM)),
    |d| cuStreamSynchronize(d.h(STREAM)),
    |d| cuStreamGetPriority(d.h(STREAM), d.write()),
    |d| cuStreamBeginCapture_v2(d.h(STREAM), d.one(&[0, 1, 2, 5])),
    |d| d.keep(|d, at| cuStreamEndCapture(d.h(STREAM), at)),
    |d| {
        cuStreamGetCaptureInfo_v3(
            d.h(STREAM),
            d.write(),
            d.write(),
            d.write(),
            d.write(),
            d.write(),
            d.write(),
        )
    },
    |d| cuLaunchHostFunc(d.s(), None, d.n()),
    |d| d.keep(|d, at| cuEventCreate(at, d.one(&[0, 1, 2, 99]))),
    |d| cuEventDestroy_v2(d.h(EVENT)),
    |d| cuEventRecord(d.h(EVENT), d.s()),
    |d| cuEventElapsedTime(d.write(), d.h(EVENT), d.h(EVENT)),
    |d| cuStreamWaitEvent(d.s(), d.h(EVENT), d.u()),
    |d| d.keep(|_, at| cuGraphCreate(at, 0)),
    |d| cuGraphDestroy(d.h(GRAPH)),
    |d| d.keep(|d, at| cuGraphClone(at, d.h(GRAPH))),
    |d| d.keep(|d, at| cuGraphInstantiateWithFlags(at, d.h(GRAPH), 0)),
    |d| cuGraphInstantiateWithParams(d.write(), d.h(GRAPH), d.write()),
    |d| cuGraphLaunch(d.h(EXECUTABLE), d.s()),
    |d| cuGraphExecDestroy(d.h(EXECUTABLE)),
    |d| d.keep(|d, at| cuGraphAddEmptyNode(at, d.h(GRAPH), d.read(), d.n())),
    |d| cuGraphNodeGetType(d.h(NODE), d.write()),
    |d| cuGraphKernelNodeGetParams_v2(d.h(NODE), d.write()),
    |d| {
        cuLaunchKernel(
            d.h(KERNEL),
            d.small(),
            1,
            d.one(&[1, 0]),
            d.small(),
            1,
            1,
            d.u(),
            d.s(),
            d.read(),
            d.read(),
        )
    },
    |d| {
        cuLaunchCooperativeKernel(
            d.h(KERNEL),
            d.small(),
            1,
            1,
            d.small(),
            1,
            1,
            d.u(),
            d.s(),
            d.read(),
        )
    },
    |d| cuLaunchKernelEx(d.read(), d.h(KERNEL), d.read(), d.read()),
    |d| {
        let attribute = Attribute {
            id: d.u() % 20,
            value: [d.small(), 1, 1, 0, 0, 0, 0, 0],
            ..Attribute::default()
        };
        let config = Config {
            grid: [d.small(), 1, 1],
            block: [d.small(), 1, 1],
            dynamic_shared: d.u(),
            stream: d.s(),
            attributes: &raw const attribute as usize,
            count: d.one(&[0, 1, 1]),
            ..Config::default()
        };
        cuLaunchKernelEx(input(&[config]), d.h(KERNEL), d.read(), d.read())
    },
    |d| cuOccupancyMaxActiveBlocksPerMultiprocessor(d.write(), d.h(KERNEL), d.i(), d.n()),
    |d| {
        cuTensorMapEncodeTiled(
            d.write(),
            d.u(),
            d.one(&[0, 1, 3, 5, 6, u32::MAX]),
            d.d(),
            d.read(),
            d.read(),
            d.read(),
            d.read(),
            d.u() % 3,
            d.u(),
            0,
            d.u(),
        )
    },
    |d| d.keep(|d, at| cuDeviceGetDefaultMemPool(at, d.one(&[0, 0, 1]))),
    |d| d.keep(|d, at| cuMemPoolCreate(at, d.read())),
    |d| cuMemPoolDestroy(d.h(POOL)),
    |d| cuMemPoolGetAttribute(d.h(POOL), d.u(), d.host() as usize),
    |d| d.keep(|d, at| cuLinkCreate_v2(d.one(&[0, 1]), d.read(), Out::at(0), at)),
    |d| {
        let (ptx, size) = (ADD_C.as_ptr() as usize, ADD.len());
        cuLinkAddData_v2(
            d.h(LINK),
            d.one(&[1, 2, 4, 9]),
            ptx,
            size,
            d.name(),
            0,
            d.read(),
            d.write(),
        )
    },
    |d| cuLinkComplete(d.h(LINK), d.write(), d.write()),
    |d| {
        d.keep(|d, at| {
            let set = MemsetNodeParams {
                to: d.d(),
                element: d.u() % 5,
                width: d.n() % ROOM,
                rows: 1,
                ..MemsetNodeParams::default()
            };
            cuGraphAddMemsetNode(at, d.h(GRAPH), In::at(0), 0, input(&[set]), 0)
        })
    },
    |d| cuLinkDestroy(d.h(LINK)),
    |d| cuGetErrorName(d.u(), d.write()),
];

/// The PTX, NUL-terminated.
static ADD_C: std::sync::LazyLock<std::ffi::CString> =
    std::sync::LazyLock::new(|| std::ffi::CString::new(ADD).expect("no NUL"));

#[test]
fn no_arguments_crash_the_client() {
    let mut context = Some(Current::new());
    let words = vec![0; 2 * ROOM / 8].into_boxed_slice();
    let mut draw = Draw {
        state: 23,
        given: Vec::new(),
        zeros: words.clone(),
        written: words,
    };
    let mut succeeded = vec![0; TABLE.len()];
    for number in 0..CALLS {
        // After a fault every call would return an error.
        if number % 250 == 0 || cuCtxSynchronize() != 0 {
            context.take();
            context = Some(Current::new());
        }
        let which = draw.next() as usize % TABLE.len();
        let code = TABLE[which](&mut draw);
        assert_ne!(
            code, UNKNOWN,
            "call {number}, of function {which} of the table, panicked"
        );
        succeeded[which] += usize::from(code == 0);
    }
    let never = succeeded.iter().filter(|&&times| times == 0).count();
    assert!(never <= 10, "most must be able to succeed: {succeeded:?}");
    drop(context);
}
