//! The matrices to multiply: A and B, made from a seed.
//!
//! The generator uses integers only, so A and B have the same bits on every platform. An element depends on its row
//! and column, not on the padding.
use half::f16;
use sha2::{Digest, Sha256};

use crate::parallel::*;
use crate::{Size, Tile, Values, values};

/// A problem too large for `int` indices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a size of {size} is too large: padded to whole tiles, {matrix} is {rows} x {cols}, and at most 2147483647 elements are allowed; take a smaller size"
)]
pub struct TooLarge {
    /// The requested size.
    pub size: Size,
    /// `A`, `B` or `C`.
    pub matrix: char,
    /// Rows after padding.
    pub rows: u64,
    /// Columns after padding.
    pub cols: u64,
}

/// C = A B, with A and B padded with zeros to whole tiles.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The requested size.
    pub size: Size,
    /// The size that the kernel computes: `size` rounded up to whole tiles.
    pub padded: Size,
    /// The kind of numbers.
    pub seed: u64,
    /// A, `padded.m` x `padded.k`, row-major.
    pub a: Vec<f16>,
    /// B, `padded.k` x `padded.n`, row-major.
    pub b: Vec<f16>,
}

impl Problem {
    /// The problem of this size for a kernel with this tile.
    ///
    /// # Errors
    /// If a matrix has more elements than an `int` can index.
    pub fn new(size: Size, tile: Tile, seed: u64) -> Result<Self, TooLarge> {
        Self::with_values(size, tile, seed, Values::Random)
    }

    /// The same with other numbers.
    ///
    /// # Errors
    /// If a matrix has more elements than an `int` can index.
    pub fn with_values(
        size: Size,
        tile: Tile,
        seed: u64,
        values: Values,
    ) -> Result<Self, TooLarge> {
        let padded = pad(size, tile)?;
        let Size { m, n, k } = size;
        let matrix = |id, size, padded: [u32; 2]| match values {
            Values::Zero => vec![f16::ZERO; padded.map(|n| n as usize).iter().product()],
            _ => matrix(seed, id, size, padded),
        };
        let mut a = matrix(0, [m, k], [padded.m, padded.k]);
        let mut b = matrix(1, [k, n], [padded.k, padded.n]);
        values::fill(values, seed, &mut a, [m, k, padded.k], 0);
        let first = u64::from(m) * u64::from(k);
        values::fill(values, seed, &mut b, [k, n, padded.n], first);
        Ok(Self {
            size,
            padded,
            seed,
            a,
            b,
        })
    }

    /// SHA-256 of C as M x N row-major little-endian f16, without padding.
    pub fn c_sha256(&self, c: &[f16]) -> String {
        let mut hash = Sha256::new();
        for row in c
            .chunks_exact(self.padded.n as usize)
            .take(self.size.m as usize)
        {
            hash.update(to_bytes(&row[..self.size.n as usize]));
        }
        hex(&hash.finalize())
    }
}

/// Rounds a size up to whole tiles; fails if an operand would be too large for `int` indices.
pub fn pad(size: Size, tile: Tile) -> Result<Size, TooLarge> {
    let up = |n: u32, tile: u32| u64::from(n).div_ceil(u64::from(tile)) * u64::from(tile);
    let (m, n, k) = (
        up(size.m, tile.bm),
        up(size.n, tile.bn),
        up(size.k, tile.bk),
    );
    for (matrix, rows, cols) in [('A', m, k), ('B', k, n), ('C', m, n)] {
        if u128::from(rows) * u128::from(cols) > i32::MAX as u128 {
            return Err(TooLarge {
                size,
                matrix,
                rows,
                cols,
            });
        }
    }
    // Both factors of a product of at least 1 that fits into an i32 fit into a u32.
    Ok(Size {
        m: m as u32,
        n: n as u32,
        k: k as u32,
    })
}

/// A `rows` x `columns` matrix of roughly normal values; `which` distinguishes the matrices of one seed.
pub fn random_matrix(seed: u64, which: u64, rows: u32, columns: u32) -> Vec<f16> {
    matrix(seed, which, [rows, columns], [rows, columns])
}

/// The values' bytes in the GPU's byte order: little-endian.
pub fn to_bytes(values: &[f16]) -> Vec<u8> {
    let mut bytes = vec![0; 2 * values.len()];
    bytes
        .par_chunks_exact_mut(2)
        .with_min_len(1 << 16)
        .zip(values.par_iter())
        .for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_le_bytes()));
    bytes
}

/// The inverse of [`to_bytes`].
pub fn from_bytes(bytes: &[u8]) -> Vec<f16> {
    bytes
        .par_chunks_exact(2)
        .with_min_len(1 << 16)
        .map(|b| f16::from_le_bytes([b[0], b[1]]))
        .collect()
}

/// `bytes` in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn matrix(seed: u64, id: u64, size: [u32; 2], padded: [u32; 2]) -> Vec<f16> {
    let [rows, cols] = size.map(|n| n as usize);
    let [padded_rows, padded_cols] = padded.map(|n| n as usize);
    let mut values = vec![f16::ZERO; padded_rows * padded_cols];
    values
        .par_chunks_exact_mut(padded_cols)
        .take(rows)
        .enumerate()
        .for_each(|(row, values)| {
            let key = row_key(seed, id, row as u64);
            for (col, value) in values[..cols].iter_mut().enumerate() {
                *value = element(key, col as u64);
            }
        });
    values
}

fn row_key(seed: u64, id: u64, row: u64) -> u64 {
    splitmix64(splitmix64(splitmix64(seed) ^ id) ^ row)
}

/// Roughly normal: the sum of four uniform 16-bit numbers minus its mean, in units of 2^-15. The standard deviation
/// is 2 / sqrt(3), the largest magnitude 4.
fn element(row_key: u64, col: u64) -> f16 {
    let bits = splitmix64(row_key ^ col);
    let sum = (0..4)
        .map(|i| (bits >> (16 * i)) as i32 & 0xffff)
        .sum::<i32>();
    let centered = sum - 2 * 0xffff;
    f16::from_f32_const(centered as f32 / 32768.0)
}

/// One step of splitmix64 (Steele, Lea and Flood 2014): a bijection whose output looks random.
pub fn splitmix64(counter: u64) -> u64 {
    let mut z = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A different random number for each `index`, for sampling.
pub fn random(seed: u64, index: u64) -> u64 {
    splitmix64(splitmix64(seed ^ 0x5a5a_5a5a) ^ index)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Tile = Tile {
        bm: 8,
        bn: 16,
        bk: 4,
    };

    fn problem(size: Size, seed: u64) -> Problem {
        Problem::new(size, TILE, seed).expect("small enough")
    }

    #[test]
    fn the_same_bits_everywhere() {
        let bits = |values: &[f16]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        let p = problem(Size::cube(16), 0);
        assert_eq!(bits(&p.a[..4]), PINNED_A);
        assert_eq!(bits(&p.b[..4]), PINNED_B);
        assert_eq!(bits(&problem(Size::cube(16), 1).a[..4]), PINNED_SEED_1);
    }
    // Computed by a second implementation, in Python.
    const PINNED_A: [u16; 4] = [0xbde9, 0xc046, 0xb5e7, 0x3b28];
    const PINNED_B: [u16; 4] = [0xb68d, 0xba05, 0x3d4a, 0x3e5f];
    const PINNED_SEED_1: [u16; 4] = [0x3cdd, 0xbf2d, 0xb960, 0x338f];

    #[test]
    fn values_are_roughly_normal() {
        let p = problem(Size::cube(512), 7);
        let n = p.a.len() as f64;
        let mean = p.a.iter().map(|v| v.to_f64()).sum::<f64>() / n;
        let variance = p.a.iter().map(|v| v.to_f64().powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 0.01, "mean {mean}");
        assert!((variance - 4.0 / 3.0).abs() < 0.02, "variance {variance}");
        assert!(p.a.iter().all(|v| v.to_f64().abs() <= 4.0));
    }

    #[test]
    fn padding_is_zero_and_changes_no_element() {
        let small = problem(Size { m: 5, n: 7, k: 3 }, 3);
        assert_eq!(small.padded, Size { m: 8, n: 16, k: 4 });
        let large = problem(Size { m: 8, n: 16, k: 4 }, 3);
        for row in 0..8 {
            for col in 0..4 {
                let expected = if row < 5 && col < 3 {
                    large.a[row * 4 + col]
                } else {
                    f16::ZERO
                };
                assert_eq!(small.a[row * 4 + col], expected, "A[{row}][{col}]");
            }
        }
    }

    #[test]
    fn too_large_is_refused_and_does_not_overflow() {
        let top = i32::MAX as u32;
        for size in [
            Size::cube(top),
            Size { m: 1, n: 1, k: top },
            Size {
                m: 46341,
                n: 46341,
                k: 1,
            },
        ] {
            assert!(matches!(pad(size, TILE), Err(TooLarge { .. })), "{size}");
        }
        assert!(
            pad(
                Size {
                    m: 32768,
                    n: 32768,
                    k: 1
                },
                TILE
            )
            .is_ok()
        );
    }

    #[test]
    fn the_hash_is_of_the_unpadded_c() {
        let p = problem(Size { m: 1, n: 2, k: 1 }, 0);
        let mut c = vec![f16::NAN; p.padded.elements()[2] as usize];
        (c[0], c[1]) = (f16::from_f32(1.0), f16::from_f32(-2.0));
        // printf '\x00\x3c\x00\xc0' | sha256sum
        assert_eq!(p.c_sha256(&c), HASH);
    }
    const HASH: &str = "0c82e2008d4b1c37a2604f1dee0db584daf39b6ab140aaa834d3eac1df0b9458";

    #[test]
    fn bytes_come_back() {
        let p = problem(Size::cube(8), 0);
        assert_eq!(from_bytes(&to_bytes(&p.a)), p.a);
    }
}
