//! The child process: loads libraries and headers, then takes the lock, and only then reads the kernel.
use std::io::{Read, Write};
use std::{env, io};

use anyhow::{Context, Result};
use harness::{Compile, Error, Nvrtc};

use super::lockdown::Lock;
use super::{Answer, Limits, Request, compiler_log};

/// Compiled before the lock is taken, so that NVRTC has read the files that it reads once; and also by the parent, to
/// test the sandbox.
pub const TRUSTED: &str = "extern \"C\" __global__ void kernel() {}";
/// Its name.
pub const TRUSTED_NAME: &str = "/trusted.cu";

/// The limit of the compiler's messages; beyond it they say nothing new.
const MOST_LOG: usize = 64 << 10;

/// Serves one request, from stdin to stdout.
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
    let mut nvrtc = Nvrtc::find()?;
    nvrtc.hold_headers()?;
    Compile::compile(&nvrtc, TRUSTED, TRUSTED_NAME, &[])?;
    // NVRTC may name the current folder, so make it a meaningless one.
    env::set_current_dir("/")?;
    let lock = Lock::take(limits)?;
    compile(&nvrtc, &lock)
}

/// Takes the lock as an argument: the request cannot be read without it.
fn compile(nvrtc: &Nvrtc, _: &Lock) -> Result<Answer> {
    let mut request = Vec::new();
    io::stdin().lock().read_to_end(&mut request)?;
    let Request {
        source,
        name,
        options,
    } = serde_json::from_slice(&request).context("the request cannot be read")?;
    match Compile::compile(nvrtc, &source, &name, &options) {
        Ok(ptx) => Ok(Answer::Compiled {
            version: nvrtc.version(),
            ptx,
        }),
        Err(Error::Compile { log, .. }) => {
            let log = compiler_log::about(&name, &shortened(log));
            Ok(Answer::Refused(log))
        }
        Err(error) => Err(error.into()),
    }
}

fn shortened(mut log: String) -> String {
    if log.len() > MOST_LOG {
        let end = log[..log.floor_char_boundary(MOST_LOG)].rfind('\n');
        log.truncate(end.map_or(0, |end| end + 1));
        log += "…and more\n";
    }
    log
}
