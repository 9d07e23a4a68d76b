//! What standard error is told: why a call was refused; with `GEMM_EMULATE_VERBOSE`, every call.
use std::io::{self, Write as _};
use std::sync::OnceLock;

use crate::error;

/// The variable that asks for every call.
const VERBOSE: &str = "GEMM_EMULATE_VERBOSE";

fn verbose() -> bool {
    static VALUE: OnceLock<bool> = OnceLock::new();
    *VALUE.get_or_init(|| {
        std::env::var_os(VERBOSE).is_some_and(|value| !value.is_empty() && value != "0")
    })
}

/// A line on standard error. A client may have closed it, and must not die of that.
fn line(text: &str) {
    let _ = writeln!(io::stderr(), "emulated GPU: {text}");
}

/// A call that succeeded.
pub fn called(name: &str) {
    if verbose() {
        line(name);
    }
}

/// A call that was refused. One whose code says it all is shown only if every call is.
pub fn refused(name: &str, code: u32, why: Option<&str>) {
    if why.is_none() && !verbose() {
        return;
    }
    let result = error::describe(code).map_or_else(
        || code.to_string(),
        |[name, _]| name.to_string_lossy().into_owned(),
    );
    match why {
        Some(why) => line(&format!("{name}: {result}: {why}")),
        None => line(&format!("{name}: {result}")),
    }
}

/// What is not refused but may surprise.
pub fn remark(text: &str) {
    if verbose() {
        line(text);
    }
}
