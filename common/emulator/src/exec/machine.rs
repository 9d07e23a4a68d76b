//! The constant state of a launch: the program, its arguments, and memory as it was before.
use super::global_check::PreviousGrid;
use super::grid::Request;
use super::load::extend;
use super::validate_launch::Validated;
use crate::banks::LANES;
use crate::finding::Location;
use crate::launch::{LaunchConfig, Options, Simd};
use crate::lower::SHARED_BASE;
use crate::memory::Memory;
use crate::op::{Code, MatrixOp, WgmmaOp};
use crate::program::{Fixed, Program, Special};
use crate::shadow::Site;

/// Warps that an SM holds at most (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability", 8.0 and 9.0).
const WARPS_OF_AN_SM: u32 = 64;

/// Local memory of a thread (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_STACK: u64 = 512 << 10;

pub(super) struct Machine<'a> {
    pub program: &'a Program,
    pub memory: &'a Memory,
    pub launch: &'a LaunchConfig,
    pub options: &'a Options,
    /// The parameters in the kernel's layout.
    pub params: Vec<u8>,
    /// Addresses of the module's `.global` variables.
    pub globals: &'a [u64],
    /// The module's constant bank.
    pub constants: &'a [u8],
    /// Threads and warps of a block.
    pub threads: usize,
    pub warps: usize,
    /// Blocks of a cluster in x, y and z, and the number of clusters.
    pub cluster: [u32; 3],
    pub clusters: u64,
    /// Bytes of a thread's local memory, including its call stack.
    pub local: u32,
    /// The address of a cooperative launch's workspace; 0 for other launches.
    pub workspace: u64,
    /// Bytes of shared memory, from the start of its window.
    pub shared_end: u32,
    /// Accesses that the previous launch may still make.
    pub previous: PreviousGrid,
    /// Allocations with a shadow in the sanitizer: a bit each, as in [`Writes`](crate::memory::Writes).
    pub watched: u64,
    /// Set in the second launch under `sanitize`: `try_wait`s sometimes return false although the phase is complete, as
    /// on hardware.
    pub hesitates: bool,
    /// The number of clusters that run side by side, if only control flow is traced ([`crate::TraceRequest`]).
    pub peers: Option<u64>,
    #[cfg_attr(
        target_family = "wasm",
        expect(dead_code, reason = "there is nothing to choose")
    )]
    pub arch: pulp::Arch,
}

impl<'a> Machine<'a> {
    /// Prepares the launch on the current memory with these options.
    pub fn new(
        request: &Request<'a>,
        validated: &Validated,
        memory: &'a Memory,
        options: &'a Options,
    ) -> Self {
        let program = request.program;
        Self {
            program,
            memory,
            launch: request.config,
            options,
            params: validated.params.clone(),
            globals: request.globals,
            constants: request.constants,
            threads: validated.threads,
            warps: validated.threads.div_ceil(32),
            cluster: validated.cluster,
            clusters: validated.blocks
                / validated
                    .cluster
                    .iter()
                    .map(|&d| u64::from(d))
                    .product::<u64>(),
            local: match program.functions.is_empty() {
                true => program.local_bytes,
                false => program.local_bytes + options.limits.stack.min(MAX_STACK) as u32,
            },
            workspace: request.workspace,
            shared_end: SHARED_BASE + dynamic_start(program) + request.config.dynamic_shared,
            previous: request.previous,
            watched: 0,
            hesitates: false,
            peers: None,
            arch: match options.simd {
                Simd::Auto => pulp::Arch::new(),
                Simd::Scalar => pulp::Arch::Scalar,
            },
        }
    }
}

impl Machine<'_> {
    /// The values of a fixed register.
    pub fn fixed(&self, fixed: Fixed, warp: usize, block: [u32; 3]) -> [u64; LANES] {
        let value = match fixed {
            Fixed::Const(value) => value,
            Fixed::Param {
                offset,
                bytes,
                signed,
            } => {
                let (offset, bytes) = (offset as usize, bytes as usize);
                let mut raw = [0; 8];
                if let Some(from) = self.params.get(offset..offset + bytes) {
                    raw[..bytes].copy_from_slice(from);
                }
                extend(u64::from_le_bytes(raw), bytes as u32, signed)
            }
            Fixed::Global { index, offset } => {
                self.globals[index as usize].wrapping_add_signed(offset)
            }
            Fixed::Dynamic { offset } => {
                u64::from(SHARED_BASE + dynamic_start(self.program)).wrapping_add_signed(offset)
            }
            Fixed::Special(special) => {
                return std::array::from_fn(|lane| {
                    u64::from(self.special(special, warp, lane, block))
                });
            }
        };
        [value; LANES]
    }

    /// `%warpid` of a block's first warp. It is a place in the SM, which the block shares with others (PTX ISA, "Special Registers: %warpid"), so it
    /// differs between schedules.
    fn first_warp(&self) -> u32 {
        (self.options.schedule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58) as u32
    }

    fn special(&self, special: Special, warp: usize, lane: usize, block: [u32; 3]) -> u32 {
        let bit = 1u32 << lane;
        match special {
            Special::Tid(dim) => self.thread_index(warp * 32 + lane)[dim as usize],
            Special::Ntid(dim) => self.launch.block[dim as usize],
            Special::Ctaid(dim) => block[dim as usize],
            Special::Nctaid(dim) => self.launch.grid[dim as usize],
            Special::Lane => lane as u32,
            Special::Warp => (warp as u32 + self.first_warp()) % WARPS_OF_AN_SM,
            Special::Warps => WARPS_OF_AN_SM,
            Special::LaneMaskEq => bit,
            Special::LaneMaskLe => bit | (bit - 1),
            Special::LaneMaskLt => bit - 1,
            Special::LaneMaskGe => !(bit - 1),
            Special::LaneMaskGt => !(bit | (bit - 1)),
            Special::DynamicShared => self.launch.dynamic_shared,
            Special::Cluster(dim) => block[dim as usize] / self.cluster[dim as usize],
            Special::Clusters(dim) => self.launch.grid[dim as usize] / self.cluster[dim as usize],
            Special::ClusterCtaid(dim) => block[dim as usize] % self.cluster[dim as usize],
            Special::ClusterNctaid(dim) => self.cluster[dim as usize],
            Special::ClusterRank => self.rank(block),
            Special::ClusterRanks => self.ranks() as u32,
            Special::ExplicitCluster => {
                u32::from(self.ranks() > 1 || self.program.explicit_cluster)
            }
            Special::Environment(1) => (self.workspace >> 32) as u32,
            Special::Environment(2) => self.workspace as u32,
            Special::Environment(_) => 0,
            Special::TotalShared => self.shared_end - SHARED_BASE,
            Special::AggregateShared => self.shared_end,
        }
    }

    /// Converts a linear thread number to threadIdx.
    pub fn thread_index(&self, thread: usize) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        let thread = thread as u32;
        [thread % x, thread / x % y, thread / x / y]
    }

    /// Blocks of a cluster.
    pub fn ranks(&self) -> usize {
        self.cluster.iter().product::<u32>() as usize
    }

    /// `%cluster_ctarank` of the block with this index.
    pub fn rank(&self, block: [u32; 3]) -> u32 {
        let [x, y, z] = [0, 1, 2].map(|dim| block[dim] % self.cluster[dim]);
        let [nx, ny, _] = self.cluster;
        x + nx * (y + ny * z)
    }

    /// The number of the cluster that holds the block with this index.
    pub fn cluster_of(&self, block: [u32; 3]) -> u64 {
        let [x, y, z] = [0, 1, 2].map(|dim| u64::from(block[dim] / self.cluster[dim]));
        let [nx, ny] = [0, 1].map(|dim| u64::from(self.launch.grid[dim] / self.cluster[dim]));
        x + nx * (y + ny * z)
    }

    /// Index of the block of this rank in the cluster of this number: clusters are numbered as blocks are,
    /// x first, and so are the blocks of one (PTX ISA, "Special Registers: %cluster_ctarank").
    pub fn block_index(&self, cluster: u64, rank: usize) -> [u32; 3] {
        let clusters = [0, 1].map(|dim| u64::from(self.launch.grid[dim] / self.cluster[dim]));
        let [nx, ny, _] = self.cluster.map(u64::from);
        let rank = rank as u64;
        [
            (cluster % clusters[0] * nx + rank % nx) as u32,
            (cluster / clusters[0] % clusters[1] * ny + rank / nx % ny) as u32,
            (cluster / clusters[0] / clusters[1] * u64::from(self.cluster[2]) + rank / nx / ny)
                as u32,
        ]
    }

    /// Number of a thread in its block, from its warp in the cluster and its lane.
    pub fn thread_of(&self, warp: usize, lane: usize) -> usize {
        warp % self.warps * 32 + lane
    }

    /// The same for a thread of any cluster.
    pub fn location_in(&self, cluster: u32, site: Site) -> Location {
        let block = self.block_index(cluster.into(), site.warp / self.warps);
        self.location(site.op, self.thread_of(site.warp, site.lane), block)
    }

    /// A warp of the cluster, by its number in its block.
    pub fn warp_name(&self, warp: usize) -> String {
        match (self.ranks(), warp / self.warps) {
            (1, _) => format!("warp {warp}"),
            (_, block) => format!("warp {} of block {block}", warp % self.warps),
        }
    }

    /// A thread and the operation it was at, for a finding.
    pub fn location(&self, op: usize, thread: usize, block: [u32; 3]) -> Location {
        let instruction = self.program.ops[op].instruction as usize;
        let described = &self.program.instructions[instruction];
        let is_wgmma = matches!(
            self.program.ops[op].code,
            Code::Matrix(MatrixOp::Wgmma(WgmmaOp::Mma(_)))
        );
        Location {
            thread: self.thread_index(thread),
            block,
            instruction,
            ptx_line: described.ptx_line,
            source: described.source.clone(),
            callee: described.callee.clone(),
            warpgroup_warp: is_wgmma.then_some((thread / LANES) as u32),
        }
    }
}

/// Dynamic shared memory follows static shared memory, aligned as declared and at least to the largest vector
/// access.
pub(super) fn dynamic_start(program: &Program) -> u32 {
    (SHARED_BASE + program.static_shared).next_multiple_of(program.dynamic_align) - SHARED_BASE
}
