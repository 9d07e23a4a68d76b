//! Compares the table with ptxas, if it is installed.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::parse;
use super::super::{Instr, Statement};
use super::*;

const SAMPLES: &str = include_str!("availability_samples.txt");

/// A module around one instruction.
fn module(version: (u32, u32), target: &str, line: &str) -> String {
    format!(
        ".version {}.{}\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n.reg .b16 %h<9>;\n.reg .b32 %r<19>;\n\
         .reg .b64 %rd<19>;\n.reg .f32 %f<19>;\n.reg .f64 %fd<9>;\n.reg .pred %p<9>;\n{line}\nret;\n}}\n",
        version.0, version.1
    )
}

fn parsed(line: &str) -> Instr {
    let text = module((8, 8), "sm_90a", line);
    let module = parse::module(&text).unwrap_or_else(|error| panic!("{line}: {error}"));
    let statements = module.kernels[0].body.iter();
    let mut instrs = statements.filter_map(|statement| match statement {
        Statement::Instr(instr) => Some((**instr).clone()),
        Statement::Label(_) => None,
    });
    instrs.next().expect("an instruction")
}

/// `.cuda` of the workspace, as `cargo ladder get-nvrtc` makes it.
fn ptxas() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let found = ["cu13", "cuda_nvcc"]
        .map(|part| root.join(".cuda/nvidia").join(part).join("bin/ptxas"))
        .into_iter()
        .find(|path| path.exists());
    let required = std::env::var_os("GEMM_REQUIRE_PTXAS").is_some_and(|value| value == "1");
    assert!(found.is_some() || !required, "GEMM_REQUIRE_PTXAS is set");
    found
}

/// Whether ptxas accepts it, or its error message.
fn assembles(ptxas: &Path, text: &str, arch: &str) -> Result<(), String> {
    let mut child = Command::new(ptxas)
        .args(["-arch", arch, "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptxas starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()
            + &String::from_utf8_lossy(&output.stdout)),
    }
}

/// The version and target that the table requires for a line; the target has a minimum version of its own.
fn least(line: &str) -> ((u32, u32), Target) {
    let needs = needs(&parsed(line));
    let target = needs.target.map_or(sm(20), |(target, _)| target);
    let first = targets::first_version(target);
    // `.address_size` came with 2.3.
    (needs.version.0.max(first).max((2, 3)), target)
}

#[test]
fn every_row_decides_a_sample() {
    let lines: Vec<Instr> = SAMPLES.lines().map(parsed).collect();
    for row in ROWS {
        let decides = lines.iter().any(|instr| {
            let needs = needs(instr);
            let target = needs.target.map(|(target, _)| target);
            row.fits(instr) && (needs.version.0 == row.version || target == Some(row.target))
        });
        assert!(decides, "{:?} {:?}", row.opcodes, row.with);
    }
}

#[test]
fn ptxas_agrees() {
    let Some(ptxas) = ptxas() else {
        let why = b"skipped: no ptxas in .cuda; cargo ladder get-nvrtc fetches it\n";
        let _ = std::io::stderr().write_all(why);
        return;
    };
    let lines: Vec<&str> = SAMPLES.lines().collect();
    let (next, wrong) = (AtomicUsize::new(0), std::sync::Mutex::new(Vec::new()));
    let check = |line: &str| -> Result<(), String> {
        let (version, target) = least(line);
        let arch = match target.suffix {
            Some(_) => target.to_string(),
            None => "sm_90".to_owned(),
        };
        let try_at = |version, target: Target| {
            assembles(&ptxas, &module(version, &target.to_string(), line), &arch)
        };
        try_at(version, target)
            .map_err(|said| format!("{line} at {version:?} {target}: {said}"))?;
        // The table and ptxas must also agree about the previous version and the previous target.
        let older = targets::before(version);
        if needs(&parsed(line)).version.0 == version && targets::first_version(target) < version {
            let refused = try_at(older, target).is_err();
            let ours = super::check(&parsed(line), older, &target.to_string()).is_err();
            if !refused || !ours {
                return Err(format!(
                    "{line} at {older:?}: ptxas refuses {refused}, we {ours}"
                ));
            }
        }
        let lower = match target {
            Target {
                suffix: Some(_),
                number,
            } => sm(number),
            Target { number: 20, .. } => return Ok(()),
            target => targets::lower(target),
        };
        let refused = try_at((9, 0), lower).is_err();
        let ours = super::check(&parsed(line), (9, 0), &lower.to_string()).is_err();
        match refused && ours {
            true => Ok(()),
            false => Err(format!(
                "{line} at {lower}: ptxas refuses {refused}, we {ours}"
            )),
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(why) = check(line) {
                        wrong.lock().expect("no panic").push(why);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn ptxas_knows_the_same_targets_and_versions() {
    let Some(ptxas) = ptxas() else {
        return;
    };
    for (major, minor) in [(5, 2), (6, 6), (7, 8), (7, 9), (8, 8), (8, 9), (9, 0)] {
        let target = if major < 7 { "sm_50" } else { "sm_80" };
        let takes = assembles(&ptxas, &module((major, minor), target, ""), "sm_90").is_ok();
        assert_eq!(
            targets::check_version((major, minor)).is_ok(),
            takes,
            "{major}.{minor}"
        );
    }
    for target in [
        "sm_49", "sm_53", "sm_80", "sm_80a", "sm_85", "sm_86", "sm_90", "sm_91",
    ] {
        let takes = assembles(&ptxas, &module((9, 0), target, ""), "sm_90").is_ok();
        assert_eq!(
            targets::check_target(target, (9, 0)).is_ok(),
            takes,
            "{target}"
        );
    }
    for (version, target) in [
        ((7, 7), "sm_90"),
        ((7, 8), "sm_90"),
        ((6, 5), "sm_80"),
        ((7, 0), "sm_80"),
    ] {
        let takes = assembles(&ptxas, &module(version, target, ""), "sm_90").is_ok();
        assert_eq!(
            targets::check_target(target, version).is_ok(),
            takes,
            "{version:?} {target}"
        );
    }
}
