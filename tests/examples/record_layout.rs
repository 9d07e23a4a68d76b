//! Records on a GPU (sm_90a) which byte of shared memory each element comes from, as `wgmma_layout.csv`:
//!
//!     cargo run -p ladder-tests --example record_layout -- DIR
//!
//! With `--emulator`, what the emulator says instead.
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use emulator::calibrate::Experiment;
use emulator::calibrate::wgmma_layout::{COLUMNS, cases};
use gpu::{Gpu, Kernel, KernelArg, LaunchConfig};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Kernels that are loaded already, by their text.
struct Device {
    gpu: Gpu,
    loaded: Vec<(String, Kernel)>,
}

impl Device {
    fn run(&mut self, experiment: &Experiment) -> Result<Vec<u8>> {
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
        let args = [KernelArg::Buffer(&input), KernelArg::Buffer(&output)];
        self.gpu.launch(kernel, &config, &args)?;
        Ok(self.gpu.download(&output)?)
    }
}

fn main() -> Result<()> {
    let (mut folder, mut on_emulator) = (None, false);
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--emulator" => on_emulator = true,
            _ => folder = Some(argument),
        }
    }
    let folder = folder.ok_or("which folder shall wgmma_layout.csv be written to?")?;
    let mut device = match on_emulator {
        true => None,
        false => Some(Device {
            gpu: Gpu::open(0)?,
            loaded: Vec::new(),
        }),
    };
    let path = Path::new(&folder).join("wgmma_layout.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path)?);
    writeln!(file, "{}", COLUMNS.join(","))?;
    let mut failed = 0;
    let cases = cases();
    for case in &cases {
        let placed = match &mut device {
            Some(device) => {
                let [low, high] = case.experiments();
                case.decode([&device.run(&low)?, &device.run(&high)?])
            }
            None => case.on_emulator(),
        };
        match placed {
            Ok(row) => writeln!(file, "{row}")?,
            Err(error) => {
                failed += 1;
                eprintln!("{error}");
            }
        }
    }
    file.flush()?;
    println!(
        "{}: {} of {} cases",
        path.display(),
        cases.len() - failed,
        cases.len()
    );
    Ok(())
}
