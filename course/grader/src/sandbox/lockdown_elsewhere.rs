//! Systems on which a process cannot be locked.
use super::{Limits, REMEDY};

use std::path::{Path, PathBuf};

/// Has no values.
pub enum Lock {}

/// Has no values.
pub enum ToolsLock {}

impl ToolsLock {
    /// # Errors
    /// Always.
    pub fn take(limits: Limits, _: &[PathBuf], _: &Path) -> anyhow::Result<Self> {
        match Lock::take(limits)? {}
    }
}

impl Lock {
    /// # Errors
    /// Always.
    pub fn take(_: Limits) -> anyhow::Result<Self> {
        anyhow::bail!("this system has no landlock; {REMEDY}")
    }
}
