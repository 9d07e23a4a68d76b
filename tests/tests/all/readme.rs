//! The outputs in README.md are those of its commands.
use ladder_tests::workspace::{program, read, root};

#[test]
fn the_readme_shows_what_a_run_prints() {
    let output = program("ladder")
        .args(["readme", "--check"])
        .output()
        .expect("the ladder");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

/// Longer outputs are in the book.
#[test]
fn the_readme_is_short() {
    let lines = read(&root().join("README.md")).lines().count();
    assert!(lines < 130, "README.md has {lines} lines");
}
