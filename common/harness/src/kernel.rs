//! PTX that is ready to launch: it holds a `gemm` with the right parameters, and says how it is launched.
use emulator::Ptx;

use crate::device::{Buffer, Device, Function, LaunchConfig};
use crate::spec::{LaunchSpec, Unstated};
use crate::{Error, Result, Rung, Source, TensorBox, transpose};

/// A loaded kernel with its launch.
pub struct Kernel {
    /// Its name in the PTX.
    pub name: &'static str,
    /// Where its PTX comes from.
    pub source: Source,
    /// How it is launched, as it states itself.
    pub spec: LaunchSpec,
    /// What is launched.
    pub function: Function,
    /// Where it logs clocks, if it does.
    pub clock_log: Option<Buffer>,
    /// Whether a launch may begin while the one before it ends: the kernel waits for that one itself.
    pub overlaps: bool,
    /// Whether it multiplies with the tensor cores.
    pub tensor_cores: bool,
}

/// The instruction by which a kernel waits for the launch before it (PTX ISA, `griddepcontrol`).
const WAITS_FOR_LAST_LAUNCH: &str = "griddepcontrol.wait";

impl Kernel {
    /// Loads PTX and checks everything that can be checked before a launch.
    ///
    /// # Errors
    /// If it holds no kernel `name` with the parameters of a rung, or does not state its launch.
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
            Unstated::Missing(why) => Error::NoLaunch {
                file: file.clone(),
                why,
            },
            Unstated::Bad(why) => Error::BadLaunch {
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

    /// For A, B and C, what TMA copies at a time.
    ///
    /// # Errors
    /// If the kernel states no boxes: it takes pointers.
    pub fn boxes(&self) -> Result<[TensorBox; 3]> {
        let file = &self.source.file;
        self.spec.boxes.ok_or_else(|| Error::NoBoxes(file.clone()))
    }

    /// A launch of so many blocks, with the rest as the kernel states it.
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

/// Whether these are a kernel's parameters, in bytes, that begin with tensor maps, and it states no boxes for them.
fn takes_maps_without_boxes(found: &[u32], spec: &LaunchSpec) -> bool {
    spec.boxes.is_none() && found.starts_with(&[128, 128, 128])
}

/// A, B, C, M, N, K, and an `int` for each switch: the bytes of each, and how they are declared.
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
    use crate::spec::Tile;

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
