//! A page: its appearance, actions on it, and its problems.
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::connection::Connection;
use crate::script::{self, element};

/// The reader's screen and preferences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appearance {
    /// A phone's screen, 360 pixels wide, instead of a desktop's.
    pub phone: bool,
    /// Prefers dark pages.
    pub dark: bool,
    /// Prefers reduced motion.
    pub still: bool,
}

impl Appearance {
    /// With motion.
    pub const fn new(phone: bool, dark: bool) -> Self {
        Self {
            phone,
            dark,
            still: false,
        }
    }
}

/// A slower network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Network {
    /// Bytes per second.
    pub megabits: f64,
    /// Latency from a request to its answer.
    pub latency_ms: f64,
}

/// An interactive page has started when its engine is loaded.
const STARTED: &str = "!document.querySelector('[aria-busy=true]')";

/// A page in the browser.
pub struct Page<'a> {
    connection: &'a mut Connection,
    session: String,
    problems: Vec<String>,
    /// Requests to other servers are problems.
    home: String,
    /// Its last address.
    url: String,
}

impl<'a> Page<'a> {
    /// Opens a page in a window of its own, in this browser context.
    pub(crate) fn new(connection: &'a mut Connection, context: &str) -> Result<Self> {
        let target =
            json!({ "url": "about:blank", "browserContextId": context, "newWindow": true });
        let target = connection.call(None, "Target.createTarget", target)?;
        let target = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = connection.call(None, "Target.attachToTarget", target)?;
        let session = attached["sessionId"]
            .as_str()
            .context("a session")?
            .to_string();
        let mut page = Self {
            connection,
            session,
            problems: Vec::new(),
            home: String::new(),
            url: String::new(),
        };
        for domain in ["Page", "Runtime", "Log", "Network"] {
            page.call(&format!("{domain}.enable"), json!({}))?;
        }
        // Other windows may be in front.
        page.call(
            "Emulation.setFocusEmulationEnabled",
            json!({ "enabled": true }),
        )?;
        Ok(page)
    }

    fn call(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.connection
            .call(Some(&self.session), method, parameters)
    }

    /// Sets the appearance, from the next [`Self::open`] on.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn appear(&mut self, appearance: Appearance) -> Result<()> {
        let (width, height) = if appearance.phone {
            (360, 740)
        } else {
            (1280, 900)
        };
        let screen = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": appearance.phone });
        self.call("Emulation.setDeviceMetricsOverride", screen)?;
        let scheme = if appearance.dark { "dark" } else { "light" };
        let motion = if appearance.still {
            "reduce"
        } else {
            "no-preference"
        };
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": motion },
        ]);
        self.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        )?;
        Ok(())
    }

    /// Opens a page of the site at `home` and waits until it is loaded.
    ///
    /// # Errors
    /// If the page does not exist.
    pub fn open(&mut self, home: &str, path: &str) -> Result<()> {
        self.note_problems();
        self.home = home.to_string();
        let url = format!("{home}{path}");
        let page = |url: &str| url.split('#').next().map(str::to_string);
        if page(&self.url) == page(&url) {
            // The same page with another fragment would not be loaded again.
            self.load("about:blank")?;
        }
        self.load(&url)?;
        self.url = url;
        self.wait_until(STARTED)
    }

    /// Runs a script in each page opened from now on, before the page's own scripts.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn before_loading(&mut self, script: &str) -> Result<()> {
        self.call(
            "Page.addScriptToEvaluateOnNewDocument",
            json!({ "source": script }),
        )?;
        Ok(())
    }

    /// Slows down the network, from now on.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn slow_down(&mut self, network: Network) -> Result<()> {
        let bytes = network.megabits * 1e6 / 8.0;
        let conditions = json!({
            "offline": false, "latency": network.latency_ms, "downloadThroughput": bytes, "uploadThroughput": bytes,
        });
        self.call("Network.emulateNetworkConditions", conditions)?;
        Ok(())
    }

    /// Clicks a link to another page and waits until that is loaded.
    ///
    /// # Errors
    /// If there is no such link, or it does not lead to a page.
    pub fn follow(&mut self, link: &str) -> Result<()> {
        self.note_problems();
        self.click(link)?;
        self.loaded()?;
        let url = self.evaluate("location.href")?;
        self.url = url.as_str().context("an address")?.to_owned();
        self.wait_until(STARTED)
    }

    fn load(&mut self, url: &str) -> Result<()> {
        let answer = self.call("Page.navigate", json!({ "url": url }))?;
        if let Some(error) = answer.get("errorText") {
            bail!("{url}: {error}");
        }
        self.loaded()
    }

    /// Waits until the page that is being opened is loaded: a script that ran in the one before would have no answer.
    fn loaded(&mut self) -> Result<()> {
        self.connection
            .wait_for(&self.session, "Page.loadEventFired")?;
        self.note_problems();
        Ok(())
    }

    /// The value of an expression as JSON; promises are awaited.
    ///
    /// # Errors
    /// If it throws.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let parameters =
            json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", parameters)?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            let told = thrown["exception"]["description"].as_str();
            bail!("{}", told.unwrap_or("an exception without a description"));
        }
        Ok(answer["result"]["value"].take())
    }

    /// The text of the first element that matches a selector.
    ///
    /// # Errors
    /// If no element matches.
    pub fn text(&mut self, selector: &str) -> Result<String> {
        let found = self.evaluate(&format!("{}.textContent", element(selector)))?;
        Ok(found.as_str().unwrap_or_default().to_string())
    }

    /// Clicks the middle of an element with the mouse.
    ///
    /// # Errors
    /// If there is no such element, or another one covers it.
    pub fn click(&mut self, selector: &str) -> Result<()> {
        let (x, y) = self.middle(selector)?;
        self.mouse("mouseMoved", x, y)?;
        self.mouse("mousePressed", x, y)?;
        self.mouse("mouseReleased", x, y)
    }

    /// Moves the mouse to the middle of an element.
    ///
    /// # Errors
    /// If there is no such element, or another one covers it.
    pub fn hover(&mut self, selector: &str) -> Result<()> {
        let (x, y) = self.middle(selector)?;
        self.mouse("mouseMoved", x, y)
    }

    fn mouse(&mut self, kind: &str, x: f64, y: f64) -> Result<()> {
        let button = if kind == "mouseMoved" { "none" } else { "left" };
        let event = json!({ "type": kind, "x": x, "y": y, "button": button, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", event)?;
        Ok(())
    }

    fn middle(&mut self, selector: &str) -> Result<(f64, f64)> {
        let place = self.evaluate(&script::middle(selector))?;
        script::reached(selector, &place)
    }

    /// Presses a named key, such as `ArrowRight`, or a character.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            "End" => (35, ""),
            "Home" => (36, ""),
            "ArrowLeft" => (37, ""),
            "ArrowUp" => (38, ""),
            "ArrowRight" => (39, ""),
            "ArrowDown" => (40, ""),
            " " => (32, " "),
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Replaces the contents of a field, as if typed.
    ///
    /// # Errors
    /// If the field does not exist.
    pub fn fill(&mut self, selector: &str, text: &str) -> Result<()> {
        self.evaluate(&format!(
            "(() => {{ const found = {}; found.focus(); found.select(); }})()",
            element(selector)
        ))?;
        self.call("Input.insertText", json!({ "text": text }))?;
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
        self.evaluate(&script::wait_until(expression))
            .with_context(|| expression.to_string())?;
        Ok(())
    }

    /// Elements that extend beyond the right edge of the screen and cannot be scrolled.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn overflowing(&mut self) -> Result<Vec<String>> {
        let found = self.evaluate(include_str!("overflowing.js"))?;
        Ok(serde_json::from_value(found)?)
    }

    /// Problems since the last call: failed requests, console errors, exceptions, requests to other servers.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn problems(&mut self) -> Result<Vec<String>> {
        // Pending events arrive before the answer to this call.
        self.evaluate("0")?;
        self.note_problems();
        Ok(std::mem::take(&mut self.problems))
    }

    fn note_problems(&mut self) {
        for event in self.connection.drain() {
            if event["sessionId"] == self.session.as_str() {
                self.problems.extend(problem(&event, &self.home));
            }
        }
    }
}

fn problem(event: &Value, home: &str) -> Option<String> {
    let told = &event["params"];
    match event["method"].as_str()? {
        "Network.requestWillBeSent" => {
            let url = told["request"]["url"].as_str()?;
            let is_home = ["about:", "data:", "blob:", home]
                .iter()
                .any(|start| !start.is_empty() && url.starts_with(start));
            (!is_home).then(|| format!("a request to {url}"))
        }
        "Network.loadingFailed" if told["canceled"] != true => {
            Some(format!("a failed request: {}", told["errorText"]))
        }
        "Network.responseReceived" if told["response"]["status"].as_u64()? >= 400 => {
            let response = &told["response"];
            Some(format!("{} for {}", response["status"], response["url"]))
        }
        "Runtime.exceptionThrown" => {
            let thrown = &told["exceptionDetails"];
            Some(format!(
                "an exception: {} {}",
                thrown["text"], thrown["exception"]["description"]
            ))
        }
        "Runtime.consoleAPICalled" if told["type"] == "error" || told["type"] == "warning" => {
            Some(format!("on the console: {}", told["args"]))
        }
        "Log.entryAdded" if told["entry"]["level"] == "error" => Some(format!(
            "in the log: {} {}",
            told["entry"]["text"], told["entry"]["url"]
        )),
        _ => None,
    }
}
