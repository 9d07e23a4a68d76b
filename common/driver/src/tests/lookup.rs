//! Function lookup.
use std::collections::BTreeSet;

use super::*;
use crate::error::{NO_BINARY_FOR_GPU, NOT_FOUND};
use crate::event::{cuEventElapsedTime, cuEventElapsedTime_v2};
use crate::memory::cuMemAlloc_v2;
use crate::proc_address::{all, cuGetProcAddress_v2};
use crate::results::{cuGetErrorName, cuGetErrorString};

#[test]
fn a_function_is_found_by_its_name_and_the_clients_version() {
    let find = |name: &std::ffi::CStr, version| {
        let (mut address, mut status) = (1, 9);
        let code = cuGetProcAddress_v2(text(name), out(&mut address), version, 0, out(&mut status));
        (code, address, status)
    };
    let address = |function: *const ()| function as usize;
    let alloc = address(cuMemAlloc_v2 as *const ());
    assert_eq!(find(c"cuMemAlloc", 13000), (0, alloc, 0));
    assert_eq!(find(c"cuMemAlloc_v2", 13000), (0, alloc, 0));
    assert_eq!(find(c"cuMemAlloc", 3000), (NOT_FOUND, 0, 2));
    let [old, new] = [
        cuEventElapsedTime as *const (),
        cuEventElapsedTime_v2 as *const (),
    ];
    assert_eq!(find(c"cuEventElapsedTime", 12000), (0, address(old), 0));
    assert_eq!(find(c"cuEventElapsedTime", 13000), (0, address(new), 0));
    assert_eq!(find(c"cuTexRefGetFlags", 13000), (NOT_FOUND, 0, 1));
}

#[test]
fn no_function_is_exported_twice() {
    let names: BTreeSet<&str> = all().iter().map(|one| one.name).collect();
    assert_eq!(names.len(), all().len());
    assert!(
        all()
            .iter()
            .all(|one| one.since >= 2000 && one.since <= 13_000)
    );
}

#[test]
fn results_are_named() {
    let mut name = 0;
    ok(cuGetErrorName(NO_BINARY_FOR_GPU, out(&mut name)));
    assert_eq!(
        Text::at(name).get().expect("text"),
        "CUDA_ERROR_NO_BINARY_FOR_GPU"
    );
    ok(cuGetErrorString(0, out(&mut name)));
    assert_eq!(Text::at(name).get().expect("text"), "no error");
    assert_eq!(cuGetErrorName(54321, out(&mut name)), 1);
    assert_eq!(name, 0);
}
