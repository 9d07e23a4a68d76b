//! Kernels, their arguments, and how a fault affects the context.
use super::*;
use crate::context::cuCtxSynchronize;
use crate::error::{
    ILLEGAL_ADDRESS, INVALID_PTX, INVALID_VALUE, LAUNCH_OUT_OF_RESOURCES, NO_BINARY_FOR_GPU,
};
use crate::event::{cuEventCreate, cuEventElapsedTime, cuEventRecord};
use crate::launch::cuLaunchKernel;
use crate::memory::{Memcpy2d, cuMemFree_v2, cuMemcpy2D_v2, cuMemsetD2D32_v2};
use crate::module::{
    cuFuncGetAttribute, cuFuncGetParamInfo, cuFuncSetAttribute, cuModuleGetGlobal_v2,
};
use crate::stream::cuStreamCreate;

/// Launches `add` with a list of pointers, as C programs do.
fn add(kernel: Handle, blocks: u32, data: u64, by: u32, n: u32) -> u32 {
    let list = [
        &raw const data as usize,
        &raw const by as usize,
        &raw const n as usize,
    ];
    cuLaunchKernel(
        kernel,
        blocks,
        1,
        1,
        256,
        1,
        1,
        0,
        0,
        input(&list),
        In::at(0),
    )
}

#[test]
fn a_kernel_reads_its_arguments_by_both_ways() {
    let _context = Current::new();
    let module = module(ADD);
    let kernel = function(module, c"add");
    let data = upload(&(0..300).collect::<Vec<u32>>());
    ok(add(kernel, 2, data, 7, 300));
    assert_eq!(download(data, 300), (7..307).collect::<Vec<u32>>());

    // All arguments in one buffer: pointer, size, end.
    let buffer = [data, 1 | 300 << 32];
    let bytes = 16usize;
    let extra = [1, buffer.as_ptr() as usize, 2, &raw const bytes as usize, 0];
    ok(cuLaunchKernel(
        kernel,
        2,
        1,
        1,
        256,
        1,
        1,
        0,
        0,
        In::at(0),
        input(&extra),
    ));
    assert_eq!(download(data, 300), (8..308).collect::<Vec<u32>>());
    let bytes = 12usize;
    let extra = [1, buffer.as_ptr() as usize, 2, &raw const bytes as usize, 0];
    let short = cuLaunchKernel(kernel, 2, 1, 1, 256, 1, 1, 0, 0, In::at(0), input(&extra));
    assert_eq!(short, INVALID_VALUE);

    // A variable that counts launches persists between them.
    let (mut address, mut bytes) = (0, 0);
    ok(cuModuleGetGlobal_v2(
        out(&mut address),
        out(&mut bytes),
        module,
        text(c"launches"),
    ));
    assert_eq!((bytes, download(address, 1)), (4, vec![2]));
    ok(cuMemFree_v2(data));
}

#[test]
fn what_a_gpu_refuses_is_refused_at_once() {
    let _context = Current::new();
    let module = module(ADD);
    let bare = function(module, c"bare");
    let launch = |threads, dynamic| {
        cuLaunchKernel(
            bare,
            1,
            1,
            1,
            threads,
            1,
            1,
            dynamic,
            0,
            In::at(0),
            In::at(0),
        )
    };
    ok(launch(1024, 48 << 10));
    assert_eq!(launch(1025, 0), INVALID_VALUE);
    assert_eq!(launch(0, 0), INVALID_VALUE);
    assert_eq!(launch(32, 100 << 10), INVALID_VALUE, "it was not allowed");
    ok(cuFuncSetAttribute(bare, 8, 100 << 10));
    ok(launch(32, 100 << 10));
    assert_eq!(cuFuncSetAttribute(bare, 8, 228 << 10), INVALID_VALUE);
    // The kernel did not fail: the context remains usable.
    ok(cuCtxSynchronize());
    let bounded = ADD.replace("bare() {", "bare() .maxntid 64, 1, 1 {");
    let bounded = function(super::module(&bounded), c"bare");
    let code = cuLaunchKernel(bounded, 1, 1, 1, 65, 1, 1, 0, 0, In::at(0), In::at(0));
    assert_eq!(code, LAUNCH_OUT_OF_RESOURCES);
    assert_eq!(got(|value| cuFuncGetAttribute(value, 0, bounded)), 64);
}

#[test]
fn after_a_fault_every_call_answers_with_it_until_the_context_is_gone() {
    let data = {
        let _context = Current::new();
        let kernel = function(module(ADD), c"add");
        let data = upload(&[0; 10]);
        ok(add(kernel, 1, data, 1, 11)); // as on a GPU, a launch does not wait for its kernel
        assert_eq!(cuCtxSynchronize(), ILLEGAL_ADDRESS);
        let mut value = 0u32;
        let copy = cuMemcpyDtoH_v2(&raw mut value as u64, data, 4);
        assert_eq!(copy, ILLEGAL_ADDRESS);
        data
    };
    let _context = Current::new();
    ok(cuCtxSynchronize());
    assert_eq!(cuMemFree_v2(data), INVALID_VALUE, "freed with its context");
}

#[test]
fn machine_code_and_wrong_ptx_are_refused() {
    let _context = Current::new();
    let mut handle = 0;
    let elf = *b"\x7fELF\x02\x01\x01\0";
    assert_eq!(
        cuModuleLoadData(out(&mut handle), elf.as_ptr() as usize),
        NO_BINARY_FOR_GPU
    );
    let wrong = c".version 8.0\n.target sm_90\n.address_size 64\n.entry k { nonsense; }";
    let code = cuModuleLoadData(out(&mut handle), wrong.as_ptr() as usize);
    if code == 0 {
        // A kernel's code is checked when the kernel is requested.
        let mut kernel = 0;
        let code = cuModuleGetFunction(out(&mut kernel), handle, text(c"k"));
        assert_ne!(code, 0);
    } else {
        assert_eq!(code, INVALID_PTX);
    }
}

#[test]
fn a_fatbin_gives_its_newest_ptx() {
    let _context = Current::new();
    let entry = |arch: u32, kind: u16, text: &str| {
        let mut bytes = Vec::new();
        bytes.extend(kind.to_le_bytes());
        bytes.extend([1, 1]);
        bytes.extend(64u32.to_le_bytes());
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.resize(28, 0);
        bytes.extend(arch.to_le_bytes());
        bytes.resize(64, 0);
        bytes.extend(text.as_bytes());
        bytes
    };
    let old = "// too old to have a kernel\n.version 7.0\n.target sm_80\n.address_size 64\n";
    let body = [
        entry(80, 1, old),
        entry(90, 1, ADD),
        entry(90, 2, "\u{7f}ELF"),
    ]
    .concat();
    let mut image = 0xba55_ed50u32.to_le_bytes().to_vec();
    image.extend([1, 0, 16, 0]);
    image.extend((body.len() as u64).to_le_bytes());
    image.extend(&body);
    let handle = got(|module| cuModuleLoadData(module, image.as_ptr() as usize));
    function(handle, c"add");

    let only_code = [
        &image[..8],
        &(body.len() as u64).to_le_bytes(),
        &entry(90, 2, "\u{7f}ELF"),
    ]
    .concat();
    let mut image = only_code;
    let bytes = (image.len() - 16) as u64;
    image[8..16].copy_from_slice(&bytes.to_le_bytes());
    let mut handle = 0;
    assert_eq!(
        cuModuleLoadData(out(&mut handle), image.as_ptr() as usize),
        NO_BINARY_FOR_GPU
    );
}

#[test]
fn rows_are_filled_and_copied() {
    let _context = Current::new();
    let data = upload(&[0; 12]);
    ok(cuMemsetD2D32_v2(data, 16, 5, 2, 3)); // two of four numbers in each of three rows
    assert_eq!(download(data, 12), [5, 5, 0, 0].repeat(3));
    let mut tile = [0u32; 4];
    let copy = Memcpy2d {
        src_x: 4,
        src_y: 1,
        src_type: 2,
        src_device: data,
        src_pitch: 16,
        dst_type: 1,
        dst_host: tile.as_mut_ptr() as u64,
        dst_pitch: 8,
        width: 8,
        height: 2,
        ..Memcpy2d::default()
    };
    ok(cuMemcpy2D_v2(input(&[copy])));
    assert_eq!(tile, [5, 0, 5, 0]);
    let past = Memcpy2d { height: 3, ..copy };
    assert_eq!(cuMemcpy2D_v2(input(&[past])), INVALID_VALUE);
}

#[test]
fn events_have_times_and_parameters_have_places() {
    let _context = Current::new();
    let stream = got(|stream| cuStreamCreate(stream, 0));
    let events = [0, 0].map(|_| got(|event| cuEventCreate(event, 0)));
    ok(cuEventRecord(events[0], stream));
    ok(cuEventRecord(events[1], stream));
    assert!(got(|time| cuEventElapsedTime(time, events[0], events[1])) >= 0.0);
    let kernel = function(module(ADD), c"add");
    let (mut offset, mut size) = (0, 0);
    ok(cuFuncGetParamInfo(
        kernel,
        2,
        out(&mut offset),
        out(&mut size),
    ));
    assert_eq!((offset, size), (12, 4));
    assert_eq!(
        cuFuncGetParamInfo(kernel, 3, out(&mut offset), out(&mut size)),
        INVALID_VALUE
    );
}
