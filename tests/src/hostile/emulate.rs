//! PTX: parsed, lowered, run.
use emulator::{
    Arg, Card, Element, Fill, Launch, Limits, Memory, Module, Options, Program, Swizzle, TensorMap,
};

/// Parses a text and lowers every kernel of it.
pub(super) fn ptx(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Module::parse(&text) {
        Err(error) => drop(error.to_string()),
        Ok(module) => {
            let kernels: Vec<&str> = module.kernels().collect();
            for kernel in kernels {
                if let Err(error) = Program::new(&module, kernel) {
                    drop(error.to_string());
                }
            }
            for constant in ["gemm_launch", "gemm_boxes"] {
                module.variable(constant);
            }
        }
    }
}

/// Matrices of the problem that rungs are given: small, and with room for a tile.
const SIDE: u32 = 128;
const MATRIX_BYTES: usize = 2 * (SIDE * SIDE) as usize;

/// Launches the first kernel of a text. The first byte says how.
pub(super) fn emulate(bytes: &[u8]) {
    let Some((&setup, text)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let Ok(module) = Module::parse(&text) else {
        return;
    };
    let Some(kernel) = module.kernels().next() else {
        return;
    };
    let Ok(program) = Program::new(&module, kernel) else {
        return;
    };
    let mut memory = Memory::new(1 << 24);
    let mut pointers = Vec::new();
    let mut args = Vec::new();
    for (at, param) in program.params().iter().enumerate() {
        // As a matrix-multiply kernel takes them: three matrices, then three sides.
        let name = ["A", "B", "C"][at % 3];
        let Ok(pointer) = memory.alloc(name, [0x00, 0x3c].repeat(MATRIX_BYTES / 2)) else {
            return;
        };
        pointers.push(pointer);
        args.push(match param.bytes {
            8 => Arg::U64(pointer),
            4 => Arg::U32(SIDE),
            128 => Arg::Bytes(tensor_map(pointer, setup)),
            bytes => Arg::Bytes(vec![1; bytes as usize]),
        });
    }
    let cluster = 1 + u32::from(setup >> 3 & 1);
    let stated = module.variable("gemm_launch").and_then(|bytes| {
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
    let shape = Launch {
        grid: [cluster.clamp(1, 16) * (1 + u32::from(setup >> 4 & 1)), 1, 1],
        block: [threads, 1, 1],
        dynamic_shared,
        cluster: [cluster, 1, 1],
        args,
    };
    let options = Options {
        sanitize: setup >> 5 & 1 == 1,
        schedule: u64::from(setup >> 6 & 1),
        card: Card::ALL[usize::from(setup >> 7)],
        limits: Limits {
            instructions: 20_000,
            blocks: 32,
            memory: 1 << 26,
        },
        ..Options::default()
    };
    match emulator::launch(&program, &mut memory, &shape, &options) {
        Ok(run) => run
            .findings
            .iter()
            .for_each(|finding| drop(finding.to_string())),
        Err(error) => drop(error.to_string()),
    }
}

/// A matrix and its tiles, as the rungs on Hopper take them.
fn tensor_map(address: u64, setup: u8) -> Vec<u8> {
    let map = TensorMap {
        address,
        element: Element::F16,
        dimensions: &[SIDE.into(), SIDE.into()],
        strides: &[2 * u64::from(SIDE)],
        tile: &[64, 64],
        element_strides: &[],
        swizzle: [Swizzle::B128, Swizzle::None][usize::from(setup >> 7)],
        fill: Fill::Zeros,
    };
    map.encode().map_or(vec![1; 128], |bytes| bytes.to_vec())
}
