//! A small repository, and the outputs of its commands.
use std::fs;
use std::path::Path;

use book::world::{Outputs, World};
use transcript::Output;

const KERNEL: &str = "// Rung 04.\n\nconstexpr int BM = 64, BN = 32;\n\n// Starts a copy.\n__device__ void copy(int* to)\n{\n    *to = 1;\n}\n\n\
    extern \"C\" __global__ void gemm()\n{\n    // Where am I?\n    int lane = threadIdx.x;\n\n    // Load.\n    for (int i = 0; i < 2; ++i) {\n        \
    copy(&x);\n\n        copy(&y);\n    }\n\n    // Store.\n    C[0] = x;\n}\n";

const RUST: &str = "/// One step.\npub fn step() -> u32 {\n    // ANCHOR: inner\n    let one = 1;\n    // ANCHOR_END: inner\n    one\n}\n";

const BENCH: &str = r#"[
  {"rung": "05_swizzle", "sizes": [
    {"size": "4096x4096x4096", "time": {"tflops": 316.74, "contestants": [
      {"name": "kernel", "median_ms": 0.4339, "sm_mhz": 1363.6, "kernel_speed": 1.0},
      {"name": "cuBLAS f16", "median_ms": 0.2, "kernel_speed": 0.4471}]},
     "provenance": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "abc", "date": "2026-11-21T17:25:41Z"}},
    {"size": "4096x4096x1024", "time": {"tflops": 300, "contestants": [{"name": "kernel", "median_ms": 1.2345678, "kernel_speed": 1.0}]},
     "provenance": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "def", "date": "2026-11-21T17:25:41Z"}}]},
  {"rung": "16_stream_k", "sizes": [
    {"size": "4096x4096x4096", "time": {"tflops": 682.9, "contestants": []},
     "provenance": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "def", "date": "2026-11-22T17:25:41Z"}},
    {"size": "512x512x512", "time": null,
     "provenance": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "def", "date": "2026-11-22T17:25:41Z"}}]}]"#;

/// A picture as `cargo ladder layout` draws it.
const SHEET: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sheet\" viewBox=\"0 0 73 91\" width=\"73\" height=\"91\" role=\"img\" \
    aria-label=\"Swizzle\">\n<title>Swizzle</title>\n<style>.sheet text{fill:#1b1f24}@media (prefers-color-scheme:dark){.sheet \
    text{fill:#e6edf3}}</style>\n<text x=\"1\" y=\"2\">a &lt; b</text>\n</svg>\n";

const DRAWN: &str = "<?xml version=\"1.0\"?>\n<!-- two arrows -->\n<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 300\">\n<defs>\
    <marker id=\"tip\"><path d=\"M0 0\"/></marker></defs>\n\n<line class=\"accent\" x2=\"9\" marker-end=\"url(#tip)\"/>\n</svg>\n";

const DIFF: &str = "--- rungs/04_mma/kernel.cu\n+++ rungs/05_swizzle/kernel.cu\n@@ -1 +1 @@\n-// Rung 04.\n+// Rung 05.\n@@ -9 +9 @@\n-    x\n+    x ^ 1\n";

const RUN: &str = "04_mma\n\n  shared loads    2,048    256   8.00x\n  shared stores     128    128   1.00x\n\n  emulated\n";

const STALLS: &str = "rung,tile,time_ns,selected,wait,gmma\n04_mma,,1334976,1,3,0\n16_stream_k,128x256,180576,1,2,1\n";

const PROVENANCE: &str = r#"{"stalls": {
  "04_mma": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "abc", "date": "2026-11-21T17:25:41Z",
    "ncu": "Version 2025.3.1.0 (build 1)"},
  "16_stream_k": {"gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "commit": "def", "date": "2026-11-21T17:25:41Z",
    "ncu": "Version 2025.3.1.0 (build 1)"}}}"#;

const LAB: &str = r#"{"launches": [{"name": "plain", "microseconds": 2641.99275, "grid": [64, 16]},
    {"name": "swizzled: all", "microseconds": 571.611213, "grid": [64, 16]}],
  "provenance": {"gpu": "NVIDIA H100", "driver": null, "cuda": "13.0", "commit": "abc", "date": "2026-11-21T17:25:41Z", "cublas": null}}"#;

/// The small repository.
pub fn world(root: &Path) -> World {
    for (file, text) in [
        (
            "README.md",
            "# T\n\n<!-- table: results/card/bench.md#by-rung -->\n",
        ),
        ("rungs/04_mma/kernel.cu", KERNEL),
        // A tile of 128x128 by 128 threads, with 0x18000 bytes of dynamic shared memory.
        (
            "rungs/04_mma/kernel.ptx",
            ".const .align 4 .b8 gemm_launch[24] = {128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 128, 0, 0, 0, 0, 128, 1, 0, 1};\n",
        ),
        ("rungs/04_mma/kernel.sass", "// of PTX\nregisters 168\n"),
        ("src/lib.rs", RUST),
        ("book/figures/drawn.svg", DRAWN),
        ("results/card/bench.json", BENCH),
        (
            "results/card/bench.md",
            "# H100\n\n## By rung\n\n| rung | TFLOP/s |\n| --- | ---: |\n| 05_swizzle | 316.7 |\n\n![x](y)\n\n## Empty\n",
        ),
        ("results/card/counters.csv", "rung,ncu\n05_swizzle,14336\n"),
        ("results/card/rungs.svg", DRAWN),
        ("tests/card/stalls.csv", STALLS),
        ("tests/card/unknown.csv", STALLS),
        ("tests/card/provenance.json", PROVENANCE),
        ("results/labs/copies.json", LAB),
        ("results/labs/copies.csv", STALLS),
        ("results/nobody/copies.csv", STALLS),
    ] {
        let file = root.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
        fs::write(file, text).expect("writable");
    }
    let outputs = [
        ("cargo ladder diff 4 5", 0, DIFF, ""),
        (
            "cargo ladder layout swizzle 3 4 3 --format svg",
            0,
            SHEET,
            "",
        ),
        (
            "cargo ladder layout swizzle x --format svg",
            2,
            "",
            "error: x is not a number\n",
        ),
        ("cargo run -p rung04_mma", 0, RUN, ""),
        (
            "cargo run -p rung04_mma -- sanitize",
            1,
            "1 fault\n",
            "error: see above\n",
        ),
        (
            "cargo run -p rung04_mma -- --json",
            0,
            "{\"counters\": {\"shared_wavefronts\": 2048}}",
            "",
        ),
    ];
    let outputs: Outputs = outputs
        .into_iter()
        .map(|(command, code, text, errors)| {
            let output = Output {
                code: Some(code),
                text: text.into(),
                errors: errors.into(),
            };
            (command.parse().expect("a command"), Ok(output))
        })
        .collect();
    World::new(root, outputs)
}
