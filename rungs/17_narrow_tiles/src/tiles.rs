//! The kernel's tiles, and the fastest one at each size.
use harness::{KernelFile, Size, kernel};

pub const KERNELS: &[KernelFile] = &[
    kernel!("kernel", "sm_90a", "128x256"),
    kernel!("kernel", "sm_90a", "192x128"),
    kernel!("kernel", "sm_90a", "128x128"),
    kernel!("kernel", "sm_90a", "64x128"),
    kernel!("kernel", "sm_90a", "64x64"),
];

/// The fastest tile, by the number of 128x128 tiles in C: each row gives the largest number that it covers. Small
/// tiles fill 132 SMs if C is small; large ones reuse more of A and B; in between, the partial last wave decides. The
/// rows follow the times in results/h200/tiles.csv, and `cargo ladder tiles --check` compares them with every record
/// of these tiles.
const FASTEST: &[(u64, &str)] = &[
    (25, "64x64"),
    (64, "64x128"),
    (144, "192x128"),
    (400, "128x128"),
    (512, "128x256"),
    (576, "192x128"),
];

/// The tile at this size; the last row covers all larger sizes.
pub fn fastest(size: Size) -> &'static str {
    let tiles = u64::from(size.m.div_ceil(128)) * u64::from(size.n.div_ceil(128));
    let row = FASTEST.iter().find(|(most, _)| tiles <= *most);
    row.map_or("128x256", |(_, tile)| tile)
}
