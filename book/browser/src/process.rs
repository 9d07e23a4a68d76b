//! A browser's process: found, started with an empty profile, and ended on drop.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// The browser that the environment variable `variable` names, or else the first of `names` in PATH.
pub fn find<const N: usize>(variable: &str, names: [&str; N]) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(variable) {
        return Some(named.into()).filter(|path: &PathBuf| path.is_file());
    }
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// A running browser.
pub struct Process {
    child: Child,
    /// Its profile, deleted on drop.
    _profile: tempfile::TempDir,
}

impl Process {
    /// Starts a browser with the arguments that `configure` adds for its profile folder, and waits until it prints its
    /// address after `announcement`; returns the address as well.
    ///
    /// # Errors
    /// If it does not start; the error contains its output.
    pub fn start(
        path: &Path,
        announcement: &str,
        configure: impl FnOnce(&mut Command, &Path),
    ) -> Result<(Self, String)> {
        let profile = tempfile::tempdir().context("cannot create the browser's profile")?;
        let mut command = Command::new(path);
        configure(&mut command, profile.path());
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", path.display()))?;
        let mut process = Self {
            child,
            _profile: profile,
        };
        let address = process.address(announcement)?;
        Ok((process, address))
    }

    /// The address that the browser prints on standard error.
    fn address(&mut self, announcement: &str) -> Result<String> {
        let stderr = self.child.stderr.take();
        let mut lines = BufReader::new(stderr.context("standard error is a pipe")?).lines();
        let mut said = Vec::new();
        for line in lines.by_ref() {
            let line = line.context("the browser's standard error")?;
            if let Some((_, address)) = line.split_once(announcement) {
                // A process that writes to a full pipe blocks, so its output is read until it ends.
                let address = address.trim().to_owned();
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(address);
            }
            said.push(line);
        }
        bail!("the browser ended before it listened:\n{}", said.join("\n"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
