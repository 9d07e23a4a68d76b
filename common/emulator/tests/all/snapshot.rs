//! Snapshots of a block when its warps reach an instruction.
use emulator::{
    Context, Function, KernelArg, LaunchConfig, LaunchReport, Options, Snapshot, SnapshotRequest,
    TraceRequest,
};

/// Two rounds: each of 64 threads stores 100 times the round plus its number, all synchronize, each reads its
/// neighbor's number.
const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 p)\n{\n.shared .align 16 .b8 other[32];\n.shared .align 16 .b8 tile[256];\n\
    .reg .u32 %r<12>; .reg .pred %p<2>; .reg .b32 %m<4>;\n\
    mov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nmov.u32 %r7, 0;\n\
    NEXT:\n\
    mad.lo.u32 %r2, %r7, 100, %r0;\nshl.b32 %r3, %r0, 2;\nadd.u32 %r4, %r1, %r3;\n\
    st.shared.u32 [%r4], %r2;\n\
    bar.sync 0;\n\
    xor.b32 %r5, %r4, 4;\n\
    ld.shared.u32 %r6, [%r5+0];\n\
    bar.sync 0;\n\
    add.u32 %r7, %r7, 1;\nsetp.lt.u32 %p0, %r7, 2;\n@%p0 bra NEXT;\n\
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%m0}, [%r1];\n\
    mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%m1, %m2}, {%m0}, {%m0}, {%r0, %r0};\nret;\n}\n";

fn index(function: &Function, opcode: &str) -> usize {
    let found = function
        .instructions()
        .iter()
        .position(|one| one.opcode.starts_with(opcode));
    found.unwrap_or_else(|| panic!("no {opcode}"))
}

fn function(context: &mut Context, text: &str) -> Function {
    let module = context.load_module(text).expect("a module");
    module.function("k").expect("a kernel")
}

fn kernel() -> Function {
    function(&mut Context::new(Options::default()), KERNEL)
}

fn launched(options: Options) -> LaunchReport {
    launch(KERNEL, options).1
}

fn launch(text: &str, options: Options) -> (Function, LaunchReport) {
    let mut context = Context::new(options);
    let function = function(&mut context, text);
    let words = context.alloc("words", 64).expect("memory");
    let config = LaunchConfig {
        grid: [3, 1, 1],
        block: [64, 1, 1],
        ..LaunchConfig::default()
    };
    let report = context.launch(&function, &config, &[KernelArg::Buffer(&words)]);
    (function, report.expect("a launch"))
}

fn kept(execution: u64, shared_at: Option<&str>, operands_of: &[&str]) -> Snapshot {
    let function = kernel();
    let at = |opcode: &&str| index(&function, opcode);
    launched(Options {
        snapshot: Some(SnapshotRequest {
            block: [1, 0, 0],
            execution,
            shared_at: shared_at.iter().map(at).collect(),
            operands_of: operands_of.iter().map(at).collect(),
            ..SnapshotRequest::default()
        }),
        ..Options::default()
    })
    .snapshot
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| word.try_into().map(u32::from_le_bytes).expect("4 bytes"))
        .collect()
}

#[test]
fn shared_memory_as_the_last_warp_finds_it() {
    let function = kernel();
    let variables: Vec<_> = function.shared_variables().collect();
    let tile = variables
        .iter()
        .find(|one| one.name == "tile")
        .expect("a variable");
    assert_eq!(tile.bytes, Some(256));
    for (execution, base) in [(1, 0), (2, 100)] {
        let shared = kept(execution, Some("bar.sync"), &[])
            .shared
            .expect("memory");
        assert_eq!(shared.warps, [0, 1]);
        let held = words(&shared.bytes[tile.start as usize..][..256]);
        assert_eq!(
            held,
            (base..base + 64).collect::<Vec<u32>>(),
            "execution {execution}"
        );
    }
    // When the second warp reaches its store, only the first has stored.
    let shared = kept(1, Some("st.shared"), &[]).shared.expect("memory");
    let held = words(&shared.bytes[tile.start as usize..][..256]);
    assert_eq!(held[..32], (0..32).collect::<Vec<u32>>());
    assert_eq!(held[32..], [0; 32]);
    assert_eq!(
        kept(3, Some("bar.sync"), &[]).shared,
        None,
        "there is no third round"
    );
}

#[test]
fn operands_before_and_after() {
    let found = kept(2, None, &["st.shared", "ld.shared"]).operands;
    let warps: Vec<_> = found
        .iter()
        .map(|one| (one.operands[0].role, one.warp))
        .collect();
    assert_eq!(warps.len(), 4, "{warps:?}");
    for one in &found {
        let first = 100 + 32 * u64::from(one.warp);
        assert_eq!(one.active, u32::MAX);
        let [address, value] = &one.operands[..] else {
            panic!("{:?}", one.operands)
        };
        assert_eq!(
            (address.role, value.role, value.bytes),
            ("address", "value", 4)
        );
        // A lane stores its own number, and reads that of its neighbor.
        let neighbor = u64::from(value.lanes[0] == first + 1);
        assert_eq!(value.lanes[6], first + (6 ^ neighbor));
        assert_eq!(address.lanes[6] - address.lanes[0], 24);
    }
}

#[test]
fn the_operands_of_matrix_instructions() {
    let found = kept(1, None, &["ldmatrix", "mma"]).operands;
    let of = |warp: u32, role: &str| -> Vec<u64> {
        let all = found.iter().filter(|one| one.warp == warp);
        let all = all
            .flat_map(|one| &one.operands)
            .filter(|one| one.role == role);
        all.map(|one| one.lanes[5]).collect()
    };
    // Lanes 0 to 7 all name the first row: lane 5 receives its second word, whatever its group.
    assert_eq!(of(0, "value"), [101]);
    assert_eq!(of(0, "a"), [101]);
    assert_eq!(of(1, "c"), [37, 37]);
    // All rows of A and all columns of B are the first 16 bytes: the words 100 to 103, of which only the lowest byte is not 0.
    let sum: u64 = (100..104).map(|byte| byte * byte).sum();
    assert_eq!(of(1, "d"), [sum + 37; 2]);
}

/// A snapshot does not change counters.
#[test]
fn counters_are_the_same() {
    let plain = launched(Options::default());
    let request = SnapshotRequest {
        block: [1, 0, 0],
        execution: 1,
        ..SnapshotRequest::default()
    };
    let looked_at = launched(Options {
        snapshot: Some(request),
        ..Options::default()
    });
    assert_eq!(plain, looked_at);
}

/// Applying the steps in order gives the recorded memory, and each warp's steps equal its trace.
#[test]
fn steps_lead_to_the_memory_that_is_kept() {
    let function = kernel();
    let barrier = index(&function, "bar.sync");
    let report = launched(Options {
        snapshot: Some(SnapshotRequest {
            block: [1, 0, 0],
            execution: 2,
            shared_at: vec![barrier],
            steps: 1000,
            ..SnapshotRequest::default()
        }),
        trace: Some(TraceRequest {
            blocks: vec![[1, 0, 0]],
            ..TraceRequest::default()
        }),
        ..Options::default()
    });
    let Snapshot { shared, steps, .. } = report.snapshot;
    let shared = words(&shared.expect("memory").bytes);
    for trace in &report.traces {
        let of_warp = steps.iter().filter(|step| step.warp == trace.warp);
        let of_warp: Vec<_> = of_warp
            .map(|step| (step.instruction, step.active))
            .collect();
        let traced = trace.events.iter();
        let traced: Vec<_> = traced
            .map(|event| (event.instruction, event.active))
            .collect();
        assert_eq!(of_warp, traced, "warp {}", trace.warp);
    }
    let mut memory = vec![0; shared.len()];
    let mut met = [0; 2];
    let mut agreed = false;
    for step in &steps {
        for &(at, word) in &step.changed {
            memory[at as usize / 4] = word;
        }
        if step.instruction as usize == barrier {
            met[step.warp as usize] += 1;
            if met == [2, 2] && !agreed {
                assert_eq!(memory, shared);
                agreed = true;
            }
        }
    }
    assert!(agreed, "{met:?}");
    // A store appears at the next step, which is of the same warp here.
    let first = steps.iter().find(|step| !step.changed.is_empty());
    let first = first.expect("a change");
    assert_eq!((first.warp, first.changed.len()), (0, 31), "all but 0");
}

/// Each step's operands are those of its instruction, and belong to the lanes that it has.
#[test]
fn operands_of_every_step() {
    let function = kernel();
    let snapshot = launched(Options {
        snapshot: Some(SnapshotRequest {
            block: [1, 0, 0],
            steps: 1000,
            operands_of_steps: true,
            ..SnapshotRequest::default()
        }),
        ..Options::default()
    })
    .snapshot;
    let opcode = |at: u32| function.instructions()[at as usize].opcode.as_str();
    let mut seen = Vec::new();
    for step in &snapshot.steps {
        let Some(operands) = step.operands else {
            continue;
        };
        let kept = &snapshot.operands[operands];
        assert_eq!(
            (kept.instruction, kept.warp, kept.active),
            (step.instruction as usize, step.warp, step.active)
        );
        let roles: Vec<_> = kept.operands.iter().map(|one| one.role).collect();
        seen.push((opcode(step.instruction), step.warp, roles));
    }
    let of = |name: &str| {
        let found = seen.iter().filter(|(opcode, ..)| opcode.starts_with(name));
        found
            .map(|(_, _, roles)| roles.join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(of("st.shared"), ["address value"; 4]);
    assert_eq!(of("ld.shared"), ["address value"; 4]);
    assert_eq!(of("mma"), ["a b c c d d"; 2]);
    assert_eq!(of("add"), [""; 0], "arithmetic has none");
}

/// Lanes of two warps store without a barrier; the other's word is read. Then all lanes but one come to a barrier of the warp.
const WRONG: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 p)\n{\n.shared .align 16 .b8 tile[256];\n\
    .reg .u32 %r<8>; .reg .pred %p<2>;\n\
    mov.u32 %r0, %tid.x;\nmov.u32 %r1, tile;\nshl.b32 %r2, %r0, 2;\nadd.u32 %r3, %r1, %r2;\n\
    st.shared.u32 [%r3], %r0;\n\
    xor.b32 %r4, %r2, 128;\nadd.u32 %r4, %r1, %r4;\n\
    ld.shared.u32 %r5, [%r4];\n\
    st.shared.u32 [%r4+1024], %r5;\nret;\n}\n";

/// A finding names the step at which it was seen first, and the steps are kept where it stops the launch.
#[test]
fn findings_have_their_step() {
    let options = Options {
        sanitize: true,
        snapshot: Some(SnapshotRequest {
            steps: 1000,
            ..SnapshotRequest::default()
        }),
        trace: Some(TraceRequest {
            blocks: vec![[0; 3]],
            only: true,
            ..TraceRequest::default()
        }),
        ..Options::default()
    };
    let (function, report) = launch(WRONG, options);
    let steps = &report.snapshot.steps;
    let at = |finding: &emulator::Finding| {
        let step = &steps[finding.step.expect("a step")];
        (
            function.instructions()[step.instruction as usize]
                .opcode
                .as_ref(),
            step.warp,
        )
    };
    let seen: Vec<_> = report.findings.iter().map(at).collect();
    // Warp 0 reads what warp 1 has not written yet, which then overwrites what was read; and it stores outside.
    assert!(seen.contains(&("ld.shared.u32", 0)), "{seen:?}");
    assert!(seen.contains(&("st.shared.u32", 0)), "{seen:?}");
    assert_eq!(
        report.findings.last().map(|one| one.step),
        Some(steps.len().checked_sub(1)),
        "it stops the launch"
    );
    let traced: usize = report.traces.iter().map(|one| one.events.len()).sum();
    assert_eq!(traced, steps.len());
}
