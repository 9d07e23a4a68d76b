//! The invariants of ARCHITECTURE.md, one test for each.
use std::collections::BTreeSet;
use std::path::Path;

use harness::KernelOnDisk;
use ladder_tests::workspace::{files, folders, labs, program, read, root, rungs};

/// The workspace's packages and their folders.
const PACKAGES: &[(&str, &str)] = &[
    ("layout", "common/layout"),
    ("emulator", "common/emulator"),
    ("clock", "common/clock"),
    ("gpu", "common/gpu"),
    ("driver", "common/driver"),
    ("problem", "common/problem"),
    ("harness", "common/harness"),
    ("explain", "common/explain"),
    ("ladder", "common/ladder"),
    ("grader", "course/grader"),
    ("calibration", "calibration"),
    ("labs", "book/labs"),
    ("live", "book/live"),
    ("transcript", "common/transcript"),
];

/// The packages of the workspace that a package depends on, including its tests.
fn dependencies(folder: &Path) -> BTreeSet<String> {
    let path = folder.join("Cargo.toml");
    let manifest: toml::Table = read(&path).parse().expect("a manifest");
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let of_targets = targets.into_iter().flat_map(toml::Table::values);
    let tables = of_targets.filter_map(toml::Value::as_table);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let tables = tables.chain([&manifest]);
    let dependencies = tables.flat_map(|table| kinds.map(|kind| table.get(kind)));
    let names = dependencies.flatten().filter_map(toml::Value::as_table);
    names.flat_map(|table| table.keys().cloned()).collect()
}

fn ours(folder: &Path) -> BTreeSet<String> {
    let rungs: Vec<String> = rungs()
        .iter()
        .filter_map(|rung| Some(format!("rung{}", rung.file_name()?.to_str()?)))
        .collect();
    let is_ours =
        |name: &String| PACKAGES.iter().any(|(package, _)| package == name) || rungs.contains(name);
    dependencies(folder).into_iter().filter(is_ours).collect()
}

/// Lines that are neither blank nor only a comment.
fn code_lines(text: &str) -> usize {
    let mut count = 0;
    let mut in_comment = false;
    for line in text.lines() {
        let line = line.trim();
        if in_comment || line.starts_with("/*") {
            in_comment = !line.contains("*/");
        } else if !line.is_empty() && !line.starts_with("//") {
            count += 1;
        }
    }
    count
}

#[test]
fn who_may_depend_on_whom() {
    let allowed = |package: &str| -> &[&str] {
        match package {
            "clock" => &["emulator"],
            "harness" => &["clock", "emulator", "gpu", "problem"],
            "driver" => &["emulator", "harness"],
            "grader" => &["layout", "emulator", "harness"],
            "calibration" => &["emulator", "gpu", "harness"],
            "explain" => &["layout", "emulator", "harness"],
            "ladder" => &[
                "layout",
                "emulator",
                "explain",
                "harness",
                "transcript",
                "grader",
                "calibration",
            ],
            "labs" => &["emulator", "gpu", "harness", "layout"],
            // Everything that a page needs; the rungs are compiled in as modules.
            "live" => &[
                "layout",
                "emulator",
                "clock",
                "explain",
                "harness",
                "labs",
                "transcript",
            ],
            _ => &[],
        }
    };
    for (package, folder) in PACKAGES {
        let found = ours(&root().join(folder));
        let extra: Vec<_> = found
            .iter()
            .filter(|name| !allowed(package).contains(&name.as_str()))
            .collect();
        assert!(extra.is_empty(), "{package} may not depend on {extra:?}");
    }
    // The book runs the programs as a reader would, and depends on none of them.
    let book = ours(&root().join("book/preprocessor"));
    assert_eq!(book, BTreeSet::from(["transcript".to_string()]));
    for rung in rungs() {
        assert_eq!(
            ours(&rung),
            BTreeSet::from(["harness".to_string()]),
            "{rung:?}"
        );
        assert_eq!(
            dependencies(&rung).len(),
            1,
            "{rung:?} needs the harness and nothing else"
        );
    }
    let in_common = |(_, folder): &&(&str, &str)| folder.starts_with("common/");
    assert_eq!(
        folders(&root().join("common")).len(),
        PACKAGES.iter().filter(in_common).count(),
        "a package in common/ that no rule names"
    );
}

#[test]
fn the_emulator_knows_no_rung() {
    for file in files(&root().join("common/emulator/src"), ".rs") {
        let text = read(&file);
        for word in ["rung", "gemm", "naive", "harness"] {
            assert!(!text.contains(word), "{} says {word:?}", file.display());
        }
    }
}

#[test]
fn only_gpu_names_cudarc_and_only_c_interfaces_are_unsafe() {
    // Crates that call a C interface, and crates that export one.
    let doors = [
        "common/gpu",
        "common/driver/src/host.rs",
        "common/driver/src/nvrtc.rs",
        "book/live/src/exports.rs",
    ];
    for file in files(root(), ".rs")
        .into_iter()
        .chain(files(root(), "Cargo.toml"))
    {
        let inside = file.strip_prefix(root()).expect("below the root");
        if inside.starts_with("common/gpu") || inside.ends_with("invariants.rs") {
            continue;
        }
        let text = read(&file);
        assert!(
            !text.contains("cudarc"),
            "{} names cudarc",
            inside.display()
        );
        if doors.iter().any(|door| inside.starts_with(door)) {
            continue;
        }
        let is_unsafe = text.lines().any(|line| {
            line.contains("unsafe {") || line.contains("unsafe fn") || line.contains("unsafe impl")
        });
        assert!(!is_unsafe, "{} is unsafe", inside.display());
    }
    let of_doors =
        ["common/gpu", "common/driver", "book/live"].map(|door| files(&root().join(door), ".rs"));
    for file in of_doors.into_iter().flatten() {
        let lines: Vec<String> = read(&file).lines().map(str::to_string).collect();
        for (i, line) in lines.iter().enumerate() {
            if line.contains("unsafe {") || line.contains("unsafe impl") {
                let before = lines[i.saturating_sub(6)..=i].join("\n");
                assert!(
                    before.contains("SAFETY:"),
                    "{}:{} has no SAFETY line",
                    file.display(),
                    i + 1
                );
            }
        }
    }
}

#[test]
fn the_folder_is_the_only_list_of_rungs() {
    for rung in rungs() {
        let name = rung
            .file_name()
            .and_then(|name| name.to_str())
            .expect("a name");
        let manifest = read(&rung.join("Cargo.toml"));
        assert!(
            manifest.contains(&format!("name = \"rung{name}\"")),
            "{name}"
        );
        assert!(
            read(&rung.join("src/main.rs")).contains(&format!("\"{name}\"")),
            "{name} is called otherwise in main.rs"
        );
    }
    let workspace = read(&root().join("Cargo.toml"));
    assert!(
        workspace.contains("\"rungs/*\"") && !workspace.contains("rungs/0"),
        "the workspace lists no rung by name"
    );
}

#[test]
fn files_stay_small() {
    for rung in rungs() {
        let lines = code_lines(&read(&rung.join("src/main.rs")));
        assert!(lines < 60, "{rung:?}: main.rs has {lines} lines of code");
        for kernel in files(&rung, ".cu") {
            // The last rungs contain everything that the previous ones introduced.
            let last = ["13_", "14_", "15_", "16_", "17_"].iter().any(|last| {
                rung.file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with(last))
            });
            // Rung 16 also says who computes what of a split tile, and who adds it up; 17, which tiles are narrower.
            let limit = match last {
                true if rung.ends_with("16_stream_k") => 260,
                true if rung.ends_with("17_narrow_tiles") => 290,
                true => 220,
                false => 150,
            };
            let lines = code_lines(&read(&kernel));
            assert!(
                lines < limit,
                "{} has {lines} lines of code",
                kernel.display()
            );
        }
    }
    for kernel in labs().iter().flat_map(|lab| files(lab, ".cu")) {
        let lines = code_lines(&read(&kernel));
        let name = kernel.display();
        // One lab is the last rung for another type, with `wgmma`s of its own.
        let limit = if kernel.ends_with("bf16_tn/kernel.cu") {
            330
        } else {
            150
        };
        assert!(lines < limit, "{name} has {lines} lines of code");
    }
}

#[test]
fn every_kernel_opens_with_its_lesson() {
    for rung in rungs() {
        for kernel in files(&rung, ".cu") {
            let text = read(&kernel);
            let head: Vec<&str> = text
                .lines()
                .take_while(|line| line.starts_with("//"))
                .collect();
            assert!(
                (3..=8).contains(&head.len()),
                "{}: a header of three sentences",
                kernel.display()
            );
            let head = head.join(" ");
            assert!(
                head.contains("counter")
                    && head.contains("cargo run -p rung")
                    && head.contains("-- profile"),
                "{}",
                kernel.display()
            );
        }
    }
    for lab in labs() {
        let name = lab.file_name().unwrap_or_default().to_string_lossy();
        for kernel in files(&lab, ".cu") {
            let text = read(&kernel);
            let head: Vec<&str> = text
                .lines()
                .take_while(|line| line.starts_with("//"))
                .collect();
            let command = format!("cargo run -p labs -- {name}");
            let whole = head.join(" ");
            assert!(
                head.len() <= 8 && whole.contains("counter") && whole.contains(&command),
                "{}",
                kernel.display()
            );
        }
    }
}

#[test]
fn committed_ptx_belongs_to_its_source() {
    let mut checked = 0;
    for folder in rungs().into_iter().chain(labs()) {
        for kernel in KernelOnDisk::in_folder(&folder).expect("a readable folder") {
            if let Err(why) = harness::ptx_file::check(&kernel.kernel()) {
                panic!(
                    "{}: {why}; run `cargo ladder ptx`",
                    kernel.ptx_path.display()
                );
            }
            checked += 1;
        }
    }
    let sources = rungs().into_iter().chain(labs());
    let sources = sources.flat_map(|folder| files(&folder, ".cu")).count();
    assert!(checked >= sources, "{checked} of {sources} files");
}

#[test]
fn committed_machine_code_belongs_to_its_ptx() {
    for folder in rungs() {
        for on_disk in KernelOnDisk::in_folder(&folder).expect("a readable folder") {
            let kernel = on_disk.kernel();
            assert!(
                kernel.has_sass_of(kernel.ptx),
                "the .sass beside {} is of other PTX; run `cargo ladder ptx` where ptxas is found",
                on_disk.ptx_path.display()
            );
        }
    }
}

#[test]
fn committed_ptx_leaves_no_rounding_open_and_names_no_machine() {
    let folders = ["rungs", "book/labs"].map(|folder| root().join(folder));
    for ptx in folders.iter().flat_map(|folder| files(folder, ".ptx")) {
        let text = read(&ptx);
        let inside = ptx.strip_prefix(root()).expect("below the root");
        let folder = inside.parent().expect("a folder").to_string_lossy();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            let opcode = line
                .split_whitespace()
                .find(|word| !word.starts_with('@'))
                .unwrap_or_default();
            let parts: Vec<&str> = opcode.split('.').collect();
            // An approximate instruction that the emulator executes has the bits of the hardware.
            let is_approximate = emulator::approximate::function(opcode).is_some();
            if parts.last() == Some(&"f32")
                && !is_approximate
                && matches!(
                    parts[0],
                    "add" | "sub" | "mul" | "fma" | "mad" | "div" | "sqrt" | "rcp"
                )
            {
                let rounded = ["rn", "rz", "rm", "rp"]
                    .iter()
                    .any(|one| parts.contains(one));
                assert!(rounded, "{}:{number}: {line}", ptx.display());
            }
            assert!(
                is_approximate || !opcode.contains("approx"),
                "{}:{number}: {line}",
                ptx.display()
            );
            if line.starts_with(".file") {
                assert!(
                    line.contains(&format!("\"/{folder}/"))
                        || line.contains("\"/rungs/hopper.cuh\""),
                    "{}:{number}: {line}",
                    ptx.display()
                );
            }
        }
    }
}

#[test]
fn neighboring_rungs_keep_their_shape() {
    let kernel = |name: &str| read(&root().join("rungs").join(name).join("kernel.cu"));
    let (smem, padded) = (kernel("02_smem"), kernel("03_padded"));
    let body = |text: &str| {
        text.lines()
            .skip_while(|line| line.starts_with("//"))
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    let changed = body(&smem)
        .iter()
        .zip(&body(&padded))
        .filter(|(a, b)| a != b)
        .count();
    assert_eq!(body(&smem).len(), body(&padded).len());
    assert_eq!(
        changed, 1,
        "03 differs from 02 in its leading dimension and nothing else"
    );

    let (mma, swizzle) = (kernel("04_mma"), kernel("05_swizzle"));
    let only_in = |a: &str, b: &str| {
        a.lines()
            .filter(|line| !b.lines().any(|other| other == *line))
            .count()
    };
    let (removed, added) = (only_in(&mma, &swizzle), only_in(&swizzle, &mma));
    assert!(
        removed <= 15 && added <= 15,
        "05 takes {removed} lines from 04 and adds {added}"
    );
    let without = swizzle
        .replace("(aChunk ^ (row & 7))", "aChunk")
        .replace("(bChunk ^ (row & 7))", "bChunk")
        .replace("(chunk ^ (row & 7))", "chunk");
    assert_eq!(body(&without), body(&mma), "05 without its XOR is 04");
}

/// The last line of `cargo ladder diff N`. 02, 04 and 10 replace the inner loop; 16 says who computes what of a split tile, and
/// who adds it up.
#[test]
fn a_rung_changes_few_lines_of_the_one_that_it_builds_on() {
    const MOST: u32 = 60;
    const MOST_IN_16: u32 = 110;
    const NEW_INNER_LOOP: [&str; 3] = ["02_smem", "04_mma", "10_wgmma"];
    for rung in rungs().iter().skip(1) {
        let name = rung.file_name().unwrap_or_default().to_string_lossy();
        let output = program("ladder")
            .args(["diff", &name])
            .output()
            .expect("the ladder");
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().last().unwrap_or_default();
        let numbers = last
            .split_whitespace()
            .filter_map(|word| word.parse::<u32>().ok());
        let changed = numbers.max().unwrap_or_else(|| panic!("{name}: {last}"));
        let most = match &*name {
            "16_stream_k" => MOST_IN_16,
            _ => MOST,
        };
        assert!(
            changed <= most || NEW_INNER_LOOP.contains(&name.as_ref()),
            "{name}: {last}"
        );
    }
}

#[test]
fn every_invariant_in_the_architecture_names_its_test() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let packages = folders(&root().join("common")).into_iter();
    let tests: String = packages
        .map(|package| package.join("tests"))
        .chain([
            root().join("tests/tests"),
            root().join("book/preprocessor/tests"),
            root().join("calibration/tests"),
            root().join("course/grader/tests"),
        ])
        .flat_map(|folder| files(&folder, ".rs"))
        .map(|path| read(&path))
        .collect();
    let (_, section) = text
        .split_once("## Invariants")
        .expect("a section on invariants");
    let section = section.split("\n## ").next().expect("a section");
    let named: Vec<&str> = section
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| word.contains('_') && !word.contains(['.', '/', ' ']))
        .collect();
    assert!(named.len() >= 7, "{named:?}");
    for name in named {
        assert!(
            tests.contains(&format!("fn {name}()")),
            "ARCHITECTURE.md names the test {name}, which is not there"
        );
    }
}
