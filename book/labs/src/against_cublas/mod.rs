//! The speed of a kernel for C = A B^T in bf16 compared with cuBLAS, in both regimes: under sustained load, and with
//! idle time between the samples. The measurement is that of the harness's bench; only the operands differ.
mod opponents;
mod report;
mod same;
mod tile;

use gpu::{Context, CublasLt, Elements, Samples, Timing, alternate};
use harness::{
    ALGORITHMS, Buffer, CUBLAS_BF16_TN, CUBLAS_LT_BF16_TN, Device, Effort, Error as HarnessError,
    KERNEL, KernelFile, OnGpu, Provenance, SIZES, Size, contestant, lt_name, measure_cool,
    measure_sustained, sets, sides,
};

use crate::arguments::Arguments;
use crate::device::source_of;
use crate::experiments::bf16_tn::{KERNELS, LAB, Operands};
use crate::run::{Error, Result};
use opponents::Opponents;
use report::{SizeTiming, Timed};
use tile::Tile;

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

fn context(device: &Device) -> Result<&Context> {
    match device {
        Device::Gpu(gpu) => Ok(gpu),
        Device::Emulator(_) => Err(HarnessError::OtherDevice.into()),
    }
}

fn time_size(
    size: Size,
    kernels: &[&'static KernelFile<'static>],
    arguments: &Arguments,
    device: &mut Device,
    opponents: &Opponents,
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

    let checked = check(size, &operands, &tiles, opponents, gpu, on_gpu[0])?;
    let other = opponents.other.as_ref().filter(|_| checked.other);

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
            opponents.cublas.gemm_tn(Elements::Bf16, on_gpu[set], shape)
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
        checked: checked.values,
        checked_against_cublas: checked.against_cublas,
        buffer_sets,
        algorithms: lt.timed(),
        other: other.map(|(name, _)| name.clone()),
        sustained,
        cool,
    })
}

/// How many elements of C were compared.
struct Checked {
    /// With a product in f64.
    values: usize,
    /// With cuBLAS's C.
    against_cublas: usize,
    /// Whether the library of `--beside` multiplies this size.
    other: bool,
}

/// Is C correct, for each tile and for the libraries, which must compute the same product?
fn check(
    size: Size,
    operands: &Operands,
    tiles: &[Tile],
    opponents: &Opponents,
    gpu: &Context,
    buffers: [&gpu::Buffer; 3],
) -> Result<Checked> {
    let c_of = |enqueue: &mut dyn FnMut() -> std::result::Result<(), gpu::GpuError>| {
        gpu.fill(buffers[2], 0xff)?;
        enqueue()?;
        gpu.read(buffers[2])
    };
    let expected = operands.expected();
    let values = |name: &str, c: &[u8]| {
        let verdict = expected.check(c);
        match verdict.ok() {
            true => Ok(verdict.checked),
            false => Err(wrong(size, name, verdict.wrong, verdict.checked)),
        }
    };
    let shape = sides(size);
    let theirs = c_of(&mut || opponents.cublas.gemm_tn(Elements::Bf16, buffers, shape))?;
    let mut checked = Checked {
        values: values(CUBLAS_BF16_TN, &theirs)?,
        against_cublas: theirs.len() / 2,
        other: false,
    };
    if let Some((name, library)) = &opponents.other {
        let c = c_of(&mut || library.run(buffers, shape).map(|can| checked.other = can))?;
        if checked.other {
            values(name, &c)?;
        }
    }
    for tile in tiles {
        let contestant = tile.contestant(tile.name, gpu)?;
        let ours = c_of(&mut || (contestant.enqueue)(0))?;
        checked.values = values(tile.name, &ours)?;
        let differing = same::differing(&ours, &theirs, size.k);
        if differing > 0 {
            return Err(wrong(size, tile.name, differing, ours.len() / 2));
        }
    }
    Ok(checked)
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

/// The index of the smallest median; 0 without samples.
fn fastest(samples: &[Samples]) -> usize {
    let medians = samples.iter().map(Samples::median).enumerate();
    let least = medians.min_by(|x, y| x.1.total_cmp(&y.1));
    least.map_or(0, |(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
