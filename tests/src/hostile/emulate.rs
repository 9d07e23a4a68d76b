//! Parses, lowers and runs PTX.
use clock::{CtaSize, Listed};
use emulator::{
    Card, Context, Element, Fill, KernelArg, LaunchConfig, Limits, Options, Ptx, Swizzle, TensorMap,
};

/// Parses a text and lowers every kernel of it.
pub(super) fn ptx(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let ptx = match Ptx::parse(&text) {
        Ok(ptx) => ptx,
        Err(error) => return drop(error.to_string()),
    };
    for constant in ["gemm_launch", "gemm_boxes"] {
        ptx.variable(constant);
    }
    match Context::new(Options::default()).load_ptx(&ptx) {
        Err(error) => drop(error.to_string()),
        Ok(module) => {
            for kernel in module.functions() {
                match module.function(kernel) {
                    Err(error) => drop(error.to_string()),
                    // As it is scheduled for the clock, without ptxas.
                    Ok(function) => drop(Listed::new(
                        &text,
                        function.instructions(),
                        CtaSize {
                            threads: 128,
                            shared_bytes: function.static_shared(),
                        },
                        &clock::Card::H200,
                    )),
                }
            }
        }
    }
}

/// Matrices of the problem that rungs are given: small, and large enough for a tile.
const SIDE: u32 = 128;
const MATRIX_BYTES: usize = 2 * (SIDE * SIDE) as usize;

/// Launches the first kernel of a text. The first byte selects the launch's configuration.
pub(super) fn emulate(bytes: &[u8]) {
    let Some((&setup, text)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let options = Options {
        sanitize: setup >> 5 & 1 == 1,
        schedule: u64::from(setup >> 6 & 1),
        card: Card::ALL[usize::from(setup >> 7)],
        limits: Limits {
            instructions: 20_000,
            blocks: 32,
            memory: 1 << 26,
            ..Limits::default()
        },
        ..Options::default()
    };
    let mut context = Context::new(options);
    let Ok(module) = context.load_module(&text) else {
        return;
    };
    let Some(kernel) = module.functions().next() else {
        return;
    };
    let Ok(function) = module.function(kernel) else {
        return;
    };
    let mut args = Vec::new();
    for (at, param) in function.params().iter().enumerate() {
        // The arguments of a matrix-multiply kernel: three matrices, then three sides.
        let name = ["A", "B", "C"][at % 3];
        let Ok(buffer) = context.upload(name, &[0x00, 0x3c].repeat(MATRIX_BYTES / 2)) else {
            return;
        };
        args.push(match param.bytes {
            8 => buffer.address().to_le_bytes().to_vec(),
            4 => SIDE.to_le_bytes().to_vec(),
            128 => context
                .tensor_map(&buffer, &tensor_map(setup))
                .map_or(vec![1; 128], |map| map.to_vec()),
            bytes => vec![1; bytes as usize],
        });
    }
    let cluster = 1 + u32::from(setup >> 3 & 1);
    let stated = module.ptx().variable("gemm_launch").and_then(|bytes| {
        let int = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        Some([int(12)?, int(16)?, int(20)?])
    });
    let [threads, dynamic_shared, cluster] = match stated {
        Some(stated) if setup & 7 != 0 => stated,
        _ => [
            [1, 32, 33, 64, 128, 256, 384, 1024][setup as usize & 7],
            2048,
            cluster,
        ],
    };
    let config = LaunchConfig {
        grid: [cluster.clamp(1, 16) * (1 + u32::from(setup >> 4 & 1)), 1, 1],
        block: [threads, 1, 1],
        dynamic_shared,
        cluster: [cluster, 1, 1],
        overlap: false,
        cooperative: setup >> 5 & 1 == 1,
    };
    let args: Vec<KernelArg<'_>> = args.iter().map(|bytes| KernelArg::Bytes(bytes)).collect();
    match context.launch(&function, &config, &args) {
        Ok(report) => report
            .findings
            .iter()
            .for_each(|finding| drop(finding.to_string())),
        Err(error) => drop(error.to_string()),
    }
}

/// A matrix and its tiles, as the rungs on Hopper take them.
fn tensor_map(setup: u8) -> TensorMap<'static> {
    TensorMap {
        element: Element::F16,
        dimensions: &[SIDE as u64, SIDE as u64],
        strides: &[2 * SIDE as u64],
        tile: &[64, 64],
        element_strides: &[],
        swizzle: [Swizzle::B128, Swizzle::None][usize::from(setup >> 7)],
        fill: Fill::Zeros,
    }
}
