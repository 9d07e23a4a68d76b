//! The device's part of a CUDA source: what a kernel needs, and nothing of the host's, as nvcc's device pass has it. The
//! rest becomes blanks, so that every line keeps its number.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `tokens` | where do words, strings and comments end? |
//! | `directives` | which lines are compiled, and which macros are there? |
//! | `declarations` | what is declared where? |
//! | `files` | which files belong to it? |
//! | `reach` | which of it does a kernel need? |
mod declarations;
mod directives;
mod files;
mod reach;
#[cfg(test)]
mod tests;
mod tokens;

pub use files::{Search, of_text, read};
pub use reach::{DeviceCode, KernelDeclaration, base_name};
