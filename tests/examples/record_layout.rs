//! Records on a GPU (sm_90a) which byte of shared memory each element comes from, as `wgmma_layout.csv`:
//!
//!     cargo run -p ladder-tests --example record_layout -- DIR
//!
//! With `--emulator`, what the emulator says instead.
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use emulator::probe::Probe;
use emulator::probe::wgmma_layout::{HEADER, cases};
use emulator::{Arg, Launch, Memory, Module, Options, Program};
use gpu::{Gpu, Kernel, KernelArg, LaunchConfig};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Kernels that are loaded already, by their text.
struct Device {
    gpu: Gpu,
    loaded: Vec<(String, Kernel)>,
}

impl Device {
    fn run(&mut self, probe: &Probe) -> Result<Vec<u8>> {
        if !self.loaded.iter().any(|(ptx, _)| *ptx == probe.ptx) {
            let kernel = self.gpu.load(&probe.ptx, "k")?;
            self.loaded.push((probe.ptx.clone(), kernel));
        }
        let known = self.loaded.iter().find(|(ptx, _)| *ptx == probe.ptx);
        let (_, kernel) = known.ok_or("not loaded")?;
        let input = self.gpu.upload(&probe.input)?;
        let output = self.gpu.alloc(probe.output_bytes)?;
        let config = LaunchConfig {
            grid: [1, 1, 1],
            block: [probe.threads, 1, 1],
            dynamic_shared: probe.dynamic_shared,
            cluster: 1,
        };
        let args = [KernelArg::Buffer(&input), KernelArg::Buffer(&output)];
        self.gpu.launch(kernel, &config, &args)?;
        Ok(self.gpu.download(&output)?)
    }
}

fn emulate(probe: &Probe) -> Result<Vec<u8>> {
    let program = Program::new(&Module::parse(&probe.ptx)?, "k")?;
    let mut memory = Memory::new(1 << 20);
    let input = memory.alloc("in", probe.input.clone())?;
    let output = memory.alloc("out", vec![0; probe.output_bytes])?;
    let launch = Launch {
        grid: [1; 3],
        block: [probe.threads, 1, 1],
        dynamic_shared: probe.dynamic_shared,
        args: vec![Arg::U64(input), Arg::U64(output)],
    };
    let run = emulator::launch(&program, &mut memory, &launch, &Options::default())?;
    match run.findings.first() {
        None => Ok(memory.bytes(output).ok_or("no output")?.to_vec()),
        Some(finding) => Err(finding.to_string().into()),
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
    writeln!(file, "{HEADER}")?;
    let mut failed = 0;
    let cases = cases();
    for case in &cases {
        let [low, high] = case.probes();
        let mut run = |probe: &Probe| match &mut device {
            Some(device) => device.run(probe),
            None => emulate(probe),
        };
        match case.decode([&run(&low)?, &run(&high)?]) {
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
