//! Rung 17's kernel for bf16 with both operands K-major.
use emulator::{Ptx, Swizzle};
use half::bf16;
use harness::{KernelFile, LaunchSpec, Size, TensorBox, Tiling, random_matrix};

use super::{kernel, multiplications};
use crate::against_cublas;
use crate::expected::{Expected, Near};
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "bf16_tn",
    about: "Rung 17's kernel in bf16 with both operands K-major (TN), as public kernels are timed; on a GPU compared with cuBLAS",
    kernels: KERNELS,
    launches,
    remarks,
    time: Some(against_cublas::run),
};

/// The kernel with each of rung 17's tiles.
pub const KERNELS: &[KernelFile<'static>] = &[
    kernel!("bf16_tn", "kernel", "sm_90a", "128x256"),
    kernel!("bf16_tn", "kernel", "sm_90a", "192x128"),
    kernel!("bf16_tn", "kernel", "sm_90a", "128x128"),
    kernel!("bf16_tn", "kernel", "sm_90a", "64x128"),
    kernel!("bf16_tn", "kernel", "sm_90a", "64x64"),
];

/// SMs of an H100 or H200.
const SMS: u32 = 132;
/// For a large matrix, only every 16,381st element is compared with the f64 reference; the number is prime, so that
/// every position in a tile occurs.
const SAMPLED: usize = 16381;

/// A and B^T: the elements of both are in rows along K.
pub struct Operands {
    size: Size,
    a: Vec<bf16>,
    b: Vec<bf16>,
}

impl Operands {
    /// The rungs' random numbers, rounded to bf16.
    pub fn new(size: Size) -> Self {
        let rounded = |which, rows| {
            let matrix = random_matrix(0, which, rows, size.k);
            matrix.iter().map(|x| bf16::from_f32(x.to_f32())).collect()
        };
        Self {
            size,
            a: rounded(0, size.m),
            b: rounded(1, size.n),
        }
    }

    /// A and B as they are stored.
    pub fn bytes(&self) -> [Vec<u8>; 2] {
        let bytes = |matrix: &[bf16]| matrix.iter().flat_map(|x| x.to_le_bytes()).collect();
        [bytes(&self.a), bytes(&self.b)]
    }

    /// The expected C in f64; for a large one only a sample.
    pub fn expected(&self) -> Expected {
        let [m, n] = [self.size.m, self.size.n].map(|side| side as usize);
        let step = if m * n <= 1 << 19 { 1 } else { SAMPLED };
        let last = m * n - 1;
        let places = (0..last).step_by(step).chain([last]);
        Expected::NearBf16(places.map(|place| self.element(place)).collect())
    }

    /// One rounding to bf16 and the f32 roundings of the sum, with the same margin as the rungs' f16.
    fn element(&self, place: usize) -> Near {
        let [n, k] = [self.size.n, self.size.k].map(|side| side as usize);
        let row_of_a = &self.a[place / n * k..][..k];
        let row_of_b = &self.b[place % n * k..][..k];
        let (mut sum, mut squares) = (0.0, 0.0);
        for (a, b) in row_of_a.iter().zip(row_of_b) {
            let product = a.to_f64() * b.to_f64();
            sum += product;
            squares += product * product;
        }
        Near {
            place,
            value: sum,
            bound: sum.abs() / 256.0 + squares.sqrt() / 4096.0,
        }
    }
}

/// The tensor maps' parameters for A, B and C.
pub fn tilings(size: Size, boxes: [TensorBox; 3]) -> [Tiling; 3] {
    let Size { m, n, k } = size;
    let sides = [[m, k], [n, k], [m, n]];
    let mut boxes = boxes.into_iter();
    sides.map(|[rows, columns]| {
        let of = boxes.next().unwrap_or(TensorBox {
            columns: 1,
            rows: 1,
            swizzle: Swizzle::None,
        });
        Tiling {
            dimensions: [columns.into(), rows.into()],
            row_bytes: 2 * u64::from(columns),
            tile: [of.columns, of.rows],
            swizzle: of.swizzle,
        }
    })
}

fn launches(scale: Scale) -> Vec<Launch> {
    KERNELS
        .iter()
        .flat_map(|kernel| of_tile(kernel, scale))
        .collect()
}

/// The launches of one tile; none without committed PTX, which states the launch.
fn of_tile(kernel: &KernelFile<'static>, scale: Scale) -> Vec<Launch> {
    let spec = Ptx::parse(kernel.ptx).ok();
    let Some(spec) = spec.and_then(|ptx| LaunchSpec::of(&ptx).ok()) else {
        return Vec::new();
    };
    let size = |m, n, k| Size { m, n, k };
    let launch = |what: &str, size, blocks| launch(kernel, &spec, what, size, blocks);
    let every_tile = |size| spec.blocks(size, SMS);
    let (tile, cluster) = (spec.tile, spec.cluster);
    match scale {
        Scale::Small => {
            // Two whole tiles for each block of one cluster, the first of which is stored while the second is
            // computed.
            let whole = size(tile.bm * cluster, 2 * tile.bn, 2 * tile.bk);
            let ragged = size(200, 264, 72);
            let mut launches = vec![
                launch("", whole, cluster),
                launch(" ragged", ragged, every_tile(ragged)),
            ];
            if spec.stream_k {
                // One tile, whose 40 steps are split between three of five clusters.
                launches.push(launch(" split", size(136, 40, 40 * tile.bk), 5 * cluster));
                // Eight rows of clusters with one tile each, and eight idle clusters: each row has two narrow tiles.
                launches.push(launch(
                    " narrow",
                    size(1800, 248, 2 * tile.bk),
                    16 * cluster,
                ));
            }
            launches
        }
        Scale::Full => {
            let (whole, ragged) = (Size::cube(4096), size(4000, 3000, 2000));
            vec![
                launch("", whole, every_tile(whole)),
                launch(" ragged", ragged, every_tile(ragged)),
            ]
        }
    }
}

fn launch(
    kernel: &KernelFile<'static>,
    spec: &LaunchSpec,
    what: &str,
    size: Size,
    blocks: u32,
) -> Launch {
    let operands = Operands::new(size);
    let mut arguments = Vec::new();
    if let Some(boxes) = spec.boxes {
        let [of_a, of_b, of_c] = tilings(size, boxes);
        let [a, b] = operands.bytes();
        arguments = vec![
            Argument::Map(a, of_a),
            Argument::Map(b, of_b),
            Argument::OutputMap(of_c),
        ];
    }
    arguments.extend([size.m, size.n, size.k].map(Argument::Int));
    let name = format!("{}{what}", kernel.configuration);
    Launch {
        tile: kernel.configuration,
        grid: [blocks, 1],
        threads: spec.threads,
        dynamic_shared: spec.dynamic_shared,
        cluster: spec.cluster,
        flops: size.flop(),
        ..Launch::of_a_warp(name, "gemm", arguments, operands.expected())
    }
}

/// Copies and wavefronts of the matrix multiplication.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    vec![multiplications(done)]
}
