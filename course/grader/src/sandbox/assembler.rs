//! Assembles untrusted PTX. `ptxas` and `nvdisasm` are separate programs, so this process may read files and start
//! programs, but only those that the two need, and it can write to a single folder only.
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::{env, io};

use anyhow::{Context, Result};
use harness::tools::{self, NVDISASM, PTXAS};

use super::lockdown::ToolsLock;
use super::{Answer, Limits, Request};

/// Serves one request, from stdin to stdout. Temporary files are written to the folder for temporary files.
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

/// Takes the lock as an argument: the request cannot be read without it.
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
