//! The book's engine: `layout`, the emulator, the clock and the commands around them, behind one function. JSON in, JSON out;
//! README.md lists the requests.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `lib` | which requests are there? |
//! | `command` | what does this command print? |
//! | `rungs` | which rungs are there? |
//! | `exports` | how does JavaScript call it? |
mod command;
#[cfg(target_family = "wasm")]
mod exports;
#[allow(missing_docs)]
mod rungs;

use serde::Deserialize;
use serde_json::{Value, json};

/// What a page asks.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Files that later requests name.
    Files {
        files: std::collections::BTreeMap<String, String>,
    },
    /// What a command prints.
    Command { words: Vec<String> },
}

/// The answer to a request, both as JSON. What goes wrong is `{"error": …}`.
pub fn answer(request: &[u8]) -> String {
    let answer = match serde_json::from_slice(request) {
        Ok(request) => answered(request),
        Err(error) => Err(format!("this is no request: {error}")),
    };
    let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
    answer.to_string()
}

fn answered(request: Request) -> Result<Value, String> {
    match request {
        Request::Files { files } => {
            for (path, text) in files {
                command::give(&path, text);
            }
            Ok(json!({}))
        }
        Request::Command { words } => command::run(&words),
    }
}
