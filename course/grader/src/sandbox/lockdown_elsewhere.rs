//! Where no process can be locked.
use super::{Limits, REMEDY};

/// There is none.
pub enum Lock {}

impl Lock {
    /// # Errors
    /// Always.
    pub fn take(_: Limits) -> anyhow::Result<Self> {
        anyhow::bail!("this system has no landlock; {REMEDY}")
    }
}
