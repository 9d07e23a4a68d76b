//! Cooperative launches: the blocks of a grid wait for each other as in `this_grid().sync()`.
use emulator::{Card, Context, Error, FindingKind, KernelArg, LaunchConfig, LaunchReport, Options};

use crate::common::words;

/// NVRTC's code of `grid.sync()` for block `%r1` of `%r2`, with the workspace's address in `%d9` and the barrier at
/// offset 4.
fn grid_sync(label: &str) -> String {
    format!(
        "bar.sync 0;
        setp.ne.u32 %p1, %tid, 0;
        @%p1 bra JOIN{label};
        setp.eq.u32 %p2, %r1, 0;
        sub.u32 %r5, %r2, 1;
        sub.u32 %r6, 0x80000000, %r5;
        selp.u32 %r7, %r6, 1, %p2;
        atom.add.release.gpu.u32 %r8, [%d9+4], %r7;
        SPIN{label}:
        ld.acquire.gpu.u32 %r9, [%d9+4];
        xor.b32 %r10, %r9, %r8;
        setp.ge.s32 %p3, %r10, 0;
        @%p3 bra SPIN{label};
        JOIN{label}:
        bar.sync 0;"
    )
}

/// Each block stores its number, and after the barrier reads that of the next one; this is done twice, to reuse the
/// barrier.
fn kernel(sync: impl Fn(&str) -> String) -> String {
    let (first, second, third) = (sync("1"), sync("2"), sync("3"));
    format!(
        ".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{{
.reg .b32 %tid, %r<32>;
.reg .b64 %out, %d<16>;
.reg .pred %p<4>;
mov.u32 %tid, %tid.x;
ld.param.u64 %out, [out];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %nctaid.x;
mov.u32 %r3, %envreg2;
mov.u32 %r4, %envreg1;
mov.b64 %d9, {{%r3, %r4}};
setp.eq.u64 %p0, %d9, 0;
@%p0 trap;
mul.wide.u32 %d1, %r1, 4;
add.u64 %d1, %d1, %out;
add.u32 %r11, %r1, 1;
rem.u32 %r11, %r11, %r2;
mul.wide.u32 %d2, %r11, 4;
add.u64 %d2, %d2, %out;
st.global.u32 [%d1], %r1;
{first}
ld.global.u32 %r12, [%d2];
{second}
add.u32 %r12, %r12, 100;
st.global.u32 [%d1], %r12;
{third}
ld.global.u32 %r12, [%d2];
st.global.u32 [%d1+4096], %r12;
ret;
}}"
    )
}

fn launch(
    ptx: &str,
    options: Options,
    config: &LaunchConfig,
) -> Result<(Vec<u32>, LaunchReport), Error> {
    let mut context = Context::new(options);
    let out = context.alloc("out", 8192)?;
    let function = context.load_module(ptx)?.function("k")?;
    let report = context.launch(&function, config, &[KernelArg::Buffer(&out)])?;
    Ok((words(&context, &out), report))
}

fn config(blocks: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        cooperative: true,
        ..LaunchConfig::default()
    }
}

fn sanitize(schedule: u64) -> Options {
    Options {
        sanitize: true,
        schedule,
        ..Options::default()
    }
}

#[test]
fn blocks_see_what_others_wrote_before_the_barrier_and_nothing_is_reported() {
    for schedule in [0, 7] {
        let (words, report) =
            launch(&kernel(grid_sync), sanitize(schedule), &config(6)).expect("a launch");
        assert_eq!(report.findings, []);
        assert_eq!(words[..6], [101, 102, 103, 104, 105, 100]);
        assert_eq!(words[1024..1030], [102, 103, 104, 105, 100, 101]);
        assert_eq!(report.remarks, []);
    }
}

#[test]
fn a_missing_grid_barrier_is_a_race() {
    for missing in ["1", "2", "3"] {
        let sync = |label: &str| match label == missing {
            true => "bar.sync 0;".to_owned(),
            false => grid_sync(label),
        };
        let (_, report) = launch(&kernel(sync), sanitize(0), &config(6)).expect("a launch");
        let race = |finding: &emulator::Finding| matches!(finding.kind, FindingKind::Race(_));
        assert!(
            report.findings.iter().any(race),
            "without {missing}: {:?}",
            report.findings
        );
    }
}

#[test]
fn each_launch_finds_the_barrier_as_the_first_did() {
    let mut context = Context::new(Options::default());
    let out = context.alloc("out", 8192).expect("room");
    let module = context.load_module(&kernel(grid_sync)).expect("PTX");
    let function = module.function("k").expect("a kernel");
    let mut run = |config: &LaunchConfig| {
        let done = context.launch(&function, config, &[KernelArg::Buffer(&out)]);
        (words(&context, &out), done.expect("a launch").findings)
    };
    let first = run(&config(6));
    assert_eq!(first, run(&config(6)));
    // In an ordinary launch there is no workspace, and cooperative groups executes `trap`.
    let plain = LaunchConfig {
        cooperative: false,
        ..config(6)
    };
    assert_eq!(run(&plain).1[0].kind, FindingKind::Trap);
}

#[test]
fn a_block_that_never_arrives_is_a_deadlock() {
    let early = kernel(grid_sync).replace(
        "st.global.u32 [%d1], %r1;",
        "setp.eq.u32 %p0, %r1, 3;\n@%p0 exit;",
    );
    let (_, report) = launch(&early, Options::default(), &config(6)).expect("a launch");
    assert!(
        matches!(report.findings[0].kind, FindingKind::Deadlock { .. }),
        "{report:?}"
    );
}

#[test]
fn more_blocks_than_are_resident_are_refused() {
    let ptx = kernel(grid_sync);
    let of = |card, blocks, threads, dynamic_shared| {
        let options = Options {
            card,
            ..Options::default()
        };
        let config = LaunchConfig {
            block: [threads, 1, 1],
            dynamic_shared,
            ..config(blocks)
        };
        let ptx = match card {
            Card::A100 => ptx.replace("sm_90", "sm_80"),
            Card::H100 => ptx.clone(),
        };
        launch(&ptx, options, &config).map(drop)
    };
    assert_eq!(of(Card::H100, 264, 1024, 0), Ok(()));
    assert_eq!(
        of(Card::H100, 265, 1024, 0),
        Err(Error::CooperativeLaunchTooLarge {
            blocks: 265,
            most: 264,
            per_sm: 2,
            card: Card::H100
        })
    );
    assert!(of(Card::H100, 133, 32, 200 << 10).is_err());
    assert!(of(Card::A100, 217, 1024, 0).is_err());
    let message = of(Card::A100, 109, 32, 160 << 10)
        .expect_err("too many")
        .to_string();
    assert!(
        message.contains("an A100 holds 108 at once, 1 on each of its 108 SMs"),
        "{message}"
    );
}
