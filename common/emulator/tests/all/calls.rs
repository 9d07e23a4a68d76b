//! Calls that are not inlined: recursion and indirect calls.
use emulator::{FindingKind, Limits};

use crate::common::{Setup, body_with, lower, module, threads};

/// Fibonacci numbers by recursion.
const FIB: &str = ".func (.param .b32 r) fib(.param .b32 n) { .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.lt.u32 %p, %a0, 2; mov.u32 %a5, %a0; @%p bra DONE; \
    { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), fib, (x); ld.param.b32 %a2, [y]; } \
    { .param .b32 x; .param .b32 y; sub.u32 %a3, %a0, 2; st.param.b32 [x], %a3; call.uni (y), fib, (x); ld.param.b32 %a4, [y]; } \
    add.u32 %a5, %a2, %a4; DONE: st.param.b32 [r], %a5; ret; }";

const CALL_FIB: &str = "{ .param .b32 x; .param .b32 y; rem.u32 %r0, %tid, 11;
    st.param.b32 [x], %r0; call.uni (y), fib, (x); ld.param.b32 %r1, [y]; }
    add.u32 %r1, %r1, %tid; st.global.u32 [%at], %r1;";

fn fib(n: u32) -> u32 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

#[test]
fn recursion_depth_may_differ_between_threads() {
    for schedule in [0, 5] {
        let setup = Setup {
            schedule,
            ..threads(64)
        };
        let words = body_with(&setup, FIB, CALL_FIB).clean();
        let expected: Vec<u32> = (0..64).map(|tid| fib(tid % 11) + tid).collect();
        assert_eq!(words[..64], expected);
    }
}

#[test]
fn threads_reconverge_after_a_call() {
    let outcome = body_with(&threads(32), FIB, CALL_FIB);
    assert_eq!(outcome.of("st.global.u32 [%at]")[0].executions, 1);
    // Each call returns, independent of divergence in between.
    let counts: Vec<u64> = outcome.of("call.uni").iter().map(|c| c.threads).collect();
    assert_eq!(counts[0], 32);
    assert_eq!(counts[1], counts[2]);
}

#[test]
fn two_functions_call_each_other() {
    let declarations = ".func (.param .b32 r) odd(.param .b32 n); \
        .func (.param .b32 r) even(.param .b32 n) { .reg .pred %p; .reg .b32 %a<4>; ld.param.b32 %a0, [n]; mov.u32 %a1, 1; setp.eq.u32 %p, %a0, 0; @%p bra DONE; \
        { .param .b32 x; .param .b32 y; sub.u32 %a2, %a0, 1; st.param.b32 [x], %a2; call.uni (y), odd, (x); ld.param.b32 %a1, [y]; } DONE: st.param.b32 [r], %a1; ret; } \
        .func (.param .b32 r) odd(.param .b32 n) { .reg .pred %p; .reg .b32 %a<4>; ld.param.b32 %a0, [n]; mov.u32 %a1, 0; setp.eq.u32 %p, %a0, 0; @%p bra DONE; \
        { .param .b32 x; .param .b32 y; sub.u32 %a2, %a0, 1; st.param.b32 [x], %a2; call.uni (y), even, (x); ld.param.b32 %a1, [y]; } DONE: st.param.b32 [r], %a1; ret; }";
    let body = CALL_FIB
        .replace("fib", "even")
        .replace("add.u32 %r1, %r1, %tid;", "");
    let words = body_with(&threads(32), declarations, &body).clean();
    let expected: Vec<u32> = (0..32).map(|tid| u32::from(tid % 11 % 2 == 0)).collect();
    assert_eq!(words[..32], expected);
}

/// Three functions, whose addresses are in a table in global memory; the last one has a variable in its frame and calls
/// another function, which is inlined.
const TABLE: &str = ".func (.param .b32 r) twice(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; } \
    .func (.param .b32 r) square(.param .b32 n) { .reg .b32 %a; ld.param.b32 %a, [n]; mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret; } \
    .func (.param .b32 r) third(.param .b32 n) { .local .align 8 .b8 room[16]; .reg .b32 %a<3>; .reg .b64 %b<3>; ld.param.b32 %a0, [n]; mov.u64 %b0, room; cvta.local.u64 %b1, %b0; st.u32 [%b1+4], %a0; \
      { .param .b32 x; .param .b32 y; st.param.b32 [x], %a0; call.uni (y), twice, (x); ld.param.b32 %a1, [y]; } ld.local.u32 %a2, [room+4]; add.u32 %a1, %a1, %a2; st.param.b32 [r], %a1; ret; } \
    .global .u64 table[3] = {twice, square, third};";

const CALL_TABLE: &str = "rem.u32 %r0, %tid, 3; mul.wide.u32 %d0, %r0, 8; mov.u64 %d1, table; add.u64 %d1, %d1, %d0; ld.global.u64 %d2, [%d1];
    { .param .b32 x; .param .b32 y; st.param.b32 [x], %tid; kind: .callprototype (.param .b32 _) _ (.param .b32 _); call (y), %d2, (x), kind; ld.param.b32 %r1, [y]; }
    add.u32 %r1, %r1, 1000; st.global.u32 [%at], %r1;";

fn of_table(tid: u32) -> u32 {
    1000 + match tid % 3 {
        0 => 2 * tid,
        1 => tid * tid,
        _ => 3 * tid,
    }
}

#[test]
fn lanes_call_different_functions_and_reconverge() {
    for schedule in [0, 3] {
        let setup = Setup {
            schedule,
            ..threads(64)
        };
        let outcome = body_with(&setup, TABLE, CALL_TABLE);
        assert_eq!(outcome.of("st.global.u32 [%at]")[0].executions, 2);
        assert_eq!(outcome.of("call (y)")[0].threads, 64);
        assert_eq!(outcome.of("mul.lo.u32")[0].threads, 21);
        let words = outcome.clean();
        assert_eq!(words[..64], (0..64).map(of_table).collect::<Vec<u32>>());
    }
    // A call by name, by some lanes only.
    let some = "mov.u64 %d2, square; mov.u32 %r1, 7; setp.lt.u32 %p0, %tid, 5;
        { .param .b32 x; .param .b32 y; st.param.b32 [x], %tid; st.param.b32 [y], 3; kind: .callprototype (.param .b32 _) _ (.param .b32 _); @%p0 call (y), %d2, (x), kind; ld.param.b32 %r1, [y]; }
        st.global.u32 [%at], %r1;";
    let words = body_with(&threads(32), TABLE, some).clean();
    assert_eq!(words[..8], [0, 1, 4, 9, 16, 3, 3, 3]);
    // A guarded call of a function that could be inlined without the guard.
    let guarded = some.replace("call (y), %d2, (x), kind", "call (y), square, (x)");
    let words = body_with(&threads(32), TABLE, &guarded).clean();
    assert_eq!(words[..8], [0, 1, 4, 9, 16, 3, 3, 3]);
}

#[test]
fn a_barrier_in_a_function_is_one_for_the_block() {
    let declarations = ".shared .b32 seen; .func meet(.param .b32 n) { .reg .b32 %a<2>; .reg .pred %p; ld.param.b32 %a0, [n]; mov.u32 %a1, %tid.x; setp.eq.u32 %p, %a1, 0; @%p st.shared.u32 [seen], %a0; bar.sync 0; ret; }";
    let body = "mov.u64 %d2, meet; setp.eq.u32 %p0, %tid, 0; @!%p0 bra REST;
        REST: { .param .b32 x; st.param.b32 [x], 5; kind: .callprototype _ (.param .b32 _); call %d2, (x), kind; }
        ld.shared.u32 %r1, [seen]; st.global.u32 [%at], %r1;";
    assert_eq!(
        body_with(&threads(64), declarations, body).clean()[..64],
        [5; 64]
    );
}

#[test]
fn a_stack_that_is_full_is_a_finding_that_names_the_remedy() {
    let endless = ".func down(.param .b64 n) { .reg .b64 %a; ld.param.b64 %a, [n]; add.u64 %a, %a, 1; { .param .b64 x; st.param.b64 [x], %a; call.uni down, (x); } ret; }";
    let body = "{ .param .b64 x; st.param.b64 [x], %out; call.uni down, (x); }";
    let report = body_with(&threads(32), endless, body).report();
    assert!(
        report.contains("the call stack of 16384 bytes is full after 1024 calls"),
        "{report}"
    );
    assert!(
        report.contains("raise Limits::stack (--stack), on a GPU cudaDeviceSetLimit"),
        "{report}"
    );
    let setup = Setup {
        limits: Limits {
            stack: 64,
            ..Setup::default().limits
        },
        ..threads(32)
    };
    let report = body_with(&setup, endless, body).report();
    assert!(report.contains("is full after 4 calls"), "{report}");
    // Registers on the stack count as host memory.
    let setup = Setup {
        limits: Limits {
            memory: 1 << 20,
            ..Setup::default().limits
        },
        sanitize: false,
        ..threads(32)
    };
    let report = body_with(&setup, endless, body).report();
    assert!(
        report.contains("the call stacks need more than 1048576 bytes"),
        "{report}"
    );
}

#[test]
fn calls_of_other_addresses_are_reported() {
    let wrong = CALL_TABLE.replace("ld.global.u64 %d2, [%d1];", "mov.u64 %d2, %out;");
    let outcome = body_with(&threads(32), TABLE, &wrong);
    let FindingKind::InvalidCall(reason) = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert!(
        reason.starts_with("there is no function at 0x1000"),
        "{reason}"
    );
    let two = CALL_TABLE.replace("call (y), %d2, (x), kind", "call (y), %d2, (x, x), kind");
    let report = body_with(&threads(32), TABLE, &two).report();
    assert!(
        report.contains("the function `twice` has other parameters"),
        "{report}"
    );
}

/// A function that can be inlined is inlined: it has no frame and no call.
#[test]
fn what_can_be_inlined_is_inlined() {
    let direct = CALL_TABLE.replace("call (y), %d2, (x), kind", "call.uni (y), square, (x)");
    let outcome = body_with(&threads(32), TABLE, &direct);
    assert!(outcome.of("call.uni").is_empty());
    let text = module(TABLE, &direct);
    assert!(lower(&text).is_ok());
}

/// A product of 64 x 8 x 32 ones in a kernel that calls functions, with code before and after the wait.
fn product_and_call(before: &str, behind: &str) -> String {
    format!(
        "mov.b32 %r4, 0; mov.b32 %r5, 0; mov.b32 %r6, 0; mov.b32 %r7, 0; mov.b32 %r8, 0x01010101; mov.u32 %r9, tile;
        shl.b32 %r2, %tid, 2; add.u32 %r2, %r2, %r9; setp.lt.u32 %p1, %tid, 64; @%p1 st.shared.u32 [%r2], %r8;
        shr.u32 %r9, %r9, 4; cvt.u64.u32 %d5, %r9; or.b64 %d5, %d5, {};
        fence.proxy.async.shared::cta; bar.sync 0; wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {{%r4, %r5, %r6, %r7}}, {{%r8, %r8, %r8, %r8}}, %d5, 1;
        wgmma.commit_group.sync.aligned; {before}
        {{ .param .b32 x; .param .b32 y; rem.u32 %r0, %tid, 5; st.param.b32 [x], %r0; call.uni (y), fib, (x); ld.param.b32 %r1, [y]; }}
        {behind} add.u32 %r4, %r4, %r1; st.global.u32 [%at], %r4;",
        128u64 >> 4 << 16 | 256 >> 4 << 32
    )
}

#[test]
fn a_kernel_with_wgmma_calls_functions_between_its_waits() {
    let wait = "wgmma.wait_group.sync.aligned 0;";
    let declarations = format!(".shared .align 128 .b8 tile[256]; {FIB}");
    let words = body_with(&threads(128), &declarations, &product_and_call(wait, "")).clean();
    let expected: Vec<u32> = (0..128).map(|tid| 32 + fib(tid % 5)).collect();
    assert_eq!(words[..128], expected);
    let outcome = body_with(&threads(128), &declarations, &product_and_call("", wait));
    let FindingKind::InvalidCall(reason) = &outcome.findings[0].kind else {
        panic!("{}", outcome.report());
    };
    assert!(
        reason.contains("wgmma.wait_group 0 before the call"),
        "{reason}"
    );
}
