//! The speed of a kernel for C = A B^T in bf16 compared with cuBLAS, in both regimes: under sustained load, and with
//! idle time between the samples. The measurement is that of the harness's bench; only the operands differ.
use std::path::Path;
use std::rc::Rc;

use gpu::{
    Contestant, Context, Cublas, CublasLt, Elements, ExternalGemm, Samples, Timing, alternate,
};
use half::bf16;
use harness::table::{plural, table};
use harness::{
    ALGORITHMS, Arg, Buffer, CUBLAS_BF16_TN, CUBLAS_LT_BF16_TN, Device, Effort,
    Error as HarnessError, Function, KERNEL, KernelFile, LaunchConfig, LaunchSpec, OnGpu,
    Provenance, Regime, SIZES, Size, contestant, lt_name, measure_cool, measure_sustained, on_gpu,
    sets, sides,
};
use serde::Serialize;

use crate::arguments::Arguments;
use crate::device::source_of;
use crate::experiments::bf16_tn::{KERNELS, LAB, Operands, tilings};
use crate::run::{Error, Result};

/// All sizes.
#[derive(Serialize)]
struct Timed {
    lab: &'static str,
    /// The kernel in both regimes of every size.
    summary: Vec<Summary>,
    sizes: Vec<SizeTiming>,
    provenance: Provenance,
}

/// The kernel in one regime, compared with the libraries.
#[derive(Serialize)]
struct Summary {
    size: String,
    regime: &'static str,
    tflops: Option<f64>,
    percent_of_cublas: Option<f64>,
    percent_of_cublaslt: Option<f64>,
    /// The library of `--beside`; null if there is none, or if it does not multiply this size.
    other: Option<String>,
    percent_of_other: Option<f64>,
    /// The kernel's SM clock, counted by the SMs.
    sm_mhz: Option<f64>,
}

/// One size.
#[derive(Serialize)]
struct SizeTiming {
    size: String,
    /// The kernel's tile: the fastest of those tried in a first pass, whose samples are not reported.
    tile: String,
    tiles_tried: usize,
    /// Elements compared with a product in f64, and with cuBLAS's C.
    checked: usize,
    checked_against_cublas: usize,
    buffer_sets: usize,
    /// Number of cuBLASLt's algorithms that were tried.
    algorithms: usize,
    /// The library of `--beside`, if it multiplies this size.
    other: Option<String>,
    sustained: Regime,
    cool: Regime,
}

/// Times the sizes that the arguments name; returns the output.
pub fn run(arguments: &Arguments, gpu: Context) -> Result<String> {
    let kernels = kernels(&arguments.only)?;
    let sizes = sizes(&arguments.sizes)?;
    let mut device = Device::Gpu(gpu);
    let opponents = Opponents::new(context(&device)?, arguments.beside.as_deref())?;
    let mut timed = Vec::new();
    for size in sizes {
        timed.push(time_size(
            size,
            &kernels,
            arguments,
            &mut device,
            &opponents,
        )?);
    }
    let source = source_of(&LAB, kernels[0], arguments)?;
    let mut provenance = Provenance::of(source.file.clone(), source.origin.to_string());
    let info = context(&device)?.info();
    provenance.gpu = Some(OnGpu::new(info, Some(opponents.cublas.version())));
    let timed = Timed {
        lab: LAB.name,
        summary: timed.iter().flat_map(SizeTiming::summary).collect(),
        sizes: timed,
        provenance,
    };
    Ok(match arguments.json {
        true => harness::schema::LABS_TIME.pretty(&timed),
        false => timed.text(),
    })
}

/// The kernels with these tiles, or all kernels; at least one.
fn kernels(only: &[String]) -> Result<Vec<&'static KernelFile<'static>>> {
    let tiles: Vec<&str> = KERNELS.iter().map(|kernel| kernel.configuration).collect();
    let only: Vec<&str> = only.iter().flat_map(|one| one.split(',')).collect();
    if let Some(unknown) = only.iter().find(|tile| !tiles.contains(tile)) {
        return Err(Error::Usage(format!(
            "{} has no tile {unknown}; it has {}",
            LAB.name,
            tiles.join(", ")
        )));
    }
    let wanted = |kernel: &&KernelFile<'_>| only.is_empty() || only.contains(&kernel.configuration);
    Ok(KERNELS.iter().filter(wanted).collect())
}

/// These sizes, or the default ones. TMA needs rows of whole 16 bytes.
fn sizes(asked: &[Size]) -> Result<Vec<Size>> {
    if let Some(size) = asked.iter().find(|size| size.n % 8 > 0 || size.k % 8 > 0) {
        return Err(Error::Usage(format!(
            "{size}: N and K must be multiples of 8, so that rows are whole 16 bytes"
        )));
    }
    Ok(match asked {
        [] => SIZES.to_vec(),
        asked => asked.to_vec(),
    })
}

/// What the kernel is compared with, besides cuBLASLt's algorithms, which differ from size to size.
struct Opponents {
    cublas: Cublas,
    other: Option<(String, ExternalGemm)>,
}

impl Opponents {
    fn new(gpu: &Context, beside: Option<&Path>) -> Result<Self> {
        let open =
            |file: &Path| Ok::<_, Error>((library_name(file), ExternalGemm::open(gpu, file)?));
        Ok(Self {
            cublas: Cublas::new(gpu)?,
            other: beside.map(open).transpose()?,
        })
    }
}

/// `fast_cu` for `some/libfast_cu.so`.
fn library_name(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let name = stem.strip_prefix("lib").filter(|name| !name.is_empty());
    name.unwrap_or(&stem).to_owned()
}

fn context(device: &Device) -> Result<&Context> {
    match device {
        Device::Gpu(gpu) => Ok(gpu),
        Device::Emulator(_) => Err(HarnessError::OtherDevice.into()),
    }
}

/// The kernel with one tile, and its launch on each set of buffers.
struct Tile {
    name: &'static str,
    function: Rc<gpu::Function>,
    config: LaunchConfig,
    args: Vec<Vec<Arg>>,
}

impl Tile {
    fn new(
        kernel: &KernelFile<'static>,
        size: Size,
        sets: &[[Buffer; 3]],
        arguments: &Arguments,
        device: &mut Device,
    ) -> Result<Self> {
        let source = source_of(&LAB, kernel, arguments)?;
        let unfit = |why: &str| Error::Usage(format!("{}: {why}", source.file));
        let ptx = emulator::Ptx::parse(&source.ptx).map_err(|error| HarnessError::Ptx {
            file: source.file.clone(),
            error,
        })?;
        let spec = LaunchSpec::of(&ptx).map_err(|_| unfit("it does not state its launch"))?;
        let boxes = spec.boxes.ok_or_else(|| unfit("it states no boxes"))?;
        let (function, _) = device.load(&source, "gemm")?;
        let Function::Gpu(function) = function else {
            return Err(HarnessError::OtherDevice.into());
        };
        let of_set = |set: &[Buffer; 3]| {
            let maps = set.iter().zip(tilings(size, boxes));
            let maps = maps.map(|(buffer, tiling)| device.tensor_map(buffer, &tiling));
            let mut args = maps.collect::<harness::Result<Vec<Arg>>>()?;
            args.extend([size.m, size.n, size.k].map(Arg::Int));
            Ok(args)
        };
        let args = sets.iter().map(of_set).collect::<Result<_>>()?;
        Ok(Self {
            name: kernel.configuration,
            function,
            config: LaunchConfig {
                grid: [spec.blocks(size, context(device)?.info().sms), 1, 1],
                block: [spec.threads, 1, 1],
                dynamic_shared: spec.dynamic_shared,
                cluster: [spec.cluster, 1, 1],
                overlap: true, // the kernel itself waits for the previous launch
                cooperative: false,
            },
            args,
        })
    }

    /// A contestant of this name.
    fn contestant<'a>(&'a self, name: &str, gpu: &'a Context) -> Result<Contestant<'a>> {
        let launches = self.args.iter().map(|args| on_gpu(&self.config, args));
        let launches = launches.collect::<harness::Result<Vec<_>>>()?;
        Ok(contestant(name, move |set| {
            let (config, args) = &launches[set];
            gpu.launch(&self.function, config, args)
        }))
    }
}

fn time_size(
    size: Size,
    kernels: &[&'static KernelFile<'static>],
    arguments: &Arguments,
    device: &mut Device,
    Opponents { cublas, other }: &Opponents,
) -> Result<SizeTiming> {
    let operands = Operands::new(size);
    let [a, b] = operands.bytes();
    let info = context(device)?.info().clone();
    let buffer_sets = sets(size, info.l2_bytes, info.memory_bytes);
    let bytes_of_c = 2 * size.m as usize * size.n as usize;
    let mut buffers = Vec::new();
    for _ in 0..buffer_sets {
        let (a, b) = (device.upload("A", &a)?, device.upload("B", &b)?);
        buffers.push([a, b, device.alloc("C", bytes_of_c)?]);
    }
    let mut tiles = Vec::new();
    for kernel in kernels {
        tiles.push(Tile::new(kernel, size, &buffers, arguments, device)?);
    }
    let gpu = context(device)?;
    let on_gpu = buffers.iter().map(on_the_gpu);
    let on_gpu = on_gpu.collect::<harness::Result<Vec<_>>>()?;
    let shape = sides(size);

    // Is C correct, for each tile and for cuBLAS, which must compute the same product?
    let first = on_gpu[0];
    let c_of = |enqueue: &mut dyn FnMut() -> std::result::Result<(), gpu::GpuError>| {
        gpu.fill(first[2], 0xff)?;
        enqueue()?;
        gpu.read(first[2])
    };
    let expected = operands.expected();
    let check = |name: &str, c: &[u8]| {
        let verdict = expected.check(c);
        match verdict.ok() {
            true => Ok(verdict.checked),
            false => Err(wrong(size, name, verdict.wrong, verdict.checked)),
        }
    };
    let theirs = c_of(&mut || cublas.gemm_tn(Elements::Bf16, first, shape))?;
    let mut checked = check(CUBLAS_BF16_TN, &theirs)?;
    let mut multiplies = false;
    if let Some((name, library)) = other {
        let c = c_of(&mut || library.run(first, shape).map(|can| multiplies = can))?;
        if multiplies {
            check(name, &c)?;
        }
    }
    let other = other.as_ref().filter(|_| multiplies);
    for tile in &tiles {
        let contestant = tile.contestant(tile.name, gpu)?;
        let ours = c_of(&mut || (contestant.enqueue)(0))?;
        checked = check(tile.name, &ours)?;
        let others = differing(&ours, &theirs, size.k);
        if others > 0 {
            let all = ours.len() / 2;
            return Err(wrong(size, tile.name, others, all));
        }
    }

    // A first pass chooses the tile, as cuBLASLt's algorithms are chosen: its samples are not reported.
    let looks = tiles.iter().map(|tile| tile.contestant(tile.name, gpu));
    let looks = looks.collect::<Result<Vec<_>>>()?;
    let timing = Timing {
        rounds: 7,
        warmup: 2,
        launches_per_sample: 5,
        rotations: buffer_sets,
        ..Timing::default()
    };
    let looks = alternate(gpu, &looks, &timing)?;
    let fastest = fastest(&looks);
    let lt = CublasLt::tune_bf16_tn(gpu, &on_gpu, shape, ALGORITHMS)?;

    let mut contestants = vec![
        tiles[fastest].contestant(KERNEL, gpu)?,
        contestant(CUBLAS_BF16_TN, |set| {
            cublas.gemm_tn(Elements::Bf16, on_gpu[set], shape)
        }),
    ];
    for which in 0..lt.kept() {
        let (lt, sets) = (&lt, &on_gpu);
        let run = move |set: usize| lt.run(which, sets[set]);
        contestants.push(contestant(&lt_name(CUBLAS_LT_BF16_TN, which), run));
    }
    if let Some((name, library)) = other {
        let sets = &on_gpu;
        // It has multiplied this size above.
        let run = move |set: usize| library.run(sets[set], shape).map(|_| ());
        contestants.push(contestant(name, run));
    }
    let sustained = measure_sustained(gpu, &contestants, size, buffer_sets, Effort::Bench)?;
    let cool = measure_cool(gpu, &contestants, &sustained, size)?;
    let sustained = sustained.regime;
    Ok(SizeTiming {
        size: size.to_string(),
        tile: tiles[fastest].name.into(),
        tiles_tried: tiles.len(),
        checked,
        checked_against_cublas: theirs.len() / 2,
        buffer_sets,
        algorithms: lt.timed(),
        other: other.map(|(name, _)| name.clone()),
        sustained,
        cool,
    })
}

fn on_the_gpu([a, b, c]: &[Buffer; 3]) -> harness::Result<[&gpu::Buffer; 3]> {
    Ok([a.on_gpu()?, b.on_gpu()?, c.on_gpu()?])
}

fn wrong(size: Size, what: &str, wrong: usize, checked: usize) -> Error {
    let why = format!(
        "{} {size}, {what}: {wrong} of {checked} values are wrong",
        LAB.name
    );
    HarnessError::Fault(vec![why]).into()
}

/// The number of elements that differ in two Cs, by more than two roundings to bf16 and the f32 roundings of a sum of K
/// random products can explain. NaN differs from everything.
fn differing(ours: &[u8], theirs: &[u8], k: u32) -> usize {
    let ((ours, _), (theirs, _)) = (ours.as_chunks::<2>(), theirs.as_chunks::<2>());
    let of_the_sum = f32::sqrt(k as f32) / 1024.0;
    let agree = |(ours, theirs): (&[u8; 2], &[u8; 2])| {
        let [ours, theirs] = [ours, theirs].map(|x| bf16::from_le_bytes(*x).to_f32());
        (ours - theirs).abs() <= theirs.abs() / 128.0 + of_the_sum
    };
    let pairs = ours.iter().zip(theirs);
    ours.len().abs_diff(theirs.len()) + pairs.filter(|pair| !agree(*pair)).count()
}

/// The index of the smallest median; 0 without samples.
fn fastest(samples: &[Samples]) -> usize {
    let medians = samples.iter().map(Samples::median).enumerate();
    let least = medians.min_by(|x, y| x.1.total_cmp(&y.1));
    least.map_or(0, |(place, _)| place)
}

impl SizeTiming {
    fn summary(&self) -> [Summary; 2] {
        [("sustained", &self.sustained), ("cool", &self.cool)].map(|(name, regime)| {
            let of = |library: &str| {
                let found = regime.contestants.iter().find(|one| one.name == library);
                found.map(|one| 100.0 * one.kernel_speed)
            };
            let kernel = regime.contestants.first();
            Summary {
                size: self.size.clone(),
                regime: name,
                tflops: kernel.map(|kernel| kernel.tflops),
                percent_of_cublas: of(CUBLAS_BF16_TN),
                percent_of_cublaslt: of(CUBLAS_LT_BF16_TN),
                percent_of_other: self.other.as_deref().and_then(of),
                other: self.other.clone(),
                sm_mhz: kernel.and_then(|kernel| kernel.sm_mhz),
            }
        })
    }
}

impl Timed {
    /// As text for a terminal.
    fn text(&self) -> String {
        let head = [
            "",
            "median ms",
            "middle 80%",
            "TFLOP/s",
            "kernel is at",
            "SM MHz",
            "W",
        ];
        let mut lines = Vec::new();
        for timing in &self.sizes {
            lines.push(format!(
                "{}, tile {}, the fastest of {} in a first pass",
                timing.size,
                timing.tile,
                plural(timing.tiles_tried as u64, "tile"),
            ));
            for (name, regime) in [("sustained", &timing.sustained), ("cool", &timing.cool)] {
                lines.push(format!(
                    "  {name}: {} of {} each, interleaved, over {}, idle for {:.0} ms after each",
                    plural(regime.rounds as u64, "sample"),
                    plural(regime.launches_per_sample as u64, "launch"),
                    plural(timing.buffer_sets as u64, "buffer set"),
                    regime.rest_ms,
                ));
                let rows: Vec<_> = rows(regime).collect();
                lines.extend(
                    table(&head, &rows)
                        .into_iter()
                        .map(|row| format!("    {row}")),
                );
            }
            lines.push(String::new());
        }
        lines.extend(self.provenance.lines());
        let lines: String = lines
            .iter()
            .map(|line| format!("{}\n", format!("  {line}").trim_end()))
            .collect();
        format!("{}  {}\n\n{lines}", self.lab, LAB.about)
    }
}

/// A row for each contestant, with its clock, and the power of all contestants together.
fn rows(regime: &Regime) -> impl Iterator<Item = Vec<String>> {
    let median =
        |of: Option<[f64; 3]>| of.map_or("-".into(), |[_, median, _]| format!("{median:.0}"));
    regime.contestants.iter().map(move |one| {
        vec![
            one.name.clone(),
            format!("{:.4}", one.median_ms),
            format!("{:.4} to {:.4}", one.p10_ms, one.p90_ms),
            format!("{:.1}", one.tflops),
            format!("{:.1}%", 100.0 * one.kernel_speed),
            one.sm_mhz
                .map_or_else(|| median(regime.sm_mhz), |mhz| format!("{mhz:.0}")),
            median(regime.power_watts),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::Contest;

    fn size(text: &str) -> Size {
        text.parse().expect("a size")
    }

    #[test]
    fn only_the_requested_tiles_and_sizes_are_timed() {
        let tiles = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|one| (*one).to_owned()).collect();
            let tiles = kernels(&only).map(|found| {
                found
                    .iter()
                    .map(|one| one.configuration)
                    .collect::<Vec<_>>()
            });
            tiles.map_err(|error| error.to_string())
        };
        assert_eq!(tiles(&[]).map(|all| all.len()), Ok(KERNELS.len()));
        assert_eq!(tiles(&["64x128,128x256"]), Ok(vec!["128x256", "64x128"]));
        assert!(tiles(&["32x64"]).is_err_and(|why| why.contains("192x128")));
        assert_eq!(sizes(&[]).expect("the default"), SIZES);
        assert!(sizes(&[size("512x512x8")]).is_ok());
        assert!(
            sizes(&[size("512x512x4")])
                .is_err_and(|why| why.to_string().contains("multiples of 8"))
        );
    }

    #[test]
    fn a_library_is_called_as_its_file() {
        let names =
            ["some/libfast_cu.so", "mine.so", "lib"].map(|file| library_name(file.as_ref()));
        assert_eq!(names, ["fast_cu", "mine", "lib"]);
    }

    #[test]
    fn one_rounding_apart_is_the_same_and_a_nan_is_not() {
        let bytes = |values: [f32; 3]| values.map(|x| bf16::from_f32(x).to_le_bytes()).concat();
        let ours = bytes([100.0, 0.0, -3.0]);
        assert_eq!(differing(&ours, &bytes([100.5, 0.0, -3.0]), 64), 0);
        assert_eq!(differing(&ours, &bytes([102.0, 0.1, -3.0]), 64), 2);
        assert_eq!(differing(&bytes([f32::NAN, 0.0, -3.0]), &ours, 64), 1);
        assert_eq!(differing(&ours[..4], &ours, 64), 1);
        // Cs of different products differ nearly everywhere.
        let operands = Operands::new(size("16x24x512"));
        let swapped = Operands::new(size("24x16x512"));
        let c = |operands: &Operands| match operands.expected() {
            crate::expected::Expected::NearBf16(values) => {
                let values = values.iter().map(|near| bf16::from_f64(near.value));
                values.flat_map(bf16::to_le_bytes).collect::<Vec<u8>>()
            }
            _ => Vec::new(),
        };
        assert_eq!(differing(&c(&operands), &c(&operands), 512), 0);
        assert!(differing(&c(&operands), &c(&swapped), 512) > 300);
    }

    #[test]
    fn the_report_has_clock_and_power_in_every_row() {
        let contest = |name: &str, median_ms| Contest {
            name: name.into(),
            kernel: None,
            median_ms,
            p10_ms: median_ms,
            p90_ms: median_ms,
            tflops: size("1024").flop() / median_ms / 1e9,
            kernel_speed: median_ms,
            sm_mhz: None,
            samples_ms: Vec::new(),
        };
        let regime = |rest_ms, mhz| Regime {
            rounds: 30,
            launches_per_sample: 1,
            rest_ms,
            contestants: vec![contest(KERNEL, 1.0), contest(CUBLAS_BF16_TN, 1.25)],
            sm_mhz: Some([mhz, mhz, mhz]),
            power_watts: None,
        };
        let sizes = vec![SizeTiming {
            size: "1024x1024x1024".into(),
            tile: "128x256".into(),
            tiles_tried: 4,
            checked: 65,
            checked_against_cublas: 1 << 20,
            buffer_sets: 2,
            algorithms: 8,
            other: None,
            sustained: regime(0.0, 1500.0),
            cool: regime(24.0, 1980.0),
        }];
        let timed = Timed {
            lab: LAB.name,
            summary: sizes.iter().flat_map(SizeTiming::summary).collect(),
            sizes,
            provenance: Provenance::of("kernel.cu".into(), "committed".into()),
        };
        let cool = timed.summary.last().expect("two regimes");
        assert_eq!((cool.regime, cool.percent_of_cublas), ("cool", Some(125.0)));
        let text = timed.text();
        for line in [
            "1024x1024x1024, tile 128x256, the fastest of 4 tiles in a first pass",
            "sustained: 30 samples of 1 launch each, interleaved, over 2 buffer sets, idle for 0 ms after each",
            "idle for 24 ms after each",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        let rows = text.lines().filter(|line| line.contains(CUBLAS_BF16_TN));
        let ends: Vec<Vec<&str>> = rows
            .map(|row| row.split_whitespace().rev().take(3).collect())
            .collect();
        assert_eq!(ends, [["-", "1500", "125.0%"], ["-", "1980", "125.0%"]]);
        assert!(
            harness::schema::LABS_TIME
                .pretty(&timed)
                .contains("\"sm_mhz\"")
        );
    }
}
