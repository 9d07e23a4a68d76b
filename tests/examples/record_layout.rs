//! Records on a GPU (sm_90a) which byte of shared memory each element of a `wgmma` operand comes from, and where
//! TMA puts the elements of a tile, as `wgmma_layout.csv` and `tma_layout.csv`:
//!
//!     cargo run -p ladder-tests --example record_layout -- DIR
//!
//! With `--emulator`, what the emulator says instead.
use std::error::Error;
use std::fmt::Display;
use std::path::Path;

use emulator::calibrate::{BadRow, Experiment, tma_layout, wgmma_layout};
use gpu::{Gpu, Kernel, KernelArg, LaunchConfig, Swizzle, TensorMap};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Kernels that are loaded already, by their text.
struct Device {
    gpu: Gpu,
    loaded: Vec<(String, Kernel)>,
}

impl Device {
    /// The output of an experiment whose kernel takes its input, its output and what else is given.
    fn run(&mut self, experiment: &Experiment, more: &[KernelArg<'_>]) -> Result<Vec<u8>> {
        if !self.loaded.iter().any(|(ptx, _)| *ptx == experiment.ptx) {
            let kernel = self.gpu.load(&experiment.ptx, Experiment::ENTRY)?;
            self.loaded.push((experiment.ptx.clone(), kernel));
        }
        let known = self.loaded.iter().find(|(ptx, _)| *ptx == experiment.ptx);
        let (_, kernel) = known.ok_or("not loaded")?;
        let input = self.gpu.upload(&experiment.input)?;
        let output = self.gpu.alloc(experiment.output_bytes)?;
        let config = LaunchConfig {
            grid: [experiment.blocks, 1, 1],
            block: [experiment.threads, 1, 1],
            dynamic_shared: experiment.dynamic_shared,
            cluster: 1,
        };
        let mut args = vec![KernelArg::Buffer(&input), KernelArg::Buffer(&output)];
        args.extend(more);
        self.gpu.launch(kernel, &config, &args)?;
        Ok(self.gpu.download(&output)?)
    }

    fn wgmma(&mut self, case: &wgmma_layout::Case) -> Result<wgmma_layout::Placed> {
        let [low, high] = case.experiments();
        Ok(case.decode([&self.run(&low, &[])?, &self.run(&high, &[])?])?)
    }

    fn tma(&mut self, case: &tma_layout::Case) -> Result<tma_layout::Loaded> {
        let tensor = self.gpu.upload(&case.tensor_bytes())?;
        let map = TensorMap {
            dimensions: &case.tensor.map(u64::from),
            strides: &[case.stride().into()],
            tile: &case.tile,
            swizzle: match case.swizzle {
                32 => Swizzle::B32,
                64 => Swizzle::B64,
                128 => Swizzle::B128,
                _ => Swizzle::None,
            },
        };
        let map = self.gpu.tensor_map(&tensor, &map)?;
        let output = self.run(&case.experiment(), &[KernelArg::Bytes(&map)])?;
        Ok(case.decode(&output)?)
    }
}

/// A row for each case; those that make no sense are left out and said.
fn record<C: Display, R: Display>(
    folder: &str,
    name: &str,
    columns: &[&str],
    cases: &[C],
    mut run: impl FnMut(&C) -> Result<R>,
) -> Result<()> {
    let mut text = columns.join(",") + "\n";
    let mut failed = 0;
    for case in cases {
        match run(case) {
            Ok(row) => text += &format!("{row}\n"),
            Err(error) if error.is::<BadRow>() => {
                failed += 1;
                eprintln!("{error}");
            }
            Err(error) => return Err(format!("{case}: {error}").into()),
        }
    }
    let path = Path::new(folder).join(name);
    std::fs::write(&path, text)?;
    println!(
        "{}: {} of {} cases",
        path.display(),
        cases.len() - failed,
        cases.len()
    );
    Ok(())
}

fn main() -> Result<()> {
    let (mut folder, mut on_emulator) = (None, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--emulator" => on_emulator = true,
            _ => folder = Some(argument),
        }
    }
    let folder = folder.ok_or("which folder shall the recordings be written to?")?;
    let (wgmma, tma) = (wgmma_layout::cases(), tma_layout::cases());
    let columns = (wgmma_layout::COLUMNS, tma_layout::COLUMNS);
    if on_emulator {
        return record(&folder, "wgmma_layout.csv", &columns.0, &wgmma, |case| {
            Ok(case.on_emulator()?)
        });
    }
    let mut device = Device {
        gpu: Gpu::open(0)?,
        loaded: Vec::new(),
    };
    record(&folder, "wgmma_layout.csv", &columns.0, &wgmma, |case| {
        device.wgmma(case)
    })?;
    record(&folder, "tma_layout.csv", &columns.1, &tma, |case| {
        device.tma(case)
    })
}
