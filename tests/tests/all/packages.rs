//! The cost of compiling and reading the packages, and their promises to other programs.
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use ladder_tests::workspace::{files, read, root};

/// The features of each package in a build of a selection, from cargo's output.
fn features(selection: &[&str], kinds: &str) -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args([
            "tree",
            "--offline",
            "--locked",
            "--prefix",
            "none",
            "--no-dedupe",
        ])
        .args(["--edges", kinds, "--format", "{p}|{f}"])
        .args(selection)
        .current_dir(root())
        .output()
        .expect("cargo");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let Some((package, features)) = line.split_once('|') else {
            continue;
        };
        // The name and version, without the path.
        let package: Vec<&str> = package.split(' ').take(2).collect();
        all.entry(package.join(" "))
            .or_default()
            .insert(features.into());
    }
    all
}

/// A crate that a rung, the ladder and the tests need with different features is compiled again for each, and so is
/// everything that depends on it, including the emulator.
#[test]
fn what_is_compiled_is_shared() {
    let tests = features(&[], "normal,build,dev");
    for selection in [
        &["--package", "rung03_padded"][..],
        &["--package", "ladder"],
        &["--package", "driver"],
    ] {
        let mut others = Vec::new();
        for (package, features) in features(selection, "normal,build") {
            // Procedural macros are compiled once, for the host; `layout` has its command only in the ladder.
            if package.starts_with("syn ") || package.starts_with("layout ") {
                continue;
            }
            let in_tests = &tests[&package];
            if *in_tests != features {
                others.push(format!("{package}: {features:?}, in tests {in_tests:?}"));
            }
        }
        assert!(
            others.is_empty(),
            "cargo build {}: add the features to common/harness/Cargo.toml or course/grader/Cargo.toml:\n{}",
            selection.join(" "),
            others.join("\n")
        );
    }
}

/// CI runs the tests without a CUDA compiler, and then again with one those whose result may differ. For this package
/// they are in the modules that a step names.
#[test]
fn ci_runs_again_what_looks_for_a_compiler() {
    let ci = read(&root().join(".ci/run"));
    let step = |words: &str| {
        let found = ci
            .lines()
            .find(|line| line.trim_start().starts_with("step cargo test") && line.contains(words));
        found.unwrap_or_else(|| panic!("no step of .ci/run has {words}"))
    };
    let (ignored, again) = (
        step("-- --ignored "),
        step("-- --include-ignored attempts:: "),
    );
    for file in files(&root().join("tests/tests/all"), ".rs") {
        let name = file
            .file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        // These modules only mention the compiler.
        if ["invariants", "packages"].contains(&&*name) {
            continue;
        }
        let text = read(&file);
        let module = format!(" {name}::");
        let looks = ["Nvrtc", "has_nvrtc", "tools::", "ptxas()"]
            .iter()
            .any(|word| text.contains(word));
        assert!(
            !looks || again.contains(&module),
            "{name} looks for a compiler: {again}"
        );
        let has_ignored = text.contains("#[ignore");
        assert!(
            !has_ignored || ignored.contains(&module) || again.contains(&module),
            "{name} has ignored tests: {ignored}, {again}"
        );
    }
    for file in files(&root().join("calibration/src"), ".rs") {
        let folder = file.parent().and_then(Path::file_name);
        let module = format!(" {}::", folder.unwrap_or_default().display());
        let text = read(&file);
        let is_run_again = ["GEMM_REQUIRE", "#[ignore"]
            .iter()
            .any(|word| text.contains(word));
        assert!(
            !is_run_again || again.contains(&module),
            "{}: {again}",
            file.display()
        );
    }
    // The omitted packages do not use a compiler, except for these modules; the grader's tests that do are a step of their own.
    step("--workspace --test grader ");
    for (folder, package) in [
        ("common/emulator", "emulator"),
        ("common/layout", "layout"),
        ("common/clock", "clock"),
        ("common/transcript", "transcript"),
        ("common/problem", "problem"),
        ("calibration/tests", "calibration"),
        ("course/grader/src", "grader"),
        ("book/labs", "labs"),
    ] {
        for file in files(&root().join(folder), ".rs") {
            let only_mentions = ["availability_tests.rs", "programs.rs", "sandbox/mod.rs"];
            if only_mentions.iter().any(|name| file.ends_with(name)) {
                continue;
            }
            let text = read(&file);
            assert!(
                ["GEMM_NVRTC", "GEMM_REQUIRE", "#[ignore"]
                    .iter()
                    .all(|word| !text.contains(word)),
                "{}",
                file.display()
            );
        }
        assert!(ci.contains(&format!("--exclude {package} ")));
    }
}

/// Lines of Rust that are not tests, comments or blank.
fn production_lines(text: &str) -> usize {
    let code = text
        .split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text);
    let lines = code.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

fn is_production(path: &str) -> bool {
    let folders = ["tests", "benches", "fuzz", "browser", "examples"];
    !path.split('/').any(|part| folders.contains(&part)) && !path.ends_with("tests.rs")
}

/// The table in ARCHITECTURE.md says what each package's lines buy. Its numbers are rounded, and may be off by 5%.
#[test]
fn architecture_md_says_how_many_lines_each_package_has() {
    let path = root().join("ARCHITECTURE.md");
    let text = read(&path);
    let record = std::env::var_os("GEMM_RECORD").is_some();
    let (before, rest) = text
        .split_once("<!-- lines -->\n")
        .expect("a table of lines");
    let (table, after) = rest.split_once("<!-- end -->").expect("its end");
    let lines_in = |folder: &std::path::Path| -> usize {
        let all = files(folder, ".rs").into_iter();
        let inside = |file: &std::path::PathBuf| {
            let name = file.strip_prefix(root()).expect("below the root");
            is_production(&name.to_string_lossy())
        };
        all.filter(inside)
            .map(|file| production_lines(&read(&file)))
            .sum()
    };
    let mut out = String::new();
    let mut sum = 0;
    for line in table.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let folder = cells[0].trim_matches('`');
        let counted = match folder {
            "in all" => sum,
            folder => lines_in(&root().join(folder)),
        };
        if !root().join(folder).is_dir() && folder != "in all" {
            // The head of the table.
            out += &format!("{line}\n");
            continue;
        }
        if folder != "in all" {
            sum += counted;
        }
        let said: usize = cells[1].replace(',', "").parse().unwrap_or(0);
        let near = said.abs_diff(counted) <= (counted / 20).max(100);
        assert!(
            near || record,
            "{folder} has {counted} lines, ARCHITECTURE.md says {said}: GEMM_RECORD=1 writes the table again"
        );
        let rounded = counted.div_ceil(100) * 100;
        let shown = harness::thousands(rounded as u64);
        out += &format!("| {} | {shown} | {} |\n", cells[0], cells[2]);
    }
    assert_eq!(sum, lines_in(root()), "a package is missing in the table");
    if record {
        std::fs::write(
            path,
            format!("{before}<!-- lines -->\n{out}<!-- end -->{after}"),
        )
        .expect("written");
    }
}

#[test]
fn the_book_lists_every_schema() {
    let page = read(&root().join("book/src/command_line.md"));
    for schema in harness::schema::ALL {
        let row = format!("| {} | {} |", schema.of, schema.number);
        assert!(page.contains(&row), "book/src/command_line.md lacks: {row}");
    }
}
