//! The committed PTX beside a `kernel.cu`: how it is made, what its head states, whether it is current.
//!
//! ```text
//! // Made from kernel.cu by `cargo ladder ptx`; do not edit.
//! // compiler: NVRTC 13.0.88
//! // target: sm_80
//! // options: --gpu-architecture=compute_80 --fmad=false --generate-line-info --std=c++17
//! // source-sha256: (of the source and the options)
//! ```
use sha2::{Digest, Sha256};

use super::header;
use crate::KernelFile;
use problem::hex;

/// The architecture of a kernel: `sm_90a` if its file is called `kernel_hopper.cu` or it includes hopper.cuh, else
/// `sm_80`.
///
/// For callers that compile a file before its rung is built. A rung states the architecture in its `main.rs`; if the
/// two differ, the committed PTX is reported as not current.
pub fn arch_of(file: &str, source: &str) -> &'static str {
    if file.contains("hopper") || header::is_included(source) {
        "sm_90a"
    } else {
        "sm_80"
    }
}

/// The options for NVRTC, except the folder of the headers, which differs from machine to machine.
pub fn options(arch: &str, configuration: &str) -> Vec<String> {
    let compute = arch.replace("sm_", "compute_");
    let mut options = vec![
        format!("--gpu-architecture={compute}"),
        "--fmad=false".into(),
        "--generate-line-info".into(),
        "--std=c++17".into(),
    ];
    if let Some((m, n)) = configuration.split_once('x') {
        options.push(format!("--define-macro=TILE_M={m}"));
        options.push(format!("--define-macro=TILE_N={n}"));
    }
    options
}

/// The name of the committed PTX of `file`: `kernel.ptx`, or `kernel_hopper.128x256.ptx`.
pub fn name(file: &str, configuration: &str) -> String {
    let stem = file.trim_end_matches(".cu");
    if configuration.is_empty() {
        format!("{stem}.ptx")
    } else {
        format!("{stem}.{configuration}.ptx")
    }
}

/// The configurations of `file` for which these file names include PTX, sorted, so that the default one, the empty
/// string, comes first; if there is no PTX, only the default.
pub fn configurations<'a>(file: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let stem = file.trim_end_matches(".cu");
    let of_name = |name: &'a str| {
        let configuration = name.strip_prefix(stem)?.strip_suffix(".ptx")?;
        if configuration.is_empty() {
            return Some("");
        }
        configuration.strip_prefix('.')
    };
    let mut found: Vec<String> = names.filter_map(of_name).map(str::to_owned).collect();
    if found.is_empty() {
        found.push(String::new());
    }
    found.sort();
    found
}

/// The name under which a kernel is compiled; `folder` is its folder relative to the workspace's root, such as
/// `rungs/05_swizzle`. The name is part of the PTX, so it must be the same on every machine.
pub fn program_name(folder: &str, file: &str) -> String {
    format!("/{folder}/{file}")
}

/// The text of the committed file, from NVRTC's output for the kernel's source.
pub fn text(kernel: &KernelFile, nvrtc_output: &str) -> String {
    let KernelFile { file, arch, .. } = kernel;
    format!(
        "// Made from {file} by `cargo ladder ptx`; do not edit.\n\
         // compiler: {}\n\
         // target: {arch}\n\
         // options: {}\n\
         // source-sha256: {}\n\n{}",
        compiler(nvrtc_output),
        options(arch, kernel.configuration).join(" "),
        source_hash(kernel),
        lower_version(&relative_headers(body(nvrtc_output)), arch),
    )
}

/// The PTX with the CUDA headers' paths in `.file` directives relative to their `include` folder, which differs from
/// machine to machine.
fn relative_headers(ptx: &str) -> String {
    let lines = ptx.split_inclusive('\n').map(|line| {
        let header = line
            .split_once("/include/")
            .filter(|_| line.trim_start().starts_with(".file"))
            .and_then(|(before, header)| Some((before.split_once('"')?.0, header)));
        match header {
            Some((directive, header)) => format!("{directive}\"{header}"),
            None => line.to_owned(),
        }
    });
    lines.collect()
}

/// Checks that the committed PTX was made from its source; the error says what differs.
pub fn check(kernel: &KernelFile) -> Result<(), String> {
    let KernelFile { ptx, arch, .. } = *kernel;
    if ptx.trim().is_empty() {
        return Err("there is no committed PTX".into());
    }
    let mut heads = vec![
        ("target", arch.to_owned()),
        ("options", options(arch, kernel.configuration).join(" ")),
    ];
    // A page has only committed kernels, which a test compares; `hopper.cuh` would be 0.5% of its module.
    if cfg!(not(target_family = "wasm")) {
        heads.push(("source-sha256", source_hash(kernel)));
    }
    for (key, expected) in heads {
        match head(ptx, key) {
            None => return Err(format!("the head of the PTX has no {key}")),
            Some(found) if found != expected => return Err(format!("its {key} differs")),
            Some(_) => {}
        }
    }
    Ok(())
}

/// The compiler that made committed PTX, such as `NVRTC 13.0.88`.
pub fn compiler_of(ptx: &str) -> &str {
    head(ptx, "compiler").unwrap_or("an unknown compiler")
}

/// `NVRTC 13.0.88`, from the comment at the top of NVRTC's output.
pub fn compiler(nvrtc_output: &str) -> String {
    let version = nvrtc_output
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("//"))
        .find_map(|line| line.split_once(", V").map(|(_, version)| version.trim()));
    format!("NVRTC {}", version.unwrap_or("of unknown version"))
}

/// NVRTC writes the newest `.version` it knows, which older drivers refuse. These kernels need 7.0 (for sm_80), 7.4
/// (if a load has an L2 prefetch size, `.level::prefetch_size`) or 8.0 (for sm_90a).
pub fn lower_version(ptx: &str, arch: &str) -> String {
    let version = match arch {
        "sm_80" if ptx.contains(".L2::") => ".version 7.4",
        "sm_80" => ".version 7.0",
        _ => ".version 8.0",
    };
    let mut lowered = false;
    let lines = ptx.lines().map(|line| {
        if !lowered && line.starts_with(".version ") {
            lowered = true;
            version
        } else {
            line
        }
    });
    lines.fold(String::with_capacity(ptx.len()), |text, line| {
        text + line + "\n"
    })
}

/// NVRTC's output without the comments at its top.
fn body(nvrtc_output: &str) -> &str {
    nvrtc_output
        .find(".version ")
        .map_or(nvrtc_output, |start| &nvrtc_output[start..])
}

/// The hash of the source; the same in a checkout with Windows line endings.
fn source_hash(kernel: &KernelFile) -> String {
    let mut hash = Sha256::new();
    hash.update(header::included(kernel.source, "").replace("\r\n", "\n"));
    hash.update("\n");
    hash.update(options(kernel.arch, kernel.configuration).join(" "));
    hex(&hash.finalize())
}

fn head<'a>(ptx: &'a str, key: &str) -> Option<&'a str> {
    ptx.lines()
        .take_while(|line| line.starts_with("//"))
        .find_map(|line| {
            line.strip_prefix("// ")?
                .strip_prefix(key)?
                .strip_prefix(": ")
        })
        .map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "//\n// Generated by NVIDIA NVVM Compiler\n//\n// Compiler Build ID: CL-1\n\
        // Cuda compilation tools, release 13.0, V13.0.88\n// Based on NVVM 7.0.1\n//\n\n\
        .version 9.0\n.target sm_80\n.address_size 64\n";

    const KERNEL: KernelFile = KernelFile {
        file: "kernel.cu",
        source: "int x;\n",
        configuration: "",
        ptx: "",
        sass: "",
        arch: "sm_80",
    };

    #[test]
    fn its_header_says_where_it_comes_from() {
        let ptx = &text(&KERNEL, OUTPUT);
        let lines: Vec<_> = ptx.lines().collect();
        assert_eq!(lines[1], "// compiler: NVRTC 13.0.88");
        assert_eq!(lines[2], "// target: sm_80");
        assert_eq!(
            &lines[5..],
            ["", ".version 7.0", ".target sm_80", ".address_size 64"]
        );
        let kernel = KernelFile { ptx, ..KERNEL };
        assert_eq!(check(&kernel), Ok(()));
        let source = "int x;\r\n";
        assert_eq!(check(&KernelFile { source, ..kernel }), Ok(()));
        assert_eq!(compiler_of(ptx), "NVRTC 13.0.88");
    }

    #[test]
    fn the_folder_of_the_headers_is_not_part_of_it() {
        let output = format!(
            "{OUTPUT}\t.file\t1 \"/a/b.cu\"\n\t.file\t2 \"/home/u/include/cuda/std/x.h\"\n"
        );
        assert!(
            text(&KERNEL, &output)
                .ends_with("\t.file\t1 \"/a/b.cu\"\n\t.file\t2 \"cuda/std/x.h\"\n")
        );
    }

    #[test]
    fn a_changed_source_is_noticed() {
        let ptx = &text(&KERNEL, OUTPUT);
        let kernel = KernelFile { ptx, ..KERNEL };
        let source = "int y;\n";
        assert!(check(&KernelFile { source, ..kernel }).is_err());
        let arch = "sm_90a";
        assert!(check(&KernelFile { arch, ..kernel }).is_err());
        let configuration = "128x64";
        let other = KernelFile {
            configuration,
            ..kernel
        };
        assert!(check(&other).is_err());
        assert!(check(&KERNEL).is_err());
        assert!(
            check(&KernelFile {
                ptx: OUTPUT,
                ..kernel
            })
            .is_err()
        );
    }

    #[test]
    fn a_configuration_is_in_the_name_and_in_the_options() {
        assert_eq!(name("kernel.cu", ""), "kernel.ptx");
        assert_eq!(
            name("kernel_hopper.cu", "128x64"),
            "kernel_hopper.128x64.ptx"
        );
        let options = options("sm_90a", "128x64");
        assert_eq!(
            options[4..],
            ["--define-macro=TILE_M=128", "--define-macro=TILE_N=64"]
        );
        let names = [
            "kernel.cu",
            "kernel.128x128.ptx",
            "kernel.ptx",
            "kernel_hopper.128x64.ptx",
            "kernel_hopper.128x256.ptx",
        ];
        let of = |file| configurations(file, names.into_iter());
        assert_eq!(of("kernel_hopper.cu"), ["128x256", "128x64"]);
        assert_eq!(of("kernel.cu"), ["", "128x128"]);
        assert_eq!(of("other.cu"), [""]);
    }

    #[test]
    fn hopper_files_need_the_newer_version() {
        assert_eq!(arch_of("kernel_hopper.cu", ""), "sm_90a");
        assert!(lower_version(OUTPUT, "sm_90a").contains(".version 8.0\n"));
        let prefetches = format!("{OUTPUT}cp.async.cg.shared.global.L2::128B [%r1], [%rd1], 16;\n");
        assert!(lower_version(&prefetches, "sm_80").contains(".version 7.4\n"));
    }
}
