//! Every recorded measurement of an H100 is reproduced: `h100/` was recorded on an H100 80GB HBM3, driver 580,
//! CUDA 13.0; its counters with one-instruction kernels under Nsight Compute 2025.3.
use anyhow::Result;
use calibration::instructions::{
    Comparison, Experiment, Recorder, compare, experiments, is_known, planned, record,
};
use emulator::Card;

fn recorded(name: &str) -> Vec<u8> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/h100/");
    std::fs::read(format!("{folder}{name}")).expect("a recording")
}

fn compared(name: &str, bytes: &[u8]) -> Result<Comparison> {
    compare(name, bytes, Card::H100).unwrap_or_else(|| panic!("{name} is of no known kind"))
}

/// Files of the folder that are compared elsewhere: recordings of whole kernels, and the provenance of all.
const OTHERS: [&str; 6] = [
    "accesses.csv",
    "merged.csv",
    "provenance.json",
    "provenance_instructions.json",
    "rungs.csv",
    "stalls.csv",
];

/// Every file of the folder, so that none is omitted, and the number of rows recorded.
#[test]
fn every_recording_is_reproduced() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/h100");
    let entries = std::fs::read_dir(folder).expect("the recordings");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let names = names.map(|name| name.expect("ASCII"));
    let (mut others, names): (Vec<String>, Vec<String>) = names.partition(|name| !is_known(name));
    others.sort();
    assert_eq!(others, OTHERS);
    let mut found: Vec<(String, usize)> = names
        .into_iter()
        .map(|name| {
            let comparison = compared(&name, &recorded(&name)).expect(&name);
            assert_eq!(comparison.differences, [], "{name}");
            (name, comparison.all)
        })
        .collect();
    found.sort();
    let expected = [
        ("arithmetic.csv", 675),
        ("global_memory.csv", 84),
        ("global_memory_patterns.csv", 760),
        ("global_memory_rungs.csv", 33),
        ("mma_m16n8k16_bf16.bin", 128),
        ("mma_m16n8k16_f16.bin", 128),
        ("mma_m16n8k8_f16.bin", 128),
        ("shared_memory.csv", 450),
        ("shared_memory_patterns.csv", 1454),
        ("shared_memory_rungs.csv", 85),
        ("tensor.csv", 264),
        ("tma_layout.csv", 88),
        ("wgmma_layout.csv", 388),
        ("wgmma_m64n8k16_bf16.bin", 128),
        ("wgmma_m64n8k16_f16.bin", 128),
    ];
    assert_eq!(found, expected.map(|(name, rows)| (name.to_owned(), rows)));
}

#[test]
fn another_card_has_another_tensor_core_and_the_same_memory() {
    let on_a100 = |name: &str| compare(name, &recorded(name), Card::A100).expect("a known name");
    let products = on_a100("mma_m16n8k16_f16.bin").expect("Ampere has it");
    assert!(products.equal() < products.all, "as on an H100");
    // Kernels for both architectures are for sm_80 there.
    let memory = on_a100("global_memory.csv").expect("Ampere has it");
    assert_eq!(memory.differences, []);
    let error = on_a100("wgmma_m64n8k16_f16.bin").expect_err("Hopper's");
    assert!(error.to_string().contains("an A100"), "{error}");
}

#[test]
fn one_changed_byte_is_found() {
    for name in [
        "mma_m16n8k8_f16.bin",
        "mma_m16n8k16_bf16_again.bin",
        "wgmma_m64n8k16_f16.bin",
    ] {
        let mut bytes = recorded(&name.replace("_again", ""));
        // Element [9][5] of D in record 77.
        bytes[77 * 1792 + 1280 + 4 * (9 * 8 + 5)] ^= 1;
        let comparison = compared(name, &bytes).expect(name);
        assert_eq!((comparison.equal(), comparison.all), (127, 128), "{name}");
        let difference = &comparison.differences[0];
        assert_eq!(difference.place, "record 77");
        assert!(difference.what.starts_with("D[9][5], "), "{difference:?}");
    }
}

const SHARED: &str = "op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts\n";

fn lanes(offset: impl Fn(u32) -> u32, count: u32) -> String {
    let offsets: Vec<String> = (0..count).map(|lane| offset(lane).to_string()).collect();
    offsets.join(" ")
}

#[test]
fn one_changed_number_is_found() {
    let rows = format!(
        "{SHARED}\nld,4,{0},32,31\r\nld,4,{0},32,30\nldmatrix.x1.trans,16,{1},8,7\n",
        lanes(|lane| 128 * lane, 32),
        lanes(|lane| 128 * lane, 8),
    );
    let comparison = compared("shared_memory.csv", rows.as_bytes()).expect("a table");
    assert_eq!((comparison.equal(), comparison.all), (2, 3));
    let difference = &comparison.differences[0];
    assert_eq!(difference.place, "line 4");
    assert_eq!(difference.expected, "wavefronts 32, bank_conflicts 30");
    assert_eq!(difference.found, "wavefronts 32, bank_conflicts 31");

    let rows = String::from_utf8(recorded("arithmetic.csv")).expect("text");
    let changed = rows.replacen("7552eb144a93452a", "7552eb144a93452b", 1);
    let comparison = compared("arithmetic.csv", changed.as_bytes()).expect("a table");
    assert_eq!(comparison.differences.len(), 1);
    assert_eq!(comparison.differences[0].place, "line 2");
}

#[test]
fn what_is_malformed_is_named() {
    let all = |offset| lanes(|_| offset, 32);
    let shared = |row: &str| ("shared_memory.csv", format!("{SHARED}{row}\n").into_bytes());
    let global = |row: &str| {
        let head = "op,bytes_per_lane,byte_offset_per_lane,sectors,requests\n";
        ("global_memory.csv", format!("{head}{row}\n").into_bytes())
    };
    let arithmetic = |row: &str| {
        let head = "instruction;operands;digest\n";
        ("arithmetic.csv", format!("{head}{row}\n").into_bytes())
    };
    let digest = "0123456789abcdef";
    let tensor = |row: &str| {
        let text = format!("instruction,class,seed,records,digest\n{row},{digest}\n");
        ("tensor.csv", text.into_bytes())
    };
    for ((name, bytes), says) in [
        (
            shared(&format!("ld,4,{} 0,1,0", all(0))),
            "line 2: 33 byte offsets: ld has 32",
        ),
        (
            shared(&format!("ld,8,{},1,0", all(4))),
            "line 2: lane 0: byte offset 4 is misaligned",
        ),
        (
            shared(&format!("ldx,4,{},1,0", all(0))),
            "line 2: \"ldx\" is not a shared-memory access",
        ),
        (
            shared(&format!("ldmatrix.x3,16,{},1,0", all(0))),
            "is not a shared-memory access",
        ),
        (
            shared(&format!("ld,4,{},1", all(0))),
            "4 fields, but the first line has 5",
        ),
        (
            shared(&format!("ld,4,{},one,0", all(0))),
            "wavefronts is \"one\", expected an integer",
        ),
        (
            shared(&format!("ld,4,{},-1,0", all(0))),
            "expected an integer",
        ),
        (
            shared(&format!("ld,4,{},1,0", all(1 << 20))),
            "line 2: the emulator cannot execute it",
        ),
        (
            shared(&format!("ld,4,{},1,0", all(u32::MAX - 3))),
            "is not a byte offset below",
        ),
        (
            shared("ldmatrix.x1,16,0 16 - 48 64 80 96 112,1,0"),
            "needs the address of every row",
        ),
        (
            shared("ldmatrix.x1,16,- - - - - - - -,1,0"),
            "line 2: no lane takes part",
        ),
        (
            global(&format!("stmatrix.x4,16,{},1,1", all(0))),
            "for shared memory only",
        ),
        (
            global(&format!("st,3,{},1,1", all(0))),
            "there are 1, 2, 4, 8 and 16",
        ),
        (
            arithmetic(&format!("foo.s32 $d, $a;32=32;{digest}")),
            "line 2: `foo.s32 $d, $a`: ",
        ),
        (
            arithmetic(&format!("add.s32 $d, $a, $b;32;{digest}")),
            "line 2: operands are \"32\"",
        ),
        (
            arithmetic(&format!("add.s32 $d, $a, $b;8=32;{digest}")),
            "\"8\" is not a result type",
        ),
        (
            arithmetic(&format!("not.b32 $d, $a;32=f8;{digest}")),
            "\"f8\" is not an operand type",
        ),
        (
            arithmetic(&format!("not.b32 $d, $a;32=32 32 32 32 32;{digest}")),
            "at most 4",
        ),
        (
            arithmetic("not.b32 $d, $a;32=32;12"),
            "16 lower-case hexadecimal digits",
        ),
        (
            arithmetic(&format!("L: bra L;32=32;{digest}")),
            "line 2: `L: bra L`: ",
        ),
        (
            arithmetic(&format!("ld.global.u32 $d, [$a];32=64;{digest}")),
            "it has a fault",
        ),
        (
            tensor("mma_m16n8k4_f16,normal,1,1"),
            "line 2: \"mma_m16n8k4_f16\" is not an instruction",
        ),
        (
            tensor("mma_m16n8k8_f16,odd,1,1"),
            "\"odd\" is not a class of inputs",
        ),
        (
            tensor("mma_m16n8k8_f16,normal,-1,1"),
            "seed is \"-1\", expected an integer",
        ),
        (
            tensor("mma_m16n8k8_f16,normal,1,0"),
            "records is 0: 1 to 65536",
        ),
        (
            tensor("mma_m16n8k8_f16,normal,1,99999999999"),
            "1 to 65536 are possible",
        ),
        (("arithmetic.csv", Vec::new()), "holds no lines"),
        (("shared_memory.csv", SHARED.into()), "holds no rows"),
        (
            ("global_memory.csv", SHARED.into()),
            "line 1: there is no column sectors",
        ),
        (
            ("shared_memory.csv", b"op\n\xff".to_vec()),
            "line 2: it is not UTF-8",
        ),
        (
            ("mma_m16n8k8_f16.bin", vec![0; 1792 + 1791]),
            "record 1 is truncated: 3583 bytes",
        ),
        (("wgmma_m64n8k16_bf16.bin", Vec::new()), "holds no records"),
    ] {
        let error = compared(name, &bytes).expect_err(says).to_string();
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn other_names_are_not_taken() {
    for name in [
        "notes.txt",
        "mma_m16n8k32_s8.bin",
        "shared_memory.bin",
        "arithmetics.csv",
        "x",
        "",
    ] {
        assert!(compare(name, &[], Card::H100).is_none(), "{name}");
    }
}

/// A GPU whose results are the emulator's, and whose counters are the lengths of the metrics' names.
struct Imitation;

impl Recorder for Imitation {
    fn output(&mut self, experiment: &Experiment) -> Result<Vec<u8>> {
        let observed = experiment.on_emulator(&emulator::Options::default())?;
        Ok(observed.output)
    }
    fn counters(&mut self, metrics: &[[String; 2]]) -> Result<Vec<[u64; 2]>> {
        let lengths = |pair: &[String; 2]| pair.each_ref().map(|name| name.len() as u64);
        Ok(metrics.iter().map(lengths).collect())
    }
}

#[test]
fn a_recording_is_repeated() {
    for name in [
        "arithmetic.csv",
        "mma_m16n8k8_f16.bin",
        "mma_m16n8k16_bf16.bin",
        "wgmma_m64n8k16_f16.bin",
        "wgmma_layout.csv",
    ] {
        let bytes = recorded(name);
        let mut changed = bytes.clone();
        let last = changed.len() - 2;
        // A digit of the last digest or byte, or a bit of the last D.
        changed[last] = if changed[last] == b'0' { b'1' } else { b'0' };
        assert_eq!(compared(name, &changed).expect(name).differences.len(), 1);
        let again = record(name, &changed, &mut Imitation)
            .expect(name)
            .expect(name);
        assert!(again == bytes, "{name}");
    }
    let row = |numbers: &str| {
        format!(
            "{SHARED}ldmatrix.x1,16,{},{numbers}\n",
            lanes(|lane| 16 * lane, 8)
        )
    };
    let again = record("shared_memory.csv", row("1,0").as_bytes(), &mut Imitation);
    let again = again.expect("known").expect("a recording");
    assert_eq!(String::from_utf8_lossy(&again), row("52,56"));
}

/// Enough rows of every access and instruction, each row once and valid.
#[test]
fn what_is_planned_is_enough() {
    let mut patterns = 0;
    for (name, text) in planned() {
        let made = experiments(name, text.as_bytes()).expect(name).expect(name);
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(made.len(), rows.len(), "{name}");
        let mut unique = rows.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), rows.len(), "{name}: a row occurs twice");
        let mut kinds = std::collections::BTreeMap::<String, u64>::new();
        for row in &rows {
            let fields: Vec<&str> = row.split(',').collect();
            let (kind, count) = match name {
                "tensor.csv" => (fields[0].to_owned(), fields[3].parse().expect("a number")),
                "mma_fragments.csv" | "mma_fragments_more.csv" => {
                    (fields[0].to_owned(), fields[2].parse().expect("a number"))
                }
                "wmma_layout.csv" | "wmma_layout_more.csv" => (fields[0].to_owned(), 1),
                "approximate.csv" | "approximate_all.csv" => {
                    (fields[0].to_owned(), fields[2].parse().expect("a number"))
                }
                "arithmetic_more.csv" | "arithmetic_modes.csv" => {
                    let name = row.split(['.', ' ']).next().unwrap_or_default();
                    (name.to_owned(), 1)
                }
                _ => (fields[..2].join(" "), 1),
            };
            *kinds.entry(kind).or_default() += count;
        }
        let (least, all_kinds) = match name {
            "tensor.csv" => (20_000, 6),
            "mma_fragments.csv" => (1024, 22),
            "mma_fragments_more.csv" => (1024, 16),
            "wmma_layout.csv" => (20, 3),
            "wmma_layout_more.csv" => (5, 3),
            // Every input of 16 bits, and as many quotients.
            "approximate.csv" => (1 << 16, 12),
            // Every input; for an f64 every upper word.
            "approximate_all.csv" => (1 << 32, 18),
            "arithmetic_more.csv" => (3, 6),
            "arithmetic_modes.csv" => (1, 19),
            "shared_memory_patterns.csv" => (30, 22),
            _ => (60, 10),
        };
        assert_eq!(kinds.len(), all_kinds, "{name}: {kinds:?}");
        assert!(
            kinds.values().all(|count| *count >= least),
            "{name}: {kinds:?}"
        );
        if name.ends_with("_patterns.csv") {
            patterns += rows.len();
        }
    }
    assert!(patterns >= 2000, "{patterns} patterns");
}

/// Every planned instruction can be executed.
#[test]
fn planned_instructions_are_executed() {
    let plans = planned();
    for (name, rows) in [
        ("arithmetic_more.csv", 50),
        ("arithmetic_modes.csv", 235),
        ("mma_fragments_more.csv", 64),
        ("wmma_layout_more.csv", 16),
    ] {
        let plan = plans.iter().find(|(planned, _)| *planned == name);
        let comparison = compared(name, plan.expect("planned").1.as_bytes()).expect(name);
        // No instruction has only zeros as its result.
        assert_eq!((comparison.equal(), comparison.all), (0, rows), "{name}");
    }
}

/// Every planned access can be executed, and costs more than the zeros in the plan.
#[test]
fn planned_accesses_are_executed() {
    let plans = planned();
    let accesses = plans
        .iter()
        .filter(|(name, _)| name.ends_with("_patterns.csv"));
    for (name, text) in accesses {
        let comparison = compared(name, text.as_bytes()).expect(name);
        assert_eq!(comparison.equal(), 0, "{name}");
    }
}

#[test]
fn digests_of_products_are_recorded_and_compared() {
    let plan = planned()
        .into_iter()
        .find(|(name, _)| *name == "tensor.csv");
    let (name, plan) = plan.expect("planned");
    // One row in eleven: another class of each instruction and seed. 40 of its records, to keep the test fast.
    let rows = plan.lines().skip(1).step_by(11);
    let plan: String = plan
        .lines()
        .take(1)
        .chain(rows)
        .fold(String::new(), |text, line| {
            text + &line.replace(",512,", ",40,") + "\n"
        });
    let made = record(name, plan.as_bytes(), &mut Imitation)
        .expect(name)
        .expect(name);
    let comparison = compared(name, &made).expect(name);
    assert_eq!((comparison.equal(), comparison.all), (24, 24));
    assert_eq!(compared(name, plan.as_bytes()).expect(name).equal(), 0);
    // Another seed, another number of records, another class: another digest.
    let text = String::from_utf8(made).expect("text");
    for (old, new) in [
        (",1,40,", ",5,40,"),
        (",40,", ",39,"),
        (",normal,", ",random,"),
    ] {
        let changed = text.replacen(old, new, 1);
        assert_eq!(
            compared(name, changed.as_bytes()).expect(name).equal(),
            23,
            "{old}"
        );
    }
}

#[test]
fn there_is_an_experiment_for_every_row() {
    for (name, count) in [
        ("shared_memory.csv", 450),
        ("shared_memory_patterns.csv", 1454),
        ("shared_memory_rungs.csv", 85),
        ("tensor.csv", 264),
        // Two digits of each index.
        ("wgmma_layout.csv", 2 * 388),
        ("arithmetic.csv", 675),
        ("wgmma_m64n8k16_f16.bin", 1),
    ] {
        let made = experiments(name, &recorded(name)).expect(name).expect(name);
        assert_eq!(made.len(), count, "{name}");
    }
}

/// Two warps access memory in the same pattern, 128 bytes apart: one pattern, relative to a multiple of 128. Patterns
/// are recorded only on request.
#[test]
fn patterns_of_addresses_are_kept_once() {
    use emulator::{Context, KernelArg, LaunchConfig, Options, SharedAccess};
    let text = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out) {
.reg .b32 %t, %a, %b;
.reg .b64 %o;
.reg .pred %even;
.shared .align 128 .b8 tile[512];
ld.param.u64 %o, [out];
mov.u32 %t, %tid.x;
shl.b32 %a, %t, 2;
mov.u32 %b, tile;
add.u32 %a, %a, %b;
st.shared.u32 [%a+132], %t;
and.b32 %a, %t, 1;
setp.eq.u32 %even, %a, 0;
@%even st.global.u32 [%o], %t;
ret;
}
";
    let run = |patterns| {
        let mut context = Context::new(Options {
            patterns,
            ..Options::default()
        });
        let module = context.load_module(text).expect("PTX");
        let function = module.function("k").expect("a kernel");
        let out = context.alloc("out", 4).expect("small");
        let config = LaunchConfig {
            grid: [3, 1, 1],
            block: [64, 1, 1],
            ..LaunchConfig::default()
        };
        let launched = context.launch(&function, &config, &[KernelArg::Buffer(&out)]);
        launched.expect("a launch").patterns
    };
    assert_eq!(run(false), []);
    let [store, global] = &run(true)[..] else {
        panic!("{:?}", run(true));
    };
    assert_eq!((store.shared, store.bytes), (Some(SharedAccess::Store), 4));
    let steps = store.offsets.iter().zip(&store.offsets[1..]);
    assert!(
        steps.clone().all(|(a, b)| a.map(|at| at + 4) == *b),
        "{store:?}"
    );
    assert_eq!(store.offsets[0], Some(132 % 128));
    assert_eq!(global.shared, None);
    let (even, odd): (Vec<_>, Vec<_>) = (0..32)
        .map(|lane| (lane, global.offsets[lane]))
        .partition(|(lane, _)| lane % 2 == 0);
    assert!(
        even.iter().all(|(_, at)| *at == even[0].1 && at.is_some()),
        "{global:?}"
    );
    assert!(odd.iter().all(|(_, at)| at.is_none()), "{global:?}");
}
