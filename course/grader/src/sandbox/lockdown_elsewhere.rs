//! Where no process can be locked.
use super::{Limits, REMEDY};

use std::path::{Path, PathBuf};

/// There is none.
pub enum Lock {}

/// Nor of this.
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
