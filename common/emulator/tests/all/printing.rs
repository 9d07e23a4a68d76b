//! `printf` and `assert` in kernels.
use crate::common::{self, Setup, body_with, threads};
use emulator::{Error, FindingKind, Limits};

/// Prototypes as NVRTC writes them, and texts: `t=%d x=%g\n`, `i < n`, `k.cu`, `void k()`.
const DECLARATIONS: &str = ".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a); \
    .extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 u, .param .b64 c) .noreturn; \
    .global .align 1 .b8 $str[11] = {116, 61, 37, 100, 32, 120, 61, 37, 103, 10, 0}; \
    .global .align 1 .b8 $cond[6] = {105, 32, 60, 32, 110, 0}; \
    .global .align 1 .b8 $file[5] = {107, 46, 99, 117, 0}; \
    .global .align 1 .b8 $func[9] = {118, 111, 105, 100, 32, 107, 40, 41, 0};";

/// Every thread of `%p0` prints its number and half of it.
const PRINT: &str = "
.local .align 8 .b8 depot[16];
mov.u32 %r7, 0;
mov.u64 %d0, depot;
cvta.local.u64 %d1, %d0;
st.local.u32 [%d0], %tid;
cvt.rn.f64.u32 %d2, %tid;
mul.rn.f64 %d2, %d2, 0d3FE0000000000000;
st.local.b64 [%d0+8], %d2;
mov.u64 %d3, $str;
cvta.global.u64 %d4, %d3;
{
.param .b64 param0; st.param.b64 [param0+0], %d4;
.param .b64 param1; st.param.b64 [param1+0], %d1;
.param .b32 retval0;
@%p0 call.uni (retval0), vprintf, (param0, param1);
@%p0 ld.param.b32 %r7, [retval0+0];
}";

/// The assertion of the threads of `%p0`, in line 42.
const ASSERT: &str = "
mov.u64 %d3, $cond;
mov.u64 %d4, $file;
mov.u64 %d5, $func;
{
.param .b64 param0; st.param.b64 [param0+0], %d3;
.param .b64 param1; st.param.b64 [param1+0], %d4;
.param .b32 param2; st.param.b32 [param2+0], 42;
.param .b64 param3; st.param.b64 [param3+0], %d5;
.param .b64 param4; st.param.b64 [param4+0], 1;
@%p0 call.uni __assertfail, (param0, param1, param2, param3, param4);
}";

#[test]
fn threads_print_in_their_order_and_count_arguments() {
    let text = format!("setp.lt.u32 %p0, %tid, 3;{PRINT}\nst.global.u32 [%at], %r7;");
    let outcome = body_with(&threads(32), DECLARATIONS, &text);
    assert_eq!(outcome.text(), "t=0 x=0\nt=1 x=0.5\nt=2 x=1\n");
    let threads: Vec<_> = outcome
        .printed
        .iter()
        .map(|one| one.location.thread)
        .collect();
    assert_eq!(threads, [[0, 0, 0], [1, 0, 0], [2, 0, 0]]);
    assert!(outcome.printed[0].location.source.is_some());
    assert_eq!(outcome.clean()[..4], [2, 2, 2, 0]);
}

#[test]
fn a_thread_that_prints_forever_is_stopped() {
    let forever = format!("setp.eq.u32 %p0, %tid, %tid;\nAGAIN:{PRINT}\nbra AGAIN;");
    let outcome = body_with(&threads(32), DECLARATIONS, &forever);
    let [finding] = &outcome.findings[..] else {
        panic!("{:?}", outcome.findings);
    };
    let FindingKind::InvalidCall(reason) = &finding.kind else {
        panic!("{:?}", finding.kind);
    };
    assert!(
        reason.starts_with("more than 64 MiB were printed"),
        "{reason}"
    );
}

#[test]
fn clusters_print_in_the_order_of_their_numbers() {
    let blocks = |rest: Setup| Setup {
        grid: [64, 1, 1],
        ..rest
    };
    let by_block = format!("mov.u32 %tid, %ctaid.x; setp.eq.u32 %p0, %tid, %tid;{PRINT}");
    let expected: String = (0..64)
        .map(|i| format!("t={i} x={}\n", f64::from(i) / 2.0))
        .collect();
    let parallel = body_with(&blocks(threads(1)), DECLARATIONS, &by_block);
    assert_eq!(parallel.text(), expected);
    // An atomic makes the clusters run interleaved.
    let talking = format!("atom.global.add.u32 %r0, [%out], 1;\n{by_block}");
    for schedule in [0, 3] {
        let setup = Setup {
            schedule,
            ..blocks(threads(1))
        };
        assert_eq!(body_with(&setup, DECLARATIONS, &talking).text(), expected);
    }
}

#[test]
fn an_assertion_names_thread_and_line_and_stops_the_launch() {
    let text = format!(
        "setp.lt.u32 %p0, %tid, 2;{PRINT}\nsetp.ge.u32 %p0, %tid, 30;{ASSERT}\nst.global.u32 [%at], %tid;"
    );
    let outcome = body_with(&threads(32), DECLARATIONS, &text);
    assert_eq!(
        outcome.text(),
        "t=0 x=0\nt=1 x=0.5\n",
        "what came before is printed"
    );
    let [finding] = &outcome.findings[..] else {
        panic!("{}", outcome.report());
    };
    assert!(finding.is_fatal());
    assert_eq!(
        finding.kind,
        FindingKind::Assertion {
            message: "i < n".into(),
            file: "k.cu".into(),
            function: "void k()".into(),
            line: 42
        }
    );
    assert_eq!((finding.location.thread, finding.count), ([30, 0, 0], 2));
    let report = outcome.report();
    assert!(
        report.starts_with("Assertion `i < n` failed\n    at kernel.cu:"),
        "{report}"
    );
    assert!(
        report.contains("by thread (30,0,0) in block (0,0,0)\n    k.cu:42, in void k()"),
        "{report}"
    );
    assert_eq!(
        outcome.words[0], 0xdead,
        "the stores after it do not happen"
    );
}

#[test]
fn an_assertion_that_holds_is_nothing() {
    let text = format!("setp.ge.u32 %p0, %tid, 32;{ASSERT}\nst.global.u32 [%at], %tid;");
    let words = body_with(&threads(32), DECLARATIONS, &text).clean();
    assert_eq!(words[31], 31);
}

#[test]
fn a_format_that_is_nowhere_is_a_finding() {
    let text = format!(
        "setp.eq.u32 %p0, %tid, 5;{}",
        PRINT.replace("mov.u64 %d3, $str;", "mov.u64 %d3, 64;")
    );
    let outcome = body_with(&threads(32), DECLARATIONS, &text);
    assert!(
        outcome
            .report()
            .starts_with("Invalid __global__ read of size 1 bytes"),
        "{}",
        outcome.report()
    );
    let null = format!(
        "setp.eq.u32 %p0, %tid, 5;{}\nst.global.u32 [%at], %r7;",
        PRINT.replace("mov.u64 %d3, $str;", "mov.u64 %d3, 0;")
    );
    assert_eq!(
        body_with(&threads(32), DECLARATIONS, &null).clean()[5],
        u32::MAX
    );
}

#[test]
fn a_kernel_that_prints_without_end_is_stopped() {
    let text = common::module(
        DECLARATIONS,
        &format!("setp.eq.u32 %p0, %tid, %tid;\nAGAIN:{PRINT}\nbra AGAIN;"),
    );
    let limits = Limits {
        instructions: 1 << 30,
        memory: 1 << 20,
        ..Limits::default()
    };
    let setup = Setup {
        limits,
        ..threads(1)
    };
    assert_eq!(
        common::run(&setup, &text),
        Err(Error::MemoryLimit { limit: 1 << 20 })
    );
}

#[test]
fn a_call_with_other_arguments_is_refused() {
    for (call, why) in [
        (
            "call.uni vprintf, (%d0);",
            "`call.uni vprintf, (%d0)` has the wrong number of operands",
        ),
        (
            "call.uni vprintf, (%d0, %d1);",
            "the emulator cannot execute `call.uni vprintf, (%d0, %d1)`",
        ),
        (
            ".param .b32 a; .param .b32 b;\ncall.uni vprintf, (a, b);",
            "`a` holds no argument of 8 bytes",
        ),
    ] {
        let error = common::lower(&common::module(DECLARATIONS, call)).expect_err("a refusal");
        assert!(error.to_string().ends_with(why), "{error}");
    }
}
