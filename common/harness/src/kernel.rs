//! PTX that is ready to launch: it has a `gemm` with the right parameters, and states its launch.
use emulator::Ptx;

use crate::device::{Buffer, Device, Function, LaunchConfig};
use crate::spec::{LaunchSpec, SpecError};
use crate::{Error, Result, Rung, Source, TensorBox, transpose};

/// A loaded kernel with its launch.
pub struct Kernel {
    /// Its name in the PTX.
    pub name: &'static str,
    /// The source of its PTX.
    pub source: Source,
    /// Its launch, as the kernel states it.
    pub spec: LaunchSpec,
    /// The function to launch.
    pub function: Function,
    /// The buffer in which it logs clocks, if it does.
    pub clock_log: Option<Buffer>,
    /// Whether a launch may begin before the previous one has ended (programmatic dependent launch): the kernel
    /// itself waits for the previous one.
    pub overlaps: bool,
    /// Whether it uses the tensor cores.
    pub tensor_cores: bool,
}

/// The instruction with which a kernel waits for the previous launch (PTX ISA, `griddepcontrol`).
const WAITS_FOR_LAST_LAUNCH: &str = "griddepcontrol.wait";

impl Kernel {
    /// Loads PTX and makes every check that is possible before a launch.
    ///
    /// # Errors
    /// If it has no kernel `name` with the parameters of a rung, or does not state its launch.
    pub fn load(
        device: &mut Device,
        rung: &Rung,
        source: Source,
        name: &'static str,
    ) -> Result<Self> {
        let file = source.file.clone();
        let ptx = Ptx::parse(&source.ptx).map_err(|error| Error::Ptx {
            file: file.clone(),
            error,
        })?;
        if !ptx.kernels().any(|kernel| kernel == name) {
            let has = ptx.kernels().map(str::to_owned).collect();
            return Err(Error::NoEntry {
                file,
                wanted: name,
                has,
            });
        }
        let transposes = name == transpose::NAME;
        let spec = match transposes {
            true => transpose::spec(&ptx),
            false => LaunchSpec::of(&ptx),
        };
        let spec = spec.map_err(|unstated| match unstated {
            SpecError::Missing(why) => Error::NoLaunch {
                file: file.clone(),
                why,
            },
            SpecError::Bad(why) => Error::BadLaunch {
                file: file.clone(),
                why,
            },
        })?;
        let (function, clock_log) = device.load(&source, name)?;
        let (expected, declaration) = match transposes {
            true => transpose::parameters(),
            false => parameters(rung, &spec),
        };
        let found = function.params();
        if found != expected {
            if takes_maps_without_boxes(&found, &spec) {
                return Err(Error::MapsWithoutBoxes(file));
            }
            return Err(Error::Parameters {
                file,
                entry: name,
                found: list(&found),
                expected: format!("{}: {declaration}", list(&expected)),
            });
        }
        Ok(Self {
            overlaps: ptx.opcodes(name).any(|one| one == WAITS_FOR_LAST_LAUNCH),
            tensor_cores: ptx
                .opcodes(name)
                .any(|one| one.starts_with("mma.") || one.starts_with("wgmma.")),
            name,
            source,
            spec,
            function,
            clock_log,
        })
    }

    /// For each of A, B and C, the box that TMA copies at a time.
    ///
    /// # Errors
    /// If the kernel states no boxes, because it takes pointers.
    pub fn boxes(&self) -> Result<[TensorBox; 3]> {
        let file = &self.source.file;
        self.spec.boxes.ok_or_else(|| Error::NoBoxes(file.clone()))
    }

    /// A launch of `blocks` blocks, with everything else as the kernel states it.
    pub fn config(&self, blocks: u32) -> LaunchConfig {
        LaunchConfig {
            grid: [blocks, 1, 1],
            block: [self.spec.threads, 1, 1],
            dynamic_shared: self.spec.dynamic_shared,
            cluster: [self.spec.cluster, 1, 1],
            overlap: self.overlaps,
            cooperative: false,
        }
    }
}

/// Whether a kernel with these parameter sizes takes tensor maps but states no boxes for them.
fn takes_maps_without_boxes(found: &[u32], spec: &LaunchSpec) -> bool {
    spec.boxes.is_none() && found.starts_with(&[128, 128, 128])
}

/// The sizes of the parameters A, B, C, M, N, K and an `int` for each switch, and their declaration.
fn parameters(rung: &Rung, spec: &LaunchSpec) -> (Vec<u32>, String) {
    let (matrix, matrices) = match spec.boxes {
        None => (
            8,
            "const unsigned short* A, const unsigned short* B, unsigned short* C",
        ),
        Some(_) => (
            128,
            "const __grid_constant__ TensorMap A, const __grid_constant__ TensorMap B, const __grid_constant__ TensorMap C",
        ),
    };
    let bytes = [matrix, matrix, matrix, 4, 4, 4].into_iter();
    let bytes = bytes.chain(rung.switches.iter().map(|_| 4)).collect();
    let switches = rung.switches.iter();
    let switches = switches.map(|switch| format!(", int {}", switch.name.replace('-', "_")));
    let switches: String = switches.collect();
    (
        bytes,
        format!("gemm({matrices}, int M, int N, int K{switches})"),
    )
}

fn list(sizes: &[u32]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
    match sizes[..] {
        [] => "no".to_owned(),
        _ => sizes.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tile;

    #[test]
    fn a_kernel_with_maps_and_no_boxes_is_known_by_its_parameters() {
        let tile = Tile {
            bm: 128,
            bn: 128,
            bk: 64,
        };
        let spec = LaunchSpec {
            tile,
            whole: tile,
            threads: 128,
            dynamic_shared: 0,
            cluster: 1,
            persistent_per_sm: 0,
            stream_k: false,
            boxes: None,
        };
        assert!(takes_maps_without_boxes(&[128, 128, 128, 4, 4, 4], &spec));
        assert!(!takes_maps_without_boxes(&[8, 8, 8, 4, 4, 4], &spec));
    }
}
