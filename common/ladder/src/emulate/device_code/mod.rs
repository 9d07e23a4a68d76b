//! The device part of a CUDA source: what a kernel needs, without the host's code, as in nvcc's device pass. The rest
//! is replaced by blanks, so that line numbers stay the same.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `tokens` | where do words, strings and comments end? |
//! | `directives` | which lines are compiled, and which macros are defined? |
//! | `declarations` | what is declared where? |
//! | `files` | which files are included? |
//! | `reach` | which declarations does a kernel need? |
mod declarations;
mod directives;
mod files;
mod reach;
#[cfg(test)]
mod tests;
mod tokens;

pub use files::{Search, of_text, read};
pub use reach::{DeviceCode, KernelDeclaration, base_name};
