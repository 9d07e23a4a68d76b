//! PTX that is ready to launch: it holds a `gemm` with the right parameters, and says how it is launched.
use emulator::{Module, Program, PtxError};

use crate::launch::{Launch, Unstated};
use crate::source::Source;
use crate::{Error, Result, Rung};

/// The name every kernel has.
pub const ENTRY: &str = "gemm";
/// A kernel with its launch.
#[derive(Debug)]
pub struct Kernel {
    /// Where its PTX comes from.
    pub source: Source,
    /// The PTX, lowered for the emulator, or why the emulator cannot run it: a GPU still may.
    pub lowered: std::result::Result<Program, PtxError>,
    /// How it is launched.
    pub launch: Launch,
}

/// The instruction by which a kernel says that it may begin while the launch before it ends, and where it needs that
/// one's results (PTX ISA, `griddepcontrol`).
const WAITS_FOR_LAST_LAUNCH: &str = "griddepcontrol.wait";

impl Kernel {
    /// Reads PTX and checks everything that can be checked before a launch.
    pub fn new(rung: &Rung, source: Source) -> Result<Self> {
        let file = source.file.clone();
        let module = Module::parse(&source.ptx).map_err(|error| Error::Ptx {
            file: file.clone(),
            error,
        })?;
        if !module.kernels().any(|name| name == ENTRY) {
            let has = module.kernels().map(str::to_owned).collect();
            return Err(Error::NoEntry {
                file,
                wanted: ENTRY,
                has,
            });
        }
        let launch = Launch::of(&module).map_err(|unstated| match unstated {
            Unstated::Missing(why) => Error::NoLaunch {
                file: file.clone(),
                why,
            },
            Unstated::Bad(why) => Error::BadLaunch {
                file: file.clone(),
                why,
            },
        })?;
        let lowered = Program::new(&module, ENTRY);
        if let Ok(program) = &lowered {
            check_parameters(rung, &file, program, &launch)?;
        }
        Ok(Self {
            source,
            lowered,
            launch,
        })
    }

    /// Whether its launches may overlap.
    pub fn overlaps(&self) -> bool {
        self.source.ptx.contains(WAITS_FOR_LAST_LAUNCH)
    }

    /// The kernel as the emulator runs it.
    pub fn program(&self) -> Result<&Program> {
        self.lowered.as_ref().map_err(|error| Error::Ptx {
            file: self.source.file.clone(),
            error: error.clone(),
        })
    }
}

/// A, B, C, M, N, K, and an `int` for each switch.
fn check_parameters(rung: &Rung, file: &str, program: &Program, launch: &Launch) -> Result<()> {
    let (matrix, matrices) = match launch.boxes {
        None => (
            8,
            "const unsigned short* A, const unsigned short* B, unsigned short* C",
        ),
        Some(_) => (
            128,
            "const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C",
        ),
    };
    let expected: Vec<u32> = [matrix, matrix, matrix, 4, 4, 4]
        .into_iter()
        .chain(rung.switches.iter().map(|_| 4))
        .collect();
    let found: Vec<u32> = program.params().iter().map(|param| param.bytes).collect();
    if found == expected {
        return Ok(());
    }
    let list = |sizes: &[u32]| {
        if sizes.is_empty() {
            return "no".to_owned();
        }
        sizes
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let switches: String = rung
        .switches
        .iter()
        .map(|switch| format!(", int {}", switch.flag.replace('-', "_")))
        .collect();
    Err(Error::Parameters {
        file: file.to_owned(),
        entry: ENTRY,
        found: list(&found),
        expected: format!(
            "{}: gemm({matrices}, int M, int N, int K{switches})",
            list(&expected)
        ),
    })
}
