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
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
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
        // What was started may be a script that starts the browser, as Debian's is, so all of its group ends.
        #[cfg(unix)]
        let _ = rustix::process::kill_process_group(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::KILL,
        );
        // It may have ended already, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Debian's `chromium` is a script, which does not end the browser when it is killed itself.
    #[test]
    fn what_a_script_started_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("browser");
        fs::write(
            &script,
            "#!/bin/sh\nsleep 600 &\necho \"at $!\" >&2\nwait\n",
        )
        .expect("a script");
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("may be executed");
        let (process, started) = Process::start(&script, "at ", |_, _| {}).expect("it starts");
        let state = || fs::read_to_string(format!("/proc/{started}/stat")).unwrap_or_default();
        // Nobody may have waited for one that has ended.
        let has_ended = || state().is_empty() || state().contains(") Z");
        assert!(!has_ended(), "{}", state());
        drop(process);
        let ended = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            has_ended()
        });
        assert!(ended, "{}", state());
    }
}
