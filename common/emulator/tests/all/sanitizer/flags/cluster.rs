//! Flags in the shared memory of another block of the cluster.
use super::{SHARED, expand};
use crate::common::pairs::check;
use crate::common::{Setup, threads};

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
