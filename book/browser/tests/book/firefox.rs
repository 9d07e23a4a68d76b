//! Each figure and a run in Firefox, served and from disk: they start; a slider, a click and a key have the same effect
//! as in Chromium; and there are no errors. Skipped without Firefox.
use book_browser::{Firefox, Server, firefox_or_skip};
use serde_json::json;

use crate::book;
use crate::in_chapters::Native;

/// The figures' positions, each with text that it contains once it is drawn.
const FIGURES: [(&str, &str); 12] = [
    (
        "04_ldmatrix.html",
        "[data-interactive=fragment] td[aria-selected=true]",
    ),
    (
        "05_swizzle.html",
        "[data-interactive=workbench] .ia-shown, [data-interactive=workbench] table",
    ),
    ("09_tma.html", "[data-interactive=mbarrier] .mb-steps"),
    (
        "11_specialized.html",
        "[data-interactive=mbarrier] .mb-steps",
    ),
    (
        "13_persistent.html",
        "[data-interactive=waves] .wv-strips path",
    ),
    ("16_stream_k.html", "[data-side=on] .wv-strips path"),
    ("banks_phases.html", "[data-interactive=merging] .fig-strip"),
    ("banks_words.html", "[data-side=plain] .fig-strip"),
    (
        "fragments.html",
        "[data-interactive=fragment] td[aria-selected=true]",
    ),
    ("workbench.html", "[data-interactive=workbench] table"),
    (
        "fragment_explorer.html",
        "[data-interactive=fragment_explorer] table",
    ),
    (
        "wavefront_player.html",
        "[data-interactive=wavefront_player] table, [data-interactive=wavefront_player] .ia-strip",
    ),
];

fn reader() -> Option<(Firefox, Server)> {
    let firefox = firefox_or_skip().unwrap_or_else(|error| panic!("{error:#}"))?;
    Some((firefox, Server::start(book()).expect("a port")))
}

fn no_problems(firefox: &mut Firefox) {
    let problems = firefox.problems().expect("an answer");
    assert!(problems.is_empty(), "{problems:#?}");
}

#[test]
fn every_figure_starts_in_firefox() {
    let Some((mut firefox, server)) = reader() else {
        return;
    };
    let disk = format!(
        "file://{}/",
        book().canonicalize().expect("a folder").display()
    );
    for (home, figures) in [(server.address(), &FIGURES[..]), (&disk, &FIGURES[..3])] {
        for (page, drawn) in figures {
            firefox.open(&format!("{home}{page}")).expect(page);
            let found = firefox.evaluate(&format!(
                "Boolean(document.querySelector('{drawn}')) && !document.querySelector('.ia [role=alert]')"
            ));
            assert_eq!(found.expect(page), true, "{home}{page}");
            no_problems(&mut firefox);
        }
    }
}

#[test]
fn sliders_clicks_keys_and_runs_in_firefox() {
    let Some((mut firefox, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let home = server.address();

    firefox
        .open(&format!("{home}banks_words.html"))
        .expect("a page");
    firefox.choose("[name=stride]", "34").expect("the slider");
    let offsets: Vec<String> = (0..32).map(|lane| (lane * 34 * 4).to_string()).collect();
    let access = native
        .ask(&json!({ "ask": "access", "op": "ld", "bytes": "4", "offsets": offsets.join(",") }));
    let title = firefox.text("[data-side=plain] h3").expect("a title");
    let expected = format!(": {} wavefront", access["table"]["wavefronts"]);
    assert!(title.contains(&expected), "{title}: {expected}");

    // A click, and a key that does not turn the page.
    firefox.open(&format!("{home}09_tma.html")).expect("a page");
    firefox
        .click("[data-interactive=mbarrier] [data-step=on]")
        .expect("a button");
    let first = firefox
        .text("[data-interactive=mbarrier] .ia-said")
        .expect("words");
    firefox.press_right().expect("a key");
    let second = firefox
        .text("[data-interactive=mbarrier] .ia-said")
        .expect("words");
    assert!(
        first.contains("wait(0)") && second.contains("arrive.expect_tx"),
        "{first} {second}"
    );
    let hash = firefox.evaluate("location.hash").expect("an address");
    assert_eq!(hash, "#figure=mbarrier&at=2");

    // The clock in a worker.
    firefox
        .open(&format!("{home}06_pipeline.html#figure=pipeline&stages=1"))
        .expect("a page");
    let done = "document.querySelector('[data-interactive=pipeline] .pl-time') && !document.querySelector('[aria-busy]')";
    firefox.wait_until(done).expect("a prediction");
    let words = "cargo run -p rung06_pipeline -- time --size 1024 --json --kernel book/kernels/06_pipeline/1_stage.ptx";
    let words: Vec<&str> = words.split(' ').collect();
    let answer = native.ask(&json!({ "ask": "command", "words": words }));
    let report: serde_json::Value =
        serde_json::from_str(answer["out"].as_str().expect("an output")).expect("JSON");
    let facts = firefox.evaluate("document.querySelectorAll('[data-interactive=pipeline] dd')[3].textContent.replaceAll(',', '')");
    let clocks: f64 = facts
        .expect("a fact")
        .as_str()
        .expect("text")
        .parse()
        .expect("a number");
    let expected = report["clocks"].as_f64().expect("clocks");
    assert!((clocks - expected).abs() < 1.0, "{clocks}, {expected}");

    firefox
        .open(&format!("{home}rounding.html"))
        .expect("a page");
    firefox.click(".run[data-run] .ia-open").expect("a button");
    firefox
        .wait_until("document.querySelector('.run .ia-start')")
        .expect("the fields");
    firefox.click(".run .ia-start").expect("a button");
    firefox
        .wait_until("/browser|did not/.test(document.querySelector('.run .ia-said').textContent)")
        .expect("an end");
    let said = firefox.text(".run .ia-said").expect("words");
    assert!(said.starts_with("the same as in the book"), "{said}");
    no_problems(&mut firefox);
}
