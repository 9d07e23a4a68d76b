//! Flags in global memory, between two blocks.
use super::expand;
use crate::common::pairs::check;
use crate::common::{Setup, threads};

const GLOBAL: &str = ".global .u32 data[64]; .global .u32 flag;";

/// The last block writes `data` and sets `flag`, the first waits for it and reads.
/// The race is found at the read.
macro_rules! in_global {
    (@kernel $set:literal, $wait:literal, $read:literal) => {
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
    ($name:literal, [$wrong_set:literal, $wrong_wait:literal], [$set:literal, $wait:literal]) => {
        (
            $name,
            GLOBAL,
            [
                in_global!(@kernel $wrong_set, $wrong_wait, " //~ Race reported between Write access"),
                in_global!(@kernel $set, $wait, ""),
            ],
        )
    };
}

#[test]
fn in_global_memory() {
    let race = [
        in_global!(
            "no __threadfence before the flag",
            [
                "bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ]
        ),
        in_global!(
            "no __threadfence after the wait",
            [
                "bar.sync 0; membar.gl; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.sync 0; membar.gl; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ]
        ),
        in_global!(
            "a fence of the block's scope: __threadfence_block",
            [
                "membar.cta; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ]
        ),
        in_global!(
            "the reader's fence has the block's scope",
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.cta;"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.gpu;"
            ]
        ),
        in_global!(
            "st.release of the cluster's scope",
            [
                "bar.sync 0; @%p0 st.release.cluster.global.u32 [flag], 1; //~ Race reported between",
                "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.sync 0; @%p0 st.release.gpu.global.u32 [flag], 1;",
                "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_global!(
            "an ordinary store as the flag",
            [
                "bar.sync 0; membar.gl; @%p0 st.global.u32 [flag], 1; //~ Race reported between",
                "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.sync 0; membar.gl; @%p0 st.relaxed.gpu.global.u32 [flag], 1;",
                "W: ld.acquire.gpu.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_global!(
            "an atomic without an order",
            [
                "bar.sync 0; @%p0 red.global.add.u32 [flag], 1;",
                "W: atom.acquire.gpu.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.sync 0; @%p0 red.release.gpu.global.add.u32 [flag], 1;",
                "W: atom.acquire.gpu.global.add.u32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_global!(
            "the flag before the barrier",
            [
                "membar.gl; @%p0 st.volatile.global.u32 [flag], 1; bar.sync 0;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl;"
            ]
        ),
        in_global!(
            "one thread waits for its block",
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl; S:"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.gl; S: bar.sync 0;"
            ]
        ),
        in_global!(
            "every thread has a fence after the barrier, or none has",
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.sync 0;"
            ],
            [
                "membar.gl; bar.sync 0; @%p0 st.volatile.global.u32 [flag], 1;",
                "@!%p0 bra S; W: ld.volatile.global.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.sync 0; membar.gl;"
            ]
        ),
    ];
    let setup = Setup {
        grid: [2, 1, 1],
        ..threads(64)
    };
    check(&setup, &expand(&race));
}
