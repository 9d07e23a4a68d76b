//! mbarriers: phases, arrivals and tx-counts; what they order; and reports of misuse.
use crate::common;
use common::{Outcome, Setup, body_with, threads};
use emulator::{FindingKind, WaitsAt};

const BARS: &str = ".shared .align 1024 .u32 a[128]; .shared .align 8 .b64 bar[4];";
/// Thread 0 initializes `bar[0]` for `COUNT` arrivals.
const INIT: &str = "mov.u32 %r0, bar;
    mov.u32 %r1, a;
    mad.lo.u32 %r2, %tid, 4, %r1;
    setp.ne.u32 %p0, %tid, 0;
    @%p0 bra READY;
    mbarrier.init.shared::cta.b64 [%r0], COUNT;
    READY:
    bar.sync 0;";

fn run(setup: &Setup, count: u32, text: &str) -> Outcome {
    let init = INIT.replace("COUNT", &count.to_string());
    body_with(setup, BARS, &format!("{init}\n{text}"))
}

fn invalid(count: u32, text: &str) -> String {
    let outcome = run(&threads(32), count, text);
    match outcome.findings.last().map(|finding| &finding.kind) {
        Some(FindingKind::InvalidMbarrier(_, reason)) => reason.clone(),
        _ => panic!("{text}: {}", outcome.report()),
    }
}

/// Waits until the phase of this parity of `bar[0]` is complete.
fn wait(label: &str, parity: u32) -> String {
    format!(
        "{label}: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], {parity}; @!%p1 bra {label};"
    )
}

#[test]
fn arrivals_complete_phases_and_order_earlier_accesses() {
    for schedule in 0..10 {
        let setup = Setup {
            schedule,
            ..threads(128)
        };
        let outcome = run(
            &setup,
            128,
            &format!(
                "st.shared.u32 [%r2], %tid;
                mbarrier.arrive.shared::cta.b64 %d0, [%r0];
                {}
                xor.b32 %r3, %r2, 256;
                ld.shared.u32 %r4, [%r3];
                mbarrier.arrive.shared::cta.b64 _, [%r0];
                {}
                st.shared.u32 [%r2], 7;
                st.global.u32 [%at], %r4;",
                wait("ONE", 0),
                wait("TWO", 1)
            ),
        );
        let words = outcome.clean();
        assert_eq!((words[0], words[127]), (64, 63));
    }
}

#[test]
fn a_state_and_test_wait_serve_as_well() {
    let text = "mbarrier.arrive.shared.b64 %d0, [%r0];
        SPIN:
        mbarrier.test_wait.shared.b64 %p1, [%r0], %d0;
        @!%p1 bra SPIN;
        mbarrier.pending_count.b64 %r5, %d0;
        setp.eq.u32 %p2, %tid, 33;
        @!%p2 bra END;
        mbarrier.arrive.noComplete.shared.b64 %d1, [%r0], 5;
        mbarrier.arrive.shared.b64 %d2, [%r0];
        mbarrier.pending_count.b64 %r6, %d2;
        st.global.u32 [%at+2048], %r6;
        END:
        st.global.u32 [%at], %r5;";
    let words = run(&threads(64), 64, text).clean();
    // The returned states hold the counts before each arrival.
    assert_eq!((words[0], words[63]), (64, 1));
    assert_eq!(words[512 + 33], 59);
}

#[test]
fn without_the_wait_it_is_a_race() {
    for (relaxed, after) in [("", ""), (".relaxed.cta", &wait("W", 0)[..])] {
        let outcome = run(
            &threads(64),
            64,
            &format!(
                "st.shared.u32 [%r2], %tid;
                mbarrier.arrive{relaxed}.shared::cta.b64 _, [%r0];
                {after}
                xor.b32 %r3, %r2, 128;
                ld.shared.u32 %r4, [%r3];"
            ),
        );
        let race = outcome
            .findings
            .iter()
            .any(|f| matches!(f.kind, FindingKind::Race(_) | FindingKind::Uninitialized(_)));
        assert!(race, "{}", outcome.report());
    }
}

#[test]
fn one_lane_that_arrives_for_its_warp_needs_a_syncwarp() {
    for (sync, clean) in [("", false), ("bar.warp.sync 0xffffffff;", true)] {
        let outcome = run(
            &threads(64),
            1,
            &format!(
                "setp.ge.u32 %p2, %tid, 32;
                @%p2 bra OTHERS;
                st.shared.u32 [%r2], %tid;
                {sync}
                @!%p0 mbarrier.arrive.shared::cta.b64 _, [%r0];
                bra END;
                OTHERS:
                {}
                xor.b32 %r3, %r2, 128;
                ld.shared.u32 %r4, [%r3];
                END:",
                wait("W", 0)
            ),
        );
        assert_eq!(outcome.findings.is_empty(), clean, "{}", outcome.report());
    }
}

#[test]
fn one_lane_that_waits_for_its_warp_needs_a_syncwarp_too() {
    for (sync, clean) in [("", false), ("bar.warp.sync 0xffffffff;", true)] {
        let outcome = run(
            &threads(64),
            32,
            &format!(
                "setp.ge.u32 %p2, %tid, 32;
                @%p2 bra OTHERS;
                st.shared.u32 [%r2], %tid;
                mbarrier.arrive.shared::cta.b64 _, [%r0];
                bra END;
                OTHERS:
                setp.ne.u32 %p3, %tid, 32;
                @%p3 bra SKIP;
                {}
                SKIP:
                {sync}
                xor.b32 %r3, %r2, 128;
                ld.shared.u32 %r4, [%r3];
                END:",
                wait("W", 0)
            ),
        );
        assert_eq!(outcome.findings.is_empty(), clean, "{}", outcome.report());
    }
}

#[test]
fn exited_threads_are_not_waited_for() {
    let text = format!(
        "setp.lt.u32 %p2, %tid, 32;
        @%p2 mbarrier.arrive_drop.shared.b64 _, [%r0];
        @%p2 bra END;
        mbarrier.arrive.shared.b64 _, [%r0];
        {}
        mbarrier.arrive.shared.b64 _, [%r0];
        {}
        st.global.u32 [%at], 3;
        END:",
        wait("ONE", 0),
        wait("TWO", 1)
    );
    assert_eq!(run(&threads(64), 64, &text).clean()[32..64], [3; 32]);
}

#[test]
fn misuse_is_named() {
    for (text, reason) in [
        (
            "mbarrier.arrive.shared.b64 _, [%r0+8];",
            "there is no mbarrier at bar + 0x8: not initialized, or invalidated",
        ),
        (
            "@%p0 bra END; mbarrier.inval.shared.b64 [%r0]; mbarrier.arrive.shared.b64 _, [%r0]; END:",
            "there is no mbarrier at bar: not initialized, or invalidated",
        ),
        (
            "@!%p0 mbarrier.init.shared.b64 [%r0], 1;",
            "there is an mbarrier at bar (initialized at kernel.cu:22) already; mbarrier.inval ends it",
        ),
        (
            "@!%p0 mbarrier.init.shared.b64 [%r0+8], 0;",
            "a count of 0; it takes 1 to 1048575",
        ),
        (
            "@!%p0 mbarrier.arrive.shared.b64 _, [%r0], 5;",
            "the mbarrier bar (initialized at kernel.cu:22): phase overrun: 5 arrivals, but phase 0 waits for 2 more of 2",
        ),
        (
            "@!%p0 mbarrier.arrive.noComplete.shared.b64 %d0, [%r0], 2;",
            "the mbarrier bar (initialized at kernel.cu:22): 2 arrivals with .noComplete would complete phase 0",
        ),
        (
            "@!%p0 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 1048576;",
            "the mbarrier bar (initialized at kernel.cu:22): 1048576 bytes; a tx-count takes up to 1048575",
        ),
        (
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 1048575;",
            "the mbarrier bar (initialized at kernel.cu:22): a tx-count of 2097150; it must be from -1048575 to 1048575",
        ),
        (
            "mov.u32 %r5, 3; mbarrier.test_wait.parity.shared.b64 %p1, [%r0], %r5;",
            "a parity of 3; it is 0 or 1",
        ),
        (
            "@!%p0 st.shared.u32 [%r0], 1; mbarrier.test_wait.parity.shared.b64 %p1, [%r0], 0;",
            "the mbarrier bar (initialized at kernel.cu:22): it has been overwritten by something else",
        ),
    ] {
        assert_eq!(invalid(2, text), reason, "{text}");
    }
}

#[test]
fn ordinary_accesses_to_an_mbarrier() {
    let outcome = run(&threads(32), 2, "@!%p0 ld.shared.u32 %r4, [%r0+4];");
    let report = outcome.report();
    assert!(
        report.starts_with("Invalid read of an mbarrier at kernel.cu:25")
            && report.contains("initialized at kernel.cu:22"),
        "{report}"
    );
    let text = "@%p0 bra END; mbarrier.inval.shared.b64 [%r0]; st.shared.u32 [%r0], 1; ld.shared.u32 %r4, [%r0]; END:";
    run(&threads(32), 2, text).clean();
}

#[test]
fn an_unordered_initialization() {
    // Warp 1 uses the mbarrier without synchronization.
    let text = "mov.u32 %r0, bar;
        setp.eq.u32 %p0, %tid, 0;
        @%p0 mbarrier.init.shared.b64 [%r0], 64;
        mbarrier.arrive.shared.b64 _, [%r0];";
    let outcome = body_with(&threads(64), BARS, text);
    assert!(
        outcome
            .findings
            .iter()
            .any(|f| matches!(f.kind, FindingKind::Race(_))),
        "{}",
        outcome.report()
    );
}

#[test]
fn a_deadlock_names_the_phase_and_what_is_missing() {
    let setup = Setup {
        limits: emulator::Limits {
            instructions: 1 << 16,
            ..emulator::Limits::default()
        },
        ..threads(64)
    };
    for (schedule, sanitize) in [(0, true), (3, false)] {
        let setup = Setup {
            schedule,
            sanitize,
            ..setup.clone()
        };
        // A wait for the second phase, at which no thread arrives.
        let text = format!(
            "setp.lt.u32 %p2, %tid, 32;
            @%p2 bra WAIT;
            @%p2 bra END;
            mbarrier.arrive.expect_tx.shared.b64 _, [%r0], 0;
            bra END;
            WAIT:
            {}
            mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 64;
            {}
            END:",
            wait("ONE", 0),
            wait("TWO", 1)
        );
        let outcome = run(&setup, 32, &text);
        let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
            panic!("{}", outcome.report());
        };
        assert_eq!(
            waiting[0].text,
            "warp 0 waits at kernel.cu:33 for phase 1 (parity 1) of mbarrier bar (initialized at kernel.cu:22): \
             32 of 32 arrivals pending, 2048 bytes still expected"
        );
    }
}

/// A deadlock at the last of three mbarriers that one line initializes, in shared memory that is declared like this.
fn stuck(declaration: &str, offset: u32) -> String {
    let each = [0, 8, 16].map(|at| {
        let at = offset + at;
        format!("@%p2 mbarrier.init.shared.b64 [%r0+{at}], 2;")
    });
    let last = offset + 16;
    let text = format!(
        "mov.u32 %r0, bar; setp.eq.u32 %p2, %tid, 0;
        {}
        bar.sync 0;
        setp.eq.u32 %p2, %tid, 32;
        @%p2 mbarrier.arrive.shared.b64 _, [%r0+{last}];
        bar.sync 0;
        {}",
        each.concat(),
        wait("W", 0).replace("[%r0]", &format!("[%r0+{last}]"))
    );
    let setup = Setup {
        sanitize: true,
        dynamic_shared: 32,
        ..threads(64)
    };
    let outcome = body_with(&setup, declaration, &text);
    let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert_eq!(waiting[0].at, WaitsAt::Mbarrier);
    assert_eq!(waiting[0].source.as_ref().map(|at| at.line), Some(23));
    waiting[0].text.clone()
}

#[test]
fn a_deadlock_names_the_mbarrier_and_what_has_arrived() {
    let of = |name: &str| {
        format!(
            "warps 0 and 1 wait at kernel.cu:23 for phase 0 (parity 0) of mbarrier {name}: 1 of 2 arrivals pending; \
             arrived: warp 1"
        )
    };
    let array = ".shared .align 8 .b8 bar[24];";
    assert_eq!(stuck(array, 0), of("bar[2] (initialized at kernel.cu:18)"));
    // PTX does not have the members of a struct, nor the size of dynamic shared memory.
    let index = "(index 2 of the 3 initialized at kernel.cu:18)";
    let of_a_struct = stuck(".shared .align 8 .b8 bar[96];", 64);
    assert_eq!(of_a_struct, of(&format!("bar + 0x50 {index}")));
    let dynamic = stuck(".extern .shared .align 8 .b8 bar[];", 8);
    assert_eq!(dynamic, of(&format!("bar + 0x18 {index}")));
}

#[test]
fn a_wait_that_gives_up_may_do_something_else() {
    // bar[0] is never completed, and bar[1] only by this thread's own later arrival.
    let text = "mov.u32 %r0, bar;
        mbarrier.init.shared.b64 [%r0], 1;
        mbarrier.init.shared.b64 [%r0+8], 1;
        AGAIN:
        mbarrier.try_wait.parity.shared.b64 %p1, [%r0], 0, 1000;
        @%p1 bra DONE;
        mbarrier.arrive.shared.b64 _, [%r0+8];
        mbarrier.try_wait.parity.shared.b64 %p1, [%r0+8], 0;
        @!%p1 bra AGAIN;
        st.global.u32 [%at], 5;
        DONE:";
    assert_eq!(body_with(&threads(1), BARS, text).clean()[0], 5);
}

/// Counts in `%r3` how often a wait fails, and arrives itself after so many times.
fn counted(wait: &str, times: u32) -> String {
    format!(
        "mov.u32 %r3, 0;
        AGAIN:
        mbarrier.{wait}.parity.shared.b64 %p1, [%r0], 0;
        @%p1 bra DONE;
        add.u32 %r3, %r3, 1;
        setp.lt.u32 %p2, %r3, {times};
        @%p2 bra AGAIN;
        mbarrier.arrive.shared.b64 _, [%r0];
        bra AGAIN;
        DONE:
        st.global.u32 [%at], %r3;"
    )
}

#[test]
fn a_poll_that_counts_its_failures_runs_to_its_end() {
    for (wait, threads) in [("test_wait", threads(1)), ("try_wait", threads(64))] {
        for grid in [1, 3] {
            let grid = [grid, 1, 1];
            let setup = Setup {
                grid,
                ..threads.clone()
            };
            let outcome = run(&setup, setup.block[0], &counted(wait, 5000));
            assert_eq!(outcome.clean()[0], 5000, "{wait}");
        }
    }
}

#[test]
fn a_poll_without_an_end_is_a_deadlock() {
    let limits = emulator::Limits {
        instructions: 1 << 12,
        ..emulator::Limits::default()
    };
    let setup = Setup {
        limits,
        ..threads(64)
    };
    let loops = [
        "TEST @!%p1 bra W;",
        "TEST @%p1 bra DONE; TEST @!%p1 bra W; DONE:",
        "add.u32 %r3, %r3, 1; TEST @!%p1 bra W;",
        "mov.u32 %r3, %clock; TEST @!%p1 bra W;",
        // As that of `cuda::barrier`, which sleeps after a number of failures.
        "add.u32 %r3, %r3, 1; TEST selp.u32 %r4, 1, 0, %p1; setp.eq.s32 %p2, %r4, 0; @!%p2 bra DONE;
        setp.lt.u32 %p3, %r3, 16; @%p3 bra W; nanosleep.u32 %r3; bra.uni W; DONE:",
    ];
    for text in loops {
        let test = "mbarrier.test_wait.parity.shared.b64 %p1, [%r0], 0;";
        let text = format!("mov.u32 %r3, 0; W: {}", text.replace("TEST", test));
        let outcome = run(&setup, 1, &text);
        let FindingKind::Deadlock { waiting } = &outcome.findings[0].kind else {
            panic!("{text}: {}", outcome.report());
        };
        let waits = &waiting[0].text;
        assert!(
            waits.contains("for phase 0 (parity 0) of mbarrier bar"),
            "{waits}"
        );
    }
}

/// `%r3`: 16 bytes of the thread in `a`; `%d1`: 16 bytes of the output.
const COPY: &str = "mad.lo.u32 %r3, %tid, 16, %r1;
    mul.wide.u32 %d1, %tid, 16; add.u64 %d1, %d1, %out;";

#[test]
fn copies_signal_an_mbarrier_when_they_complete() {
    let copies = "cp.async.cg.shared.global [%r3], [%d1], 16;";
    let read = "xor.b32 %r3, %r3, 16; ld.shared.u32 %r4, [%r3]; st.global.u32 [%at+2048], %r4;";
    for (count, noinc) in [(32, ".noinc"), (32, "")] {
        // Without .noinc the thread must still arrive itself.
        let own = match noinc {
            "" => "mbarrier.arrive.shared.b64 _, [%r0];",
            _ => "",
        };
        let text = format!(
            "{COPY} {copies} cp.async.mbarrier.arrive{noinc}.shared.b64 [%r0]; {own} {} {read}",
            wait("W", 0)
        );
        for schedule in 0..4 {
            let setup = Setup {
                schedule,
                ..threads(32)
            };
            let words = run(&setup, count, &text).clean();
            assert_eq!(words[512..544], [0xdead; 32]);
        }
    }
    // Without the wait the data is stale, and the sanitizer reports it.
    let text = format!(
        "mov.u32 %r5, 1; st.shared.u32 [%r3], %r5; {copies} cp.async.mbarrier.arrive.noinc.shared.b64 [%r0]; \
         ld.shared.u32 %r4, [%r3]; st.global.u32 [%at+2048], %r4;"
    );
    let text = format!("{COPY} {text}");
    let stale = Setup {
        sanitize: false,
        ..threads(32)
    };
    assert_eq!(run(&stale, 32, &text).clean()[512..544], [1; 32]);
    let report = run(&threads(32), 32, &text).report();
    assert!(report.contains("Race reported"), "{report}");
}

#[test]
fn several_stages_of_copies() {
    // Three stages with one copy per stage and round; the wait leaves two groups in flight.
    let text = |pending: u32| {
        format!(
            "{COPY}
        add.u32 %r8, %r3, 512;
        cp.async.cg.shared.global [%r3], [%d1], 16; cp.async.commit_group;
        cp.async.cg.shared.global [%r8], [%d1+16], 16; cp.async.commit_group;
        cp.async.wait_group {pending}; bar.sync 0;
        ld.shared.u32 %r4, [%r3]; st.global.u32 [%at+2048], %r4;"
        )
    };
    let setup = Setup {
        sanitize: false,
        ..threads(32)
    };
    let wide = BARS.replace("a[128]", "a[256]");
    let go = |setup: &Setup, pending| {
        let init = INIT.replace("COUNT", "1");
        body_with(setup, &wide, &format!("{init}\n{}", text(pending)))
    };
    assert_eq!(go(&setup, 1).clean()[512], 0xdead);
    assert_eq!(go(&setup, 2).clean()[512], 0);
    assert!(go(&threads(32), 2).report().contains("Race reported"));
    go(&threads(32), 1).clean();
}

#[test]
fn one_lane_is_elected() {
    let text = "elect.sync %r4|%p1, 0xffffffff;
        selp.u32 %r5, 100, 0, %p1;
        add.u32 %r5, %r5, %r4;
        st.global.u32 [%at], %r5;";
    let words = run(&threads(64), 1, text).clean();
    assert_eq!((words[0], words[1], words[32], words[63]), (100, 0, 100, 0));
}
