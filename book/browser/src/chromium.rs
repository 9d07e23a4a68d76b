//! A private Chromium: started with an empty profile, ended with the test.
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use crate::connection::Connection;
use crate::page::Page;
use crate::process::Process;

/// Names a browser that is not in PATH.
pub const PATH: &str = "GEMM_CHROMIUM";

/// Executable names, depending on who packaged it.
pub const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// No window, no first-run page, no network requests of its own. The sandbox needs permissions that a container lacks;
/// without it is safe because the pages are our own.
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

/// A running browser.
pub struct Chromium {
    connection: Connection,
    _process: Process,
}

impl Chromium {
    /// Starts the browser and connects to it.
    ///
    /// # Errors
    /// If it does not start; the error contains its output.
    pub fn start(path: &Path) -> Result<Self> {
        let (process, address) =
            Process::start(path, "DevTools listening on ", |command, profile| {
                command
                    .args(FLAGS)
                    .arg(format!("--user-data-dir={}", profile.display()))
                    .arg("about:blank");
            })?;
        Ok(Self {
            connection: Connection::open(&address)?,
            _process: process,
        })
    }

    /// The browser's name and version, such as `Chrome/140.0.0.0`.
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
