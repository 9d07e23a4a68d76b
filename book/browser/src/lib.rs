//! What the browser tests need: [`Chromium`] is started and asked, [`Server`] gives it a folder as a web
//! server would, [`Page`] opens, clicks, types and tells what went wrong.
use std::io::Write;

mod chromium;
mod connection;
mod page;
mod server;

pub use chromium::Chromium;
pub use page::{Appearance, Page};
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
