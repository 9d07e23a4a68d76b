//! A private Firefox, driven over WebDriver BiDi, which is built in: <https://w3c.github.io/webdriver-bidi/>.
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::process::Process;
use crate::script;

/// Names a Firefox that is not in PATH.
pub const PATH: &str = "GEMM_FIREFOX";

/// Executable names, depending on who packaged it.
pub const NAMES: [&str; 2] = ["firefox", "firefox-esr"];

/// A running Firefox with one page.
pub struct Firefox {
    connection: Connection,
    context: String,
    _process: Process,
}

impl Firefox {
    /// Starts the browser and connects to it.
    ///
    /// # Errors
    /// If it does not start; the error contains its output.
    pub fn start(path: &Path) -> Result<Self> {
        let (process, address) =
            Process::start(path, "WebDriver BiDi listening on ", |command, profile| {
                command
                    .args(["--headless", "--no-remote", "--remote-debugging-port=0"])
                    .arg("--profile")
                    .arg(profile)
                    .env("HOME", profile);
            })?;
        let (connection, context) = connect(&address)?;
        Ok(Self {
            connection,
            context,
            _process: process,
        })
    }

    /// Opens a page and waits until the page and its engine are loaded.
    ///
    /// # Errors
    /// If the page does not exist.
    pub fn open(&mut self, url: &str) -> Result<()> {
        // The same page with another fragment would not be loaded again.
        for url in ["about:blank", url] {
            let to = json!({ "context": self.context, "url": url, "wait": "complete" });
            self.connection.call(None, "browsingContext.navigate", to)?;
        }
        self.wait_until("!document.querySelector('[aria-busy=true]')")
    }

    /// The value of an expression as JSON; promises are awaited.
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

    /// The text of the first element that matches a selector.
    ///
    /// # Errors
    /// If no element matches.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let found = self.evaluate(&format!("{}.textContent", script::element(selector)))?;
        Ok(found.as_str().unwrap_or_default().to_owned())
    }

    /// Clicks the middle of an element with the mouse.
    ///
    /// # Errors
    /// If there is no such element, or another one covers it.
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

    /// Selects an option of a list, or a value of a slider.
    ///
    /// # Errors
    /// If the list or the option does not exist.
    pub fn choose(&mut self, selector: &str, value: &str) -> Result<()> {
        let chosen = self.evaluate(&script::choose(selector, value))?;
        if chosen != value {
            bail!("{selector} has no {value}");
        }
        Ok(())
    }

    /// Waits until an expression becomes true.
    ///
    /// # Errors
    /// If it does not become true within 45 s.
    pub fn wait_until(&mut self, expression: &str) -> Result<()> {
        let waited = self.evaluate(&script::wait_until(expression));
        waited.with_context(|| expression.to_owned())?;
        Ok(())
    }

    /// Console errors and warnings, exceptions and failed requests since the last call.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn problems(&mut self) -> Result<Vec<String>> {
        // Pending events arrive before the answer to this call.
        self.evaluate("0")?;
        let events = self.connection.drain();
        Ok(events.iter().filter_map(problem).collect())
    }
}

impl Drop for Firefox {
    fn drop(&mut self) {
        // Lets Firefox end its child processes before its own process is killed.
        let _ = self.connection.call(None, "browser.close", json!({}));
    }
}

fn connect(address: &str) -> Result<(Connection, String)> {
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
