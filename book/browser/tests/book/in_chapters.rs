//! The figures of banks, swizzles, fragments and merging in their chapters, operated by clicks and keys, compared with
//! the engine's native answers.
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use book_browser::Page;
use serde_json::{Value, json};

use crate::{fragment, from_disk, no_problems, open, reader, root};

/// The native engine.
pub(crate) struct Native(Child, BufReader<ChildStdout>);

impl Native {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "-p", "live", "--bin", "live_native"])
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("cargo");
        let out = BufReader::new(child.stdout.take().expect("standard output"));
        Self(child, out)
    }

    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        let input = self.0.stdin.as_mut().expect("standard input");
        writeln!(input, "{request}").expect("a request");
        let mut line = String::new();
        self.1.read_line(&mut line).expect("an answer");
        serde_json::from_str(&line).expect(&line)
    }

    /// The conflicts of an access, given an offset per lane.
    pub(crate) fn access(&mut self, op: &str, bytes: u32, offsets: &[u64]) -> Value {
        let offsets: Vec<_> = offsets.iter().map(u64::to_string).collect();
        self.ask(&json!({ "ask": "access", "op": op, "bytes": bytes.to_string(), "offsets": offsets.join(",") }))
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // It ends when its input ends.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// The lanes of an access as a strip draws them: a line per wavefront, the first lane of each bank or -1.
pub(crate) fn drawn(access: &Value) -> Value {
    let phases = access["table"]["phases"].as_array().expect("phases");
    let passes = phases
        .iter()
        .flat_map(|phase| phase["passes"].as_array().expect("passes"));
    let lane = |word: &Value| word["lanes"].get(0).map_or(json!(-1), Clone::clone);
    let line = |pass: &Value| pass.as_array().expect("banks").iter().map(lane).collect();
    passes.map(line).collect::<Vec<Value>>().into()
}

/// The same from the page.
pub(crate) fn strip(page: &mut Page<'_>, within: &str) -> Value {
    page.evaluate(&format!(
        "[...document.querySelector('{within} .fig-strip').querySelectorAll(':scope > div:not(.fig-banks)')]\
           .map((line) => [...line.children].map((mark) => Number(mark.dataset.lane ?? -1)))"
    ))
    .expect(within)
}

pub(crate) fn focused(page: &mut Page<'_>, selector: &str) {
    page.evaluate(&format!("document.querySelector('{selector}').focus()"))
        .expect(selector);
}

#[test]
fn a_stride_and_a_formula() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "banks_words.html#strides");
    assert_eq!(
        fragment(&mut page),
        "#strides",
        "untouched, it leaves the heading"
    );
    let plain = |native: &mut Native, stride: u64| {
        let offsets: Vec<_> = (0..32).map(|lane| lane * stride * 4).collect();
        native.access("ld", 4, &offsets)
    };
    for stride in [1, 12, 31, 32, 34, 64] {
        page.choose("[name=stride]", &stride.to_string())
            .expect("the slider");
        let expected = plain(&mut native, stride);
        assert_eq!(
            strip(&mut page, "[data-side=plain]"),
            drawn(&expected),
            "{stride}"
        );
        let title = page.text("[data-side=plain] h3").expect("a title");
        let count = expected["table"]["wavefronts"].to_string();
        assert!(title.contains(&format!(": {count} wavefront")), "{title}");
    }
    // The arrow keys move the slider and do not turn the page.
    page.choose("[name=stride]", "32").expect("the slider");
    focused(&mut page, "[name=stride]");
    page.press("ArrowRight").expect("a key");
    assert_eq!(
        strip(&mut page, "[data-side=plain]"),
        drawn(&plain(&mut native, 33))
    );
    assert_eq!(fragment(&mut page), "#figure=strides&stride=33");
    page.press("ArrowLeft").expect("a key");
    // A formula next to it.
    page.fill("[data-interactive=strides] [name=map]", "col ^ row")
        .expect("a formula");
    let mapping = native.ask(&json!({ "ask": "mapping", "map": "col ^ row", "row_bytes": 128, "unit": 4, "rows": 32, "bytes": 4 }));
    let offsets: Vec<_> = (0..32)
        .map(|row: usize| {
            mapping["changed"]["places"][row][0]
                .as_u64()
                .expect("a place")
                * 4
        })
        .collect();
    let changed = native.access("ld", 4, &offsets);
    assert_eq!(changed["table"]["wavefronts"], 1);
    assert_eq!(strip(&mut page, "[data-side=changed]"), drawn(&changed));
    assert_eq!(
        strip(&mut page, "[data-side=plain]"),
        drawn(&plain(&mut native, 32))
    );
    // A lane, selected by a click and by keys.
    page.click("[data-interactive=strides] td[data-row='0'][data-column='5']")
        .expect("lane 5");
    page.press("ArrowDown").expect("a key");
    let said = page
        .text("[data-interactive=strides] .ia-said")
        .expect("words");
    assert!(said.contains("lane 13 reads word 416 in bank 0"), "{said}");
    assert!(
        said.contains("lane 13 reads word 429 in bank 13, alone there"),
        "{said}"
    );
    page.fill("[data-interactive=strides] [name=map]", "col & 6")
        .expect("a formula");
    let alert = page
        .text("[data-side=changed] [role=alert]")
        .expect("a reason");
    assert!(alert.contains("loses data"), "{alert}");
    page.fill("[data-interactive=strides] [name=map]", "col ^")
        .expect("a formula");
    assert!(
        page.text("[data-interactive=strides] [role=alert]")
            .expect("a reason")
            .contains("col ^")
    );
    no_problems(&mut page);
}

#[test]
fn formulas_and_packed_atoms() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "05_swizzle.html");
    let figure = "[data-interactive=workbench]";
    let sides = [("without", "plain"), ("with", "changed")];
    let mut check = |page: &mut Page<'_>, map: &str, row_bytes: u32, column: usize| {
        let found = native.ask(
            &json!({ "ask": "mapping", "map": map, "row_bytes": row_bytes, "unit": 16, "rows": 8 }),
        );
        for (side, of) in sides {
            let offsets: Vec<_> = (0..8)
                .map(|row: usize| found[of]["places"][row][column].as_u64().expect(map) * 16)
                .collect();
            let read = native.access("ldmatrix.x1", 16, &offsets);
            assert_eq!(
                read["table"]["wavefronts"], found[of]["verdict"]["matrix"],
                "{map}"
            );
            assert_eq!(
                strip(page, &format!("[data-side={side}]")),
                drawn(&read),
                "{map}, {side}"
            );
        }
    };
    check(&mut page, "col ^ (row & 7)", 128, 0);
    for map in [
        "col ^ (row & 3)",
        "(col + row) % 8",
        "col ^ (row & 6)",
        "col",
    ] {
        page.fill(&format!("{figure} [name=map]"), map).expect(map);
        check(&mut page, map, 128, 0);
    }
    // A cell selected on one side is selected on the other.
    page.fill(&format!("{figure} [name=map]"), "col ^ (row & 7)")
        .expect("a formula");
    page.click("[data-side=with] td[data-row='5'][data-column='2']")
        .expect("a cell");
    page.press("ArrowRight").expect("a key");
    check(&mut page, "col ^ (row & 7)", 128, 6);
    assert_eq!(fragment(&mut page), "#figure=workbench&row=5&col=6");
    no_problems(&mut page);

    page.open(server.address(), "swizzle_bms.html")
        .expect("a page");
    for (name, map, row_bytes) in [
        ("none", "col", 16),
        ("32B", "col ^ ((row >> 2) & 1)", 32),
        ("64B", "col ^ ((row >> 1) & 3)", 64),
        ("128B", "col ^ (row & 7)", 128),
    ] {
        page.click(&format!("[data-packed='{name}']")).expect(name);
        check(&mut page, map, row_bytes, 0);
        let focus = page.evaluate("document.activeElement.dataset.packed");
        assert_eq!(focus.expect("the focus"), name);
    }
    // The statement of the chapter's table about 64 bytes: core matrix 0 at 0 and 4, then 1 and 5.
    page.click("[data-packed='64B']").expect("a button");
    let line = |page: &mut Page<'_>, row: u32| {
        page.evaluate(&format!(
            "[...document.querySelectorAll('[data-side=with] td[data-row=\"{row}\"]')].flatMap((cell, i) => cell.textContent.endsWith('.0') ? [i] : [])"
        ))
        .expect("a line")
    };
    assert_eq!(line(&mut page, 0), json!([0, 4]));
    assert_eq!(line(&mut page, 1), json!([1, 5]));
    page.click(&format!("{figure} [name=source][value=swizzle]"))
        .expect("a swizzle");
    page.fill(&format!("{figure} [name=b]"), "2")
        .expect("a number");
    assert!(
        page.text(&format!("{figure} .ia-verdict"))
            .expect("words")
            .contains("Swizzle<2,4,3>")
    );
    no_problems(&mut page);
}

#[test]
fn lanes_of_ldmatrix() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "04_ldmatrix.html");
    for (shape, tile, pad) in [
        ("ldmatrix.x4", 128, 0),
        ("ldmatrix.x4", 128, 16),
        ("ldmatrix.x4", 128, 32),
        ("ldmatrix.x2.trans", 64, 0),
        ("ldmatrix.x4.trans", 256, 16),
    ] {
        page.choose("[name=shape]", shape).expect(shape);
        page.choose("[name=tile]", &tile.to_string())
            .expect("a width");
        page.choose("[name=pad]", &pad.to_string())
            .expect("a padding");
        let of = native.ask(&json!({ "ask": "fragment", "shape": shape, "operand": null }));
        let addresses = of["addresses"].as_array().expect("lanes").iter();
        let offsets: Vec<_> = addresses
            .filter_map(|at| Some((at[0].as_u64()?, at[1].as_u64()?)))
            .map(|(matrix, row)| (8 * (matrix % 2) + row) * (tile + pad) + matrix / 2 * 16)
            .collect();
        let read = native.access(shape, 16, &offsets);
        assert_eq!(
            strip(&mut page, "[data-part=tile]"),
            drawn(&read),
            "{shape} {tile} {pad}"
        );
        // Lane 13, selected by a click and a key.
        page.click("[data-part=lanes] td[data-row='1'][data-column='4']")
            .expect("lane 12");
        page.press("ArrowRight").expect("a key");
        let said = page.text("[data-lane-says]").expect("words");
        let (named, held) = (&of["addresses"][13], &of["at"][13][1]);
        let names = format!(
            "Lane 13 gives the address of row {} of matrix {}",
            named[1], named[0]
        );
        assert!(said.starts_with(&names), "{said}");
        assert!(
            said.contains(&format!("r0.hi = ({}, {})", held[0], held[1])),
            "{said}"
        );
        let dashed = page.evaluate("[...new Set([...document.querySelectorAll('.ia-named')].map((cell) => Number(cell.dataset.row)))]");
        let row = named[0].as_u64().expect("a matrix") * 8 + named[1].as_u64().expect("a row");
        assert_eq!(dashed.expect("rows"), json!([row]));
    }
    page.choose("[name=pad]", "8").expect("a padding");
    let alert = page
        .text("[data-part=tile] [role=alert]")
        .expect("a reason");
    assert!(alert.contains("misaligned"), "{alert}");
    no_problems(&mut page);

    // An element, and the lane that holds it.
    page.open(server.address(), "fragments.html")
        .expect("a page");
    page.click("[data-interactive=fragment] [name=operand][value=b]")
        .expect("operand B");
    let same = page.text("[data-lane-says]").expect("words");
    assert!(same.starts_with("Lane 10 holds"), "{same}");
    page.click("[data-part=matrix] td[data-row='3'][data-column='6']")
        .expect("an element");
    let of = native.ask(&json!({ "ask": "fragment", "shape": "m16n8k16", "operand": "b" }));
    let lanes = of["at"].as_array().expect("lanes");
    let holder = lanes
        .iter()
        .position(|held| held.as_array().expect("elements").contains(&json!([3, 6])));
    let said = page
        .text("[data-interactive=fragment] .ia-said")
        .expect("words");
    assert!(
        said.starts_with(&format!(
            "Row 3, column 6: lane {},",
            holder.expect("a lane")
        )),
        "{said}"
    );
    assert_eq!(
        fragment(&mut page),
        "#figure=fragment&row=3&col=6&operand=b"
    );
    no_problems(&mut page);
}

#[test]
fn phases_merge_and_fall_apart() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let mut page = open(&mut chromium, &server, "banks_phases.html");
    let figure = "[data-interactive=merging]";
    let mut units: Vec<u64> = (0..32).map(|lane| lane / 2).collect();
    let mut check = |page: &mut Page<'_>, op: &str, bytes: u32, units: &[u64]| {
        let offsets: Vec<_> = units.iter().map(|unit| unit * u64::from(bytes)).collect();
        let expected = native.access(op, bytes, &offsets);
        assert_eq!(
            strip(page, figure),
            drawn(&expected),
            "{op} {bytes} {units:?}"
        );
        let facts = page.text(&format!("{figure} .ia-facts")).expect("facts");
        let phases = expected["table"]["phases"]
            .as_array()
            .expect("phases")
            .len();
        assert!(
            facts.contains(&format!("phases{phases}"))
                || facts.contains(&format!("phases\n{phases}")),
            "{facts}"
        );
        phases
    };
    assert_eq!(check(&mut page, "ld", 16, &units), 2);
    page.click("[data-step=more]").expect("a button");
    units[31] = 16;
    assert_eq!(check(&mut page, "ld", 16, &units), 4);
    assert!(fragment(&mut page).starts_with("#figure=merging&units=0,0,1,1,"));
    // The button keeps the focus; the other one undoes it.
    assert_eq!(
        page.evaluate("document.activeElement.dataset.step")
            .expect("the focus"),
        "more"
    );
    // With it, an arrow does not turn the page.
    page.press("ArrowRight").expect("a key");
    page.click("[data-step=less]").expect("a button");
    units[31] = 15;
    page.click(&format!("{figure} [name=bytes][value='8']"))
        .expect("8 bytes");
    check(&mut page, "ld", 8, &units);
    page.click(&format!("{figure} [name=op][value=st]"))
        .expect("stores");
    check(&mut page, "st", 8, &units);
    // Another lane, selected by a click and a key.
    page.click(&format!("{figure} td[data-row='0'][data-column='0']"))
        .expect("lane 0");
    page.press("ArrowRight").expect("a key");
    page.click("[data-step=more]").expect("a button");
    units[1] = 1;
    check(&mut page, "st", 8, &units);
    no_problems(&mut page);
}

/// A link scrolls to the figure and shows its state; another heading does not change it.
#[test]
fn a_link_shows_the_figure_anywhere() {
    let Some((mut chromium, _server)) = reader() else {
        return;
    };
    let links = [
        (
            "banks_words.html#figure=strides&stride=36",
            ("[data-side=plain]", 4),
        ),
        (
            "05_swizzle.html#figure=workbench&map=col%20%5E%20(row%20%26%201)",
            ("[data-side=with]", 4),
        ),
        (
            "swizzle_bms.html#figure=workbench&map=col&row_bytes=64",
            ("[data-side=with]", 4),
        ),
        (
            "fragments.html#figure=fragment&shape=ldmatrix.x1&pad=32",
            ("[data-part=tile]", 2),
        ),
        (
            "04_ldmatrix.html#figure=fragment&pad=16",
            ("[data-part=tile]", 4),
        ),
        (
            "banks_phases.html#figure=merging&op=st",
            ("[data-interactive=merging]", 4),
        ),
    ];
    from_disk(&mut chromium, &links, |page, (within, wavefronts)| {
        let count = |page: &mut Page<'_>| strip(page, within).as_array().expect("lines").len();
        assert_eq!(count(page), wavefronts, "{within}");
        let top = page.evaluate("(() => { const box = document.querySelector('.fig-strip').closest('[data-interactive]').getBoundingClientRect(); return box.top >= document.querySelector('#mdbook-menu-bar').offsetHeight && box.top < innerHeight; })()");
        assert_eq!(top.expect("a place"), true, "{within} is not in view");
        page.evaluate("location.hash = '#another'")
            .expect("a heading");
        assert_eq!(count(page), wavefronts, "{within}");
    });
}
