//! Checks for launches that a GPU would refuse.
use super::grid::Request;
use super::machine::dynamic_start;
use super::occupancy;
use crate::Error;
use crate::launch::KernelArg;
use crate::lower::SHARED_BASE;

/// Limits of an H100 (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
const MAX_THREADS: u64 = 1024;
const MAX_DEPTH: u32 = 64;
const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65535, 65535];

/// Blocks of a cluster. More than 8 require a kernel attribute, which the launch sets.
const MAX_CLUSTER: u64 = 16;

/// A launch that a GPU would accept.
pub(super) struct Validated {
    /// The parameters in the kernel's layout.
    pub params: Vec<u8>,
    /// Threads of a block.
    pub threads: usize,
    pub blocks: u64,
    /// Blocks of a cluster in x, y and z.
    pub cluster: [u32; 3],
}

/// Checks the launch.
pub(super) fn validate(request: &Request<'_>) -> Result<Validated, Error> {
    let &Request {
        program,
        config: launch,
        args,
        options,
        ..
    } = request;
    if let Some(why) = options.card.refuses(program) {
        return Err(Error::Card(why));
    }
    let product = |dims: [u32; 3]| {
        dims.iter()
            .fold(1u64, |n, &d| n.saturating_mul(u64::from(d)))
    };
    let (threads, blocks) = (product(launch.block), product(launch.grid));
    if threads == 0 || threads > MAX_THREADS || launch.block[2] > MAX_DEPTH {
        return Err(Error::Block(launch.block));
    }
    if blocks == 0 || launch.grid.iter().zip(MAX_GRID).any(|(&d, max)| d > max) {
        return Err(Error::Grid(launch.grid));
    }
    if let Some(most) = program.max_threads.map(product)
        && threads > most
    {
        return Err(Error::LaunchBounds { threads, most });
    }
    let cluster = match (program.cluster, launch.cluster) {
        (Some(own), [1, 1, 1]) => own,
        (Some(compiled), given) if compiled != given => {
            return Err(Error::ClusterDims { given, compiled });
        }
        (_, given) => given,
    };
    let size = product(cluster);
    if size == 0 || size > MAX_CLUSTER {
        return Err(Error::Cluster(cluster));
    }
    if launch.grid.iter().zip(cluster).any(|(&d, c)| d % c != 0) {
        return Err(Error::ClusterGrid {
            grid: launch.grid,
            cluster,
        });
    }
    if size > 1 && options.card.compute_capability() < (9, 0) {
        return Err(Error::NoClusters(size));
    }
    if program.explicit_cluster && size == 1 && program.cluster.is_none() {
        return Err(Error::ClusterMissing);
    }
    if let Some(most) = program.max_cluster
        && size > most.into()
    {
        return Err(Error::ClusterRank { blocks: size, most });
    }
    if blocks > options.limits.blocks {
        return Err(Error::BlockLimit {
            blocks,
            limit: options.limits.blocks,
        });
    }
    let shared = dynamic_start(program).saturating_add(launch.dynamic_shared);
    let most = options.card.shared_of_a_block();
    if shared > most {
        return Err(Error::SharedMemory {
            wanted: shared,
            most,
            card: options.card,
        });
    }
    if launch.cooperative {
        let card = options.card;
        let per_sm = occupancy::blocks_per_sm(card, SHARED_BASE + shared, threads as usize);
        let most = u64::from(per_sm) * u64::from(card.sms());
        if blocks > most {
            return Err(Error::CooperativeLaunchTooLarge {
                blocks,
                most,
                per_sm,
                card,
            });
        }
    }
    if args.len() != program.params.len() {
        return Err(Error::ParameterCount {
            takes: program.params.len(),
            given: args.len(),
        });
    }
    let mut params = Vec::new();
    for (param, arg) in program.params.iter().zip(args) {
        let bytes: &[u8] = match arg {
            KernelArg::Buffer(buffer) => &buffer.address().to_le_bytes(),
            KernelArg::U32(value) => &value.to_le_bytes(),
            KernelArg::U64(value) => &value.to_le_bytes(),
            KernelArg::Bytes(bytes) => bytes,
        };
        if bytes.len() != param.bytes as usize {
            return Err(Error::ParameterSize {
                name: param.name.clone(),
                takes: param.bytes,
                given: bytes.len(),
            });
        }
        params.resize(param.offset as usize, 0);
        params.extend_from_slice(bytes);
    }
    Ok(Validated {
        params,
        threads: threads as usize,
        blocks,
        cluster,
    })
}
