//! Flags: one thread writes data, and another reads it once a flag is set (PTX ISA, "Memory Consistency Model").
use crate::common::pairs::{Pair, check};
use crate::common::{Setup, threads};

/// Replaced in both kernels of a pair, one line by one line to keep line numbers.
fn expand(pairs: &[(&'static str, &'static str, [&'static str; 2])]) -> Vec<Pair> {
    let expanded = pairs.iter().map(|&(name, declarations, [wrong, right])| {
        assert_eq!(wrong.lines().count(), right.lines().count(), "{name}");
        Pair {
            name,
            declarations,
            wrong,
            right,
        }
    });
    expanded.collect()
}

const SHARED: &str = ".shared .u32 data[32]; .shared .u32 flag;";

/// Warp 0 writes `data` and sets `flag`, warp 1 waits for it and reads.
macro_rules! in_shared {
    ($set:literal, $wait:literal, $read:literal) => {
        concat!(
            "mov.u32 %r0, data; and.b32 %r1, %tid, 31; mad.lo.u32 %r2, %r1, 4, %r0; setp.eq.u32 %p0, %tid, 0; setp.eq.u32 %p1, %r1, 0;\n",
            "@%p0 st.shared.u32 [flag], 0; bar.sync 0; setp.ge.u32 %p2, %tid, 32; @%p2 bra CONSUME;\n",
            "st.shared.u32 [%r2], %tid;\n",
            $set,
            "\nbra END; CONSUME:\n",
            $wait,
            "\nld.shared.u32 %r4, [%r2];",
            $read,
            "\nst.global.u32 [%at], %r4; END:"
        )
    };
}

#[test]
fn in_shared_memory() {
    let race = [
        (
            "relaxed instead of release",
            SHARED,
            [
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "relaxed instead of acquire",
            SHARED,
            [
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "W: ld.relaxed.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "W: ld.relaxed.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.cta;",
                    ""
                ),
            ],
        ),
        (
            "volatile, without the writer's __threadfence_block",
            SHARED,
            [
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.volatile.shared.u32 [flag], 1;",
                    "W: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "membar.cta; bar.warp.sync 0xffffffff; @%p1 st.volatile.shared.u32 [flag], 1;",
                    "W: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;",
                    ""
                ),
            ],
        ),
        (
            "an atomic, without the reader's fence",
            SHARED,
            [
                in_shared!(
                    "bar.warp.sync 0xffffffff; membar.cta; @%p1 atom.shared.exch.b32 %r3, [flag], 1;",
                    "W: atom.shared.or.b32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "bar.warp.sync 0xffffffff; membar.cta; @%p1 atom.shared.exch.b32 %r3, [flag], 1;",
                    "W: atom.shared.or.b32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;",
                    ""
                ),
            ],
        ),
        (
            "one lane sets the flag without a __syncwarp with the others",
            SHARED,
            [
                in_shared!(
                    "@%p1 st.release.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "each lane has a fence, but none orders the others before the one that sets the flag",
            SHARED,
            [
                in_shared!(
                    "membar.cta; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "membar.cta; bar.warp.sync 0xffffffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "only half of the warp synchronizes after its fences",
            SHARED,
            [
                in_shared!(
                    "membar.cta; setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0x0000ffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "membar.cta; setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0x0000ffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                    "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; setp.ge.u32 %p4, %r1, 16; @%p4 bra END;",
                    ""
                ),
            ],
        ),
        (
            "one lane waits, without a __syncwarp with the others",
            SHARED,
            [
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "@!%p1 bra S; W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S:",
                    " //~ Race reported between Write access"
                ),
                in_shared!(
                    "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                    "@!%p1 bra S; W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.warp.sync 0xffffffff;",
                    ""
                ),
            ],
        ),
    ];
    check(&threads(64), &expand(&race));
}

const GLOBAL: &str = ".global .u32 data[64]; .global .u32 flag;";

/// The last block writes `data` and sets `flag`, the first waits for it and reads.
macro_rules! in_global {
    ($set:literal, $wait:literal, $read:literal) => {
        concat!(
            "mov.u64 %d1, data; mul.wide.u32 %d2, %tid, 4; add.u64 %d2, %d2, %d1; mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %tid, 0;\n",
            "setp.eq.u32 %p2, %r0, 0; @%p2 bra CONSUME;\n",
            "st.global.u32 [%d2], %r0;\n",
            $set,
            "\nbra END; CONSUME:\n",
            $wait,
            "\nld.global.u32 %r4, [%d2];",
            $read,
            "\nst.global.u32 [%at], %r4; END:"
        )
    };
}

#[test]
fn in_global_memory() {
    let race = [
        (
            "no __threadfence before the flag",
            GLOBAL,
            [
                in_global!(
                    "bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    ""
                ),
            ],
        ),
        (
            "no __threadfence after the wait",
            GLOBAL,
            [
                in_global!(
                    "bar.sync 0; membar.gl; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "bar.sync 0; membar.gl; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    ""
                ),
            ],
        ),
        (
            "a fence of the block's scope: __threadfence_block",
            GLOBAL,
            [
                in_global!(
                    "membar.cta; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    ""
                ),
            ],
        ),
        (
            "the reader's fence has the block's scope",
            GLOBAL,
            [
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.cta;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.gpu;",
                    ""
                ),
            ],
        ),
        (
            "st.release of the cluster's scope",
            GLOBAL,
            [
                in_global!(
                    "bar.sync 0; @%p0 st.release.cluster.global.u32 [flag], 1; //~ Race reported between",
                    "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "bar.sync 0; @%p0 st.release.gpu.global.u32 [flag], 1;",
                    "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "an ordinary store as the flag",
            GLOBAL,
            [
                in_global!(
                    "bar.sync 0; membar.gl; @%p0 st.global.u32 [flag], 1; //~ Race reported between",
                    "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "bar.sync 0; membar.gl; @%p0 st.relaxed.gpu.global.u32 [flag], 1;",
                    "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "an atomic without an order",
            GLOBAL,
            [
                in_global!(
                    "bar.sync 0; @%p0 red.global.add.u32 [flag], 1;",
                    "W: atom.acquire.gpu.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "bar.sync 0; @%p0 red.release.gpu.global.add.u32 [flag], 1;",
                    "W: atom.acquire.gpu.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;",
                    ""
                ),
            ],
        ),
        (
            "the flag before the barrier",
            GLOBAL,
            [
                in_global!(
                    "membar.gl; @%p0 st.volatile.global.u32 [flag], 1; bar.sync 0;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;",
                    ""
                ),
            ],
        ),
        (
            "one thread waits for its block",
            GLOBAL,
            [
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl; S:",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl; S: bar.sync 0;",
                    ""
                ),
            ],
        ),
        (
            "every thread has a fence after the barrier, or none has",
            GLOBAL,
            [
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.sync 0;",
                    " //~ Race reported between Write access"
                ),
                in_global!(
                    "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                    "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.sync 0; membar.gl;",
                    ""
                ),
            ],
        ),
    ];
    let setup = Setup {
        grid: [2, 1, 1],
        ..threads(64)
    };
    check(&setup, &expand(&race));
}

/// Patterns with many blocks.
const MANY_BLOCKS: &[(&str, &str, [&str; 2])] = &[
    (
        "the last block adds up what the others wrote (CUDA C++ Programming Guide, \"Memory Fence Functions\")",
        ".global .u32 part[8]; .global .u32 count; .shared .u32 last;",
        [
            "mov.u32 %r0, %ctaid.x; mov.u64 %d1, part; mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d1; setp.ne.u32 %p0, %tid, 0;
            @%p0 bra MEET; st.global.u32 [%d2], %r0; atom.global.inc.u32 %r1, [count], 3; //~ Race reported between Write access
            setp.eq.u32 %p1, %r1, 3; selp.u32 %r2, 1, 0, %p1; st.shared.u32 [last], %r2; MEET: bar.sync 0;
            ld.shared.u32 %r2, [last]; setp.eq.u32 %p2, %r2, 0; @%p2 ret; setp.gt.u32 %p3, %tid, 3; @%p3 ret; membar.gl;
            mul.wide.u32 %d3, %tid, 4; add.u64 %d3, %d3, %d1; ld.global.u32 %r3, [%d3]; st.global.u32 [%at], %r3;",
            "mov.u32 %r0, %ctaid.x; mov.u64 %d1, part; mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %d1; setp.ne.u32 %p0, %tid, 0;
            @%p0 bra MEET; st.global.u32 [%d2], %r0; membar.gl; atom.global.inc.u32 %r1, [count], 3;
            setp.eq.u32 %p1, %r1, 3; selp.u32 %r2, 1, 0, %p1; st.shared.u32 [last], %r2; MEET: bar.sync 0;
            ld.shared.u32 %r2, [last]; setp.eq.u32 %p2, %r2, 0; @%p2 ret; setp.gt.u32 %p3, %tid, 3; @%p3 ret; membar.gl;
            mul.wide.u32 %d3, %tid, 4; add.u64 %d3, %d3, %d1; ld.global.u32 %r3, [%d3]; st.global.u32 [%at], %r3;",
        ],
    ),
    (
        "a barrier of the whole grid, as in cooperative groups",
        ".global .u32 part[256]; .global .u32 count;",
        [
            "mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 64, %tid; mov.u64 %d1, part; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %d1;
            st.global.u32 [%d2], %r1; bar.sync 0; setp.ne.u32 %p0, %tid, 0; @%p0 bra MEET; red.global.add.u32 [count], 1; //~ Race reported between Write access
            W: ld.volatile.global.u32 %r2, [count]; setp.lt.u32 %p1, %r2, 4; @%p1 bra W; membar.gl;
            MEET: bar.sync 0; xor.b32 %r3, %r1, 64; mul.wide.u32 %d3, %r3, 4; add.u64 %d3, %d3, %d1; ld.global.u32 %r4, [%d3]; st.global.u32 [%at], 0;",
            "mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 64, %tid; mov.u64 %d1, part; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d2, %d1;
            st.global.u32 [%d2], %r1; bar.sync 0; setp.ne.u32 %p0, %tid, 0; @%p0 bra MEET; membar.gl; red.global.add.u32 [count], 1;
            W: ld.volatile.global.u32 %r2, [count]; setp.lt.u32 %p1, %r2, 4; @%p1 bra W; membar.gl;
            MEET: bar.sync 0; xor.b32 %r3, %r1, 64; mul.wide.u32 %d3, %r3, 4; add.u64 %d3, %d3, %d1; ld.global.u32 %r4, [%d3]; st.global.u32 [%at], 0;",
        ],
    ),
    (
        "a lock",
        ".global .u32 lock; .global .u32 sum;",
        [
            "setp.ne.u32 %p0, %tid, 0; @%p0 ret; W: atom.relaxed.gpu.global.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
            ld.global.u32 %r1, [sum]; add.u32 %r1, %r1, 1; //~ Race reported between
            st.global.u32 [sum], %r1; //~ Race reported between
            atom.relaxed.gpu.global.exch.b32 %r0, [lock], 0;",
            "setp.ne.u32 %p0, %tid, 0; @%p0 ret; W: atom.acquire.gpu.global.cas.b32 %r0, [lock], 0, 1; setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
            ld.global.u32 %r1, [sum]; add.u32 %r1, %r1, 1;
            st.global.u32 [sum], %r1;
            atom.release.gpu.global.exch.b32 %r0, [lock], 0;",
        ],
    ),
    (
        "a chain: each block goes on from what the one before has left",
        ".global .u32 turn; .global .u32 sum;",
        [
            "setp.ne.u32 %p0, %tid, 0; @%p0 ret; mov.u32 %r0, %ctaid.x; W: ld.acquire.gpu.global.u32 %r1, [turn]; setp.ne.u32 %p1, %r1, %r0; @%p1 bra W;
            ld.global.u32 %r2, [sum]; add.u32 %r2, %r2, 1; add.u32 %r1, %r1, 1; //~ Race reported between
            st.relaxed.gpu.global.u32 [turn], %r1;
            st.global.u32 [sum], %r2; //~ Race reported between",
            "setp.ne.u32 %p0, %tid, 0; @%p0 ret; mov.u32 %r0, %ctaid.x; W: ld.acquire.gpu.global.u32 %r1, [turn]; setp.ne.u32 %p1, %r1, %r0; @%p1 bra W;
            ld.global.u32 %r2, [sum]; add.u32 %r2, %r2, 1; add.u32 %r1, %r1, 1;
            st.global.u32 [sum], %r2;
            st.release.gpu.global.u32 [turn], %r1;",
        ],
    ),
];

#[test]
fn among_many_blocks() {
    let setup = Setup {
        grid: [4, 1, 1],
        ..threads(64)
    };
    check(&setup, &expand(MANY_BLOCKS));
}

/// In the shared memory of another block of the cluster.
const IN_A_CLUSTER: &[(&str, &str, [&str; 2])] = &[
    (
        "a fence of the block's scope",
        SHARED,
        [
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 st.shared.u32 [flag], 0;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid; //~ Race reported between
            bar.warp.sync 0xffffffff; fence.acq_rel.cta; @%p0 st.relaxed.cluster.shared::cluster.u32 [%r6], 1; bra END;
            CONSUME: W: ld.acquire.cluster.shared::cta.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 st.shared.u32 [flag], 0;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid;
            bar.warp.sync 0xffffffff; fence.acq_rel.cluster; @%p0 st.relaxed.cluster.shared::cluster.u32 [%r6], 1; bra END;
            CONSUME: W: ld.acquire.cluster.shared::cta.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ],
    ),
    (
        "the reader's order has the block's scope",
        SHARED,
        [
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 st.shared.u32 [flag], 0;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid; //~ Race reported between
            bar.warp.sync 0xffffffff; @%p0 st.release.cluster.shared::cluster.u32 [%r6], 1; bra END;
            CONSUME: W: ld.acquire.cta.shared::cta.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 st.shared.u32 [flag], 0;
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid;
            bar.warp.sync 0xffffffff; @%p0 st.release.cluster.shared::cluster.u32 [%r6], 1; bra END;
            CONSUME: W: ld.acquire.cluster.shared::cta.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ],
    ),
    (
        "relaxed arrivals at the cluster's barrier need a fence",
        SHARED,
        [
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mad.lo.u32 %r2, %tid, 4, %r0; xor.b32 %r8, %r9, 1;
            st.shared.u32 [%r2], %tid; //~ Race reported between
            fence.acq_rel.cta; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
            mapa.shared::cluster.u32 %r5, %r2, %r8; ld.shared::cluster.u32 %r4, [%r5];
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; st.global.u32 [%at], %r4;",
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mad.lo.u32 %r2, %tid, 4, %r0; xor.b32 %r8, %r9, 1;
            st.shared.u32 [%r2], %tid;
            fence.acq_rel.cluster; barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.acquire.aligned;
            mapa.shared::cluster.u32 %r5, %r2, %r8; ld.shared::cluster.u32 %r4, [%r5];
            barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; st.global.u32 [%at], %r4;",
        ],
    ),
    (
        "an arrival of the block's scope at another block's mbarrier",
        ".shared .u32 data[32]; .shared .b64 flag;",
        [
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 mbarrier.init.shared.b64 [flag], 32;
            fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid; //~ Race reported between
            mbarrier.arrive.release.cta.shared::cluster.b64 _, [%r6]; bra END;
            CONSUME: W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [flag], 0; @!%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 mbarrier.init.shared.b64 [flag], 32;
            fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid;
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6]; bra END;
            CONSUME: W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [flag], 0; @!%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ],
    ),
    (
        "a wait of the block's scope for another block's arrivals",
        ".shared .u32 data[32]; .shared .b64 flag;",
        [
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 mbarrier.init.shared.b64 [flag], 32;
            fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid; //~ Race reported between
            mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6]; bra END;
            CONSUME: W: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p3, [flag], 0; @!%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
            "mov.u32 %r9, %cluster_ctarank; mov.u32 %r0, data; mov.u32 %r1, flag; mad.lo.u32 %r2, %tid, 4, %r0; setp.eq.u32 %p0, %tid, 0; @%p0 mbarrier.init.shared.b64 [flag], 32;
            fence.mbarrier_init.release.cluster; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.eq.u32 %p2, %r9, 0; @%p2 bra CONSUME;
            mapa.shared::cluster.u32 %r5, %r2, 0; mapa.shared::cluster.u32 %r6, %r1, 0; st.shared::cluster.u32 [%r5], %tid;
            mbarrier.arrive.shared::cluster.b64 _, [%r6]; bra END;
            CONSUME: W: mbarrier.try_wait.parity.shared::cta.b64 %p3, [flag], 0; @!%p3 bra W;
            ld.shared.u32 %r4, [%r2]; st.global.u32 [%at], %r4; END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        ],
    ),
];

#[test]
fn in_the_cluster() {
    let setup = Setup {
        grid: [2, 1, 1],
        cluster: [2, 1, 1],
        ..threads(32)
    };
    check(&setup, &expand(IN_A_CLUSTER));
}
