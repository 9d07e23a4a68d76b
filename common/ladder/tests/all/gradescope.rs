//! The autograder's zip, unpacked as on Gradescope's machines, without Rust. Its folders are elsewhere, given by the
//! variable AUTOGRADER.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
use std::env;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use harness::Nvrtc;
use serde_json::Value;
use tempfile::TempDir;

const LADDER: &str = env!("CARGO_BIN_EXE_ladder");
const BOOK: &str = "https://example.org/book";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Whether NVRTC was found. With `GEMM_REQUIRE_NVRTC=1`, as in CI, it must be.
fn has_nvrtc() -> bool {
    let required = env::var("GEMM_REQUIRE_NVRTC").is_ok_and(|value| value == "1");
    let found = Nvrtc::find();
    if let Err(error) = &found {
        assert!(!required, "{error}");
        let _ = writeln!(std::io::stderr(), "skipped: {error}");
    }
    found.is_ok()
}

/// The files that the command writes, with a secret.
fn export(out: &Path) -> Output {
    let secret = out.join("secret");
    fs::write(&secret, "a secret of these tests").expect("a file");
    Command::new(LADDER)
        .arg("export-course")
        .arg(out.join("students"))
        .args(["--book", BOOK, "--gradescope"])
        .arg(out.join("zips"))
        .arg("--secret")
        .arg(secret)
        .current_dir(root())
        .output()
        .expect("the ladder starts")
}

/// The folder /autograder of an assignment, with its source unpacked as Gradescope does it.
fn unpack(zip: &Path, autograder: &Path) {
    let mut zip = zip::ZipArchive::new(File::open(zip).expect("a zip")).expect("a zip");
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).expect("a file");
        let name = file.name().expect("a name").into_owned();
        let time = file.last_modified().expect("a time");
        assert_eq!(
            (time.year(), time.hour()),
            (1980, 0),
            "{name}: not the same again"
        );
        let path = autograder.join("source").join(&name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("bytes");
        fs::write(&path, bytes).expect("a file");
        let mode = file.unix_mode().expect("rights");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("rights");
    }
}

/// The contents of results.json after grading the submission.
fn graded(autograder: &Path, submission: &[(&str, String)], seconds: &str) -> Value {
    let folder = autograder.join("submission");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in submission {
        fs::write(folder.join(name), text).expect("a file");
    }
    let mut command = Command::new(autograder.join("source/run_autograder"));
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("AUTOGRADER", autograder)
        .env("AUTOGRADER_SECONDS", seconds);
    // The compiler's folder differs from machine to machine.
    for name in ["VIRTUAL_ENV", "CUDA_HOME", "CUDA_PATH", "GEMM_NVRTC"] {
        if let Some(value) = env::var_os(name) {
            command.env(name, value);
        }
    }
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let text = read(&autograder.join("results/results.json"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}\n{said}"))
}

#[test]
fn an_autograder_answers_every_submission() {
    if !has_nvrtc() {
        return;
    }
    let out = TempDir::new().expect("a folder");
    let output = export(out.path());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("needs glibc 2."),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let zips = fs::read_dir(out.path().join("zips"))
        .expect("a folder")
        .count();
    let assignments = fs::read_dir(root().join("course/assignments")).expect("a folder");
    let assignments = assignments.filter_map(Result::ok);
    let folders = assignments.filter(|entry| entry.path().is_dir());
    assert_eq!(zips, folders.count());
    assert!(!out.path().join("students/secret").exists());

    let autograder = out.path().join("autograder");
    unpack(&out.path().join("zips/05_swizzle.zip"), &autograder);
    let source = autograder.join("source");
    assert!(!source.join("05_swizzle/solution").exists());
    let fetched = root().join(".cuda");
    if fetched.exists() {
        symlink(fetched, source.join(".cuda")).expect("a link");
    }
    fs::write(
        autograder.join("submission_metadata.json"),
        r#"{"id": 7, "users": [{"email": "ada@example.org", "id": 1, "name": "Ada"}]}"#,
    )
    .expect("a file");

    let assignment = root().join("course/assignments/05_swizzle");
    let starter = read(&assignment.join("kernel.cu"));
    let kernel = |text: &str| vec![("kernel.cu", text.to_owned())];
    let score = |results: &Value| results["score"].as_f64().expect("a score");

    let results = graded(&autograder, &kernel(&starter), "120");
    assert!((1.0..100.0).contains(&score(&results)), "{results:#}");
    let links = results["output"].as_str().unwrap_or_default();
    assert!(links.contains(&format!("{BOOK}/mistakes.html#")), "{links}");

    let mut right = kernel(&read(&assignment.join("solution/kernel.cu")));
    right.push((
        "prediction.toml",
        read(&assignment.join("solution/prediction.toml")),
    ));
    let results = graded(&autograder, &right, "120");
    assert_eq!(score(&results), 100.0, "{results:#}");
    assert!(
        results["output"]
            .as_str()
            .is_some_and(|text| text.contains("sizes from secret "))
    );

    let results = graded(&autograder, &[], "120");
    assert_eq!(score(&results), 0.0);
    assert!(
        results["output"]
            .as_str()
            .is_some_and(|text| text.contains("nothing was handed in"))
    );

    // They compile to an access that ends the launch, and to an endless loop.
    let begins = "    float acc[WM / 16][WN / 8][4] = {};";
    assert!(starter.contains(begins));
    for (instead, says) in [
        ("    *(volatile int*)8 = 1;\n", "out of bounds"),
        (
            "    for (volatile unsigned i = 1; i; i += 2) {}\n",
            "was stopped after",
        ),
        ("#include \"/etc/passwd\"\n", "does not compile"),
    ] {
        let text = starter.replace(begins, &format!("{instead}{begins}"));
        let results = graded(&autograder, &kernel(&text), "120");
        assert_eq!(score(&results), 0.0, "{results:#}");
        let output = results["output"].as_str().unwrap_or_default();
        assert!(
            output.contains(says) && !output.contains("root:"),
            "{output}"
        );
    }

    // A grader that is killed before it has a grade.
    let results = graded(&autograder, &kernel(&starter), "0.001");
    assert_eq!(score(&results), 0.0);
    assert!(
        results["output"]
            .as_str()
            .is_some_and(|text| text.contains("was stopped before"))
    );
}

#[test]
fn zips_are_the_same_again_and_not_in_the_students_repository() {
    let out = TempDir::new().expect("a folder");
    let zip = || -> Vec<u8> {
        let folder = out.path().join("again");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let output = export(&folder);
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        fs::read(folder.join("zips/05_swizzle.zip")).expect("a zip")
    };
    assert!(zip() == zip());
    let refused = |arguments: &[PathBuf]| {
        let output = Command::new(LADDER)
            .args(["export-course", "--book", BOOK, "--gradescope"])
            .args(arguments)
            .current_dir(root())
            .output()
            .expect("the ladder starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let at = |name: &str| out.path().join(name);
    assert!(refused(&[at("s/zips"), at("s")]).contains("not in the students' repository"));
    assert!(refused(&[at("z"), at("again")]).contains("is not empty"));
    fs::write(at("script"), "#!/bin/sh\n").expect("a file");
    let other = [at("z"), at("s"), "--ladder".into(), at("script")];
    assert!(refused(&other).contains("not a Linux x86-64 executable"));
}
