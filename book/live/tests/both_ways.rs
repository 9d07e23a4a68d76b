//! The committed module and the native program give the same answers: bits, counters, reports, data. A module that
//! differs is stale; `cargo book wasm` makes it again.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, thread};

use serde_json::{Value, json};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Node.js, or nothing, with a message.
fn node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join("node"));
    let found = found.into_iter().find(|file| file.is_file());
    if found.is_none() {
        let missing =
            "no Node.js was found, which runs the committed module: apt-get install nodejs";
        assert!(
            std::env::var("GEMM_REQUIRE_NODE").is_ok_and(|value| value != "1")
                || std::env::var_os("GEMM_REQUIRE_NODE").is_none(),
            "{missing}"
        );
        // Bypasses the test harness, which captures the output of passing tests.
        let _ = writeln!(std::io::stderr(), "skipped: {missing}");
    }
    found
}

/// The answers of a program to these requests, one per line.
fn answers(command: &mut Command, requests: &[Value]) -> Vec<Value> {
    let command = command.current_dir(root()).env("GEMM_NVRTC", "/nowhere");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().expect("a program");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String = requests.iter().map(|one| format!("{one}\n")).collect();
    let writer = thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("an end");
    writer.join().expect("a writer").expect("a reader");
    let text = String::from_utf8(output.stdout).expect("text");
    let read = |line| serde_json::from_str(line).expect("JSON");
    text.lines().map(read).collect()
}

/// The native engine.
fn native() -> Command {
    Command::new(env!("CARGO_BIN_EXE_live_native"))
}

fn module(node: &Path) -> Command {
    let mut command = Command::new(node);
    let here = root().join("book");
    command.arg(here.join("live/tests/module.mjs"));
    command.arg(here.join("src/live/module.js"));
    command
}

/// The kernels of a folder.
fn kernels(folder: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        if ending.is_some_and(|ending| ["cu", "ptx", "sass", "csv"].contains(&ending)) {
            let name = path.file_name().expect("a name").to_string_lossy();
            let text = fs::read_to_string(&path).expect("text");
            files.insert(format!("{folder}/{name}"), text);
        }
    }
    files
}

fn command(words: &str) -> Value {
    let words: Vec<&str> = words.split(' ').collect();
    json!({ "ask": "command", "words": words })
}

/// The JSON output of a command without date and commit, which a page does not know.
fn without_day(mut answer: Value) -> Value {
    let printed = answer["out"]
        .as_str()
        .map(str::to_owned)
        .unwrap_or_default();
    if let Ok(mut inner) = serde_json::from_str::<Value>(&printed) {
        for name in ["date", "commit"] {
            if let Some(provenance) = inner.get_mut("provenance").and_then(Value::as_object_mut) {
                provenance.remove(name);
            }
        }
        answer = json!({ "code": answer["code"], "json": inner });
    }
    answer
}

/// Sends requests to both, and fails at the first difference.
fn agree(requests: &[Value]) {
    let Some(node) = node() else {
        return;
    };
    let ours = answers(&mut native(), requests);
    let theirs = answers(&mut module(&node), requests);
    for (at, request) in requests.iter().enumerate() {
        let what = request["words"].to_string();
        let (Some(ours), Some(theirs)) = (ours.get(at), theirs.get(at)) else {
            panic!(
                "{what}: one of both stopped: {:?} and {:?}",
                ours.last(),
                theirs.last()
            );
        };
        let [ours, theirs] = [ours, theirs].map(|answer| without_day(answer.clone()));
        assert!(
            ours == theirs,
            "{what}: the committed module is stale, `cargo book wasm` makes it again\nthe program: {ours:#}\nthe module: {theirs:#}"
        );
        assert!(ours.get("error").is_none(), "{what}: {ours}");
    }
}

fn rungs() -> Vec<String> {
    let entries = fs::read_dir(root().join("rungs")).expect("rungs");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| root().join("rungs").join(name).is_dir());
    names.sort();
    names
}

/// The JSON output contains the bits of C, all counters and every line's accesses; the report is the text for readers.
#[test]
fn every_rung() {
    let mut requests = Vec::new();
    for rung in rungs() {
        let files = kernels(&format!("rungs/{rung}"));
        requests.push(json!({ "ask": "files", "files": files }));
        let size = if rung.starts_with("01") { 64 } else { 128 };
        let run = format!("cargo run -p rung{rung} -- --size {size} --seed 3");
        requests.push(command(&run));
        requests.push(command(&format!("{run} --json")));
        requests.push(command(&format!("{run} --schedule 7 sanitize")));
    }
    agree(&requests);
}

/// A listing with its bound, and a prediction.
#[test]
fn profile_and_time() {
    let files = kernels("rungs/05_swizzle");
    agree(&[
        json!({ "ask": "files", "files": files }),
        command("cargo run -p rung05_swizzle -- profile"),
        command("cargo run -p rung05_swizzle -- time --size 1024"),
        command(
            "cargo run -p rung05_swizzle -- time --size 512 --timeline - --json --set latency.dram=900",
        ),
        json!({ "ask": "steps", "words": ["cargo", "run", "-p", "rung05_swizzle", "--", "--size", "128x128x128"], "most": 3000 }),
    ]);
}

/// Memory, operands and effects of every step, TMA copies, also in a cluster, and a mistake that stops the launch.
#[test]
fn steps() {
    let mut requests = vec![
        json!({ "ask": "rungs" }),
        json!({ "ask": "files", "files": kernels("book/kernels") }),
    ];
    let steps = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        json!({ "ask": "steps", "words": words, "most": 20_000 })
    };
    for (rung, words) in [
        ("02_smem", "--size 128x128x16"),
        ("09_tma", "--size 128x128x64"),
        ("12_multicast", "--size 128x128x64"),
        (
            "03_padded",
            "--size 128x128x16 --kernel book/kernels/misaligned_float4.ptx",
        ),
    ] {
        let files = kernels(&format!("rungs/{rung}"));
        requests.push(json!({ "ask": "files", "files": files }));
        requests.push(steps(&format!("cargo run -p rung{rung} -- {words}")));
    }
    agree(&requests);
}

#[test]
fn labs_and_broken_kernels() {
    let mut requests = Vec::new();
    for lab in labs::names() {
        // Its launches fill a GPU.
        if lab != "bf16_tn" {
            let files = kernels(&format!("book/labs/{lab}"));
            requests.push(json!({ "ask": "files", "files": files }));
            requests.push(command(&format!("cargo run -p labs -- {lab}")));
        }
    }
    requests.push(json!({ "ask": "files", "files": kernels("book/kernels") }));
    for broken in [
        "rung01_naive -- --size 64 --kernel book/kernels/writes_nothing.ptx",
        "rung02_smem -- sanitize --kernel book/kernels/copies_half_of_b.ptx --size 128x128x64",
        "rung09_tma -- sanitize --kernel book/kernels/does_not_wait_for_tma.ptx --size 128x128x64",
    ] {
        requests.push(command(&format!("cargo run -p {broken}")));
    }
    agree(&requests);
}

/// Commands that launch nothing, and the data of the pages.
#[test]
fn explanations_and_data() {
    let offsets: Vec<String> = (0..32).map(|lane| (lane * 132).to_string()).collect();
    let mut requests = vec![json!({ "ask": "files", "files": kernels("book/data") })];
    for words in [
        "layout swizzle 3 4 3",
        "layout swizzles",
        "layout bankmap --rows 32 --columns 32 --ld 33",
        "layout map col^(row&7)",
        "layout fragment ldmatrix.x4.trans",
        "layout fragment m64n128k16 c --format json",
        "layout descriptor canonical k 128 --k 64",
        "layout tmem scales a 4X",
        "banks book/data/words.csv --draw 2",
        "banks book/data/phases.csv",
        "round 1*1 1.5*2^-24",
        "approximate ex2.approx.ftz.f32 0.3",
    ] {
        requests.push(command(&format!("cargo ladder {words}")));
    }
    requests.extend([
        json!({ "ask": "fields", "words": ["cargo", "ladder", "layout", "swizzle", "3", "4", "3"] }),
        json!({ "ask": "fields", "words": ["cargo", "run", "-p", "rung01_naive", "--", "profile", "--uncoalesced"] }),
        json!({ "ask": "fields", "words": ["cargo", "run", "-p", "labs", "--", "vectors"] }),
        json!({ "ask": "mapping", "swizzle": { "b": 2, "m": 4, "s": 3 }, "rows": 8 }),
        json!({ "ask": "mapping", "map": "(col + row) % 9", "row_bytes": 144, "unit": 16, "rows": 8, "bytes": 4 }),
        json!({ "ask": "access", "op": "ld", "bytes": "4", "offsets": offsets.join(",") }),
        json!({ "ask": "fragment", "shape": "m16n8k16", "operand": "b" }),
        json!({ "ask": "mbarrier", "count": 1, "operations": [{ "arrive_expect_tx": 64 }, { "complete_tx": 32 }, { "wait": 0 }] }),
        json!({ "ask": "waves", "m": 2304, "n": 2816, "k": 2048, "tile": [128, 256, 64], "sms": 132, "cluster": 2, "stream_k": true }),
        json!({ "ask": "fragment", "shape": "ldmatrix.x2.trans", "operand": null }),
    ]);
    agree(&requests);
}
