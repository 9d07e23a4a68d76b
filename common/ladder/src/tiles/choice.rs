//! Which tile a rung says that it takes.
use std::process::Stdio;

use anyhow::{Context, Result};
use harness::Size;
use serde::Deserialize;

use crate::rungs::Variant;

/// What `tiles --json` prints.
#[derive(Debug, Deserialize)]
pub struct Choices {
    pub arch: String,
    pub multiprocessors: u32,
    pub choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
pub struct Choice {
    pub size: String,
    /// None if the kernel has one tile only.
    pub tile: Option<String>,
}

impl Choices {
    /// Of this rung at these sizes, on this device, or on one of so many multiprocessors.
    pub fn ask(
        variant: &Variant,
        sizes: &[Size],
        device: &str,
        multiprocessors: Option<u32>,
    ) -> Result<Self> {
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        let mut command = variant.command()?;
        command
            .args(["tiles", "--json", "--device", device])
            .args(["--sizes", &sizes.join(",")])
            .stderr(Stdio::inherit());
        if let Some(number) = multiprocessors {
            command.args(["--multiprocessors", &number.to_string()]);
        }
        let output = command
            .output()
            .with_context(|| format!("cannot run {}", variant.label()))?;
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("{} does not say which tiles it takes", variant.label()))
    }

    /// What it takes at a size.
    pub fn at(&self, size: &str) -> Option<&str> {
        let choice = self.choices.iter().find(|choice| choice.size == size)?;
        choice.tile.as_deref()
    }
}
