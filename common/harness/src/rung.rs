//! What a rung says of itself in its `main.rs`.
use crate::Size;

/// One step of the ladder: its kernels and what a reader may switch.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of its folder in `rungs/`, such as `03_padded`.
    pub name: &'static str,
    /// Its kernels, one for each architecture that it is written for.
    pub kernels: &'static [KernelFile<'static>],
    /// What can be switched at run time.
    pub switches: &'static [Switch],
}

/// A kernel's source with the PTX that was committed for it.
#[derive(Clone, Copy, Debug)]
pub struct KernelFile<'a> {
    /// The file's name in the rung's folder, such as `kernel.cu`.
    pub file: &'a str,
    /// Its text.
    pub source: &'a str,
    /// The block's tile of C if the file leaves it open, such as `128x256`: `TILE_M` and `TILE_N` for the
    /// compiler. Empty if the file has only one.
    pub configuration: &'a str,
    /// The text of the committed PTX beside it, `kernel_hopper.128x256.ptx`.
    pub ptx: &'a str,
    /// What it is compiled for: `sm_80` or `sm_90a`.
    pub arch: &'a str,
}

impl KernelFile<'_> {
    /// The block's tile of C, if it is the configuration that says so.
    pub(crate) fn tile(&self) -> Option<(u32, u32)> {
        let (m, n) = self.configuration.split_once('x')?;
        Some((m.parse().ok()?, n.parse().ok()?))
    }

    /// How long this configuration takes, if all tiles took a time proportional to their size: the number
    /// of tiles that some multiprocessor has to compute one after the other, times what is in one.
    pub(crate) fn work(&self, size: Size, multiprocessors: u32) -> u64 {
        let Some((m, n)) = self.tile() else { return 0 };
        let tiles = u64::from(size.m.div_ceil(m)) * u64::from(size.n.div_ceil(n));
        tiles.div_ceil(multiprocessors.into()) * u64::from(m) * u64::from(n)
    }
}

/// A flag of the command line that the kernel takes as a trailing `int` parameter, 0 or 1.
#[derive(Clone, Copy, Debug)]
pub struct Switch {
    /// The flag without its dashes, such as `uncoalesced`.
    pub flag: &'static str,
    /// What it does, for `--help`.
    pub help: &'static str,
}
