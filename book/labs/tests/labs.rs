//! The experiments as a reader runs them, on the emulator.
use std::collections::BTreeSet;
use std::path::Path;

use layout::expression::Expression;
use layout::mapping::{Mapping, Shape};
use serde_json::Value;

/// The exit code and the output.
fn run(words: &[&str]) -> (u8, String) {
    let words = [&["labs", "--device", "emulator"], words].concat();
    let mut out = Vec::new();
    let code = labs::main_with(&words, &mut out);
    (code, String::from_utf8(out).expect("text"))
}

fn json(words: &[&str]) -> Value {
    let (_, text) = run(&[words, &["--json"]].concat());
    serde_json::from_str(&text).expect("an object")
}

fn number(report: &Value, launch: &str, pointer: &str) -> u64 {
    let counters = &report["launches"][launch]["counters"];
    let number = counters.pointer(pointer).and_then(Value::as_u64);
    number.unwrap_or_else(|| panic!("{launch} has no {pointer}"))
}

/// All values are compared with the expected ones; snapshots pin the counters.
#[test]
fn each_lab_shows_its_lesson() {
    for lab in labs::names() {
        let (code, text) = run(&[lab]);
        assert_eq!(code, 0, "{text}");
        insta::assert_snapshot!(lab, text);
    }
}

#[test]
fn what_the_sanitizer_finds_is_what_is_meant() {
    let mut all = String::new();
    for lab in labs::names() {
        let (code, text) = run(&[lab, "sanitize"]);
        assert_eq!(
            code == 0,
            !text.contains(" error\n") && !text.contains("and yet"),
            "{text}"
        );
        all += &format!("{lab}: exit code {code}\n{text}\n");
    }
    insta::assert_snapshot!("sanitize", all);
}

#[test]
fn a_profile_lists_each_kernel_once_or_each_launch() {
    insta::assert_snapshot!("profile_of_kernels", run(&["transpose", "profile"]).1);
    let words = ["attention", "profile", "--only", "plain"];
    insta::assert_snapshot!("profile_of_a_launch", run(&words).1);
    let (_, text) = run(&["attention", "profile"]);
    assert_eq!(text.matches("const int head =").count(), 2);
}

/// Another order of warps and blocks changes nothing: values, counters, findings. Only how often a cluster polls depends on it, while it waits for
/// the clusters that share its tile.
#[test]
fn no_lab_depends_on_the_order_of_warps() {
    let without_polls = |mut of: serde_json::Value| {
        if let Some(split) = of.pointer_mut("/launches/128x256 split") {
            split["counters"].take();
        }
        of
    };
    for lab in labs::names() {
        let first = without_polls(json(&[lab]));
        for schedule in ["1", "2", "3"] {
            let other = without_polls(json(&[lab, "--schedule", schedule]));
            assert_eq!(other, first, "{lab}, {schedule}");
        }
    }
}

/// The folders with kernels are the list of experiments.
#[test]
fn each_folder_is_an_experiment() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = folder.read_dir().expect("a folder").flatten();
    let has_kernels = |path: &Path| {
        let mut files = path.read_dir().into_iter().flatten().flatten();
        files.any(|file| file.path().extension().is_some_and(|ending| ending == "cu"))
    };
    let folders: BTreeSet<String> = entries
        .filter(|entry| has_kernels(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let names: BTreeSet<String> = labs::names().into_iter().map(str::to_owned).collect();
    assert_eq!(folders, names);
    assert_eq!(names.len(), labs::names().len());
    let (code, list) = run(&[]);
    assert_eq!(code, 0);
    let readme = std::fs::read_to_string(folder.join("README.md")).expect("a README");
    for name in names {
        assert!(
            list.contains(&name) && readme.contains(&format!("| `{name}` |")),
            "{name}"
        );
    }
}

#[test]
fn the_list_is_an_object_too() {
    let list = json(&[]);
    let listed = list["labs"].as_object().expect("labs by their names");
    let listed: BTreeSet<&str> = listed.keys().map(String::as_str).collect();
    assert_eq!(listed, labs::names().into_iter().collect());
    let (_, text) = run(&[]);
    let about = list["labs"]["transpose"].as_str().expect("a line");
    assert!(text.contains(about), "{text}");
}

/// The first and the last of each lab: all are selected in the same way.
#[test]
fn a_launch_can_be_selected() {
    for lab in labs::names().into_iter().filter(|lab| *lab != "attention") {
        let report = json(&[lab]);
        let launches = report["launches"].as_object().expect("launches");
        for name in launches.keys() {
            assert!(
                !name.contains(['/', '~']),
                "{name} is not a part of a JSON pointer"
            );
        }
        let ends = [launches.iter().next(), launches.iter().next_back()];
        for (name, of_all) in ends.into_iter().flatten() {
            let alone = &json(&[lab, "--only", name])["launches"];
            assert_eq!(
                alone.as_object().map(|launches| launches.len()),
                Some(1),
                "{name}"
            );
            assert_eq!(&alone[name], of_all, "{name}");
        }
    }
}

/// A stride of s words costs gcd(s, 32) wavefronts.
#[test]
fn a_stride_costs_its_common_divisor_with_32() {
    let report = json(&["broadcast"]);
    for stride in [1u64, 2, 3, 4, 8, 16, 32, 33] {
        let divisor = (1..=32).rev().find(|d| stride % d == 0 && 32 % d == 0);
        let loads = "/by_kind/shared_loads/wavefronts";
        let found = number(&report, &format!("stride {stride}"), loads);
        assert_eq!(Some(found), divisor, "stride {stride}");
    }
}

/// The counters of executed PTX agree with the formulas of `layout` for every mask.
#[test]
fn masks_do_what_layout_predicts() {
    let report = json(&["half_masks"]);
    let mut checked = 0;
    for (name, launch) in report["launches"].as_object().expect("launches") {
        let (row_bytes, map) = name.split_once(": ").expect("a row and a map");
        let expression = map.replace("chunk", "col");
        let shape = Shape {
            row_bytes: row_bytes.parse().expect("a number"),
            unit_bytes: 16,
            rows: 16,
        };
        let Ok(expression) = Expression::parse(&expression) else {
            assert!(map.starts_with("element"), "{map}");
            continue;
        };
        let mapping = Mapping::of_expression(&expression, shape).expect("a mapping");
        assert_eq!(mapping.is_bijective(), launch["wrong"] == 0, "{name}");
        if mapping.is_bijective() {
            let loads =
                |what: &str| number(&report, name, &format!("/by_kind/shared_loads/{what}"));
            let degree = mapping.matrix_degree().expect("eight rows");
            assert_eq!(
                loads("wavefronts"),
                u64::from(degree) * loads("ideal"),
                "{name}"
            );
        }
        checked += 1;
    }
    assert_eq!(checked, 10);
}

/// The statements of the chapters.
#[test]
fn the_lessons_as_counters() {
    let report = json(&["attention"]);
    let of = |launch: &str, pointer: &str| number(&report, launch, pointer);
    for kind in ["shared_stores", "shared_loads", "shared_copies"] {
        let ideal = of("plain", &format!("/by_kind/{kind}/ideal"));
        assert_eq!(
            of("swizzled", &format!("/by_kind/{kind}/wavefronts")),
            ideal,
            "{kind}"
        );
    }
    let stores = |of_what: &str| of("plain", &format!("/by_kind/shared_stores/{of_what}"));
    assert_eq!(stores("wavefronts"), 8 * stores("ideal"));
    // The same machine code: the same instructions, whatever the mask.
    assert_eq!(
        of("plain", "/instructions"),
        of("swizzled", "/instructions")
    );

    let report = json(&["modes"]);
    for mode in ["none", "32B", "64B", "128B"] {
        assert_eq!(number(&report, mode, "/bank_conflicts"), 0, "{mode}");
        let wavefronts = number(&report, mode, "/by_kind/shared_other/wavefronts");
        assert_eq!(
            wavefronts,
            number(&report, "none", "/by_kind/shared_other/wavefronts")
        );
    }
    let conflicts = |launch: &str| number(&report, launch, "/bank_conflicts");
    assert_eq!(conflicts("read back: 128B"), 0);
    assert!(conflicts("read back: rows of 128 bytes") > 0);

    // Rows of B along K have no conflicts either.
    let report = json(&["bf16_tn"]);
    for tile in ["128x256", "192x128", "128x128", "64x128", "64x64"] {
        assert_eq!(number(&report, tile, "/bank_conflicts"), 0, "{tile}");
    }
}

#[test]
fn mistakes_are_named() {
    for (words, named) in [
        (&["nothing"][..], "there is no lab nothing"),
        (&["transpose", "--only", "padde"], "padded"),
        (&["transpose", "explain"], "explain"),
        (&["transpose", "time"], "GPU"),
        (&["bf16_tn", "time"], "GPU"),
        (&["bf16_tn", "--sizes", "512"], "--sizes"),
        (&["bf16_tn", "time", "--sizes", "512y"], "512y"),
        (
            &["bf16_tn", "--kernel", "bf16_tn/kernel.64x128.ptx"],
            "--only 64x128",
        ),
        (&["transpose", "--scale", "large"], "small"),
        (&["transpose", "--kernel", "nowhere.ptx"], "nowhere.ptx"),
        (&["transpose", "--kernel", "Cargo.toml"], "Cargo.toml"),
        (
            &["transpose", "--kernel", "broadcast/kernel.ptx"],
            "strided",
        ),
    ] {
        let (code, text) = run(words);
        assert!(
            code == 2 && text.contains(named),
            "{words:?}: {code}, {text}"
        );
    }
}

/// The lines that rung 17 does not have, and the lines of rung 17 that it does not have, in order.
#[test]
fn bf16_tn_is_rung_17_except_for_these_lines() {
    let ours = include_str!("../bf16_tn/kernel.cu");
    let rung = include_str!("../../../rungs/17_narrow_tiles/kernel.cu");
    let only_in = |one: &str, other: &str, sign: &str| {
        let there: BTreeSet<&str> = other.lines().collect();
        let mut found: Vec<String> = one
            .lines()
            .filter(|line| !there.contains(line))
            .map(|line| format!("{sign} {line}"))
            .collect();
        found.push(String::new());
        found.join("\n")
    };
    let lines = only_in(rung, ours, "<") + "\n" + &only_in(ours, rung, ">");
    insta::assert_snapshot!("bf16_tn_beside_rung_17", lines);
}

/// A kernel with a wrong layout of B, a wrong half of it, or the wrong type fails.
#[test]
fn a_broken_bf16_tn_is_found_out() {
    let ptx = std::fs::read_to_string("bf16_tn/kernel.128x256.ptx").expect("committed PTX");
    let name = format!("labs-{}-bf16-tn.ptx", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = path.display().to_string();
    let words = ["bf16_tn", "--only", "128x256", "--kernel", &file];
    for (right, wrong) in [
        ("p, 1, 1, 0, 0;", "p, 1, 1, 0, 1;"),
        (".f32.bf16.bf16", ".f32.f16.f16"),
        ("cvt.rn.bf16x2.f32", "cvt.rn.f16x2.f32"),
    ] {
        assert!(ptx.contains(right), "{right}");
        std::fs::write(&path, ptx.replace(right, wrong)).expect("writable");
        let (code, text) = run(&words);
        assert!(
            code == 1 && text.contains("does not show"),
            "{wrong}: {text}"
        );
    }
    std::fs::remove_file(&path).expect("it was written above");
}

/// The same launches with another kernel: one that writes something else fails.
#[test]
fn a_broken_kernel_is_found_out() {
    let ptx = std::fs::read_to_string("transpose/kernel.ptx").expect("committed PTX");
    let name = format!("labs-{}-broken.ptx", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = path.display().to_string();
    let broken = |instruction: &str, other: &str| {
        assert!(ptx.contains(instruction), "{instruction}");
        std::fs::write(&path, ptx.replace(instruction, other)).expect("writable");
        let (code, text) = run(&["transpose", "--kernel", &file]);
        assert_eq!(code, 1, "{text}");
        text
    };
    let (code, text) = run(&["transpose", "--max-instructions", "100"]);
    assert!(code == 1 && text.contains("--max-instructions"), "{text}");
    // An `or` maps several columns of a row to one place; the other two kernels are correct.
    let text = broken("xor.b32", "or.b32");
    assert_eq!(text.matches("does not show").count(), 1, "{text}");
    assert!(text.contains("of 1,024 wrong"), "{text}");
    let text = broken("st.global.f32", "st.shared.f32");
    assert_eq!(
        text.matches("Invalid __shared__ write").count(),
        3,
        "{text}"
    );
    std::fs::remove_file(&path).expect("it was written above");
}
