//! What the browser tests use: [`Chromium`] is a running browser, [`Server`] serves a folder like a web server, and
//! [`Page`] opens pages, clicks, types and reports problems. [`Firefox`] combines a browser and a page.
use std::io::Write;

mod chromium;
mod connection;
mod firefox;
mod page;
mod process;
mod script;
mod server;

pub use chromium::Chromium;
pub use firefox::Firefox;
pub use page::{Appearance, Network, Page};
pub use server::Server;

/// If it is 1, a missing browser fails the tests instead of skipping them.
pub const REQUIRE: &str = "GEMM_REQUIRE_BROWSER";

/// Starts Chromium, or says why a test is skipped.
///
/// # Errors
/// If Chromium is installed but does not start; or if it is not installed and [`REQUIRE`] is 1.
pub fn chromium_or_skip() -> anyhow::Result<Option<Chromium>> {
    if let Some(path) = process::find(chromium::PATH, chromium::NAMES) {
        return Chromium::start(&path).map(Some);
    }
    let missing = format!(
        "no Chromium or Chrome was found: install one (on Debian: apt-get install chromium-headless-shell), or name it in {}",
        chromium::PATH
    );
    let required = std::env::var(REQUIRE).is_ok_and(|value| value == "1");
    anyhow::ensure!(!required, "{missing}");
    skip(&missing);
    Ok(None)
}

/// Starts Firefox if it is installed, or says that a test is skipped. It is always optional.
///
/// # Errors
/// If it is installed but does not start.
pub fn firefox_or_skip() -> anyhow::Result<Option<Firefox>> {
    if let Some(path) = process::find(firefox::PATH, firefox::NAMES) {
        return Firefox::start(&path).map(Some);
    }
    skip(&format!(
        "no Firefox was found: install one (on Debian: apt-get install firefox-esr), or name it in {}",
        firefox::PATH
    ));
    Ok(None)
}

/// Bypasses the test harness, which captures the output of passing tests.
fn skip(missing: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {missing}");
}
