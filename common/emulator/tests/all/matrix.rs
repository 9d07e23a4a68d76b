//! Matrix instructions and asynchronous copies: fragment layouts, and when a copy lands.
use crate::common;
use common::{Setup, body_with as run, threads};

/// Shared memory holds its own 16-bit index: element i of `tile` is i. 64 words for each of 32 lanes.
const FILL: &str = "shl.b32 %r20, %tid, 1; shl.b32 %r21, %tid, 4; add.u32 %r22, %r21, 1; \
    mov.u32 %r23, tile; shl.b32 %r24, %tid, 5; add.u32 %r23, %r23, %r24; \
    mov.u32 %r25, 0; \
    LOOP: shl.b32 %r26, %r22, 16; or.b32 %r26, %r26, %r21; st.shared.u32 [%r23], %r26; \
    add.u32 %r21, %r21, 2; add.u32 %r22, %r22, 2; add.u32 %r23, %r23, 4; add.u32 %r25, %r25, 1; \
    setp.lt.u32 %p0, %r25, 8; @%p0 bra LOOP; bar.sync 0; ";
const TILE: &str = ".shared .align 16 .b8 tile[1024];";

/// A row of 8 elements is 16 bytes: lane l names row l.
const ROW: &str = "shl.b32 %r1, %tid, 4; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; ";

fn store(registers: usize) -> String {
    let store = |i: usize| format!("st.global.u32 [%at+{}], %r{};", 128 * i, 10 + i);
    (0..registers).map(store).collect()
}

fn pair(low: u32, high: u32) -> u32 {
    low | high << 16
}

#[test]
fn ldmatrix_gives_each_lane_two_neighbors_of_a_row() {
    for (x, registers) in [
        ("x1", "{%r10}"),
        ("x2", "{%r10, %r11}"),
        ("x4", "{%r10, %r11, %r12, %r13}"),
    ] {
        let count = x[1..].parse::<usize>().expect("a digit");
        let body = format!(
            "{FILL}{ROW}ldmatrix.sync.aligned.m8n8.{x}.shared.b16 {registers}, [%r1];{}",
            store(count)
        );
        let words = run(&threads(32), TILE, &body).clean();
        for m in 0..count as u32 {
            for lane in 0..32 {
                let first = 64 * m + lane / 4 * 8 + lane % 4 * 2;
                assert_eq!(
                    words[(32 * m + lane) as usize],
                    pair(first, first + 1),
                    "{x}, matrix {m}, lane {lane}"
                );
            }
        }
    }
}

#[test]
fn trans_gives_each_lane_two_neighbors_of_a_column() {
    let body = format!(
        "{FILL}{ROW}ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r1];{}",
        store(4)
    );
    let words = run(&threads(32), TILE, &body).clean();
    for m in 0..4 {
        for lane in 0..32 {
            let first = 64 * m + lane % 4 * 2 * 8 + lane / 4;
            assert_eq!(words[(32 * m + lane) as usize], pair(first, first + 8));
        }
    }
}

#[test]
fn stmatrix_undoes_ldmatrix() {
    for trans in ["", ".trans"] {
        let body = format!(
            "{FILL}{ROW}ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r1]; bar.sync 0; \
             xor.b32 %r3, %r1, 112; \
             stmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 [%r3], {{%r10, %r11, %r12, %r13}}; bar.sync 0; \
             ld.shared.u32 %r10, [%r3]; {}",
            store(1)
        );
        let words = run(&threads(32), TILE, &body).clean();
        // Row l was stored to row l ^ 7, which lane l reads: it must find its own first element.
        for lane in 0..32u32 {
            assert_eq!(
                words[lane as usize],
                pair(8 * lane, 8 * lane + 1),
                "{trans} {lane}"
            );
        }
    }
}

#[test]
fn ldmatrix_counts_a_group_for_each_matrix() {
    let body = format!(
        "{FILL}{ROW}ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r1];"
    );
    let outcome = run(&threads(32), TILE, &body);
    let shared = outcome.of("ldmatrix")[0].shared;
    assert_eq!(
        (shared.wavefronts, shared.ideal, shared.conflicts),
        (4, 4, 0)
    );
}

#[test]
fn mma_multiplies() {
    // A row g is all g + 1, B column n all n + 1 (as f16), C is 1: D[g][n] = 1 + 16 (g + 1) (n + 1).
    let body = "shr.u32 %r1, %tid, 2; add.u32 %r1, %r1, 1; cvt.rn.f32.u32 %f1, %r1; cvt.rn.f16x2.f32 %r2, %f1, %f1; \
        add.u32 %r3, %r1, 8; cvt.rn.f32.u32 %f2, %r3; cvt.rn.f16x2.f32 %r4, %f2, %f2; mov.f32 %f3, 0f3F800000; \
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r2, %r4, %r2, %r4}, {%r2, %r2}, {%f3, %f3, %f3, %f3}; \
        mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f8, %f9, %f10, %f11}, {%r2, %r4}, {%r2}, {%f3, %f3, %f3, %f3}; \
        st.global.f32 [%at], %f4; st.global.f32 [%at+128], %f5; st.global.f32 [%at+256], %f6; st.global.f32 [%at+384], %f7; \
        st.global.f32 [%at+512], %f8; st.global.f32 [%at+640], %f11;";
    let words = run(&threads(32), "", body).clean();
    let float = |i: u32| f32::from_bits(words[i as usize]);
    for lane in 0..32u32 {
        let (g, t) = (lane / 4, lane % 4 * 2);
        let d = |k: u32, row: u32, column: u32| (1 + k * (row + 1) * (column + 1)) as f32;
        assert_eq!(float(lane), d(16, g, t));
        assert_eq!(float(32 + lane), d(16, g, t + 1));
        assert_eq!(float(64 + lane), d(16, g + 8, t));
        assert_eq!(float(96 + lane), d(16, g + 8, t + 1));
        assert_eq!(float(128 + lane), d(8, g, t));
        assert_eq!(float(160 + lane), d(8, g + 8, t + 1));
    }
}

#[test]
fn a_diverged_warp_reconverges_at_a_matrix_instruction() {
    // Half of the warp takes a detour; the instruction runs once, for all lanes.
    let body = format!(
        "{FILL}{ROW}mov.u32 %r5, 0; setp.lt.u32 %p1, %tid, 16; @%p1 bra THERE; add.u32 %r5, %r5, 1; THERE: \
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r1]; {}",
        store(1)
    );
    let outcome = run(&threads(32), TILE, &body);
    assert_eq!(outcome.of("ldmatrix")[0].executions, 1);
}

const COPY: &str = "shl.b32 %r1, %tid, 4; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; mul.wide.u32 %d1, %tid, 16; \
    add.u64 %d1, %d1, %out; ";

fn unsanitized() -> Setup {
    Setup {
        sanitize: false,
        ..threads(32)
    }
}

#[test]
fn a_copy_lands_when_its_thread_waits_and_not_before() {
    let copy = "cp.async.cg.shared.global [%r1], [%d1], 16;";
    let look = "ld.shared.u32 %r10, [%r1]; st.global.u32 [%at+2048], %r10;";
    let cases = [
        (format!("{copy} {look}"), 7),
        (format!("{copy} cp.async.wait_all; {look}"), 0xdead),
        (format!("{copy} cp.async.commit_group; {look}"), 7),
        (
            format!("{copy} cp.async.commit_group; cp.async.wait_group 0; {look}"),
            0xdead,
        ),
        (
            format!("{copy} cp.async.commit_group; cp.async.wait_group 1; {look}"),
            7,
        ),
        (
            format!(
                "{copy} cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1; {look}"
            ),
            0xdead,
        ),
        // wait_group waits only for committed groups.
        (format!("{copy} cp.async.wait_group 0; {look}"), 7),
    ];
    for (body, expected) in cases {
        let body = format!("{COPY} mov.u32 %r3, 7; st.shared.u32 [%r1], %r3; {body}");
        let words = run(&unsanitized(), TILE, &body).clean();
        assert_eq!(words[512..544], [expected; 32], "{body}");
    }
}

#[test]
fn bytes_beyond_the_source_size_are_zero() {
    let body = format!(
        "{COPY} mov.u32 %r3, 4; cp.async.ca.shared.global [%r1], [%d1], 16, %r3; cp.async.wait_all; \
         ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r1]; st.global.u32 [%at+2048], %r10; st.global.u32 [%at+2176], %r11;"
    );
    let words = run(&threads(32), TILE, &body).clean();
    assert_eq!((words[512], words[544]), (0xdead, 0));
}

#[test]
fn accessing_a_copy_in_flight_is_a_race() {
    let copy = "cp.async.cg.shared.global [%r1], [%d1], 16;";
    for (body, clean) in [
        (format!("{COPY}{copy} ld.shared.u32 %r10, [%r1];"), false),
        (
            format!("{COPY}{copy} bar.sync 0; ld.shared.u32 %r10, [%r1];"),
            false,
        ),
        (format!("{COPY}{copy} st.shared.u32 [%r1], %tid;"), false),
        (
            format!("{COPY}{copy} cp.async.wait_all; ld.shared.u32 %r10, [%r1];"),
            true,
        ),
        (
            format!(
                "{COPY}{copy} cp.async.wait_all; xor.b32 %r1, %r1, 16; ld.shared.u32 %r10, [%r1];"
            ),
            false,
        ),
        (
            format!(
                "{COPY}{copy} cp.async.wait_all; bar.sync 0; xor.b32 %r1, %r1, 16; ld.shared.u32 %r10, [%r1];"
            ),
            true,
        ),
    ] {
        let report = run(&threads(32), TILE, &body).report();
        assert_eq!(
            report.contains("Race reported between"),
            !clean,
            "{body}: {report}"
        );
    }
}

#[test]
fn matrix_addresses_are_checked() {
    let misaligned = format!(
        "{FILL}{ROW}add.u32 %r1, %r1, 8; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r10}}, [%r1];"
    );
    assert!(
        run(&threads(32), TILE, &misaligned)
            .report()
            .contains("is misaligned")
    );
    let outside = format!(
        "{FILL}{ROW}add.u32 %r1, %r1, 1024; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%r10, %r11, %r12, %r13}}, [%r1];"
    );
    assert!(
        run(&threads(32), TILE, &outside)
            .report()
            .contains("Invalid __shared__ read of size 16 bytes")
    );
}

#[test]
fn a_wait_for_copies_counts_the_steps_since_they_were_issued() {
    let ahead = |between: usize| {
        let text = format!(
            "{COPY} cp.async.cg.shared.global [%r1], [%d1], 16; {} cp.async.wait_all; cp.async.wait_all;",
            "add.u32 %r9, %r9, 1;".repeat(between)
        );
        let outcome = run(&threads(32), TILE, &text);
        // The second wait has nothing to wait for.
        let [wait] = outcome.waits[..] else {
            panic!("{:?}", outcome.waits)
        };
        assert_eq!(
            (wait.mbarrier, wait.times, wait.copied, wait.waited),
            (None, 1, 1, 0)
        );
        wait.ahead
    };
    assert_eq!(ahead(30), ahead(0) + 30);
}

#[test]
fn a_wait_for_copies_counts_the_products_since_the_last_of_them() {
    let mma = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r11, %r12, %r13}, {%r14, %r15}, {%f0, %f1, %f2, %f3};";
    let copy = "cp.async.cg.shared.global [%r1], [%d1], 16; cp.async.commit_group;";
    let text = format!(
        "{COPY} {copy} {} {copy} {} cp.async.wait_group 1; {} cp.async.wait_all;",
        mma.repeat(3),
        mma.repeat(5),
        mma.repeat(2)
    );
    let outcome = run(&threads(64), TILE, &text);
    let products: Vec<_> = outcome
        .waits
        .iter()
        .map(|wait| (wait.copied, wait.bytes, wait.products))
        .collect();
    // Two warps of 32 lanes: 3 + 5 products after the first copy, 5 + 2 after the second.
    let bytes = 2 * 32 * 16;
    assert_eq!(products, [(2, bytes, 8 * bytes), (2, bytes, 7 * bytes)]);
}
