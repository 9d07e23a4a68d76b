//! What a GPU would refuse to launch.
use super::machine::dynamic_start;
use crate::launch::{Arg, Launch, LaunchError, Options};
use crate::program::Program;

/// Limits of an H100 (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
const MAX_THREADS: u64 = 1024;
const MAX_DEPTH: u32 = 64;
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Blocks of a cluster. More than 8 need an attribute of the kernel, which the launch sets.
const MAX_CLUSTER: u64 = 16;

/// A launch that a GPU would take.
pub(super) struct Checked {
    /// As the kernel sees them.
    pub params: Vec<u8>,
    /// Threads of a block.
    pub threads: usize,
    pub blocks: u64,
    /// Blocks of a cluster in x, y and z.
    pub cluster: [u32; 3],
}

/// Checks the launch.
pub(super) fn check(
    program: &Program,
    launch: &Launch,
    options: &Options<'_>,
) -> Result<Checked, LaunchError> {
    let invalid = |message: String| Err(LaunchError::Invalid(message));
    if let Some(why) = options.card.refuses(program) {
        return invalid(why);
    }
    let product = |dims: [u32; 3]| {
        dims.iter()
            .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)))
    };
    let shape = |[x, y, z]: [u32; 3]| format!("{x} x {y} x {z}");
    let (threads, blocks) = (product(launch.block), product(launch.grid));
    if threads == 0 || threads > MAX_THREADS || launch.block[2] > MAX_DEPTH {
        return invalid(format!(
            "a block of {} threads; a GPU takes 1 to {MAX_THREADS}, and no more than {MAX_DEPTH} in z",
            shape(launch.block)
        ));
    }
    if blocks == 0 || launch.grid.iter().zip(MAX_GRID).any(|(&d, max)| d > max) {
        return invalid(format!(
            "a grid of {} blocks; a GPU takes 1 to {}",
            shape(launch.grid),
            shape(MAX_GRID)
        ));
    }
    if let Some(max) = program.max_threads {
        let max = product(max);
        if threads > max {
            return invalid(format!(
                "a block of {threads} threads, but the kernel is compiled for at most {max}; see __launch_bounds__"
            ));
        }
    }
    let cluster = match (program.cluster, launch.cluster) {
        (Some(own), [1, 1, 1]) => own,
        (Some(own), given) if own != given => {
            return invalid(format!(
                "clusters of {} blocks, but the kernel is compiled for {}; see __cluster_dims__",
                shape(given),
                shape(own)
            ));
        }
        (_, given) => given,
    };
    let size = product(cluster);
    if size == 0 || size > MAX_CLUSTER {
        return invalid(format!(
            "clusters of {} blocks; a GPU takes 1 to {MAX_CLUSTER}",
            shape(cluster)
        ));
    }
    if launch.grid.iter().zip(cluster).any(|(&d, c)| d % c != 0) {
        return invalid(format!(
            "a grid of {} blocks is no multiple of clusters of {}",
            shape(launch.grid),
            shape(cluster)
        ));
    }
    if size > 1 && options.card.compute_capability() < (9, 0) {
        return invalid(format!(
            "clusters of {size} blocks, which came with Hopper: emulate an h100"
        ));
    }
    if program.explicit_cluster && size == 1 && program.cluster.is_none() {
        return invalid("the kernel says .explicitcluster, but the launch has no clusters".into());
    }
    if program.max_cluster.is_some_and(|max| size > max.into()) {
        return invalid(format!(
            "clusters of {size} blocks, but the kernel is compiled for at most {}; see .maxclusterrank",
            program.max_cluster.unwrap_or_default()
        ));
    }
    if blocks > options.limits.blocks {
        return invalid(format!(
            "a grid of {blocks} blocks, {} allowed; raise the limit with --max-blocks",
            options.limits.blocks
        ));
    }
    let shared = dynamic_start(program).saturating_add(launch.dynamic_shared);
    let most = options.card.shared_of_a_block();
    if shared > most {
        let card = options.card.name().to_uppercase();
        return invalid(format!(
            "{shared} bytes of shared memory a block; an {card} has {most}"
        ));
    }
    if launch.args.len() != program.params.len() {
        return invalid(format!(
            "the kernel takes {} parameters, not {}",
            program.params.len(),
            launch.args.len()
        ));
    }
    let mut params = Vec::new();
    for (param, arg) in program.params.iter().zip(&launch.args) {
        let bytes: &[u8] = match arg {
            Arg::U32(value) => &value.to_le_bytes(),
            Arg::U64(value) => &value.to_le_bytes(),
            Arg::Bytes(bytes) => bytes,
        };
        if bytes.len() != param.bytes as usize {
            return invalid(format!(
                "parameter {} takes {} bytes, not {}",
                param.name,
                param.bytes,
                bytes.len()
            ));
        }
        params.resize(param.offset as usize, 0);
        params.extend_from_slice(bytes);
    }
    Ok(Checked {
        params,
        threads: threads as usize,
        blocks,
        cluster,
    })
}
