//! A kernel with its input: what a GPU executes for a recording, and what the emulator repeats.
use anyhow::{Result, anyhow, bail};
use emulator::{Context, Counters, Finding, Limits, Options};
use harness::{Device, LaunchConfig, Origin, Source, Tiling};

/// The default target.
const HOPPER: &str = "sm_90";

/// A launch of the kernel [`Experiment::ENTRY`], which takes pointers to its input and its output, and optionally a
/// tensor map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Experiment {
    /// A whole module.
    pub ptx: String,
    /// Blocks in x.
    pub blocks: u32,
    /// Threads of a block in x.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The input's bytes.
    pub input: Vec<u8>,
    /// Size of the output in bytes; it is zero at first.
    pub output_bytes: usize,
    /// The optional third parameter: the tensor map of this tensor.
    pub tensor: Option<Tensor>,
}

/// A matrix of f16 in global memory, and the tile that a bulk tensor copy moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The tensor map's parameters.
    pub tiling: Tiling,
}

/// The result of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The output's bytes.
    pub output: Vec<u8>,
    /// The text of each instruction, with its counters; empty on a GPU.
    pub counters: Vec<(String, Counters)>,
    /// The sanitizer's findings; empty on a GPU.
    pub findings: Vec<Finding>,
}

impl Observed {
    /// The counters of the one instruction that contains `text`.
    pub(super) fn counters_of(&self, text: &str) -> Counters {
        let found = self.counters.iter().find(|(line, _)| line.contains(text));
        found.map(|(_, counters)| *counters).unwrap_or_default()
    }
}

impl Experiment {
    /// The kernel's name.
    pub const ENTRY: &str = "k";

    /// A module of one kernel: `%in` and `%out` hold its parameters.
    pub(super) fn module(declarations: &str, body: &str) -> String {
        let entry = Self::ENTRY;
        format!(
            ".version 8.1\n.target {HOPPER}\n.address_size 64\n{declarations}\
             .visible .entry {entry}(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .b64 %in, %out;\n\
             ld.param.u64 %in, [in];\n\
             ld.param.u64 %out, [out];\n\
             {body}ret;\n}}\n"
        )
    }

    /// The module for a card of this compute capability: the target `sm_90` becomes `sm_80` on a card that loads no
    /// more. The card reports an instruction that it does not have; the target `sm_90a` is kept.
    fn ptx_for(&self, compute_capability: (u32, u32)) -> String {
        if compute_capability >= (9, 0) {
            return self.ptx.clone();
        }
        let lines = self.ptx.lines().map(|line| match line.trim_end() {
            ".target sm_90" => ".target sm_80",
            other => other,
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Runs it on a device.
    ///
    /// # Errors
    /// If the device refuses the kernel or a fault stops it.
    pub fn on(&self, device: &mut Device) -> harness::Result<Observed> {
        let compute_capability = match device {
            Device::Emulator(context) => context.card().compute_capability(),
            Device::Gpu(context) => context.info().sm,
        };
        let source = Source {
            file: "the experiment".into(),
            name: String::new(),
            text: None,
            arch: HOPPER.into(),
            origin: Origin::File,
            ptx: self.ptx_for(compute_capability),
            sass: String::new(),
        };
        let (function, _) = device.load(&source, Self::ENTRY)?;
        let input = device.upload("in", &self.input)?;
        let output = device.alloc("out", self.output_bytes)?;
        let mut args = vec![input.arg(), output.arg()];
        if let Some(tensor) = &self.tensor {
            let buffer = device.upload("tensor", &tensor.bytes)?;
            args.push(device.tensor_map(&buffer, &tensor.tiling)?);
        }
        let config = LaunchConfig {
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            dynamic_shared: self.dynamic_shared,
            ..LaunchConfig::default()
        };
        let report = device
            .launch(&function, &config, &args)?
            .unwrap_or_default();
        let texts = function.instructions().iter().map(|i| i.text.clone());
        Ok(Observed {
            output: device.read(&output)?,
            counters: texts.zip(report.counters).collect(),
            findings: report.findings,
        })
    }

    /// Runs it on the emulator, with its own small [`Options::limits`].
    ///
    /// # Errors
    /// If the emulator does not support the PTX, refuses the launch, reaches a limit, or finds a fault.
    pub fn on_emulator(&self, options: &Options) -> Result<Observed> {
        // A recorded instruction could be a loop.
        let limits = Limits {
            instructions: 1 << 24,
            ..Limits::default()
        };
        let context = Context::new(Options {
            limits,
            ..options.clone()
        });
        let observed = self.on(&mut Device::Emulator(Box::new(context)));
        let observed =
            observed.map_err(|error| anyhow!("the emulator cannot execute it: {error}"))?;
        if let Some(finding) = observed.findings.first() {
            bail!("it has a fault: {finding}");
        }
        Ok(observed)
    }
}
