//! A function of the caller changes what shared memory holds before each load.
use std::sync::Arc;

use crate::common;
use common::{module, threads};
use emulator::KernelArg;

#[test]
fn loads_read_what_shared_memory_is_changed_to() {
    let text = module(
        ".shared .align 16 .b8 room[1024];",
        "mov.u32 %r0, room;
        mad.lo.u32 %r1, %tid, 16, %r0;
        mov.u32 %r2, 3;
        st.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};
        bar.sync 0;
        ld.shared.u32 %r3, [%r1];
        ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r4}, [%r1];
        atom.shared.add.u32 %r5, [%r1+4], 1;
        cvta.shared.u64 %d0, room;
        mul.wide.u32 %d1, %tid, 16;
        add.u64 %d0, %d0, %d1;
        ld.u32 %r6, [%d0+8];
        mul.wide.u32 %at, %tid, 20;
        add.u64 %at, %at, %out;
        st.global.u32 [%at], %r2;
        st.global.u32 [%at+4], %r3;
        st.global.u32 [%at+8], %r4;
        st.global.u32 [%at+12], %r5;
        st.global.u32 [%at+16], %r6;",
    );
    let setup = threads(32);
    let (mut context, function) = setup.context(&text);
    context.options_mut().before_load = Some(Arc::new(|block, words| {
        assert_eq!(block, [0; 3]);
        for word in words {
            *word += 1;
        }
    }));
    let out = context.upload("out", &setup.fresh()).expect("room");
    let done = setup
        .launch(&mut context, &function, &[KernelArg::Buffer(&out)], &[out])
        .expect("a launch");
    for thread in done.clean()[..160].chunks(5) {
        // One more before each of the four loads.
        assert_eq!(thread, [3, 4, 5, 6, 7]);
    }
}
