//! A pipeline of bulk copies: in different orders of warps, with one block and two, and with each typical mistake.
use emulator::Swizzle;

use super::common::tma::{Tensor, matrix, run};
use super::common::{Outcome, Setup};
use super::setup;

/// A pipeline of two stages: the producer, warp 0, loads 8 tiles, and the consumers, warps 1 and 2, sum them.
/// `full` are `bars[0..2]`, `empty` `bars[2..4]`. In a cluster, each block loads half of each tile for both
/// blocks.
fn pipeline() -> String {
    "mov.u32 %r20, %cluster_ctarank; mov.u32 %r21, %cluster_nctarank;
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%bar], 1; mbarrier.init.shared::cta.b64 [%bar+8], 1;
    mul.lo.u32 %r0, %r21, 2;
    mbarrier.init.shared::cta.b64 [%bar+16], %r0; mbarrier.init.shared::cta.b64 [%bar+24], %r0;
    fence.mbarrier_init.release.cluster;
    READY: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mov.u32 %r1, 0;
    mov.u32 %r9, 0;
    setp.ge.u32 %p1, %tid, 32;
    @%p1 bra CONSUME;
    @%p0 bra END;
    shl.b32 %r22, 1, %r21; sub.u32 %r22, %r22, 1; cvt.u16.u32 %h0, %r22;
    div.u32 %r23, 16, %r21;
    mul.lo.u32 %r24, %r23, %r20;
    BRING:
    and.b32 %r2, %r1, 1;
    shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1; xor.b32 %r4, %r3, 1;
    mad.lo.u32 %r5, %r2, 8, %bar;
    E: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], %r4; @!%p2 bra E;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r5], 1024;
    mad.lo.u32 %r6, %r2, 1024, %s; mad.lo.u32 %r6, %r24, 64, %r6;
    mad.lo.u32 %r7, %r1, 2, %r24;
    cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%r6], [%map, {0, %r7}], [%r5], %h0;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 8; @%p2 bra BRING;
    bra END;
    CONSUME:
    and.b32 %r2, %r1, 1;
    shr.u32 %r3, %r1, 1; and.b32 %r3, %r3, 1;
    mad.lo.u32 %r5, %r2, 8, %bar;
    F: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r3; @!%p2 bra F;
    mad.lo.u32 %r6, %r2, 1024, %s; mad.lo.u32 %r6, %tid, 4, %r6;
    ld.shared.u32 %r7, [%r6-128]; add.u32 %r9, %r9, %r7;
    bar.warp.sync 0xffffffff;
    and.b32 %r8, %tid, 31;
    setp.ge.u32 %p3, %r8, %r21;
    add.u32 %r10, %r5, 16;
    @%p3 bra KEEP;
    mapa.shared::cluster.u32 %r10, %r10, %r8;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];
    KEEP:
    add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 8; @%p2 bra CONSUME;
    st.global.u32 [%at], %r9;
    END: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;"
        .to_string()
}

fn pipelined(cluster: u32, schedule: u64, sanitize: bool, text: &str) -> Outcome {
    let setup = Setup {
        grid: [4, 1, 1],
        cluster: [cluster, 1, 1],
        schedule,
        sanitize,
        limits: emulator::Limits {
            instructions: 1 << 18,
            ..emulator::Limits::default()
        },
        ..setup(96)
    };
    let tile: &[u32; 2] = if cluster == 1 { &[32, 16] } else { &[32, 8] };
    run(&setup, &tensor_for(tile), text).expect("a map")
}

fn tensor_for(tile: &[u32; 2]) -> Tensor<'_> {
    matrix(&[100, 40], &[224], tile, Swizzle::None)
}

#[test]
fn a_pipeline_is_clean_in_any_order_and_its_mistakes_are_not() {
    // Word w of a tile: row w / 16, columns 2 (w % 16) and 2 (w % 16) + 1; tile t starts at row 2 t.
    let expected = |tid: u32| {
        let word = tid - 32;
        (0..8).fold(0u32, |sum, t| {
            let first = (2 * t + word / 16) * 112 + 2 * (word % 16);
            sum.wrapping_add(first | (first + 1) << 16)
        })
    };
    for cluster in [1, 2] {
        for schedule in 0..10 {
            let words = pipelined(cluster, schedule, true, &pipeline()).clean();
            for block in 0..4 {
                for tid in 32..96 {
                    let at = (block * 1024 + tid) as usize;
                    assert_eq!(words[at], expected(tid), "block {block} thread {tid}");
                }
            }
        }
    }
    // Each consumer warp waits once for each tile, and the producer for each stage; a wait that tests twice is
    // still one execution.
    let outcome = pipelined(2, 0, true, &pipeline());
    let waits = outcome.of("mbarrier.try_wait");
    let executions: Vec<u64> = waits.iter().map(|wait| wait.executions).collect();
    assert_eq!(executions, [4 * 8, 4 * 2 * 8]);
    assert!(waits.iter().all(|wait| wait.waited > 0), "{waits:?}");
    let mistakes = [
        // The producer does not wait, and reuses the stage before it is released.
        (
            "E: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], %r4; @!%p2 bra E;",
            "",
            "1 arrivals, but phase 0 waits for 0 more of 1",
        ),
        // The producer waits with the consumers' parity.
        ("[%r5+16], %r4", "[%r5+16], %r3", "Deadlock"),
        // The consumers always wait with the parity of the first round.
        (
            "F: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r3;",
            "mov.u32 %r4, 0; F: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5], %r4;",
            "Race reported",
        ),
        // The stage is off by one.
        (
            "mad.lo.u32 %r6, %r2, 1024, %s; mad.lo.u32 %r6, %tid",
            "xor.b32 %r6, %r2, 1; mad.lo.u32 %r6, %r6, 1024, %s; mad.lo.u32 %r6, %tid",
            "Race reported",
        ),
        // One lane releases the stage before all lanes of the consumer have read.
        ("bar.warp.sync 0xffffffff;", "", "Race reported"),
        (
            "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r10];",
            "",
            "Deadlock",
        ),
        ("[%r5], 1024;", "[%r5], 1040;", "Deadlock"),
        (
            "fence.mbarrier_init.release.cluster;",
            "",
            "Missing fence.mbarrier_init before an",
        ),
    ];
    for (from, to, what) in mistakes {
        let text = pipeline();
        assert!(text.contains(from), "{from}");
        for cluster in [1, 2] {
            for schedule in [0, 1, 5] {
                let report = pipelined(cluster, schedule, true, &text.replace(from, to)).report();
                assert!(
                    report.contains(what),
                    "{cluster} {schedule} {from}: {report}"
                );
            }
        }
    }
    // The stage is released before it is read.
    let read = "ld.shared.u32 %r7, [%r6-128]; add.u32 %r9, %r9, %r7;";
    let text = pipeline()
        .replace(read, "")
        .replace("KEEP:", &format!("KEEP: {read}"));
    for schedule in 0..4 {
        let report = pipelined(1, schedule, true, &text).report();
        assert!(
            report.contains("between Asynchronous Write access"),
            "{report}"
        );
    }
    // The other block exits too early.
    let text = pipeline();
    let end = text.rfind("barrier.cluster.arrive").expect("there");
    for schedule in 0..4 {
        let report = pipelined(2, schedule, true, &text[..end]).report();
        assert!(
            report.contains("Invalid access to a block that has exited")
                || report.contains("Unfinished bulk copy"),
            "{schedule}: {report}"
        );
    }
}

#[test]
fn multicast_to_blocks_that_are_not_there() {
    let text = pipeline().replace("cvt.u16.u32 %h0, %r22;", "mov.u16 %h0, 8;");
    let report = pipelined(2, 0, true, &text).report();
    assert!(
        report.contains("multicast to blocks 0b1000, but the cluster has 2"),
        "{report}"
    );
}

#[test]
fn waits_are_counted_for_each_mbarrier_on_any_number_of_cores() {
    let expected = pipelined(2, 0, false, &pipeline());
    // In four blocks, the producer waits at the two empty barriers, and two consumer warps wait at the two full
    // ones, for four tiles each.
    let seen: Vec<_> = expected.waits.iter().map(|w| (w.times, w.copied)).collect();
    assert_eq!(seen, [(16, 0), (16, 0), (32, 32), (32, 32)]);
    let bars: Vec<u32> = expected.waits.iter().filter_map(|w| w.mbarrier).collect();
    assert_eq!(
        [bars[0], bars[1], bars[3]],
        [bars[2] + 16, bars[2] + 24, bars[2] + 8]
    );
    for (instruction, waits) in expected
        .waits
        .chunk_by(|a, b| a.instruction == b.instruction)
        .map(|w| (w[0].instruction, w))
    {
        let (text, counters) = &expected.counters[instruction];
        assert!(text.contains("mbarrier.try_wait"), "{text}");
        assert_eq!(
            waits.iter().map(|w| w.times).sum::<u64>(),
            counters.executions
        );
        // A wait ends at the next turn of its warp, a little after its phase completes.
        assert!(waits.iter().map(|w| w.steps).sum::<u64>() >= counters.waited);
        assert!(waits.iter().all(|w| w.waited > 0 && w.longest <= w.steps));
    }
    // Every stage is empty at first, so the producer's first wait for it does not block.
    assert!(expected.waits[..2].iter().all(|w| w.waited <= w.times - 4));
    for cores in [1, 2, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores).build();
        let outcome = pool
            .expect("threads")
            .install(|| pipelined(2, 0, false, &pipeline()));
        assert_eq!(outcome.waits, expected.waits, "{cores} cores");
    }
    for schedule in 1..5 {
        let outcome = pipelined(2, schedule, false, &pipeline());
        let times: Vec<_> = outcome.waits.iter().map(|w| (w.times, w.copied)).collect();
        assert_eq!(times, seen, "schedule {schedule}");
    }
}
