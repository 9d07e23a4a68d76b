//! A kernel with its input: what a recording of hardware was made with, and what the emulator repeats.
use std::borrow::Cow;

use crate::{
    Arg, Counters, Element, Fill, Finding, Launch, LaunchError, Limits, Memory, Module, Options,
    OutOfMemory, Program, PtxError, Swizzle, TensorMap, TensorMapError, launch,
};

/// What most kernels are written for.
const HOPPER: &str = "sm_90";

/// A launch of the kernel [`Experiment::ENTRY`], which takes two pointers: its input and its
/// output, and perhaps a tensor map.
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
    /// The bytes that the first pointer points to.
    pub input: Vec<u8>,
    /// How many bytes the second points to; they are zero at first.
    pub output_bytes: usize,
    /// A third parameter: the map of this tensor.
    pub tensor: Option<Tensor>,
}

/// A matrix of f16 in global memory, and the tile that a bulk tensor copy moves. Lists begin with the innermost
/// dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Elements.
    pub dimensions: [u64; 2],
    /// Bytes from one row to the next.
    pub stride: u64,
    /// Elements of the tile.
    pub tile: [u32; 2],
    /// The order in shared memory.
    pub swizzle: Swizzle,
}

/// What came of an experiment on the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The output's bytes.
    pub output: Vec<u8>,
    /// Text of each instruction, with what it did.
    pub counters: Vec<(String, Counters)>,
}

impl Observed {
    /// Counters of the one instruction that holds `text`.
    pub(super) fn of(&self, text: &str) -> Counters {
        let found = self.counters.iter().find(|(line, _)| line.contains(text));
        found.map(|(_, counters)| *counters).unwrap_or_default()
    }
}

/// Why an experiment could not be made on the emulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExperimentError {
    /// PTX that the emulator does not know.
    #[error("the emulator cannot execute it: {0}")]
    Ptx(#[from] PtxError),
    /// A launch that was refused or did not end.
    #[error("the emulator cannot execute it: {0}")]
    Launch(#[from] LaunchError),
    /// Too much input or output.
    #[error("the emulator cannot execute it: {0}")]
    Memory(#[from] OutOfMemory),
    /// A tensor that TMA cannot read.
    #[error("the emulator cannot execute it: {0}")]
    Tensor(#[from] TensorMapError),
    /// It does what no kernel may do.
    #[error("it is not allowed: {0}")]
    Finding(Box<Finding>),
}

impl Experiment {
    /// The kernel's name.
    pub const ENTRY: &str = "k";

    /// A module of one kernel: `%in` and `%out` hold its parameters.
    pub(super) fn module(declarations: &str, body: &str) -> String {
        Self::module_for(HOPPER, declarations, body)
    }

    /// The same for another target.
    pub(super) fn module_for(target: &str, declarations: &str, body: &str) -> String {
        let entry = Self::ENTRY;
        format!(
            ".version 8.0\n.target {target}\n.address_size 64\n{declarations}\
             .visible .entry {entry}(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .b64 %in, %out;\n\
             ld.param.u64 %in, [in];\n\
             ld.param.u64 %out, [out];\n\
             {body}ret;\n}}\n"
        )
    }

    /// The module for a card of this compute capability: one that says `sm_90` says `sm_80` where that is all the card
    /// loads. Whether it needs more than that is for the card to say; what says `sm_90a` does.
    pub fn ptx_for(&self, compute_capability: (u32, u32)) -> Cow<'_, str> {
        let (hopper, ampere) = [HOPPER, "sm_80"]
            .map(|name| format!(".target {name}\n"))
            .into();
        if compute_capability >= (9, 0) {
            return self.ptx.as_str().into();
        }
        self.ptx.replacen(&hopper, &ampere, 1).into()
    }

    /// Makes it on the emulator. [`Options::limits`] are the experiment's own: it is short.
    ///
    /// # Errors
    /// If the emulator refuses the PTX or the launch, or finds a fault.
    pub fn on_emulator(&self, options: &Options<'_>) -> Result<Observed, ExperimentError> {
        let program = Program::new(
            &Module::parse(&self.ptx_for(options.card.compute_capability()))?,
            Self::ENTRY,
        )?;
        let mut memory = Memory::new(1 << 30);
        let input = memory.alloc("in", self.input.clone())?;
        let output = memory.alloc("out", vec![0; self.output_bytes])?;
        let mut args = vec![Arg::U64(input), Arg::U64(output)];
        if let Some(tensor) = &self.tensor {
            let map = TensorMap {
                address: memory.alloc("tensor", tensor.bytes.clone())?,
                element: Element::F16,
                dimensions: &tensor.dimensions,
                strides: &[tensor.stride],
                tile: &tensor.tile,
                element_strides: &[],
                swizzle: tensor.swizzle,
                fill: Fill::Zeros,
            };
            args.push(Arg::Bytes(map.encode()?.to_vec()));
        }
        let shape = Launch {
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            dynamic_shared: self.dynamic_shared,
            cluster: [1; 3],
            args,
        };
        // A recorded instruction could be a loop.
        let limits = Limits {
            instructions: 1 << 24,
            ..Limits::default()
        };
        let options = Options { limits, ..*options };
        let run = launch(&program, &mut memory, &shape, &options)?;
        if let Some(finding) = run.findings.into_iter().next() {
            return Err(ExperimentError::Finding(Box::new(finding)));
        }
        let texts = program.instructions().iter().map(|i| i.text.clone());
        Ok(Observed {
            output: memory.bytes(output).unwrap_or_default().to_vec(),
            counters: texts.zip(run.counters).collect(),
        })
    }
}
