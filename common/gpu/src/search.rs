//! Where CUDA's libraries lie.
//!
//! In this order: `.cuda/`, here and in the folders above; the Python environment in
//! `$VIRTUAL_ENV`; `$CUDA_HOME`, `$CUDA_PATH` and `/usr/local/cuda`; the system's loader. Absolute
//! paths first, so that the pinned NVRTC wins over whatever else the machine has.
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

/// Loads library `stem` (`nvrtc`, `cublas`), after those `companions` of the same folder that it would
/// otherwise ask the system's loader for. `only` restricts the search to one folder or file.
/// The error lists where it was not.
pub(crate) fn load(
    stem: &str,
    companions: &[&str],
    only: Option<&Path>,
) -> Result<Found, Vec<String>> {
    let mut searched = Vec::new();
    let folders = match only {
        Some(place) => vec![place.to_owned()],
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
                // Where this fails, so does the library itself, and says why.
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

/// Every folder that may hold a CUDA library, the preferred first. All exist and are absolute.
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

/// The folder of C headers that belongs to a library file: the one that has `cuda_fp16.h`.
pub(crate) fn headers_beside(library: &Path) -> Option<PathBuf> {
    let folder = library.parent()?;
    let package = folder.parent()?; // …/nvidia/cu13, or the toolkit
    let above = package.parent();
    // Wheels before CUDA 13 keep the headers in a package of their own.
    let neighbours = above.map(children).unwrap_or_default();
    let packages = [Some(package), above].into_iter().flatten();
    packages
        .chain(neighbours.iter().map(PathBuf::as_path))
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

/// What to ask the system's loader for: versions that were tried, newest first.
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

/// What lies in a folder, sorted; nothing if it cannot be read.
fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut children: Vec<_> = entries.map(|entry| entry.path()).collect();
    children.sort();
    children
}

#[cfg(all(test, not(windows)))]
mod tests {
    use super::*;
    use std::fs;

    /// A folder with these empty files in it, removed with this value.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[&str]) -> std::io::Result<Self> {
            let root = env::temp_dir().join(format!("gpu-search-{name}-{}", std::process::id()));
            for file in files.iter().map(|file| root.join(file)) {
                fs::create_dir_all(file.parent().unwrap_or(&root))?;
                fs::write(file, "")?;
            }
            Ok(Self(root))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn wheels_are_found_in_both_layouts() -> std::io::Result<()> {
        let files = [
            "nvidia/cu13/lib/libnvrtc.so.13",
            "venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "one/two/three/four/five/nvidia/cu13/lib/libnvrtc.so.13",
        ];
        let root = Folder::new("wheels", &files)?;
        let mut folders = Vec::new();
        wheel_folders(&root.0, 5, &mut folders);
        folders.retain(|folder| folder.is_dir());
        let wanted =
            [&files[0], &files[1]].map(|file| root.0.join(file).parent().map(Path::to_owned));
        assert_eq!(folders.into_iter().map(Some).collect::<Vec<_>>(), wanted);
        Ok(())
    }

    #[test]
    fn a_library_is_told_from_its_neighbours() -> std::io::Result<()> {
        let files = [
            "libnvrtc.so",
            "libnvrtc.so.13",
            "libnvrtc.alt.so.13",
            "libnvrtc-builtins.so.13.0",
            "libcublasLt.so.13",
        ];
        let root = Folder::new("neighbours", &files)?;
        let found = |stem| {
            library_in(&root.0, stem)
                .and_then(|file| file.strip_prefix(&root.0).map(Path::to_owned).ok())
        };
        assert_eq!(found("nvrtc"), Some("libnvrtc.so.13".into()));
        assert_eq!(
            found("nvrtc-builtins"),
            Some("libnvrtc-builtins.so.13.0".into())
        );
        assert_eq!(found("cublas"), None);
        Ok(())
    }

    #[test]
    fn headers_are_found_beside_the_library_or_in_a_wheel_of_their_own() -> std::io::Result<()> {
        let files = [
            "cu13/include/cuda_fp16.h",
            "cuda_runtime/include/cuda_fp16.h",
        ];
        let root = Folder::new("headers", &files)?;
        assert_eq!(
            headers_beside(&root.0.join("cu13/lib/libnvrtc.so.13")),
            Some(root.0.join("cu13/include"))
        );
        fs::remove_file(root.0.join(files[0]))?;
        let elsewhere = headers_beside(&root.0.join("cuda_nvrtc/lib/libnvrtc.so.12"));
        assert_eq!(elsewhere, Some(root.0.join("cuda_runtime/include")));
        Ok(())
    }

    #[test]
    fn what_will_not_load_is_named_with_the_reason() -> std::io::Result<()> {
        let root = Folder::new("broken", &["libnvrtc.so.13"])?;
        let searched = load("nvrtc", &[], Some(&root.0)).err().unwrap_or_default();
        assert!(
            matches!(&searched[..], [place] if place.contains("libnvrtc.so.13 (")),
            "{searched:?}"
        );
        Ok(())
    }
}
