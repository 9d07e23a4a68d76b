//! The source of the PTX: the committed file while it is current, else NVRTC; or the user's own file.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `mod` | what is the PTX, and who compiled it? |
//! | `choose` | which kernel: the user's file, or one of the rung's? |
//! | `compile` | which compiler: NVRTC in this process, or in a sandbox? |
//! | `header` | what does `#include "hopper.cuh"` include, without opening a file? |
//! | `ptx_file` | what does a committed `kernel.ptx` look like, and is it current? |
//! | `machine_code` | what did ptxas make of it? |
//! | `on_disk` | which kernels are in a rung's folder? |
pub mod choose;
pub mod compile;
mod header;
pub mod machine_code;
pub mod on_disk;
pub mod ptx_file;

use std::path::{Component, Path};

use gpu::{GpuError, Nvrtc};

use crate::{Compile, Error, KernelFile, Result, files, spec};

/// PTX and its origin.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file's name in messages.
    pub file: String,
    /// The file's name in the PTX's line information.
    pub name: String,
    /// The CUDA source, unless the user's file is PTX.
    pub text: Option<String>,
    /// The architecture that it was compiled for, such as `sm_80`.
    pub arch: String,
    /// Where the PTX comes from.
    pub origin: Origin,
    /// The PTX.
    pub ptx: String,
    /// The machine code committed beside it; empty if there is none.
    pub sass: String,
}

/// Where PTX comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// NVRTC, in this run.
    Nvrtc(String),
    /// NVRTC, when the rung was committed.
    Committed(String),
    /// The user's file.
    File,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nvrtc(compiler) => write!(f, "compiled by {compiler}"),
            Self::Committed(compiler) => write!(f, "committed PTX, made by {compiler}"),
            Self::File => f.write_str("PTX as it is"),
        }
    }
}

/// NVRTC, or why there is none.
pub type Compiler = std::result::Result<Nvrtc, GpuError>;

/// The committed PTX while it is current, else what this compiler makes of the source.
fn of_folder<C: Compile>(
    folder: &str,
    kernel: &KernelFile,
    compiler: impl FnOnce() -> std::result::Result<C, GpuError>,
) -> Result<Source> {
    let Err(mismatch) = ptx_file::check(kernel) else {
        return Ok(as_committed(folder, kernel));
    };
    let nvrtc = compiler().map_err(|why| Error::StalePtx {
        file: ptx_file::name(kernel.file, kernel.configuration),
        mismatch,
        why,
    })?;
    let output = compile_committed(folder, kernel, &nvrtc)?;
    Ok(Source {
        origin: Origin::Nvrtc(ptx_file::compiler(&output)),
        ptx: ptx_file::lower_version(&output, kernel.arch),
        ..as_committed(folder, kernel)
    })
}

/// The committed PTX.
fn as_committed(folder: &str, kernel: &KernelFile) -> Source {
    Source {
        file: kernel.file.into(),
        name: ptx_file::program_name(folder, kernel.file),
        text: Some(kernel.source.into()),
        arch: kernel.arch.into(),
        origin: Origin::Committed(ptx_file::compiler_of(kernel.ptx).into()),
        ptx: kernel.ptx.to_owned(),
        sass: kernel.sass.to_owned(),
    }
}

impl Source {
    /// The PTX of a user's file. CUDA source is compiled for `arch`, and with this tile if it is not empty.
    ///
    /// # Errors
    /// If it cannot be read or compiled.
    pub fn of_file(path: &Path, arch: &str, tile: &str) -> Result<Self> {
        of_file(path, Some(arch), tile, Nvrtc::find())
    }

    /// Compiles CUDA source for `arch` with these macros, each `NAME` or `NAME=VALUE`. `file` is its name in
    /// messages; no file is read.
    ///
    /// # Errors
    /// [`Error::Compile`] if the source is at fault, any other if the compiler is.
    pub fn compiled(
        file: &str,
        text: &str,
        arch: &str,
        defines: &[String],
        compiler: &dyn Compile,
    ) -> Result<Self> {
        let mut options = ptx_file::options(arch, "");
        options.extend(defines.iter().map(|one| format!("--define-macro={one}")));
        compiled(file.into(), text.into(), arch, options, compiler)
    }
}

/// Whether most lines of a text end with CR alone, which compilers read as one line.
pub fn ends_with_cr(text: &str) -> bool {
    let count = |end| text.matches(end).count();
    count("\r") - count("\r\n") > count("\n")
}

fn compiled(
    file: String,
    text: String,
    arch: &str,
    options: Vec<String>,
    compiler: &dyn Compile,
) -> Result<Source> {
    let name = name_in_ptx(Path::new(&file));
    let ptx = compile_text(compiler, &text, &name, &options, &file)?;
    Ok(Source {
        file,
        name,
        text: Some(text),
        arch: arch.into(),
        origin: Origin::Nvrtc(ptx_file::compiler(&ptx)),
        ptx,
        sass: String::new(),
    })
}

impl KernelFile<'_> {
    /// The text of the `kernel.ptx` to commit beside this kernel, in this folder of the workspace; requires NVRTC.
    pub fn committed_ptx(&self, folder: &str) -> Result<String> {
        let nvrtc = Nvrtc::find().map_err(|why| Error::NoNvrtc {
            file: format!("{folder}/{}", self.file),
            why,
        })?;
        Ok(ptx_file::text(
            self,
            &compile_committed(folder, self, &nvrtc)?,
        ))
    }

    /// The text of the `kernel.sass` to commit beside this PTX; requires ptxas and nvdisasm.
    ///
    /// # Errors
    /// If one of them is not found, or refuses the PTX.
    pub fn committed_sass(&self, ptx: &str) -> anyhow::Result<String> {
        machine_code::text(ptx, "gemm", self.arch)
    }

    /// Whether the committed machine code was made from this PTX.
    pub fn has_sass_of(&self, ptx: &str) -> bool {
        machine_code::is_current(self.sass, ptx)
    }

    /// The PTX of this kernel in this folder of the workspace, such as `rungs/05_swizzle`: the committed one while it is
    /// current, so that every machine runs the same; after a change of `kernel.cu`, NVRTC's.
    ///
    /// # Errors
    /// If the committed PTX was made from another source, and there is no NVRTC or it refuses the source.
    pub fn current(&self, folder: &str) -> Result<Source> {
        #[cfg(target_family = "wasm")]
        let this = &self.with_texts(folder);
        #[cfg(not(target_family = "wasm"))]
        let this = self;
        of_folder(folder, this, Nvrtc::find)
    }
}

fn compile_committed(folder: &str, kernel: &KernelFile, nvrtc: &dyn Compile) -> Result<String> {
    compile_text(
        nvrtc,
        kernel.source,
        &ptx_file::program_name(folder, kernel.file),
        &ptx_file::options(kernel.arch, kernel.configuration),
        kernel.file,
    )
}

/// The PTX of a user's file: `.cu` is compiled for `arch` and with this tile, `.ptx` is read as it is. Without an
/// `arch`, a kernel with boxes for TMA, or one that uses what only Hopper has, is compiled for Hopper.
pub fn of_file(path: &Path, arch: Option<&str>, tile: &str, compiler: Compiler) -> Result<Source> {
    let read = || {
        files::read_to_string(path).map_err(|error| Error::Read {
            path: path.to_owned(),
            error,
        })
    };
    let file = path.display().to_string();
    let no_tile = || Error::NoTile {
        file: file.clone(),
        wanted: tile.into(),
        has: Vec::new(),
    };
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("cu") => {
            let text = read()?;
            if !tile.is_empty() && !text.contains("TILE_M") {
                return Err(no_tile());
            }
            // If the boxes are missing, the error should be about them, not about instructions that sm_80 lacks.
            let of_hopper = [spec::BOXES, "TensorMap", "hopper.cuh"];
            let is_hopper = of_hopper.iter().any(|word| text.contains(word));
            let guess = if is_hopper { "sm_90a" } else { "sm_80" };
            let arch = arch.unwrap_or(guess);
            let options = ptx_file::options(arch, tile);
            let nvrtc = compiler.map_err(|why| Error::NoNvrtc {
                file: file.clone(),
                why,
            })?;
            compiled(file, text, arch, options, &nvrtc)
        }
        Some("ptx") if !tile.is_empty() => Err(no_tile()),
        Some("ptx") => Ok(Source {
            name: file.clone(),
            file,
            text: None,
            arch: arch.unwrap_or("sm_80").into(),
            origin: Origin::File,
            ptx: read()?,
            // Of other PTX it is not taken, so it need not be checked here.
            sass: files::read_to_string(&path.with_extension("sass")).unwrap_or_default(),
        }),
        _ => Err(Error::KernelEnding(path.to_owned())),
    }
}

/// Compiles `source` with these options; line information calls it `name`, messages `file`.
///
/// # Errors
/// If it cannot be compiled.
pub fn compile_text(
    compiler: &dyn Compile,
    source: &str,
    name: &str,
    options: &[String],
    file: &str,
) -> Result<String> {
    if ends_with_cr(source) {
        return Err(Error::Compile {
            file: file.into(),
            log: "its lines end with CR alone: save it with LF or CR LF".into(),
        });
    }
    match compiler.compile(&prepared(source, name), name, options) {
        Err(Error::Compile { log, .. }) => Err(Error::Compile {
            file: file.into(),
            log: log.replace(name, file).trim_end().into(),
        }),
        result => result,
    }
}

/// A kernel's text as it is compiled: with `hopper.cuh` in place of its `#include`.
pub fn prepared<'a>(source: &'a str, name: &str) -> std::borrow::Cow<'a, str> {
    header::included(source, name)
}

/// The path as an absolute one: NVRTC prefixes the current folder to a relative one.
pub fn name_in_ptx(path: &Path) -> String {
    if path.is_absolute() {
        return path.display().to_string();
    }
    let plain = path
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let mut parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    let parts: Vec<_> = if plain {
        parts.collect()
    } else {
        parts.next_back().into_iter().collect()
    };
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_that_no_compiler_knows_are_named() {
        for (text, is_cr) in [
            ("// a\rint b;\r", true),
            ("// a\rint b;\r\n", false),
            ("// a\r\nint b;\r\n", false),
            ("// a\rb\nint b;\n", false),
        ] {
            assert_eq!(ends_with_cr(text), is_cr, "{text:?}");
            let compiled = Source::compiled("k.cu", text, "sm_80", &[], &Echo { refuses: false });
            let says_so = |error: Error| error.to_string().contains("save it with LF");
            assert_eq!(compiled.is_err_and(says_so), is_cr, "{text:?}");
        }
    }

    #[test]
    fn a_readers_file_gets_an_absolute_name() {
        assert_eq!(name_in_ptx(Path::new("./a/b.cu")), "/a/b.cu");
        assert_eq!(name_in_ptx(Path::new("../a/b.cu")), "/b.cu");
        assert_eq!(name_in_ptx(Path::new("/tmp/b.cu")), "/tmp/b.cu");
    }

    /// As on a machine without NVRTC.
    fn none() -> Compiler {
        Err(GpuError::NoNvrtc {
            searched: Vec::new(),
        })
    }

    /// Returns its input as PTX or as its log.
    struct Echo {
        refuses: bool,
    }

    impl Compile for Echo {
        fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String> {
            let asked = format!("{name}(1): {source} {}\n", options.join(" "));
            match self.refuses {
                false => Ok(asked),
                true => Err(Error::Compile {
                    file: name.into(),
                    log: asked,
                }),
            }
        }

        fn assemble(&self, _: &str, kernel: &str, _: &str) -> Result<String> {
            Err(Error::NotPredicted(kernel.into(), "no assembler".into()))
        }

        fn version(&self) -> (u32, u32) {
            (13, 0)
        }
    }

    #[test]
    fn a_text_is_compiled_for_its_arch_and_with_its_macros() {
        let defines = ["TILE_M=64".to_owned(), "BY_HAND".to_owned()];
        let compiled = |refuses| {
            Source::compiled(
                "my/kernel.cu",
                "int x;",
                "sm_90a",
                &defines,
                &Echo { refuses },
            )
        };
        let source = compiled(false).expect("no refusal");
        assert_eq!(source.name, "/my/kernel.cu");
        assert_eq!(source.text.as_deref(), Some("int x;"));
        for asked in [
            "/my/kernel.cu(1): int x; ",
            "--gpu-architecture=compute_90a",
            "--fmad=false",
            "--define-macro=TILE_M=64 --define-macro=BY_HAND",
        ] {
            assert!(source.ptx.contains(asked), "no {asked} in {}", source.ptx);
        }
        let refused = compiled(true).expect_err("a refusal").to_string();
        assert!(
            refused.starts_with("my/kernel.cu does not compile:\nmy/kernel.cu(1): int x; "),
            "{refused}"
        );
    }

    #[test]
    fn other_files_are_refused() {
        let read = |file: &str| of_file(Path::new(file), None, "", none());
        assert!(matches!(read("kernel.txt"), Err(Error::KernelEnding(_))));
        assert!(matches!(read("no/such.ptx"), Err(Error::Read { .. })));
        assert!(matches!(read("no/such.cu"), Err(Error::Read { .. })));
    }

    #[test]
    fn without_nvrtc_a_source_is_refused_with_the_remedy() {
        let error =
            of_file(Path::new("src/testdata/tiny.cu"), None, "", none()).expect_err("no NVRTC");
        assert!(matches!(error, Error::NoNvrtc { .. }));
        assert!(
            error.to_string().contains("cargo ladder get-nvrtc"),
            "{error}"
        );
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn the_committed_ptx_is_used_while_it_is_current() {
        let kernel = KernelFile {
            file: "kernel.cu",
            source: include_str!("../testdata/tiny.cu"),
            configuration: "",
            ptx: "",
            sass: "",
            arch: "sm_80",
        };
        let ptx = &ptx_file::text(&kernel, include_str!("../testdata/tiny.ptx"));
        let kernel = KernelFile { ptx, ..kernel };
        let unused = || -> Compiler { unreachable!("no compiler is needed") };
        let found = of_folder("rungs/00_tiny", &kernel, unused).expect("current");
        assert_eq!(found.origin, Origin::Committed("NVRTC 13.0.88".into()));

        let changed = kernel.source.replace("BM = 8", "BM = 16");
        let kernel = KernelFile {
            source: &changed,
            ..kernel
        };
        let found = of_folder("rungs/00_tiny", &kernel, || Ok(Echo { refuses: false }));
        let found = found.expect("compiled");
        assert!(matches!(found.origin, Origin::Nvrtc(_)) && found.ptx.contains("BM = 16"));
        let error = of_folder("rungs/00_tiny", &kernel, none).expect_err("stale");
        assert!(matches!(error, Error::StalePtx { .. }));
        assert!(
            error.to_string().contains("cargo ladder get-nvrtc"),
            "{error}"
        );
    }
}
