//! `cargo ladder emulate` as a user calls it.
mod arguments;
mod report;
mod source;

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

/// `saxpy(int n, float a, const float *x, float *y)`, and a kernel with a struct, a half and a variable.
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .f32 offset = 0f40000000;
.visible .entry _Z5saxpyifPKfPf(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p; .reg .b32 %i, %n; .reg .f32 %f<5>; .reg .b64 %d<7>;
    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %i, %n, 0;
    mov.u32 %n, %tid.x; add.u32 %i, %i, %n;
    ld.param.u32 %n, [n]; setp.ge.s32 %p, %i, %n; @%p ret;
    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.f32 %f0, [a];
    cvta.to.global.u64 %d2, %d0; cvta.to.global.u64 %d3, %d1;
    mul.wide.s32 %d4, %i, 4; add.u64 %d5, %d2, %d4; add.u64 %d6, %d3, %d4;
    ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6];
    mul.rn.f32 %f3, %f0, %f1; add.rn.f32 %f3, %f3, %f2;
    ld.global.f32 %f4, [offset]; add.rn.f32 %f3, %f3, %f4;
    st.global.f32 [%d6], %f3;
    ret;
}
.visible .entry values(.param .u64 out, .param .align 4 .b8 s[8], .param .align 2 .b8 h[2], .param .f64 d)
{
    .reg .b32 %r; .reg .b64 %d<3>; .reg .b16 %h; .reg .f64 %f;
    ld.param.u64 %d0, [out]; cvta.to.global.u64 %d1, %d0;
    ld.param.u32 %r, [s]; st.global.u32 [%d1], %r;
    ld.param.u32 %r, [s+4]; st.global.u32 [%d1+4], %r;
    ld.param.b16 %h, [h]; cvt.u32.u16 %r, %h; st.global.u32 [%d1+8], %r;
    ld.param.f64 %f, [d]; st.global.f64 [%d1+16], %f;
    ret;
}
";

/// A temporary folder, removed when dropped.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

fn ladder(words: &[&str], compiler: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.arg("emulate").args(words);
    if !compiler {
        command.env("GEMM_NVRTC", std::env::temp_dir().join("no-nvrtc-here"));
    }
    command.output().expect("the ladder starts")
}

/// Exit code, standard output and standard error.
fn said(words: &[&str], compiler: bool) -> (i32, String) {
    let output = ladder(words, compiler);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

fn json(words: &[&str], compiler: bool) -> Value {
    let output = ladder(&[words, &["--json"]].concat(), compiler);
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

const SAXPY: [&str; 14] = [
    "--kernel",
    "saxpy",
    "--grid",
    "2",
    "--block",
    "32",
    "--arg",
    "50",
    "--arg",
    "0.5",
    "--arg",
    "f32[64]=iota",
    "--arg",
    "f32[64]=1",
];
