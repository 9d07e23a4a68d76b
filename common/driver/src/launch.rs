//! Launches: arguments are read as the PTX declares them, and a kernel's fault puts the context into an error state.
use emulator::{Finding, FindingKind, KernelArg, LaunchConfig};
use harness::table::plural;

use crate::entry::entry_points;
use crate::error::{
    ASSERT, Answer, Fault, ILLEGAL_ADDRESS, INVALID_CLUSTER_SIZE, INVALID_VALUE, LAUNCH_FAILED,
    LAUNCH_TIMEOUT, MISALIGNED_ADDRESS, NOT_SUPPORTED,
};
use crate::host::{self, In, plain_struct};
use crate::log;
use crate::module::Kernel;
use crate::report;
use crate::state::{State, with_context};
use crate::stream::Work;
use crate::table::Handle;

/// A launch with its arguments.
#[derive(Clone, Debug)]
pub struct Launch {
    pub kernel: Handle,
    pub config: LaunchConfig,
    pub arguments: Vec<Vec<u8>>,
}

plain_struct! {
    /// `CUlaunchConfig`
    pub struct Config {
        pub grid: [u32; 3],
        pub block: [u32; 3],
        pub dynamic_shared: u32,
        pub pad_1: u32,
        pub stream: usize,
        pub attributes: usize,
        pub count: u32,
        pub pad_2: u32,
    }
}

plain_struct! {
    /// `CUlaunchAttribute`: a number and a union of 64 bytes.
    pub struct Attribute {
        pub id: u32,
        pub pad: u32,
        pub value: [u32; 8],
        pub rest: [u32; 8],
    }
}

// CUlaunchAttributeID
const COOPERATIVE: u32 = 2;
const CLUSTER: u32 = 4;
const PROGRAMMATIC_SERIALIZATION: u32 = 6;
/// Attributes without effect here: none, L2, synchronization, cluster scheduling, priority, memory synchronization
/// domains, preferred cluster size, carveout.
const HINTS: [u32; 10] = [0, 1, 3, 5, 8, 9, 10, 11, 14, 16];
const MOST_ATTRIBUTES: u32 = 64;

// CU_LAUNCH_PARAM_…
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_BYTES: usize = 2;

/// The largest cluster without `CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED`.
const PORTABLE_CLUSTER: u64 = 8;

/// The arguments, whose sizes the PTX declares.
fn arguments(kernel: &Kernel, list: In<usize>, extra: In<usize>) -> Result<Vec<Vec<u8>>, Fault> {
    let params = kernel.function.params();
    if params.is_empty() {
        return Ok(Vec::new());
    }
    if !list.is_null() {
        let pointers = list.all(params.len())?;
        let pairs = params.iter().zip(pointers);
        return pairs
            .map(|(param, pointer)| {
                let mut bytes = vec![0; param.bytes as usize];
                host::read(pointer as u64, &mut bytes)?;
                Ok(bytes)
            })
            .collect();
    }
    let takes = format!(
        "{} takes {}",
        kernel.function.name(),
        plural(params.len() as u64, "parameter")
    );
    if extra.is_null() {
        return Err(Fault::of(
            INVALID_VALUE,
            format!("{takes}, but none are given"),
        ));
    }
    let (mut buffer, mut bytes) = (0usize, 0);
    for pair in 0..3 {
        let at = extra.address().wrapping_add(2 * pair * size_of::<usize>());
        let (key, value) = (
            In::<usize>::at(at),
            In::<usize>::at(at.wrapping_add(size_of::<usize>())),
        );
        match key.get()? {
            END => break,
            BUFFER => buffer = value.get()?,
            BUFFER_BYTES => bytes = In::<usize>::at(value.get()?).get()?,
            _ => return Err(Fault::silent(INVALID_VALUE)),
        }
    }
    let end = params
        .iter()
        .map(|param| param.offset() as usize + param.bytes as usize);
    let end = end.max().unwrap_or(0);
    if bytes < end {
        return Err(Fault::of(
            INVALID_VALUE,
            format!("{takes} in {end} bytes, but {bytes} are given"),
        ));
    }
    let read = params.iter().map(|param| {
        let mut bytes = vec![0; param.bytes as usize];
        host::read(
            buffer.wrapping_add(param.offset() as usize) as u64,
            &mut bytes,
        )?;
        Ok(bytes)
    });
    read.collect()
}

impl State {
    /// Prepares a launch from its configuration and arguments.
    pub fn prepare(
        &self,
        kernel: Handle,
        mut config: LaunchConfig,
        list: In<usize>,
        extra: In<usize>,
    ) -> Result<Work, Fault> {
        let known = self.kernel(kernel)?;
        let name = known.function.name();
        if config.cluster == [1; 3] && !known.cluster.contains(&0) {
            config.cluster = known.cluster;
        }
        if config.dynamic_shared > known.most_dynamic_shared {
            return Err(Fault::of(
                INVALID_VALUE,
                format!(
                    "{name}: {} bytes of dynamic shared memory, but only {} are allowed; set CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES",
                    config.dynamic_shared, known.most_dynamic_shared
                ),
            ));
        }
        let blocks = config.cluster.iter().map(|&side| u64::from(side));
        let blocks = blocks.fold(1, u64::saturating_mul);
        if blocks > PORTABLE_CLUSTER && !known.large_clusters {
            return Err(Fault::of(
                INVALID_CLUSTER_SIZE,
                format!(
                    "{name}: clusters of {blocks} blocks; more than 8 need CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED"
                ),
            ));
        }
        Ok(Work::Launch(Box::new(Launch {
            kernel,
            config,
            arguments: arguments(known, list, extra)?,
        })))
    }

    /// Launches. As on a GPU, a kernel's fault is not an error of this call but of all later ones.
    pub fn launch(&mut self, launch: &Launch) -> Answer {
        let kernel = self.kernel(launch.kernel)?;
        let function = kernel.function.clone();
        let ptx = self.ptx_of(launch.kernel)?;
        let bytes = launch.arguments.iter();
        let args: Vec<KernelArg> = bytes.map(|bytes| KernelArg::Bytes(bytes)).collect();
        let given = self.give_to_device()?;
        let predicted = report::predicted(self, &ptx, &function, launch);
        let launched = self.gpu.launch(&function, &launch.config, &args);
        self.give_to_host(given)?;
        let report = match launched {
            Ok(report) => report,
            Err(
                error @ (emulator::Error::InstructionLimit { .. }
                | emulator::Error::MemoryLimit { .. }),
            ) => {
                log::refused(function.name(), LAUNCH_TIMEOUT, Some(&error.to_string()));
                return self.fail(LAUNCH_TIMEOUT);
            }
            Err(error) => {
                let fault = Fault::from(error);
                let why = fault.why.unwrap_or_default();
                return Err(Fault::of(fault.code, format!("{}: {why}", function.name())));
            }
        };
        report::printed(&report.printed);
        report::launched(self, &ptx, &function, &launch.config, &report, predicted);
        match report
            .findings
            .iter()
            .find(|finding| finding.kind.is_fatal())
        {
            Some(fatal) => self.fail(code_of(fatal)),
            None => Ok(()),
        }
    }

    /// Puts the current context into an error state.
    fn fail(&mut self, code: u32) -> Answer {
        let context = self.current()?;
        if let Some(context) = self.contexts.get_mut(context) {
            context.fault = Some(code);
        }
        Ok(())
    }

    /// The result of waiting for all work, which was done when it was enqueued.
    pub fn end_of_work(&mut self, _context: Handle) -> Answer {
        Ok(())
    }
}

/// The error code that CUDA returns after such a fault.
fn code_of(finding: &Finding) -> u32 {
    match finding.kind {
        FindingKind::OutOfBounds { .. } => ILLEGAL_ADDRESS,
        FindingKind::Misaligned(_) => MISALIGNED_ADDRESS,
        FindingKind::Deadlock { .. } => LAUNCH_TIMEOUT,
        FindingKind::Assertion { .. } => ASSERT,
        // On a GPU, too, every other fault is "unspecified".
        _ => LAUNCH_FAILED,
    }
}

fn launch(
    kernel: Handle,
    config: LaunchConfig,
    stream: Handle,
    list: In<usize>,
    extra: In<usize>,
) -> Answer {
    with_context(|state, _| {
        let work = state.prepare(kernel, config, list, extra)?;
        state.enqueue(stream, work)
    })
}

pub fn with_attributes(config: &Config) -> Result<LaunchConfig, Fault> {
    let mut all = LaunchConfig {
        grid: config.grid,
        block: config.block,
        dynamic_shared: config.dynamic_shared,
        ..LaunchConfig::default()
    };
    if config.count > MOST_ATTRIBUTES {
        return Err(Fault::silent(INVALID_VALUE));
    }
    for one in In::<Attribute>::at(config.attributes).all(config.count as usize)? {
        match one.id {
            CLUSTER => all.cluster = [one.value[0], one.value[1], one.value[2]],
            COOPERATIVE => all.cooperative = one.value[0] != 0,
            PROGRAMMATIC_SERIALIZATION => all.overlap = one.value[0] != 0,
            hint if HINTS.contains(&hint) => {}
            other => {
                return Err(Fault::of(
                    NOT_SUPPORTED,
                    format!("launch attribute {other} is not supported: launch without it"),
                ));
            }
        }
    }
    Ok(all)
}

entry_points! {
    /// Launches a kernel over a grid.
    4000 fn cuLaunchKernel(
        kernel: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: Handle, list: In<usize>, extra: In<usize>,
    ) {
        let config = LaunchConfig {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared,
            ..LaunchConfig::default()
        };
        launch(kernel, config, stream, list, extra)
    }
    /// As above, with attributes such as the cluster size.
    11060 fn cuLaunchKernelEx(config: In<Config>, kernel: Handle, list: In<usize>, extra: In<usize>) {
        let config = config.get()?;
        launch(kernel, with_attributes(&config)?, config.stream, list, extra)
    }
    /// As above, with all blocks resident at the same time.
    9000 fn cuLaunchCooperativeKernel(
        kernel: Handle, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: Handle, list: In<usize>,
    ) {
        let config = LaunchConfig {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            dynamic_shared,
            cooperative: true,
            ..LaunchConfig::default()
        };
        launch(kernel, config, stream, list, In::at(0))
    }
}
