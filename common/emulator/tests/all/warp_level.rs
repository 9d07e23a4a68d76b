//! Communication between the lanes of a warp.
use crate::common;
use common::{body, threads};
use emulator::FindingKind;

#[test]
fn shuffles() {
    let outcome = body(
        &threads(32),
        "add.u32 %r0, %tid, 100;
        shfl.sync.up.b32 %r1|%p0, %r0, 3, 0, 0xffffffff;
        shfl.sync.down.b32 %r2|%p1, %r0, 3, 31, 0xffffffff;
        shfl.sync.bfly.b32 %r3, %r0, 5, 31, 0xffffffff;
        shfl.sync.idx.b32 %r4, %r0, 7, 31, 0xffffffff;
        shfl.sync.idx.b32 %r5|%p2, %r0, 5, 0x1807, 0xffffffff;
        shfl.sync.down.b32 %r6, %r0, 2, 0x1807, 0xffffffff;
        selp.u32 %r7, 1, 0, %p0;
        selp.u32 %r8, 2, 0, %p1;
        add.u32 %r7, %r7, %r8;
        mul.lo.u32 %r9, %tid, 32;
        cvt.u64.u32 %d0, %r9;
        add.u64 %at, %out, %d0;
        st.global.v4.u32 [%at], {%r1, %r2, %r3, %r4};
        st.global.v4.u32 [%at+16], {%r5, %r6, %r7, %tid};",
    );
    let words = outcome.clean();
    for lane in 0..32u32 {
        let got = &words[8 * lane as usize..][..8];
        let up = if lane >= 3 { lane - 3 } else { lane };
        let down = if lane + 3 < 32 { lane + 3 } else { lane };
        // Segments of 8 lanes.
        let (first, in_segment) = (lane / 8 * 8, lane % 8);
        let short = if in_segment + 2 < 8 { lane + 2 } else { lane };
        let inside = u32::from(lane >= 3) + 2 * u32::from(lane + 3 < 32);
        let expected = [up, down, lane ^ 5, 7, first + 5, short].map(|from| from + 100);
        assert_eq!(got[..6], expected, "lane {lane}");
        assert_eq!(got[6..], [inside, lane]);
    }
}

#[test]
fn votes_matches_and_reductions() {
    let outcome = body(
        &threads(32),
        "and.b32 %r0, %tid, 3;
        setp.eq.u32 %p0, %r0, 1;
        vote.sync.ballot.b32 %r1, %p0, 0xffffffff;
        vote.sync.any.pred %p1, %p0, 0xffffffff;
        vote.sync.all.pred %p2, %p0, 0xffffffff;
        vote.sync.all.pred %p3, !%p0, 0xffffffff;
        match.any.sync.b32 %r2, %r0, 0xffffffff;
        match.all.sync.b32 %r3|%p4, %r0, 0xffffffff;
        redux.sync.add.u32 %r4, %tid, 0xffffffff;
        redux.sync.max.s32 %r5, %r0, 0xffffffff;
        redux.sync.add.u32 %r6, %tid, %r2;
        selp.u32 %r7, 1, 0, %p1;
        selp.u32 %r8, 1, 0, %p2;
        mul.lo.u32 %r9, %tid, 32;
        cvt.u64.u32 %d0, %r9;
        add.u64 %at, %out, %d0;
        st.global.v4.u32 [%at], {%r1, %r2, %r3, %r4};
        st.global.v4.u32 [%at+16], {%r5, %r6, %r7, %r8};",
    );
    // The lanes of one instruction form groups of equal masks, with one execution per group.
    let redux: Vec<(u64, u64)> = outcome
        .of("redux")
        .iter()
        .map(|c| (c.executions, c.threads))
        .collect();
    assert_eq!(redux, [(1, 32), (1, 32), (4, 32)]);
    let words = outcome.clean();
    for lane in 0..32u32 {
        let same = 0x1111_1111u32 << (lane % 4);
        let sum: u32 = (0..8).map(|i| 4 * i + lane % 4).sum();
        let expected = [0x2222_2222, same, 0, 496, 3, sum, 1, 0];
        assert_eq!(words[8 * lane as usize..][..8], expected, "lane {lane}");
    }
}

/// An H100 does not split a warp whose lanes name different masks, if all lanes of each mask are present.
#[test]
fn groups_that_shuffle_by_masks_of_their_own_stay_together() {
    let outcome = body(
        &threads(32),
        "and.b32 %r0, %tid, 16;
        mov.b32 %r1, 0xffff;
        shl.b32 %r1, %r1, %r0;
        shfl.sync.idx.b32 %r2, %tid, 3, 0x101f, %r1;
        activemask.b32 %r3;
        mul.lo.u32 %r9, %tid, 8;
        cvt.u64.u32 %d0, %r9;
        add.u64 %at, %out, %d0;
        st.global.v2.u32 [%at], {%r2, %r3};",
    );
    let words = outcome.clean();
    for lane in 0..32u32 {
        let got = &words[2 * lane as usize..][..2];
        assert_eq!(got, [(lane & 16) + 3, u32::MAX], "lane {lane}");
    }
}

/// PTX ISA, "shfl.sync": undefined if the executing thread is not in the membermask.
#[test]
fn a_mask_without_the_lane_that_executes_it_is_reported() {
    let outcome = body(
        &threads(32),
        "shfl.sync.idx.b32 %r2, %tid, 3, 0x1f, 0xffff;
        st.global.u32 [%at], %r2;",
    );
    assert!(
        outcome
            .report()
            .contains("Lanes 0xffff0000 execute this with the mask 0x0000ffff"),
        "{}",
        outcome.report()
    );
}

#[test]
fn a_warp_level_instruction_runs_once_for_lanes_that_arrive_one_after_another() {
    // Both paths of a branch execute the same shuffle together only because of its mask.
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 16;
        mov.u32 %r1, 7;
        @%p0 bra LOW;
        bar.warp.sync 0xffff0000;
        mov.u32 %r1, 9;
        LOW:
        shfl.sync.bfly.b32 %r0, %r1, 16, 31, 0xffffffff;
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(outcome.of("shfl")[0].executions, 1);
    let words = outcome.clean();
    assert_eq!((words[0], words[16]), (9, 7));
}

#[test]
fn lanes_of_one_mask_need_not_wait_for_those_that_exited() {
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 4;
        @%p0 bra STAY;
        mov.u32 %r3, 0;
        LOOP:
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p1, %r3, 50;
        @%p1 bra LOOP;
        exit;
        STAY:
        redux.sync.add.u32 %r0, %tid, 0xffffffff;
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(outcome.clean()[..5], [6, 6, 6, 6, 0xdead]);
}

#[test]
fn the_special_registers_of_a_three_dimensional_block() {
    let setup = common::Setup {
        grid: [2, 1, 1],
        block: [5, 4, 3],
        ..threads(1)
    };
    // Linear thread number from %laneid and %warpid, as from %tid.
    let outcome = body(
        &setup,
        "mov.u32 %r0, %tid.y;
        mov.u32 %r1, %tid.z;
        mov.u32 %r2, %ntid.x;
        mov.u32 %r3, %ntid.y;
        mad.lo.u32 %r0, %r1, %r3, %r0;
        mad.lo.u32 %r0, %r0, %r2, %tid;
        mov.u32 %r4, %laneid;
        mov.u32 %r5, %warpid;
        mad.lo.u32 %r5, %r5, 32, %r4;
        sub.u32 %r6, %r5, %r0;
        mov.u32 %r7, %ctaid.x;
        mad.lo.u32 %r0, %r7, 60, %r0;
        mul.wide.u32 %at, %r0, 4;
        add.u64 %at, %at, %out;
        mov.u32 %r8, %lanemask_lt;
        popc.b32 %r8, %r8;
        add.u32 %r6, %r6, %r8;
        st.global.u32 [%at], %r6;",
    );
    let words = outcome.clean();
    for (thread, &word) in words[..120].iter().enumerate() {
        assert_eq!(word, thread as u32 % 60 % 32);
    }
}

/// Its first warp has another one in another schedule, as on an SM with other blocks.
#[test]
fn warps_of_a_block_have_consecutive_identifiers() {
    let first = |schedule| {
        let setup = common::Setup {
            schedule,
            ..threads(96)
        };
        let text = "mov.u32 %r1, %warpid; mov.u32 %r2, %nwarpid; mad.lo.u32 %r1, %r2, 1000, %r1; st.global.u32 [%at], %r1;";
        let words = body(&setup, text).clean();
        for (warp, lanes) in (0..3).zip(words.chunks(32)) {
            let expected = 64_000 + (words[0] - 64_000 + warp) % 64;
            assert!(lanes.iter().all(|&id| id == expected), "{lanes:?}");
        }
        words[0] - 64_000
    };
    assert_eq!(first(0), 0);
    assert_ne!(first(3), 0);
}

#[test]
fn a_mask_names_the_lanes_that_execute_it() {
    for text in [
        "shfl.sync.bfly.b32 %r1, %tid, 1, 31, 0xffff;",
        "bar.warp.sync 0x1;",
    ] {
        let outcome = body(&threads(32), text);
        assert!(
            matches!(outcome.findings[0].kind, FindingKind::InvalidMask(_)),
            "{}",
            outcome.report()
        );
    }
}
