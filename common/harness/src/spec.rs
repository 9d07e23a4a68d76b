//! The launch that a kernel states, in constants that its PTX keeps: `gemm_launch`, and `gemm_boxes` for a kernel
//! that copies tiles by TMA.
use emulator::{Ptx, Swizzle};

use crate::{Size, Tile};

const LAUNCH: &str = "gemm_launch";
pub(crate) const BOXES: &str = "gemm_boxes";

/// A launch, as the kernel states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchSpec {
    /// The tile that one block computes at a time.
    pub tile: Tile,
    /// The sides of the problem are rounded up to multiples of this: whole tiles; with TMA, which knows where a
    /// matrix ends, only rows of whole 16 bytes (CUDA Driver API, `cuTensorMapEncodeTiled`: strides).
    pub whole: Tile,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// CTAs of a cluster.
    pub cluster: u32,
    /// Persistent CTAs of an SM, each of which computes one tile after the other; 0: a CTA for each tile.
    pub persistent_per_sm: u32,
    /// Whether persistent CTAs split the partial last wave of tiles along K (stream-K).
    pub stream_k: bool,
    /// For each of A, B and C, the box that TMA copies at a time; such a kernel takes tensor maps in place of
    /// pointers.
    pub boxes: Option<[TensorBox; 3]>,
}

/// The box that TMA copies at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorBox {
    /// Elements of a row of the box, contiguous in memory.
    pub columns: u32,
    /// Rows of the box.
    pub rows: u32,
    /// Its swizzle in shared memory.
    pub swizzle: Swizzle,
}

/// Why a launch cannot be read from PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpecError {
    /// A constant is missing or has another shape.
    Missing(String),
    /// A number that no GPU allows.
    Bad(String),
}

impl LaunchSpec {
    /// Reads the launch from a module.
    pub fn of(module: &Ptx) -> Result<Self, SpecError> {
        let numbers = ints(module, LAUNCH)?.ok_or_else(|| {
            SpecError::Missing(format!("it has no initialized constant `{LAUNCH}`"))
        })?;
        if !(6..=8).contains(&numbers.len()) {
            let bytes = 4 * numbers.len();
            return Err(SpecError::Missing(format!(
                "its `{LAUNCH}` has {bytes} bytes, expected 6 to 8 ints, which are 24 to 32 bytes"
            )));
        }
        let at = |i: usize| numbers.get(i).copied().unwrap_or(0);
        let six = [0, 1, 2, 3, 4, 5].map(at);
        let (persistent_per_sm, stream_k) = (at(6), at(7));
        check(six, persistent_per_sm, stream_k).map_err(SpecError::Bad)?;
        let [bm, bn, bk, threads, dynamic_shared, cluster] = six.map(i32::unsigned_abs);
        let tile = Tile { bm, bn, bk };
        let boxes = boxes(module)?;
        Ok(Self {
            tile,
            whole: match boxes {
                None => tile,
                Some(_) => Tile {
                    bm: 1,
                    bn: 8,
                    bk: 8,
                },
            },
            threads,
            dynamic_shared,
            cluster,
            persistent_per_sm: persistent_per_sm.unsigned_abs(),
            stream_k: stream_k != 0,
            boxes,
        })
    }

    /// The number of tiles of C, rounded up to whole clusters, whose tiles are stacked along M.
    pub fn tiles(&self, size: Size) -> u64 {
        let Tile { bm, bn, .. } = self.tile;
        let rows = u64::from(size.m.div_ceil(bm)).next_multiple_of(self.cluster.into());
        rows * u64::from(size.n.div_ceil(bn))
    }

    /// The number of blocks to launch, numbered along x; the kernel maps blocks to tiles. One for each tile of C;
    /// with persistent blocks, at most as many as are resident on `sms` SMs.
    pub fn blocks(&self, padded: Size, sms: u32) -> u32 {
        let tiles = u32::try_from(self.tiles(padded)).unwrap_or(u32::MAX);
        match sms * self.persistent_per_sm / self.cluster * self.cluster {
            0 => tiles,
            resident => tiles.min(resident),
        }
    }
}

/// An initialized array of ints of this name, if there is one.
pub(crate) fn ints(module: &Ptx, name: &str) -> Result<Option<Vec<i32>>, SpecError> {
    let Some(bytes) = module.variable(name) else {
        return Ok(None);
    };
    let (ints, []) = bytes.as_chunks::<4>() else {
        return Err(SpecError::Missing(format!(
            "its `{name}` has {} bytes, which is not a whole number of 4-byte ints",
            bytes.len()
        )));
    };
    Ok(Some(
        ints.iter().map(|&int| i32::from_le_bytes(int)).collect(),
    ))
}

fn boxes(module: &Ptx) -> Result<Option<[TensorBox; 3]>, SpecError> {
    let Some(numbers) = ints(module, BOXES)? else {
        return Ok(None);
    };
    let (boxes, []) = numbers.as_chunks::<3>() else {
        return Err(SpecError::Missing(format!(
            "its `{BOXES}` has {} ints, expected 9",
            numbers.len()
        )));
    };
    let &[a, b, c] = boxes else {
        return Err(SpecError::Missing(format!(
            "its `{BOXES}` has {} ints, expected 9",
            numbers.len()
        )));
    };
    let read = |[columns, rows, swizzle]: [i32; 3]| -> std::result::Result<TensorBox, String> {
        within("columns", columns, 1, 256)?;
        within("rows", rows, 1, 256)?;
        let swizzle = u32::try_from(swizzle)
            .ok()
            .and_then(Swizzle::of_width)
            .ok_or_else(|| format!("swizzle = {swizzle}; it can be 0, 32, 64 or 128 bytes"))?;
        let [columns, rows] = [columns, rows].map(i32::unsigned_abs);
        Ok(TensorBox {
            columns,
            rows,
            swizzle,
        })
    };
    let all = [read(a), read(b), read(c)];
    let [Ok(a), Ok(b), Ok(c)] = all else {
        let why = all.into_iter().find_map(Result::err).unwrap_or_default();
        return Err(SpecError::Bad(format!("a box with {why}")));
    };
    Ok(Some([a, b, c]))
}

/// The limits of the CUDA C++ Programming Guide for any GPU, with compute capability 9.0's 227 KiB of shared memory.
fn check(launch: [i32; 6], persistent_per_sm: i32, stream_k: i32) -> Result<(), String> {
    let [bm, bn, bk, threads, dynamic_shared, cluster] = launch;
    within("BM", bm, 1, 65536)?;
    within("BN", bn, 1, 65536)?;
    within("BK", bk, 1, 65536)?;
    within("threads", threads, 1, 1024)?;
    within("dynamic shared bytes", dynamic_shared, 0, 227 * 1024)?;
    within("cluster", cluster, 1, 16)?;
    within("persistent blocks of an SM", persistent_per_sm, 0, 32)?;
    within("stream-K", stream_k, 0, 1)?;
    if stream_k == 1 && persistent_per_sm == 0 {
        return Err(
            "stream-K = 1, which requires persistent blocks, but persistent blocks of an SM = 0; they can be 1 to 32"
                .into(),
        );
    }
    Ok(())
}

pub(crate) fn within(name: &str, value: i32, low: i32, high: i32) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!("{name} = {value}; it can be {low} to {high}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_no_gpu_allows_is_named() {
        let good = [128, 128, 8, 256, 0, 1];
        assert_eq!(check(good, 0, 0), Ok(()));
        for (index, bad, word) in [
            (0, 0, "BM"),
            (1, -1, "BN"),
            (2, 0, "BK"),
            (3, 1025, "threads"),
            (4, 1 << 20, "shared"),
            (5, 0, "cluster"),
        ] {
            let mut launch = good;
            launch[index] = bad;
            assert!(
                check(launch, 0, 0).is_err_and(|why| why.contains(word)),
                "{launch:?}"
            );
        }
        assert!(check(good, -1, 0).is_err_and(|why| why.contains("of an SM")));
        assert!(check(good, 1, 2).is_err_and(|why| why.contains("stream-K = 2")));
        assert_eq!(check(good, 1, 1), Ok(()));
        assert!(check(good, 0, 1).is_err_and(|why| why.contains("requires persistent blocks")));
    }

    #[test]
    fn a_constant_that_is_not_whole_ints_is_refused() {
        let ints = [128, 256, 64, 384, 1024, 2, 1, 1_i32];
        let launch: Vec<u8> = ints.iter().flat_map(|int| int.to_le_bytes()).collect();
        let ptx = |bytes: usize| module(&of_bytes(LAUNCH, &launch[..bytes]));
        for bytes in [24, 28, 32] {
            assert!(LaunchSpec::of(&ptx(bytes)).is_ok(), "{bytes}");
        }
        for bytes in [23, 25, 31] {
            let Err(SpecError::Missing(why)) = LaunchSpec::of(&ptx(bytes)) else {
                panic!("{bytes} bytes were accepted")
            };
            assert!(why.contains(&format!("has {bytes} bytes")), "{why}");
        }
        let boxes = of_bytes(LAUNCH, &launch) + &of_bytes(BOXES, &[64; 35]);
        assert!(LaunchSpec::of(&module(&boxes)).is_err());
    }

    fn module(constants: &str) -> Ptx {
        let ptx = format!(".version 8.0\n.target sm_90a\n.address_size 64\n{constants}");
        Ptx::parse(&ptx).expect("PTX")
    }

    fn constant(name: &str, ints: &[i32]) -> String {
        let bytes: Vec<u8> = ints.iter().flat_map(|int| int.to_le_bytes()).collect();
        of_bytes(name, &bytes)
    }

    fn of_bytes(name: &str, bytes: &[u8]) -> String {
        format!(
            ".const .align 4 .b8 {name}[{}] = {{{}}};\n",
            bytes.len(),
            format!("{bytes:?}").trim_matches(['[', ']'])
        )
    }

    #[test]
    fn a_resident_grid_fills_the_card_with_whole_clusters() {
        let launch = LaunchSpec::of(&module(&constant(LAUNCH, &[128, 256, 64, 384, 1024, 2, 1])))
            .expect("a launch");
        let grid = |m, n, sms| launch.blocks(Size { m, n, k: 8 }, sms);
        assert_eq!(grid(4096, 4096, 132), 132);
        assert_eq!(grid(4096, 4096, 131), 130);
        // 3 x 1 tiles, the third with an empty one below it in its cluster.
        assert_eq!(grid(300, 200, 132), 4);
        // 1 x 3 tiles, each with an empty one below it.
        assert_eq!(grid(128, 768, 132), 6);
        assert_eq!(launch.whole, launch.tile);
    }

    #[test]
    fn boxes_are_read_and_checked() {
        let launch = constant(LAUNCH, &[128, 256, 64, 384, 1024, 2, 1]);
        let with =
            |boxes: &[i32]| LaunchSpec::of(&module(&(launch.clone() + &constant(BOXES, boxes))));
        let good = with(&[64, 128, 128, 64, 64, 64, 64, 64, 0]).expect("boxes");
        let boxes = good
            .boxes
            .expect("boxes")
            .map(|b| (b.columns, b.rows, b.swizzle));
        assert_eq!(
            boxes,
            [
                (64, 128, Swizzle::B128),
                (64, 64, Swizzle::B64),
                (64, 64, Swizzle::None)
            ]
        );
        assert_eq!(
            good.whole,
            Tile {
                bm: 1,
                bn: 8,
                bk: 8
            }
        );
        for (bad, word) in [
            (vec![64; 8], "8 ints"),
            (vec![64; 12], "12 ints"),
            (vec![64, 257, 128, 64, 64, 128, 64, 64, 128], "rows = 257"),
            (vec![64, 64, 128, 64, 64, 100, 64, 64, 128], "swizzle = 100"),
        ] {
            let (SpecError::Missing(why) | SpecError::Bad(why)) =
                with(&bad).expect_err("bad boxes");
            assert!(why.contains(word), "{why}");
        }
    }
}
