//! Verification cannot be fooled, and `sanitize` finds what is wrong and where.
//! The kernels are compiled here, so NVRTC is needed.
use ladder_tests::broken::{ALL, Broken, Caught};
use ladder_tests::workspace::{has_nvrtc, root, run};

fn run_broken(broken: &Broken, arguments: &[&str]) -> (Option<i32>, String) {
    let folder = std::env::temp_dir().join(format!("ladder-tests-{}", std::process::id()));
    let path = broken.write(&folder).expect("a temporary file");
    let path = path.to_str().expect("a path");
    let output = run(
        &root().join("rungs").join(broken.rung),
        &[arguments, &["--kernel", path]].concat(),
    );
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text.into_owned())
}

#[test]
fn wrong_values_never_pass() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    for broken in ALL.iter().filter(|broken| broken.caught == Caught::Values) {
        for size in ["128", "200x136x72", "130x70x16384"] {
            let (code, text) = run_broken(broken, &["--size", size]);
            assert_eq!(code, Some(1), "{} at {size}: {text}", broken.name);
            assert!(
                text.to_lowercase().contains("wrong"),
                "{} at {size}: {text}",
                broken.name
            );
        }
    }
}

#[test]
fn the_sanitizer_names_the_mistake_and_its_line() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    for broken in ALL {
        let Caught::Sanitizer { says, at } = broken.caught else {
            continue;
        };
        let (code, text) = run_broken(broken, &["sanitize", "--size", "128x128x64"]);
        assert_eq!(code, Some(1), "{}: {text}", broken.name);
        assert!(
            text.contains(says),
            "{}: {says:?} is not in\n{text}",
            broken.name
        );
        let lines: Vec<String> = broken
            .source()
            .lines()
            .zip(1..)
            .filter(|(line, _)| line.contains(at))
            .map(|(_, number)| format!("{}.cu:{number}", broken.name))
            .collect();
        assert!(!lines.is_empty(), "{}: no line holds {at:?}", broken.name);
        assert!(
            lines.iter().any(|line| text.contains(line)),
            "{}: none of {lines:?} is in\n{text}",
            broken.name
        );
    }
}
