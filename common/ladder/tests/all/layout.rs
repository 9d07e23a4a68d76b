//! `cargo ladder layout` and `cargo ladder banks` as a reader calls them: output, errors, exit codes.
use std::path::PathBuf;
use std::process::{Command, Output};

fn ladder(arguments: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_ladder");
    Command::new(program)
        .args(arguments)
        .output()
        .expect("the ladder starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A file of this test's own.
fn file(name: &str, content: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ladder-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a writable folder for temporary files");
    let path = folder.join(name);
    std::fs::write(&path, content).expect("writable");
    path
}

#[test]
fn tables_in_three_formats() {
    for (arguments, shown) in [
        (
            &["layout", "swizzle", "3", "4", "3"][..],
            "column read    1-way, without the swizzle 8-way",
        ),
        (
            &["layout", "swizzle", "3", "4", "-3"],
            "units leave their rows",
        ),
        (&["layout", "swizzles"], "tiles side by side"),
        (&["layout", "xor", "4"], "is col ^ row  yes"),
        (
            &["layout", "fragment", "m16n8k16", "a"],
            "row 8    0.2  0.3",
        ),
        (&["layout", "fragment", "stmatrix.x4.trans"], "lane 8 j + r"),
        (
            &["layout", "descriptor", "decode", "0x4000004000010042"],
            "128-byte swizzle",
        ),
        (
            &[
                "layout",
                "descriptor",
                "encode",
                "--start",
                "0x400",
                "--stride",
                "1024",
                "--swizzle",
                "128",
            ],
            "0x4000004000010040",
        ),
        (
            &[
                "layout",
                "descriptor",
                "canonical",
                "mn",
                "64",
                "--mn",
                "64",
            ],
            "Swizzle<2,4,3> o",
        ),
        (&["layout", "bankmap", "--ld", "33"], "wavefronts      1\n"),
        (&["layout", "bankmap", "--phases"], "16 bytes"),
        (
            &[
                "layout",
                "tmem",
                "accumulator",
                "--m",
                "256",
                "--cta-group",
                "2",
            ],
            "Layout A",
        ),
        (
            &[
                "layout",
                "tmem",
                "scales",
                "b",
                "4X",
                "--rows",
                "256",
                "--cta-group",
                "2",
            ],
            "copies of each factor  8",
        ),
        (
            &["layout", "axis", "S[(8, 4, 2) : (4@laneid, 1@laneid, 1@m)]"],
            "laneid                         0 to 31",
        ),
        (
            &[
                "layout",
                "map",
                "col ^ (row & 7)",
                "--row-bytes",
                "128",
                "--unit",
                "16",
            ],
            "ldmatrix              1-way",
        ),
        (
            &[
                "layout",
                "map",
                "col",
                "--row-bytes",
                "16",
                "--unit",
                "4",
                "--bytes",
                "4",
                "--banks",
                "4",
            ],
            "column read           4-way",
        ),
        (
            &[
                "layout",
                "map",
                "--table",
                "2 3 1 0; 0 1 2 3; 1 0 3 2; 3 2 0 1",
            ],
            "bijective             yes",
        ),
    ] {
        let plain = ladder(arguments);
        assert_eq!(
            plain.status.code(),
            Some(0),
            "{arguments:?}: {}",
            text(&plain.stderr)
        );
        assert!(
            text(&plain.stdout).contains(shown),
            "{arguments:?}: {}",
            text(&plain.stdout)
        );
        let svg = ladder(&[arguments, &["--format", "svg"]].concat());
        assert!(text(&svg.stdout).starts_with("<svg "), "{arguments:?}");
        let json = ladder(&[arguments, &["--format", "json"]].concat());
        let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
        assert!(
            json["grids"]
                .as_array()
                .is_some_and(|grids| !grids.is_empty()),
            "{arguments:?}"
        );
    }
}

#[test]
fn a_mapping_read_wider_than_it_keeps_together_is_refused() {
    for (arguments, remedy) in [
        (["--unit", "4", "--bytes", "16"], "take 4 or fewer"),
        (["--banks", "3", "--bytes", "4"], "powers of two"),
    ] {
        let output = ladder(&[&["layout", "map", "col ^ (row & 1)"], &arguments[..]].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains(remedy), "{arguments:?}");
    }
}

#[test]
fn a_mapping_that_loses_data_exits_with_1() {
    for (expression, shown) in [
        ("col & 6", "row 0, column 1 map to the same place"),
        ("col + row", "leaves its row"),
    ] {
        let output = ladder(&["layout", "map", expression]);
        assert_eq!(output.status.code(), Some(1), "{expression}");
        assert!(text(&output.stdout).contains(shown), "{expression}");
    }
}

#[test]
fn what_is_wrong_exits_with_2_and_names_the_remedy() {
    for (arguments, remedy) in [
        (
            &["layout", "swizzle", "3", "4", "2"][..],
            "take S = 3 or -3",
        ),
        (&["layout", "swizzle", "2", "4", "0"], "not a bijection"),
        (&["layout", "swizzle", "4294967295", "4", "3"], "at most 32"),
        (
            &["layout", "map", "col ^ rows"],
            "expected a number, row, col or (, found rows",
        ),
        (
            &["layout", "map", "col / row"],
            "at row 0, column 0 the expression divides by zero",
        ),
        (
            &["layout", "map", "col", "--unit", "3"],
            "the unit must be a power of two",
        ),
        (
            &["layout", "map", "col", "--rows", "4294967295"],
            "take fewer rows",
        ),
        (
            &["layout", "map", "--table", "0 1; 0"],
            "row 1 of the table must hold 2 columns",
        ),
        (&["layout", "map"], "--table"),
        (
            &[
                "layout",
                "bankmap",
                "--rows",
                "8",
                "--columns",
                "128",
                "--ld",
                "129",
                "--bytes",
                "16",
            ],
            "132 does",
        ),
        (&["layout", "bankmap", "--ld", "16"], "at least its columns"),
        (
            &["layout", "fragment", "m16n8k16"],
            "needs an operand: a, b or c",
        ),
        (
            &["layout", "fragment", "m32n8k16", "a"],
            "there are m16n8k8 and m16n8k16",
        ),
        (&["layout", "descriptor", "decode", "xyz"], "hexadecimal"),
        (
            &["layout", "descriptor", "encode", "--stride", "8"],
            "multiple of 16",
        ),
        (
            &[
                "layout",
                "descriptor",
                "canonical",
                "k",
                "128",
                "--k",
                "128",
            ],
            "one descriptor for each further part",
        ),
        (
            &["layout", "tmem", "accumulator", "--m", "96"],
            "take 64 or 128",
        ),
        (
            &["layout", "tmem", "scales", "a", "2X", "--id", "1"],
            "2X takes 0 or 2",
        ),
        (
            &["layout", "axis", "S[(8, 4) : 1@m]"],
            "2 extents but 1 strides",
        ),
        (
            &["banks", "no-such-file.csv"],
            "cannot read no-such-file.csv",
        ),
    ] {
        let output = ladder(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(remedy), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

#[test]
fn banks_costs_each_row_and_names_the_bad_ones() {
    let path = file(
        "mixed.csv",
        "op,bytes_per_lane,byte_offset_per_lane,what\n\
         ldmatrix.x1,16,0 128 256 384 512 640 768 896,rows of 128 bytes\n\
         ld,4,0 4 8,too few\n\
         ldmatrix.x1,16,0 144 288 432 576 720 864 1008,rows of 144 bytes\n",
    );
    let path = path.to_string_lossy().into_owned();
    let output = ladder(&["banks", &path]);
    assert_eq!(output.status.code(), Some(1));
    let lines = text(&output.stdout);
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert_eq!(
        lines[0],
        "op,bytes_per_lane,byte_offset_per_lane,what,wavefronts,bank_conflicts,ideal"
    );
    assert!(
        lines[1].ends_with(",rows of 128 bytes,8,7,1")
            && lines[2].ends_with(",rows of 144 bytes,1,0,1"),
        "{lines:?}"
    );
    let said = text(&output.stderr);
    assert!(
        said.contains("mixed.csv:3: 3 byte offsets: ld has 32"),
        "{said}"
    );
    let drawn = ladder(&["banks", &path, "--draw", "1"]);
    assert_eq!(drawn.status.code(), Some(0));
    assert!(
        text(&drawn.stdout).contains("8-way conflict in 4 banks"),
        "{}",
        text(&drawn.stdout)
    );
    for (row, remedy) in [
        ("2", "write - for a lane"),
        ("9", "rows 1 to 3"),
        ("0", "rows 1 to 3"),
    ] {
        let output = ladder(&["banks", &path, "--draw", row]);
        assert_eq!(output.status.code(), Some(2), "row {row}");
        assert!(
            text(&output.stderr).contains(remedy),
            "row {row}: {}",
            text(&output.stderr)
        );
    }
    let headless = file("headless.csv", "1,2,3\n")
        .to_string_lossy()
        .into_owned();
    let output = ladder(&["banks", &headless]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("there is no column op"),
        "{}",
        text(&output.stderr)
    );
}

/// Every pattern that was recorded on an H100.
#[test]
fn banks_gives_what_the_hardware_gave() {
    let recorded = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../calibration/h100/shared_memory.csv"
    );
    let output = ladder(&["banks", recorded]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let recorded = std::fs::read_to_string(recorded).expect("readable");
    let found = text(&output.stdout);
    assert_eq!(recorded.lines().count(), found.lines().count());
    for (recorded, found) in recorded.lines().zip(found.lines()).skip(1) {
        assert!(
            found.starts_with(&format!("{recorded},")),
            "{recorded} but {found}"
        );
    }
}
