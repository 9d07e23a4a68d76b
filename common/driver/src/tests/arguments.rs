//! Wrong arguments must give an error, and never a crash.
use super::*;
use crate::device::{cuDeviceGet, cuDeviceGetAttribute, cuDeviceGetName, cuDriverGetVersion};
use crate::error::{INVALID_DEVICE, INVALID_HANDLE, INVALID_PTX, INVALID_VALUE, NOT_FOUND};
use crate::event::cuEventRecord;
use crate::launch::{Config, cuLaunchKernel};
use crate::memory::{
    Memcpy3d, cuMemAlloc_v2, cuMemFree_v2, cuMemcpy, cuMemcpy3D_v2, cuMemsetD8_v2, cuMemsetD32_v2,
};
use crate::module::{cuModuleGetFunction, cuModuleLoadData, cuModuleUnload};
use crate::occupancy::cuOccupancyMaxActiveClusters;
use crate::stream::{cuStreamCreate, cuStreamDestroy_v2, cuStreamSynchronize};
use crate::tensor_map::cuTensorMapEncodeTiled;

#[test]
fn null_pointers_are_invalid_values() {
    let _context = Current::new();
    let module = module(ADD);
    for code in [
        cuDriverGetVersion(Out::at(0)),
        cuDeviceGet(Out::at(0), 0),
        cuDeviceGetName(Out::at(0), 10, 0),
        cuDeviceGetAttribute(Out::at(0), 1, 0),
        cuMemAlloc_v2(Out::at(0), 4),
        cuModuleLoadData(Out::at(0), ADD.as_ptr() as usize),
        cuModuleLoadData(out(&mut 0), 0),
        cuModuleGetFunction(Out::at(0), module, text(c"add")),
        cuModuleGetFunction(out(&mut 0), module, Text::at(0)),
        cuMemcpy(0, 0, 4),
        cuMemsetD8_v2(0, 0, 4),
    ] {
        assert_eq!(code, INVALID_VALUE);
    }
    let kernel = function(module, c"add");
    let none = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, In::at(0), In::at(0));
    assert_eq!(none, INVALID_VALUE);
    let nulls = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, input(&[0; 3]), In::at(0));
    assert_eq!(nulls, INVALID_VALUE);
}

#[test]
fn handles_are_looked_up() {
    let _context = Current::new();
    let module = module(ADD);
    let kernel = function(module, c"bare");
    let stream = got(|stream| cuStreamCreate(stream, 0));
    assert_eq!(cuEventRecord(stream, 0), INVALID_HANDLE, "no event");
    assert_eq!(cuStreamSynchronize(kernel), INVALID_HANDLE, "no stream");
    assert_eq!(
        cuModuleGetFunction(out(&mut 0), module, text(c"none")),
        NOT_FOUND
    );
    assert_eq!(
        cuModuleGetFunction(out(&mut 0), kernel, text(c"bare")),
        INVALID_HANDLE
    );
    ok(cuStreamDestroy_v2(stream));
    assert_eq!(cuStreamDestroy_v2(stream), INVALID_HANDLE);
    assert_eq!(cuStreamSynchronize(stream), INVALID_HANDLE);
    ok(cuModuleUnload(module));
    assert_eq!(cuModuleUnload(module), INVALID_HANDLE);
    let code = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, In::at(0), In::at(0));
    assert_eq!(code, INVALID_HANDLE);
    assert_eq!(cuDeviceGet(out(&mut 0), 1), INVALID_DEVICE);
}

#[test]
fn device_pointers_stay_within_their_allocation() {
    let _context = Current::new();
    let data = upload(&[1, 2, 3, 4]);
    let mut host = [0u32; 8];
    let to = host.as_mut_ptr() as u64;
    ok(cuMemcpyDtoH_v2(to, data + 8, 8));
    assert_eq!(host[..2], [3, 4]);
    for code in [
        cuMemcpyDtoH_v2(to, data, 17),
        cuMemcpyDtoH_v2(to, data - 4, 4),
        cuMemcpy(to, data + 12, 8),
        cuMemsetD32_v2(data, 0, 5),
        cuMemsetD32_v2(data + 1, 0, 1),
        cuMemsetD32_v2(data, 0, usize::MAX),
        cuMemFree_v2(data + 4),
        cuMemAlloc_v2(out(&mut 0), 0),
    ] {
        assert_eq!(code, INVALID_VALUE);
    }
    assert_eq!(download(data, 4), [1, 2, 3, 4], "nothing was written");
    ok(cuMemFree_v2(data));
    assert_eq!(cuMemFree_v2(data), INVALID_VALUE);
    assert_eq!(cuMemcpyDtoH_v2(to, data, 4), INVALID_VALUE);
}

#[test]
fn slices_do_not_overlap() {
    let _context = Current::new();
    let data = upload(&[1; 64]);
    let copy = |height, depth| {
        let copy = Memcpy3d {
            src_type: 2,
            src_device: data,
            src_pitch: 16,
            src_height: height,
            dst_type: 2,
            dst_device: data,
            dst_pitch: 16,
            dst_height: height,
            width: 16,
            height: 2,
            depth,
            ..Memcpy3d::default()
        };
        cuMemcpy3D_v2(input(&[copy]))
    };
    ok(copy(2, 4));
    ok(copy(0, 1));
    assert_eq!(copy(1, 2), INVALID_VALUE);
    // So many copies of the same slice would take hours.
    assert_eq!(copy(0, 1 << 40), INVALID_VALUE);
}

#[test]
fn clusters_of_blocks_that_nothing_can_count_are_refused() {
    let _context = Current::new();
    let kernel = function(module(ADD), c"bare");
    for block in [[u32::MAX; 3], [1 << 16, 1 << 15, 1]] {
        let config = Config {
            grid: [1; 3],
            block,
            ..Config::default()
        };
        let code = cuOccupancyMaxActiveClusters(out(&mut 0), kernel, input(&[config]));
        assert_eq!(code, INVALID_VALUE);
    }
}

#[test]
fn a_fatbin_has_no_fatbin_in_it() {
    let _context = Current::new();
    // A 16-byte header, then an entry with a 64-byte header: PTX for sm_90, with its length.
    let fatbin = |body: &[u8]| {
        let mut bytes = vec![0; 80];
        bytes[..8].copy_from_slice(&0x0010_0001_ba55_ed50u64.to_le_bytes());
        bytes[8..16].copy_from_slice(&(64 + body.len() as u64).to_le_bytes());
        bytes[16] = 1;
        bytes[20] = 64;
        bytes[24..32].copy_from_slice(&(body.len() as u64).to_le_bytes());
        bytes[44] = 90;
        [&bytes, body].concat()
    };
    let one = fatbin(ADD.as_bytes());
    ok(cuModuleLoadData(out(&mut 0), one.as_ptr() as usize));
    let two = fatbin(&one);
    let code = cuModuleLoadData(out(&mut 0), two.as_ptr() as usize);
    assert_eq!(code, INVALID_PTX);
}

#[test]
fn tensor_maps_keep_the_rules_of_tma() {
    let _context = Current::new();
    let data = upload(&[0; 64]);
    let encode = |rank, tile: u32, stride: u64| {
        cuTensorMapEncodeTiled(
            out(&mut [0; 128]),
            7,
            rank,
            data,
            input(&[8, 8]),
            input(&[stride]),
            input(&[tile, 4]),
            input(&[1, 1]),
            0,
            0,
            0,
            0,
        )
    };
    ok(encode(2, 4, 32));
    assert_eq!(encode(2, 4, 31), INVALID_VALUE);
    assert_eq!(encode(2, 257, 32), INVALID_VALUE);
    assert_eq!(encode(0, 4, 32), INVALID_VALUE);
    assert_eq!(encode(6, 4, 32), INVALID_VALUE);
}
