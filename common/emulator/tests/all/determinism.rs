//! The same bits, counters and findings on any number of cores, and in any order of warps.
use crate::common;
use common::{Outcome, Setup, body_with, threads};

const DECLARATIONS: &str = ".shared .u32 a[160];";
/// Divergent loops, barriers, shuffles, a race, an uninitialized read, conflicts, and strided stores.
const TEXT: &str = "mov.u32 %r0, a;
    mov.u32 %r9, %ctaid.x;
    mad.lo.u32 %r1, %tid, 4, %r0;
    mov.u32 %r2, 0;
    LOOP:
    mad.lo.u32 %r2, %r2, 5, %tid;
    and.b32 %r3, %r2, 15;
    setp.gt.u32 %p0, %r3, 3;
    @%p0 bra LOOP;
    setp.ge.u32 %p1, %tid, 150;
    setp.eq.u32 %p2, %r9, 7;
    and.pred %p1, %p1, %p2;
    @!%p1 st.shared.u32 [%r1], 0;
    bar.sync 0;
    @!%p1 st.shared.u32 [%r1], %r2;
    @%p2 bra SKIP;
    bar.sync 0;
    SKIP:
    xor.b32 %r4, %tid, 33;
    mad.lo.u32 %r4, %r4, 4, %r0;
    setp.lt.u32 %p3, %tid, 128;
    @%p3 ld.shared.u32 %r5, [%r4];
    bar.sync 0;
    @!%p3 ld.shared.u32 %r5, [%r1];
    shfl.sync.bfly.b32 %r6, %r5, 7, 31, 0xffffffff;
    selp.u32 %r6, %r2, %r6, %p2;
    mad.lo.u32 %r7, %r9, 160, %tid;
    mul.wide.u32 %d0, %r7, 8;
    add.u64 %d0, %d0, %out;
    st.global.u32 [%d0], %r6;";

fn run(schedule: u64) -> Outcome {
    let setup = Setup {
        grid: [12, 1, 1],
        schedule,
        words: 4096,
        ..threads(160)
    };
    body_with(&setup, DECLARATIONS, TEXT)
}

#[test]
fn on_any_number_of_cores() {
    let expected = run(0);
    assert_eq!(expected.findings.len(), 2, "{}", expected.report());
    for cores in [1, 2, 3, 7, 16] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build();
        let outcome = pool.expect("threads").install(|| run(0));
        assert_eq!(outcome, expected, "{cores} cores");
    }
}

#[test]
fn in_any_order_of_warps() {
    let expected = run(0);
    for schedule in 1..=10 {
        let outcome = run(schedule);
        assert_eq!(outcome.words, expected.words);
        assert_eq!(outcome.counters, expected.counters);
        let seen = |outcome: &Outcome| -> Vec<_> {
            let findings = outcome.findings.iter();
            findings
                .map(|f| (f.location.clone(), std::mem::discriminant(&f.kind)))
                .collect()
        };
        assert_eq!(seen(&outcome), seen(&expected), "schedule {schedule}");
    }
}

#[test]
fn after_a_fault_only_earlier_blocks_have_written() {
    let text = "mov.u32 %r0, %ctaid.x;
        mul.wide.u32 %d0, %r0, 4;
        add.u64 %d0, %d0, %out;
        setp.ge.u32 %p0, %r0, 30;
        @%p0 add.u64 %d0, %d0, 65536;
        st.global.u32 [%d0], %r0;";
    for cores in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build();
        let setup = Setup {
            grid: [60, 1, 1],
            ..threads(1)
        };
        let outcome = pool
            .expect("threads")
            .install(|| body_with(&setup, "", text));
        assert_eq!(outcome.findings.len(), 1);
        assert_eq!(outcome.findings[0].location.block, [30, 0, 0]);
        assert!((0..30).all(|i| outcome.words[i] == i as u32));
        assert!(outcome.words[30..].iter().all(|&word| word == 0xdead));
    }
}
