//! Features of third-party kernels that a survey found unsupported: vector atomics, cache policies, ignored sources of
//! copies, managed variables, and clusters that communicate late.
use crate::common;
use common::{Setup, body, body_with, lower, module, run, threads};

#[test]
fn vectors_of_atomics_update_each_element() {
    let words = body(
        &threads(32),
        "mov.f32 %f0, 0f3f800000;
        mov.f32 %f1, 0f40000000;
        setp.eq.u32 %p0, %tid, 0;
        @%p0 st.global.v2.f32 [%out+256], {0f00000000, 0f00000000};
        @%p0 st.global.v2.u32 [%out+264], {0, 0};
        bar.sync 0;
        red.global.v2.f32.add [%out+256], {%f0, %f1};
        atom.global.v2.f16x2.add.noftz {%r1, %r2}, [%out+264], {0x3c003c00, 0x00003c00};
        bar.sync 0;
        ld.global.u32 %r3, [%at+256];
        setp.lt.u32 %p1, %tid, 4;
        @%p1 st.global.u32 [%at], %r3;
        st.global.u32 [%at+512], %r1;",
    )
    .clean();
    // 32 times 1 and 2 in f32, and 32 times (1, 1) and (1, 0) in f16.
    assert_eq!(words[..4], [0x4200_0000, 0x4280_0000, 0x5000_5000, 0x5000]);
    // Lane n read n in both halves.
    assert_eq!(words[128..131], [0, 0x3c00_3c00, 0x4000_4000]);
}

#[test]
fn a_vector_that_returns_what_it_adds_is_refused() {
    let text = "atom.global.v2.f32.add {%f1, %f0}, [%out], {%f0, %f1};";
    let error = lower(&module("", text)).expect_err("elements are updated one after the other");
    assert!(error.to_string().contains("atom.global.v2"), "{error}");
}

#[test]
fn a_cache_policy_changes_nothing() {
    let words = body_with(
        &threads(32),
        ".shared .align 16 .b8 tile[512];",
        "createpolicy.fractional.L2::evict_first.b64 %d1, 1.0;
        st.global.L2::cache_hint.u32 [%at], %tid, %d1;
        ld.global.L1::no_allocate.L2::cache_hint.u32 %r1, [%at], %d1;
        red.global.add.L2::cache_hint.u32 [%at], 1, %d1;
        mov.u32 %r2, tile;
        shl.b32 %r3, %tid, 2;
        add.u32 %r2, %r2, %r3;
        cp.async.ca.shared.global.L2::cache_hint [%r2], [%at], 4, %d1;
        cp.async.wait_all;
        ld.shared.u32 %r4, [%r2];
        add.u32 %r4, %r4, %r1;
        st.global.u32 [%at], %r4;",
    )
    .clean();
    assert!((0..32).all(|i| words[i] == 2 * i as u32 + 1), "{words:?}");
    let error = lower(&module("", "ld.global.L2::cache_hint.u32 %r1, [%at], %r2;"));
    assert!(error.is_err(), "a policy has 64 bits");
}

#[test]
fn a_copy_may_ignore_its_source() {
    let words = body_with(
        &threads(32),
        ".shared .align 16 .b8 tile[128];",
        "mov.u32 %r2, tile;
        shl.b32 %r3, %tid, 2;
        add.u32 %r2, %r2, %r3;
        st.global.u32 [%at], 7;
        and.b32 %r4, %tid, 1;
        setp.eq.u32 %p0, %r4, 1;
        cp.async.ca.shared.global [%r2], [%at], 4, %p0;
        cp.async.wait_all;
        ld.shared.u32 %r5, [%r2];
        st.global.u32 [%at], %r5;",
    )
    .clean();
    assert_eq!(words[..4], [7, 0, 7, 0]);
}

#[test]
fn managed_variables_are_global_ones() {
    let declarations = ".visible .global .attribute(.managed) .align 4 .u32 x = 41;";
    let text = "ld.global.u32 %r1, [x]; add.u32 %r1, %r1, 1; st.global.u32 [%at], %r1;";
    assert_eq!(body_with(&threads(32), declarations, text).clean()[0], 42);
    let other = declarations.replace("managed", "unified");
    assert!(lower(&module(&other, text)).is_err());
}

#[test]
fn differences_of_bytes_and_halves() {
    let words = body(
        &threads(1),
        "vabsdiff4.u32.u32.u32 %r1, 0x01ff8000, 0x02018005, 9;
        vabsdiff4.u32.u32.u32.add %r2, 0x01ff8000, 0x02018005, 9;
        vabsdiff2.u32.u32.u32.add %r3, 0x00018000, 0x00030000, 1;
        st.global.v2.u32 [%out], {%r1, %r2};
        st.global.u32 [%out+8], %r3;",
    )
    .clean();
    assert_eq!(words[..3], [0x01fe_0005, 9 + 1 + 254 + 5, 1 + 2 + 0x8000]);
}

/// Clusters that have run in parallel up to an atomic continue there, on the memory that all have written.
#[test]
fn late_communication_sees_what_others_have_written() {
    let text = module(
        ".global .u32 arrived;",
        "mov.u32 %r1, %ctaid.x;
        mul.wide.u32 %d1, %r1, 4;
        add.u64 %d1, %d1, %out;
        mov.u32 %r2, 0;
        LOOP: add.u32 %r2, %r2, 1;
        setp.lt.u32 %p0, %r2, 1000;
        @%p0 bra LOOP;
        add.u32 %r3, %r1, %r2;
        st.global.u32 [%d1], %r3;
        membar.gl;
        atom.global.add.u32 %r4, [arrived], 1;
        setp.ne.u32 %p1, %r4, 299;
        @%p1 exit;
        membar.gl;
        mov.u32 %r5, 0;
        mov.u32 %r6, 0;
        mov.u64 %d2, %out;
        SUM: ld.global.u32 %r7, [%d2];
        add.u32 %r6, %r6, %r7;
        add.u64 %d2, %d2, 4;
        add.u32 %r5, %r5, 1;
        setp.lt.u32 %p2, %r5, 300;
        @%p2 bra SUM;
        st.global.u32 [%out+1200], %r6;",
    );
    let setup = Setup {
        grid: [300, 1, 1],
        sanitize: false,
        ..threads(1)
    };
    let run_with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads")
            .install(|| run(&setup, &text).expect("a launch"))
    };
    let one = run_with(1);
    assert_eq!(one.words[300], (0..300).map(|i| i + 1000).sum::<u32>());
    assert_eq!(one, run_with(3));
}

/// Lanes that have acquired one of four slots wait to reconverge, while the others poll a clock.
#[test]
fn lanes_that_poll_a_clock_do_not_starve_those_of_their_warp() {
    let words = body_with(
        &threads(32),
        ".shared .u32 places;",
        "setp.eq.u32 %p0, %tid, 0;
        @%p0 st.shared.u32 [places], 4;
        bar.warp.sync 0xffffffff;
        TRY: ld.volatile.shared.u32 %r1, [places];
        mov.u32 %r9, %clock;
        setp.eq.u32 %p1, %r1, 0;
        @%p1 bra TRY;
        sub.u32 %r2, %r1, 1;
        atom.shared.cas.b32 %r3, [places], %r1, %r2;
        setp.ne.u32 %p2, %r3, %r1;
        @%p2 bra TRY;
        st.global.u32 [%at], 1;
        atom.shared.add.u32 %r4, [places], 1;",
    );
    assert!((0..32).all(|i| words.words[i] == 1), "{:?}", words.words);
}
