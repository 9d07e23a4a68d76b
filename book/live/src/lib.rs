//! The book's engine: `layout`, the emulator, the clock and the commands around them, behind one function. JSON in, JSON out;
//! README.md lists the requests.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `lib` | which requests exist? |
//! | `command` | what does this command print? |
//! | `fields` | what may a reader change in it? |
//! | `steps` | what does a rung's first block do, instruction by instruction? |
//! | `mbarrier`, `waves` | the figures of barriers and of persistent grids |
//! | `layout_data` | the layout data that pages draw |
//! | `rungs` | the list of rungs |
//! | `exports` | how does JavaScript call it? |
mod command;
#[cfg(target_family = "wasm")]
mod exports;
mod fields;
mod layout_data;
mod mbarrier;
#[allow(missing_docs)]
mod rungs;
mod steps;
mod waves;

use clap::ValueEnum;
use layout::fragment::Operand;
use serde::Deserialize;
use serde_json::{Value, json};
use transcript::Lines;

/// A page's request.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// Provides files that later requests name.
    Files {
        files: std::collections::BTreeMap<String, String>,
    },
    /// The output of a command, and the lines of it that a page shows.
    Command {
        words: Vec<String>,
        #[serde(default)]
        lines: Lines,
    },
    /// The parts of a command that can be changed.
    Fields { words: Vec<String> },
    /// A swizzle, or a mapping, in the banks.
    Mapping(layout_data::MappingOf),
    /// A description of a swizzle.
    Swizzle(layout_data::Numbers),
    /// One access of a warp in the banks.
    Access(layout_data::AccessOf),
    /// A table of accesses.
    Table { text: String },
    /// The lanes that hold the elements of a fragment.
    Fragment {
        shape: String,
        operand: Option<String>,
    },
    /// An mbarrier after each operation.
    Mbarrier {
        count: u32,
        operations: Vec<mbarrier::Operation>,
    },
    /// Which cluster computes which tiles in which wave.
    Waves(waves::WavesOf),
    /// The names of all rungs.
    Rungs {},
    /// The constants of the card that the clock models.
    Card {},
    /// A rung's first block, instruction by instruction.
    Steps { words: Vec<String>, most: usize },
}

/// Answers a request; both are JSON. An error is `{"error": …}`.
pub fn answer(request: &[u8]) -> String {
    let answer = match parsed(request) {
        Ok(request) => answered(request),
        Err(error) => Err(format!("this is not a request: {error}")),
    };
    let answer = answer.unwrap_or_else(|error| json!({ "error": error }));
    answer.to_string()
}

/// `{"ask": NAME, …}` as a request. With serde's `tag`, the module would be 1% larger.
fn parsed(request: &[u8]) -> serde_json::Result<Request> {
    let mut fields: serde_json::Map<String, Value> = serde_json::from_slice(request)?;
    let Some(Value::String(ask)) = fields.remove("ask") else {
        return Err(serde::de::Error::custom(
            "`ask` is missing, or is not a string",
        ));
    };
    serde_json::from_value(json!({ ask: fields }))
}

fn answered(request: Request) -> Result<Value, String> {
    match request {
        Request::Files { files } => {
            for (path, text) in files {
                command::give(&path, text);
            }
            Ok(json!({}))
        }
        Request::Command { words, lines } => command::run(&words, &lines),
        Request::Fields { words } => {
            let fields = command::fields(&words)?;
            serde_json::to_value(fields).map_err(|error| error.to_string())
        }
        Request::Mapping(of) => layout_data::mapping(&of),
        Request::Swizzle(of) => layout_data::swizzle(&of),
        Request::Access(of) => layout_data::access(&of),
        Request::Table { text } => layout_data::table(&text),
        Request::Fragment { shape, operand } => {
            let operand = operand
                .map(|name| Operand::from_str(&name, true))
                .transpose()?;
            layout_data::fragment(&shape, operand)
        }
        Request::Mbarrier { count, operations } => mbarrier::states(count, &operations),
        Request::Waves(of) => waves::waves(&of),
        Request::Rungs {} => Ok(json!({ "rungs": command::rungs() })),
        Request::Card {} => {
            serde_json::to_value(clock::Card::H200).map_err(|error| error.to_string())
        }
        Request::Steps { words, most } => command::steps(&words, most),
    }
}
