//! Where CUDA's programs are.
use std::env;
use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::rungs;

/// Finds `ptxas` or `nvdisasm`: in PATH, CUDA_HOME, .cuda/ and VIRTUAL_ENV, in this order.
pub fn find(name: &str, wheel: &str) -> Result<PathBuf> {
    locate(name).with_context(|| {
        format!(
            "{name} was not found in PATH, CUDA_HOME, .cuda/ or VIRTUAL_ENV; it comes with the CUDA toolkit, or by\n  \
             python3 -m pip install --no-deps --target .cuda {wheel}"
        )
    })
}

/// The first file of this name there.
pub fn locate(name: &str) -> Option<PathBuf> {
    let file = format!("{name}{EXE_SUFFIX}");
    let mut files = folders().into_iter().map(|folder| folder.join(&file));
    files.find(|file| file.is_file())
}

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default();
    folders.extend(env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin")));
    let packages = rungs::root()
        .map(|root| root.join(".cuda"))
        .into_iter()
        .chain(site_packages());
    folders.extend(
        packages.flat_map(|packages| [packages.join("nvidia/cu13/bin"), packages.join("bin")]),
    );
    folders
}

/// The folders of an active Python environment that hold packages.
fn site_packages() -> Vec<PathBuf> {
    let Some(environment) = env::var_os("VIRTUAL_ENV").map(PathBuf::from) else {
        return Vec::new();
    };
    let versions = std::fs::read_dir(environment.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    let unix = versions.map(|version| version.path().join("site-packages"));
    unix.chain([environment.join("Lib/site-packages")])
        .collect()
}
