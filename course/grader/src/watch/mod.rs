//! `grade --watch`: grades again whenever a student saves.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `state` | what happens on an event? Pure: events in, actions out |
//! | `screen` | what does the student see? Pure: state in, lines out |
//! | `report` | what did a run find? |
//! | `hints` | which three hints does an assignment have? |
//! | `run` | a run, in a child process that a later run replaces |
//! | `files` | when was a file saved? |
//! | `terminal` | keys in, lines out, and restoring the terminal |
//! | `edge` | how are events and actions carried between these? |
mod edge;
mod files;
pub mod hints;
pub(crate) mod report;
mod run;
mod screen;
mod state;
mod terminal;

pub use edge::{Watch, watch};
