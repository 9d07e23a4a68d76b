//! `emulate --show` and `--show-registers`: a block's shared memory and registers at a line.
use std::path::Path;
use std::process::Command;

use crate::strangers::nvrtc;

/// Each of 64 threads stores its number, all wait, and each thread of warp 0 loads the number stored by the thread 32
/// further; then it loads the first 8 x 8 elements of 16 bits as a matrix.
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .shared .align 16 .b8 other[16];
    .shared .align 16 .b8 tile[256];
    .reg .pred %p; .reg .b32 %r<9>;
    mov.u32 %r0, %tid.x;
    mov.u32 %r1, tile;
    shl.b32 %r2, %r0, 2;
    add.u32 %r3, %r1, %r2;
    add.u32 %r4, %r0, 1000;
    st.shared.u32 [%r3], %r4;
    bar.sync 0;
    setp.gt.u32 %p, %r0, 31;
    @%p ret;
    ld.shared.u32 %r5, [%r3+128];
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r1];
    ret;
}
";

/// The command's output and exit code.
fn says(arguments: &[&str]) -> (String, Option<i32>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .arg("emulate")
        .args(arguments)
        .current_dir(root)
        .output()
        .expect("ladder");
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    (text.into_owned(), output.status.code())
}

fn of_ptx(arguments: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("k.ptx");
    std::fs::write(&file, PTX).expect("a file");
    let file = file.display().to_string();
    let launch = [&*file, "--grid", "2", "--block", "64", "--arg", "u32[1]"];
    says(&[&launch, arguments].concat())
}

fn line(text: &str) -> String {
    let at = PTX.lines().position(|line| line.contains(text));
    (at.expect(text) + 1).to_string()
}

#[test]
fn shared_memory_is_a_table() {
    let barrier = line("bar.sync");
    let (text, code) = of_ptx(&["--show", "tile", "--at", &barrier, "--block-index", "1"]);
    assert_eq!(code, Some(0), "{text}");
    insta::assert_snapshot!("flat", text);
    let shape = [
        "--shape",
        "8x8",
        "--as",
        "u32",
        "--swizzle",
        "col ^ (row & 1)",
    ];
    let show = ["--show", "tile", "--at", &barrier];
    let (text, _) = of_ptx(&[&show[..], &shape].concat());
    insta::assert_snapshot!("swizzled", text);
}

#[test]
fn registers_of_a_lane() {
    let (text, code) = of_ptx(&[
        "--show-registers",
        "--at",
        &line("ld.shared"),
        "--lane",
        "5",
    ]);
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("tile + 148") && text.contains("1037"),
        "{text}"
    );
    let (text, _) = of_ptx(&["--show-registers", "--at", &line("ldmatrix"), "--lane", "5"]);
    assert!(
        text.contains("0x000003e9") && text.contains("tile + 0"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_shown_is_reported() {
    let barrier = line("bar.sync");
    for (arguments, says) in [
        (
            &["--show", "nosuch", "--at", &barrier][..],
            "those are other, tile",
        ),
        (
            &["--show", "tile", "--at", "2"],
            "line 2 has no instruction; lines near it that have: 9, 10",
        ),
        (
            &["--show-registers", "--at", &barrier],
            "no load, store or matrix instruction: bar.sync",
        ),
        (
            &["--show", "tile", "--at", &barrier, "--execution", "2"],
            "no warp of block (0,0,0) reaches execution 2",
        ),
        (
            &["--show", "tile", "--at", &barrier, "--block-index", "9"],
            "no warp of block (9,",
        ),
        (
            &["--show", "tile", "--at", &barrier, "--shape", "99x99"],
            "more than the 256 bytes",
        ),
        (
            &["--show", "tile", "--at", &barrier, "--swizzle", "0"],
            "two units in one place",
        ),
        (
            &["--show", "tile", "--at", &barrier, "--offset", "256"],
            "tile has 256 bytes",
        ),
        (
            &[
                "--show-registers",
                "--at",
                &line("ld.shared"),
                "--warp",
                "1",
            ],
            "warp 1",
        ),
        (&["--show", "tile"], "--at"),
    ] {
        let (text, code) = of_ptx(arguments);
        assert!(
            text.contains(says) && code == Some(2),
            "{arguments:?}, {code:?}: {text}"
        );
    }
}

/// An assignment's kernel, launched as the grader does: its tiles, and the fragments that ldmatrix loads from them.
#[test]
fn an_assignments_tiles_and_fragments() {
    if !nvrtc() {
        return;
    }
    let kernel = "course/assignments/05_swizzle/solution/kernel.cu";
    let source = std::fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(kernel),
    );
    let source = source.expect("a solution");
    let at = source
        .lines()
        .position(|line| line.contains("ldmatrix(regA[m]"))
        .expect("a line")
        + 1;
    let at = at.to_string();
    let launch = [kernel, "--size", "64x32x32", "--at", &at];
    let tile = [
        "--show",
        "tiles",
        "--shape",
        "64x32",
        "--swizzle",
        "col ^ (row >> 1 & 3)",
    ];
    let (text, code) = says(&[&launch[..], &tile].concat());
    assert_eq!(code, Some(0), "{text}");
    let row = text
        .lines()
        .find(|line| line.starts_with("    1 |"))
        .expect("row 1");
    let chunks: Vec<&str> = row.split_whitespace().skip(2).collect();
    assert_eq!(
        chunks,
        ["A[1][0-7]", "A[1][8-15]", "A[1][16-23]", "A[1][24-31]"]
    );
    let (text, _) = says(&[&launch[..], &tile, &["--as", "f16"]].concat());
    assert!(!text.contains("A["), "{text}");
    let (text, _) = says(&[&launch[..], &["--show-registers", "--lane", "5"]].concat());
    let value = text
        .lines()
        .find(|line| line.contains("value[0]"))
        .expect("a register");
    assert!(value.contains(" A[1][2-3] "), "{value}");
}

/// A line of an inlined function, the line that calls it, and the first line of its inline PTX: the same instructions.
#[test]
fn a_line_of_an_inlined_function_is_found() {
    if !nvrtc() {
        return;
    }
    let kernel = "course/assignments/04_fragments/solution/kernel.cu";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join(kernel)).expect("a solution");
    let shown = |line: &str| {
        let at = source.lines().position(|one| one.trim().starts_with(line));
        let at = (at.expect(line) + 1).to_string();
        let by_ldmatrix = ["--size", "64x64x32", "--define", "BY_LDMATRIX"];
        let (text, code) =
            says(&[&[kernel, "--show-registers", "--at", &at], &by_ldmatrix[..]].concat());
        assert_eq!(code, Some(0), "{text}");
        let loads = text.lines().filter(|line| line.contains("ldmatrix"));
        loads.map(str::to_owned).collect::<Vec<_>>()
    };
    let inside = shown("ldmatrix_trans(b, &tile[lane * LDB]);");
    let call = shown("load_b(regB[n], &Bs[k * LDB + warpCol + n * 8]);");
    let statement = shown("asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.trans");
    assert!(!inside.is_empty());
    assert_eq!([&inside; 2], [&call, &statement]);
}

/// In a kernel for TMA and `wgmma`: a struct's tiles, in rows of 64 bytes with their swizzle, and descriptors.
#[test]
fn tiles_of_a_struct_and_descriptors_are_decoded() {
    if !nvrtc() {
        return;
    }
    let kernel = "course/assignments/07_hopper/solution/kernel.cu";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let source = std::fs::read_to_string(root.join(kernel)).expect("a solution");
    let is_it = |line: &str| {
        line.trim_start()
            .starts_with("wgmma(acc, descriptor(a, 16, 512, 2)")
    };
    let at = source.lines().position(is_it).expect("a line") + 1;
    let at = at.to_string();
    let launch = [
        kernel, "--arch", "sm_90a", "--size", "64x96x32", "--at", &at,
    ];
    let tile = ["--show", "s", "--shape", "64x32"];
    let (text, code) = says(&[&launch[..], &tile, &["--swizzle", "col ^ (row >> 1 & 3)"]].concat());
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.starts_with("s, 64 x 32 f16, in logical order"),
        "{text}"
    );
    let (text, _) = says(&[&launch[..], &tile, &["--swizzle", "col ^ row"]].concat());
    assert!(
        text.contains("rows have 64 bytes here, by --shape and --as"),
        "{text}"
    );
    let (text, _) = says(&[&launch[..], &["--show-registers"]].concat());
    for words in [
        "s + 0, leading 16, stride 512, 64-byte swizzle",
        "s + 4096, leading 2048, stride 512, 64-byte swizzle",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}
