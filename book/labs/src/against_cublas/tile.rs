//! The kernel with one of its tiles, on a GPU.
use std::rc::Rc;

use gpu::{Contestant, Context};
use harness::{
    Arg, Buffer, Device, Error as HarnessError, Function, KernelFile, LaunchConfig, LaunchSpec,
    Size, contestant, on_gpu,
};

use super::context;
use crate::arguments::Arguments;
use crate::device::source_of;
use crate::experiments::bf16_tn::{LAB, tilings};
use crate::run::{Error, Result};

/// The kernel with one tile, and its launch on each set of buffers.
pub struct Tile {
    pub name: &'static str,
    function: Rc<gpu::Function>,
    config: LaunchConfig,
    args: Vec<Vec<Arg>>,
}

impl Tile {
    /// The kernel, loaded, with tensor maps of these buffers.
    pub fn new(
        kernel: &KernelFile<'static>,
        size: Size,
        sets: &[[Buffer; 3]],
        arguments: &Arguments,
        device: &mut Device,
    ) -> Result<Self> {
        let source = source_of(&LAB, kernel, arguments)?;
        let unfit = |why: &str| Error::Usage(format!("{}: {why}", source.file));
        let ptx = emulator::Ptx::parse(&source.ptx).map_err(|error| HarnessError::Ptx {
            file: source.file.clone(),
            error,
        })?;
        let spec = LaunchSpec::of(&ptx).map_err(|_| unfit("it does not state its launch"))?;
        let boxes = spec.boxes.ok_or_else(|| unfit("it states no boxes"))?;
        let (function, _) = device.load(&source, "gemm")?;
        let Function::Gpu(function) = function else {
            return Err(HarnessError::OtherDevice.into());
        };
        let of_set = |set: &[Buffer; 3]| {
            let maps = set.iter().zip(tilings(size, boxes));
            let maps = maps.map(|(buffer, tiling)| device.tensor_map(buffer, &tiling));
            let mut args = maps.collect::<harness::Result<Vec<Arg>>>()?;
            args.extend([size.m, size.n, size.k].map(Arg::Int));
            Ok(args)
        };
        let args = sets.iter().map(of_set).collect::<Result<_>>()?;
        Ok(Self {
            name: kernel.configuration,
            function,
            config: LaunchConfig {
                grid: [spec.blocks(size, context(device)?.info().sms), 1, 1],
                block: [spec.threads, 1, 1],
                dynamic_shared: spec.dynamic_shared,
                cluster: [spec.cluster, 1, 1],
                overlap: true, // the kernel itself waits for the previous launch
                cooperative: false,
            },
            args,
        })
    }

    /// A contestant of this name.
    pub fn contestant<'a>(&'a self, name: &str, gpu: &'a Context) -> Result<Contestant<'a>> {
        let launches = self.args.iter().map(|args| on_gpu(&self.config, args));
        let launches = launches.collect::<harness::Result<Vec<_>>>()?;
        Ok(contestant(name, move |set| {
            let (config, args) = &launches[set];
            gpu.launch(&self.function, config, args)
        }))
    }
}
