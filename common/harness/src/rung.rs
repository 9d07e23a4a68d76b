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
    /// How fast a full card computes with this tile, beside the rung's fastest (results/attempts.md); 1 if there is
    /// only one.
    pub speed: f64,
    /// The text of the committed PTX beside it, `kernel_hopper.128x256.ptx`.
    pub ptx: &'a str,
    /// What it is compiled for: `sm_80` or `sm_90a`.
    pub arch: &'a str,
}

/// What the end of a block's last tile costs, as a part of a tile: rung 06 at 2048, where one round of 128x256 is
/// slower than two of 128x128.
const LAST_TILE: f64 = 0.2;

impl KernelFile<'_> {
    /// The block's tile of C, if it is the configuration that says so.
    pub(crate) fn tile(&self) -> Option<(u32, u32)> {
        let (m, n) = self.configuration.split_once('x')?;
        Some((m.parse().ok()?, n.parse().ok()?))
    }

    /// How long this configuration takes beside others, in elements of C: the tiles that some multiprocessor
    /// has to compute one after the other, and the end of the last one, which no next tile hides.
    pub(crate) fn cost(&self, size: Size, multiprocessors: u32) -> f64 {
        let Some((m, n)) = self.tile() else {
            return 0.0;
        };
        let tiles = u64::from(size.m.div_ceil(m)) * u64::from(size.n.div_ceil(n));
        let rounds = tiles.div_ceil(multiprocessors.into()) as f64;
        (rounds + LAST_TILE) * f64::from(m) * f64::from(n) / self.speed
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_tile_where_there_are_enough_of_them() {
        let of = |configuration, speed| KernelFile {
            file: "kernel_hopper.cu",
            source: "",
            configuration,
            speed,
            ptx: "",
            arch: "sm_90a",
        };
        let kernels = [of("128x256", 1.0), of("128x128", 0.95), of("64x128", 0.77)];
        for (size, best) in [
            (256, "64x128"),
            (1024, "64x128"),
            (2048, "128x128"),
            (3072, "128x128"),
            (4096, "128x256"),
            (16384, "128x256"),
        ] {
            let cost = |kernel: &KernelFile| kernel.cost(Size::cube(size), 132);
            let found = kernels.iter().min_by(|a, b| cost(a).total_cmp(&cost(b)));
            assert_eq!(
                found.map(|kernel| kernel.configuration),
                Some(best),
                "{size}"
            );
        }
    }
}
