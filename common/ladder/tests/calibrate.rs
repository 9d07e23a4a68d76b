//! `cargo ladder calibrate`: what is equal, what differs, and what cannot be read.
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../emulator/tests/h100");

/// Exit code, standard output, standard error.
fn calibrate(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .arg("calibrate")
        .args(arguments)
        // It needs no checkout.
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
    let (code, said, _) = calibrate(&[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("shared_memory.csv          equal 450 of 450 rows\n"),
        "{said}"
    );
    assert!(said.ends_with("equal 2325 of 2325 in 10 files\n"), "{said}");
    // What travels with the program is what lies in the folder.
    assert_eq!(against(Path::new(RECORDED)), (Some(0), said, String::new()));
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
        aside.contains("notes.md: no recording has such a name"),
        "{aside}"
    );
    for line in [
        "global_memory_2.csv        equal 83 of 84 rows\n",
        "  line 2: ld, 4 bytes a lane: expected sectors 5, requests 1, found sectors 4, requests 1\n",
        "mma_m16n8k8_f16.bin        equal 128 of 128 records\n",
        "wgmma_m64n8k16_bf16.bin    equal 127 of 128 records\n  record 5: D[0][0], the first of 1 outputs",
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
            "mma_m16n8k8_f16.bin: record 1 is cut",
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
    // A number that no machine has, so that this holds where there is a GPU, too.
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
