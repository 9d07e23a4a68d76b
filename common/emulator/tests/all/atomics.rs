//! Atomics, and blocks that communicate.
use crate::common;
use common::{Setup, body, body_with, threads};
use emulator::FindingKind;

fn blocks(grid: u32, block: u32) -> Setup {
    Setup {
        grid: [grid, 1, 1],
        sanitize: false,
        ..threads(block)
    }
}

#[test]
fn every_operation_on_global_and_shared_memory() {
    // (operation, start, value by thread, result)
    let add: u32 = (0..32).sum();
    let cases = [
        ("add.u32", 5, "%tid", 5 + add),
        ("min.s32", 7, "%tid", 0),
        ("max.u32", 7, "%tid", 31),
        ("and.b32", 0xff, "%tid", 0),
        ("or.b32", 0x100, "%tid", 0x11f),
        ("xor.b32", 1, "%tid", 1),
        ("inc.u32", 3, "9", (3 + 32) % 10),
        ("dec.u32", 3, "9", 1),
        ("exch.b32", 3, "77", 77),
    ];
    for (op, start, value, expected) in cases {
        for space in ["global", "shared"] {
            let text = format!(
                "mov.u64 %d1, x;
                setp.eq.u32 %p0, %tid, 0;
                @%p0 st.{space}.u32 [%d1], {start};
                bar.sync 0;
                atom.{space}.{op} %r1, [%d1], {value};
                bar.sync 0;
                ld.{space}.u32 %r2, [%d1];
                st.global.u32 [%at], %r2;
                red.{space}.add.u32 [%d1], 1;"
            );
            let words = body_with(&blocks(1, 32), &format!(".{space} .u32 x;"), &text).clean();
            assert_eq!(words[0], expected, "{op} on {space}");
        }
    }
}

#[test]
fn floating_point_atomics_as_on_an_h100() {
    // f32 in global memory flushes subnormal numbers, in shared memory it does not.
    let text = |space: &str| {
        format!(
            "mov.u64 %d1, x;
            st.{space}.u32 [%d1], 3;
            atom.{space}.add.f32 %f0, [%d1], 0f00000005;
            ld.{space}.u32 %r1, [%d1];
            st.{space}.u32 [%d1], 0x7fc00001;
            atom.{space}.add.f32 %f0, [%d1], 0f3f800000;
            ld.{space}.u32 %r2, [%d1];
            st.{space}.u32 [%d1], 0x3c003c00;
            mov.b32 %r3, 0x40003c00;
            atom.{space}.add.noftz.f16x2 %r4, [%d1], %r3;
            ld.{space}.u32 %r5, [%d1];
            st.global.v4.u32 [%out], {{%r1, %r2, %r4, %r5}};"
        )
    };
    let global = body_with(&blocks(1, 1), ".global .u32 x;", &text("global")).clean();
    assert_eq!(global[..4], [0, 0x7fff_ffff, 0x3c00_3c00, 0x4200_4000]);
    let shared = body_with(&blocks(1, 1), ".shared .u32 x;", &text("shared")).clean();
    assert_eq!(shared[..4], [8, 0x7fff_ffff, 0x3c00_3c00, 0x4200_4000]);
}

#[test]
fn a_histogram_over_blocks() {
    for schedule in 0..10 {
        let setup = Setup {
            schedule,
            ..blocks(40, 96)
        };
        let outcome = body(
            &setup,
            "mov.u32 %r0, %ctaid.x;
            mad.lo.u32 %r0, %r0, 96, %tid;
            rem.u32 %r1, %r0, 7;
            mul.wide.u32 %d0, %r1, 4;
            add.u64 %d0, %d0, %out;
            red.global.add.u32 [%d0], 1;",
        );
        let words = outcome.clean();
        for (bin, &word) in words[..7].iter().enumerate() {
            let count = (0..3840).filter(|i| i % 7 == bin).count() as u32;
            assert_eq!(word, 0xdead + count);
        }
    }
}

/// Each block sums its part; the last one to finish sums the parts.
const LAST_BLOCK: &str = "mov.u32 %r0, %ctaid.x;
    mov.u32 %r9, %nctaid.x;
    add.u32 %r1, %r0, 1;
    mul.wide.u32 %d0, %r0, 4;
    add.u64 %d0, %d0, %out;
    setp.ne.u32 %p0, %tid, 0;
    @%p0 bra WAIT;
    st.global.u32 [%d0+4], %r1;
    membar.gl;
    sub.u32 %r3, %r9, 1;
    atom.global.inc.u32 %r2, [counter], %r3;
    setp.eq.u32 %p1, %r2, %r3;
    selp.u32 %r4, 1, 0, %p1;
    st.shared.u32 [last], %r4;
    WAIT:
    bar.sync 0;
    ld.shared.u32 %r4, [last];
    setp.eq.u32 %p2, %r4, 0;
    @%p2 ret;
    @%p0 ret;
    mov.u32 %r5, 0;
    mov.u32 %r6, 0;
    SUM:
    mul.wide.u32 %d1, %r5, 4;
    add.u64 %d1, %d1, %out;
    ld.volatile.global.u32 %r7, [%d1+4];
    add.u32 %r6, %r6, %r7;
    add.u32 %r5, %r5, 1;
    setp.lt.u32 %p3, %r5, %r9;
    @%p3 bra SUM;
    st.global.u32 [%out], %r6;";

#[test]
fn the_last_block_sums_the_others_parts() {
    for schedule in 0..10 {
        let setup = Setup {
            schedule,
            sanitize: true,
            ..blocks(500, 64)
        };
        let declarations = ".global .u32 counter; .shared .u32 last;";
        let words = body_with(&setup, declarations, LAST_BLOCK).clean();
        assert_eq!(words[0], 500 * 501 / 2);
    }
}

/// Blocks run in parallel until one communicates, and are interleaved from then on; a launch under `sanitize` is started
/// again instead. Either way, nothing may be counted or written twice.
#[test]
fn blocks_that_communicate_late_run_once() {
    let code = "mov.u32 %r0, %ctaid.x;
        setp.lt.u32 %p0, %r0, TALKS;
        @%p0 ret;
        red.global.add.u32 [%out], 1;
        ld.global.u32 %r1, [%out+4];
        add.u32 %r1, %r1, 1;
        st.global.u32 [%out+8], %r1;";
    for (talks, added) in [(400, 100), (500, 0), (0, 500)] {
        let code = code.replace("TALKS", &talks.to_string());
        let outcome = body(&blocks(500, 1), &code);
        let executions = |text| {
            let of_text = outcome.of(text);
            of_text.iter().map(|one| one.executions).sum::<u64>()
        };
        assert_eq!(executions("setp.lt.u32"), 500, "{talks}");
        assert_eq!(executions("red.global"), added, "{talks}");
        let words = outcome.clean();
        assert_eq!(words[0], 0xdead + added as u32);
        assert_eq!(words[2], 0xdead + u32::from(added > 0));
    }
}

/// Block `n` waits until block `n + 1` has written.
const WAIT_FOR_NEXT: &str = "mov.u32 %r0, %ctaid.x;
    mov.u32 %r9, %nctaid.x;
    mul.wide.u32 %d0, %r0, 4;
    add.u64 %d0, %d0, %out;
    add.u32 %r1, %r0, 1;
    setp.eq.u32 %p0, %r1, %r9;
    @%p0 bra WRITE;
    SPIN:
    nanosleep.u32 20;
    ld.acquire.gpu.global.u32 %r2, [%d0+4];
    setp.eq.u32 %p1, %r2, 0xdead;
    @%p1 bra SPIN;
    WRITE:
    st.release.gpu.global.u32 [%d0], %r0;";

#[test]
fn a_flag_that_another_block_sets() {
    for schedule in 0..5 {
        let setup = Setup {
            schedule,
            ..blocks(100, 32)
        };
        let words = body(&setup, WAIT_FOR_NEXT).clean();
        assert!((0..100).all(|i| words[i] == i as u32));
    }
}

#[test]
fn waiting_for_a_block_that_is_not_resident_is_a_deadlock() {
    // 1024 threads a block: 264 blocks are resident, and the last of 300 never starts.
    let outcome = body(&blocks(300, 1024), WAIT_FOR_NEXT);
    let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
        panic!("{}", outcome.report())
    };
    assert!(
        waiting[0]
            .text
            .starts_with("warps 0 to 31 loop at kernel.cu:2"),
        "{waiting:?}"
    );
}

#[test]
fn two_blocks_take_turns() {
    let text = "mov.u32 %r0, %ctaid.x;
        mov.u32 %r1, 0;
        ROUND:
        SPIN:
        ld.volatile.global.u32 %r2, [ball];
        and.b32 %r3, %r2, 1;
        setp.ne.u32 %p0, %r3, %r0;
        @%p0 bra SPIN;
        add.u32 %r2, %r2, 1;
        st.volatile.global.u32 [ball], %r2;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p1, %r1, 50;
        @%p1 bra ROUND;
        st.global.u32 [%out], %r2;";
    for schedule in 0..5 {
        let setup = Setup {
            schedule,
            ..blocks(2, 1)
        };
        assert_eq!(
            body_with(&setup, ".global .u32 ball;", text).clean()[0],
            100
        );
    }
}
