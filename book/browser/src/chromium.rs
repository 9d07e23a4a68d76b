//! Chromium. Each test has a browser context of its own, as an incognito window has: nothing is kept from one test to the next. Tests that run
//! at the same time share the process, since starting one is slow.
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use anyhow::{Context, Result};
use serde_json::json;

use crate::connection::Connection;
use crate::page::Page;
use crate::process::Process;

/// Names a browser that is not in PATH.
pub const PATH: &str = "GEMM_CHROMIUM";

/// Executable names, depending on who packaged it. The first two, Debian's and Chrome's headless shell, have the same
/// engine without the browser around it, so they are faster.
pub const NAMES: [&str; 7] = [
    "chromium-headless-shell",
    "chrome-headless-shell",
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

/// A process with an empty profile, which ends with the last test that uses it.
struct Running {
    path: PathBuf,
    address: String,
    _process: Process,
}

static RUNNING: Mutex<Weak<Running>> = Mutex::new(Weak::new());

impl Running {
    /// The process that runs, or a new one.
    fn of(path: &Path) -> Result<Arc<Self>> {
        // A test that failed to start one leaves none.
        let mut running = RUNNING
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(shared) = running.upgrade().filter(|shared| shared.path == path) {
            return Ok(shared);
        }
        let (process, address) =
            Process::start(path, "DevTools listening on ", |command, profile| {
                command
                    .args(FLAGS)
                    .arg(format!("--user-data-dir={}", profile.display()))
                    .arg("about:blank");
            })?;
        let started = Arc::new(Self {
            path: path.to_path_buf(),
            address,
            _process: process,
        });
        *running = Arc::downgrade(&started);
        Ok(started)
    }
}

/// A browser context: an incognito window's cookies, storage and cache.
pub struct Chromium {
    connection: Connection,
    context: String,
    _running: Arc<Running>,
}

impl Chromium {
    /// Starts the browser if it does not run yet, and connects to it.
    ///
    /// # Errors
    /// If it does not start; the error contains its output.
    pub fn start(path: &Path) -> Result<Self> {
        let running = Running::of(path)?;
        let mut connection = Connection::open(&running.address)?;
        let context = connection.call(None, "Target.createBrowserContext", json!({}))?;
        let context = context["browserContextId"].as_str().context("a context")?;
        Ok(Self {
            connection,
            context: context.to_owned(),
            _running: running,
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
        Page::new(&mut self.connection, &self.context)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // It closes its pages. The process may have ended already, which is fine.
        let context = json!({ "browserContextId": self.context });
        let _ = self
            .connection
            .call(None, "Target.disposeBrowserContext", context);
    }
}
