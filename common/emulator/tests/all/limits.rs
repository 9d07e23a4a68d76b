//! Launches that a GPU would refuse, and limits of work and memory.
use crate::common;
use common::{Setup, body, module, run, threads};
use emulator::{Context, Error, FindingKind, KernelArg, LaunchConfig, Limits, Options};

fn refused(setup: &Setup, text: &str) -> Error {
    run(setup, &module("", text)).expect_err("a refusal")
}

#[test]
fn an_endless_loop_that_changes_nothing_is_a_deadlock() {
    for schedule in [0, 1, 2] {
        let setup = Setup {
            schedule,
            ..threads(64)
        };
        // The second loop returns to its first state only every third time, the last every seventh.
        for text in [
            "LOOP:\nbra LOOP;",
            "LOOP:\nadd.u32 %r0, %r0, 1;\nrem.u32 %r0, %r0, 3;\nbra LOOP;",
            "LOOP:\nadd.u32 %r0, %r0, %tid;\nrem.u32 %r0, %r0, 7;\nbra LOOP;",
        ] {
            let outcome = body(&setup, text);
            assert!(matches!(
                outcome.findings[0].kind,
                FindingKind::Deadlock { .. }
            ));
        }
    }
}

#[test]
fn an_endless_loop_that_counts_meets_the_limit() {
    let setup = Setup {
        limits: Limits {
            instructions: 100_000,
            ..Limits::default()
        },
        grid: [4, 1, 1],
        ..threads(64)
    };
    let error = refused(&setup, "LOOP:\nadd.u32 %r0, %r0, 1;\nbra LOOP;");
    assert_eq!(error, Error::InstructionLimit { limit: 100_000 });
    let error = refused(
        &setup,
        "LOOP:\natom.global.add.u32 %r0, [%out], 1;\nbra LOOP;",
    );
    assert_eq!(error, Error::InstructionLimit { limit: 100_000 });
}

#[test]
fn shapes_that_every_gpu_refuses() {
    let shape = |grid, block| Setup {
        grid,
        block,
        ..Setup::default()
    };
    let max = u32::MAX;
    for (setup, message) in [
        (shape([1, 1, 1], [0, 1, 1]), "a block of 0 x 1 x 1 threads"),
        (
            shape([1, 1, 1], [1025, 1, 1]),
            "a block of 1025 x 1 x 1 threads",
        ),
        (shape([1, 1, 1], [1, 1, 65]), "no more than 64 in z"),
        (
            shape([1, 1, 1], [max, max, max]),
            "threads; a GPU takes 1 to 1024",
        ),
        (
            shape([max, max, max], [1, 1, 1]),
            "a GPU takes 1 to 2147483647 x 65535 x 65535",
        ),
        (shape([0, 1, 1], [1, 1, 1]), "a grid of 0 x 1 x 1 blocks"),
        (
            shape([1, 65536, 1], [1, 1, 1]),
            "a grid of 1 x 65536 x 1 blocks",
        ),
        (
            shape([1 << 30, 1, 1], [1, 1, 1]),
            "raise the limit if it is meant",
        ),
    ] {
        let error = refused(&setup, "").to_string();
        assert!(error.contains(message), "{error}");
    }
    let setup = Setup {
        dynamic_shared: 228 << 10,
        ..threads(1)
    };
    assert_eq!(
        refused(&setup, "").to_string(),
        "233472 bytes of shared memory a block; an H100 has 232448"
    );
    let text = module("", "").replace("out)\n{", "out)\n.maxntid 64, 1, 1\n{");
    let error = run(&threads(65), &text).expect_err("too many threads");
    assert!(
        error
            .to_string()
            .contains("at most 64; see __launch_bounds__"),
        "{error}"
    );
}

#[test]
fn arguments_that_do_not_fit() {
    let (mut context, function) = Setup::default().context(&module("", ""));
    for (args, message) in [
        (&[][..], "0 arguments for a kernel that takes 1"),
        (&[KernelArg::U32(1)], "parameter out takes 8 bytes, not 4"),
        (
            &[KernelArg::Bytes(&[0; 9])],
            "parameter out takes 8 bytes, not 9",
        ),
    ] {
        let error = context.launch(&function, &LaunchConfig::default(), args);
        assert_eq!(error.expect_err("a refusal").to_string(), message);
    }
}

#[test]
fn memory_is_bounded() {
    // Memory for the writes of blocks, for their local memory, and for the sanitizer's shadow.
    let limits = |memory| Limits {
        memory,
        ..Limits::default()
    };
    let setup = Setup {
        limits: limits(1 << 20),
        words: 1 << 20,
        block: [1024, 1, 1],
        grid: [1024, 1, 1],
        sanitize: false,
        ..Setup::default()
    };
    let text = "mov.u32 %r0, %ctaid.x;\nmad.lo.u32 %r0, %r0, 1024, %tid;\nmul.wide.u32 %d0, %r0, 4;\nadd.u64 %d0, %d0, %out;\nst.global.u32 [%d0], 1;";
    assert_eq!(refused(&setup, text), Error::MemoryLimit { limit: 1 << 20 });
    let text = ".local .b8 big[524288];\nmov.u64 %d1, big;\nst.local.u32 [%d1], 1;\nmembar.gl;";
    let setup = Setup {
        limits: limits(1 << 30),
        ..setup
    };
    assert_eq!(refused(&setup, text), Error::MemoryLimit { limit: 1 << 30 });
    let mut context = Context::new(Options {
        limits: limits(100),
        ..Options::default()
    });
    let full = Error::OutOfMemory {
        wanted: 101,
        limit: 100,
    };
    assert_eq!(context.alloc("a", 101), Err(full.clone()));
    assert_eq!(context.upload("a", &[0; 101]), Err(full));
    let a = context.alloc("a", 100).expect("room");
    context.alloc("b", 1).expect_err("full");
    context.free(a).expect("its own");
    context.alloc("b", 1).expect("room again");
    context
        .alloc("c", usize::MAX)
        .expect_err("more than there is");
}

#[test]
fn a_failed_launch_leaves_memory_as_it_was() {
    let text = module(
        ".global .u32 x;",
        "st.global.u32 [%out], 1;\nLOOP:\nadd.u32 %r0, %r0, 1;\nbra LOOP;",
    );
    let (mut context, function) = Setup::default().context(&text);
    context.options_mut().limits.instructions = 1000;
    let out = context.upload("out", &[7; 4]).expect("room");
    let args = [KernelArg::Buffer(&out)];
    context
        .launch(&function, &LaunchConfig::default(), &args)
        .expect_err("endless");
    assert_eq!(context.read(&out), Ok(vec![7; 4]));
}

/// The largest numbers that PTX can write are refused as any other block that is too large.
#[test]
fn a_block_of_billions_of_threads_does_not_overflow() {
    for most in [
        "65536, 65536, 1",
        "4294967295, 1, 1",
        "4294967295, 4294967295, 2",
    ] {
        let text = module("", "ret;").replacen("\n{", &format!("\n.maxntid {most}\n{{"), 1);
        assert!(text.contains(".maxntid"), "{text}");
        run(&threads(32), &text).expect("a block of 32 is within it");
    }
}
