//! The commands on the pages print in a shell what the pages show.
use std::process::Command;

use crate::{open, reader, root};

/// The output of a command in a shell, in a writable folder of the workspace.
pub fn shell(command: &str) -> String {
    let target = root().join("target");
    std::fs::create_dir_all(&target).expect("target");
    let folder = tempfile::tempdir_in(target).expect("a folder");
    let output = Command::new("sh")
        .args(["-c", command])
        .current_dir(folder.path())
        .output()
        .expect("a shell");
    // Exit code 1 means that a mapping is unsound, which is an answer.
    assert!(
        matches!(output.status.code(), Some(0 | 1)),
        "{command}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A fact in the terminal's output: `column read   4-way`.
fn fact(printed: &str, name: &str) -> Option<String> {
    let line = printed
        .lines()
        .find_map(|line| line.trim().strip_prefix(name))?;
    Some(line.trim().to_string())
}

#[test]
fn the_workbench_and_the_terminal_agree() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    for state in [
        "b=2",
        "b=0&rows=4",
        "b=2&m=5&s=2&rows=16",
        "b=1&m=2&s=5&rows=32&bytes=4",
        "b=3&m=4&s=-3",
        "map=col%20%5E%20row&row_bytes=16&unit=4&rows=4&bytes=4&banks=4",
        "map=(col%20%2B%20row)%20%25%209&row_bytes=144&width=8&banks=16",
        "map=col%20%26%206",
    ] {
        page.open(server.address(), &format!("workbench.html#{state}"))
            .expect(state);
        let command = page.text(".ia-command code").expect("a command");
        let printed = shell(&command);
        for (line, name) in [
            ("stays in its row", "stays in its row"),
            ("bijective", "bijective"),
            ("read along a row", "row read"),
            ("read down a column", "column read"),
        ] {
            let shown = page.evaluate(&format!(
                "[...document.querySelectorAll('.ia-verdict tr')].find((row) => row.firstChild.textContent === '{line}').lastChild.textContent"
            ));
            let shown = shown.expect(line).as_str().map(str::to_string);
            // A mapping that loses data has no degree of conflict.
            assert_eq!(
                shown.filter(|shown| shown != "–"),
                fact(&printed, name),
                "{line} of {command}:\n{printed}"
            );
        }
    }
}

#[test]
fn the_player_and_the_terminal_agree() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    for state in [
        "",
        "op=ldmatrix.x1&bytes=16&addresses=0,128,256,384,-,640,768,896",
    ] {
        page.open(server.address(), &format!("wavefront_player.html#{state}"))
            .expect(state);
        let command = page.text(".ia-command code").expect("a command");
        let printed = shell(&command);
        let shown: Vec<String> = serde_json::from_value(
            page.evaluate(
                "[...document.querySelectorAll('.ia-facts dd')].map((fact) => fact.textContent)",
            )
            .expect("facts"),
        )
        .expect("text");
        let told =
            ["wavefronts", "ideal", "bank conflicts"].map(|name| fact(&printed, name).expect(name));
        assert_eq!(shown[..3], told, "{command}");
    }
}

#[test]
fn the_explorer_and_the_terminal_agree() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "fragment_explorer.html");
    for state in ["operand=b", "shape=wgmma&n=24", "shape=stmatrix.x2.trans"] {
        page.open(server.address(), &format!("fragment_explorer.html#{state}"))
            .expect(state);
        let command = page.text(".ia-command code").expect("a command");
        let printed = shell(&command);
        // The first rows of the terminal's first table: the lanes that hold the elements.
        let table: Vec<String> = printed
            .lines()
            .skip_while(|line| !line.starts_with("row 0"))
            .take(8)
            .map(str::to_string)
            .collect();
        let shown = "[...document.querySelectorAll('[data-part=matrix] tbody tr')].slice(0, 8).map((row) =>\
             [...row.querySelectorAll('td')].map((cell) => cell.textContent))";
        let shown: Vec<Vec<String>> =
            serde_json::from_value(page.evaluate(shown).expect("rows")).expect("text");
        for (row, (told, shown)) in table.iter().zip(&shown).enumerate() {
            let told: Vec<_> = told.split_whitespace().skip(2).collect();
            assert_eq!(
                told,
                shown[..told.len().min(shown.len())],
                "row {row} of {command}"
            );
        }
        assert_eq!((table.len(), shown.len()), (8, 8), "{command}");
    }
}
