//! What goes to standard error: why a call was refused; with `GEMM_EMULATE_VERBOSE`, every call.
use std::io::Write as _;
use std::sync::OnceLock;

use crate::error;

/// The variable that enables logging of every call.
const VERBOSE: &str = "GEMM_EMULATE_VERBOSE";

fn verbose() -> bool {
    static VALUE: OnceLock<bool> = OnceLock::new();
    *VALUE.get_or_init(|| {
        std::env::var_os(VERBOSE).is_some_and(|value| !value.is_empty() && value != "0")
    })
}

/// Writes a line to standard error. A client may have closed it; that must not end the program.
fn line(text: &str) {
    let _ = writeln!(harness::terminal::stderr(), "emulated GPU: {text}");
}

/// Logs a call that succeeded.
pub fn called(name: &str) {
    if verbose() {
        line(name);
    }
}

/// Logs a call that was refused. Without a reason, it is logged only if every call is.
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

/// Logs something that succeeds but may surprise.
pub fn remark(text: &str) {
    if verbose() {
        line(text);
    }
}
