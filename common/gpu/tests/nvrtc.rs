//! NVRTC, if this machine has it: it needs no GPU. With GEMM_REQUIRE_NVRTC=1 (as in CI) a missing NVRTC fails these
//! tests instead of skipping them.
#![allow(clippy::unwrap_used)]
use gpu::{GpuError, Nvrtc, TranslationUnit};

const KERNEL: &str =
    "extern \"C\" __global__ void scale(float *x, float by) { x[threadIdx.x] *= by; }";

fn nvrtc() -> Option<Nvrtc> {
    match Nvrtc::find() {
        Ok(nvrtc) => Some(nvrtc),
        Err(error) => {
            let required = std::env::var_os("GEMM_REQUIRE_NVRTC").is_some_and(|value| value == "1");
            assert!(!required, "GEMM_REQUIRE_NVRTC is set: {error}");
            assert!(matches!(error, GpuError::NoNvrtc { .. }), "{error}");
            assert!(
                error.to_string().contains("cargo ladder get-nvrtc"),
                "{error}"
            );
            skipped("skipped: no NVRTC");
            None
        }
    }
}

fn options(text: &[&str]) -> Vec<String> {
    text.iter().map(|&option| option.to_owned()).collect()
}

#[test]
fn compiles_to_the_same_ptx_every_time() {
    let Some(nvrtc) = nvrtc() else { return };
    assert!(nvrtc.version() >= (12, 0), "{:?}", nvrtc.version());
    let options = options(&["--gpu-architecture=compute_80", "--generate-line-info"]);
    let [first, second] = [1, 2].map(|_| {
        nvrtc
            .compile(KERNEL, "/rungs/scale/kernel.cu", &options)
            .unwrap()
    });
    assert_eq!(first.ptx, second.ptx);
    assert_eq!(first.log, "");
    for part in [
        ".target sm_80",
        ".visible .entry scale(",
        "/rungs/scale/kernel.cu",
    ] {
        assert!(first.ptx.contains(part), "no {part} in\n{}", first.ptx);
    }
    assert!(!first.ptx.contains('\0'));
}

#[test]
fn a_fault_in_the_source_comes_back_with_its_line() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc
        .compile("\n\nint x = y;", "/broken.cu", &[])
        .unwrap_err();
    let GpuError::Compile { log } = error else {
        panic!("{error}")
    };
    assert!(
        log.contains("/broken.cu(3)") && log.contains("\"y\""),
        "{log}"
    );
}

#[test]
fn a_warning_is_not_an_error() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = format!("#warning mind the gap\n{KERNEL}");
    let compiled = nvrtc.compile(&source, "/warned.cu", &[]).unwrap();
    assert!(compiled.log.contains("mind the gap"), "{}", compiled.log);
}

#[test]
fn an_option_that_it_does_not_know_is_named() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc
        .compile(KERNEL, "/scale.cu", &options(&["--no-such-option"]))
        .unwrap_err();
    assert!(error.to_string().contains("no-such-option"), "{error}");
}

#[test]
fn a_nul_byte_is_refused() {
    let Some(nvrtc) = nvrtc() else { return };
    let error = nvrtc.compile("int x;\0", "/nul.cu", &[]).unwrap_err();
    assert!(matches!(error, GpuError::Nul { .. }), "{error}");
}

#[test]
fn its_headers_are_found_beside_it() {
    let Some(nvrtc) = nvrtc() else { return };
    if nvrtc.include_dirs().is_empty() {
        return skipped(&format!("skipped: no headers beside {:?}", nvrtc.path()));
    }
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void half_of(__half *x) { *x = __hmul(*x, __half(0.5f)); }";
    let options = ["--gpu-architecture=compute_90a".into()];
    let compiled = nvrtc.compile(source, "/half.cu", &options).unwrap();
    assert!(compiled.ptx.contains(".target sm_90a"), "{}", compiled.ptx);
}

/// For headers in memory, the PTX names the header without a folder; otherwise it is the same.
#[test]
fn headers_in_memory_give_the_same_code() {
    let (Some(nvrtc), Some(mut held)) = (nvrtc(), nvrtc()) else {
        return;
    };
    let Some(include) = nvrtc.include_dirs().first() else {
        return skipped(&format!("skipped: no headers beside {:?}", nvrtc.path()));
    };
    held.hold_headers().unwrap();
    assert!(held.include_dirs().is_empty());
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void half_of(__half *x) { *x = __hmul(*x, __half(0.5f)); }";
    let options: [String; 1] = ["--generate-line-info".into()];
    let from_disk = nvrtc.compile(source, "/half.cu", &options).unwrap().ptx;
    let from_memory = held.compile(source, "/half.cu", &options).unwrap().ptx;
    let code = |ptx: &str| {
        let lines = ptx
            .lines()
            .filter(|line| !line.trim_start().starts_with(".file"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(code(&from_memory), code(&from_disk));
    assert!(
        !from_memory.contains(&*include.to_string_lossy()),
        "{from_memory}"
    );
    let error = held
        .compile("#include <no_such.h>", "/none.cu", &options)
        .unwrap_err();
    assert!(error.to_string().contains("no_such.h"), "{error}");
}

/// A kernel for each of the headers that kernels from other repositories include, with headers on disk and in memory.
#[test]
fn headers_of_cuda_and_of_a_host_are_there() {
    let (Some(nvrtc), Some(mut held)) = (nvrtc(), nvrtc()) else {
        return;
    };
    let has_cccl = nvrtc.has_header("cuda/barrier") && nvrtc.has_header("crt/mma.h");
    if !has_cccl {
        return skipped("skipped: CUDA's headers are older than `cargo ladder get-nvrtc` brings");
    }
    held.hold_headers().unwrap();
    let options = options(&["--gpu-architecture=compute_90a", "--std=c++17"]);
    for (headers, body) in [
        (
            "cstdint",
            "uint64_t x = UINT32_MAX; std::int16_t y = 3; a[0] = x + y;",
        ),
        ("stdint.h", "uint8_t x = 255; a[0] = ++x;"),
        ("cassert", "assert(a[0] > 1);"),
        ("cstdio", "printf(\"%d\\n\", a[0]);"),
        (
            "cmath",
            "a[0] = std::sqrt(a[1]) + pow(2, a[1]) + std::fmax(1.0, 2.0) + (a[1] > INFINITY) + sqrt(M_PI);",
        ),
        ("climits", "a[0] = INT_MAX;"),
        ("cfloat", "a[0] = FLT_MAX > 1;"),
        (
            "algorithm",
            "a[0] = std::min(a[1], std::max(a[2], 3)); std::swap(a[0], a[1]);",
        ),
        ("cstddef", "std::size_t n = 4; a[n] = 1;"),
        ("limits", "a[0] = std::numeric_limits<int>::max();"),
        ("type_traits", "a[0] = std::is_same_v<int, float>;"),
        ("iostream", "a[0] = 1;"),
        ("vector", "a[0] = 1;"),
        (
            "cuda_runtime.h",
            "cudaStream_t stream = 0; a[0] = stream == 0;",
        ),
        (
            "mma.h",
            "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c; nvcuda::wmma::fill_fragment(c, 0.f);",
        ),
        (
            "cooperative_groups/reduce.h",
            "namespace cg = cooperative_groups; auto tile = cg::tiled_partition<32>(cg::this_thread_block()); a[0] = cg::reduce(tile, a[1], cg::plus<int>());",
        ),
        (
            "cuda/barrier",
            "__shared__ cuda::barrier<cuda::thread_scope_block> b; if (threadIdx.x == 0) init(&b, 32); __syncthreads(); b.arrive_and_wait();",
        ),
        (
            "cuda/pipeline",
            "auto pipe = cuda::make_pipeline(); pipe.producer_acquire(); pipe.producer_commit(); pipe.consumer_wait(); pipe.consumer_release();",
        ),
        (
            "cuda/std/array",
            "cuda::std::array<int, 3> x = {1, 2, 3}; a[0] = x[a[1]];",
        ),
        ("cuda_fp16.h", "a[0] = __half2int_rn(__float2half(2.f));"),
    ] {
        let source = format!("#include <{headers}>\n__global__ void k(int *a) {{ {body} }}\n");
        let compile = |with: &Nvrtc| with.compile(&source, "/k.cu", &options);
        let on_disk = compile(&nvrtc).unwrap_or_else(|error| panic!("{headers}: {error}"));
        // Those whose own headers are in other folders.
        if [
            "mma.h",
            "cooperative_groups/reduce.h",
            "cuda/barrier",
            "limits",
        ]
        .contains(&headers)
        {
            let held = compile(&held);
            let in_memory = held.unwrap_or_else(|error| panic!("{headers}, held: {error}"));
            assert_eq!(on_disk.ptx, in_memory.ptx, "{headers}");
        }
    }
}

#[test]
fn name_expressions_instantiate_templates() {
    let Some(nvrtc) = nvrtc() else { return };
    let source = "namespace ours { template <typename T, int N> __global__ void fill(T *x) { *x = N; } }\n#include \"own.h\"\n";
    let expressions = options(&["ours::fill<float, 4>", "twice"]);
    let headers = [(
        "own.h".to_owned(),
        "__global__ void twice(int *x) { *x *= 2; }".to_owned(),
    )];
    let unit = TranslationUnit {
        source,
        name: "/k.cu",
        headers: &headers,
        expressions: &expressions,
        ..TranslationUnit::default()
    };
    let compiled = nvrtc.compile_unit(&unit).unwrap();
    assert_eq!(
        compiled.lowered,
        ["_ZN4ours4fillIfLi4EEEvPT_", "_Z5twicePi"]
    );
    for name in &compiled.lowered {
        assert!(compiled.ptx.contains(&format!(".entry {name}(")), "{name}");
    }
    let expressions = options(&["ours::fill<float>"]);
    let error = nvrtc.compile_unit(&TranslationUnit {
        expressions: &expressions,
        ..unit
    });
    assert!(matches!(error, Err(GpuError::Compile { .. })), "{error:?}");
}

/// Not by println!, because the test runner captures it.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes());
}
