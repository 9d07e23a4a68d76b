//! The kernel stepper, operated by clicks and keys, compared with the engine's native answer.
use std::collections::BTreeMap;

use book_browser::Page;
use serde_json::{Value, json};

use crate::in_chapters::{Native, drawn, focused, strip};
use crate::{contains, disk, fragment, from_disk, no_problems, open, reader};

/// The steps of a CTA, from the native engine.
struct Steps(Value);

impl Steps {
    fn of(native: &mut Native, words: &str) -> Self {
        let words: Vec<&str> = words.split(' ').collect();
        let answer = native.ask(&json!({ "ask": "steps", "words": words, "most": 20_000 }));
        assert!(answer.get("error").is_none(), "{words:?}: {answer}");
        Self(answer)
    }

    fn all(&self) -> &[Value] {
        self.0["steps"].as_array().expect("steps")
    }

    fn instruction(&self, step: usize) -> &Value {
        &self.0["instructions"][self.all()[step]["i"].as_u64().expect("an index") as usize]
    }

    fn ptx(&self, step: usize) -> &str {
        self.instruction(step)["ptx"].as_str().expect("PTX")
    }

    fn warp(&self, step: usize) -> u64 {
        self.all()[step]["w"].as_u64().expect("a warp")
    }

    fn waits(&self, step: usize) -> bool {
        let effects = self.all()[step]["effects"].as_array();
        effects.is_some_and(|effects| {
            effects
                .iter()
                .any(|one| one.get("barrier").is_some() || one.get("wait").is_some())
        })
    }

    /// The next step that reaches a barrier or a wait.
    fn next_wait(&self, from: usize) -> usize {
        let found = (from + 1..self.all().len()).find(|&step| self.waits(step));
        found.unwrap_or(self.all().len() - 1)
    }

    /// After this step, how many words each warp has written last, in a kernel without asynchronous copies.
    fn writers(&self, at: usize) -> BTreeMap<u64, usize> {
        let mut by_word = BTreeMap::new();
        for (step, one) in self.all().iter().enumerate().take(at + 2) {
            for change in one["changed"].as_array().into_iter().flatten() {
                by_word.insert(change[0].as_u64(), self.warp(step - 1));
            }
        }
        let mut counts = BTreeMap::new();
        by_word
            .into_values()
            .for_each(|warp| *counts.entry(warp).or_insert(0) += 1);
        counts
    }

    fn finding(&self) -> (usize, &str) {
        let findings = self.0["findings"].as_array().expect("findings");
        let placed = findings
            .iter()
            .filter_map(|one| Some((one["step"].as_u64()?, one)));
        let (step, first) = placed.min_by_key(|(step, _)| *step).expect("a finding");
        (step as usize, first["text"].as_str().expect("a text"))
    }
}

/// Opens a page and runs the command whose steps it shows.
fn stepping(path: &str, command: &str, test: impl FnOnce(&mut Page<'_>, &mut Native, &Steps)) {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut native = Native::start();
    let steps = Steps::of(&mut native, command);
    let mut page = open(&mut chromium, &server, path);
    test(&mut page, &mut native, &steps);
    no_problems(&mut page);
}

fn step(page: &mut Page<'_>) -> usize {
    let found = page.evaluate("Number(document.querySelector('[name=step]').value)");
    found.expect("a step").as_u64().expect("a number") as usize
}

fn settled(page: &mut Page<'_>) {
    page.wait_until("!document.querySelector('[aria-busy=true]')")
        .expect("the steps");
}

fn texts(page: &mut Page<'_>, selector: &str) -> Value {
    page.evaluate(&format!(
        "[...document.querySelectorAll(`{selector}`)].map((one) => one.textContent)"
    ))
    .expect(selector)
}

/// The operands on the page are those of the lane.
fn holds(page: &mut Page<'_>, steps: &Steps, at: usize, lane: usize) {
    let operands = steps.all()[at]["operands"].as_array();
    let held = operands.into_iter().flatten().map(|operand| {
        let bytes = operand[2].as_u64().expect("bytes") as usize;
        let digits = operand[3].as_str().expect("digits");
        format!("0x{}", &digits[2 * bytes * lane..2 * bytes * (lane + 1)])
    });
    let held: Vec<String> = held.collect();
    assert_eq!(
        texts(page, ".st-operands td:nth-child(3)"),
        json!(held),
        "{at}"
    );
}

/// Memory, warps, operands and banks on the page are those of the native steps.
fn is_at(page: &mut Page<'_>, native: &mut Native, steps: &Steps, at: usize, lane: usize) {
    assert_eq!(step(page), at);
    let label = page
        .evaluate("document.querySelector('.st-map').getAttribute('aria-label')")
        .expect("a name");
    let writers = steps.writers(at);
    let words = |(warp, count): (&u64, &usize)| {
        format!(
            "warp {warp}: {count} word{}",
            if *count == 1 { "" } else { "s" }
        )
    };
    let writers = writers.iter().map(words).collect::<Vec<_>>().join("; ");
    let writers = if writers.is_empty() {
        "no warp yet"
    } else {
        &writers
    };
    let label = label.as_str().expect("a text").to_owned();
    assert!(
        label.ends_with(&format!("Last written by {writers}.")),
        "{at}: {label}, not {writers}"
    );
    // The last instruction of each warp.
    let mut last = BTreeMap::new();
    for one in 0..=at {
        last.insert(steps.warp(one), steps.ptx(one));
    }
    for (warp, ptx) in last {
        let shown = page
            .text(&format!("[data-warp='{warp}'] code"))
            .expect("a warp");
        assert!(
            ptx.starts_with(shown.trim_end_matches('…')),
            "{at}, warp {warp}: {shown}, not {ptx}"
        );
    }
    let current = texts(page, ".st-code [aria-current] .st-here");
    assert_eq!(current, json!([steps.warp(at).to_string()]), "{at}");
    let line =
        page.evaluate("Number(document.querySelector('.st-code [aria-current]').dataset.line)");
    assert_eq!(line.expect("a line"), steps.instruction(at)["line"], "{at}");
    holds(page, steps, at, lane);
    // What it asks of the banks.
    let operands = steps.all()[at]["operands"].as_array();
    let ptx = steps.ptx(at);
    if let Some(op) = ["ld", "st"]
        .into_iter()
        .find(|op| ptx.starts_with(&format!("{op}.shared")))
    {
        let operands = operands.expect("operands");
        let address = operands[0][3].as_str().expect("digits");
        let wide = operands[0][2].as_u64().expect("bytes") as usize * 2;
        let base = steps.0["base"].as_u64().expect("an address");
        let address =
            |lane: usize| u64::from_str_radix(&address[wide * lane..wide * (lane + 1)], 16);
        let offsets = (0..32).map(|lane| address(lane).expect("an address") - base);
        let bytes: u64 = operands[1..].iter().filter_map(|one| one[2].as_u64()).sum();
        let access = native.access(op, bytes as u32, &offsets.collect::<Vec<_>>());
        assert_eq!(strip(page, ".st-access"), drawn(&access), "{at}");
    }
}

#[test]
fn a_rung_forwards_and_back() {
    stepping(
        "stepper.html#by=instruction",
        "cargo run -p rung02_smem -- --size 128x128x16",
        |page, native, steps| {
            is_at(page, native, steps, 0, 0);
            for _ in 0..3 {
                page.click("[data-step=on]").expect("a button");
            }
            is_at(page, native, steps, 3, 0);
            // The arrow keys step and do not turn the page.
            page.press("ArrowRight").expect("a key");
            page.press("ArrowLeft").expect("a key");
            page.click("[data-step=back]").expect("a button");
            is_at(page, native, steps, 2, 0);
            // To a store, with a lane other than the first; its two wavefronts.
            let stores =
                (0..steps.all().len()).filter(|&at| steps.ptx(at).starts_with("st.shared.f32"));
            let store = stores.take(2).last().expect("a store");
            page.fill("[name=lane]", "5").expect("a lane");
            page.choose("[name=step]", &store.to_string())
                .expect("the slider");
            is_at(page, native, steps, store, 5);
            let said = page.text(".st-shown > .ia-said").expect("words");
            assert!(
                said.contains("It takes 2 wavefronts, 1 without bank conflicts"),
                "{said}"
            );
            assert_eq!(
                fragment(page),
                format!("#step={store}&lane=5&by=instruction")
            );
            // Every warp of the block reaches the barrier; the last one completes it.
            let mut at = store;
            focused(page, "[data-step=on]");
            for arrived in 1..=8 {
                page.press("n").expect("a key");
                at = steps.next_wait(at);
                let text = page.text("[data-barrier='0']").expect("a barrier");
                let expected = match arrived {
                    8 => "no warp waits; complete 1 time".to_owned(),
                    _ => format!("{arrived} of 8 warps have arrived"),
                };
                assert!(text.contains(&expected), "{arrived}: {text}");
            }
            is_at(page, native, steps, at, 5);
            // Warp 3 continues from here.
            page.click("[data-next='3']").expect("a warp");
            let next = (at + 1..)
                .find(|&one| steps.warp(one) == 3)
                .expect("a step");
            is_at(page, native, steps, next, 5);
            page.press("p").expect("a key");
            let before = (0..next)
                .rev()
                .find(|&one| steps.waits(one))
                .expect("a barrier");
            is_at(page, native, steps, before, 5);
            page.press("End").expect("a key");
            let end = steps.all().len() - 1;
            is_at(page, native, steps, end, 5);
            page.press("Home").expect("a key");
            assert_eq!(step(page), 0);
            // By lines: up to the beginning of the next one.
            page.choose("[name=by]", "line").expect("a step");
            page.click("[data-step=on]").expect("a button");
            let line = |at: usize| (steps.warp(at), &steps.instruction(at)["line"]);
            let last = (1..).find(|&at| line(at) != line(at + 1)).expect("a line");
            is_at(page, native, steps, last, 5);
            // A click on the map describes a word.
            page.click("[data-step=finding]").expect("a button");
            assert_eq!(step(page), last, "nothing was found");
            page.click(".st-map").expect("the map");
            let key = page.text(".st-scroll + .ia-key").expect("words");
            assert!(
                key.contains("bank 16: 0x00000000") && key.contains("it has not been written"),
                "{key}"
            );
        },
    );
}

#[test]
fn a_race_from_the_page_of_mistakes() {
    stepping(
        "mistakes.html",
        "cargo run -p rung02_smem -- --size 128x128x16 --kernel book/kernels/no_barrier_after_the_copy.ptx",
        |page, native, steps| {
            // There is a button below each output of a broken kernel, and the page knows each kernel.
            let links = page.evaluate(
        "[...document.querySelectorAll('.run-bar a')].map((one) => one.getAttribute('href'))",
    );
            let links: Vec<String> = serde_json::from_value(links.expect("links")).expect("a list");
            let to_findings = links
                .iter()
                .filter(|link| link.ends_with("&at=finding"))
                .count();
            assert!(to_findings >= 10, "{links:?}");
            let edits = page.evaluate("gemm.live.files(['book/kernels/edits.json']).then((files) => JSON.parse(files['book/kernels/edits.json']))");
            let edits = edits.expect("edits");
            for link in &links {
                if let Some((_, kernel)) = link.split_once("#kernel=") {
                    let kernel = kernel.split('&').next().unwrap_or_default();
                    assert!(edits.get(kernel).is_some(), "{link}");
                }
            }
            // The text on the page is the one that was compiled: the PTX has its hash.
            let wrong = page.evaluate(
        "(async () => { const edits = JSON.parse((await gemm.live.files(['book/kernels/edits.json']))['book/kernels/edits.json']); const wrong = [];\
           for (const [name, { rung, edits: own }] of Object.entries(edits)) {\
             const [file, source] = [`book/kernels/${name}.ptx`, `rungs/${rung}/kernel.cu`];\
             const files = await gemm.live.files([file, `rungs/${rung}`]);\
             const head = (key) => files[file].match(new RegExp(`^// ${key}: (.*)$`, 'm'))[1];\
             const { lines } = gemm.stepper.sourceOf(files[source], own);\
             if (lines.some((line) => line.includes('#include \"hopper.cuh\"'))) continue;\
             const text = new TextEncoder().encode(`${lines.join('\\n')}\\n\\n${head('options')}`);\
             const hash = [...new Uint8Array(await crypto.subtle.digest('SHA-256', text))].map((byte) => byte.toString(16).padStart(2, '0')).join('');\
             if (hash !== head('source-sha256')) wrong.push(name); }\
           return wrong; })()",
    );
            assert_eq!(wrong.expect("an answer"), json!([]));
            page.follow(".run-bar a[href*='no_barrier_after_the_copy&at=finding']")
                .expect("a link");
            settled(page);
            let (at, text) = steps.finding();
            is_at(page, native, steps, at, 0);
            assert_eq!(page.text(".st-finding pre").expect("a finding"), text);
            assert_eq!(
                fragment(page),
                format!("#kernel=no_barrier_after_the_copy&step={at}")
            );
            let changed = page.evaluate("document.querySelectorAll('.st-changed').length");
            assert!(changed.expect("lines").as_u64() > Some(0));
            // The rung's own kernel has no finding.
            page.choose("[name=kernel]", "").expect("a kernel");
            settled(page);
            assert_eq!(texts(page, ".st-finding"), json!([]));
        },
    );
}

/// TMA copies are in flight until they land, and then complete the phase.
#[test]
fn copies_land_and_end_a_phase() {
    stepping(
        "stepper.html#rung=09_tma&by=instruction&at=mbarrier.try_wait",
        "cargo run -p rung09_tma -- --size 128x128x128",
        |page, _, steps| {
            let is_wait = |at: &usize| steps.ptx(*at).starts_with("mbarrier.try_wait");
            let at = (0..steps.all().len()).find(is_wait).expect("a wait");
            assert_eq!(step(page), at);
            let landed = steps.all()[at]["landed"].as_array().expect("landed");
            let bytes: u64 = landed.iter().filter_map(|one| one["bytes"].as_u64()).sum();
            let issued = (0..at).flat_map(|step| {
                steps.all()[step]["effects"]
                    .as_array()
                    .into_iter()
                    .flatten()
            });
            let issued = issued.filter(|one| one.get("bulkCopy").is_some()).count();
            let address = landed[0]["mbarrier"].as_u64().expect("an address");
            let base = steps.0["base"].as_u64().expect("an address");
            let selector = format!("[data-mbarrier='{}']", address - base);
            let flying = |page: &mut Page<'_>| {
                let found = page.evaluate("[...document.querySelectorAll('.st-flying')].reduce((sum, one) => sum + parseInt(one.textContent), 0)");
                found.expect("a number").as_u64().expect("a number") as usize
            };
            let text = page.text(&selector).expect("an mbarrier");
            assert!(
                text.contains("phase 1, parity 1, 1 of 1 arrival pending, 0 bytes pending"),
                "{text}"
            );
            assert_eq!(flying(page), issued - landed.len());
            let label =
                page.evaluate("document.querySelector('.st-map').getAttribute('aria-label')");
            let label = label
                .expect("a name")
                .as_str()
                .unwrap_or_default()
                .to_owned();
            // Words whose value has not changed keep their writer; with random numbers there are few.
            let copied = label
                .split("bulk copies: ")
                .nth(1)
                .and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            assert!(
                copied.is_some_and(|words| (bytes / 4 - 16..=bytes / 4).contains(&words)),
                "{label}"
            );
            page.click("[data-step=back]").expect("a button");
            let text = page.text(&selector).expect("an mbarrier");
            assert!(
                text.contains(&format!(
                    "phase 0, parity 0, 0 of 1 arrival pending, {bytes} bytes pending"
                )),
                "{text}"
            );
            assert_eq!(flying(page), issued);
            let waits = texts(page, ".st-warps td:nth-child(3)").to_string();
            assert!(
                waits.contains(&format!("waits for mbarrier 0x{address:x}")),
                "{waits}"
            );
        },
    );
}

/// A `wgmma.wait_group` completes accumulators: the registers that the instructions name, with their places in the tile.
#[test]
fn accumulators_that_a_wait_completes() {
    stepping(
        "stepper.html#rung=10_wgmma&by=instruction&lane=5&at=wgmma.wait_group",
        "cargo run -p rung10_wgmma -- --size 128x128x128",
        |page, native, steps| {
            let at = step(page);
            assert!(steps.ptx(at).starts_with("wgmma.wait_group"));
            let of_warp = (0..at).filter(|&one| steps.warp(one) == steps.warp(at));
            let mut accumulators: Vec<Vec<&str>> = Vec::new();
            for one in of_warp.filter(|&one| steps.ptx(one).starts_with("wgmma.mma_async")) {
                let names = steps.ptx(one).split(['{', '}']).nth(1).expect("registers");
                let mut names: Vec<&str> = names.split(',').map(str::trim).collect();
                // Long PTX is cut off.
                if !steps.ptx(one).contains('}') {
                    names.pop();
                }
                names.resize(64, "");
                if !accumulators.contains(&names) {
                    accumulators.push(names);
                }
            }
            assert_eq!(accumulators.len(), 2);
            assert_eq!(
                texts(page, ".st-operands td:nth-child(2)"),
                json!(accumulators.concat())
            );
            holds(page, steps, at, 5);
            let request = json!({ "ask": "fragment", "shape": "m64n128k16", "operand": "c" });
            let fragment = native.ask(&request);
            let thread = 32 * steps.warp(at) as usize + 5;
            let shown = texts(page, ".st-operands td:nth-child(4)");
            for (number, shown) in shown.as_array().expect("texts").iter().enumerate() {
                let place = &fragment["at"][thread][number % 64];
                let place = format!(": row {}, column {}", place[0], place[1]);
                let shown = shown.as_str().expect("a text");
                assert!(
                    shown.starts_with("f32 ") && shown.ends_with(&place),
                    "{number}: {shown}, not {place}"
                );
            }
        },
    );
}

/// A link to a kernel or a rung that does not exist shows a message.
#[test]
fn a_kernel_that_is_not_there() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let link = "stepper.html#rung=04_mma&kernel=of_nobody";
    let mut page = open(&mut chromium, &server, link);
    settled(&mut page);
    let said = |page: &mut Page<'_>| texts(page, ".ia-controls [role=alert]:not([hidden])");
    assert_eq!(
        said(&mut page),
        json!(["There is no kernel of_nobody: this is the kernel of rung 04_mma."])
    );
    page.evaluate("location.hash = 'rung=99_nothing'")
        .expect("an address");
    page.wait_until(
        "document.querySelector('.ia-controls [role=alert]').textContent.includes('99_nothing')",
    )
    .expect("another answer");
    settled(&mut page);
    assert_eq!(
        said(&mut page),
        json!(["There is no rung 99_nothing: this is the kernel of rung 02_smem."])
    );
    // Choosing a rung clears the message.
    page.choose("[name=rung]", "04_mma").expect("a rung");
    settled(&mut page);
    assert_eq!(said(&mut page), json!([]));
    no_problems(&mut page);
}

/// A link from disk shows a step; a browser without WebAssembly says so.
#[test]
fn links_to_steps_from_disk() {
    let Some((mut chromium, _server)) = reader() else {
        return;
    };
    let links = [
        (
            "stepper.html#rung=04_mma&size=128x128x16&at=ldmatrix",
            (".st-access h3", "wavefronts"),
        ),
        (
            "stepper.html#kernel=half_a_warp_at_the_barrier&at=finding",
            (".st-finding pre", "Divergent"),
        ),
    ];
    let mut page = from_disk(&mut chromium, &links, contains);
    page.before_loading("delete globalThis.WebAssembly;")
        .expect("an answer");
    page.open(&disk(), "stepper.html").expect("the page");
    contains(
        &mut page,
        (
            "[data-interactive=stepper]",
            "This figure needs JavaScript and WebAssembly",
        ),
    );
    no_problems(&mut page);
}
