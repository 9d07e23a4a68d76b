//! Memory shared by the host and kernels.
#![cfg(target_os = "linux")]
use super::*;
use crate::error::{HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE};
use crate::host_memory::{
    cuMemAllocManaged, cuMemFreeHost, cuMemHostAlloc, cuMemHostGetDevicePointer_v2,
    cuMemHostGetFlags, cuMemHostRegister_v2, cuMemHostUnregister, cuMemPrefetchAsync_v2,
};
use crate::launch::cuLaunchKernel;
use crate::memory::{cuMemFree_v2, cuMemcpy, cuMemsetD32_v2};
use crate::pointer::{cuPointerGetAttribute, cuPointerGetAttributes};

fn add_to(kernel: Handle, data: u64, by: u32, n: u32) {
    let list = [
        &raw const data as usize,
        &raw const by as usize,
        &raw const n as usize,
    ];
    ok(cuLaunchKernel(
        kernel,
        1,
        1,
        1,
        64,
        1,
        1,
        0,
        0,
        input(&list),
        In::at(0),
    ));
}

/// Reads numbers at a host address.
fn on_host(address: u64, count: usize) -> Vec<u32> {
    In::at(address as usize).all(count).expect("mapped")
}

fn attribute(which: u32, pointer: u64) -> Result<u64, u32> {
    let mut value = 0u64;
    match cuPointerGetAttribute(&raw mut value as usize, which, pointer) {
        0 => Ok(value),
        code => Err(code),
    }
}

#[test]
fn pinned_and_managed_memory_have_one_address_for_both_sides() {
    let _context = Current::new();
    let kernel = function(module(ADD), c"add");
    let pinned = got(|address| cuMemHostAlloc(address, 64 * 4, 3));
    let managed = got(|address| cuMemAllocManaged(address, 64 * 4, 1));
    assert_eq!(got(|flags| cuMemHostGetFlags(flags, pinned)), 3);
    for data in [pinned, managed] {
        let numbers: Out<u32> = Out::at(data as usize);
        numbers.put_all(&[5; 64]).expect("mapped");
        add_to(kernel, data, 1, 60);
        assert_eq!(on_host(data + 59 * 4, 2), [6, 5]);
        // The host writes, a kernel reads, a fill writes, a copy reads.
        numbers.put(100).expect("mapped");
        add_to(kernel, data, 1, 1);
        ok(cuMemsetD32_v2(data + 4, 9, 1));
        assert_eq!(on_host(data, 3), [101, 9, 6]);
        assert_eq!(download(data, 3), [101, 9, 6]);
        let mut past = [0u32; 65];
        let code = cuMemcpyDtoH_v2(past.as_mut_ptr() as u64, data, 65 * 4);
        assert_eq!(code, INVALID_VALUE);
    }
    let copy = got(|address| cuMemAllocManaged(address, 64 * 4, 1));
    ok(cuMemcpy(copy, pinned, 64 * 4));
    assert_eq!(on_host(copy, 3), [101, 9, 6]);
    ok(cuMemPrefetchAsync_v2(managed, 64 * 4, 0, 0, 0));
    assert_eq!(
        cuMemPrefetchAsync_v2(managed, 65 * 4, 0, 0, 0),
        INVALID_VALUE
    );
    assert_eq!(cuMemFreeHost(managed), INVALID_VALUE, "not pinned");
    assert_eq!(cuMemFree_v2(pinned), INVALID_VALUE, "not the device's");
    ok(cuMemFree_v2(managed));
    ok(cuMemFreeHost(pinned));
    assert_eq!(cuMemFreeHost(pinned), INVALID_VALUE);
}

#[test]
fn registered_memory_has_a_device_address_of_its_own() {
    let _context = Current::new();
    let kernel = function(module(ADD), c"add");
    let mut own = vec![1u32; 64];
    let host = own.as_mut_ptr() as u64;
    ok(cuMemHostRegister_v2(host, 64 * 4, 2));
    let overlap = cuMemHostRegister_v2(host + 8, 4, 0);
    assert_eq!(overlap, HOST_MEMORY_ALREADY_REGISTERED);
    let device = got(|address| cuMemHostGetDevicePointer_v2(address, host + 4, 0));
    add_to(kernel, device, 1, 2);
    assert_eq!(on_host(host, 4), [1, 2, 2, 1]);
    assert_eq!(attribute(4, device), Ok(host + 4));
    assert_eq!(attribute(3, host + 4), Ok(device));
    ok(cuMemHostUnregister(host));
    assert_eq!(cuMemHostUnregister(host), HOST_MEMORY_NOT_REGISTERED);
    assert_eq!(
        cuMemHostRegister_v2(1 << 45, 4096, 0),
        INVALID_VALUE,
        "nothing is there"
    );
}

#[test]
fn pointers_have_the_attributes_of_their_memory() {
    let context = Current::new();
    let device = upload(&[1, 2]);
    let pinned = got(|address| cuMemHostAlloc(address, 8, 0));
    let managed = got(|address| cuMemAllocManaged(address, 8, 1));
    for memory in [device, pinned, managed] {
        assert_eq!(attribute(1, memory), Ok(context.0 as u64));
        assert_eq!(attribute(11, memory + 5), Ok(memory));
    }
    assert_eq!(
        [device, pinned, managed].map(|at| attribute(2, at)),
        [Ok(2), Ok(1), Ok(2)]
    );
    assert_eq!(
        [device, pinned, managed].map(|at| attribute(8, at)),
        [Ok(0), Ok(0), Ok(1)]
    );
    assert_eq!(
        attribute(4, device),
        Err(INVALID_VALUE),
        "the host cannot reach it"
    );
    assert_eq!(attribute(4, managed + 1), Ok(managed + 1));
    assert_eq!(attribute(99, device), Err(INVALID_VALUE));

    let (mut host, mut ordinal) = (7u64, 7i32);
    let outs = [&raw mut host as usize, &raw mut ordinal as usize];
    ok(cuPointerGetAttributes(
        2,
        input(&[4, 9]),
        input(&outs),
        device,
    ));
    assert_eq!((host, ordinal), (0, 0));
    let unknown = &raw const host as u64;
    ok(cuPointerGetAttributes(
        2,
        input(&[4, 9]),
        input(&outs),
        unknown,
    ));
    assert_eq!((host, ordinal), (0, -2));
    let code = cuPointerGetAttributes(1, input(&[99]), input(&outs), device);
    assert_eq!(code, INVALID_VALUE, "no such attribute");
}
