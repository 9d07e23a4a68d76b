//! Arguments of PTX kernels, which need no compiler: values, buffers and files.
use super::{Folder, PTX, SAXPY, json, said};

#[test]
fn values_are_passed_as_their_parameters_require() {
    let folder = Folder::new();
    let file = folder.write("k.ptx", PTX);
    let words = [
        "--kernel", "values", "--grid", "1", "--block", "1", "--arg", "u32[6]", "--arg",
        "i32=1,-1", "--arg", "f16=1", "--arg", "-0.5",
    ];
    let report = json(&[&[&*file], &words[..]].concat(), false);
    assert_eq!(
        report["buffers"][0]["first"],
        serde_json::json!(["1", "4294967295", "15360", "0", "0", "3219128320"])
    );
    let mut same = words;
    (same[9], same[11]) = ("hex:01000000 ffffffff", "hex:003c");
    assert_eq!(
        json(&[&[&*file], &same[..]].concat(), false)["buffers"],
        report["buffers"]
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let folder = Folder::new();
    let file = folder.write("k.ptx", PTX);
    let broken = folder.write(
        "broken.ptx",
        PTX.replace("mul.rn.f32 %f3, %f0, %f1", "mul.rn.f32 %f3, %f0, %none"),
    );
    let text = folder.write("k.txt", PTX);
    let with = |words: &[&str]| said(&[&[&*file], words].concat(), false);
    let saxpy = |from: usize, by: &[&str]| {
        let rest = [&SAXPY[..from], by].concat();
        with(&rest)
    };
    for ((code, said), why) in [
        (
            with(&["--grid", "1", "--block", "1"]),
            "there are several kernels; choose one:\n  --kernel 'saxpy(int, float, float const*, float*)'\n  --kernel 'values'",
        ),
        (
            with(&["--kernel", "gemm", "--grid", "1", "--block", "1"]),
            "there is no kernel gemm; there are:",
        ),
        (
            with(&["--kernel", "saxpy"]),
            "Give --grid and --block, or write them at the head of the file:\n  // cargo ladder emulate: --grid 8",
        ),
        (
            with(&["--kernel", "saxpy"]),
            "saxpy(int, float, float const*, float*) takes\n  parameter 0 (n, `int`), an integer of 4 bytes\n  parameter 1 (a, `float`), a float of 4 bytes\n  parameter 2 (x, `float const*`), a pointer",
        ),
        (
            saxpy(10, &[]),
            "saxpy takes 4 arguments, but was given 2:\n  parameter 0 (n, `int`), an integer of 4 bytes",
        ),
        (
            saxpy(14, &["--arg", "3"]),
            "saxpy takes 4 arguments, but was given 5",
        ),
        (
            saxpy(12, &["--arg", "7"]),
            "parameter 3 (y, `float*`), a pointer, takes no `7`; give it memory, as in --arg 'f32[1024]=normal', or null",
        ),
        (
            saxpy(
                6,
                &[
                    "--arg", "0.5", "--arg", "1", "--arg", "f32[1]", "--arg", "f32[1]",
                ],
            ),
            "parameter 0 (n, `int`), an integer of 4 bytes, takes no `0.5`; give it an integer",
        ),
        (
            saxpy(12, &["--arg", "@0"]),
            "parameter 3 (y, `float*`), a pointer: @0 is not a buffer of an earlier argument",
        ),
        (
            saxpy(12, &["--arg", "f32[99999999999]"]),
            "a buffer may have 4294967296 bytes; --max-memory allows more",
        ),
        (
            saxpy(12, &["--arg", "nowhere.npy"]),
            "parameter 3 (y, `float*`), a pointer: cannot read nowhere.npy",
        ),
        (
            saxpy(12, &["--arg", "f32[4]=random"]),
            "`random` is not a fill; use zeros",
        ),
        (
            saxpy(14, &["--out", "0=c.npy"]),
            "argument 0 is not a buffer; the buffers are 2, 3, counted from 0",
        ),
        (
            saxpy(14, &["--out", "c.npy"]),
            "expected the number of an argument",
        ),
        (
            saxpy(14, &["--symbol", "none=f32=1"]),
            "there is no __device__ or __constant__ variable `none`",
        ),
        (
            saxpy(14, &["--symbol", "offset=f32[2]=1"]),
            "offset has 4 bytes, but 8 were given",
        ),
        (
            saxpy(14, &["--block", "2000"]),
            "cannot be used multiple times",
        ),
        (
            saxpy(14, &["--shared", "1M"]),
            "bytes of shared memory a block",
        ),
        (
            saxpy(14, &["--device", "gpu", "--sanitize"]),
            "omit `--device gpu`",
        ),
        (said(&["nowhere.ptx"], false), "cannot read nowhere.ptx"),
        (said(&[&text], false), "a kernel's file ends in .cu or .ptx"),
        (
            said(&[&[&*broken], &SAXPY[..]].concat(), false),
            "PTX line 15: ",
        ),
        (
            said(&[&[&*broken], &SAXPY[..]].concat(), false),
            "in `mul.rn.f32 %f3, %f0, %none`",
        ),
    ] {
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(why), "no {why} in\n{said}");
    }
}

#[test]
fn arrays_come_from_files_and_go_there() {
    let folder = Folder::new();
    let file = folder.write("k.ptx", PTX);
    let out = format!("3={}", folder.path("y.npy"));
    let first = [&[&*file], &SAXPY[..], &["--out", &out]].concat();
    assert_eq!(said(&first, false).0, 0);
    let expect = format!("3={}", folder.path("y.npy"));
    let again = [&[&*file], &SAXPY[..], &["--expect", &expect]].concat();
    let (code, text) = said(&again, false);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("argument 3 is as expected: 64 elements"),
        "{text}"
    );
    // Other values.
    let mut other = again.clone();
    other[10] = "0.75";
    let (code, text) = said(&other, false);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("argument 3 is WRONG: 49 of 64 elements differ, the worst by 1.225e1"),
        "{text}"
    );
    assert!(text.contains("[1]     3.75        3.5\n"), "{text}");
    assert_eq!(
        said(&[&other[..], &["--tolerance", "1,0"]].concat(), false).0,
        0
    );
    // A written file is read as an argument: its head has the shape and the type.
    let mut chained = first.clone();
    let y = folder.path("y.npy");
    chained[14] = &y;
    let report = json(&chained, false);
    assert_eq!(
        (
            &report["buffers"][1]["first"][1],
            &report["buffers"][1]["type"]
        ),
        (&"6".into(), &"f32".into())
    );
    let half = format!("f16[8,8]={y}");
    chained[14] = &half;
    assert_eq!(
        json(&chained, false)["buffers"][1]["shape"],
        serde_json::json!([8, 8])
    );
    for (words, why) in [
        (format!("f32[63]={y}"), "its shape is [8, 8], not [63]"),
        (format!("i8[64]={y}"), "it holds f16, not i8"),
    ] {
        let with: Vec<&str> = chained[..14].iter().copied().chain([&*words]).collect();
        let (code, text) = said(&with, false);
        assert!(code == 2 && text.contains(why), "{text}");
    }
}
