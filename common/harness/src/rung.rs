//! What a rung says of itself in its `main.rs`.
use emulator::Module;

use crate::Size;
use crate::kernel::ENTRY;
use crate::launch::Launch;

/// One step of the ladder: its kernels and what a reader may switch.
#[derive(Clone, Copy, Debug)]
pub struct Rung {
    /// The name of its folder in `rungs/`, such as `03_padded`.
    pub name: &'static str,
    /// Its kernels, one for each architecture and tile.
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
    /// The block's tile of C, such as `128x256`: `TILE_M` and `TILE_N` for the compiler. Empty for the tile that the
    /// file itself has.
    pub configuration: &'a str,
    /// How fast a full card computes with this tile, beside the rung's fastest: about what the tiles.csv of an H100 in
    /// results/ says, and such that the best one is chosen at all its sizes. 1 if there is only one.
    pub speed: f64,
    /// The text of the committed PTX beside it, `kernel_hopper.128x256.ptx`.
    pub ptx: &'a str,
    /// What it is compiled for: `sm_80` or `sm_90a`.
    pub arch: &'a str,
}

/// What the end of a block's last tile costs, as a part of a tile: rung 06 at 2048, where one round of 128x256 is
/// slower than two of 128x128.
const LAST_TILE: f64 = 0.2;

/// What a multiprocessor computes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    /// Rows and columns of a tile of C.
    tile: [u32; 2],
    /// Tiles, one to each block.
    blocks: u32,
    /// Blocks of a cluster, whose tiles lie one above the other.
    cluster: u32,
}

impl KernelFile<'_> {
    /// As its PTX says it; if there is none yet, as the configuration does.
    fn share(&self) -> Option<Share> {
        let of_ptx = || {
            let module = Module::parse(self.ptx).ok()?;
            let launch = Launch::of(&module).ok()?;
            let blocks = match launch.resident {
                0 => module.min_blocks(ENTRY).unwrap_or(1).max(1),
                resident => resident,
            };
            let tile = [launch.tile.bm, launch.tile.bn];
            let cluster = launch.cluster.max(1);
            Some(Share {
                tile,
                blocks,
                cluster,
            })
        };
        let of_configuration = || {
            let (m, n) = self.configuration.split_once('x')?;
            let tile = [m.parse().ok()?, n.parse().ok()?];
            Some(Share {
                tile,
                blocks: 1,
                cluster: 1,
            })
        };
        of_ptx().or_else(of_configuration)
    }

    /// The block's tile of C, such as `128x256`, as `--tile` names it.
    pub(crate) fn tile(&self) -> String {
        match self.share() {
            _ if !self.configuration.is_empty() => self.configuration.to_owned(),
            Some(Share { tile: [m, n], .. }) => format!("{m}x{n}"),
            None => String::new(),
        }
    }

    /// How long this configuration takes beside others, in elements of C: the tiles that some multiprocessor
    /// has to compute one after the other, and the end of the last one, which no next tile hides.
    pub(crate) fn cost(&self, size: Size, multiprocessors: u32) -> f64 {
        let Some(Share {
            tile,
            blocks,
            cluster,
        }) = self.share()
        else {
            return 0.0;
        };
        let [m, n] = tile.map(|side| side.max(1));
        let rows = u64::from(size.m.div_ceil(m)).next_multiple_of(cluster.into());
        let tiles = rows * u64::from(size.n.div_ceil(n));
        let at_once = u64::from(multiprocessors.max(1)) * u64::from(blocks);
        let rounds = tiles.div_ceil(at_once) as f64;
        let round = f64::from(blocks) * f64::from(m) * f64::from(n);
        (rounds + LAST_TILE) * round / self.speed
    }
}

impl Rung {
    /// The configurations of a kernel's file.
    pub(crate) fn configurations(
        &self,
        file: &str,
    ) -> impl Iterator<Item = &KernelFile<'static>> + Clone {
        self.kernels
            .iter()
            .filter(move |kernel| kernel.file == file)
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

    #[test]
    fn two_blocks_compute_at_once_and_a_cluster_has_whole_tiles() {
        let ptx = |blocks: u32, cluster: u32| {
            let ints = [128, 192, 32, 128, 81920, cluster]
                .map(u32::to_le_bytes)
                .concat();
            let bytes: Vec<_> = ints.iter().map(u8::to_string).collect();
            format!(
                ".version 8.0\n.target sm_80\n.address_size 64\n\
                 .const .align 4 .b8 gemm_launch[24] = {{{}}};\n\
                 .visible .entry gemm() .minnctapersm {blocks} {{ ret; }}\n",
                bytes.join(", ")
            )
        };
        let share = |blocks, cluster, size| {
            let ptx = ptx(blocks, cluster);
            let kernel = KernelFile {
                file: "kernel.cu",
                source: "",
                configuration: "",
                speed: 1.0,
                ptx: &ptx,
                arch: "sm_80",
            };
            assert_eq!(kernel.tile(), "128x192");
            kernel.cost(size, 132) / f64::from(128 * 192)
        };
        let is = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-9, "{share}");
        // 704 tiles: 6 rounds of 132, or 3 of 264.
        is(share(1, 1, Size::cube(4096)), 6.0 + LAST_TILE);
        is(share(2, 1, Size::cube(4096)), 2.0 * (3.0 + LAST_TILE));
        // One row of 132 tiles: a cluster of two has another, empty one below it.
        let flat = Size {
            m: 128,
            n: 132 * 192,
            k: 64,
        };
        is(share(1, 1, flat), 1.0 + LAST_TILE);
        is(share(1, 2, flat), 2.0 + LAST_TILE);
    }
}
