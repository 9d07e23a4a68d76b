//! How many blocks an SM holds: limited by threads, shared memory, and registers if ptxas is found.
use emulator::LaunchConfig;
use harness::occupancy::Sm;

use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_VALUE};
use crate::host::{In, Out};
use crate::launch::{Config, with_attributes};
use crate::state::{State, with_context};
use crate::table::Handle;

impl State {
    fn blocks_per_sm(
        &mut self,
        kernel: Handle,
        threads: i32,
        dynamic: usize,
    ) -> Result<u32, Fault> {
        let registers = self.registers(kernel)?;
        let card = self.gpu.card();
        let known = self.kernel(kernel)?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0);
        let threads = threads.ok_or(Fault::silent(INVALID_VALUE))?;
        let shared = u64::from(known.function.static_shared()).saturating_add(dynamic as u64);
        let most = known.function.max_threads().unwrap_or(1024);
        if u64::from(threads) > most || shared > card.shared_of_a_block().into() {
            return Ok(0);
        }
        let sm = Sm::new(card.compute_capability(), card.shared_of_a_block());
        Ok(sm.holds(threads, registers, shared as u32).blocks)
    }

    /// The block size that keeps most of an SM's threads resident, and the number of blocks that fills the device.
    fn potential(
        &mut self,
        kernel: Handle,
        dynamic: usize,
        limit: i32,
    ) -> Result<(i32, i32), Fault> {
        let most = self.kernel(kernel)?.function.max_threads().unwrap_or(1024);
        let most = match limit {
            0 => most,
            _ => most.min(u64::try_from(limit).unwrap_or(most)),
        };
        let sms = self.gpu.card().sms();
        let mut best = (0, 0, 0);
        for threads in (32..=most.max(32))
            .rev()
            .filter(|threads| threads % 32 == 0)
        {
            let blocks = self.blocks_per_sm(kernel, threads as i32, dynamic)?;
            let resident = u64::from(blocks) * threads;
            if resident > best.0 {
                best = (resident, threads as i32, (blocks * sms) as i32);
            }
        }
        Ok((best.2, best.1))
    }
}

/// Clusters of a launch that the device holds at a time, from the blocks per SM and the number of SMs.
fn clusters(state: &mut State, kernel: Handle, config: &LaunchConfig) -> Result<i32, Fault> {
    let wrong = Fault::silent(INVALID_VALUE);
    let threads = product(config.block).and_then(|threads| i32::try_from(threads).ok());
    let threads = threads.ok_or(wrong.clone())?;
    let blocks = state.blocks_per_sm(kernel, threads, config.dynamic_shared as usize)?;
    let of_kernel = state.kernel(kernel)?.cluster;
    let cluster = match config.cluster == [1; 3] && !of_kernel.contains(&0) {
        true => of_kernel,
        false => config.cluster,
    };
    let size = product(cluster).ok_or(wrong)?;
    let held = blocks * state.gpu.card().sms();
    Ok((held / size.max(1)) as i32)
}

/// None on overflow.
fn product([x, y, z]: [u32; 3]) -> Option<u32> {
    x.checked_mul(y)?.checked_mul(z)
}

fn blocks(out: Out<i32>, kernel: Handle, threads: i32, dynamic: usize) -> Answer {
    with_context(|state, _| {
        out.check()?;
        out.put(state.blocks_per_sm(kernel, threads, dynamic)? as i32)
    })
}

/// `CUoccupancyB2DSize`: a callback that maps a block size to its dynamic shared memory.
type SharedOfBlock = usize;

fn potential(
    grid: Out<i32>,
    block: Out<i32>,
    kernel: Handle,
    shared: SharedOfBlock,
    dynamic: usize,
    limit: i32,
) -> Answer {
    if shared != 0 {
        return Err(Fault::of(
            crate::error::NOT_SUPPORTED,
            "shared memory that depends on the block size is not supported; pass a number of bytes",
        ));
    }
    with_context(|state, _| {
        grid.check()?;
        let found = state.potential(kernel, dynamic, limit)?;
        grid.put(found.0)?;
        block.put(found.1)
    })
}

entry_points! {
    /// Resident blocks per SM.
    6050 fn cuOccupancyMaxActiveBlocksPerMultiprocessor(out: Out<i32>, kernel: Handle, threads: i32, dynamic: usize) {
        blocks(out, kernel, threads, dynamic)
    }
    /// As above.
    7000 fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        out: Out<i32>, kernel: Handle, threads: i32, dynamic: usize, _flags: u32,
    ) {
        blocks(out, kernel, threads, dynamic)
    }
    /// The block size with the highest occupancy, and the grid that fills the device.
    6050 fn cuOccupancyMaxPotentialBlockSize(
        grid: Out<i32>, block: Out<i32>, kernel: Handle, shared: SharedOfBlock, dynamic: usize, limit: i32,
    ) {
        potential(grid, block, kernel, shared, dynamic, limit)
    }
    /// As above.
    7000 fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<i32>, block: Out<i32>, kernel: Handle, shared: SharedOfBlock, dynamic: usize, limit: i32, _flags: u32,
    ) {
        potential(grid, block, kernel, shared, dynamic, limit)
    }
    /// The most dynamic shared memory with which an SM holds this many blocks.
    10020 fn cuOccupancyAvailableDynamicSMemPerBlock(out: Out<usize>, kernel: Handle, blocks: i32, threads: i32) {
        with_context(|state, _| {
            out.check()?;
            let wanted = u32::try_from(blocks).ok().filter(|&blocks| blocks > 0);
            let wanted = wanted.ok_or(Fault::silent(INVALID_VALUE))?;
            let most = state.gpu.card().shared_of_a_block() as usize;
            let mut fits = 0;
            for bytes in (0..=most).step_by(128) {
                if state.blocks_per_sm(kernel, threads, bytes)? < wanted {
                    break;
                }
                fits = bytes;
            }
            out.put(fits)
        })
    }
    /// Clusters that the device holds at a time.
    11070 fn cuOccupancyMaxActiveClusters(out: Out<i32>, kernel: Handle, config: In<Config>) {
        let config = with_attributes(&config.get()?)?;
        with_context(|state, _| { out.check()?; out.put(clusters(state, kernel, &config)?) })
    }
    /// The largest cluster that can be launched: 8, or 16 if the kernel allows it.
    11070 fn cuOccupancyMaxPotentialClusterSize(out: Out<i32>, kernel: Handle, _config: In<Config>) {
        with_context(|state, _| {
            out.check()?;
            out.put(if state.kernel(kernel)?.large_clusters { 16 } else { 8 })
        })
    }
}
