//! Files in memory, and writing them to disk.
use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// A file to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its contents.
    pub bytes: Vec<u8>,
    /// Whether it is executable.
    pub executable: bool,
}

/// Files by path; components are separated by `/`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree(BTreeMap<String, ExportedFile>);

impl FileTree {
    /// Adds a text, with Linux line endings wherever it was checked out.
    pub(super) fn text(&mut self, path: &str, text: &str) {
        self.bytes(path, text.replace("\r\n", "\n").into_bytes());
    }

    /// Adds a script that bash or the system starts.
    pub(super) fn script(&mut self, path: &str, text: &str) {
        self.text(path, text);
        self.0.entry(path.into()).or_default().executable = true;
    }

    /// Adds any other file.
    pub(super) fn bytes(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.entry(path.into()).or_default().bytes = bytes;
    }

    /// All files, sorted by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &ExportedFile)> {
        self.0.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// Writes them to a folder, which is created if necessary.
    ///
    /// # Errors
    /// If a file cannot be written; those before it have been.
    pub fn write(&self, folder: &Path) -> Result<()> {
        for (path, file) in self.files() {
            let to = folder.join(path);
            let cannot = || format!("cannot write {}", to.display());
            fs::create_dir_all(to.parent().unwrap_or(folder)).with_context(cannot)?;
            fs::write(&to, &file.bytes).with_context(cannot)?;
            #[cfg(unix)]
            if file.executable {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(&to, fs::Permissions::from_mode(0o755)).with_context(cannot)?;
            }
        }
        Ok(())
    }
}

/// Makes sure that no existing file is overwritten.
///
/// # Errors
/// If the path is a file or a folder that is not empty.
pub fn must_be_empty(folder: &Path) -> Result<()> {
    let is_new = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == ErrorKind::NotFound,
    };
    ensure!(
        is_new,
        "{} is not empty: name a folder that does not exist yet",
        folder.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_on_linux() {
        let mut tree = FileTree::default();
        tree.script("a.sh", "one\r\ntwo\n");
        tree.bytes("b.bin", b"\r\n".to_vec());
        let files: Vec<_> = tree.files().collect();
        assert_eq!(files[0].1.bytes, b"one\ntwo\n");
        assert!(files[0].1.executable);
        assert_eq!(files[1].1.bytes, b"\r\n");
        assert!(!files[1].1.executable);
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(must_be_empty(folder.path()).is_ok());
        assert!(must_be_empty(&folder.path().join("new")).is_ok());
        fs::write(folder.path().join("mine"), "").expect("a file");
        let error = must_be_empty(folder.path()).expect_err("it is in use");
        assert!(error.to_string().contains("does not exist yet"), "{error}");
        assert!(must_be_empty(&folder.path().join("mine")).is_err());
    }
}
