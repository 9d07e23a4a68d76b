//! The outputs in README.md are those of its commands.
use ladder_tests::workspace::program;

#[test]
fn the_readme_shows_what_a_run_prints() {
    let output = program("ladder")
        .args(["readme", "--check"])
        .output()
        .expect("the ladder");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
