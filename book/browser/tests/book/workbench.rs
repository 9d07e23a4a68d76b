//! The workbench, driven by clicks and keys.
use book_browser::Page;

use crate::{fragment, no_problems, open, reader};

/// The line of the verdict: identity, and swizzled.
fn verdict(page: &mut Page<'_>, line: &str) -> (String, String) {
    let found = page
        .evaluate(&format!(
            "[...document.querySelectorAll('.ia-verdict tr')].filter((row) => row.querySelector('th')?.textContent === '{line}')\
               .flatMap((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))"
        ))
        .expect("an answer");
    serde_json::from_value(found).expect(line)
}

/// The picture, row by row: with the mapping if that is shown, otherwise without.
fn picture(page: &mut Page<'_>) -> Vec<Vec<String>> {
    let rows = "[...[...document.querySelectorAll('[data-side]')].at(-1).querySelectorAll('.ia-grid tbody tr')].map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent))";
    serde_json::from_value(page.evaluate(rows).expect("rows")).expect("text")
}

fn pair(a: &str, b: &str) -> (String, String) {
    (a.into(), b.into())
}

#[test]
fn presets_and_numbers() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    assert_eq!(
        verdict(&mut page, "read down a column"),
        pair("8-way", "1-way")
    );
    for (preset, degree, address) in [
        ("none", "8-way", "#b=0"),
        ("32B", "4-way", "#b=1"),
        ("64B", "2-way", "#b=2"),
        ("128B, 32-byte units", "2-way", "#b=2&m=5&s=2"),
        ("128B", "1-way", ""),
    ] {
        page.click(&format!("[data-preset='{preset}']"))
            .expect(preset);
        assert_eq!(
            verdict(&mut page, "ldmatrix"),
            pair("8-way", degree),
            "{preset}"
        );
        assert_eq!(fragment(&mut page), address, "{preset}");
        let pressed = page
            .evaluate("document.querySelector('[aria-pressed=true]').textContent")
            .expect("a button");
        assert_eq!(pressed, preset);
        assert_eq!(
            page.evaluate("document.activeElement.dataset.preset")
                .expect("the focus"),
            preset
        );
    }
    assert_eq!(picture(&mut page)[3].join(" "), "3 2 1 0 7 6 5 4");
    page.click("[name=swizzle][value=without]")
        .expect("a choice");
    assert_eq!(picture(&mut page)[3].join(" "), "0 1 2 3 4 5 6 7");
    page.click("[name=swizzle][value=with]").expect("a choice");
    page.click("[name=view][value=banks]").expect("a choice");
    assert_eq!(picture(&mut page)[1][..3], ["4–7", "0–3", "12–15"]);
    page.fill("[name=b]", "4").expect("a number");
    assert!(
        page.text("[role=alert]")
            .expect("a reason")
            .contains("overlap the bits that are changed")
    );
    page.fill("[name=s]", "4").expect("a number");
    assert_eq!(verdict(&mut page, "stays in its row").1, "yes");
    page.fill("[name=rows]", "0").expect("a number");
    assert_eq!(
        page.evaluate("document.querySelector('[name=rows]').getAttribute('aria-invalid')")
            .expect("a mark"),
        "true"
    );
    let bounds = page.text("label:has([name=rows]) small").expect("bounds");
    assert_eq!(bounds, "an integer from 1 to 256");
    no_problems(&mut page);
}

#[test]
fn a_cell_its_bits_and_its_trace() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    page.click("[data-side=with] td[data-row='5'][data-column='2']")
        .expect("a cell");
    // Slot 2 of row 5 holds column 2 ^ 5 = 7.
    assert!(page.text(".ia-address .ia-said").expect("words").starts_with(
        "Row 5, column 7, elements 56–63 of its row, starts at byte 752 and is stored at byte 672: slot 2 of row 5, banks 8–11."
    ));
    let bits = "[...document.querySelectorAll('.ia-bits tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent).join(' '))";
    let bits: Vec<String> =
        serde_json::from_value(page.evaluate(bits).expect("bits")).expect("text");
    assert_eq!(
        bits[..4],
        [
            "field r r r c c c b b b b",
            "logical 1 0 1 1 1 1 0 0 0 0",
            "XOR · · · 1 · 1 · · · ·",
            "physical 1 0 1 0 1 0 0 0 0 0"
        ]
    );
    assert_eq!(fragment(&mut page), "#row=5&col=7");
    let traced = "[...document.querySelectorAll('[data-side=with] .ia-traced')].map((cell) => cell.textContent)";
    assert_eq!(
        page.evaluate(traced).expect("cells"),
        serde_json::json!(vec!["7"; 8])
    );
    // The keys continue from the clicked cell and do not turn the page.
    page.press("ArrowRight").expect("a key");
    page.press("ArrowDown").expect("a key");
    assert_eq!(fragment(&mut page), "#row=6&col=5");
    page.press("Home").expect("a key");
    assert_eq!(fragment(&mut page), "#row=6&col=6");
    assert!(
        page.text(".ia-address .ia-said")
            .expect("words")
            .contains("Row 6, column 6")
    );
    page.click("[name=trace][value=slot]").expect("a choice");
    assert!(
        page.text(".ia-address")
            .expect("words")
            .contains("Slot 0 holds, row by row, columns 0 1 2 3 4 5 6 7.")
    );
    // The page shows the state in its address, and the address follows the state.
    page.open(
        server.address(),
        "workbench.html#row=6&col=6&trace=slot&rows=4",
    )
    .expect("the page again");
    assert_eq!(picture(&mut page).len(), 4);
    page.evaluate("location.hash = '#rows=2'")
        .expect("another address");
    page.wait_until("document.querySelectorAll('[data-side=with] .ia-grid tbody tr').length === 2")
        .expect("two rows");
    no_problems(&mut page);
}

#[test]
fn a_typed_mapping() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    page.click("[name=source][value=map]").expect("a choice");
    page.fill("[name=map]", "col ^ ((row & 0b1100) >> 2)")
        .expect("a mapping");
    assert_eq!(
        verdict(&mut page, "read down a column"),
        pair("8-way", "4-way")
    );
    let notes = page.text("[data-notes]").expect("notes");
    assert!(
        notes.contains("lanes 0 and 1 (rows 0 and 1) read bytes 0 and 128, both in bank 0"),
        "{notes}"
    );
    assert!(notes.contains("takes only 2 units of its 8"), "{notes}");
    assert_eq!(
        page.text(".ia-command code").expect("a command"),
        "cargo ladder layout map 'col ^ ((row & 0b1100) >> 2)'"
    );
    page.fill("[name=map]", "col + row").expect("a mapping");
    assert_eq!(verdict(&mut page, "stays in its row"), pair("yes", "no"));
    assert!(
        page.text("[data-notes]")
            .expect("notes")
            .contains("Row 1, column 7 leaves its row")
    );
    page.fill("[name=map]", "col & 6").expect("a mapping");
    assert!(
        page.text("[data-notes]")
            .expect("notes")
            .contains("row 0, column 1 map to the same place")
    );
    page.fill("[name=map]", "col ^ rows").expect("a mapping");
    assert_eq!(
        page.text("[role=alert]").expect("a reason"),
        "col ^ rows\n      ^ expected a number, row, col or (, found rows"
    );
    // Four banks, a tile of four by four words: the transpose on paper.
    page.open(
        server.address(),
        "workbench.html#map=col&row_bytes=16&unit=4&rows=4&bytes=4&banks=4",
    )
    .expect("a link");
    assert_eq!(
        verdict(&mut page, "read down a column"),
        pair("4-way", "4-way")
    );
    page.fill("[name=map]", "col ^ row").expect("a mapping");
    assert_eq!(
        verdict(&mut page, "read down a column"),
        pair("4-way", "1-way")
    );
    assert_eq!(
        page.text(".ia-command code").expect("a command"),
        "cargo ladder layout map 'col ^ row' --row-bytes 16 --unit 4 --bytes 4 --banks 4"
    );
    no_problems(&mut page);
}
