//! Races between the lanes of one warp.
use crate::common::pairs::{Pair, check};
use crate::common::threads;

/// `%r1`: the address of the thread's word of `a`.
const PAIRS: &[Pair] = &[
    Pair {
        name: "a shuffle is not a __syncwarp",
        declarations: ".shared .u32 a[32];",
        wrong: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; xor.b32 %r2, %r1, 4;
            st.shared.u32 [%r1], %tid; //~ Race reported between Write access
            shfl.sync.bfly.b32 %r3, %tid, 1, 31, 0xffffffff;
            ld.shared.u32 %r4, [%r2];
            st.global.u32 [%at], %r4;",
        right: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; xor.b32 %r2, %r1, 4;
            st.shared.u32 [%r1], %tid;
            bar.warp.sync 0xffffffff;
            shfl.sync.bfly.b32 %r3, %tid, 1, 31, 0xffffffff;
            ld.shared.u32 %r4, [%r2];
            st.global.u32 [%at], %r4;",
    },
    Pair {
        name: "a vote is not a __syncwarp",
        declarations: ".shared .u32 a[32];",
        wrong: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; xor.b32 %r2, %r1, 4;
            st.shared.u32 [%r1], %tid; //~ Race reported between Write access
            setp.gt.u32 %p0, %tid, 5; vote.sync.ballot.b32 %r3, %p0, 0xffffffff;
            ld.shared.u32 %r4, [%r2];
            st.global.u32 [%at], %r4;",
        right: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; xor.b32 %r2, %r1, 4;
            st.shared.u32 [%r1], %tid;
            setp.gt.u32 %p0, %tid, 5; vote.sync.ballot.b32 %r3, %p0, 0xffffffff;
            bar.sync 0;
            ld.shared.u32 %r4, [%r2];
            st.global.u32 [%at], %r4;",
    },
    Pair {
        name: "match and redux are not a __syncwarp",
        declarations: ".shared .u32 a[32];",
        wrong: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; xor.b32 %r2, %r1, 4;
            st.shared.u32 [%r1], %tid; //~ Race reported between Write access
            match.any.sync.b32 %r3, %tid, 0xffffffff; redux.sync.add.u32 %r5, %tid, 0xffffffff;
            ld.shared.u32 %r4, [%r2];
            st.global.u32 [%at], %r4;",
        right: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0;
            st.shared.u32 [%r1], %tid;
            match.any.sync.b32 %r3, %tid, 0xffffffff; redux.sync.add.u32 %r5, %tid, 0xffffffff;
            ld.shared.u32 %r4, [%r1];
            st.global.u32 [%at], %r4;",
    },
    Pair {
        name: "a reduction in shared memory that relies on lockstep",
        declarations: ".shared .u32 a[64];",
        wrong: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; st.shared.u32 [%r1+128], 0; st.shared.u32 [%r1], %tid;
            bar.warp.sync 0xffffffff;
            ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+64]; add.u32 %r2, %r2, %r3; //~ Race reported between
            st.shared.u32 [%r1], %r2;
            bar.warp.sync 0xffffffff;
            ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2;",
        right: "mov.u32 %r0, a; mad.lo.u32 %r1, %tid, 4, %r0; st.shared.u32 [%r1+128], 0; st.shared.u32 [%r1], %tid;
            bar.warp.sync 0xffffffff;
            ld.shared.u32 %r2, [%r1]; ld.shared.u32 %r3, [%r1+64]; add.u32 %r2, %r2, %r3;
            bar.warp.sync 0xffffffff;
            st.shared.u32 [%r1], %r2;
            bar.warp.sync 0xffffffff;
            ld.shared.u32 %r2, [%r1]; st.global.u32 [%at], %r2;",
    },
    Pair {
        name: "lanes of one store write different values to one place: shared memory",
        declarations: ".shared .u32 a;",
        wrong: "st.shared.u32 [a], %tid; //~ Race reported between Write access
            bar.sync 0;
            ld.shared.u32 %r0, [a]; st.global.u32 [%at], %r0;",
        right: "st.shared.u32 [a], 7;
            bar.sync 0;
            ld.shared.u32 %r0, [a]; st.global.u32 [%at], %r0;",
    },
    Pair {
        name: "global memory",
        declarations: "",
        wrong: "st.global.u32 [%out], %tid; //~ Race reported between Write access",
        right: "st.global.u32 [%out], 7;",
    },
    Pair {
        name: "pairs of lanes",
        declarations: "",
        wrong: "shr.u32 %r0, %tid, 1; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            st.global.u32 [%d0], %tid; //~ which of them is kept is undefined",
        right: "shr.u32 %r0, %tid, 1; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            st.global.u32 [%d0], %r0;",
    },
];

#[test]
fn lanes_of_a_warp() {
    check(&threads(32), PAIRS);
}
