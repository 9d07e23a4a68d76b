//! Asynchronous reductions and stores: `cp.reduce.async.bulk`, `red.async`, `st.async`.
use emulator::{Element, FindingKind, Swizzle};

use super::common::tma::run;
use super::common::{Outcome, Setup, body, lower, module};
use super::{FENCE, elements, has, kinds, setup, tensor};

/// Runs a body in blocks of 64 threads, by [`run`] with an unused tensor.
fn of_blocks(blocks: u32, cluster: u32, schedule: u64, text: &str) -> Outcome {
    let setup = Setup {
        grid: [blocks, 1, 1],
        cluster: [cluster, 1, 1],
        schedule,
        ..setup(64)
    };
    run(&setup, &tensor(&[32, 16], Swizzle::None), text).expect("a map")
}

/// Each block reduces 64 words, of which thread t stores `f(t, block)`, into the output.
fn to_global(operation: &str, value: &str) -> String {
    format!(
        "mov.u32 %r10, %ctaid.x;
        mad.lo.u32 %r1, %tid, 4, %s;
        {value}
        st.shared.u32 [%r1], %r2;
        {FENCE}
        bar.sync 0;
        @%p0 bra END;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation} [%out+4096], [%s], 256;
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        END:"
    )
}

const NUMBER: &str = "mad.lo.u32 %r2, %r10, 100, %tid;";

#[test]
fn blocks_reduce_into_the_same_memory() {
    for schedule in 0..3 {
        let words = of_blocks(4, 1, schedule, &to_global("add.u32", NUMBER)).clean();
        let expected: Vec<u32> = (0..64).map(|tid| 0xdead + 600 + 4 * tid).collect();
        assert_eq!(words[1024..1088], expected);
        let words = of_blocks(4, 1, schedule, &to_global("min.u32", NUMBER)).clean();
        assert_eq!(words[1024..1088], (0..64).collect::<Vec<u32>>());
        let words = of_blocks(
            4,
            1,
            schedule,
            &to_global("inc.u32", "mov.u32 %r2, 0xdeae;"),
        )
        .clean();
        // 0xdead + 1, after which it wraps.
        assert_eq!(words[1024], 2);
        let words = of_blocks(
            4,
            1,
            schedule,
            &to_global("xor.b32", "shl.b32 %r2, 1, %r10;"),
        )
        .clean();
        assert_eq!(words[1024], 0xdead ^ 0xf);
        // Pairs of 1.0 and 0.5 are added to -417.2 and to a subnormal number that is not flushed.
        let halves = to_global("add.noftz.f16", "mov.u32 %r2, 0x38003c00;");
        let words = of_blocks(4, 1, schedule, &halves.replace("+4096", "+8192")).clean();
        let f16 = |bits: u32| half(bits as u16);
        assert_eq!(f16(words[2048]), f16(0xdead) + 4.0);
        assert_eq!(f16(words[2048] >> 16), 2.0);
    }
}

fn half(bits: u16) -> f32 {
    let exponent = i32::from(bits >> 10 & 31);
    let magnitude = match exponent {
        0 => f32::from(bits & 0x3ff) * 2f32.powi(-24),
        e => (1.0 + f32::from(bits & 0x3ff) / 1024.0) * 2f32.powi(e - 15),
    };
    if bits >> 15 == 1 {
        -magnitude
    } else {
        magnitude
    }
}

#[test]
fn additions_of_f32_flush_subnormal_numbers() {
    // Both 0xdead and the added value are subnormal.
    let words = of_blocks(2, 1, 0, &to_global("add.f32", "mov.u32 %r2, 1;")).clean();
    assert_eq!(words[1024], 0);
}

#[test]
fn a_reduction_needs_the_fence_that_a_copy_needs() {
    let text = to_global("add.u32", NUMBER);
    let outcome = of_blocks(2, 1, 0, &text.replace(FENCE, ""));
    assert_eq!(
        kinds(&outcome)[0].0,
        "MissingProxyFence",
        "{}",
        outcome.report()
    );
    // A copy instead of the reduction races with those of other blocks.
    let copies = text
        .replace("cp.reduce.async", "cp.async")
        .replace("bulk_group.add.u32", "bulk_group");
    let outcome = of_blocks(2, 1, 0, &copies);
    assert_eq!(kinds(&outcome)[0].0, "Race", "{}", outcome.report());
    // An access of a thread races with a reduction that its block has not waited for.
    let early = text.replace(
        "cp.async.bulk.wait_group 0;",
        "ld.global.u32 %r3, [%out+4096]; st.global.u32 [%out], %r3;",
    );
    let outcome = of_blocks(1, 1, 0, &early);
    assert!(
        outcome.report().contains("Race reported between"),
        "{}",
        outcome.report()
    );
}

#[test]
fn tiles_are_reduced_by_the_type_of_the_tensor_map() {
    let text = format!(
        "mad.lo.u32 %r1, %tid, 16, %s;
        mov.u32 %r2, 0x00010001;
        st.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};
        {FENCE}
        bar.sync 0;
        @%p0 bra END;
        cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%map, {{80, 30}}], [%s];
        cp.async.bulk.commit_group;
        cp.async.bulk.wait_group 0;
        END:"
    );
    let mut tile = tensor(&[32, 16], Swizzle::None);
    tile.map.element = Element::F16;
    let written = elements(&run(&setup(64), &tile, &text).expect("a map").clean()[8192..]);
    // Such small integers are subnormal f16, and are added like integers.
    let inside = |row: usize, column: usize| row >= 30 && (80..100).contains(&column);
    let small = (0..40).flat_map(|row| (0..112).map(move |column| (row, column)));
    for (row, column) in small {
        let at = row * 112 + column;
        if at < 1023 || !inside(row, column) {
            assert_eq!(written[at], at as u16 + u16::from(inside(row, column)));
        }
    }
    let mut tile = tensor(&[32, 16], Swizzle::None);
    tile.map.element = Element::U16;
    let report = run(&setup(64), &tile, &text).expect("a map").report();
    assert!(
        report.contains("there is no .add of elements of type U16"),
        "{report}"
    );
}

/// Both blocks of a cluster send to the first one, which waits for all bytes.
fn to_block_0(send: &str, bytes: u32) -> String {
    format!(
        "mov.u32 %r10, %cluster_ctarank;
        mad.lo.u32 %r1, %tid, 4, %s;
        st.shared.u32 [%r1], %tid;
        st.shared.u32 [%r1+1024], 1000;
        @%p0 bra READY;
        mbarrier.init.shared::cta.b64 [%bar], 1;
        fence.mbarrier_init.release.cluster;
        setp.eq.u32 %p2, %r10, 0;
        @%p2 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], {bytes};
        READY: {FENCE}
        barrier.cluster.arrive; barrier.cluster.wait;
        mapa.shared::cluster.u32 %r4, %s, 0; mapa.shared::cluster.u32 %r5, %bar, 0;
        mapa.shared::cluster.u32 %r6, %r1, 0;
        {send}
        setp.ne.u32 %p3, %r10, 0;
        @%p3 bra END;
        W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;
        ld.shared.u32 %r7, [%r1+1024]; st.global.u32 [%at], %r7;
        END: barrier.cluster.arrive; barrier.cluster.wait;"
    )
}

const BULK: &str = "@!%p0 cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r4+1024], [%s], 256, [%r5];";
const RED: &str = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r6+1024], %tid, [%r5];";

#[test]
fn blocks_of_a_cluster_reduce_into_the_shared_memory_of_one() {
    let expected: Vec<u32> = (0..64).map(|tid| 1000 + 2 * tid).collect();
    for send in [BULK, RED] {
        for schedule in 0..4 {
            let words = of_blocks(2, 2, schedule, &to_block_0(send, 512)).clean();
            assert_eq!(words[..64], expected);
        }
    }
    // Only a bulk reduction of data that threads have stored needs a fence: `red.async` is not an operation of the
    // async proxy.
    let unfenced = |send| of_blocks(2, 2, 0, &to_block_0(send, 512).replace(FENCE, ""));
    assert_eq!(kinds(&unfenced(BULK))[0].0, "MissingProxyFence");
    assert_eq!(kinds(&unfenced(RED)), []);
    // Too few expected bytes: the first block continues before all have landed, or a wait never ends.
    let early = of_blocks(2, 2, 0, &to_block_0(RED, 256));
    assert!(!early.findings.is_empty());
    let late = of_blocks(2, 2, 0, &to_block_0(RED, 516));
    assert!(
        late.findings
            .iter()
            .any(|f| matches!(f.kind, FindingKind::Deadlock { .. })),
        "{}",
        late.report()
    );
}

#[test]
fn registers_are_stored_in_another_block() {
    let send = "add.u32 %r8, %tid, 5;
        @%p4 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6+1024], %r8, [%r5];";
    let only_other = format!("setp.ne.u32 %p4, %r10, 0;\n{send}");
    for schedule in 0..4 {
        let outcome = of_blocks(2, 2, schedule, &to_block_0(&only_other, 256));
        assert_eq!(outcome.of("@%p4 st.async")[0].bytes, 256);
        assert_eq!(outcome.clean()[..64], (5..69).collect::<Vec<u32>>());
    }
    // Both blocks write at once: which value is kept is undefined.
    let both = format!("setp.ne.u32 %p4, %r10, 9;\n{send}");
    let outcome = of_blocks(2, 2, 0, &to_block_0(&both, 512));
    assert!(has(&outcome, "Race", outcome.findings[0].location.ptx_line));
    // Vectors, by generic addresses.
    let vectors = "setp.eq.u32 %p4, %r10, 1; setp.lt.u32 %p5, %tid, 16; and.pred %p4, %p4, %p5;
        mad.lo.u32 %r8, %tid, 16, %r4; cvt.u64.u32 %d0, %r8; cvta.shared::cluster.u64 %d0, %d0;
        cvt.u64.u32 %d1, %r5; cvta.shared::cluster.u64 %d1, %d1;
        @%p4 st.async.weak.mbarrier::complete_tx::bytes.v4.b32 [%d0+1024], {%tid, 7, 8, 9}, [%d1];";
    let words = of_blocks(2, 2, 0, &to_block_0(vectors, 256)).clean();
    assert_eq!(words[..8], [0, 7, 8, 9, 1, 7, 8, 9]);
}

#[test]
fn what_the_isa_does_not_list_is_refused_by_name() {
    for wrong in [
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s64 [%d0], [%r1], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f16 [%d0], [%r1], 16;",
        "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.noftz.f16 [%d0], [%r1], 16;",
        "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.f32 [%r0], [%r1], 16, [%r2];",
        "cp.reduce.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.add.u32 [%r0], [%d1], 16, [%r2];",
        "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.f32 [%r0], %r1, [%r2];",
        "red.async.relaxed.gpu.global.add.u32 [%d0], %r1;",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b64 [%r0], {%d1, %d1, %d1, %d1}, [%r2];",
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.b16 [%r0], %h1, [%r2];",
        "st.async.mmio.release.sys.global.u32 [%d0], %r1;",
    ] {
        let error = lower(&module("", wrong)).expect_err(wrong).to_string();
        let named = format!("`{}`", wrong.trim_end_matches(';'));
        assert!(
            error.starts_with("PTX line 17 (kernel.cu:17): ") && error.contains(&named),
            "{error}"
        );
    }
    let elsewhere = body(
        &Setup::default(),
        "st.async.mbarrier::complete_tx::bytes.u32 [%out], %tid, [%out+8];",
    );
    assert!(
        elsewhere.report().contains("is not in shared memory"),
        "{}",
        elsewhere.report()
    );
}
