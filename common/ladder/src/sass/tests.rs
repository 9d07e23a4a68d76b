//! The machine code that ptxas makes of every kernel: does it spill, and is the machine code that the book shows
//! current?
use std::fmt::Write as _;
use std::io::Write as _;

use super::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Every card that a kernel runs on; code for `sm_90a` runs on no other.
fn cards(arch: &str) -> &'static [&'static str] {
    match arch {
        "sm_80" => &[
            "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120",
        ],
        "sm_90a" => &["sm_90a"],
        _ => panic!("{arch}: which cards run it?"),
    }
}

/// The lines in which `ptxas` reports spilled registers or serialized `wgmma`, which are warnings C7510 to C7520.
fn complaints(said: &str) -> Vec<&str> {
    let is_one = |line: &&str| {
        let spills = line.contains("spill") && !line.contains(NO_SPILLS);
        spills
            || [
                "warning",
                "(C75",
                "Performance Loss",
                "serialized",
                "injected",
            ]
            .iter()
            .any(|word| line.contains(word))
    };
    said.lines().filter(is_one).collect()
}

const NO_SPILLS: &str = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";

fn registers(said: &str) -> Option<&str> {
    let (_, after) = said.split_once("Used ")?;
    Some(after.split_once(" registers")?.0)
}

/// Bytes of static shared memory; dynamic shared memory is not included.
fn shared(said: &str) -> &str {
    let bytes = said.split_once(" bytes smem").map(|(before, _)| before);
    bytes
        .and_then(|before| before.rsplit(' ').next())
        .unwrap_or("0")
}

/// The PTX of kernels that are not rungs: the book's.
fn of_the_book(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        match path.extension() {
            Some(ending) if ending == "ptx" => found.push(path),
            _ if path.is_dir() && !path.ends_with("target") => found.extend(of_the_book(&path)),
            _ => {}
        }
    }
    found.sort();
    found
}

#[test]
fn nothing_spills_and_no_wgmma_is_serialized() {
    let Some(ptxas) = tools::locate("ptxas") else {
        let required = std::env::var("GEMM_REQUIRE_PTXAS").is_ok_and(|value| value == "1");
        assert!(!required, "GEMM_REQUIRE_PTXAS=1, but there is no ptxas");
        // Written directly, since the test runner captures eprintln!.
        let _ = writeln!(std::io::stderr(), "skipped: no ptxas (it is in {PTXAS})");
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let mut table = String::new();
    for rung in rungs::all().expect("the folder rungs/") {
        for kernel in rung.kernels().expect("its kernels") {
            let file = kernel.ptx_path.file_name().unwrap_or_default();
            let kernel = kernel.kernel();
            for card in cards(kernel.arch) {
                let what = format!("{} {} {card}", rung.name, file.display());
                let said =
                    assemble(&ptxas, scratch.path(), kernel.ptx, card).expect("ptxas takes it");
                // One pair of registers in four K steps, for some cards; every order of the copies that was tried spills for one of them.
                let of_rung_08 = what.starts_with("08_warp_tile kernel.ptx");
                let is_one_pair =
                    |line: &str| of_rung_08 && line.contains("   8 bytes stack frame");
                let complaints = complaints(&said);
                assert!(
                    complaints.iter().all(|line| is_one_pair(line)),
                    "{what}: {said}"
                );
                assert!(of_rung_08 || said.contains(NO_SPILLS), "{what}: {said}");
                let registers = registers(&said).expect("their number");
                let shared = shared(&said);
                writeln!(
                    table,
                    "{what}: {registers} registers, {shared} bytes shared"
                )
                .expect("a string");
            }
        }
    }
    let book = rungs::root().expect("the workspace").join("book");
    for path in of_the_book(&book) {
        let what = path.strip_prefix(&book).unwrap_or(&path).display();
        let ptx = fs::read_to_string(&path).expect("PTX");
        let module = emulator::Ptx::parse(&ptx).expect("PTX");
        for card in cards(module.target()) {
            let assembled = assemble(&ptxas, scratch.path(), &ptx, card);
            assembled.unwrap_or_else(|why| panic!("{what} {card}: {why:#}"));
        }
    }
    if is_pinned(&ptxas) {
        insta::assert_snapshot!("registers", table);
    } else {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: registers, which are pinned for {PTXAS}"
        );
    }
}

/// Whether this is the ptxas that made the committed files.
fn is_pinned(ptxas: &Path) -> bool {
    let version = output(Command::new(ptxas).arg("--version")).expect("its version");
    let (_, pinned) = PTXAS.split_once("==").expect("a version");
    version.contains(pinned)
}

/// Whether ptxas and nvdisasm are the pinned versions; prints a message if not.
fn can_record() -> bool {
    let found = tools::locate("ptxas").zip(tools::locate("nvdisasm"));
    let can = found.is_some_and(|(ptxas, _)| is_pinned(&ptxas));
    if !can {
        let required = std::env::var("GEMM_REQUIRE_PTXAS").is_ok_and(|value| value == "1");
        assert!(
            !required,
            "GEMM_REQUIRE_PTXAS=1, but {PTXAS} or nvdisasm is missing"
        );
        let _ = writeln!(std::io::stderr(), "skipped: it takes {PTXAS} and nvdisasm");
    }
    can
}

/// The SASS of a kernel, from a PTX file.
fn sass_of(ptx: &str) -> String {
    let root = rungs::root().expect("the root");
    let ptx = fs::read_to_string(root.join(ptx)).expect("its PTX");
    let scratch = tempfile::tempdir().expect("a folder for temporary files");
    let ptxas = tools::locate("ptxas").expect("found before");
    assemble(&ptxas, scratch.path(), &ptx, "sm_90a").expect("assembled");
    let mut nvdisasm = Command::new(tools::locate("nvdisasm").expect("found before"));
    nvdisasm
        .arg("--print-code")
        .arg(scratch.path().join("kernel.cubin"));
    output(&mut nvdisasm).expect("disassembled")
}

/// The lines that contain one of the words.
fn lines_with<'a>(code: impl Iterator<Item = &'a str>, words: &[&str]) -> Vec<String> {
    let found = code.filter(|line| words.iter().any(|word| line.contains(word)));
    found.map(|line| line.trim().to_owned()).collect()
}

/// Checks that a file of book/recorded has these lines below its commands.
fn is_current(file: &str, lines: &[String]) {
    let path = rungs::root().expect("the root").join("book/recorded");
    let recorded = fs::read_to_string(path.join(file)).expect("recorded machine code");
    let shown = recorded.lines().filter(|line| !line.starts_with('$'));
    let shown: Vec<&str> = shown.map(str::trim).collect();
    assert_eq!(
        shown, lines,
        "run the commands in book/recorded/{file} again"
    );
}

/// The book's statement on the scope of barriers: rung 11, and the same with `.release.cluster` and
/// `.acquire.cluster`.
#[test]
fn the_recorded_scopes_are_current() {
    if !can_record() {
        return;
    }
    let (_, code, _) = machine_code("11", None).expect("rung 11");
    let variant = sass_of("book/kernels/barriers_of_cluster_scope.ptx");
    let words = [
        "TRYWAIT",
        "CCTL",
        "DEPBAR",
        "MEMBAR",
        "ERRBAR",
        "SYNCS.ARRIVE",
    ];
    let of = |code: &str, most: usize| {
        lines_with(code.lines(), &words)
            .into_iter()
            .take(most)
            .collect::<Vec<_>>()
    };
    is_current("sass_scope.txt", &[of(&code, 4), of(&variant, 10)].concat());
}

/// The book's statement on the shuffle in rung 16: the four `wgmma` of a step, with it and without.
#[test]
fn the_recorded_step_with_and_without_a_shuffle_is_current() {
    if !can_record() {
        return;
    }
    let step = |ptx: &str| {
        let code = sass_of(ptx);
        let step = code
            .lines()
            .skip_while(|line| !line.contains("WARPGROUP.ARRIVE"));
        let mut ended = false;
        let step = step.take_while(|line| {
            let goes_on = !ended;
            ended |= line.contains("gsb0");
            goes_on
        });
        lines_with(step, &["R2UR", "UIADD3.64", "ULOP3", "HGMMA"])
    };
    let with = step("rungs/16_stream_k/kernel.128x256.ptx");
    let without = step("book/kernels/consumer_by_thread.ptx");
    is_current("sass_uniform.txt", &[with, without].concat());
}

/// The book's statement on powers: a polynomial, `ex2` with and without `.ftz`, and `expf`.
#[test]
fn the_recorded_powers_are_current() {
    if !can_record() {
        return;
    }
    let code = sass_of("book/labs/exponential/kernel.ptx");
    let words = ["FMNMX", "FADD", "FFMA", "FMUL", "FSETP", "MUFU", "0x800000"];
    let is_shown =
        |line: &&str| line.starts_with(".text") || words.iter().any(|word| line.contains(word));
    let shown = code.lines().filter(is_shown);
    let shown: Vec<String> = shown.map(|line| line.trim().to_owned()).collect();
    is_current("sass_powers.txt", &shown);
}

/// The tables that the book shows, and takes numbers from, on machines without `ptxas`.
#[test]
fn the_recorded_comparisons_are_current() {
    if !can_record() {
        return;
    }
    for (rung, other) in [("4", "5"), ("5", "6"), ("6", "7")] {
        let (name, code, _) = machine_code(rung, None).expect("a rung");
        let (other_name, others, _) = machine_code(other, None).expect("a rung");
        let kernels = [&code, &others].map(|code| compare::InstructionCounts::of(code));
        let table = compare::table([&name, &other_name], kernels.each_ref());
        let lines: Vec<String> = table.lines().map(str::to_owned).collect();
        is_current(&format!("sass_0{rung}_0{other}.txt"), &lines);
    }
}

#[test]
fn complaints_are_seen() {
    let quiet = "ptxas info    : Compiling entry function 'gemm' for 'sm_90a'\n    \
         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
         ptxas info    : Used 168 registers, used 16 barriers";
    assert_eq!(complaints(quiet), [""; 0]);
    assert_eq!(registers(quiet), Some("168"));
    assert_eq!(shared(quiet), "0");
    assert_eq!(
        shared(&format!("{quiet}, 8192 bytes smem, 400 bytes cmem[0]")),
        "8192"
    );
    for loud in [
        "    40 bytes stack frame, 36 bytes spill stores, 44 bytes spill loads",
        "    0 bytes stack frame, 0 bytes spill stores, 10 bytes spill loads",
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to",
    ] {
        assert_eq!(complaints(loud), [loud]);
    }
}
