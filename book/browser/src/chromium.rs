//! A private Chromium: started with an empty profile, ended with the test.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::connection::Connection;
use crate::page::Page;

/// Names a browser that is not in PATH.
pub const PATH: &str = "GEMM_CHROMIUM";

/// Executable names, depending on who packaged it.
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Does nothing unasked: no window, no first-run page, no network requests. The sandbox needs permissions that a
/// container lacks; the pages are our own.
/// container lacks; the pages are ours.
const FLAGS: [&str; 12] = [
    "--headless",
    "--remote-debugging-port=0",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--mute-audio",
];

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

/// A running browser.
pub struct Chromium {
    process: Child,
    connection: Connection,
    /// Its profile, deleted with it.
    _profile: tempfile::TempDir,
}

impl Chromium {
    /// Starts it and waits until it can be asked.
    ///
    /// # Errors
    /// If it does not start; the error has what it printed.
    pub fn start(path: &Path) -> Result<Self> {
        let profile = tempfile::tempdir().context("no folder for the browser's profile")?;
        let mut process = Command::new(path)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        match address(&mut process).and_then(|address| Connection::open(&address)) {
            Ok(connection) => Ok(Self {
                process,
                connection,
                _profile: profile,
            }),
            Err(error) => {
                end(&mut process);
                Err(error)
            }
        }
    }

    /// What it calls itself, such as `Chrome/140.0.0.0`.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn version(&mut self) -> Result<String> {
        let version = self
            .connection
            .call(None, "Browser.getVersion", json!({}))?;
        Ok(version["product"].as_str().unwrap_or_default().to_owned())
    }

    /// An empty page.
    ///
    /// # Errors
    /// If the browser does not answer.
    pub fn page(&mut self) -> Result<Page<'_>> {
        Page::new(&mut self.connection)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn end(process: &mut Child) {
    // It may have ended by itself; there is nobody to tell.
    let _ = process.kill();
    let _ = process.wait();
}

/// Where it listens: it says so on standard error.
fn address(process: &mut Child) -> Result<String> {
    let stderr = process.stderr.take().context("standard error is a pipe")?;
    let mut lines = BufReader::new(stderr).lines();
    let mut said = Vec::new();
    for line in lines.by_ref() {
        let line = line.context("the browser's standard error")?;
        if let Some((_, address)) = line.split_once("DevTools listening on ") {
            // A process that writes to a full pipe blocks: its output is read until it ends.
            std::thread::spawn(move || lines.for_each(drop));
            return Ok(address.trim().to_string());
        }
        said.push(line);
    }
    bail!("the browser ended before it listened:\n{}", said.join("\n"))
}
