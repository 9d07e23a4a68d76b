//! cuBLAS and cuBLASLt compared with exact products.
use gpu::{Context, Cublas, CublasLt, Elements, GpuError};
use half::{bf16, f16};

use super::{Outcome, ensure};

/// Small integers, so that every product and every sum over K = 256 is exact in f16 and f32.
pub fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 13) % 5)
        .map(|n| n as f32 - 2.0)
        .collect()
}

pub fn as_f16(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&value| f16::from_f32(value).to_le_bytes())
        .collect()
}

/// The sums are exact in f32, so rounding them once gives the same bits here and there.
fn as_bf16(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&value| bf16::from_f32(value).to_le_bytes())
        .collect()
}

fn as_f32(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Not square, so that swapped dimensions are detected.
const SHAPE: [usize; 3] = [256, 128, 192];

/// A, B and C = A B on the host.
fn product() -> [Vec<f32>; 3] {
    let [m, n, k] = SHAPE;
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let c = (0..m * n)
        .map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum())
        .collect();
    [a, b, c]
}

fn check_gemm(
    gpu: &Context,
    input: fn(&[f32]) -> Vec<u8>,
    output: fn(&[f32]) -> Vec<u8>,
    elements: Elements,
) -> Outcome {
    let cublas = Cublas::new(gpu)?;
    let [a, b, c] = product();
    let (a, b, want) = (
        gpu.upload("in", &input(&a))?,
        gpu.upload("in", &input(&b))?,
        output(&c),
    );
    let got = gpu.alloc("out", want.len())?;
    let [m, n, k] = SHAPE;
    cublas.gemm(elements, [&a, &b, &got], [m, n, k])?;
    ensure(gpu.read(&got)? == want, "C differs from the host's")?;
    let short = cublas.gemm(elements, [&a, &b, &got], [m, n, k + 1]);
    ensure(
        matches!(short, Err(GpuError::Size { .. })),
        "a short operand was not refused",
    )?;
    Ok(format!(
        "version {}, {m} x {n} x {k} exact",
        cublas.version()
    ))
}

pub fn cublas_f16(gpu: &Context) -> Outcome {
    check_gemm(gpu, as_f16, as_f16, Elements::F16)
}

pub fn cublas_f16_to_f32(gpu: &Context) -> Outcome {
    check_gemm(gpu, as_f16, as_f32, Elements::F16ToF32)
}

pub fn cublas_f32(gpu: &Context) -> Outcome {
    check_gemm(gpu, as_f32, as_f32, Elements::F32)
}

/// B as n x k: C = A B^T.
fn transposed(b: &[f32]) -> Vec<f32> {
    let [_, n, k] = SHAPE;
    (0..n * k).map(|i| b[i % k * n + i / k]).collect()
}

pub fn cublas_bf16_tn(gpu: &Context) -> Outcome {
    let cublas = Cublas::new(gpu)?;
    let [a, b, c] = product();
    let (a, b, want) = (
        gpu.upload("in", &as_bf16(&a))?,
        gpu.upload("in", &as_bf16(&transposed(&b)))?,
        as_bf16(&c),
    );
    let got = gpu.alloc("out", want.len())?;
    let [m, n, k] = SHAPE;
    cublas.gemm_tn(Elements::Bf16, [&a, &b, &got], SHAPE)?;
    ensure(gpu.read(&got)? == want, "C differs from the host's")?;
    let short = cublas.gemm_tn(Elements::Bf16, [&a, &b, &got], [m, n + 1, k]);
    ensure(
        matches!(short, Err(GpuError::Size { .. })),
        "a short operand was not refused",
    )?;
    let lt = CublasLt::tune_bf16_tn(gpu, &[[&a, &b, &got]], SHAPE, 1)?;
    gpu.fill(&got, 0xff)?;
    lt.run(0, [&a, &b, &got])?;
    ensure(gpu.read(&got)? == want, "cuBLASLt's C differs")?;
    Ok(format!("{m} x {n} x {k} exact, cuBLASLt too"))
}

pub fn cublaslt(gpu: &Context) -> Outcome {
    let [a, b, c] = product();
    let (a, b, want) = (
        gpu.upload("in", &as_f16(&a))?,
        gpu.upload("in", &as_f16(&b))?,
        as_f16(&c),
    );
    let got = gpu.alloc("out", want.len())?;
    let [m, n, k] = SHAPE;
    let lt = CublasLt::tune(gpu, &[[&a, &b, &got]], SHAPE, 1)?;
    gpu.fill(&got, 0xff)?;
    lt.run(0, [&a, &b, &got])?;
    ensure(gpu.read(&got)? == want, "C differs from the host's")?;
    Ok(format!("version {}, {m} x {n} x {k} exact", lt.version()))
}
