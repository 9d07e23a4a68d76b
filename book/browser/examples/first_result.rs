//! Measures how long a reader waits for the first result of "Run it here": until the engine is loaded and a rung has
//! run. Chromium opens the built book with an empty profile each time, from a server and from disk. Writes
//! results/first_result.json: `cargo book build && cargo run -p book-browser --example first_result`.
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use book_browser::{Chromium, Network, Server, chromium_or_skip};
use serde_json::{Value, json};

/// The path of the record, relative to the workspace's root.
const RECORD: &str = "results/first_result.json";
/// A page without a figure, because a figure would load the engine itself.
const PAGE: &str = "index.html";
/// The command that runs, at its default size.
const WORDS: [&str; 4] = ["cargo", "run", "-p", "rung05_swizzle"];
const BUNDLE: &str = "rungs/05_swizzle";
const ROUNDS: usize = 5;
/// A mobile network.
const MOBILE: Network = Network {
    megabits: 10.0,
    latency_ms: 40.0,
};

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the workspace")?;
    let book = root.join("book/book");
    ensure!(
        book.join(PAGE).is_file(),
        "there is no built book: `cargo book build` makes it"
    );
    let server = Server::start(&book)?;
    let disk = format!("file://{}/", book.display());
    let places = [
        ("served", server.address(), None),
        ("from disk", &disk, None),
        ("served at 10 Mbit/s", server.address(), Some(MOBILE)),
    ];
    // The load average over the last minute: a busy machine is slower in all columns.
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default();
    let native = median((0..ROUNDS).map(|_| native(&root)).collect::<Result<_>>()?);
    let mut version = String::new();
    let mut rows = Vec::new();
    for (place, home, network) in places {
        let mut columns = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            let Some(mut chromium) = chromium_or_skip()? else {
                return Ok(());
            };
            version = chromium.version()?;
            let times = times(&mut chromium, home, network)?;
            for (column, time) in columns.iter_mut().zip(times) {
                column.push(time);
            }
        }
        let [load, first, again] = columns.map(median);
        println!(
            "{place}: engine {load:.0} ms, first result {:.0} ms, again {again:.0} ms, {:.1} times the program's {native:.0} ms",
            load + first,
            again / native
        );
        rows.push(json!({
            "place": place, "engine_ms": tenth(load), "first_result_ms": tenth(load + first), "again_ms": tenth(again),
            "again_of_native": tenth(again / native),
        }));
    }
    let module = fs::metadata(book.join("live/module.js")).context("the module")?;
    let record = json!({
        "command": WORDS.join(" "), "rounds": ROUNDS, "native_ms": tenth(native),
        "mobile": { "megabits": MOBILE.megabits, "latency_ms": MOBILE.latency_ms },
        "module_js_bytes": module.len(), "rows": rows,
        "provenance": {
            "commit": said("git", &["describe", "--always", "--dirty"]), "date": date()?, "browser": version, "cpu": cpu(),
            "load_average": load, "cores": std::thread::available_parallelism()?.get(),
            "native_profile": if cfg!(debug_assertions) { "dev" } else { "release" },
        },
    });
    let text = serde_json::to_string_pretty(&record)? + "\n";
    fs::write(root.join(RECORD), text).with_context(|| format!("cannot write {RECORD}"))?;
    println!("written to {RECORD}");
    Ok(())
}

/// In milliseconds: until the engine answers, from there to the first result, and a second run.
fn times(chromium: &mut Chromium, home: &str, network: Option<Network>) -> Result<[f64; 3]> {
    let mut page = chromium.page()?;
    page.open(home, PAGE)?;
    if let Some(network) = network {
        page.slow_down(network)?;
    }
    let run = format!(
        "gemm.live.run({{ ask: 'command', words: {} }}, {{ bundles: ['{BUNDLE}'] }}).answer",
        json!(WORDS)
    );
    let found = page.evaluate(&format!(
        "(async () => {{ const times = [performance.now()]; const now = () => times.push(performance.now());\
         await gemm.live.ask(); now(); const answers = [await {run}]; now(); answers.push(await {run}); now();\
         if (answers.some(({{ code }}) => code !== 0)) throw new Error(answers[0].err);\
         return times.slice(1).map((time, i) => time - times[i]); }})()"
    ))?;
    serde_json::from_value(found).context("three times")
}

/// The same run by the native engine, without the start of its process.
fn native(root: &Path) -> Result<f64> {
    let mut program = Command::new(program(root)?)
        .current_dir(root)
        .env("GEMM_NVRTC", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = program.stdin.take().context("standard input")?;
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(
        program.stdout.take().context("standard output")?,
    ));
    let mut ask = |request: &Value| -> Result<f64> {
        let begun = Instant::now();
        writeln!(input, "{request}")?;
        let line = lines.next().context("an answer")??;
        let answer: Value = serde_json::from_str(&line)?;
        ensure!(answer.get("error").is_none(), "{answer}");
        Ok(begun.elapsed().as_secs_f64() * 1e3)
    };
    // It has started when it has answered a request.
    ask(&json!({ "ask": "card" }))?;
    let time = ask(&json!({ "ask": "command", "words": WORDS }))?;
    drop(input);
    program.wait()?;
    Ok(time)
}

/// Builds the native engine, in this program's profile.
fn program(root: &Path) -> Result<PathBuf> {
    let mut build = Command::new(env!("CARGO"));
    build
        .current_dir(root)
        .args(["build", "--quiet", "-p", "live", "--bin", "live_native"]);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    ensure!(build.status()?.success(), "live_native does not compile");
    let this = std::env::current_exe()?;
    let folder = this.ancestors().nth(2).context("a folder of programs")?;
    Ok(folder.join("live_native"))
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn tenth(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

fn date() -> Result<String> {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(said(
        "date",
        &[
            "-u",
            "-d",
            &format!("@{}", now.as_secs()),
            "+%Y-%m-%dT%H:%M:%SZ",
        ],
    ))
}

fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = line.map(|line| line.trim_start_matches([' ', '\t', ':']));
    name.unwrap_or("unknown").to_owned()
}
