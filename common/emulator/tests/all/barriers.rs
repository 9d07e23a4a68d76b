//! Barriers: which threads wait for which, and the report of a deadlock.
use crate::common;
use common::{Setup, body, body_with, threads};
use emulator::FindingKind;

#[test]
fn bar_red_counts_the_votes_of_the_block() {
    let outcome = body(
        &threads(80),
        "and.b32 %r1, %tid, 1;
        setp.ne.u32 %p0, %r1, 0;
        bar.red.popc.u32 %r0, 0, %p0;
        bar.red.and.pred %p1, 0, %p0;
        bar.red.or.pred %p2, 0, !%p0;
        selp.u32 %r2, 1000, 0, %p1;
        selp.u32 %r3, 100, 0, %p2;
        add.u32 %r0, %r0, %r2;
        add.u32 %r0, %r0, %r3;
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(outcome.clean()[..80], [140; 80]);
}

#[test]
fn producers_arrive_and_consumers_wait() {
    for schedule in 0..10 {
        let setup = Setup {
            schedule,
            ..threads(128)
        };
        let outcome = body_with(
            &setup,
            ".shared .u32 box[64];",
            "setp.lt.u32 %p0, %tid, 64;
            and.b32 %r1, %tid, 63;
            shl.b32 %r1, %r1, 2;
            mov.u32 %r2, box;
            add.u32 %r1, %r1, %r2;
            @%p0 bra CONSUME;
            st.shared.u32 [%r1], %tid;
            bar.arrive 1, 128;
            bra DONE;
            CONSUME:
            bar.sync 1, 128;
            ld.shared.u32 %r0, [%r1];
            st.global.u32 [%at], %r0;
            DONE:
            bar.sync 0;",
        );
        let words = outcome.clean();
        assert_eq!((words[0], words[63], words[64]), (64, 127, 0xdead));
    }
}

#[test]
fn a_barrier_that_half_a_warp_reaches() {
    for (divergent, missing) in [
        ("setp.lt.u32 %p0, %tid, 8;", 24),
        ("setp.ge.u32 %p0, %tid, 31;", 31),
    ] {
        let outcome = body(
            &threads(64),
            &format!("{divergent}\n@!%p0 bra SKIP;\nbar.sync 0;\nSKIP:\nst.global.u32 [%at], 1;"),
        );
        assert_eq!(outcome.findings.len(), 1, "{}", outcome.report());
        let finding = &outcome.findings[0];
        assert_eq!(finding.kind, FindingKind::DivergentBarrier { missing });
        assert_eq!(finding.location.ptx_line, 19);
        assert_eq!(
            finding
                .location
                .source
                .as_ref()
                .map(|s| s.to_string())
                .as_deref(),
            Some("kernel.cu:19")
        );
        assert!(finding.is_fatal() && outcome.counters.is_empty());
    }
}

#[test]
fn two_barriers_on_two_sides_of_a_branch() {
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 16;
        @%p0 bra LOW;
        bar.sync 0;
        bra END;
        LOW:
        bar.sync 0;
        END:",
    );
    assert!(
        matches!(
            outcome.findings[0].kind,
            FindingKind::DivergentBarrier { missing: 16 }
        ),
        "{}",
        outcome.report()
    );
}

#[test]
fn warps_may_arrive_at_a_barrier_by_different_instructions() {
    let outcome = body(
        &threads(64),
        "setp.lt.u32 %p0, %tid, 32;
        @%p0 bra LOW;
        bar.sync 0;
        bra END;
        LOW:
        bar.sync 0;
        END:
        st.global.u32 [%at], 3;",
    );
    assert_eq!(outcome.clean()[..64], [3; 64]);
}

#[test]
fn lanes_that_arrive_late_are_waited_for() {
    // Lanes leave the lock one by one, and reconverge only at the barrier.
    let outcome = body_with(
        &Setup {
            sanitize: false,
            ..threads(32)
        },
        ".global .u32 lock;",
        "mov.u64 %d1, lock;
        SPIN:
        atom.global.cas.b32 %r0, [%d1], 0, 1;
        setp.ne.u32 %p0, %r0, 0;
        @%p0 bra SPIN;
        atom.global.exch.b32 %r0, [%d1], 0;
        bar.sync 0;
        st.global.u32 [%at], 4;",
    );
    assert_eq!(outcome.of("bar.sync")[0].executions, 1);
    assert_eq!(outcome.of("st.global")[0].executions, 1);
    assert_eq!(outcome.clean()[..32], [4; 32]);
}

#[test]
fn barriers_without_alignment_take_parts_of_a_warp() {
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 8;
        @%p0 bra LOW;
        barrier.sync 0;
        bra END;
        LOW:
        barrier.sync 0;
        END:
        st.global.u32 [%at], 3;",
    );
    assert_eq!(outcome.clean()[..32], [3; 32]);
}

#[test]
fn invalid_arguments() {
    for (text, reason) in [
        ("bar.sync 16;", "barrier 16, but there are only 16"),
        ("bar.sync 1, 48;", "48 threads are not a multiple of 32"),
        ("bar.sync 1, 96;", "96 threads, but the block has 64"),
    ] {
        let outcome = body(&threads(64), text);
        let FindingKind::InvalidBarrier(found) = &outcome.findings[0].kind else {
            panic!("{}", outcome.report());
        };
        assert_eq!(found, reason);
    }
    let outcome = body(
        &threads(96),
        "setp.lt.u32 %p0, %tid, 32;
        @%p0 bra ONE;
        bar.sync 1, 64;
        bra END;
        ONE:
        bar.sync 1, 96;
        END:",
    );
    assert!(
        matches!(outcome.findings[0].kind, FindingKind::InvalidBarrier { .. }),
        "{}",
        outcome.report()
    );
}

#[test]
fn a_deadlock_names_what_each_warp_waits_for() {
    let outcome = body_with(
        &Setup {
            sanitize: false,
            ..threads(96)
        },
        ".shared .u32 never;",
        "setp.lt.u32 %p0, %tid, 32;
        setp.lt.u32 %p1, %tid, 64;
        @%p0 bra ONE;
        @%p1 bra TWO;
        SPIN:
        ld.volatile.shared.u32 %r0, [never];
        setp.eq.u32 %p2, %r0, 0;
        @%p2 bra SPIN;
        bra END;
        ONE:
        bar.sync 1, 64;
        bra END;
        TWO:
        bar.sync 2, 64;
        END:",
    );
    let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert_eq!(waiting.len(), 3, "{waiting:?}");
    assert_eq!(
        waiting[0].text,
        "warp 0 waits at barrier 1 at kernel.cu:27: 32 of 64 threads have arrived"
    );
    assert_eq!(
        waiting[1].text,
        "warp 1 waits at barrier 2 at kernel.cu:30: 32 of 64 threads have arrived"
    );
    assert!(
        waiting[2].text.starts_with("warp 2 loops at kernel.cu:2"),
        "{}",
        waiting[2].text
    );
}

#[test]
fn half_a_warp_waits_for_lanes_that_never_arrive() {
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 16;
        @%p0 bra LOW;
        SPIN:
        bra SPIN;
        LOW:
        bar.warp.sync 0xffffffff;",
    );
    let report = outcome.report();
    assert!(report.starts_with("Deadlock"), "{report}");
    assert!(
        report.contains("warp 0 lanes 0x0000ffff waits for lanes 0xffffffff at kernel.cu:22"),
        "{report}"
    );
    assert!(
        report.contains("warp 0 lanes 0xffff0000 loops at kernel.cu:20"),
        "{report}"
    );
}
