//! A machine without a GPU gets an error that says what to do, and never a panic.
use gpu::{Context, GpuError};

#[test]
fn every_way_in_gives_the_same_typed_error() {
    let Err(error) = gpu::devices() else {
        return skipped("skipped: this machine has a GPU");
    };
    let missing = matches!(
        error,
        GpuError::NoDriver | GpuError::OldDriver { .. } | GpuError::NoDevice
    );
    assert!(missing, "{error:?}");
    assert!(error.to_string().contains("emulator"), "{error}");
    assert_eq!(Context::open(0).err(), Some(error));
}

#[test]
fn telemetry_is_optional() {
    if gpu::devices().is_err() {
        assert_eq!(gpu::driver_version(), None);
    }
}

#[test]
fn errors_name_the_remedy() {
    let driver = |code| {
        GpuError::Driver {
            call: "cuMemAlloc",
            code,
            name: "CUDA_ERROR".into(),
        }
        .to_string()
    };
    assert!(driver(2).contains("smaller"), "{}", driver(2));
    assert!(driver(700).contains("sanitize"), "{}", driver(700));
    assert!(driver(12345).contains("nvidia-smi"), "{}", driver(12345));
    let load = GpuError::Load {
        code: 222,
        name: "CUDA_ERROR_UNSUPPORTED_PTX_VERSION".into(),
        log: String::new(),
    };
    assert!(
        load.to_string().contains("cargo ladder get-nvrtc"),
        "{load}"
    );
}

/// Not by println!, because the test runner captures it.
fn skipped(why: &str) {
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{why}\n").as_bytes());
}
