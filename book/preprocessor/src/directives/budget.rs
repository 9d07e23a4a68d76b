//! `{{#budget 06_pipeline, 08_warp_tile 128x128}}`: the share of an SM's registers and shared memory that a block of
//! these kernels takes, from the committed PTX and machine code.
use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::Directive;
use crate::world::World;

/// The resources of an H100's SM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
const REGISTERS: u32 = 65_536;
const SHARED: u32 = 228 * 1024;
/// Shared memory that the system reserves in each block.
const RESERVED: u32 = 1024;
/// A warp's registers are allocated in units of this many.
const UNIT: u32 = 256;

const HEAD: &str = "| rung | tile | threads | registers of a thread | of a block | of an SM's 65,536 | shared memory of a block, bytes | of an SM's 228 KiB | blocks an SM holds |\n\
                    | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";

/// A committed kernel: the rung and, if it has several tiles, the tile.
struct Kernel {
    rung: String,
    tile: Option<String>,
}

/// Rungs, separated by commas.
pub fn read(words: &str) -> Result<Directive> {
    let kernels: Vec<Kernel> = words.split(',').map(kernel).collect::<Result<_>>()?;
    Ok(Directive::block(move |world, _| {
        let rows: Vec<String> = kernels
            .iter()
            .map(|kernel| kernel.row(world))
            .collect::<Result<_>>()?;
        Ok(HEAD.to_owned() + &rows.concat())
    }))
}

fn kernel(words: &str) -> Result<Kernel> {
    let mut words = words.split_whitespace().map(str::to_owned);
    let rung = words
        .next()
        .context("the words are rungs: `06_pipeline, 08_warp_tile 128x128`")?;
    let tile = words.next();
    ensure!(
        words.next().is_none(),
        "`{rung}` is followed by more than a tile"
    );
    Ok(Kernel { rung, tile })
}

/// The launch that a kernel states, and its registers.
struct Block {
    tile: (u32, u32),
    threads: u32,
    shared: u32,
    registers: u32,
}

impl Kernel {
    fn row(&self, world: &World) -> Result<String> {
        let file = |ending: &str| {
            let tile = self.tile.iter().map(|tile| format!(".{tile}"));
            let tile: String = tile.collect();
            format!("rungs/{}/kernel{tile}.{ending}", self.rung)
        };
        let (ptx, sass) = (file("ptx"), file("sass"));
        let block = block(&world.read(&ptx)?, &world.read(&sass)?);
        Ok(block
            .with_context(|| format!("{ptx}, {sass}"))?
            .row(&self.rung))
    }
}

fn block(ptx: &str, sass: &str) -> Result<Block> {
    let one = |text: &str, pattern: &str| -> Result<String> {
        let found = Regex::new(pattern)?.captures(text);
        let found = found.with_context(|| format!("nothing matches {pattern}"))?;
        Ok(found[1].to_owned())
    };
    let bytes = one(ptx, r"gemm_launch\[\d+\] = \{([\d, ]+)\}")?;
    let mut bytes: Vec<u8> = bytes
        .split(", ")
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    // The compiler omits zeros at the end.
    bytes.resize(bytes.len().next_multiple_of(4).max(20), 0);
    let numbers: Vec<u32> = bytes
        .chunks_exact(4)
        .map(|of| u32::from_le_bytes([of[0], of[1], of[2], of[3]]))
        .collect();
    // Its static arrays; PTX does not round their sizes up.
    let fixed = Regex::new(r"\.shared \.align \d+ \.b8 \w+\[(\d+)\]")?;
    let fixed = fixed.captures_iter(ptx).try_fold(0u32, |sum, found| {
        anyhow::Ok(sum.saturating_add(found[1].parse()?))
    })?;
    let block = Block {
        tile: (numbers[0], numbers[1]),
        threads: numbers[3],
        shared: numbers[4].saturating_add(fixed),
        registers: one(sass, r"(?m)^registers (\d+)$")?.parse()?,
    };
    ensure!(
        block.threads <= 1024 && block.registers <= 255 && block.shared <= SHARED,
        "a block of {} threads with {} registers each and {} bytes of shared memory fits on no SM",
        block.threads,
        block.registers,
        block.shared
    );
    Ok(block)
}

impl Block {
    fn all_registers(&self) -> u32 {
        (self.registers * 32).next_multiple_of(UNIT) * self.threads.div_ceil(32)
    }

    fn all_shared(&self) -> u32 {
        self.shared.next_multiple_of(128) + RESERVED
    }

    fn row(&self, rung: &str) -> String {
        let percent = |part: u32, of: u32| (f64::from(part) * 100.0 / f64::from(of)).round();
        let (registers, shared) = (self.all_registers(), self.all_shared());
        let (by_registers, by_shared) = (REGISTERS / registers.max(1), SHARED / shared);
        let limit = match by_registers.cmp(&by_shared) {
            std::cmp::Ordering::Less => "registers",
            std::cmp::Ordering::Equal => "both",
            std::cmp::Ordering::Greater => "shared memory",
        };
        format!(
            "| {rung} | {}x{} | {} | {} | {} | {}% | {} | {}% | {}, by {limit} |\n",
            self.tile.0,
            self.tile.1,
            self.threads,
            self.registers,
            thousands(registers),
            percent(registers, REGISTERS),
            thousands(self.shared),
            percent(shared, SHARED),
            by_registers.min(by_shared),
        )
    }
}

/// 65536 as 65,536.
fn thousands(number: u32) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{},{:03}", thousands(number / 1000), number % 1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".const .align 4 .b8 gemm_launch[24] = {128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 0, 128, 1, 0, 1};\n\
                       .extern .shared .align 128 .b8 tiles[];\n";

    #[test]
    fn shared_memory_and_registers_limit() {
        let one = block(PTX, "registers 236\n").expect("both are read");
        assert_eq!(
            (one.tile, one.threads, one.shared),
            ((128, 128), 128, 98_304)
        );
        // 236 registers of 32 lanes are 7,552, and 7,680 are allocated.
        assert_eq!((one.all_registers(), one.all_shared()), (30_720, 99_328));
        assert_eq!(
            one.row("06"),
            "| 06 | 128x128 | 128 | 236 | 30,720 | 47% | 98,304 | 43% | 2, by both |\n"
        );
        let fixed = PTX.to_owned() + ".shared .align 16 .b8 tile[8192];\n";
        assert_eq!(
            block(&fixed, "registers 32\n").expect("read").shared,
            106_496
        );
    }

    #[test]
    fn what_is_missing_is_named() {
        let why = block(PTX, "").err().expect("no registers").to_string();
        assert!(why.contains("registers"), "{why}");
        assert!(block("", "registers 2\n").is_err());
        assert!(block(PTX, "registers 256\n").is_err());
        assert!(read("").is_err() && read("06_pipeline 1x1 x").is_err());
    }
}
