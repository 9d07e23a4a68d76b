//! Counters, locks and barriers of many blocks.
use super::expand;
use crate::common::pairs::check;
use crate::common::{Setup, threads};

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
