//! Races in shared memory are found, without false reports, in any order of warps.
use crate::common;
use common::{Outcome, Setup, body_with, threads};
use emulator::{AccessKind, FindingKind};

const SHARED: &str = ".shared .u32 a[64];";
/// `%r1` and `%r2`: addresses of the thread's own word and of the corresponding word of the next warp.
const OWN_AND_OTHER: &str = "mov.u32 %r0, a;
    mad.lo.u32 %r1, %tid, 4, %r0;
    xor.b32 %r2, %tid, 32;
    mad.lo.u32 %r2, %r2, 4, %r0;";

fn run(text: &str, schedule: u64) -> Outcome {
    let setup = Setup {
        schedule,
        ..threads(64)
    };
    body_with(&setup, SHARED, &format!("{OWN_AND_OTHER}\n{text}"))
}

/// (access, PTX line) of both accesses of each race, which must be the same in ten schedules.
fn races(text: &str) -> Vec<[(AccessKind, u32); 2]> {
    let lists: Vec<Vec<_>> = (0..10)
        .map(|schedule| {
            let outcome = run(text, schedule);
            let sides = outcome.findings.iter().map(|finding| match &finding.kind {
                FindingKind::Race(race) => [
                    (race.other_access, race.other.ptx_line),
                    (race.access, finding.location.ptx_line),
                ],
                other => panic!("{other:?}"),
            });
            sides.collect()
        })
        .collect();
    for list in &lists {
        assert_eq!(*list, lists[0]);
    }
    lists[0].clone()
}

#[test]
fn a_barrier_is_missing() {
    let text = "st.shared.u32 [%r1], 0;\nbar.sync 0;\nst.shared.u32 [%r1], %tid;\nld.shared.u32 %r3, [%r2];\nst.global.u32 [%at], %r3;";
    assert_eq!(
        races(text),
        [[(AccessKind::Write, 23), (AccessKind::Read, 24)]]
    );
    let report = run(text, 0).report();
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "Race reported between Write access at kernel.cu:23 (PTX line 23)",
            "by thread (32,0,0) in block (0,0,0)",
            "and Read access at kernel.cu:24 (PTX line 24)",
            "by thread (0,0,0) in block (0,0,0)",
            "at __shared__ address 0x480",
            "which is a + 0x80",
            "64 times in all"
        ]
    );
}

#[test]
fn with_the_barrier_it_is_fine() {
    assert!(races("st.shared.u32 [%r1], %tid;\nbar.sync 0;\nld.shared.u32 %r3, [%r2];").is_empty());
}

/// The emulator's clocks begin at 0, and a GPU's have long been running.
#[test]
fn a_barrier_that_is_skipped_at_later_times_is_missing() {
    let text = "mov.u32 %r5, %clock;
        setp.lt.u32 %p1, %r5, 1000;
        st.shared.u32 [%r1], %tid;
        @%p1 bar.sync 0;
        ld.shared.u32 %r3, [%r2];
        st.global.u32 [%at], %r3;";
    let found = run(text, 0).findings;
    let is_race = |finding: &emulator::Finding| matches!(finding.kind, FindingKind::Race(_));
    assert!(found.iter().any(is_race), "{found:?}");
}

#[test]
fn a_barrier_is_missing_at_the_end_of_a_loop() {
    // Write, barrier, read; the next round writes while others still read.
    let text = "mov.u32 %r4, 0;
        LOOP:
        st.shared.u32 [%r1], %r4;
        bar.sync 0;
        ld.shared.u32 %r3, [%r2];
        add.u32 %r4, %r4, 1;
        setp.lt.u32 %p0, %r4, 3;
        @%p0 bra LOOP;";
    assert_eq!(
        races(text),
        [[(AccessKind::Write, 23), (AccessKind::Read, 25)]]
    );
    let text = text.replace("add.u32 %r4", "bar.sync 0;\nadd.u32 %r4");
    assert!(races(&text).is_empty());
}

#[test]
fn within_a_warp() {
    let text = "xor.b32 %r2, %r1, 4;\nst.shared.u32 [%r1], %tid;\nld.shared.u32 %r3, [%r2];";
    assert_eq!(
        races(text),
        [[(AccessKind::Write, 22), (AccessKind::Read, 23)]]
    );
    for sync in ["bar.warp.sync 0xffffffff;", "bar.sync 0;"] {
        let text = text.replace("ld.shared", &format!("{sync}\nld.shared"));
        assert!(races(&text).is_empty());
    }
}

#[test]
fn two_threads_write_the_same_word() {
    let text = "and.b32 %r2, %tid, 62;\nmad.lo.u32 %r2, %r2, 4, %r0;\nst.shared.u32 [%r2], %tid;";
    assert_eq!(
        races(text),
        [[(AccessKind::Write, 23), (AccessKind::Write, 23)]]
    );
}

#[test]
fn atomics_do_not_race_with_each_other_but_with_others() {
    let text = "setp.eq.u32 %p0, %tid, 0;
        @%p0 st.shared.u32 [a], 0;
        bar.sync 0;
        atom.shared.add.u32 %r3, [a], 1;";
    assert!(races(text).is_empty());
    let text = format!("{text}\nld.shared.u32 %r3, [a];");
    assert_eq!(
        races(&text),
        [[(AccessKind::Atomic, 24), (AccessKind::Read, 25)]]
    );
}

#[test]
fn neighboring_bytes_are_different_memory() {
    let setup = threads(64);
    let text = "mov.u32 %r0, a;\nadd.u32 %r1, %tid, %r0;\nst.shared.u8 [%r1], %tid;\nbar.sync 0;\nld.shared.u32 %r2, [a+16];\nst.global.u32 [%at], %r2;";
    let words = body_with(&setup, SHARED, text).clean();
    assert_eq!(words[5], 0x1312_1110);
}

#[test]
fn named_barriers_order_only_their_participants() {
    // Three warps: the first two synchronize, the third reads without synchronization.
    let text = "mov.u32 %r0, a;
        setp.eq.u32 %p0, %tid, 0;
        @%p0 st.shared.u32 [a], 1;
        setp.ge.u32 %p1, %tid, 64;
        @%p1 bra THIRD;
        bar.sync 1, 64;
        ld.shared.u32 %r1, [a];
        bra END;
        THIRD:
        ld.shared.u32 %r2, [a];
        END:";
    for schedule in 0..10 {
        let setup = Setup {
            schedule,
            ..threads(96)
        };
        let outcome = body_with(&setup, SHARED, text);
        // Before the write it is an uninitialized read; after it, a race.
        assert!(!outcome.findings.is_empty());
        assert!(
            outcome
                .findings
                .iter()
                .all(|f| matches!(f.kind, FindingKind::Race(_) | FindingKind::Uninitialized(_)))
        );
        assert!(
            outcome.findings.iter().all(|f| f.location.ptx_line == 26),
            "{}",
            outcome.report()
        );
    }
}
