//! When the results of a `wgmma` land, accesses to its registers and operands before that, and the warps that must
//! execute it.
use crate::warpgroup;
use warpgroup::{Outcome, Place, Warpgroup};

const FENCE: &str = "wgmma.fence.sync.aligned;\n";
const COMMIT: &str = "wgmma.commit_group.sync.aligned;\n";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;\n";

fn a() -> Place {
    Place::packed(false, 128, 64, 0)
}
fn b() -> Place {
    Place::packed(true, 128, 64, 16 << 10)
}

/// A and B all ones, D all `d`: each `wgmma` adds 16.
fn ones(n: u32, d: f32) -> Warpgroup {
    let mut group = Warpgroup::new(n);
    a().put(&mut group.window, 64, |_, _| 0x3c00);
    b().put(&mut group.window, 64, |_, _| 0x3c00);
    group.a.fill(0x3c00);
    group.d.fill(d.to_bits());
    group
}

/// The descriptors, in %l0 and %l1.
fn descriptors() -> String {
    format!(
        "add.u64 %l0, %base, {}; add.u64 %l1, %base, {};\n",
        a().descriptor(),
        b().descriptor()
    )
}

/// One `wgmma`, with accumulators from register `first` on, A from `a`.
fn mma_of(n: u32, first: u32, a: &str) -> String {
    let trans = if a.starts_with('{') { "1" } else { "0, 1" };
    format!(
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {}, {a}, %l1, %yes, 1, 1, {trans};\n",
        Warpgroup::list(first, n)
    )
}
fn mma(n: u32) -> String {
    mma_of(n, 0, "%l0")
}

fn run(sanitize: bool, n: u32, parts: &[&str]) -> Outcome {
    let group = Warpgroup {
        sanitize,
        ..ones(n, 1.0)
    };
    group.run(&(descriptors() + &parts.concat()))
}

/// The value that all elements of D have.
fn value(outcome: &Outcome) -> f32 {
    let first = outcome.d[0];
    assert!(outcome.d.iter().all(|&d| d == first), "{:x?}", outcome.d);
    f32::from_bits(first)
}

/// Checks that the only finding contains `text` and is at this line of the body.
#[track_caller]
fn only(outcome: &Outcome, line: u32, text: &str) {
    let report = outcome.report();
    assert!(report.contains(text), "{text:?} is not in {report:?}");
    assert_eq!(outcome.findings.len(), 1, "{report}");
    let at = format!("at kernel.cu:{} ", 100 + line);
    assert!(report.contains(&at), "{at:?} is not in {report:?}");
}

#[test]
fn it_lands_at_the_wait_that_covers_it() {
    for (body, expected) in [
        (vec![FENCE, &mma(8), COMMIT, WAIT], 17.0),
        (vec![FENCE, &mma(8), &mma(8), COMMIT, WAIT], 33.0),
        // Waits cover only committed groups; a `wgmma` that never lands leaves the registers unchanged.
        (vec![FENCE, &mma(8), WAIT], 1.0),
        (vec![FENCE, &mma(8), COMMIT], 1.0),
        (
            vec![
                FENCE,
                &mma(8),
                COMMIT,
                &mma(8),
                COMMIT,
                "wgmma.wait_group.sync.aligned 1;",
            ],
            17.0,
        ),
        (
            vec![
                FENCE,
                &mma(8),
                COMMIT,
                &mma(8),
                COMMIT,
                "wgmma.wait_group.sync.aligned 2;",
            ],
            1.0,
        ),
        (vec![FENCE, &mma(8), COMMIT, &mma(8), WAIT], 17.0),
        // An empty group counts as a group.
        (
            vec![
                FENCE,
                &mma(8),
                COMMIT,
                COMMIT,
                "wgmma.wait_group.sync.aligned 1;",
            ],
            17.0,
        ),
    ] {
        let outcome = run(false, 8, &body);
        assert_eq!(value(&outcome), expected, "{body:?}");
        assert!(outcome.findings.is_empty());
    }
}

#[test]
fn correct_orders_are_clean() {
    let register_a = mma_of(16, 0, "{%a0, %a1, %a2, %a3}");
    for body in [
        vec![FENCE, &mma(16), COMMIT, WAIT],
        // The same accumulators, one after the other, without a fence between.
        vec![FENCE, &mma(16), &mma(16), COMMIT, &mma(16), COMMIT, WAIT],
        vec![FENCE, &register_a, &register_a, COMMIT, WAIT],
        // Registers are accessed after the wait, and fenced again.
        vec![
            FENCE,
            &mma(16),
            COMMIT,
            WAIT,
            "add.rn.f32 %d0, %d0, %d1;\n",
            FENCE,
            &mma(16),
            COMMIT,
            WAIT,
        ],
        vec![
            FENCE,
            &register_a,
            COMMIT,
            WAIT,
            "mov.u32 %a0, 0;\n",
            FENCE,
            &register_a,
            COMMIT,
            WAIT,
        ],
        // Two halves of the accumulators, alternating.
        vec![
            FENCE,
            &mma_of(8, 0, "%l0"),
            COMMIT,
            &mma_of(8, 4, "%l0"),
            COMMIT,
            "wgmma.wait_group.sync.aligned 1;\n",
            "add.rn.f32 %d0, %d0, %d1;\n",
            WAIT,
        ],
        // Another shape over the same registers, with a fence between.
        vec![FENCE, &mma(16), COMMIT, WAIT, FENCE, &mma(8), COMMIT, WAIT],
    ] {
        run(true, 16, &body).clean();
    }
}

#[test]
fn a_fence_must_come_before_the_first() {
    let outcome = run(true, 8, &[&mma(8), COMMIT, WAIT]);
    only(
        &outcome,
        1,
        "wgmma.fence is missing: its registers were accessed",
    );
    // Registers written after the fence.
    let outcome = run(
        true,
        8,
        &[FENCE, "mov.f32 %d1, 0f00000000;\n", &mma(8), COMMIT, WAIT],
    );
    only(
        &outcome,
        3,
        "wgmma.fence is missing: its registers were accessed",
    );
    // Registers read after the last wait: they must not be overwritten before.
    let body = [
        FENCE,
        &mma(8),
        COMMIT,
        WAIT,
        "add.rn.f32 %x0, %d1, %d1;\n",
        &mma(8),
        COMMIT,
        WAIT,
    ];
    only(
        &run(true, 8, &body),
        6,
        "wgmma.fence is missing: its registers were accessed",
    );
    // A in registers.
    let by_registers = mma_of(8, 0, "{%a0, %a1, %a2, %a3}");
    let body = [FENCE, "mov.u32 %a3, 0;\n", &by_registers, COMMIT, WAIT];
    only(
        &run(true, 8, &body),
        3,
        "wgmma.fence is missing: its registers were accessed",
    );
}

#[test]
fn another_shape_over_the_same_accumulators_needs_a_fence() {
    let outcome = run(true, 16, &[FENCE, &mma(16), &mma(8), COMMIT, WAIT]);
    only(
        &outcome,
        3,
        "its accumulators were those of an m64n16k16 before",
    );
}

#[test]
fn an_accumulator_is_not_touched_before_the_wait() {
    let body = [FENCE, &mma(8), COMMIT, "add.rn.f32 %x0, %d1, %d1;\n", WAIT];
    only(
        &run(true, 8, &body),
        4,
        "this reads a register of the wgmma at kernel.cu:102 ",
    );
    let body = [FENCE, &mma(8), COMMIT, "mov.f32 %d1, 0f00000000;\n", WAIT];
    only(
        &run(true, 8, &body),
        4,
        "this writes a register of the wgmma at kernel.cu:102 ",
    );
    // It reads the stale value of D before the wait, 1, and not 17.
    let body = [
        FENCE,
        &mma(8),
        COMMIT,
        "mov.f32 %x0, %d1;\n",
        WAIT,
        "mov.f32 %d0, %x0; mov.f32 %d1, %x0; mov.f32 %d2, %x0; mov.f32 %d3, %x0;",
    ];
    assert_eq!(value(&run(false, 8, &body)), 1.0);
    // A wait for another group is not enough.
    let body = [
        FENCE,
        &mma(8),
        COMMIT,
        "wgmma.wait_group.sync.aligned 1;\n",
        "mov.f32 %d1, 0f00000000;\n",
        WAIT,
    ];
    only(&run(true, 8, &body), 5, "this writes a register");
}

#[test]
fn a_in_registers_is_not_touched_before_the_wait() {
    let by_registers = mma_of(8, 0, "{%a0, %a1, %a2, %a3}");
    let zero = "mov.u32 %a0, 0; mov.u32 %a1, 0; mov.u32 %a2, 0; mov.u32 %a3, 0;\n";
    let body = [FENCE, &by_registers, COMMIT, zero, WAIT];
    assert!(
        run(true, 8, &body)
            .report()
            .contains("this writes a register of the wgmma at kernel.cu:102 ")
    );
    // The operand is read as late as possible.
    assert_eq!(value(&run(false, 8, &body)), 1.0);
    let body = [FENCE, &by_registers, COMMIT, WAIT, zero];
    assert_eq!(value(&run(true, 8, &body)), 17.0);
}

#[test]
fn an_accumulator_is_not_used_as_a_before_the_wait() {
    let chained = mma_of(8, 4, "{%a0, %a1, %d0, %d1}").replace("%d0, %d1}, %l1", "%x0, %x1}, %l1");
    let body = [
        "mov.b32 %x0, %a0; mov.b32 %x1, %a1;\n",
        FENCE,
        &chained,
        COMMIT,
        WAIT,
    ];
    run(true, 16, &body).clean();
    let chained = mma_of(8, 4, "{%a0, %a1, %d0, %d1}");
    let body = [FENCE, &mma(8), &chained, COMMIT, WAIT];
    only(
        &run(true, 16, &body),
        3,
        "its A is in registers that the wgmma at kernel.cu:102 ",
    );
}

#[test]
fn a_wgmma_without_a_wait_is_reported() {
    only(
        &run(true, 8, &[FENCE, &mma(8), WAIT, "exit;"]),
        2,
        "wgmma.commit_group is missing",
    );
    only(
        &run(true, 8, &[FENCE, &mma(8), COMMIT, "exit;"]),
        2,
        "wgmma.wait_group is missing",
    );
}

/// Results that are never read still land, and must not overwrite other values.
#[test]
fn unused_accumulators_keep_their_registers_until_the_wait() {
    let sums: String = (0..10)
        .map(|i| format!("add.rn.f32 %x{i}, %d{}, %d{};\n", i % 4, (i + 1) % 4))
        .collect();
    let use_them: String = (0..10)
        .map(|i| format!("add.rn.f32 %d{}, %d{}, %x{i};\n", i % 4, i % 4))
        .collect();
    // %d100 and on, from the same B.
    let unused = mma_of(8, 100, "{%a0, %a1, %a2, %a3}").replace("%yes", "%no");
    let body = [FENCE, &unused, COMMIT, &sums, WAIT, &use_them];
    // Three of the ten sums of 2 each in %d0 and %d1, two in the others.
    let outcome = run(true, 8, &body);
    assert_eq!(outcome.report(), "");
    let values: Vec<f32> = outcome.d[..2].iter().map(|&d| f32::from_bits(d)).collect();
    assert_eq!(values, [7.0, 7.0]);
}

/// Zeros over the whole of B, by all threads.
const OVERWRITE: &str = "mov.u32 %r0, window; shl.b32 %r1, %tid, 4; add.u32 %r0, %r0, %r1; mov.u32 %r1, 0;\
    st.shared.v4.u32 [%r0+16384], {%r1, %r1, %r1, %r1};\n";

#[test]
fn operands_are_read_as_late_as_possible() {
    let body = [FENCE, &mma(64), COMMIT, OVERWRITE, WAIT];
    assert_eq!(value(&run(false, 64, &body)), 1.0);
    let report = run(true, 64, &body).report();
    assert!(
        report.contains("Race reported between Asynchronous Read access at kernel.cu:102"),
        "{report}"
    );
    assert!(
        report.contains("and Write access at kernel.cu:104"),
        "{report}"
    );
    let body = [FENCE, &mma(64), COMMIT, WAIT, "bar.sync 0;\n", OVERWRITE];
    let outcome = run(true, 64, &body);
    assert_eq!(value(&outcome), 17.0);
    outcome.clean();
    // A warp that has waited itself knows that the operands have been read for the whole warpgroup.
    let body = [FENCE, &mma(64), COMMIT, WAIT, OVERWRITE];
    let outcome = run(true, 64, &body);
    assert_eq!(value(&outcome), 17.0);
    outcome.clean();
}

#[test]
fn what_threads_wrote_is_fenced_and_ordered() {
    let body = descriptors() + FENCE + &mma(64) + COMMIT + WAIT;
    let with = |before| Warpgroup {
        before,
        ..ones(64, 1.0)
    };
    let report = with("bar.sync 0;").run(&body).report();
    assert!(
        report.contains("Missing fence.proxy.async before an asynchronous read at kernel.cu:102"),
        "{report}"
    );
    let report = with("bar.sync 0; fence.proxy.async.shared::cta;")
        .run(&body)
        .report();
    assert_eq!(report, "");
    let report = with("fence.proxy.async;").run(&body).report();
    assert!(
        report.contains("Race reported between Write access"),
        "{report}"
    );
    assert!(
        report.contains("and Asynchronous Read access at kernel.cu:102"),
        "{report}"
    );
    let by = "\n    by the warpgroup of warps 0 to 3 in block (0,0,0)";
    assert!(report.contains(by), "{report}");
    // The other warps of the warpgroup have waited.
    let one = "fence.proxy.async; setp.lt.u32 %p0, %tid, 96; @%p0 bar.sync 1, 128; @!%p0 bar.arrive 1, 128;";
    let report = with(one).run(&body).report();
    assert!(
        report.contains("\n    by the warpgroup of warps 0 to 3 (seen in warp 3) in block"),
        "{report}"
    );
}

#[test]
fn descriptors_that_point_nowhere_are_explained() {
    let end = Place::packed(false, 128, 64, (64 << 10) - 1024);
    for (wrong, why) in [
        (
            end.descriptor(),
            "operand A: row 8, k 0 is at 0x10400, outside the block's 65536 bytes",
        ),
        (
            a().descriptor() | 1 << 15,
            "operand A: the descriptor 0x4000004000018040 has bits in no field (0x8000)",
        ),
        (
            a().descriptor() & !(3 << 62) | 1 << 49,
            "has the base offset 1 but no swizzle",
        ),
        (
            a().descriptor() + 7,
            "operand A: the operand starts 112 bytes into a row of the 128-byte swizzle",
        ),
    ] {
        let body = format!(
            "add.u64 %l0, %base, {wrong}; add.u64 %l1, %base, {};\n{FENCE}{}{COMMIT}{WAIT}",
            b().descriptor(),
            mma(8)
        );
        let outcome = ones(8, 1.0).run(&body);
        only(&outcome, 2, why);
        assert!(outcome.report().starts_with("Invalid wgmma"));
    }
}

#[test]
fn a_warpgroup_agrees() {
    for (spoil, why) in [
        (
            "mov.b64 %l2, {%tid, %tid}; add.u64 %l0, %l0, %l2;\n",
            "the descriptor of A is not the same in all threads",
        ),
        (
            "shr.u32 %r0, %tid, 5; cvt.u64.u32 %l2, %r0; shl.b64 %l2, %l2, 1; add.u64 %l1, %l1, %l2;\n",
            "in another warp of the warpgroup",
        ),
        (
            "setp.ne.u32 %yes, %tid, 3;\n",
            "scale-d is not the same in all threads",
        ),
        (
            "setp.ge.u32 %yes, %tid, 32;\n",
            "scale-d is 0x1, but 0x0 in another warp",
        ),
        (
            "setp.eq.u32 %p0, %tid, 5; @%p0 exit;\n",
            "1 of warp 0 have exited",
        ),
    ] {
        let outcome = run(true, 8, &[spoil, FENCE, &mma(8), COMMIT, WAIT]);
        let report = outcome.report();
        assert!(
            report.starts_with("Invalid wgmma") && report.contains(why),
            "{report}"
        );
    }
}

#[test]
fn a_warpgroup_is_whole() {
    // Warp 2 takes another path: the others wait for it until it is clear that it cannot arrive.
    let skip = "shr.u32 %r0, %tid, 5; setp.eq.u32 %p0, %r0, 2; @%p0 bra OUT;\n";
    let outcome = run(true, 8, &[skip, FENCE, &mma(8), COMMIT, WAIT, "OUT:"]);
    let report = outcome.report();
    assert!(report.contains("Deadlock: no thread can go on"), "{report}");
    assert!(
        report.contains("warps 0 and 1 wait at kernel.cu:105 for the other warps of its warpgroup: warp 2 has executed 0 of 1 wgmma"),
        "{report}"
    );
    // Warp 2 executes another `wgmma`.
    let other = format!(
        "{skip}{FENCE}{}bra JOIN;\nOUT:{FENCE}{}JOIN:{COMMIT}{WAIT}",
        mma(8),
        mma(8)
    );
    let report = run(true, 8, &[&other]).report();
    assert!(
        report.contains("all warps of a warpgroup must execute the same wgmma"),
        "{report}"
    );
    // There is no warp 2.
    let mut small = ones(8, 1.0);
    small.threads = 64;
    let report = small.run(&(descriptors() + FENCE + &mma(8))).report();
    assert!(
        report.contains(
            "a warpgroup is 4 warps, 128 threads; the block's 64 threads end before warp 3"
        ),
        "{report}"
    );
}

#[test]
fn a_loop_that_never_waits_ends() {
    for (body, why) in [
        (mma(8), "more than 4096 wgmma are in flight"),
        (COMMIT.to_string(), "more than 4096 groups"),
    ] {
        let body = format!("{FENCE}LOOP:\n{body}bra LOOP;");
        let report = run(false, 8, &[&body]).report();
        assert!(report.contains(why), "{report}");
    }
}

#[test]
fn lanes_of_a_warp_reconverge() {
    let apart =
        "mov.u32 %r5, 0; setp.lt.u32 %p1, %tid, 16; @%p1 bra THERE; add.u32 %r5, %r5, 1; THERE:\n";
    let outcome = run(true, 8, &[apart, FENCE, &mma(8), COMMIT, WAIT]);
    assert_eq!(value(&outcome), 17.0);
    let missing = "setp.eq.u32 %p1, %tid, 16; @%p1 bra THERE;\n";
    let outcome = run(
        true,
        8,
        &[missing, FENCE, &mma(8), COMMIT, WAIT, "THERE:\nbar.sync 1;"],
    );
    assert!(
        outcome.report().contains("Divergent thread(s) in warp")
            || outcome.report().contains("Deadlock"),
        "{}",
        outcome.report()
    );
}

#[test]
fn accumulators_fit_in_the_registers_that_setmaxnreg_leaves() {
    let with = |registers: u32| {
        let give = format!("setmaxnreg.dec.sync.aligned.u32 {registers};\n");
        run(true, 64, &[&give, FENCE, &mma(64), COMMIT, WAIT])
    };
    assert_eq!(value(&with(32)), 17.0);
    with(32).clean();
    let outcome = with(24);
    assert_eq!(value(&outcome), 17.0, "the launch goes on");
    assert!(outcome.findings.is_empty(), "{}", outcome.report());
    let remark = &outcome.remarks[0];
    assert_eq!(remark.severity, emulator::Severity::Warning);
    let text = remark.to_string();
    let says = "take 32 registers, and the warp owns 24 a thread: ptxas ignores every setmaxnreg of the kernel. Leave this warp 40 or more";
    assert!(text.contains(says), "{text}");
}
