//! One launch on a GPU, and the buffers that a timing rotates over.
use gpu::{Buffer, Cublas, Gpu, GpuError, KernelArg, LaunchConfig, Swizzle, TensorMap};
use half::f16;
use rayon::prelude::*;

use crate::kernel::ENTRY;
use crate::launch::Tiling;
use crate::occupancy::{self, Resources};
use crate::problem::{from_bytes, to_bytes};
use crate::verify::against_cublas;
use crate::{Kernel, Problem, Result, Size, Source, Verification, ptx_file};

/// A GPU with the kernel loaded, and cuBLAS if it is there.
pub struct Session<'a> {
    /// The GPU.
    pub gpu: Gpu,
    /// What to compare with; without it a run is verified by samples only.
    pub cublas: std::result::Result<Cublas, GpuError>,
    kernel: &'a Kernel,
    loaded: gpu::Kernel,
    switches: &'a [u32],
}

/// A, B and C on the GPU, of the padded size.
pub struct Operands {
    /// Where each of them lies, for a kernel that moves tiles by TMA.
    maps: Option<[[u8; 128]; 3]>,
    /// M x K.
    pub a: Buffer,
    /// K x N.
    pub b: Buffer,
    /// M x N.
    pub c: Buffer,
}

impl<'a> Session<'a> {
    /// Opens the GPU and loads the kernel.
    pub fn open(ordinal: usize, kernel: &'a Kernel, switches: &'a [u32]) -> Result<Self> {
        let gpu = Gpu::open(ordinal)?;
        let loaded = load(&gpu, &kernel.source, ENTRY)?;
        let cublas = Cublas::new(&gpu);
        Ok(Self {
            gpu,
            cublas,
            kernel,
            loaded,
            switches,
        })
    }

    /// Whether the kernel leaves the tensor cores alone, so that cuBLAS's f32 GEMM is its equal.
    pub fn is_for_cuda_cores(&self) -> bool {
        !self.kernel.source.ptx.contains("mma")
    }

    /// What the kernel takes of a multiprocessor.
    pub fn resources(&self) -> Result<Resources> {
        let info = self.gpu.info();
        let (registers, launch) = (self.loaded.registers(), &self.kernel.launch);
        let threads = launch.threads;
        let shared_bytes = self.loaded.static_shared() + launch.dynamic_shared;
        Ok(Resources {
            threads,
            registers,
            shared_bytes,
            local_bytes: self.loaded.local_bytes(),
            blocks_per_multiprocessor: self
                .loaded
                .blocks_per_multiprocessor(threads, launch.dynamic_shared)?,
            limited_by: occupancy::limits(
                info.sm,
                info.shared_per_block_optin,
                threads,
                registers,
                shared_bytes,
            ),
        })
    }

    /// Copies A and B to the GPU and makes room for C.
    pub fn upload(&self, problem: &Problem) -> Result<Operands> {
        let [.., c] = problem.padded.elements();
        let a = self.gpu.upload(&to_bytes(&problem.a))?;
        let b = self.gpu.upload(&to_bytes(&problem.b))?;
        let c = self.gpu.alloc(2 * c as usize)?;
        let maps = self.maps(problem.padded, [&a, &b, &c])?;
        Ok(Operands { maps, a, b, c })
    }

    fn maps(&self, padded: Size, [a, b, c]: [&Buffer; 3]) -> Result<Option<[[u8; 128]; 3]>> {
        let Some([of_a, of_b, of_c]) = self.kernel.launch.tilings(padded) else {
            return Ok(None);
        };
        let map = |buffer, of: &Tiling| {
            let swizzle = match of.swizzle {
                32 => Swizzle::B32,
                64 => Swizzle::B64,
                128 => Swizzle::B128,
                _ => Swizzle::None,
            };
            let map = TensorMap {
                dimensions: &of.dimensions,
                strides: &of.strides,
                tile: &of.tile,
                swizzle,
            };
            self.gpu.tensor_map(buffer, &map)
        };
        Ok(Some([map(a, &of_a)?, map(b, &of_b)?, map(c, &of_c)?]))
    }

    /// Enqueues one launch of the kernel.
    pub fn launch(&self, padded: Size, on: &Operands) -> std::result::Result<(), GpuError> {
        let launch = &self.kernel.launch;
        let config = LaunchConfig {
            grid: launch.grid(padded, self.gpu.info().multiprocessors),
            block: [launch.threads, 1, 1],
            dynamic_shared: launch.dynamic_shared,
            cluster: launch.cluster,
            overlap: self.kernel.overlaps(),
        };
        let mut arguments = match &on.maps {
            Some(maps) => maps.iter().map(|map| KernelArg::Bytes(map)).collect(),
            None => [&on.a, &on.b, &on.c].map(KernelArg::Buffer).to_vec(),
        };
        arguments.extend([padded.m, padded.n, padded.k].map(KernelArg::U32));
        arguments.extend(self.switches.iter().copied().map(KernelArg::U32));
        self.gpu.launch(&self.loaded, &config, &arguments)
    }

    /// Runs the kernel once, over a C that is poisoned anew; returns C (padded).
    pub fn run(&self, problem: &Problem, on: &mut Operands) -> Result<Vec<f16>> {
        // Bytes of 0xff make a NaN of every element.
        self.gpu.fill(&mut on.c, 0xff)?;
        self.launch(problem.padded, on)?;
        Ok(from_bytes(&self.gpu.download(&on.c)?))
    }

    /// Compares every element of C with cuBLAS's, if there is a cuBLAS; adds to what was `found`.
    pub fn verify(
        &self,
        found: Verification,
        problem: &Problem,
        on: &Operands,
        c: &[f16],
    ) -> Result<Verification> {
        let Ok(cublas) = &self.cublas else {
            return Ok(found);
        };
        let [m, n, k] = sides(problem.padded);
        let theirs = self.gpu.upload(&to_bytes(&problem.poisoned_c()))?;
        cublas.gemm_f16(&on.a, &on.b, &theirs, m, n, k)?;
        let theirs = from_bytes(&self.gpu.download(&theirs)?);

        let a = self.gpu.upload(&to_bytes(&squares(&problem.a)))?;
        let b = self.gpu.upload(&to_bytes(&squares(&problem.b)))?;
        let sums = self.gpu.alloc(4 * m * n)?;
        cublas.gemm_f16_to_f32(&a, &b, &sums, m, n, k)?;
        let sums = self.gpu.download(&sums)?;
        let sums: Vec<f32> = sums
            .par_chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect();
        Ok(against_cublas(found, problem, c, &theirs, &sums))
    }
}

/// The sides of a problem, as cuBLAS takes them.
pub fn sides(size: Size) -> [usize; 3] {
    [size.m, size.n, size.k].map(|side| side as usize)
}

fn squares(values: &[f16]) -> Vec<f16> {
    values
        .par_iter()
        .map(|value| f16::from_f32(value.to_f32() * value.to_f32()))
        .collect()
}

/// Loads a kernel of this PTX; where the driver is older than its `.version`, once more with a lower one.
///
/// # Errors
/// If the driver refuses it.
pub fn load(gpu: &Gpu, source: &Source, entry: &str) -> Result<gpu::Kernel> {
    const UNSUPPORTED_PTX_VERSION: u32 = 222;
    match gpu.load(&source.ptx, entry) {
        Err(
            error @ GpuError::Load {
                code: UNSUPPORTED_PTX_VERSION,
                ..
            },
        ) => {
            let lower = ptx_file::lower_version(&source.ptx, &source.arch);
            gpu.load(&lower, entry).map_err(|_| error.into())
        }
        loaded => Ok(loaded?),
    }
}
