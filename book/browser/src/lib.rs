//! What the browser tests need: [`Chromium`] is started and asked, [`Server`] gives it a folder as a web
//! server would, [`Page`] opens, clicks, types and tells what went wrong. [`Firefox`] does the same in short.
use std::io::Write;

mod chromium;
mod connection;
mod firefox;
mod page;
mod script;
mod server;

pub use chromium::Chromium;
pub use firefox::Firefox;
pub use page::{Appearance, Network, Page};
pub use server::Server;

/// Set to 1, it turns a test that would be skipped for want of a browser into a failed one.
pub const REQUIRE: &str = "GEMM_REQUIRE_BROWSER";

/// Starts Chromium, or says why a test is skipped.
///
/// # Errors
/// If Chromium is there and does not start; or if there is none and [`REQUIRE`] is 1.
pub fn chromium_or_skip() -> anyhow::Result<Option<Chromium>> {
    let Some(path) = chromium::find() else {
        let missing = format!(
            "no Chromium or Chrome was found: install one (on Debian: apt-get install chromium), \
             or name it in {}",
            chromium::PATH
        );
        if std::env::var(REQUIRE).is_ok_and(|value| value == "1") {
            anyhow::bail!("{missing}");
        }
        // Past the test harness, which keeps to itself what a passing test prints.
        let _ = writeln!(std::io::stderr(), "skipped: {missing}");
        return Ok(None);
    };
    Chromium::start(&path).map(Some)
}

/// Starts Firefox where one is found, or says that a test is skipped. No machine has to have it.
///
/// # Errors
/// If it is there and does not start.
pub fn firefox_or_skip() -> anyhow::Result<Option<Firefox>> {
    let Some(path) = firefox::find() else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no Firefox was found: install one (on Debian: apt-get install firefox-esr), or name it in {}",
            firefox::PATH
        );
        return Ok(None);
    };
    Firefox::start(&path).map(Some)
}
