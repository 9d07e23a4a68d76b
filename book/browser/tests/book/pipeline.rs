//! The pipeline figure over the clock model's timeline, operated by slider, key and click, compared with the engine's
//! native answers.
use std::collections::BTreeSet;

use book_browser::Page;
use serde_json::{Value, json};

use crate::in_chapters::{Native, focused};
use crate::{fragment, from_disk, no_problems, open, reader};

const FIGURE: &str = "[data-interactive=pipeline]";

/// Waits until the prediction has run, which takes seconds.
fn rested(page: &mut Page<'_>) {
    let done = format!(
        "document.querySelector('{FIGURE} .pl-time') && !document.querySelector('{FIGURE}[aria-busy]')"
    );
    page.wait_until(&done).expect("a prediction");
}

/// The terminal's prediction with these options.
fn predicted(native: &mut Native, options: &str) -> Value {
    let words = format!("cargo run -p rung06_pipeline -- time --timeline - --json {options}");
    let words: Vec<&str> = words.split(' ').collect();
    let answer = native.ask(&json!({ "ask": "command", "words": words }));
    let out = answer["out"].as_str().expect("an output");
    serde_json::from_str(out).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// The percentage of the window that these events take, with this many at a time.
fn percent(found: &Value, list: &str, of: f64, is_it: impl Fn(&Value) -> bool) -> f64 {
    let (from, to) = (number(&found["from"]), number(&found["to"]));
    let events = found[list].as_array().expect("events").iter();
    let clocks = events
        .filter(|one| one["sm"] == 0 && is_it(one))
        .map(|one| {
            let (begin, end) = (number(&one["from"]).max(from), number(&one["to"]).min(to));
            (end - begin).max(0.0)
        });
    100.0 * clocks.sum::<f64>() / (to - from) / of
}

/// Facts and percentages on the page, compared with the terminal's.
fn check(page: &mut Page<'_>, native: &mut Native, options: &str) -> Value {
    let found = predicted(native, options);
    rested(page);
    let shown = page.evaluate(&format!(
        "[...document.querySelectorAll('{FIGURE} .ia-shown dd')].map((one) => Number(one.textContent.replace(/[,%]/g, '')))"
    ));
    let shown = shown.expect("facts");
    let step = ((number(&found["to"]) - number(&found["from"])) / 2.0).round();
    assert_eq!(number(&shown[0]), step, "{options}");
    let busy = percent(&found, "activities", 4.0, |one| one["what"] == "tensor");
    assert!(
        (number(&shown[1]) - busy).abs() < 1.0,
        "{options}: {shown}, {busy}"
    );
    assert_eq!(shown[2], found["time"]["resident"], "{options}");
    let clocks = number(&found["time"]["clocks"]);
    assert!(
        (number(&shown[3]) - clocks).abs() < 1.0,
        "{options}: {shown}, {clocks}"
    );
    // The latest settings are the first row of what was tried.
    let row = page.evaluate(&format!(
        "[...document.querySelectorAll('{FIGURE} .pl-tried tbody tr:first-child td')].map((one) => Number(one.textContent.replace(/[,%× ]/g, '')))"
    ));
    let row = row.expect("a row");
    let ctas = found["spans"].as_array().expect("spans").iter();
    let ctas: BTreeSet<_> = ctas
        .filter(|one| one["sm"] == 0)
        .map(|one| one["cta"].as_u64())
        .collect();
    assert_eq!(row[4], ctas.len(), "{options}");
    assert_eq!(
        json!([row[5], row[6]]),
        json!([shown[0], shown[3]]),
        "{options}"
    );
    let waits = |one: &Value| one["stall"] == "long_scoreboard" || one["stall"] == "lg_throttle";
    let all = percent(&found, "spans", 1.0, |_| true);
    let waiting = 100.0 * percent(&found, "spans", 1.0, waits) / all;
    let key = page
        .text(&format!("{FIGURE} [data-kind='4']"))
        .expect("a share");
    let share = key
        .trim_start_matches("waits for copies: ")
        .trim_end_matches('%');
    let share: f64 = share.parse().expect(&key);
    assert!((share - waiting).abs() < 1.0, "{options}: {key}, {waiting}");
    found
}

#[test]
fn stages_latency_and_multiply_time() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "06_pipeline.html#figure=pipeline");
    let three = check(&mut page, &mut native, "--size 1024");
    // Fewer stages, by a key that does not turn the page.
    focused(&mut page, &format!("{FIGURE} [name=stages]"));
    page.press("ArrowLeft").expect("a key");
    page.press("ArrowLeft").expect("a key");
    let kernel = "--kernel book/kernels/06_pipeline";
    let one = format!("--size 1024 {kernel}/1_stage.ptx");
    let one = check(&mut page, &mut native, &one);
    assert_eq!(fragment(&mut page), "#figure=pipeline&stages=1");
    assert!(number(&one["time"]["clocks"]) > 1.2 * number(&three["time"]["clocks"]));
    page.choose(&format!("{FIGURE} [name=stages]"), "2")
        .expect("the slider");
    page.choose(&format!("{FIGURE} [name=latency]"), "200")
        .expect("the slider");
    page.choose(&format!("{FIGURE} [name=multiply]"), "50")
        .expect("the slider");
    check(
        &mut page,
        &mut native,
        &format!(
            "--size 1024 {kernel}/2_stages.ptx --set latency.dram=1344 --set latency.l2=566 --set interval.mma_flop=1324"
        ),
    );
    assert_eq!(
        fragment(&mut page),
        "#figure=pipeline&stages=2&latency=200&multiply=50"
    );
    // A clock, selected by a click into the middle of the picture and by a key.
    page.click(&format!("{FIGURE} .pl-time"))
        .expect("the picture");
    let said = |page: &mut Page<'_>| page.text(&format!("{FIGURE} .ia-said")).expect("words");
    let first = said(&mut page);
    assert!(
        first.starts_with("Clock ") && first.contains("CTA 0, warp 3"),
        "{first}"
    );
    focused(&mut page, &format!("{FIGURE} [name=at]"));
    for _ in 0..9 {
        page.press("ArrowRight").expect("a key");
    }
    assert_ne!(said(&mut page), first);
    let rows = page.evaluate(&format!(
        "document.querySelectorAll('{FIGURE} .pl-tried tbody tr').length"
    ));
    assert_eq!(rows.expect("a table"), 3, "what was tried");
    no_problems(&mut page);
}

/// A link runs the command that it describes.
#[test]
fn a_link_from_disk() {
    let Some((mut chromium, _server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let link = "06_pipeline.html#figure=pipeline&stages=4&size=2048";
    let command = "--size 2048 --kernel book/kernels/06_pipeline/4_stages.ptx";
    from_disk(&mut chromium, &[(link, command)], |page, command| {
        let found = check(page, &mut native, command);
        assert_eq!(found["time"]["resident"], 1, "a second block does not fit");
    });
}
