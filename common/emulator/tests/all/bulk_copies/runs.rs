//! Copies of contiguous bytes, without a tensor map: to a block, from it, and from block to block.
use emulator::Swizzle;

use super::common::Setup;
use super::common::tma::run;
use super::{setup, tensor};

#[test]
fn runs_of_bytes() {
    let tile = tensor(&[32, 16], Swizzle::None);
    let text = "@%p0 bra READY;
        mbarrier.init.shared::cta.b64 [%bar], 1;
        fence.proxy.async;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;
        cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%out], 128, [%bar];
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s+128], [%out+16], 128, [%bar];
        READY: bar.sync 0;
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;
        mad.lo.u32 %r1, %tid, 4, %s;
        ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, %tid; st.shared.u32 [%r1], %r2;
        fence.proxy.async; bar.sync 0;
        @%p0 bra END;
        cp.async.bulk.global.shared::cta.bulk_group [%out+4096], [%s], 256;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
        ld.global.u32 %r3, [%out+4100]; st.global.u32 [%out], %r3;
        END:";
    let outcome = run(&setup(64), &tile, text).expect("a map");
    let copies = outcome.of("cp.async.bulk.");
    let traffic: Vec<_> = copies.iter().map(|c| (c.bytes, c.global_sectors)).collect();
    assert_eq!(traffic[..3], [(128, 4), (128, 5), (256, 8)]);
    let words = outcome.clean();
    let expected: Vec<u32> = (0..64).map(|i| 0xdead + i).collect();
    assert_eq!(words[1024..1088], expected);
    assert_eq!(words[0], 0xdead + 1);
    for (from, to, what) in [
        (
            "[%out], 128, ",
            "[%out], 120, ",
            "120 bytes; a bulk copy takes multiples of 16",
        ),
        (
            "[%out], 128, ",
            "[%out+8], 128, ",
            "is not a multiple of 16 bytes",
        ),
    ] {
        let report = run(&setup(64), &tile, &text.replace(from, to))
            .expect("")
            .report();
        assert!(report.contains(what), "{report}");
    }
    // `wait_group.read` does not wait for the writes.
    let early = text.replace("wait_group 0;", "wait_group.read 0;");
    let outcome = run(&setup(64), &tile, &early).expect("a map");
    assert_eq!(
        (outcome.words[0], outcome.words[1025]),
        (0xdead, 0xdead + 1)
    );
    assert!(
        outcome
            .report()
            .starts_with("Race reported between Asynchronous Write access")
    );
}

#[test]
fn from_block_to_block() {
    let text = "mov.u32 %r0, %cluster_ctarank; xor.b32 %r1, %r0, 1;
        @%p0 bra READY;
        mbarrier.init.shared::cta.b64 [%bar], 1; fence.mbarrier_init.release.cluster;
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 256;
        READY: mad.lo.u32 %r2, %tid, 4, %s;
        mad.lo.u32 %r3, %r0, 1000, %tid;
        st.shared.u32 [%r2], %r3;
        fence.proxy.async.shared::cta;
        barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r4, %s, %r1; mapa.shared::cluster.u32 %r5, %bar, %r1;
        @!%p0 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4+1024], [%s], 256, [%r5];
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;
        ld.shared.u32 %r6, [%r2+1024]; st.global.u32 [%at], %r6;
        barrier.cluster.arrive; barrier.cluster.wait;";
    for schedule in 0..4 {
        let setup = Setup {
            grid: [2, 1, 1],
            cluster: [2, 1, 1],
            schedule,
            ..setup(64)
        };
        let tile = tensor(&[32, 16], Swizzle::None);
        let words = run(&setup, &tile, text).expect("a map").clean();
        assert_eq!(
            (words[0], words[63], words[1024], words[1024 + 5]),
            (1000, 1063, 0, 5)
        );
        let wrong = text.replace("256, [%r5]", "256, [%bar]");
        let report = run(&setup, &tile, &wrong).expect("a map").report();
        assert!(report.contains("but its mbarrier is in block"), "{report}");
    }
}
