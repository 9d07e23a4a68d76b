//! A rung's kernels as files in its folder, for commands that compile, check or disassemble them without running the
//! rung.
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::{KernelFile, ptx_file};

/// A kernel in one configuration.
#[derive(Clone, Debug)]
pub struct KernelOnDisk {
    /// The path of its committed PTX, which may not exist.
    pub ptx_path: PathBuf,
    file: String,
    source: String,
    configuration: String,
    ptx: String,
    sass: String,
}

impl KernelOnDisk {
    /// All kernels of a rung's folder, sorted by name; each once for every configuration that has committed PTX.
    ///
    /// # Errors
    /// If the folder or a source cannot be read. Missing PTX reads as empty.
    pub fn in_folder(folder: &Path) -> io::Result<Vec<Self>> {
        Self::named(folder, |name| name.starts_with("kernel"))
    }

    /// The same for a folder in which every source is a kernel.
    ///
    /// # Errors
    /// As [`Self::in_folder`].
    pub fn all_in_folder(folder: &Path) -> io::Result<Vec<Self>> {
        Self::named(folder, |_| true)
    }

    fn named(folder: &Path, is_kernel: impl Fn(&str) -> bool) -> io::Result<Vec<Self>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        let mut kernels = Vec::new();
        for file in names
            .iter()
            .filter(|name| is_kernel(name) && name.ends_with(".cu"))
        {
            let source = fs::read_to_string(folder.join(file))?;
            for configuration in ptx_file::configurations(file, names.iter().map(String::as_str)) {
                kernels.push(Self::new(
                    folder,
                    file.clone(),
                    source.clone(),
                    configuration,
                ));
            }
        }
        Ok(kernels)
    }

    /// A kernel whose PTX is committed in this folder and whose source is not: `source` is made from a rung's.
    pub fn of_text(folder: &Path, file: String, source: String) -> Self {
        Self::new(folder, file, source, String::new())
    }

    fn new(folder: &Path, file: String, source: String, configuration: String) -> Self {
        let ptx_path = folder.join(ptx_file::name(&file, &configuration));
        Self {
            ptx: fs::read_to_string(&ptx_path).unwrap_or_default(),
            sass: fs::read_to_string(ptx_path.with_extension("sass")).unwrap_or_default(),
            ptx_path,
            file,
            source,
            configuration,
        }
    }

    /// The kernel as a rung's `main.rs` declares it.
    pub fn kernel(&self) -> KernelFile<'_> {
        KernelFile {
            file: &self.file,
            source: &self.source,
            configuration: &self.configuration,
            ptx: &self.ptx,
            sass: &self.sass,
            arch: ptx_file::arch_of(&self.file, &self.source),
        }
    }
}
