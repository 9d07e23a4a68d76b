//! The outputs in README.md are those of its commands.
use std::collections::BTreeSet;

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

#[test]
fn the_driver_pages_count_the_programs_that_were_compared() {
    let record = read(&root().join("results/h100-80gb-hbm3/driver_programs.csv"));
    let rows = record.lines().skip(1);
    let programs: BTreeSet<&str> = rows
        .clone()
        .filter_map(|row| row.split(',').next())
        .collect();
    for page in ["common/driver/README.md", "book/src/driver.md"] {
        let text = read(&root().join(page)).replace('\n', " ");
        for count in [
            format!("{} programs that others", programs.len()),
            format!(" {} ", rows.clone().count()),
        ] {
            assert!(text.contains(&count), "{page} does not say \"{count}\"");
        }
    }
}
