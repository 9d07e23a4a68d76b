//! Copies a tile of a matrix by TMA: a tensor map that the host encodes, and an mbarrier that signals when the tile
//! has arrived. Part of the tile is outside the matrix and reads as zeros.
use emulator::{
    Context, Element, Error, Fill, KernelArg, LaunchConfig, Options, Swizzle, TensorMap,
};

/// The matrix: rows of 16-bit elements.
const ROWS: usize = 20;
const COLUMNS: usize = 40;
/// The tile that the kernel copies.
const TILE: [usize; 2] = [32, 8];
/// Its first column and row.
const FIRST: [usize; 2] = [16, 15];

/// `cargo run -p emulator --example tma_copy`
pub fn main() -> Result<(), Error> {
    let mut context = Context::new(Options {
        sanitize: true,
        ..Options::default()
    });
    let module = context.load_module(include_str!("tma_copy.ptx"))?;
    let tma_copy = module.function("tma_copy")?;

    let element = |row: usize, column: usize| (100 * row + column) as u16;
    let matrix: Vec<u8> = (0..ROWS * COLUMNS)
        .flat_map(|i| element(i / COLUMNS, i % COLUMNS).to_le_bytes())
        .collect();
    let matrix = context.upload("matrix", &matrix)?;
    let out = context.alloc("out", 2 * TILE[0] * TILE[1])?;
    // Lists begin with the innermost dimension, as for cuTensorMapEncodeTiled.
    let map = context.tensor_map(
        &matrix,
        &TensorMap {
            element: Element::U16,
            dimensions: &[COLUMNS as u64, ROWS as u64],
            strides: &[2 * COLUMNS as u64],
            tile: &TILE.map(|side| side as u32),
            element_strides: &[],
            swizzle: Swizzle::None,
            fill: Fill::Zeros,
        },
    )?;

    let config = LaunchConfig {
        block: [128, 1, 1],
        ..LaunchConfig::default()
    };
    let args = [
        KernelArg::Bytes(&map),
        KernelArg::Buffer(&out),
        KernelArg::U32(FIRST[0] as u32),
        KernelArg::U32(FIRST[1] as u32),
    ];
    let report = context.launch(&tma_copy, &config, &args)?;
    assert_eq!(report.findings, []);

    let expected: Vec<u8> = (0..TILE[0] * TILE[1])
        .map(|i| (FIRST[1] + i / TILE[0], FIRST[0] + i % TILE[0]))
        .map(|(row, column)| match row < ROWS && column < COLUMNS {
            true => element(row, column),
            false => 0,
        })
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(context.read(&out)?, expected);

    for (instruction, counters) in tma_copy.instructions().iter().zip(&report.counters) {
        if counters.bytes > 0 {
            println!("{:5} bytes  {}", counters.bytes, instruction.text);
        }
    }
    for wait in &report.waits {
        let text = &tma_copy.instructions()[wait.instruction].text;
        println!("{:5} waits  {text}", wait.times);
    }
    Ok(())
}
