//! Contexts and threads.
use super::*;
use crate::context::{
    cuCtxGetCurrent, cuCtxPopCurrent_v2, cuCtxPushCurrent_v2, cuCtxSetCurrent, cuCtxSynchronize,
    cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRetain,
};
use crate::error::{INVALID_CONTEXT, INVALID_HANDLE, INVALID_VALUE, NOT_FOUND};
use crate::launch::cuLaunchKernel;
use crate::memory::{cuMemFree_v2, cuMemGetAddressRange_v2};

#[test]
fn the_current_context_is_a_stack_of_each_thread() {
    let first = Current::new();
    let second = Current::new();
    assert_eq!(got(|context| cuCtxGetCurrent(context)), second.0);
    assert_eq!(got(|context| cuCtxPopCurrent_v2(context)), second.0);
    assert_eq!(got(|context| cuCtxGetCurrent(context)), first.0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(got(|context| cuCtxGetCurrent(context)), 0);
            assert_eq!(cuCtxSynchronize(), INVALID_CONTEXT);
            ok(cuCtxSetCurrent(first.0));
            ok(cuCtxSynchronize());
        });
    });
    ok(cuCtxPushCurrent_v2(second.0));
    assert_eq!(got(|context| cuCtxGetCurrent(context)), second.0);
}

#[test]
fn what_belongs_to_a_context_goes_with_it() {
    let outer = Current::new();
    let kept = upload(&[1, 2, 3]);
    let (gone, kernel) = {
        let _inner = Current::new();
        (upload(&[4]), function(module(ADD), c"bare"))
    };
    assert_eq!(got(|context| cuCtxGetCurrent(context)), outer.0);
    assert_eq!(download(kept, 3), [1, 2, 3]);
    assert_eq!(cuMemFree_v2(gone), INVALID_VALUE);
    let code = cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, In::at(0), In::at(0));
    assert_eq!(code, INVALID_HANDLE);
    let (mut base, mut bytes) = (0, 0);
    ok(cuMemGetAddressRange_v2(
        out(&mut base),
        out(&mut bytes),
        kept + 5,
    ));
    assert_eq!((base, bytes), (kept, 12));
    let code = cuMemGetAddressRange_v2(out(&mut base), out(&mut bytes), kept + 12);
    assert_eq!(code, NOT_FOUND);
}

#[test]
fn the_primary_context_lives_as_long_as_it_is_retained() {
    ok(cuInit(0));
    let first = got(|context| cuDevicePrimaryCtxRetain(context, 0));
    assert_eq!(got(|context| cuDevicePrimaryCtxRetain(context, 0)), first);
    ok(cuDevicePrimaryCtxRelease_v2(0));
    ok(cuCtxSetCurrent(first));
    assert_eq!(
        cuCtxDestroy_v2(first),
        INVALID_CONTEXT,
        "released, not destroyed"
    );
    ok(cuDevicePrimaryCtxRelease_v2(0));
    assert_eq!(cuCtxSynchronize(), INVALID_CONTEXT);
    assert_eq!(cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
}

#[test]
fn threads_take_turns() {
    std::thread::scope(|scope| {
        for thread in 0..4u32 {
            scope.spawn(move || {
                let _context = Current::new();
                let kernel = function(module(ADD), c"add");
                let data = upload(&[thread; 64]);
                for _ in 0..8 {
                    let (by, n) = (10u32, 64u32);
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
                        256,
                        1,
                        1,
                        0,
                        0,
                        input(&list),
                        In::at(0),
                    ));
                }
                assert_eq!(download(data, 64), [thread + 80; 64]);
            });
        }
    });
}
