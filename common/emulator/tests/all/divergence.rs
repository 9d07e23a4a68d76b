//! Divergence and reconvergence of threads of a warp.
use crate::common;
use common::{body, body_with, threads};

fn executions(outcome: &common::Outcome, text: &str) -> Vec<u64> {
    outcome.of(text).iter().map(|c| c.executions).collect()
}

#[test]
fn if_else_reconverges_at_the_post_dominator() {
    let outcome = body(
        &threads(32),
        "setp.lt.u32 %p0, %tid, 10;
        @%p0 bra THEN;
        mov.u32 %r0, 200;
        bra.uni JOIN;
        THEN:
        mov.u32 %r0, 100;
        JOIN:
        add.u32 %r0, %r0, %tid;
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(executions(&outcome, "mov.u32 %r0"), [1, 1]);
    assert_eq!(executions(&outcome, "add.u32 %r0"), [1]);
    assert_eq!(outcome.of("mov.u32 %r0")[1].threads, 10);
    let words = outcome.clean();
    assert_eq!((words[9], words[10], words[31]), (109, 210, 231));
}

#[test]
fn nested_branches() {
    let outcome = body(
        &threads(32),
        "and.b32 %r1, %tid, 1;
        and.b32 %r2, %tid, 2;
        setp.ne.u32 %p0, %r1, 0;
        setp.ne.u32 %p1, %r2, 0;
        mov.u32 %r0, 0;
        @%p0 bra OUTER_END;
        @%p1 bra INNER_END;
        add.u32 %r0, %r0, 1;
        INNER_END:
        add.u32 %r0, %r0, 10;
        OUTER_END:
        add.u32 %r0, %r0, 100;
        st.global.u32 [%at], %r0;",
    );
    // Each of the three instructions runs once, for 8, 16 and 32 threads.
    let threads: Vec<u64> = outcome
        .of("add.u32 %r0")
        .iter()
        .map(|c| c.threads)
        .collect();
    assert_eq!(executions(&outcome, "add.u32 %r0"), [1, 1, 1]);
    assert_eq!(threads, [8, 16, 32]);
    assert_eq!(outcome.clean()[..4], [111, 100, 110, 100]);
}

#[test]
fn loops_of_different_lengths() {
    let outcome = body(
        &threads(32),
        "mov.u32 %r0, 0;
        LOOP:
        add.u32 %r0, %r0, 1;
        setp.lt.u32 %p0, %r0, %tid;
        @%p0 bra LOOP;
        st.global.u32 [%at], %r0;",
    );
    // The longest loop's 31 rounds; the store waits for all.
    assert_eq!(executions(&outcome, "add.u32 %r0"), [31]);
    assert_eq!(executions(&outcome, "st.global"), [1]);
    let words = outcome.clean();
    assert_eq!((words[0], words[1], words[17], words[31]), (1, 1, 17, 31));
}

#[test]
fn loops_in_loops_with_breaks_and_early_exit() {
    // for (i = 0; i < tid; i++) { for (j = 0; ; j++) { if (j > i) break; sum++; } if (i == 20) return; }
    let outcome = body(
        &threads(64),
        "mov.u32 %r0, 0;
        mov.u32 %r1, 0;
        setp.eq.u32 %p0, %tid, 0;
        @%p0 bra STORE;
        OUTER:
        mov.u32 %r2, 0;
        INNER:
        setp.gt.u32 %p1, %r2, %r1;
        @%p1 bra BROKEN;
        add.u32 %r0, %r0, 1;
        add.u32 %r2, %r2, 1;
        bra INNER;
        BROKEN:
        setp.eq.u32 %p2, %r1, 20;
        @%p2 ret;
        add.u32 %r1, %r1, 1;
        setp.lt.u32 %p3, %r1, %tid;
        @%p3 bra OUTER;
        STORE:
        st.global.u32 [%at], %r0;",
    );
    let words = outcome.clean();
    for tid in 0..64 {
        let expected = if tid > 20 {
            0xdead
        } else {
            tid * (tid + 1) / 2
        };
        assert_eq!(words[tid as usize], expected, "thread {tid}");
    }
}

#[test]
fn threads_that_return_early_are_not_waited_for() {
    let outcome = body(
        &threads(70),
        "setp.ge.u32 %p0, %tid, 20;
        @%p0 bra END;
        bar.sync 0;
        vote.sync.ballot.b32 %r0, %p0, 0xffffffff;
        activemask.b32 %r1;
        or.b32 %r0, %r0, %r1;
        st.global.u32 [%at], %r0;
        END:",
    );
    let words = outcome.clean();
    assert_eq!((words[0], words[19], words[20]), (0xfffff, 0xfffff, 0xdead));
}

#[test]
fn a_switch() {
    let outcome = body(
        &threads(32),
        "and.b32 %r1, %tid, 3;
        TABLE: .branchtargets ZERO, ONE, TWO, ONE;
        brx.idx %r1, TABLE;
        ZERO:
        mov.u32 %r0, 10;
        bra.uni END;
        ONE:
        mov.u32 %r0, 11;
        bra.uni END;
        TWO:
        mov.u32 %r0, 12;
        END:
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(executions(&outcome, "brx.idx"), [1]);
    assert_eq!(executions(&outcome, "mov.u32 %r0"), [1, 2, 1]);
    assert_eq!(executions(&outcome, "st.global"), [1]);
    assert_eq!(outcome.clean()[..5], [10, 11, 12, 11, 10]);
}

#[test]
fn a_lock_between_lanes_of_a_warp() {
    for declarations in [".shared .u32 lock;", ".global .u32 lock;"] {
        let space = &declarations[1..7];
        let outcome = body_with(
            &common::Setup {
                sanitize: false,
                ..threads(48)
            },
            declarations,
            &format!(
                "setp.ne.u32 %p3, %tid, 0;
                mov.u64 %d1, lock;
                @!%p3 st.{space}.u32 [%d1], 0;
                @!%p3 st.global.u32 [%out], 0;
                bar.sync 0;
                SPIN:
                atom.{space}.cas.b32 %r0, [%d1], 0, 1;
                setp.ne.u32 %p0, %r0, 0;
                @%p0 bra SPIN;
                ld.volatile.global.u32 %r1, [%out];
                add.u32 %r1, %r1, 1;
                st.volatile.global.u32 [%out], %r1;
                membar.gl;
                atom.{space}.exch.b32 %r0, [%d1], 0;"
            ),
        );
        assert_eq!(outcome.clean()[0], 48);
    }
}

#[test]
fn lanes_that_spin_leave_the_others_their_turn() {
    // Lanes 0 and 2 wait for a write of lane 1; then a warp waits for another warp.
    let outcome = body_with(
        &common::Setup {
            sanitize: false,
            ..threads(64)
        },
        ".shared .u32 flag[2];",
        "setp.eq.u32 %p1, %tid, 0;
        @%p1 st.shared.u32 [flag], 0;
        @%p1 st.shared.u32 [flag+4], 0;
        bar.sync 0;
        setp.eq.u32 %p0, %tid, 1;
        @%p0 bra WRITE;
        setp.eq.u32 %p2, %tid, 2;
        @%p2 bra SECOND;
        FIRST:
        ld.volatile.shared.u32 %r0, [flag];
        setp.eq.u32 %p3, %r0, 0;
        @%p3 bra FIRST;
        bra END;
        SECOND:
        ld.volatile.shared.u32 %r0, [flag];
        setp.eq.u32 %p3, %r0, 0;
        @%p3 bra SECOND;
        bra END;
        WRITE:
        mov.u32 %r0, 5;
        st.volatile.shared.u32 [flag], %r0;
        END:
        st.global.u32 [%at], %r0;",
    );
    assert_eq!(outcome.clean()[..64], [5; 64]);
}

#[test]
fn calls_are_inlined() {
    let declarations = ".func (.param .b32 result) square(.param .b32 x, .param .b64 p) { .reg .b32 %r<4>; .reg .b64 %d; .reg .pred %p; ld.param.u32 %r1, [x]; ld.param.u64 %d, [p]; setp.lt.u32 %p, %r1, 4; @%p bra SMALL; mul.lo.u32 %r1, %r1, %r1; SMALL: ld.global.u32 %r2, [%d]; add.u32 %r1, %r1, %r2; st.param.b32 [result+0], %r1; ret; }";
    let call = "{
        .param .b32 param0;
        st.param.b32 [param0+0], %r0;
        .param .b64 param1;
        st.param.b64 [param1+0], %at;
        .param .b32 retval0;
        call.uni (retval0), square, (param0, param1);
        ld.param.b32 %r0, [retval0+0];
        }";
    let text = format!(
        "st.global.u32 [%at], 1;\nmov.u32 %r0, %tid;\n{call}\n{call}\nst.global.u32 [%at], %r0;"
    );
    let words = body_with(&threads(32), declarations, &text).clean();
    let square = |x: u32| 1 + if x < 4 { x } else { x * x };
    for tid in 0..32 {
        assert_eq!(words[tid as usize], square(square(tid)));
    }
}
