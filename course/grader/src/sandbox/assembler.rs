//! Assembles strangers' PTX: `ptxas` and `nvdisasm` are programs of their own, so here files can be read and programs started,
//! but only those that the two need, and nothing can be written but into one folder.
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::{Context, Result};
use harness::tools::{self, NVDISASM, PTXAS};

use super::lockdown::ToolsLock;
use super::{Answer, Limits, Request};

/// Answers one request, from stdin to stdout. What is written goes into the folder for temporary files.
///
/// # Errors
/// If the answer cannot be written.
pub fn serve(limits: Limits) -> Result<()> {
    let answer = answer(limits).unwrap_or_else(|error| Answer::Cannot(format!("{error:#}")));
    let answer = serde_json::to_vec(&answer)?;
    let mut out = io::stdout().lock();
    out.write_all(&answer)?;
    Ok(out.flush()?)
}

fn answer(limits: Limits) -> Result<Answer> {
    let ptxas = tools::pinned("ptxas", PTXAS)?.canonicalize()?;
    let nvdisasm = tools::find("nvdisasm", NVDISASM)?.canonicalize()?;
    let folder = |tool: &Path| tool.parent().map(PathBuf::from);
    let readable: Vec<PathBuf> = [folder(&ptxas), folder(&nvdisasm)]
        .into_iter()
        .flatten()
        .collect();
    let lock = ToolsLock::take(limits, &readable, &env::temp_dir())?;
    assemble(&ptxas, &nvdisasm, &lock)
}

/// The lock is what this takes: there is no other way to the request.
fn assemble(ptxas: &Path, nvdisasm: &Path, _: &ToolsLock) -> Result<Answer> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let Request {
        source,
        name,
        options,
    } = serde_json::from_slice(&request).context("the request cannot be read")?;
    let arch = options.first().context("no target")?;
    Ok(
        match harness::machine_code_by([ptxas, nvdisasm], &source, &name, arch) {
            Ok(text) => Answer::Assembled(text),
            Err(error) => Answer::Refused(format!("{error:#}")),
        },
    )
}
