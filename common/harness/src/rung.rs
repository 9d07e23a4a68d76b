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

/// Steps along K that sharing has to spare, or rung 06 does not share (`struct Work` of its kernel for Hopper).
const WORTH_SHARING: u64 = 16;

/// Steps along K that it takes to add up the pieces of shared tiles, by results/attempts.md, 27 and 28. At 8192 sharing
/// spares 64 steps of 1024 clocks and saved 41 thousand clocks, so 24 steps were lost. At 5120 it spares 75 of seven
/// rounds' 560, with the end of the last tile 576, and saved 7.1% of the time, 38 steps, so 37 were lost.
///
/// That is more than the kernel asks for, so by this it loses where it spares 16 to 32, such as at 2560: the host takes
/// another tile there.
const ADDING_UP: f64 = 32.0;

impl KernelFile<'_> {
    /// As its PTX says it, with the blocks that a multiprocessor has at a time.
    fn launch(&self) -> Option<(Launch, u32)> {
        let module = Module::parse(self.ptx).ok()?;
        let launch = Launch::of(&module).ok()?;
        let blocks = match launch.resident {
            0 => module.min_blocks(ENTRY).unwrap_or(1).max(1),
            resident => resident,
        };
        Some((launch, blocks))
    }

    /// The block's tile of C, such as `128x256`, as `--tile` names it.
    pub fn tile(&self) -> String {
        match self.launch() {
            _ if !self.configuration.is_empty() => self.configuration.to_owned(),
            Some((launch, _)) => format!("{}x{}", launch.tile.bm, launch.tile.bn),
            None => String::new(),
        }
    }

    /// How long this configuration takes beside others, in elements of C: the tiles that some multiprocessor
    /// has to compute one after the other, and the end of the last one, which no next tile hides. Infinite if its PTX
    /// does not say.
    pub(crate) fn cost(&self, size: Size, multiprocessors: u32) -> f64 {
        let Some((launch, blocks)) = self.launch() else {
            return f64::INFINITY;
        };
        // Blocks of one multiprocessor take as long as one after the other, and fewer of them less.
        let tiles = launch.tiles(size);
        let multiprocessors = u64::from(multiprocessors.max(1));
        let each = tiles as f64 / multiprocessors as f64;
        let steps = u64::from(size.k.div_ceil(launch.tile.bk));
        let share = (tiles % multiprocessors * steps).div_ceil(multiprocessors);
        // With no more than a tile for each there are no whole rounds that a shared one could follow.
        let sharing = launch.shares && each > 1.0 && share > 0 && steps >= share + WORTH_SHARING;
        let in_turn = match sharing {
            true => each + ADDING_UP / steps as f64,
            false => each.ceil(),
        };
        let tile = f64::from(launch.tile.bm) * f64::from(launch.tile.bn);
        (in_turn + LAST_TILE * f64::from(blocks)) * tile / self.speed
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

    /// What is read of PTX here: the launch, and how many blocks a multiprocessor has.
    fn ptx(launch: &[u32], blocks: u32) -> String {
        let bytes = launch.iter().flat_map(|int| int.to_le_bytes());
        let bytes: Vec<_> = bytes.map(|byte| byte.to_string()).collect();
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n\
             .const .align 4 .b8 gemm_launch[{}] = {{{}}};\n\
             .visible .entry gemm() .minnctapersm {blocks} {{ ret; }}\n",
            bytes.len(),
            bytes.join(", ")
        )
    }

    fn kernel(ptx: &str, speed: f64) -> KernelFile<'_> {
        KernelFile {
            file: "kernel.cu",
            source: "",
            configuration: "",
            speed,
            ptx,
            arch: "sm_80",
        }
    }

    #[test]
    fn a_large_tile_where_there_are_enough_of_them() {
        let of = |m, n| ptx(&[m, n, 64, 384, 0, 1, 1], 1);
        let tiles = [of(128, 256), of(128, 128), of(64, 128)];
        let kernels = [
            kernel(&tiles[0], 1.0),
            kernel(&tiles[1], 0.95),
            kernel(&tiles[2], 0.77),
        ];
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
            assert_eq!(found.map(KernelFile::tile), Some(best.into()), "{size}");
        }
    }

    #[test]
    fn two_blocks_compute_at_once_a_cluster_has_whole_tiles_and_the_last_round_is_shared() {
        let cost = |cluster, shares, blocks, size| {
            // Blocks stay where they share.
            let resident = shares;
            let launch = [128, 192, 32, 128, 81920, cluster, resident, shares];
            let ptx = ptx(&launch, blocks);
            let kernel = kernel(&ptx, 1.0);
            assert_eq!(kernel.tile(), "128x192");
            kernel.cost(size, 132) / f64::from(128 * 192)
        };
        let is = |cost: f64, expected: f64| assert!((cost - expected).abs() < 1e-9, "{cost}");
        // 704 tiles: 6 rounds of 132, or 3 of 264.
        let cube = Size::cube(4096);
        is(cost(1, 0, 1, cube), 6.0 + LAST_TILE);
        is(cost(1, 0, 2, cube), 2.0 * (3.0 + LAST_TILE));
        // Shared, 5 1/3 rounds of 128 steps, and what it takes to add up. Three steps are not worth it: 24 are enough,
        // of which two thirds are spared, and 23 are not.
        is(
            cost(1, 1, 1, cube),
            704.0 / 132.0 + ADDING_UP / 128.0 + LAST_TILE,
        );
        is(cost(1, 1, 1, Size { k: 96, ..cube }), 6.0 + LAST_TILE);
        let shared = 704.0 / 132.0 + ADDING_UP / 24.0;
        is(
            cost(1, 1, 1, Size { k: 24 * 32, ..cube }),
            shared + LAST_TILE,
        );
        is(cost(1, 1, 1, Size { k: 23 * 32, ..cube }), 6.0 + LAST_TILE);
        // One row of 132 tiles: a cluster of two has another, empty one below it.
        let flat = Size {
            m: 128,
            n: 132 * 192,
            k: 64,
        };
        is(cost(1, 0, 1, flat), 1.0 + LAST_TILE);
        is(cost(2, 0, 1, flat), 2.0 + LAST_TILE);
        // One tile is computed by one block, however long it is.
        let single = Size {
            m: 128,
            n: 192,
            k: 65536,
        };
        is(cost(1, 1, 1, single), 1.0 + LAST_TILE);
    }

    #[test]
    fn a_kernel_without_a_launch_is_never_preferred() {
        assert_eq!(kernel("", 1.0).cost(Size::cube(512), 132), f64::INFINITY);
    }
}
