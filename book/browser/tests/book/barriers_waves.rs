//! The mbarrier and the waves in their chapters, operated by clicks and keys, compared with the engine's native
//! answers.
use book_browser::Page;
use serde_json::{Value, json};

use crate::in_chapters::{Native, focused};
use crate::{contains, fragment, from_disk, no_problems, open, reader};

/// The state that a figure shows: phase, parity, arrivals, bytes, and whether waits pass.
fn facts(page: &mut Page<'_>, within: &str) -> Value {
    page.evaluate(&format!(
        "[...document.querySelectorAll('{within} .ia-facts dd')].map((one) => one.textContent)"
    ))
    .expect(within)
}

/// The same from the engine, after these operations.
fn expected(native: &mut Native, count: u32, operations: &[Value]) -> Value {
    let mut waits = [0, 1].map(|parity| {
        let mut all = operations.to_vec();
        all.push(json!({ "wait": parity }));
        let found = native.ask(&json!({ "ask": "mbarrier", "count": count, "operations": all }));
        let states = found["states"].as_array().expect("states");
        assert_eq!(states.len(), all.len() + 1, "{found}");
        states.last().cloned().expect("a state")
    });
    let text = |wait: &Value| {
        json!(if wait["passes"] == true {
            "passes"
        } else {
            "waits"
        })
    };
    let passes = waits.each_ref().map(text);
    let now = waits[0].take();
    let [phase, parity, pending, of, bytes] =
        ["phase", "parity", "pending", "expected", "bytes"].map(|name| now[name].to_string());
    json!([
        phase,
        parity,
        format!("{pending} of {of}"),
        bytes,
        passes[0],
        passes[1]
    ])
}

#[test]
fn an_mbarrier_forwards_and_back() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let figure = "[data-interactive=mbarrier]";
    let mut page = open(&mut chromium, &server, "09_tma.html#parity");
    assert_eq!(
        fragment(&mut page),
        "#parity",
        "untouched, it leaves the heading"
    );
    let copy = |bytes: u32| json!({ "complete_tx": bytes });
    let announced = |bytes: u32| json!({ "arrive_expect_tx": bytes });
    let too_many = [
        announced(49152),
        copy(16384),
        copy(8192),
        copy(8192),
        json!({ "wait": 0 }),
    ];
    page.click(&format!("{figure} [data-preset^='too many']"))
        .expect("an example");
    for at in 0..=too_many.len() {
        assert_eq!(
            facts(&mut page, figure),
            expected(&mut native, 1, &too_many[..at]),
            "{at}"
        );
        page.click("[data-step=on]").expect("a button");
    }
    let said = page.text(&format!("{figure} .ia-said")).expect("words");
    assert!(
        said.contains("16384 bytes more arrive, this wait never ends"),
        "{said}"
    );
    assert_eq!(
        fragment(&mut page),
        "#figure=mbarrier&ops=x49152,c16384,c8192,c8192,w0&at=5"
    );
    // The arrow keys step and do not turn the page; a click on a row jumps there.
    page.press("ArrowLeft").expect("a key");
    page.press("ArrowLeft").expect("a key");
    assert_eq!(
        facts(&mut page, figure),
        expected(&mut native, 1, &too_many[..3])
    );
    page.click(&format!("{figure} tr[data-at='1']"))
        .expect("a row");
    // Continue from here with the right number of bytes: later operations are discarded.
    page.fill("[name=landed]", "49152").expect("a number");
    page.click("[data-do=c]").expect("a copy");
    page.click("[data-do=w0]").expect("a wait");
    assert_eq!(
        facts(&mut page, figure),
        expected(
            &mut native,
            1,
            &[announced(49152), copy(49152), json!({ "wait": 0 })]
        )
    );
    assert!(
        page.text(&format!("{figure} .ia-said"))
            .expect("words")
            .starts_with("wait(0): it passes")
    );
    page.click("[data-preset^='too few']").expect("an example");
    focused(&mut page, "[data-step=on]");
    (0..11).for_each(|_| page.press("Enter").expect("a key"));
    let said = page.text(&format!("{figure} .ia-said")).expect("words");
    assert!(said.contains("this wait never ends"), "{said}");
    no_problems(&mut page);

    // Two consumers, and one arrival too many for a phase.
    page.open(server.address(), "11_specialized.html")
        .expect("a page");
    let arrive = json!({ "arrive": 1 });
    let two = [
        json!({ "wait": 1 }),
        arrive.clone(),
        json!({ "wait": 0 }),
        arrive,
    ];
    for at in 0..=two.len() {
        assert_eq!(
            facts(&mut page, figure),
            expected(&mut native, 2, &two[..at]),
            "{at}"
        );
        page.click("[data-step=on]").expect("a button");
    }
    page.click("[data-do=init]").expect("a button");
    page.fill("[name=count]", "3").expect("a number");
    assert_eq!(facts(&mut page, figure), expected(&mut native, 3, &[]));
    no_problems(&mut page);
}

#[test]
fn waves_with_stream_k_and_without() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "16_stream_k.html");
    let mut check = |page: &mut Page<'_>,
                     m: u32,
                     n: u32,
                     k: u32,
                     tile: [u32; 3],
                     sms: u32,
                     cluster: u32,
                     narrow: bool| {
        let mut splits = false;
        for (side, stream_k) in [("off", false), ("on", true)] {
            let found = native.ask(
                &json!({ "ask": "waves", "m": m, "n": n, "k": k, "tile": tile, "sms": sms,
                "cluster": cluster, "stream_k": stream_k, "narrow": stream_k && narrow }),
            );
            splits = found["split"] == true;
            let lost = format!(
                "{:.1}%",
                100.0 * (1.0 - found["busy"].as_f64().expect("a fraction"))
            );
            let longest = (10.0 * found["longest"].as_f64().expect("steps")).round() / 10.0;
            let mut facts_there = vec![json!(longest.to_string()), json!(lost)];
            if splits {
                facts_there.push(json!(found["share"].to_string()));
            }
            if found["narrow"] != json!(0) {
                facts_there.push(json!(found["narrow"].to_string()));
            }
            assert_eq!(
                facts(page, &format!("[data-side={side}]")),
                json!(facts_there),
                "{m} {side}"
            );
            // All pieces are drawn, each as a rectangle.
            let pieces: usize = found["work"]
                .as_array()
                .expect("work")
                .iter()
                .map(|one| one.as_array().expect("pieces").len())
                .sum();
            let drawn = page.evaluate(&format!(
                "[...document.querySelectorAll('[data-side={side}] path')].map((one) => one.getAttribute('d').split('z').length - 1).reduce((a, b) => a + b)"
            ));
            assert_eq!(drawn.expect("pieces"), json!(pieces), "{m} {side}");
        }
        splits
    };
    let tile = [128, 256, 64];
    assert!(check(&mut page, 5120, 5120, 5120, tile, 132, 2, false));
    page.click("[data-size='4096']").expect("a size");
    assert!(!check(&mut page, 4096, 4096, 4096, tile, 132, 2, false));
    let title = page.text("[data-side=on] h3").expect("a title");
    assert!(title.contains("splits no tile"), "{title}");
    page.click("[data-size='8192']").expect("a size");
    page.click("[data-card='114']").expect("a card");
    check(&mut page, 8192, 8192, 8192, tile, 114, 2, false);
    for (name, value) in [
        ("m", "2304"),
        ("n", "2816"),
        ("k", "2048"),
        ("bm", "192"),
        ("bn", "128"),
        ("cluster", "1"),
    ] {
        page.fill(&format!("[data-interactive=waves] [name={name}]"), value)
            .expect(name);
    }
    check(&mut page, 2304, 2816, 2048, [192, 128, 64], 114, 1, false);
    assert!(
        fragment(&mut page)
            .starts_with("#figure=waves&m=2304&n=2816&k=2048&bm=192&bn=128&sms=114&cluster=1")
    );
    // A cluster, by keys, which do not turn the page.
    focused(&mut page, "[name=chosen]");
    page.press("ArrowRight").expect("a key");
    let said = page
        .text("[data-interactive=waves] .ia-said")
        .expect("words");
    assert!(said.starts_with("Whole tiles, cluster 1: "), "{said}");
    page.fill("[data-interactive=waves] [name=cluster]", "16")
        .expect("a number");
    page.fill("[data-interactive=waves] [name=sms]", "4")
        .expect("a number");
    let alert = page
        .text("[data-interactive=waves] [role=alert]")
        .expect("a reason");
    assert!(alert.contains("does not fit on 4 SMs"), "{alert}");
    no_problems(&mut page);
    // Rung 17's page begins with narrow tiles.
    let mut page = open(&mut chromium, &server, "17_narrow_tiles.html");
    assert!(!check(&mut page, 4096, 4096, 4096, tile, 132, 2, true));
    let title = page.text("[data-side=on] h3").expect("a title");
    assert_eq!(title, "Narrow tiles");
    no_problems(&mut page);
}

/// A link shows the state that it describes.
#[test]
fn links_to_barriers_and_waves_from_disk() {
    let Some((mut chromium, _server)) = reader() else {
        return;
    };
    let links = [
        (
            "09_tma.html#figure=mbarrier&ops=x512,c256,w0&at=3",
            (
                "[data-interactive=mbarrier] .ia-said",
                "256 bytes more arrive",
            ),
        ),
        (
            "11_specialized.html#figure=mbarrier&ops=a2&at=1",
            (
                "[data-interactive=mbarrier] .ia-said",
                "completes the phase",
            ),
        ),
        (
            "13_persistent.html#figure=waves&chosen=65",
            ("[data-interactive=waves] .ia-said", "cluster 65"),
        ),
        (
            "16_stream_k.html#figure=waves&m=4096&n=4096&k=4096",
            ("[data-side=on] h3", "splits no tile"),
        ),
    ];
    from_disk(&mut chromium, &links, contains);
}
