//! Kernels that compare the emulator with hardware, on hardware.
use emulator::Swizzle;
use emulator::calibrate::Experiment;
use gpu::{Gpu, KernelArg, LaunchConfig, TensorMap};

use crate::Result;
use crate::json::pretty;
use crate::provenance::{OnGpu, Provenance};

/// A GPU that makes experiments.
pub struct Laboratory {
    gpu: Gpu,
}

impl Laboratory {
    /// Opens GPU number `ordinal`.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(ordinal: usize) -> Result<Self> {
        Ok(Self {
            gpu: Gpu::open(ordinal)?,
        })
    }

    /// What its results belong to, as a JSON object; `watched` is who counted, if it was not the GPU's memory alone.
    pub fn provenance(&self, watched: Option<String>) -> String {
        #[derive(serde::Serialize)]
        struct Record {
            #[serde(flatten)]
            of: Provenance,
            ncu: Option<String>,
        }
        let of = Provenance::of("single instructions".into(), "made for each".into());
        pretty(&Record {
            of: Provenance {
                gpu: Some(OnGpu::new(self.gpu.info(), None)),
                ..of
            },
            ncu: watched,
        })
    }

    /// Makes one; the bytes of its output.
    ///
    /// # Errors
    /// If the GPU refuses the kernel or stops it.
    pub fn make(&self, experiment: &Experiment) -> Result<Vec<u8>> {
        let ptx = experiment.ptx_for(self.gpu.info().sm);
        let kernel = self.gpu.load(&ptx, Experiment::ENTRY)?;
        let input = self.gpu.upload(&experiment.input)?;
        let output = self.gpu.alloc(experiment.output_bytes)?;
        let config = LaunchConfig {
            grid: [experiment.blocks, 1, 1],
            block: [experiment.threads, 1, 1],
            dynamic_shared: experiment.dynamic_shared,
            cluster: 1,
            overlap: false,
        };
        let mut arguments = vec![KernelArg::Buffer(&input), KernelArg::Buffer(&output)];
        // The map names the tensor by its address alone: it must outlive the launch.
        let held;
        if let Some(tensor) = &experiment.tensor {
            let buffer = self.gpu.upload(&tensor.bytes)?;
            let map = TensorMap {
                dimensions: &tensor.dimensions,
                strides: &[tensor.stride],
                tile: &tensor.tile,
                swizzle: match tensor.swizzle {
                    Swizzle::None => gpu::Swizzle::None,
                    Swizzle::B32 => gpu::Swizzle::B32,
                    Swizzle::B64 => gpu::Swizzle::B64,
                    Swizzle::B128 => gpu::Swizzle::B128,
                },
            };
            held = (self.gpu.tensor_map(&buffer, &map)?, buffer);
            arguments.push(KernelArg::Bytes(&held.0));
        }
        self.gpu.launch(&kernel, &config, &arguments)?;
        Ok(self.gpu.download(&output)?)
    }
}
