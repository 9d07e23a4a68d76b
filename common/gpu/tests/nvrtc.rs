//! NVRTC, where this machine has it: it needs no GPU. With GEMM_REQUIRE_NVRTC=1 (as in CI) a missing
//! NVRTC fails these tests instead of skipping them.
#![allow(clippy::unwrap_used)]
use gpu::{GpuError, Nvrtc};

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
fn a_warning_is_no_fault() {
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
    let Some(include) = nvrtc.include_dir() else {
        return skipped(&format!("skipped: no headers beside {:?}", nvrtc.path()));
    };
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void half_of(__half *x) { *x = __hmul(*x, __half(0.5f)); }";
    let options = [
        format!("--include-path={}", include.display()),
        "--gpu-architecture=compute_90a".into(),
    ];
    let compiled = nvrtc.compile(source, "/half.cu", &options).unwrap();
    assert!(compiled.ptx.contains(".target sm_90a"), "{}", compiled.ptx);
}

/// What stands in the PTX of headers in memory is their name and no folder; else it is the same.
#[test]
fn headers_in_memory_give_the_same_code() {
    let (Some(nvrtc), Some(mut held)) = (nvrtc(), nvrtc()) else {
        return;
    };
    let Some(include) = nvrtc.include_dir() else {
        return skipped(&format!("skipped: no headers beside {:?}", nvrtc.path()));
    };
    held.hold_headers().unwrap();
    assert_eq!(held.include_dir(), None);
    let source = "#include <cuda_fp16.h>\nextern \"C\" __global__ void half_of(__half *x) { *x = __hmul(*x, __half(0.5f)); }";
    let options: [String; 1] = ["--generate-line-info".into()];
    let with_folder = [
        options[0].clone(),
        format!("--include-path={}", include.display()),
    ];
    let from_disk = nvrtc.compile(source, "/half.cu", &with_folder).unwrap().ptx;
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

/// Not by println!, which the test runner keeps to itself.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes());
}
