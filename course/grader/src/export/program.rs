//! The `ladder` executable that Gradescope's machines run: Linux, x86-64, and a sufficiently new C library.
use std::path::Path;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};

/// An executable for the zips.
pub struct Program {
    pub bytes: Vec<u8>,
    /// The glibc that it requires, such as 2.34.
    pub glibc: String,
}

impl Program {
    /// The given executable, or the one that is running.
    pub fn find(given: Option<&Path>) -> Result<Self> {
        let path = match given {
            Some(path) => path.to_owned(),
            None if cfg!(all(target_os = "linux", target_arch = "x86_64")) => {
                env::current_exe().context("cannot find this executable's file")?
            }
            None => bail!(
                "Gradescope runs Linux on x86-64, but this system is another one: name a `ladder` that was built there"
            ),
        };
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        of(bytes).with_context(|| path.display().to_string())
    }
}

fn of(bytes: Vec<u8>) -> Result<Program> {
    // The ELF header: its magic number, 64 bits, little-endian; and at byte 18 the machine, 62 for x86-64.
    let elf = bytes.starts_with(b"\x7fELF\x02\x01") && bytes.get(18..20) == Some(&[62, 0]);
    ensure!(elf, "it is not a Linux x86-64 executable");
    let glibc = glibc(&bytes).context("it requires no version of glibc: link it dynamically")?;
    Ok(Program { bytes, glibc })
}

/// The newest version among the names, such as `GLIBC_2.34`, that the executable's symbols require. Names end in NUL.
fn glibc(bytes: &[u8]) -> Option<String> {
    let names = bytes.split(|byte| *byte == 0);
    let versions = names.filter_map(|name| {
        let text = std::str::from_utf8(name.strip_prefix(b"GLIBC_")?).ok()?;
        let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
        Some((numbers?, text))
    });
    versions.max().map(|(_, text)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_glibc_is_reported() {
        let mut bytes = b"\x7fELF\x02\x01".to_vec();
        bytes.resize(18, 0);
        bytes.extend([62, 0]);
        bytes.extend(b"\0GLIBC_2.9\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.4\0 GLIBC_3.0\0");
        assert_eq!(of(bytes.clone()).expect("an executable").glibc, "2.34");
        bytes[18] = 183;
        assert!(of(bytes).is_err_and(|error| error.to_string().contains("x86-64")));
        assert!(of(b"#!/bin/sh".to_vec()).is_err());
    }
}
