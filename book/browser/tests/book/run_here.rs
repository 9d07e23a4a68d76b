//! "Run it here": every kind of command once, served and from disk, compared with the book and the terminal.
use book_browser::{Appearance, Page, Server};

use serde_json::json;

use crate::in_chapters::Native;
use crate::terminal::shell;
use crate::{book, no_problems, open, reader};

/// A page, and the beginning of a command on it.
const KINDS: [(&str, &str); 6] = [
    ("05_swizzle.html", "cargo run -p rung05_swizzle"),
    ("banks_phases.html", "cargo run -p labs"),
    ("swizzle_bms.html", "cargo ladder layout swizzle"),
    ("banks_words.html", "cargo ladder banks"),
    ("rounding.html", "cargo ladder round"),
    ("approximate.html", "cargo ladder approximate"),
];

/// Presses the button below the first output of such a command, and runs it unchanged.
fn run(page: &mut Page<'_>, begins: &str) -> String {
    let found = page.evaluate(&format!(
        "(() => {{ for (const box of document.querySelectorAll('.run[data-run]')) {{\
           const {{ words }} = JSON.parse(box.dataset.run);\
           if (words.join(' ').startsWith('{begins}')) {{ box.id = 'tried'; box.closest('details')?.setAttribute('open', ''); return true; }} }}\
         return false; }})()"
    ));
    assert_eq!(
        found.expect("an answer"),
        true,
        "no {begins} can be run here"
    );
    page.click("#tried .ia-open").expect("a button");
    page.wait_until("document.querySelector('#tried .ia-start')")
        .expect("the fields");
    again(page)
}

/// Runs it with the current fields; returns the message about the run.
fn again(page: &mut Page<'_>) -> String {
    page.click("#tried .ia-start").expect("a button");
    page.wait_until(
        "/browser|did not/.test(document.querySelector('#tried .ia-said').textContent)",
    )
    .expect("an end");
    page.text("#tried .ia-said").expect("words")
}

#[test]
fn every_kind_prints_what_the_book_shows() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let disk = format!("file://{}/", book().display());
    for (home, kinds) in [(server.address(), &KINDS[..]), (&disk, &KINDS[..2])] {
        for (name, begins) in kinds {
            let mut page = chromium.page().expect("a page");
            page.appear(Appearance::new(false, false))
                .expect("an appearance");
            page.open(home, name).expect(name);
            let said = run(&mut page, begins);
            assert!(
                said.starts_with("the same as in the book"),
                "{home}{name}, {begins}: {said}"
            );
            no_problems(&mut page);
        }
    }
}

/// If the book shows only a few lines, the page shows the whole output, and then the difference from the previous run.
#[test]
fn a_claim_can_be_tried() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "claims.html");
    let said = run(&mut page, "cargo ladder layout bankmap --ld 33");
    assert!(said.starts_with("the whole output; "), "{said}");
    let shown = page.text("#tried .run-output").expect("an output");
    let words = ["cargo", "ladder", "layout", "bankmap", "--ld", "33"];
    let answer = Native::start().ask(&json!({ "ask": "command", "words": words }));
    assert_eq!(
        Some(shown.trim_end()),
        answer["out"].as_str().map(str::trim_end)
    );
    assert!(again(&mut page).starts_with("the same as before"));
    page.fill("#tried [name=ld]", "32").expect("a field");
    let said = again(&mut page);
    assert!(
        said.contains("differ from those of the previous run"),
        "{said}"
    );
    no_problems(&mut page);
}

/// With other settings it prints the same as the terminal, and marks the differences.
#[test]
fn a_change_prints_what_the_terminal_prints() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "swizzle_bms.html");
    run(&mut page, "cargo ladder layout swizzle 2 4 2");
    for (field, value) in [("b", "2"), ("s", "4")] {
        page.fill(&format!("#tried [name={field}]"), value)
            .expect("a field");
    }
    let said = again(&mut page);
    assert!(said.contains("differ from the book"), "{said}");
    let command = page.text("#tried .ia-command code").expect("a command");
    // Not textContent, which includes the marks.
    let shown = page.text("#tried .run-output").expect("an output");
    // The page shows the same part of it as of the book's output.
    let part = shown.trim_matches(|c: char| c == '…' || c.is_whitespace());
    assert!(part.contains("in units"), "{shown}");
    assert!(shell(&command).contains(part), "{command}: {shown}");
    let marks = page.evaluate("document.querySelectorAll('#tried mark').length");
    assert!(marks.expect("marks").as_u64() > Some(0));
    page.fill("#tried [name=s]", "1").expect("a field");
    let said = again(&mut page);
    assert!(said.contains("exit code 2"), "{said}");
    no_problems(&mut page);
}

/// A run can be stopped, and fits a phone in the dark.
#[test]
fn it_stops_and_fits_a_phone() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = chromium.page().expect("a page");
    page.appear(Appearance::new(true, true))
        .expect("an appearance");
    stop(&mut page, &server);
    assert_eq!(page.overflowing().expect("an answer"), Vec::<String>::new());
    no_problems(&mut page);
}

fn stop(page: &mut Page<'_>, server: &Server) {
    page.open(server.address(), "05_swizzle.html")
        .expect("a page");
    run(page, "cargo run -p rung05_swizzle");
    page.fill("#tried [name=size]", "2048").expect("a field");
    page.click("#tried .ia-start").expect("a button");
    page.wait_until("!document.querySelector('#tried progress').hidden")
        .expect("progress");
    page.click("#tried .ia-stop:not([disabled])").expect("stop");
    page.wait_until("document.querySelector('#tried .ia-said').textContent === 'Stopped.'")
        .expect("an end");
}
