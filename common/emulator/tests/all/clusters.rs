//! Clusters: indices and ranks, distributed shared memory, the cluster's barrier, and blocks that exit too early.
use crate::common;
use common::{Outcome, Setup, body_with, lower, module, threads};
use emulator::{FindingKind, Severity};

fn cluster(x: u32) -> Setup {
    Setup {
        grid: [4, 1, 1],
        cluster: [x, 1, 1],
        ..threads(64)
    }
}

const SHARED: &str = ".shared .align 1024 .u32 a[64]; .shared .align 8 .b64 bar[2];";
/// `%r0`: rank; `%r1`: the rank of the other block of a pair; `%r2`: the thread's word of `a`, `%r3`: the same in
/// the other block; `%at`: the thread's word of the output, block by block.
const PAIR: &str = "mov.u32 %r0, %cluster_ctarank;
    xor.b32 %r1, %r0, 1;
    mov.u32 %r2, a;
    mad.lo.u32 %r2, %tid, 4, %r2;
    mapa.shared::cluster.u32 %r3, %r2, %r1;
    mov.u32 %r4, %ctaid.x;
    mul.wide.u32 %d0, %r4, 256;
    add.u64 %at, %at, %d0;";
const MEET: &str = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;";

fn pair(setup: &Setup, text: &str) -> Outcome {
    body_with(setup, SHARED, &format!("{PAIR}\n{text}"))
}

#[test]
fn special_registers() {
    let text = "mov.u32 %r0, %cluster_ctaid.x; mov.u32 %r1, %cluster_ctaid.y; mov.u32 %r2, %cluster_nctaid.x;
        mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, %clusterid.x;
        mov.u32 %r6, %clusterid.y; mov.u32 %r7, %nclusterid.x; mov.u32 %r8, %nclusterid.y;
        mov.pred %p0, %is_explicit_cluster; selp.u32 %r9, 1, 0, %p0;
        mov.u32 %r10, 0;
        mad.lo.u32 %r10, %r10, 10, %r0; mad.lo.u32 %r10, %r10, 10, %r1; mad.lo.u32 %r10, %r10, 10, %r2;
        mad.lo.u32 %r10, %r10, 10, %r3; mad.lo.u32 %r10, %r10, 10, %r4; mad.lo.u32 %r10, %r10, 10, %r5;
        mad.lo.u32 %r10, %r10, 10, %r6; mad.lo.u32 %r10, %r10, 10, %r7; mad.lo.u32 %r10, %r10, 10, %r8;
        mad.lo.u32 %r10, %r10, 10, %r9;
        mov.u32 %r11, %ctaid.x; mov.u32 %r12, %ctaid.y; mad.lo.u32 %r11, %r12, 4, %r11;
        mul.wide.u32 %d0, %r11, 4; add.u64 %d0, %d0, %out; st.global.u32 [%d0], %r10;";
    let setup = Setup {
        grid: [4, 4, 1],
        cluster: [2, 2, 1],
        ..threads(1)
    };
    let words = body_with(&setup, "", text).clean();
    // ctaid (3, 2): second in x, first in y of the cluster (1, 1).
    assert_eq!(words[2 * 4 + 3], 1_024_111_221);
    let alone = body_with(&threads(1), "", text).clean();
    assert_eq!(alone[0], 11_000_110);
}

#[test]
fn blocks_read_and_write_each_others_shared_memory() {
    for schedule in 0..6 {
        let setup = Setup {
            schedule,
            ..cluster(2)
        };
        let text = format!(
            "mad.lo.u32 %r5, %r4, 100, %tid;
            st.shared::cluster.u32 [%r3], %r5;
            {MEET}
            ld.shared.u32 %r6, [%r2];
            {MEET}
            atom.shared::cluster.add.u32 %r7, [%r3], 1000;
            {MEET}
            cvt.u64.u32 %d1, %r3; cvta.shared.u64 %d1, %d1;
            ld.u32 %r8, [%d1];
            isspacep.shared::cta %p0, %d1; selp.u32 %r9, 7, 0, %p0;
            isspacep.shared::cluster %p0, %d1; selp.u32 %r10, 20, %r9, %p0;
            getctarank.u64 %r11, %d1;
            sub.u32 %r11, %r11, %r1;
            add.u32 %r8, %r8, %r9; add.u32 %r8, %r8, %r11;
            {MEET}
            mapa.u64 %d2, %d1, %r0; st.u32 [%d2], %r10;
            {MEET}
            st.global.u32 [%at], %r6; st.global.u32 [%at+2048], %r8;"
        );
        // What block 0 wrote itself, and what block 1 added.
        let outcome = pair(&setup, &text);
        let words = outcome.clean();
        for (block, tid) in [(0, 0), (1, 5), (2, 63), (3, 1)] {
            let at = block * 64 + tid;
            assert_eq!(words[at] as usize, (block ^ 1) * 100 + tid);
            assert_eq!(words[512 + at] as usize, block * 100 + tid + 1000);
        }
    }
}

#[test]
fn a_missing_cluster_barrier_is_a_race() {
    let text = "st.shared.u32 [%r2], %tid; MEET ld.shared::cluster.u32 %r5, [%r3]; MEET";
    let with = |first: &str| {
        let text = text.replacen("MEET", first, 1).replace("MEET", MEET);
        (0..6)
            .map(|schedule| {
                let setup = Setup {
                    schedule,
                    ..cluster(2)
                };
                pair(&setup, &text).findings.len()
            })
            .max()
    };
    assert_eq!(with(MEET), Some(0));
    for missing in [
        "bar.sync 0;",
        "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;",
    ] {
        assert!(with(missing) > Some(0), "{missing}");
    }
}

#[test]
fn leaving_while_a_neighbor_still_reads() {
    let text = format!("st.shared.u32 [%r2], %tid; {MEET} ld.shared::cluster.u32 %r5, [%r3];");
    for schedule in 0..6 {
        let setup = Setup {
            schedule,
            ..cluster(2)
        };
        let outcome = pair(&setup, &text);
        let left = outcome
            .findings
            .iter()
            .find(|f| matches!(f.kind, FindingKind::ExitedBlock { .. }));
        let left = left.unwrap_or_else(|| panic!("{}", outcome.report()));
        assert_eq!(left.location.ptx_line, 25, "{}", outcome.report());
    }
    // Here the neighbor happens not to have exited yet, although nothing makes it wait.
    let slow = format!(
        "st.shared.u32 [%r2], %tid; {MEET} setp.eq.u32 %p0, %r0, 0; @!%p0 bra SLOW;
        ld.shared::cluster.u32 %r5, [%r3]; bra END;
        SLOW: mov.u32 %r6, 0; LOOP: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 30000; @%p1 bra LOOP;
        END:"
    );
    for schedule in 0..6 {
        let setup = Setup {
            schedule,
            ..cluster(2)
        };
        let outcome = pair(&setup, &slow);
        assert!(
            outcome.report().contains(
                "block 1 of the cluster may have exited before: nothing makes it wait for this access"
            ),
            "{}",
            outcome.report()
        );
        let kept = pair(&setup, &format!("{slow} {MEET}"));
        assert!(kept.findings.is_empty(), "{}", kept.report());
    }
    // Without the sanitizer the access is reported if it happens, and the launch continues.
    let text = "setp.eq.u32 %p0, %r0, 1; @%p0 bra END; mov.u32 %r6, 0;
        LOOP: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 30000; @%p1 bra LOOP;
        ld.shared::cluster.u32 %r5, [%r3]; END:";
    let setup = Setup {
        sanitize: false,
        ..cluster(2)
    };
    let outcome = pair(&setup, &format!("{text} st.global.u32 [%at], 7;"));
    assert_eq!((outcome.words[0], &outcome.findings[..]), (7, &[][..]));
    assert_eq!(outcome.remarks[0].severity, Severity::Warning);
    assert!(
        outcome.remarks[0].to_string().starts_with(
            "Invalid access to a block that has exited\n    at kernel.cu:27 (PTX line 27)\n    \
             by thread (0,0,0) in block (0,0,0)\n    read of size 4 bytes in the shared memory of block 1 of the cluster"
        ),
        "{}",
        outcome.report()
    );
}

#[test]
fn remote_arrivals() {
    let text = |local: &str, remote: &str| {
        format!(
            "mov.u32 %r5, bar; mapa.shared::cluster.u32 %r6, %r5, %r1;
            setp.ne.u32 %p0, %tid, 0; @%p0 bra READY;
            mbarrier.init.shared::cta.b64 [%r5], 64;
            {local}
            READY: {remote}
            st.shared::cluster.u32 [%r3], %r0;
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
            W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r5], 0; @!%p1 bra W;
            ld.shared.u32 %r7, [%r2]; st.global.u32 [%at], %r7; {MEET}"
        )
    };
    let fence = "fence.mbarrier_init.release.cluster;";
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;";
    for schedule in 0..6 {
        let setup = Setup {
            schedule,
            ..cluster(2)
        };
        for (local, remote) in [("", MEET), (fence, relaxed)] {
            let words = pair(&setup, &text(local, remote)).clean();
            assert_eq!((words[0], words[64 + 63], words[3 * 64]), (1, 0, 0));
        }
    }
    // The initialization is not released to the other block.
    let outcome = pair(&cluster(2), &text("", relaxed));
    assert!(
        outcome.report().contains("Race reported"),
        "{}",
        outcome.report()
    );
    // Without any synchronization the mbarrier may not be initialized yet.
    let outcome = pair(&cluster(2), &text("", "bar.sync 0;"));
    assert!(!outcome.findings.is_empty());
}

#[test]
fn the_barrier_out_of_turn() {
    for (text, reason) in [
        (
            "barrier.cluster.wait.aligned;",
            "barrier.cluster: it waits without having arrived",
        ),
        (
            "barrier.cluster.arrive.aligned; barrier.cluster.arrive.aligned;",
            "barrier.cluster: it arrives again before it has waited",
        ),
        (
            "mapa.shared::cluster.u32 %r5, %r2, 2;",
            "mapa to block 2 of a cluster of 2",
        ),
    ] {
        let outcome = pair(&cluster(2), text);
        let FindingKind::InvalidCluster(found) = &outcome.findings[0].kind else {
            panic!("{}", outcome.report());
        };
        assert_eq!(found, reason);
    }
}

#[test]
fn exited_threads_are_not_waited_for_and_a_deadlock_names_the_block() {
    let text = format!("setp.ge.u32 %p0, %tid, 32; @%p0 bra END; {MEET} END:");
    pair(&cluster(2), &text).clean();
    let text = "setp.eq.u32 %p0, %r0, 1;
        mov.u32 %r6, 1;
        @%p0 bra ONE;
        barrier.cluster.arrive; barrier.cluster.wait; bra END;
        ONE: setp.eq.u32 %p1, %tid, 1; bra ONE;
        END:";
    let outcome = pair(&cluster(2), text);
    let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert_eq!(
        waiting[0].text,
        "block (0,0,0) warps 0 and 1 wait at the cluster's barrier at kernel.cu:28"
    );
    assert!(
        waiting[1].text.starts_with("block (1,0,0) warp"),
        "{waiting:?}"
    );
}

#[test]
fn launches_that_do_not_fit() {
    let refused = |setup: Setup, text: &str| {
        let text = module("", text);
        match common::run(&setup, &text) {
            Err(error) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    let three = Setup {
        cluster: [3, 1, 1],
        ..cluster(1)
    };
    assert_eq!(
        refused(three, "mov.u32 %r0, 0;"),
        "a grid of 4 x 1 x 1 blocks is not a multiple of clusters of 3 x 1 x 1"
    );
    let many = Setup {
        grid: [32, 1, 1],
        cluster: [32, 1, 1],
        ..cluster(1)
    };
    assert!(refused(many, "mov.u32 %r0, 0;").contains("a GPU takes 1 to 16"));
    let own = module(
        "",
        "mov.u32 %r0, %cluster_nctarank; st.global.u32 [%at], %r0;",
    )
    .replace(
        "\n{\n.reg .b32 %tid",
        "\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{\n.reg .b32 %tid",
    );
    assert!(lower(&own).is_ok());
    let words = common::run(&cluster(1), &own).expect("a launch").clean();
    assert_eq!(words[0], 2);
    match common::run(&cluster(4), &own) {
        Err(error) => assert_eq!(
            error.to_string(),
            "clusters of 4 x 1 x 1 blocks, but the kernel is compiled for 2 x 1 x 1; see __cluster_dims__"
        ),
        other => panic!("{other:?}"),
    }
}

/// Registers: 256 threads of at most 168 registers each.
fn registers(text: &str) -> Outcome {
    let module = module("", text).replace(
        "\n{\n.reg .b32 %tid",
        "\n.maxntid 384, 1, 1\n{\n.reg .b32 %tid",
    );
    common::run(&threads(384), &module).expect("a launch")
}

#[test]
fn warps_wait_for_registers_that_others_give_back() {
    let split = |give: u32, take: u32| {
        format!(
            "setp.lt.u32 %p0, %tid, 256; @%p0 bra TAKE;
            mov.u32 %r0, 0; LOOP: add.u32 %r0, %r0, 1; setp.lt.u32 %p1, %r0, 3000; @%p1 bra LOOP;
            setmaxnreg.dec.sync.aligned.u32 {give};
            bra END;
            TAKE: setmaxnreg.inc.sync.aligned.u32 {take};
            END: st.global.u32 [%at], 3;"
        )
    };
    assert_eq!(registers(&split(24, 240)).clean()[..384], [3; 384]);
    let outcome = registers(&split(40, 240));
    let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert!(
        waiting[0].text.contains(
            "waits for registers at kernel.cu:21: it owns 168 a thread, and the block's pool has"
        ),
        "{waiting:?}"
    );
    let outcome = registers("setmaxnreg.dec.sync.aligned.u32 176;");
    let FindingKind::InvalidRegisters(reason) = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert_eq!(
        reason,
        "176 registers a thread are more than the 168 it owns"
    );
    let outcome = registers(
        "setp.lt.u32 %p0, %tid, 160; @%p0 bra END; setmaxnreg.dec.sync.aligned.u32 40; END: st.global.u32 [%at], 3;",
    );
    let reasons = outcome.findings.iter().map(|finding| match &finding.kind {
        FindingKind::InvalidRegisters(reason) => reason.as_str(),
        other => panic!("{other:?}"),
    });
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [
            "warp 7 has executed 1 setmaxnreg, warp 4 of its warpgroup only 0: all warps of a warpgroup must execute the same ones"
        ]
    );
    let error = lower(&module("", "setmaxnreg.inc.sync.aligned.u32 100;")).expect_err("refused");
    assert!(error.to_string().contains("multiples of 8 from 24 to 256"));
}
