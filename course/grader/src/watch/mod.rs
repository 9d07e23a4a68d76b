//! `grade --watch`: grades again whenever a student saves.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `state` | what happens on an event? It is pure: events in, actions out |
//! | `screen` | what does the student see? Pure as well: the state in, lines out |
//! | `report` | what did a run find? |
//! | `hints` | which three hints does an assignment have? |
//! | `run` | a run, in a process of its own that a later one replaces |
//! | `files` | when was a file saved? |
//! | `terminal` | keys in, lines out, and the terminal as it was before |
//! | `edge` | what carries events and actions between these |
mod edge;
mod files;
pub mod hints;
pub(crate) mod report;
mod run;
mod screen;
mod state;
mod terminal;

pub use edge::{Watch, watch};
