//! Turns a file into PTX, and finds the kernel that the user means.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use emulator::{Param, Ptx};
use harness::{
    GpuError, KernelFile, Nvrtc, Origin, Source, TranslationUnit, name_in_ptx, prepared, ptx_file,
};

use super::device_code::{self, DeviceCode, Search, base_name};
use super::launch::Launch;
use super::names::{self, KernelName};

/// A program that can be launched.
pub struct Program {
    pub source: Source,
    pub kernel: KernelName,
    pub params: Vec<Param>,
    /// The parameters' types in the source, as far as known.
    pub types: Vec<Option<String>>,
}

/// The headers that nvcc includes in every file, and others that programs rely on getting with them.
const IMPLICIT: (&str, &str) = (
    "stand_in_for_cuda_runtime.h",
    "#include <cmath>\n#include <cstddef>\n#include <cstdint>\n#include <climits>\n#include <cfloat>\n",
);

impl Program {
    /// Reads a file, and compiles it for `arch` if it is CUDA source; `folders` are the user's include folders.
    ///
    /// # Errors
    /// If it cannot be read or compiled, or it is unclear which kernel is meant.
    pub fn read(path: &Path, launch: &Launch, arch: &str, folders: &[PathBuf]) -> Result<Self> {
        let file = path.display().to_string();
        let ending = path
            .extension()
            .map(|ending| ending.to_string_lossy().to_lowercase());
        let (source, declared, lowered) = match ending.as_deref() {
            Some("cu" | "cuh") => compiled(path, &file, launch, arch, folders)?,
            Some("ptx") => (of_ptx(path, &file)?, DeviceCode::default(), None),
            _ => bail!(harness::Error::KernelEnding(path.to_owned())),
        };
        let ptx = Ptx::parse(&source.ptx).map_err(|error| harness::Error::Ptx {
            file: file.clone(),
            error,
        })?;
        let kernel = match lowered {
            Some(entry) => KernelName::of(&entry),
            None => {
                let wanted = launch.kernel.as_deref();
                names::choose(&ptx, wanted, &declared.kernels)
                    .map_err(|why| anyhow!("{file}: {why}"))?
            }
        };
        let params = ptx.params(&kernel.entry)?;
        let types = types(&kernel, &declared, params.len());
        let source = Source {
            arch: ptx.target().to_owned(),
            ..source
        };
        Ok(Self {
            source,
            kernel,
            params,
            types,
        })
    }
}

fn of_ptx(path: &Path, file: &str) -> Result<Source> {
    let ptx = std::fs::read_to_string(path).map_err(|error| harness::Error::Read {
        path: path.to_owned(),
        error,
    })?;
    Ok(Source {
        file: file.to_owned(),
        name: file.to_owned(),
        text: None,
        arch: String::new(),
        origin: Origin::File,
        ptx,
        sass: String::new(),
    })
}

/// The types of a kernel's parameters: from its mangled name, or else from the source.
fn types(kernel: &KernelName, declared: &DeviceCode, count: usize) -> Vec<Option<String>> {
    let declarations = declared
        .kernels
        .iter()
        .filter(|one| one.name == base_name(&kernel.name));
    let listed = declarations.map(|one| {
        let inside = one.parameters.trim_start_matches('(');
        names::split(inside.strip_suffix(')').unwrap_or(inside))
    });
    let mut known = kernel.types.iter().cloned().chain(listed);
    match known.find(|types| types.len() == count) {
        Some(types) => types.into_iter().map(Some).collect(),
        None => vec![None; count],
    }
}

/// Without a compiler, the PTX that is committed beside the source, if it was made from it.
fn committed(path: &Path, file: &str) -> Option<Source> {
    let source = std::fs::read_to_string(path).ok()?;
    let ptx = std::fs::read_to_string(path.with_extension("ptx")).ok()?;
    let name = path.file_name()?.to_str()?;
    let kernel = KernelFile {
        file: name,
        arch: ptx_file::arch_of(name, &source),
        source: &source,
        ptx: &ptx,
        sass: "",
        configuration: "",
    };
    ptx_file::check(&kernel).ok()?;
    // As it was passed to the compiler.
    let files = ptx
        .lines()
        .filter(|line| line.trim_start().starts_with(".file"));
    let mut files = files.filter_map(|line| line.split('"').nth(1));
    let name = files.find(|file| file.rsplit('/').next() == Some(name))?;
    Some(Source {
        file: file.to_owned(),
        name: name.to_owned(),
        arch: kernel.arch.to_owned(),
        origin: Origin::Committed(ptx_file::compiler_of(&ptx).to_owned()),
        ptx: ptx.clone(),
        sass: String::new(),
        text: Some(source),
    })
}

/// PTX, the source's declarations, and the mangled name of a template's instance.
fn compiled(
    path: &Path,
    file: &str,
    launch: &Launch,
    arch: &str,
    folders: &[PathBuf],
) -> Result<(Source, DeviceCode, Option<String>)> {
    let nvrtc = match Nvrtc::find() {
        Ok(nvrtc) => nvrtc,
        Err(why) => match committed(path, file) {
            Some(source) => return Ok((source, DeviceCode::default(), None)),
            None => bail!(harness::Error::NoNvrtc {
                file: file.to_owned(),
                why,
            }),
        },
    };
    let has_header = |name: &str| nvrtc.has_header(name);
    let search = Search {
        folders,
        has_header: &has_header,
    };
    let read = device_code::read(path, &launch.defines, &search);
    let whole = read.map_err(|(path, error)| harness::Error::Read { path, error })?;
    let code = whole.device_code(launch.kernel.as_deref());
    let (main, own) = code
        .files
        .split_first()
        .context("a source without a file")?;
    let name = name_in_ptx(path);
    let mut headers: Vec<(String, String)> = own
        .iter()
        .map(|file| (file.name.clone(), file.text.clone()))
        .collect();
    headers.extend(
        whole
            .missing
            .iter()
            .map(|name| (name.clone(), String::new())),
    );
    headers.push((IMPLICIT.0.to_owned(), IMPLICIT.1.to_owned()));
    let mut options = ptx_file::options(arch, "");
    if launch.fmad == Some(true) {
        options.retain(|option| option != "--fmad=false");
    }
    options.push("--device-as-default-execution-space".into());
    options.push(format!("--pre-include={}", IMPLICIT.0));
    options.extend(
        launch
            .defines
            .iter()
            .map(|define| format!("--define-macro={define}")),
    );
    let expressions: Vec<String> = launch
        .kernel
        .iter()
        .filter(|name| name.contains('<'))
        .cloned()
        .collect();
    let unit = TranslationUnit {
        source: &prepared(&main.text, &name),
        name: &name,
        options: &options,
        headers: &headers,
        expressions: &expressions,
    };
    let compiled = match nvrtc.compile_unit(&unit) {
        Ok(compiled) => compiled,
        Err(GpuError::Compile { log }) => {
            let log = log.replace(&name, file);
            let log = format!("{}{}", log.trim_end(), hints(&log, &code, &whole.missing));
            bail!(harness::Error::Compile {
                file: file.to_owned(),
                log
            });
        }
        Err(error) => bail!(harness::Error::from(error)),
    };
    let source = Source {
        file: file.to_owned(),
        name,
        text: whole.files.first().map(|file| file.text.clone()),
        arch: arch.to_owned(),
        origin: Origin::Nvrtc(ptx_file::compiler(&compiled.ptx)),
        ptx: compiled.ptx,
        sass: String::new(),
    };
    Ok((source, code, compiled.lowered.into_iter().next()))
}

/// Explains what a compiler cannot know: that a name is host code, that a header was missing, which kernels exist.
fn hints(log: &str, code: &DeviceCode, missing: &[String]) -> String {
    let mut hints = String::new();
    let mut named: Vec<&str> = Vec::new();
    for part in log.split("identifier \"").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        let host = code.host.iter().find(|host| host.name == name);
        if let Some(host) = host.filter(|_| !named.contains(&name)) {
            named.push(name);
            hints += &format!(
                "\n{name} (line {}) is the host's: write __device__ before a function, const or constexpr before a value that kernels use",
                host.line
            );
        }
    }
    if log.contains("__nv_name_map") {
        let kernels: Vec<&str> = code
            .kernels
            .iter()
            .map(|kernel| kernel.name.as_str())
            .collect();
        hints += &format!(
            "\n--kernel does not name an instance of a kernel in this file; the kernels are {}",
            kernels.join(", ")
        );
    }
    let missing: Vec<&str> = missing
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "hopper.cuh")
        .collect();
    if !missing.is_empty() {
        hints += &format!(
            "\nnot found, and taken as empty: {}; -I names a folder of headers, and `cargo ladder get-nvrtc` fetches CUDA's",
            missing.join(", ")
        );
    }
    hints
}
