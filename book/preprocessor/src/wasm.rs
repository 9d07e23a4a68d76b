//! `cargo book wasm`: compiles the crate `live` to WebAssembly, shrinks it, and packs it into a script that pages load.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `GEMM_WASM_TOOLCHAIN` | a folder with Debian's packages for the target, unpacked: CONTRIBUTING.md says which |
//! | `GEMM_WASM_OPT` | binaryen's `wasm-opt`; else it is looked for in PATH |
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The compilation target.
const TARGET: &str = "wasm32-unknown-unknown";

/// The path of the committed script.
const SCRIPT: &str = "book/src/live/module.js";

/// A module that a reader waits for: bytes, packed by gzip.
const MOST_BYTES: usize = 725_000;

/// WebAssembly features that the module may use; all current browsers have them.
const FEATURES: [&str; 8] = [
    "--enable-simd",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-multivalue",
    "--enable-reference-types",
];

/// Makes the module small and compressible; a second `-Oz` saves 0.1%. Most functions with a single caller are not inlined, since their locals have
/// shorter indices in a function of their own. The first KiB of memory has no data: it is the end of the stack.
const PASSES: [&str; 9] = [
    "-Oz",
    "-Oz",
    "--one-caller-inline-max-function-size=20",
    "--low-memory-unused",
    "--merge-similar-functions",
    "--reorder-functions-by-name",
    "--strip-debug",
    "--strip-producers",
    "--strip-target-features",
];

/// Makes the module and writes the script.
///
/// # Errors
/// If there is no toolchain for the target, or the module is too large.
pub fn make(root: &Path) -> Result<()> {
    let script = root.join(SCRIPT);
    fs::create_dir_all(script.parent().unwrap_or(root))?;
    fs::write(&script, script_of(root)?).with_context(|| format!("cannot write {SCRIPT}"))
}

/// Puts a fresh module into a built book if one can be compiled; otherwise the committed one stays.
///
/// # Errors
/// As [`make`].
pub fn refresh(root: &Path, built: &Path) -> Result<()> {
    let has_compiler = env::var_os("GEMM_WASM_TOOLCHAIN").is_some() || has_target();
    if has_compiler && finds_wasm_opt() {
        let script = built.join("live/module.js");
        fs::write(&script, script_of(root)?)
            .with_context(|| format!("cannot write {}", script.display()))?;
    }
    Ok(())
}

/// The script, freshly made.
fn script_of(root: &Path) -> Result<String> {
    let made = compile(root)?;
    let small = root.join("target/wasm/live.wasm");
    if !is_newer(&small, &made) {
        optimize(&made, &small)?;
    }
    let module = fs::read(&small).with_context(|| format!("cannot read {}", small.display()))?;
    let packed = packed(&module)?;
    let text = format!(
        "// The crate `live` as WebAssembly, packed by gzip, in base64. Made by `cargo book wasm`.\n\
         globalThis.gemm.live.arrived(\"module\", \"{}\");\n",
        base64(&packed)
    );
    println!(
        "module.js: {} bytes of WebAssembly, {} packed by gzip",
        module.len(),
        packed.len()
    );
    if packed.len() > MOST_BYTES {
        bail!("the module is larger than the {MOST_BYTES} bytes that a reader should wait for");
    }
    Ok(text)
}

/// Packed by gzip, 4% smaller than by the program gzip. Up to 60 blocks in place of 15 save 0.5%, three iterations in place of
/// one 0.2%. Without a limit on blocks it would be 1.8% larger.
fn packed(module: &[u8]) -> Result<Vec<u8>> {
    let options = zopfli::Options {
        iteration_count: NonZeroU64::MIN.saturating_add(2),
        maximum_block_splits: 60,
        ..zopfli::Options::default()
    };
    let mut packed = Vec::new();
    zopfli::compress(options, zopfli::Format::Gzip, module, &mut packed)?;
    Ok(packed)
}

/// Whether a file was made from the other by this program.
fn is_newer(made: &Path, from: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
    let program = env::current_exe().ok();
    let before = [time(from), program.as_deref().and_then(time)];
    time(made).is_some_and(|made| {
        before
            .iter()
            .all(|before| before.is_some_and(|one| one < made))
    })
}

/// `GEMM_WASM_OPT`, or the name to search in PATH.
fn wasm_opt() -> PathBuf {
    env::var_os("GEMM_WASM_OPT").map_or_else(|| "wasm-opt".into(), PathBuf::from)
}

fn finds_wasm_opt() -> bool {
    let mut asked = Command::new(wasm_opt());
    asked
        .arg("--version")
        .output()
        .is_ok_and(|said| said.status.success())
}

/// Whether rustup has installed the target.
fn has_target() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut asked = Command::new(rustc);
    let asked = asked.args(["--print", "target-libdir", "--target", TARGET]);
    let folder = asked.output().ok().filter(|output| output.status.success());
    folder.is_some_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

fn compile(root: &Path) -> Result<PathBuf> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    // Only the module: an additional library for other crates would double the compilation.
    cargo.args([
        "rustc",
        "--package",
        "live",
        "--lib",
        "--crate-type",
        "cdylib",
        "--profile",
        "wasm",
    ]);
    cargo.args(["--target", TARGET, "--target-dir", "target/wasm"]);
    let mut flags = "-C target-feature=+simd128".to_owned();
    match env::var_os("GEMM_WASM_TOOLCHAIN").map(PathBuf::from) {
        Some(folder) => {
            // Debian's compiler supports the target and comes with the sources of the standard library, which is
            // compiled, too.
            cargo.env("RUSTC", folder.join("usr/bin/rustc"));
            cargo.env("LD_LIBRARY_PATH", folder.join("usr/lib/x86_64-linux-gnu"));
            cargo.env("RUSTC_BOOTSTRAP", "1");
            let linker = folder.join("usr/bin/wasm-ld-22");
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
            cargo.args(["-Z", "build-std=std,panic_abort"]);
            // Use small sorting functions, and no backtraces.
            cargo.args(["-Z", "build-std-features=optimize_for_size"]);
            // Omit panic messages and locations.
            flags += " -Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none -Zfmt-debug=shallow";
        }
        None if !has_target() => bail!(
            "the compiler has no {TARGET}: `rustup target add {TARGET}`, or name a folder with Debian's packages in \
             GEMM_WASM_TOOLCHAIN (CONTRIBUTING.md, \"Build the engine of the pages\")"
        ),
        None => {}
    }
    cargo.env("RUSTFLAGS", flags);
    // Clippy's driver, in CI, belongs to another compiler.
    cargo.env_remove("RUSTC_WORKSPACE_WRAPPER");
    let done = cargo.status().context("cannot run cargo")?;
    if !done.success() {
        bail!("the crate `live` does not compile for {TARGET}");
    }
    Ok(root.join(format!("target/wasm/{TARGET}/wasm/live.wasm")))
}

fn optimize(module: &Path, small: &Path) -> Result<()> {
    let program = wasm_opt();
    let mut optimize = Command::new(&program);
    optimize.args(FEATURES).args(PASSES);
    optimize.arg(module).arg("-o").arg(small);
    let done = optimize.status().with_context(|| {
        format!(
            "cannot run {}: `npm install binaryen` brings it, and GEMM_WASM_OPT names it",
            program.display()
        )
    })?;
    if !done.success() {
        bail!("wasm-opt refuses the module");
    }
    Ok(())
}

/// Base64, as `atob` reads it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=three.len()].copy_from_slice(three);
        let word = u32::from_be_bytes(word);
        for digit in 0..4 {
            let one = DIGITS[(word >> (18 - 6 * digit) & 63) as usize];
            let _ = match digit <= three.len() {
                true => text.write_char(one.into()),
                false => text.write_char('='),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    /// RFC 4648, section 10.
    #[test]
    fn base64_as_in_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }
}
