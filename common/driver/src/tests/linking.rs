//! Linking PTX texts.
use super::*;
use crate::error::{INVALID_HANDLE, INVALID_PTX, INVALID_VALUE, NOT_SUPPORTED};
use crate::launch::cuLaunchKernel;
use crate::link::{cuLinkAddData_v2, cuLinkComplete, cuLinkCreate_v2, cuLinkDestroy};

const CALLER: &str = ".version 8.0\n.target sm_90\n.address_size 64\n\
    .extern .func (.param .b32 value) number();\n\
    .visible .entry ask(.param .u64 out) { .reg .b64 %d; .reg .b32 %r;\n\
    { .param .b32 got; call.uni (got), number, (); ld.param.b32 %r, [got]; }\n\
    ld.param.u64 %d, [out]; st.global.u32 [%d], %r; ret; }\n";
const CALLED: &str = ".version 8.1\n.target sm_90\n.address_size 64\n\
    .visible .func (.param .b32 value) number() { .reg .b32 %r; mov.u32 %r, 42; st.param.b32 [value], %r; ret; }\n";

fn link() -> Handle {
    got(|link| cuLinkCreate_v2(0, In::at(0), Out::at(0), link))
}

fn add(link: Handle, kind: u32, bytes: &[u8]) -> u32 {
    let at = bytes.as_ptr() as usize;
    cuLinkAddData_v2(
        link,
        kind,
        at,
        bytes.len(),
        Text::at(0),
        0,
        In::at(0),
        Out::at(0),
    )
}

#[test]
fn a_kernel_calls_a_function_of_another_text() {
    let _context = Current::new();
    let link = link();
    ok(add(link, 1, CALLER.as_bytes()));
    ok(add(link, 1, CALLED.as_bytes()));
    let (mut image, mut size) = (0, 0);
    ok(cuLinkComplete(link, out(&mut image), out(&mut size)));
    let module = got(|module| cuModuleLoadData(module, image));
    let data = upload(&[0]);
    let list = [&raw const data as usize];
    ok(cuLaunchKernel(
        function(module, c"ask"),
        1,
        1,
        1,
        1,
        1,
        1,
        0,
        0,
        input(&list),
        In::at(0),
    ));
    assert_eq!(download(data, 1), [42]);

    let again = cuLinkComplete(link, out(&mut image), Out::at(0));
    assert_eq!(again, INVALID_HANDLE);
    assert_eq!(add(link, 1, CALLED.as_bytes()), INVALID_VALUE);
    ok(cuLinkDestroy(link));
}

#[test]
fn what_is_not_ptx_is_refused() {
    let _context = Current::new();
    let link = link();
    assert_eq!(add(link, 0, b"\x7fELF"), NOT_SUPPORTED);
    assert_eq!(add(link, 4, b"!<arch>\nmine.o/"), NOT_SUPPORTED);
    ok(add(link, 4, b"!<arch>\ncuda_device_runtime.o/"));
    let null = cuLinkAddData_v2(link, 1, 0, 1 << 40, Text::at(0), 0, In::at(0), Out::at(0));
    assert_eq!(null, INVALID_VALUE, "a terabyte of nothing");
    let empty = self::link();
    let mut image = 0;
    assert_eq!(
        cuLinkComplete(empty, out(&mut image), Out::at(0)),
        INVALID_PTX
    );
}
