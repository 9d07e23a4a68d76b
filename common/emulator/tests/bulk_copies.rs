//! Bulk copies: which byte comes from where, what lies outside the tensor, who is told, and what a student can
//! forget.
mod common;
use common::tma::{Tensor, matrix, run, run_map};
use common::{Outcome, Setup, threads};
use emulator::{Element, Fill, Kind, Swizzle, TensorMap};

/// Thread 0 makes `bars[0]` and sends for the tile at COORDINATES; all wait.
const LOAD: &str = "@%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], BYTES;
    cp.async.bulk.tensor.RANKd.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%s], [%map, {COORDINATES}], [%bar];
    READY: bar.sync 0;
    W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;";
/// Each thread copies words of the tile to the output.
const SHOW: &str = "mov.u32 %r0, 0;
    mad.lo.u32 %r1, %tid, 4, %s;
    NEXT: ld.shared.u32 %r2, [%r1];
    st.global.u32 [%at], %r2;
    add.u32 %r1, %r1, 128; add.u64 %at, %at, 128; add.u32 %r0, %r0, 32;
    setp.lt.u32 %p2, %r0, WORDS; @%p2 bra NEXT;";

fn load(rank: usize, coordinates: &str, bytes: u32) -> String {
    LOAD.replace("RANK", &rank.to_string())
        .replace("COORDINATES", coordinates)
        .replace("BYTES", &bytes.to_string())
}

fn show(bytes: u32) -> String {
    SHOW.replace("WORDS", &(bytes / 4).to_string())
}

/// The 16-bit elements of the output.
fn elements(words: &[u32]) -> Vec<u16> {
    words
        .iter()
        .flat_map(|&word| [word as u16, (word >> 16) as u16])
        .collect()
}

/// A tensor of 40 rows of 100 elements, 112 apart, and a tile of it.
fn tensor(tile: &'static [u32; 2], swizzle: Swizzle) -> Tensor<'static> {
    matrix(&[100, 40], &[224], tile, swizzle)
}

fn setup(x: u32) -> Setup {
    Setup {
        words: 8192,
        ..threads(x)
    }
}

#[test]
fn every_swizzle_puts_every_element_where_it_belongs() {
    // The last number is the pitch: a swizzled row has a line of the swizzle's width for itself.
    let tiles: [(&'static [u32; 2], Swizzle, u32, u32); 5] = [
        (&[64, 16], Swizzle::None, 0, 128),
        (&[64, 16], Swizzle::B128, 7, 128),
        (&[32, 16], Swizzle::B64, 3, 64),
        (&[16, 16], Swizzle::B32, 1, 32),
        (&[8, 16], Swizzle::B128, 7, 128),
    ];
    for (tile, swizzle, mask, pitch) in tiles {
        for (x, y) in [(0, 0), (16, 20), (-8, -3), (72, 30), (104, 0)] {
            let bytes = tile[0] * tile[1] * 2;
            let text = load(2, &format!("{x}, {y}"), bytes) + &show(pitch * tile[1]);
            // What lies between short rows is never written.
            let setup = Setup {
                sanitize: false,
                ..setup(32)
            };
            let outcome = run(&setup, &tensor(tile, swizzle), &text).expect("a map");
            let found = elements(&outcome.clean());
            for row in 0..tile[1] as i32 {
                for column in 0..tile[0] as i32 {
                    let (c, r) = (x + column, y + row);
                    let inside = (0..100).contains(&c) && (0..40).contains(&r);
                    let expected = if inside { (r * 112 + c) as u16 } else { 0 };
                    let at = row as u32 * pitch + column as u32 * 2;
                    // The tile starts at a multiple of 1024.
                    let at = at ^ (at >> 7 & mask) << 4;
                    assert_eq!(
                        found[at as usize / 2],
                        expected,
                        "{swizzle:?} tile {tile:?} at ({x}, {y}): row {row} column {column}"
                    );
                }
            }
        }
    }
}

#[test]
fn one_to_five_dimensions_and_steps_between_elements() {
    let dimensions: [u64; 5] = [16, 3, 5, 2, 3];
    let strides: [u64; 4] = [48, 160, 800, 1616];
    let tile: [u32; 5] = [8, 2, 3, 2, 2];
    let steps: [u32; 5] = [1, 1, 2, 1, 1];
    let start: [i64; 5] = [8, 2, 1, 1, -1];
    for rank in 1..=5 {
        let tensor = Tensor {
            map: TensorMap {
                address: 0,
                element: Element::U16,
                dimensions: &dimensions[..rank],
                strides: &strides[..rank - 1],
                tile: &tile[..rank],
                element_strides: &steps[..rank],
                swizzle: Swizzle::None,
                fill: Fill::Zeros,
            },
            elements: 4096,
        };
        let counts: Vec<u32> = (0..rank).map(|d| tile[d].div_ceil(steps[d])).collect();
        let bytes = counts.iter().product::<u32>() * 2;
        let coordinates: Vec<String> = start[..rank].iter().map(|c| c.to_string()).collect();
        let text = load(rank, &coordinates.join(", "), bytes) + &show(bytes.max(128));
        let plain = Setup {
            sanitize: false,
            ..setup(32)
        };
        let found = elements(&run(&plain, &tensor, &text).expect("a map").clean());
        for at in 0..bytes / 2 {
            let (mut left, mut address, mut inside) = (at, 0, true);
            for d in 0..rank {
                let c = start[d] + i64::from(left % counts[d] * steps[d]);
                left /= counts[d];
                inside &= (0..dimensions[d] as i64).contains(&c);
                address += c * if d == 0 { 2 } else { strides[d - 1] as i64 };
            }
            let expected = if inside { (address / 2) as u16 } else { 0 };
            assert_eq!(
                found[at as usize], expected,
                "{rank} dimensions, element {at}"
            );
        }
    }
}

/// As an H100 refuses it.
#[test]
fn a_tile_starts_at_whole_16_bytes() {
    let text = load(2, "5, 0", 512) + &show(512);
    let outcome = run(&setup(32), &tensor(&[16, 16], Swizzle::None), &text).expect("a map");
    assert_eq!(kinds(&outcome)[0].0, "InvalidBulkCopy");
    assert!(
        outcome.report().contains("10 bytes into a row"),
        "{}",
        outcome.report()
    );
}

#[test]
fn outside_may_be_nan() {
    let mut tensor = tensor(&[16, 16], Swizzle::None);
    (tensor.map.element, tensor.map.fill) = (Element::F16, Fill::Nan);
    let text = load(2, "96, 0", 512) + &show(512);
    let found = elements(&run(&setup(32), &tensor, &text).expect("a map").clean());
    assert_eq!(found[..5], [96, 97, 98, 99, 0x7fff]);
}

/// All threads fill the tile with their numbers, thread 0 sends it to COORDINATES.
fn store(fence: &str, wait: &str) -> String {
    format!(
        "mad.lo.u32 %r1, %tid, 16, %s;
        st.shared.v4.u32 [%r1], {{%tid, %tid, %tid, %tid}};
        {fence}
        bar.sync 0;
        @%p0 bra END;
        cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {{80, 30}}], [%s];
        cp.async.bulk.commit_group;
        {wait}
        END:"
    )
}
const FENCE: &str = "fence.proxy.async.shared::cta;";
const READ: &str = "cp.async.bulk.wait_group.read 0;";

#[test]
fn a_store_undoes_the_swizzle_and_drops_what_lies_outside() {
    for (swizzle, mask) in [(Swizzle::None, 0), (Swizzle::B64, 3)] {
        let tensor = tensor(&[32, 16], swizzle);
        for schedule in 0..4 {
            let setup = Setup {
                schedule,
                ..setup(64)
            };
            let outcome = run(&setup, &tensor, &store(FENCE, READ)).expect("a map");
            let written = elements(&outcome.clean()[8192..]);
            for row in 0..40 {
                for column in 0..112 {
                    let at = row * 112 + column;
                    let inside = row >= 30 && (80..100).contains(&column);
                    let byte = (row.max(30) - 30) * 64 + (column.max(80) - 80) * 2;
                    let byte = byte ^ (byte >> 7 & mask) << 4;
                    let thread = (byte / 16) as u16;
                    let expected = match (inside, column % 2) {
                        (true, 0) => thread,
                        (true, _) => 0,
                        _ => at as u16,
                    };
                    assert_eq!(written[at], expected, "({row}, {column})");
                }
            }
        }
    }
}

/// The findings' kinds, each with its line.
fn kinds(outcome: &Outcome) -> Vec<(String, u32)> {
    let name = |kind: &Kind| {
        let text = format!("{kind:?}");
        text.split([' ', '{'])
            .next()
            .unwrap_or_default()
            .to_string()
    };
    outcome
        .findings
        .iter()
        .map(|f| (name(&f.kind), f.place.ptx_line))
        .collect()
}

/// Whether a finding of this kind has a side at this line.
fn has(outcome: &Outcome, kind: &str, line: u32) -> bool {
    outcome
        .findings
        .iter()
        .zip(kinds(outcome))
        .any(|(f, (name, at))| {
            let other = match &f.kind {
                Kind::Race { other, .. } => other.ptx_line,
                _ => at,
            };
            name == kind && (at == line || other == line)
        })
}

#[test]
fn a_forgotten_proxy_fence() {
    let tensor = tensor(&[32, 16], Swizzle::B64);
    for schedule in 0..4 {
        let setup = Setup {
            schedule,
            ..setup(64)
        };
        let outcome = run(&setup, &tensor, &store("", READ)).expect("a map");
        assert_eq!(kinds(&outcome), [("MissingProxyFence".to_string(), 28)]);
        assert!(
            outcome.report().starts_with(
                "Missing fence.proxy.async before an asynchronous read at kernel.cu:28"
            ),
            "{}",
            outcome.report()
        );
        // Thread 0's fence alone shows only what thread 0 wrote.
        let alone = format!("@!%p0 {FENCE}");
        let outcome = run(&setup, &tensor, &store(&alone, READ)).expect("a map");
        assert_eq!(kinds(&outcome), [("MissingProxyFence".to_string(), 28)]);
        // After the barrier it shows everybody's.
        let text = store("", READ).replace("@%p0 bra END;", &format!("@%p0 bra END; {FENCE}"));
        run(&setup, &tensor, &text).expect("a map").clean();
    }
}

#[test]
fn a_source_that_is_overwritten_before_it_was_read() {
    let tensor = tensor(&[32, 16], Swizzle::B64);
    let again = "END: bar.sync 0; st.shared.u32 [%r1], 9;";
    let late = store(FENCE, "").replace("END:", &format!("{again} @!%p0 {READ}"));
    let in_time = store(FENCE, READ).replace("END:", again);
    let off_by_one = store(FENCE, "cp.async.bulk.wait_group.read 1;").replace("END:", again);
    for schedule in 0..4 {
        let setup = Setup {
            schedule,
            ..setup(64)
        };
        run(&setup, &tensor, &in_time).expect("a map").clean();
        let line = 31;
        for text in [&late, &off_by_one] {
            let outcome = run(&setup, &tensor, text).expect("a map");
            let race = outcome.findings.iter().any(|f| {
                matches!(&f.kind, Kind::Race { other, .. } if f.place.ptx_line.max(other.ptx_line) == line)
            });
            assert!(race, "{:?} {}", kinds(&outcome), outcome.report());
        }
        // The data show it too.
        let plain = Setup {
            sanitize: false,
            ..setup.clone()
        };
        let words = run(&plain, &tensor, &late).expect("a map").words;
        assert_eq!(elements(&words[8192..])[30 * 112 + 80], 9);
    }
}

#[test]
fn leaving_before_a_store_has_read_its_source() {
    let outcome = run(
        &setup(64),
        &tensor(&[32, 16], Swizzle::None),
        &store(FENCE, ""),
    )
    .expect("");
    assert!(has(&outcome, "UnfinishedCopy", 28), "{}", outcome.report());
}

#[test]
fn what_a_student_can_forget_of_a_load() {
    let tile = tensor(&[32, 16], Swizzle::None);
    let good = load(2, "0, 0", 1024) + &show(1024);
    let go = |text: &str, sanitize: bool| {
        let setup = Setup {
            sanitize,
            limits: emulator::Limits {
                instructions: 1 << 18,
                ..emulator::Limits::default()
            },
            ..setup(32)
        };
        run(&setup, &tile, text).expect("a map")
    };
    assert!(go(&good, true).findings.is_empty());
    // The wait: old bytes, and a race with the copy.
    let wait = "W: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%bar], 0; @!%p1 bra W;";
    let no_wait = good.replace(wait, "");
    assert_eq!(go(&no_wait, false).words[..16], [0; 16]);
    assert!(
        has(&go(&no_wait, true), "Race", 27),
        "{}",
        go(&no_wait, true).report()
    );
    // The wrong parity, which is that of the phase before.
    let parity = good.replace("[%bar], 0; @!", "[%bar], 1; @!");
    assert!(
        has(&go(&parity, true), "Race", 27),
        "{}",
        go(&parity, true).report()
    );
    // expect_tx: the phase completes at once, and the next one never.
    let expect = good.replace(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%bar], 1024;",
        "mbarrier.arrive.shared::cta.b64 _, [%bar];",
    );
    assert!(
        has(&go(&expect, true), "Race", 27),
        "{}",
        go(&expect, true).report()
    );
    let again = expect.replace(
        wait,
        &wait
            .replace("W", "A")
            .replace("[%bar], 0", "[%bar], 1")
            .replace("A:", &format!("{wait} A:")),
    );
    let outcome = go(&again, false);
    assert!(
        outcome.report().contains(
            "phase 1 (parity 1): 1 of 1 arrivals pending, 1024 bytes more than were expected have come"
        ),
        "{}",
        outcome.report()
    );
    // The wrong number of bytes.
    for (bytes, what) in [
        (1040, "0 of 1 arrivals pending, 16 bytes still to come"),
        (
            1008,
            "0 of 1 arrivals pending, 16 bytes more than were expected have come",
        ),
    ] {
        let wrong = good.replace("[%bar], 1024;", &format!("[%bar], {bytes};"));
        let report = go(&wrong, true).report();
        assert!(
            report.contains("Deadlock") && report.contains(what),
            "{report}"
        );
    }
    // The fence after mbarrier.init.
    let fence = good.replace("fence.mbarrier_init.release.cluster;", "");
    assert!(
        has(&go(&fence, true), "MissingProxyFence", 27),
        "{}",
        go(&fence, true).report()
    );
    let proxy = good.replace("fence.mbarrier_init.release.cluster;", FENCE);
    assert!(go(&proxy, true).findings.is_empty());
    // mbarrier.init itself.
    let init = good.replace("mbarrier.init.shared::cta.b64 [%bar], 1;", "");
    assert!(has(&go(&init, true), "InvalidMbarrier", 26));
}

#[test]
fn what_no_hardware_executes() {
    let tile = tensor(&[32, 16], Swizzle::None);
    let good = load(2, "0, 0", 1024);
    let says = |text: &str, what: &str| {
        let outcome = run(&setup(32), &tile, text).expect("a map");
        assert!(outcome.report().contains(what), "{}", outcome.report());
        assert!(outcome.findings.iter().any(|f| f.is_fatal()));
    };
    says(
        &good.replace("[%s], [%map", "[%s+64], [%map"),
        "the shared address 0x440 is no multiple of 128 bytes",
    );
    says(
        &good.replace("[%s], [%map", "[%s+32128], [%map"),
        "Invalid __shared__ write of size 16 bytes",
    );
    says(&good.replace("[%map, {", "[%map+64, {"), "out of bounds");
    says(
        &good.replace("2d.", "1d.").replace("{0, 0}", "{0}"),
        "1 coordinates for a tensor of 2 dimensions",
    );
    says(
        &good.replace("{0, 0}], [%bar]", "{0, 0}], [%bar+4]"),
        "is misaligned",
    );
    let outcome = run_map(&setup(32), &tile, &good, |map| map[40] ^= 1).expect("a map");
    assert!(
        outcome
            .report()
            .contains("there is no tensor map at 0x730000000000"),
        "{}",
        outcome.report()
    );
    // A map that promises more memory than there is.
    let mut large = tile.clone();
    large.map.dimensions = &[100, 80];
    let outcome = run(&setup(32), &large, &load(2, "0, 40", 1024)).expect("a map");
    assert!(
        outcome
            .report()
            .starts_with("Invalid __global__ asynchronous read of size 64 bytes"),
        "{}",
        outcome.report()
    );
}

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
            "is no multiple of 16 bytes",
        ),
    ] {
        let report = run(&setup(64), &tile, &text.replace(from, to))
            .expect("")
            .report();
        assert!(report.contains(what), "{report}");
    }
    // `wait_group.read` says nothing of what has been written.
    let early = text.replace("wait_group 0;", "wait_group.read 0;");
    let words = run(&setup(64), &tile, &early).expect("a map").clean();
    assert_eq!((words[0], words[1025]), (0xdead, 0xdead + 1));
}

#[test]
fn a_tile_s_traffic() {
    // Rows of 64 bytes at multiples of 224: at 0 and at 224, 448 … each within two or three sectors.
    let text = load(2, "0, 0", 1024) + &show(1024);
    let outcome = run(&setup(32), &tensor(&[32, 16], Swizzle::None), &text).expect("a map");
    let copy = outcome.of("cp.async.bulk.tensor")[0];
    assert_eq!((copy.executions, copy.threads, copy.bytes), (1, 1, 1024));
    assert_eq!((copy.global_sectors, copy.global_sectors_ideal), (32, 32));
    assert_eq!((copy.global_requests, copy.shared.wavefronts), (0, 0));
}

/// A pipeline of two stages: warp 0 brings 8 tiles, warps 1 and 2 add them up. `full` are `bars[0..2]`, `empty`
/// `bars[2..4]`. A block of a cluster brings half of each tile for both.
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
    // Word w of a tile: row w / 16, columns 2 (w % 16) and the next; tile t starts at row 2 t.
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
    // Each warp of the consumers waits once for each tile, and the producers for each stage; a wait that has to
    // look twice is still one execution.
    let outcome = pipelined(2, 0, true, &pipeline());
    let waits = outcome.of("mbarrier.try_wait");
    let executions: Vec<u64> = waits.iter().map(|wait| wait.executions).collect();
    assert_eq!(executions, [4 * 8, 4 * 2 * 8]);
    assert!(waits.iter().all(|wait| wait.waited > 0), "{waits:?}");
    let mistakes = [
        // The stage is used again before it is released: the producer does not wait.
        (
            "E: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r5+16], %r4; @!%p2 bra E;",
            "",
            "1 arrivals, but phase 0 waits for 0 more of 1",
        ),
        // Its parity is that of the consumers.
        ("[%r5+16], %r4", "[%r5+16], %r3", "Deadlock"),
        // The consumers' parity is that of the producer.
        ("[%r5], %r3", "[%r5], %r4", "Race reported"),
        // A stage off by one.
        (
            "mad.lo.u32 %r6, %r2, 1024, %s; mad.lo.u32 %r6, %tid",
            "xor.b32 %r6, %r2, 1; mad.lo.u32 %r6, %r6, 1024, %s; mad.lo.u32 %r6, %tid",
            "Race reported",
        ),
        // The consumers' lanes have not all read when one lane lets the stage go.
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
            "Missing fence.proxy.async",
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
    // The stage is let go before it is read.
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
    // The other block leaves too early.
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
        assert!(
            report.contains("but its mbarrier lies in block"),
            "{report}"
        );
    }
}

#[test]
fn copies_that_are_issued_earlier_are_further_ahead() {
    let [early, late] = ["add.u32 %r9, %r9, 1;".repeat(50), String::new()].map(|between| {
        let text = load(2, "0, 0", 2048).replace("W:", &format!("{between} W:"));
        let outcome = run(&setup(32), &tensor(&[64, 16], Swizzle::None), &text).expect("a map");
        let [wait] = outcome.waits[..] else {
            panic!("{:?}", outcome.waits)
        };
        assert_eq!((wait.times, wait.waited, wait.copied), (1, 1, 1));
        assert_eq!(wait.steps, wait.longest);
        wait
    });
    // However early it is issued, it lands late.
    assert_eq!(early.steps, late.steps);
    assert_eq!(early.ahead, late.ahead + 50);
}

#[test]
fn waits_are_counted_for_each_mbarrier_on_any_number_of_cores() {
    let expected = pipelined(2, 0, false, &pipeline());
    // Four blocks: the two empty barriers by the producer, the two full ones by two warps of consumers, four tiles
    // each.
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
        // A wait ends when its warp has its turn, a little after what it waited for.
        assert!(waits.iter().map(|w| w.steps).sum::<u64>() >= counters.waited);
        assert!(waits.iter().all(|w| w.waited > 0 && w.longest <= w.steps));
    }
    // Every stage is free at first: a producer's first wait for it is none.
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
