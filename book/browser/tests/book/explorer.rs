//! The fragment explorer, driven by clicks and keys.
use book_browser::Page;

use crate::{fragment, no_problems, open, reader};

fn said(page: &mut Page<'_>) -> String {
    page.text(".ia-said").expect("words")
}

fn cell(part: &str, row: u32, column: u32) -> String {
    format!("[data-part={part}] td[data-row='{row}'][data-column='{column}']")
}

#[test]
fn both_ways_by_click_key_and_mouse() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "fragment_explorer.html");
    page.click(&cell("matrix", 9, 11)).expect("a cell");
    assert_eq!(
        said(&mut page),
        "Row 9, column 11: lane 5, element 7, in register 3, high half."
    );
    let here = "[...document.querySelectorAll('.ia-here')].map((cell) => cell.textContent)";
    assert_eq!(
        page.evaluate(here).expect("cells"),
        serde_json::json!(["5.7", "9,11"])
    );
    let traced = "document.querySelectorAll('[data-part=matrix] .ia-traced').length";
    assert_eq!(page.evaluate(traced).expect("a number"), 8);
    page.press("ArrowLeft").expect("a key");
    assert_eq!(
        said(&mut page),
        "Row 9, column 10: lane 5, element 6, in register 3, low half."
    );
    // The other way: lane 7, its register 1, high half.
    page.click(&cell("threads", 7, 3)).expect("a cell");
    assert_eq!(
        said(&mut page),
        "Row 9, column 7: lane 7, element 3, in register 1, high half."
    );
    assert_eq!(fragment(&mut page), "#row=9&col=7");
    page.press("ArrowDown").expect("a key");
    assert_eq!(
        said(&mut page),
        "Row 10, column 1: lane 8, element 3, in register 1, high half."
    );
    assert_eq!(
        page.evaluate("document.activeElement.closest('[data-part]').dataset.part")
            .expect("the focus"),
        "threads"
    );
    page.hover(&cell("matrix", 0, 0)).expect("the mouse");
    assert_eq!(
        said(&mut page),
        "Row 0, column 0: lane 0, element 0, in register 0, low half."
    );
    no_problems(&mut page);
}

#[test]
fn every_kind_of_fragment() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "fragment_explorer.html");
    page.click("[name=operand][value=c]").expect("a choice");
    page.click(&cell("matrix", 8, 0)).expect("a cell");
    assert_eq!(
        said(&mut page),
        "Row 8, column 0: lane 0, element 2, in register 2."
    );
    assert_eq!(
        page.text(".ia-command code").expect("a command"),
        "cargo ladder layout fragment m16n8k16 c"
    );
    page.choose("[name=shape]", "ldmatrix.x2")
        .expect("a choice");
    assert!(
        page.text(".ia-shown")
            .expect("words")
            .contains("The addresses of 16 lanes, 16–31, are ignored.")
    );
    page.click(&cell("matrix", 9, 3)).expect("a cell");
    assert_eq!(
        said(&mut page),
        "Row 1, column 3 of matrix 1: lane 5, element 3, in register 1, high half."
    );
    assert!(
        page.text(".ia-shown")
            .expect("words")
            .contains("Lane 9 gives the address of this row's 16 bytes.")
    );
    page.choose("[name=shape]", "wgmma").expect("a choice");
    page.choose("[name=n]", "40").expect("a choice");
    assert!(
        page.text(".ia-pages")
            .expect("words")
            .contains("columns 0–15 of 40")
    );
    page.click("[data-page=next]").expect("a button");
    page.press("Enter").expect("a key");
    assert!(
        page.text(".ia-pages")
            .expect("words")
            .contains("columns 32–39 of 40")
    );
    for warp in 1..4 {
        page.click("[data-page=down]").expect("a button");
        let title = page.text("[data-part=matrix] h3").expect("a title");
        assert_eq!(title, format!("The rows of warp {warp}"));
    }
    page.click(&cell("matrix", 15, 7)).expect("a cell");
    assert_eq!(
        said(&mut page),
        "Row 63, column 39: thread 127 (warp 3, lane 31), element 19, in register 19."
    );
    assert_eq!(
        fragment(&mut page),
        "#shape=wgmma&row=63&col=39&n=40&columns=32"
    );
    assert_eq!(
        page.text(".ia-command code").expect("a command"),
        "cargo ladder layout fragment m64n40k16 c"
    );
    // The page's address leads back to the same element.
    page.open(
        server.address(),
        "fragment_explorer.html#shape=wgmma&row=63&col=39&n=40&columns=32",
    )
    .expect("a link");
    assert!(said(&mut page).starts_with("Row 63, column 39: thread 127"));
    page.open(
        server.address(),
        "fragment_explorer.html#shape=nothing&n=7&row=x",
    )
    .expect("a wrong link");
    assert!(said(&mut page).starts_with("Row 0, column 0: lane 0"));
    no_problems(&mut page);
}
