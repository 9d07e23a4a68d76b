//! A rung, as its `main.rs` declares it.
use emulator::Ptx;

use crate::spec::LaunchSpec;
use crate::{Host, Result, Size};

/// One step of the ladder: its kernels, its switches, and its host function.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of its folder in `rungs/`, such as `03_padded`.
    pub name: &'static str,
    /// Its kernels, one for each architecture and tile.
    pub kernels: &'static [KernelFile<'static>],
    /// What the user can switch at run time.
    pub switches: &'static [Switch],
    /// For a kernel with several tiles, the one that is fastest at this size.
    pub tile: Option<fn(Size) -> &'static str>,
    /// The host function.
    pub host: fn(&mut Host) -> Result<()>,
}

/// A kernel's source with the PTX that was committed for it.
#[derive(Clone, Copy, Debug)]
pub struct KernelFile<'a> {
    /// The file's name in the rung's folder, such as `kernel.cu`.
    pub file: &'a str,
    /// Its text.
    pub source: &'a str,
    /// The block's tile of C, such as `128x256`: `TILE_M` and `TILE_N` for the compiler. Empty for the default tile
    /// of the file.
    pub configuration: &'a str,
    /// The text of the committed PTX beside it, `kernel_hopper.128x256.ptx`.
    pub ptx: &'a str,
    /// The machine code committed beside it, `kernel_hopper.128x256.sass`, as `cargo ladder ptx` condenses it; empty
    /// if there is none.
    pub sass: &'a str,
    /// Its architecture: `sm_80` or `sm_90a`.
    pub arch: &'a str,
}

/// The [`KernelFile`] of a rung: `kernel!("kernel", "sm_80")` is kernel.cu with kernel.ptx, in the folder above the
/// file that uses the macro. With a tile, `kernel!("kernel", "sm_80", "128x128")`, the PTX is kernel.128x128.ptx.
#[macro_export]
macro_rules! kernel {
    ($stem:literal, $arch:literal $(, $tile:literal)?) => {
        $crate::KernelFile {
            file: concat!($stem, ".cu"),
            source: $crate::committed_text!("../", $stem, ".cu"),
            configuration: concat!($($tile)?),
            ptx: $crate::committed_text!("../", $stem, $(".", $tile,)? ".ptx"),
            sass: $crate::committed_text!("../", $stem, $(".", $tile,)? ".sass"),
            arch: $arch,
        }
    };
}

/// The text of a file, whose path is given in pieces. The WebAssembly module should not make readers download texts
/// that they do not use: there it is empty, and a page hands over those of the kernels that it runs ([`files`](crate::files)).
#[cfg(not(target_family = "wasm"))]
#[macro_export]
macro_rules! committed_text {
    ($($piece:literal),* $(,)?) => { include_str!(concat!($($piece),*)) };
}

/// The text of a file; here it is given at run time ([`files`](crate::files)).
#[cfg(target_family = "wasm")]
#[macro_export]
macro_rules! committed_text {
    ($($piece:literal),* $(,)?) => {
        ""
    };
}

impl KernelFile<'_> {
    /// 32-bit registers of a thread, from the committed machine code.
    pub fn registers(&self) -> Option<u32> {
        let line = self.sass.lines().find(|line| !line.starts_with("//"))?;
        line.strip_prefix("registers ")?.trim().parse().ok()
    }

    /// The block's tile of C, such as `128x256`, from its PTX or its configuration.
    pub fn tile(&self) -> String {
        if !self.configuration.is_empty() {
            return self.configuration.to_owned();
        }
        let spec = Ptx::parse(self.ptx).ok();
        let spec = spec.and_then(|ptx| LaunchSpec::of(&ptx).ok());
        spec.map_or(String::new(), |spec| {
            format!("{}x{}", spec.tile.bm, spec.tile.bn)
        })
    }
}

impl Rung {
    /// The kernels of one file, each with another tile.
    pub(crate) fn tiles_of(
        &self,
        file: &str,
    ) -> impl Iterator<Item = &KernelFile<'static>> + Clone {
        self.kernels
            .iter()
            .filter(move |kernel| kernel.file == file)
    }
}

/// A trailing `int` parameter of the kernel, 0 or 1, that the user can set.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// Its name, such as `uncoalesced`.
    pub name: &'static str,
    /// What it does, for `--help`.
    pub help: &'static str,
}
