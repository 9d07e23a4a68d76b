//! The wavefront player, driven by clicks and keys.
use book_browser::{Appearance, Page};

use crate::{fragment, no_problems, open, reader};

fn fact(page: &mut Page<'_>, name: &str) -> String {
    let found = page.evaluate(&format!(
        "[...document.querySelectorAll('.ia-facts div')].find((fact) => fact.querySelector('dt').textContent === '{name}').querySelector('dd').textContent"
    ));
    found.expect(name).as_str().unwrap_or_default().to_string()
}

fn said(page: &mut Page<'_>) -> String {
    page.text(".ia-player .ia-said").expect("words")
}

fn number(page: &mut Page<'_>) -> String {
    page.text(".ia-player output").expect("a number")
}

#[test]
fn step_by_step() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    assert_eq!(fact(&mut page, "wavefronts"), "32");
    assert_eq!(number(&mut page), "wavefront 1 of 32");
    page.click("[data-step=next]").expect("a button");
    page.click("[data-step=next]").expect("a button");
    assert_eq!(number(&mut page), "wavefront 3 of 32");
    assert!(
        said(&mut page).contains("1 bank of 32 serves lane 2."),
        "{}",
        said(&mut page)
    );
    assert_eq!(fragment(&mut page), "#step=2");
    page.press("End").expect("a key");
    assert_eq!(number(&mut page), "wavefront 32 of 32");
    page.press("ArrowRight").expect("a key");
    page.press("ArrowLeft").expect("a key");
    assert_eq!(number(&mut page), "wavefront 31 of 32");
    // Earlier lanes have been served, this one is being served, the last waits.
    let lanes = "[...document.querySelectorAll('[aria-label=lanes] b')].map((lane) => lane.textContent).join('')";
    assert_eq!(
        page.evaluate(lanes).expect("lanes"),
        format!("{}●·", "✓".repeat(30))
    );
    page.click("[data-frame='4']").expect("a line");
    assert_eq!(number(&mut page), "wavefront 5 of 32");
    page.choose("[name=preset]", "9").expect("a pattern");
    assert_eq!(
        number(&mut page),
        "wavefront 1 of 32",
        "another pattern, from its start"
    );
    page.choose("[name=preset]", "3").expect("a pattern");
    assert_eq!(
        (
            fact(&mut page, "wavefronts"),
            fact(&mut page, "bank conflicts")
        ),
        ("1".into(), "0".into())
    );
    assert!(said(&mut page).contains("32 banks of 32 serve 32 lanes"));
    no_problems(&mut page);
}

#[test]
fn phases_and_merging_are_explained() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    for (pattern, wavefronts, told) in [
        (
            "16 bytes, neighbors",
            "4",
            "8 lanes access at most 128 bytes and make a phase",
        ),
        (
            "16 bytes, pairs of lanes share: merged",
            "2",
            "neighbors (i and i^1) have the same address: two phases merge into one of 16 lanes",
        ),
        (
            "16 bytes, lanes two apart share: merged",
            "2",
            "lanes two apart (i and i^2) have the same address",
        ),
        (
            "16 bytes, half the warp of each: not merged",
            "4",
            "here neither is so",
        ),
        (
            "ldmatrix.x4, plain rows of 128 bytes",
            "32",
            "a phase for each matrix",
        ),
        ("ldmatrix.x4, swizzled", "4", "a phase for each matrix"),
    ] {
        let at = page.evaluate(&format!(
            "String(gemm.player.PRESETS.findIndex(([name]) => name === '{pattern}'))"
        ));
        page.choose(
            "[name=preset]",
            at.expect("a pattern").as_str().unwrap_or_default(),
        )
        .expect(pattern);
        assert_eq!(fact(&mut page, "wavefronts"), wavefronts, "{pattern}");
        let words = page.text(".ia-shown").expect("words");
        assert!(words.contains(told), "{pattern}: {words}");
    }
    no_problems(&mut page);
}

#[test]
fn addresses_of_ones_own() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    let offsets = |of: fn(u32) -> u32| (0..32).map(|lane| of(lane).to_string()).collect::<Vec<_>>();
    page.fill("[name=addresses]", &offsets(|lane| lane * 16).join(", "))
        .expect("addresses");
    assert_eq!(fact(&mut page, "wavefronts"), "4");
    assert!(fragment(&mut page).starts_with("#addresses=0,16,32,"));
    page.fill("[name=addresses]", "0 4 8").expect("addresses");
    assert!(
        page.text("[role=alert]")
            .expect("a reason")
            .contains("3 byte offsets: ld has 32; write -")
    );
    let table = format!(
        "kernel,op,bytes_per_lane,byte_offset_per_lane\nmine,st,8,{}\nmine,ldmatrix.x1,16,0 128 256 384 512 640 768 -\n",
        offsets(|lane| lane * 8).join(" ")
    );
    page.fill("[name=addresses]", &table).expect("a table");
    assert_eq!(
        (fact(&mut page, "wavefronts"), fact(&mut page, "phases")),
        ("2".into(), "2, of degree 1".into())
    );
    page.choose("[name=table_row]", "1").expect("a row");
    assert_eq!(fact(&mut page, "wavefronts"), "7");
    assert_eq!(
        fragment(&mut page),
        "#op=ldmatrix.x1&bytes=16&addresses=0,128,256,384,512,640,768,-"
    );
    // A link as the grader makes it.
    page.open(server.address(), "wavefront_player.html#op=ldmatrix.x1&bytes=16&addresses=0,128,256,384,512,640,768,-&step=6").expect("a link");
    assert_eq!(number(&mut page), "wavefront 7 of 7");
    assert!(
        said(&mut page).contains("serve lane 6"),
        "{}",
        said(&mut page)
    );
    page.open(
        server.address(),
        "wavefront_player.html#op=ld&bytes=16&addresses=8",
    )
    .expect("a wrong link");
    assert!(
        page.text("[role=alert]")
            .expect("a reason")
            .contains("1 byte offsets")
    );
    no_problems(&mut page);
}

#[test]
fn it_plays_and_it_can_be_still() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    // 32 wavefronts, so that the machine may be busy until it is paused.
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    page.click("[data-step=last]").expect("a button");
    page.click("[data-step=play]").expect("a button");
    assert_eq!(page.text("[data-step=play]").expect("a button"), "pause");
    page.wait_until(
        "!/^wavefront (1|32) /.test(document.querySelector('.ia-player output').textContent)",
    )
    .expect("it plays");
    page.click("[data-step=play]").expect("a button");
    assert_eq!(page.text("[data-step=play]").expect("a button"), "play");
    let still = Appearance {
        still: true,
        ..Appearance::new(false, false)
    };
    page.appear(still).expect("an appearance");
    page.open(server.address(), "wavefront_player.html")
        .expect("the page again");
    assert_eq!(
        page.evaluate("document.querySelectorAll('[data-step=play]').length")
            .expect("a number"),
        0
    );
    assert_eq!(
        page.evaluate(
            "getComputedStyle(document.querySelector('.ia-strip li')).transitionDuration"
        )
        .expect("a time"),
        "0s"
    );
    page.click("[data-step=next]").expect("a button");
    assert_eq!(number(&mut page), "wavefront 2 of 32");
    no_problems(&mut page);
}
