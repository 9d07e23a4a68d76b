//! `cargo ladder calibrate`: equal rows, differing rows, and files that cannot be read.
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../calibration/h100");

/// Exit code, standard output, standard error.
fn calibrate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .arg("calibrate")
        .args(arguments)
        // The command needs no checkout.
        .current_dir(std::env::temp_dir())
        .output()
        .expect("the ladder starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// A new folder with these files.
fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ladder-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder for temporary files");
    for (name, bytes) in files {
        std::fs::write(folder.join(name), bytes).expect("writable");
    }
    folder
}

fn against(folder: &Path) -> (Option<i32>, String, String) {
    calibrate(&["--against", folder.to_str().expect("UTF-8")])
}

fn recorded(name: &str) -> Vec<u8> {
    std::fs::read(Path::new(RECORDED).join(name)).expect("a recording")
}

#[test]
fn the_emulator_equals_an_h100() {
    let (code, said, _) = calibrate(&["--only", "patterns,tensor,layouts"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("h100/shared_memory.csv          equal 450 of 450 rows\n"),
        "{said}"
    );
    assert!(said.ends_with("equal 9642 of 9642 in 24 files\n"), "{said}");
    // `--only` selects a subset of them, and of a folder's, all of which the calibration's own test compares.
    let patterns = ["--only", "patterns"];
    let (code, said, _) = calibrate(&patterns);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("equal 2994 of 2994 in 8 files\n"), "{said}");
    let (code, said, _) = calibrate(&[&patterns[..], &["--against", RECORDED]].concat());
    assert_eq!(code, Some(0), "{said}");
    assert!(said.ends_with("equal 2866 of 2866 in 6 files\n"), "{said}");
}

#[test]
fn a_changed_byte_and_a_changed_number_are_named() {
    let mut records = recorded("wgmma_m64n8k16_bf16.bin");
    records[5 * 1792 + 1280] ^= 0x10;
    let rows = String::from_utf8(recorded("global_memory.csv")).expect("text");
    let rows = rows.replacen(",4,1\n", ",5,1\n", 1);
    let folder = folder(
        "changed",
        &[
            ("wgmma_m64n8k16_bf16.bin", &records),
            ("global_memory_2.csv", rows.as_bytes()),
            ("mma_m16n8k8_f16.bin", &recorded("mma_m16n8k8_f16.bin")),
            ("notes.md", b"seen"),
        ],
    );
    let (code, said, aside) = against(&folder);
    assert_eq!(code, Some(1), "{said}{aside}");
    assert!(
        aside.contains("notes.md: no kind of recording has this name"),
        "{aside}"
    );
    for line in [
        "global_memory_2.csv             equal 83 of 84 rows\n",
        "  line 2: ld, 4 bytes a lane: expected sectors 5, requests 1, found sectors 4, requests 1\n",
        "mma_m16n8k8_f16.bin             equal 128 of 128 records\n",
        "wgmma_m64n8k16_bf16.bin         equal 127 of 128 records\n  record 5: D[0][0], the first of 1 outputs",
        "equal 338 of 340 in 3 files\n",
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
}

#[test]
fn many_differences_are_counted() {
    let mut records = recorded("mma_m16n8k8_f16.bin");
    for record in records.chunks_exact_mut(1792) {
        record[1280] ^= 1;
    }
    let folder = folder("many", &[("mma_m16n8k8_f16.bin", &records)]);
    let (code, said, _) = against(&folder);
    assert_eq!(code, Some(1));
    assert!(
        said.contains("equal 0 of 128 records\n  record 0: "),
        "{said}"
    );
    assert!(said.contains("\n  and 123 more records\n"), "{said}");
}

#[test]
fn what_cannot_be_read_exits_with_2_and_is_named() {
    let head = "op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts\n";
    let shared = format!("{head}ld,4,0 4,1,0\n");
    let sound = recorded("mma_m16n8k8_f16.bin");
    for (name, files, says) in [
        ("empty", &[][..], "holds no recording"),
        ("strange", &[("a.txt", &b""[..])], "holds no recording"),
        (
            "cut",
            &[("mma_m16n8k8_f16.bin", &sound[..2000])],
            "mma_m16n8k8_f16.bin: record 1 is truncated",
        ),
        (
            "row",
            &[
                ("shared_memory.csv", shared.as_bytes()),
                ("mma_m16n8k8_f16.bin", &sound),
            ],
            "shared_memory.csv: line 2: 2 byte offsets",
        ),
    ] {
        let (code, said, error) = against(&folder(name, files));
        assert_eq!(code, Some(2), "{says}: {said}{error}");
        assert!(error.contains(says), "{says}: {error}");
    }
    let (code, _, error) = against(&std::env::temp_dir().join("no-such-folder"));
    assert_eq!(code, Some(2));
    assert!(
        error.contains("cannot read") && error.contains("no-such-folder"),
        "{error}"
    );
}

#[test]
fn recording_needs_a_gpu_and_says_so() {
    let nowhere = std::env::temp_dir().join(format!("ladder-none-{}", std::process::id()));
    let nowhere = nowhere.to_str().expect("UTF-8");
    // A device number that no machine has, so that the test also holds on a machine with a GPU.
    let (code, said, error) = calibrate(&["--record", nowhere, "--device", "gpu:99"]);
    assert_eq!(code, Some(2), "{said}{error}");
    assert!(
        error.contains("NVIDIA driver") || error.contains("99"),
        "{error}"
    );
    assert!(!Path::new(nowhere).exists(), "nothing is left behind");
    let (code, _, error) = calibrate(&["--device", "gpu"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("--record"), "{error}");
}

/// A script in place of Nsight Compute: the profiled rung runs on the emulator, and the pages are the ones beside the
/// script. It lacks one of the requested metrics.
#[cfg(unix)]
const NCU: &str = r#"#!/usr/bin/env bash
here=$(dirname "$0")
said=" $* "
case $said in
*" --version "*) printf 'NVIDIA (R) Nsight Compute\nVersion 2025.3.0.0\n'; exit ;;
*" cuda,sass "*) cat "$here/both.csv"; exit ;;
*" --import "*) cat "$here/sass.csv"; exit ;;
esac
while [ "$1" != --log-file ]; do shift; done
log=$2 program=$3
shift 3
case $said in
*_gmma_*) echo "==ERROR== Failed to find metric smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio" > "$log"
    exit 1 ;;
esac
cp "$here/raw.csv" "$log"
arguments=("${@//4096x4096x4096/8}")
exec "$program" "${arguments[@]//gpu:0/emulator}"
"#;

#[cfg(unix)]
#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn rungs_are_recorded_with_what_ncu_says() {
    use std::os::unix::fs::PermissionsExt;

    let sass = "\"Kernel Name\",\"gemm\"\n\
        \"Address\",\"Source\",\"Instructions Executed\",\"thread_inst_executed_true\",\"L1 Tag Requests Global\",\"L1 Wavefronts Shared\",\
        \"L1 Wavefronts Shared Ideal\",\"L2 Theoretical Sectors Global\"\n\
        \"0x10\",\"      LDG.E R4, [R2] \",\"64\",\"2048\",\"64\",\"0\",\"0\",\"256\"\n\
        \"0x20\",\"      LDL R4, [R2] \",\"7\",\"7\",\"0\",\"0\",\"0\",\"0\"\n";
    let both = "\"File Path\",\"/rungs/x/kernel.cu\"\n\"Function Name\",\"gemm\"\n\
        \"Line No\",\"Source\",\"Address\",\"Source\"\n\
        \"9\",\"a\",\"\",\"\"\n\"\",\"\",\"0x10\",\"LDG.E R4, [R2]\"\n";
    let raw = "\"ID\",\"Kernel Name\",\"gpu__time_duration.sum\"\n\"\",\"\",\"ns\"\n\"0\",\"gemm\",\"1,234\"\n";
    let tools = folder(
        "ncu",
        &[
            ("ncu", NCU.as_bytes()),
            ("sass.csv", sass.as_bytes()),
            ("both.csv", both.as_bytes()),
            ("raw.csv", raw.as_bytes()),
        ],
    );
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(tools.join("ncu"), mode).expect("one's own file");
    let path = std::env::var("PATH").unwrap_or_default();
    let made = folder("rungs", &[]);
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(["calibrate", "--only", "rungs,stalls", "--record"])
        .arg(&made)
        .env("PATH", format!("{}:{path}", tools.display()))
        .output()
        .expect("the ladder starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let aside = String::from_utf8_lossy(&output.stderr);
    // The bits are equal, being the emulator's own; the accesses are not those of any rung.
    assert_eq!(output.status.code(), Some(1), "{said}{aside}");
    let read = |name: &str| std::fs::read_to_string(made.join(name)).expect(name);
    let bits = read("rungs.csv");
    let kernels = bits.lines().count() - 1;
    assert!(kernels >= 2 * 6, "{bits}");
    assert!(
        said.contains(&format!("equal {kernels} of {kernels} kernels")),
        "{said}"
    );
    assert!(said.contains("2 instructions, 1 with a line"), "{said}");
    assert!(said.contains("LDL: expected requests 7, "), "{said}");
    assert!(said.contains("not compared: cp.async: "), "{said}");
    let accesses = read("accesses.csv");
    assert!(
        accesses.contains("\n01_naive,sm_80,,256x256x256,9,LDG.E,false,1,64,2048,0,0,256,64\n"),
        "{accesses}"
    );
    assert!(
        accesses.contains("\n01_naive,sm_80,,256x256x256,,LDL,false,1,7,7,0,0,0,0\n"),
        "{accesses}"
    );
    let stalls = read("stalls.csv");
    let mut lines = stalls.lines();
    let columns = lines.next().expect("names").split(',').count();
    assert_eq!(2 * lines.clone().count(), kernels, "{stalls}");
    for line in lines {
        assert!(line.contains(",4096x4096x4096,1234,,"), "{line}");
        assert_eq!(line.split(',').count(), columns);
    }
    assert!(read("provenance.json").contains("\"ncu\": \"Version 2025.3.0.0\""));

    // The comparison without a GPU is the same.
    let (code, again, _) = calibrate(&[
        "--only",
        "rungs",
        "--against",
        made.to_str().expect("UTF-8"),
    ]);
    assert_eq!(code, Some(1));
    assert!(said.ends_with(&again), "{said}\n{again}");
}
