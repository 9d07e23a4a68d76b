//! A Firefox of our own, driven over WebDriver BiDi, which it speaks by itself: <https://w3c.github.io/webdriver-bidi/>.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::script;

/// Names a Firefox that is not on the path.
pub const PATH: &str = "GEMM_FIREFOX";

const NAMES: [&str; 2] = ["firefox", "firefox-esr"];

/// The browser to use, if there is one.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PATH) {
        return Some(named.into()).filter(|path: &PathBuf| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .flat_map(|folder| NAMES.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// A running Firefox with one page.
pub struct Firefox {
    process: Child,
    connection: Connection,
    context: String,
    /// Its profile, deleted with it.
    _profile: tempfile::TempDir,
}

impl Firefox {
    /// Starts it and waits until it can be asked.
    ///
    /// # Errors
    /// If it does not start; the error has what it printed.
    pub fn start(path: &Path) -> Result<Self> {
        let profile = tempfile::tempdir().context("no folder for the browser's profile")?;
        let mut process = Command::new(path)
            .args(["--headless", "--no-remote", "--remote-debugging-port=0"])
            .arg("--profile")
            .arg(profile.path())
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        match connect(&mut process) {
            Ok((connection, context)) => Ok(Self {
                process,
                connection,
                context,
                _profile: profile,
            }),
            Err(error) => {
                end(&mut process);
                Err(error)
            }
        }
    }

    /// Opens a page and waits until it has loaded and its engine has arrived.
    ///
    /// # Errors
    /// If there is no such page.
    pub fn open(&mut self, url: &str) -> Result<()> {
        // With another fragment the same page would not be loaded again.
        for url in ["about:blank", url] {
            let to = json!({ "context": self.context, "url": url, "wait": "complete" });
            self.connection.call(None, "browsingContext.navigate", to)?;
        }
        self.wait_until("!document.querySelector('[aria-busy=true]')")
    }

    /// What an expression is worth, as JSON; promises are awaited.
    ///
    /// # Errors
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let parameters = json!({
            "expression": format!("(async () => JSON.stringify(await {expression}) ?? 'null')()"),
            "target": { "context": self.context }, "awaitPromise": true,
        });
        let answer = self.connection.call(None, "script.evaluate", parameters)?;
        if answer["type"] == "exception" {
            bail!("{}", answer["exceptionDetails"]["text"]);
        }
        let text = answer["result"]["value"].as_str().context("a text")?;
        Ok(serde_json::from_str(text)?)
    }

    /// The text of the first element that a selector finds.
    ///
    /// # Errors
    /// If it finds none.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let found = self.evaluate(&format!("{}.textContent", script::element(selector)))?;
        Ok(found.as_str().unwrap_or_default().to_owned())
    }

    /// Clicks into the middle of an element, with the mouse.
    ///
    /// # Errors
    /// If there is none, or something else lies above it.
    pub fn click(&mut self, selector: &str) -> Result<()> {
        let place = self.evaluate(&script::middle(selector))?;
        let (x, y) = script::reached(selector, &place)?;
        let (x, y) = (x.round(), y.round());
        self.act(json!({
            "type": "pointer", "id": "mouse",
            "actions": [
                { "type": "pointerMove", "x": x as i64, "y": y as i64 },
                { "type": "pointerDown", "button": 0 },
                { "type": "pointerUp", "button": 0 },
            ],
        }))
    }

    /// Presses the right arrow.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn press_right(&mut self) -> Result<()> {
        // WebDriver, "Keyboard actions": the code point of ArrowRight.
        let key = "\u{E014}";
        self.act(json!({
            "type": "key", "id": "keys",
            "actions": [{ "type": "keyDown", "value": key }, { "type": "keyUp", "value": key }],
        }))
    }

    fn act(&mut self, source: Value) -> Result<()> {
        let actions = json!({ "context": self.context, "actions": [source] });
        self.connection
            .call(None, "input.performActions", actions)?;
        Ok(())
    }

    /// Takes an option of a list, or a value of a slider.
    ///
    /// # Errors
    /// If there is no such list or option.
    pub fn choose(&mut self, selector: &str, value: &str) -> Result<()> {
        let chosen = self.evaluate(&script::choose(selector, value))?;
        if chosen != value {
            bail!("{selector} has no {value}");
        }
        Ok(())
    }

    /// Waits until an expression is true.
    ///
    /// # Errors
    /// If it does not become true within ten seconds.
    pub fn wait_until(&mut self, expression: &str) -> Result<()> {
        let waited = self.evaluate(&script::wait_until(expression));
        waited.with_context(|| expression.to_owned())?;
        Ok(())
    }

    /// Errors and warnings on the console, exceptions and failed requests since the last time.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn problems(&mut self) -> Result<Vec<String>> {
        // Whatever it has to tell comes before the answer to this.
        self.evaluate("0")?;
        let events = self.connection.drain();
        Ok(events.iter().filter_map(problem).collect())
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        // It ends its own processes, and is not waited for longer than that takes.
        let _ = self.connection.call(None, "browser.close", json!({}));
        end(&mut self.process);
    }
}

fn end(process: &mut Child) {
    // It may have ended by itself; there is nobody to tell.
    let _ = process.kill();
    let _ = process.wait();
}

fn connect(process: &mut Child) -> Result<(Connection, String)> {
    let address = address(process)?;
    let mut connection = Connection::open(&format!("{address}/session"))?;
    connection.call(None, "session.new", json!({ "capabilities": {} }))?;
    let events =
        json!({ "events": ["log.entryAdded", "network.fetchError", "network.responseCompleted"] });
    connection.call(None, "session.subscribe", events)?;
    let tree = connection.call(None, "browsingContext.getTree", json!({}))?;
    let context = tree["contexts"][0]["context"].as_str();
    let context = context.context("a page")?.to_owned();
    Ok((connection, context))
}

/// Where it listens: it says so on standard error.
fn address(process: &mut Child) -> Result<String> {
    let stderr = process.stderr.take().context("standard error is a pipe")?;
    let mut lines = BufReader::new(stderr).lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        let line = line.context("the browser's standard error")?;
        if let Some((_, address)) = line.split_once("WebDriver BiDi listening on ") {
            // A process that writes to a full pipe blocks: its output is read until it ends.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(address.trim().to_owned());
        }
        said.push(line);
    }
    bail!("the browser ended before it listened:\n{}", said.join("\n"))
}

fn problem(event: &Value) -> Option<String> {
    let told = &event["params"];
    match event["method"].as_str()? {
        "log.entryAdded" if told["level"] == "error" || told["level"] == "warn" => {
            Some(format!("in the log: {}", told["text"]))
        }
        "network.fetchError" => Some(format!("a failed request: {}", told["request"]["url"])),
        "network.responseCompleted" if told["response"]["status"].as_u64()? >= 400 => {
            Some(format!(
                "{} for {}",
                told["response"]["status"], told["response"]["url"]
            ))
        }
        _ => None,
    }
}
