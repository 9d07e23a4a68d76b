//! Flags in shared memory, between warps of a block.
use super::{SHARED, expand};
use crate::common::pairs::check;
use crate::common::threads;

/// Warp 0 writes `data` and sets `flag`, warp 1 waits for it and reads.
/// The race is found at the read.
macro_rules! in_shared {
    (@kernel $set:literal, $wait:literal, $read:literal) => {
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
    ($name:literal, [$wrong_set:literal, $wrong_wait:literal], [$set:literal, $wait:literal]) => {
        (
            $name,
            SHARED,
            [
                in_shared!(@kernel $wrong_set, $wrong_wait, " //~ Race reported between Write access"),
                in_shared!(@kernel $set, $wait, ""),
            ],
        )
    };
}

#[test]
fn in_shared_memory() {
    let race = [
        in_shared!(
            "relaxed instead of release",
            [
                "bar.warp.sync 0xffffffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_shared!(
            "relaxed instead of acquire",
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "W: ld.relaxed.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "W: ld.relaxed.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; fence.acq_rel.cta;"
            ]
        ),
        in_shared!(
            "volatile, without the writer's __threadfence_block",
            [
                "bar.warp.sync 0xffffffff; @%p1 st.volatile.shared.u32 [flag], 1;",
                "W: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;"
            ],
            [
                "membar.cta; bar.warp.sync 0xffffffff; @%p1 st.volatile.shared.u32 [flag], 1;",
                "W: ld.volatile.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;"
            ]
        ),
        in_shared!(
            "an atomic, without the reader's fence",
            [
                "bar.warp.sync 0xffffffff; membar.cta; @%p1 atom.shared.exch.b32 %r3, [flag], 1;",
                "W: atom.shared.or.b32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.warp.sync 0xffffffff; membar.cta; @%p1 atom.shared.exch.b32 %r3, [flag], 1;",
                "W: atom.shared.or.b32 %r3, [flag], 0; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; membar.cta;"
            ]
        ),
        in_shared!(
            "one lane sets the flag without a __syncwarp with the others",
            [
                "@%p1 st.release.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_shared!(
            "each lane has a fence, but none orders the others before the one that sets the flag",
            [
                "membar.cta; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "membar.cta; bar.warp.sync 0xffffffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ]
        ),
        in_shared!(
            "only half of the warp synchronizes after its fences",
            [
                "membar.cta; setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0x0000ffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W;"
            ],
            [
                "membar.cta; setp.lt.u32 %p4, %r1, 16; @%p4 bar.warp.sync 0x0000ffff; @%p1 st.relaxed.cta.shared.u32 [flag], 1;",
                "W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; setp.ge.u32 %p4, %r1, 16; @%p4 bra END;"
            ]
        ),
        in_shared!(
            "one lane waits, without a __syncwarp with the others",
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "@!%p1 bra S; W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S:"
            ],
            [
                "bar.warp.sync 0xffffffff; @%p1 st.release.cta.shared.u32 [flag], 1;",
                "@!%p1 bra S; W: ld.acquire.cta.shared.u32 %r3, [flag]; setp.eq.u32 %p3, %r3, 0; @%p3 bra W; S: bar.warp.sync 0xffffffff;"
            ]
        ),
    ];
    check(&threads(64), &expand(&race));
}
