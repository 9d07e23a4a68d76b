//! Loads and stores of every width in every space.
use crate::common;
use common::{Setup, body, body_with, threads};

#[test]
fn vectors_and_narrow_types() {
    for (ty, width) in [("global", 0), ("shared", 1), ("local", 2)] {
        let declarations = [
            ".global .align 16 .b8 room[2560];",
            ".shared .align 16 .b8 room[2560];",
            ".const .u32 unused = 0;",
        ][width];
        // Each thread has 64 bytes of its own; in local memory that needs no offset.
        let place = match ty {
            "local" => ".local .align 16 .b8 room[64];\nmov.u64 %d1, room;",
            _ => "mov.u64 %d1, room;\nmul.wide.u32 %d2, %tid, 64;\nadd.u64 %d1, %d1, %d2;",
        };
        let text = format!(
            "{place}
            mov.u32 %r0, 0x04030281;
            add.u32 %r0, %r0, %tid;
            mov.u32 %r1, 0x88070685;
            mov.u32 %r2, 0x0c0b0a09;
            mov.u32 %r3, 0x100f0e0d;
            st.{ty}.v4.u32 [%d1], {{%r0, %r1, %r2, %r3}};
            ld.{ty}.v2.u64 {{%d3, %d4}}, [%d1];
            st.{ty}.u64 [%d1+16], %d4;
            st.{ty}.v2.u64 [%d1+32], {{%d4, %d3}};
            ld.{ty}.v2.u32 {{%r4, %r5}}, [%d1+40];
            ld.{ty}.s8 %r6, [%d1];
            ld.{ty}.u8 %r7, [%d1+7];
            ld.{ty}.s16 %r8, [%d1+6];
            ld.{ty}.v4.u8 {{%h0, %h1, %h2, %h3}}, [%d1+4];
            cvt.u32.u16 %r9, %h3;
            ld.{ty}.s8 %h4, [%d1+7];
            shr.u16 %h5, %h4, 4;
            cvt.u32.u16 %r10, %h5;
            st.{ty}.v2.u16 [%d1+48], {{%h5, %h3}};
            st.{ty}.u8 [%d1+51], %h4;
            ld.{ty}.u32 %r11, [%d1+48];
            ld.{ty}.v4.u16 {{%h6, %h7, %h8, %h9}}, [%d1+16];
            cvt.u32.u16 %r12, %h9;
            ld.{ty}.s32 %d5, [%d1+4];
            shr.u64 %d5, %d5, 32;
            cvt.u32.u64 %r13, %d5;
            mul.lo.u32 %r14, %tid, 40;
            cvt.u64.u32 %d0, %r14;
            add.u64 %at, %out, %d0;
            st.global.u32 [%at], %r4;
            st.global.u32 [%at+4], %r5;
            st.global.u32 [%at+8], %r6;
            st.global.u32 [%at+12], %r7;
            st.global.u32 [%at+16], %r8;
            st.global.u32 [%at+20], %r9;
            st.global.u32 [%at+24], %r10;
            st.global.u32 [%at+28], %r11;
            st.global.u32 [%at+32], %r12;
            st.global.u32 [%at+36], %r13;"
        );
        let words = body_with(&threads(40), declarations, &text).clean();
        for tid in 0..40u32 {
            let low = 0x0403_0281 + tid;
            let expected = [
                low,
                0x8807_0685,
                low as u8 as i8 as u32,
                0x88,
                0xffff_8807,
                0x88,
                0x0ff8,
                // Half 3 is 0x0088; the byte store writes 0x88 above it.
                0x8888_0ff8,
                0x100f,
                0xffff_ffff,
            ];
            assert_eq!(
                words[10 * tid as usize..][..10],
                expected,
                "{ty}, thread {tid}"
            );
        }
    }
}

#[test]
fn generic_addresses() {
    let outcome = body_with(
        &Setup {
            dynamic_shared: 256,
            ..threads(32)
        },
        ".shared .u32 fixed[32]; .extern .shared .align 4 .b8 dynamic[]; .const .u32 table[4] = {5, 6, 7, 8}; .global .u32 wide[32];",
        ".local .u32 own[2];
        mov.u64 %d1, fixed;
        cvta.shared.u64 %d1, %d1;
        mov.u64 %d2, dynamic;
        cvta.shared.u64 %d2, %d2;
        mov.u64 %d3, own;
        cvta.local.u64 %d3, %d3;
        mov.u64 %d4, table;
        cvta.const.u64 %d4, %d4;
        mov.u64 %d5, wide;
        cvta.global.u64 %d5, %d5;
        mul.wide.u32 %d6, %tid, 4;
        add.u64 %d1, %d1, %d6;
        add.u64 %d2, %d2, %d6;
        add.u64 %d5, %d5, %d6;
        isspacep.shared %p0, %d1;
        isspacep.local %p1, %d3;
        isspacep.global %p2, %d5;
        isspacep.const %p3, %d4;
        isspacep.global %p4, %d2;
        and.b32 %r1, %tid, 3;
        setp.eq.u32 %p5, %r1, 0;
        setp.eq.u32 %p6, %r1, 1;
        setp.eq.u32 %p7, %r1, 2;
        selp.b64 %d7, %d1, %d2, %p5;
        selp.b64 %d7, %d5, %d7, %p6;
        selp.b64 %d7, %d3, %d7, %p7;
        st.u32 [%d7], %tid;
        ld.u32 %r0, [%d7];
        ld.u32 %r2, [%d4+8];
        mad.lo.u32 %r0, %r2, 1000, %r0;
        atom.add.u32 %r3, [%d7], 1;
        add.u32 %r0, %r0, %r3;
        cvta.to.shared.u64 %d8, %d1;
        @%p5 ld.shared.u32 %r4, [%d8];
        @%p5 sub.u32 %r4, %r4, %tid;
        @%p5 mad.lo.u32 %r0, %r4, 1000000, %r0;
        st.global.u32 [%at], %r0;
        selp.u32 %r5, 1, 0, %p0;
        selp.u32 %r6, 2, 0, %p1;
        add.u32 %r5, %r5, %r6;
        selp.u32 %r6, 4, 0, %p2;
        add.u32 %r5, %r5, %r6;
        selp.u32 %r6, 8, 0, %p3;
        add.u32 %r5, %r5, %r6;
        selp.u32 %r6, 16, 0, %p4;
        add.u32 %r5, %r5, %r6;
        st.global.u32 [%at+128], %r5;",
    );
    // Eight lanes to static and eight to dynamic shared memory, eight to global; one request each.
    let store = outcome.of("st.u32")[0];
    assert_eq!((store.shared.wavefronts, store.shared.ideal), (1, 1));
    assert_eq!((store.global_requests, store.global_sectors), (1, 4));
    let words = outcome.clean();
    for tid in 0..32u32 {
        let million = if tid % 4 == 0 { 1_000_000 } else { 0 };
        assert_eq!(
            words[tid as usize],
            7000 + 2 * tid + million,
            "thread {tid}"
        );
        assert_eq!(words[32 + tid as usize], 15);
    }
}

#[test]
fn shared_addresses_of_32_bits_wrap_around() {
    let words = body_with(
        &threads(32),
        ".shared .u32 room[32];",
        "mov.u32 %r0, room;
        mad.lo.u32 %r0, %tid, 4, %r0;
        sub.u32 %r1, %r0, 8192;
        st.shared.u32 [%r1+8192], %tid;
        ld.shared.u32 %r2, [%r0+-0];
        st.global.u32 [%at], %r2;",
    )
    .clean();
    assert_eq!(words[31], 31);
}

#[test]
fn local_arrays_belong_to_each_thread() {
    let words = body(
        &threads(64),
        ".local .align 4 .b8 depot[64];
        mov.u64 %d1, depot;
        mov.u32 %r0, 0;
        FILL:
        mul.wide.u32 %d2, %r0, 4;
        add.u64 %d2, %d2, %d1;
        mad.lo.u32 %r1, %tid, 100, %r0;
        st.local.u32 [%d2], %r1;
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p0, %r0, 16;
        @%p0 bra FILL;
        and.b32 %r2, %tid, 15;
        mul.wide.u32 %d2, %r2, 4;
        add.u64 %d2, %d2, %d1;
        ld.local.u32 %r3, [%d2];
        st.global.u32 [%at], %r3;",
    )
    .clean();
    for tid in 0..64 {
        assert_eq!(words[tid as usize], 100 * tid + tid % 16);
    }
}

#[test]
fn constants_and_globals_keep_their_initial_values() {
    let declarations = ".const .align 8 .b8 bytes[12] = {1, 2, 3, 4, 5}; .const .f32 half = 0f3F000000; .const .align 8 .u64 wide[2] = {0x100000002, 3}; .global .align 4 .u32 start[3] = {9, 8}; .global .s16 minus = -2;";
    let words = body_with(
        &threads(1),
        declarations,
        "ld.const.u32 %r0, [bytes+4];
        st.global.u32 [%out], %r0;
        ld.const.f32 %f0, [half];
        st.global.f32 [%out+4], %f0;
        ld.const.u64 %d0, [wide];
        st.global.u64 [%out+8], %d0;
        ld.global.u32 %r1, [start+4];
        ld.global.u32 %r2, [start+8];
        ld.global.s16 %r3, [minus];
        st.global.v4.u32 [%out+16], {%r1, %r2, %r3, %r3};",
    )
    .clean();
    assert_eq!(
        words[..8],
        [5, 0x3f00_0000, 2, 1, 8, 0, 0xffff_fffe, 0xffff_fffe]
    );
}

#[test]
fn blocks_and_grids_of_three_dimensions() {
    let setup = Setup {
        grid: [3, 2, 2],
        block: [4, 3, 2],
        ..Setup::default()
    };
    let words = body(
        &setup,
        "mov.u32 %r0, %tid.z;
        mov.u32 %r1, %ntid.y;
        mov.u32 %r2, %tid.y;
        mad.lo.u32 %r0, %r0, %r1, %r2;
        mov.u32 %r1, %ntid.x;
        mad.lo.u32 %r0, %r0, %r1, %tid;
        mov.u32 %r3, %ctaid.z;
        mov.u32 %r4, %nctaid.y;
        mov.u32 %r5, %ctaid.y;
        mad.lo.u32 %r3, %r3, %r4, %r5;
        mov.u32 %r4, %nctaid.x;
        mov.u32 %r5, %ctaid.x;
        mad.lo.u32 %r3, %r3, %r4, %r5;
        mad.lo.u32 %r6, %r3, 24, %r0;
        mul.wide.u32 %at, %r6, 4;
        add.u64 %at, %at, %out;
        st.global.u32 [%at], %r6;",
    )
    .clean();
    assert!((0..288).all(|i| words[i] == i as u32));
    assert_eq!(words[288], 0xdead);
}
