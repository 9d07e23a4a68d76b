//! The code that reads untrusted words and texts, for a fuzzer: text in, text out.
use std::path::Path;

use super::argument::Argument;
use super::device_code::{Search, of_text};
use super::launch::Launch;
use super::look::declaration;
use super::npy;

/// The device part of a source that includes no file.
pub fn device_code(text: &[u8], kernel: Option<&str>) -> String {
    let search = Search {
        folders: &[],
        has_header: &|_| true,
    };
    let source = of_text(Path::new("kernel.cu"), text, &[], &search);
    let code = source.device_code(kernel);
    code.files.into_iter().map(|file| file.text).collect()
}

/// How a source declares a variable in shared memory.
pub fn declared(text: &str, symbol: &str) -> String {
    format!("{:?}", declaration::of(text, symbol))
}

/// The words of a launch, one per line, and the top comment of a file.
pub fn launch(text: &str) -> String {
    let words: Vec<_> = text.lines().map(|word| word.parse::<Argument>()).collect();
    let head = Launch::of_head(text, Path::new("kernel.cu"));
    format!("{words:?}\n{head:?}")
}

/// Parses a `.npy` file and writes it again.
pub fn array(file: &[u8]) -> Result<Vec<u8>, String> {
    npy::read(file).map(|array| npy::write(&array))
}
