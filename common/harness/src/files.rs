//! Files that a command line names. In WebAssembly there are none: a page provides the texts that a command will read.
use std::io;
use std::path::Path;

#[cfg(target_family = "wasm")]
pub use given::{give, text_of};

/// The bytes of a file.
///
/// # Errors
/// If it cannot be read; in WebAssembly, if it was not [given](give).
#[cfg(not(target_family = "wasm"))]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    std::fs::read(path)
}

/// The bytes of a file.
///
/// # Errors
/// If it was not [given](give).
#[cfg(target_family = "wasm")]
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let missing = || io::Error::new(io::ErrorKind::NotFound, "this page does not have that file");
    let text = path.to_str().and_then(text_of).ok_or_else(missing)?;
    Ok(text.into())
}

/// The text of a file.
///
/// # Errors
/// As [`read`], and if it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    let no_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text");
    String::from_utf8(read(path)?).map_err(no_text)
}

#[cfg(target_family = "wasm")]
mod given {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    use crate::KernelFile;

    thread_local! {
        static FILES: RefCell<BTreeMap<String, &'static str>> = RefCell::default();
    }

    /// Provides a file; one that was already provided under the same path stays in memory.
    pub fn give(path: &str, text: String) {
        FILES.with_borrow_mut(|files| files.insert(path.to_owned(), text.leak()));
    }

    /// The text of a provided file.
    pub fn text_of(path: &str) -> Option<&'static str> {
        FILES.with_borrow(|files| files.get(path).copied())
    }

    impl KernelFile<'_> {
        /// The same with its texts, taken from the provided files of this folder; a WebAssembly module contains none.
        #[must_use]
        pub fn with_texts(&self, folder: &str) -> Self {
            let stem = self.file.trim_end_matches(".cu");
            let tile = match self.configuration {
                "" => String::new(),
                tile => format!(".{tile}"),
            };
            let text = |name: String| text_of(&format!("{folder}/{name}")).unwrap_or_default();
            Self {
                source: text(self.file.to_owned()),
                ptx: text(format!("{stem}{tile}.ptx")),
                sass: text(format!("{stem}{tile}.sass")),
                ..*self
            }
        }
    }
}
