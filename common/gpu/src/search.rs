//! Finds CUDA's libraries.
//!
//! Searches in this order: `.cuda/`, here and in the folders above; the Python environment in `$VIRTUAL_ENV`;
//! `$CUDA_HOME`, `$CUDA_PATH` and `/usr/local/cuda`; the system's loader. Absolute paths come first, so that the pinned
//! NVRTC has precedence over any other on the machine.
use crate::dynamic;
use libloading::Library;
use std::env;
use std::path::{Path, PathBuf};

/// A library, loaded.
pub(crate) struct Found {
    pub library: &'static Library,
    /// The file, unless the system's loader chose it.
    pub path: Option<PathBuf>,
}

/// Loads library `stem` (`nvrtc`, `cublas`), after those `companions` in the same folder that it would otherwise
/// request from the system's loader. `only` restricts the search to a file, its folder, or a folder that contains
/// NVIDIA's wheels. The error lists the places that were searched.
pub(crate) fn load(
    stem: &str,
    companions: &[&str],
    only: Option<&Path>,
) -> Result<Found, Vec<String>> {
    let mut searched = Vec::new();
    let folders = match only {
        Some(place) => {
            let mut folders = vec![place.to_owned()];
            // `.cuda`, as `cargo ladder get-nvrtc` fills it, or a Python environment.
            wheel_folders(place, 5, &mut folders);
            folders.retain(|folder| folder == place || folder.is_dir());
            folders
        }
        None => {
            searched.push(".cuda/, in this folder and those above it".to_owned());
            folders()
        }
    };
    for folder in folders {
        let file = if folder.is_file() {
            Some(folder.clone())
        } else {
            library_in(&folder, stem)
        };
        let Some(file) = file else {
            searched.push(folder.display().to_string());
            continue;
        };
        for companion in companions {
            if let Some(file) = file
                .parent()
                .and_then(|folder| library_in(folder, companion))
            {
                // If this fails, so does the library itself, with a reason.
                let _ = dynamic::open(file);
            }
        }
        match dynamic::open(&file) {
            Ok(library) => {
                return Ok(Found {
                    library,
                    path: Some(file),
                });
            }
            Err(error) => searched.push(format!("{} ({error})", file.display())),
        }
    }
    if only.is_none() {
        for name in loader_names(stem) {
            if let Ok(library) = dynamic::open(&name) {
                return Ok(Found {
                    library,
                    path: None,
                });
            }
        }
        searched.push("the system's library path".to_owned());
    }
    Err(searched)
}

/// Every folder that may contain a CUDA library, in order of preference. All exist and are absolute.
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    if let Ok(here) = env::current_dir() {
        here.ancestors()
            .for_each(|above| wheel_folders(&above.join(".cuda"), 5, &mut folders));
    }
    if let Some(root) = variable("VIRTUAL_ENV") {
        wheel_folders(&root, 5, &mut folders);
    }
    let toolkits = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(variable);
    for toolkit in toolkits.chain(["/usr/local/cuda".into()]) {
        folders.extend(["lib64", "lib", "bin", "bin/x64"].map(|name| toolkit.join(name)));
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

/// Adds the library folders of NVIDIA's Python wheels: `nvidia/*/lib` (on Windows `bin`), with
/// `nvidia` at most `depth` folders below `root`.
fn wheel_folders(root: &Path, depth: u32, folders: &mut Vec<PathBuf>) {
    for folder in children(root) {
        if folder.file_name().is_some_and(|name| name == "nvidia") {
            for wheel in children(&folder) {
                folders.extend(["lib", "bin", "bin/x86_64"].map(|name| wheel.join(name)));
            }
        } else if depth > 1 && !folder.is_symlink() && folder.is_dir() {
            wheel_folders(&folder, depth - 1, folders);
        }
    }
}

/// The folders of C headers that belong to a library file: the one with `cuda_fp16.h`, and inside it that of CUDA's C++
/// library, if it has its own folder, as since CUDA 13.
pub(crate) fn headers_beside(library: &Path) -> Vec<PathBuf> {
    let Some(main) = include_folder(library) else {
        return Vec::new();
    };
    let own = main.join("cccl");
    match own.is_dir() {
        true => vec![main, own],
        false => vec![main],
    }
}

fn include_folder(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?;
    let package = folder.parent()?; // …/nvidia/cu13, or the toolkit
    let above = package.parent();
    // Wheels before CUDA 13 keep the headers in a package of their own.
    let neighbors = above.map(children).unwrap_or_default();
    let packages = [Some(package), above].into_iter().flatten();
    packages
        .chain(neighbors.iter().map(PathBuf::as_path))
        .map(|package| package.join("include"))
        .find(|place| place.join("cuda_fp16.h").is_file())
}

/// The file of library `stem` in `folder`: the last by name, which is the most specific version.
fn library_in(folder: &Path, stem: &str) -> Option<PathBuf> {
    let is_it = |name: &str| {
        if cfg!(windows) {
            name.starts_with(&format!("{stem}64_"))
                && name.ends_with(".dll")
                && !name.contains(".alt.")
        } else {
            name.starts_with(&format!("lib{stem}.so"))
        }
    };
    children(folder).into_iter().rfind(|file| {
        file.is_file()
            && file
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(is_it)
    })
}

/// Names for the system's loader: versions that were tested, newest first.
fn loader_names(stem: &str) -> Vec<String> {
    if cfg!(windows) {
        ["13", "130_0", "12", "120_0"]
            .map(|version| format!("{stem}64_{version}.dll"))
            .into()
    } else {
        [".13", ".12", ""]
            .map(|version| format!("lib{stem}.so{version}"))
            .into()
    }
}

/// An environment variable that names a path; empty counts as unset.
pub(crate) fn variable(name: &str) -> Option<PathBuf> {
    let value = env::var_os(name).filter(|value| !value.is_empty())?;
    std::path::absolute(value).ok()
}

/// The entries of a folder, sorted; empty if it cannot be read.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut children: Vec<_> = entries.map(|entry| entry.path()).collect();
    children.sort();
    children
}

#[cfg(all(test, not(windows)))]
mod tests;
