//! `cargo ladder sass N`: a rung's machine code, or that of two rungs in numbers.
mod compare;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use harness::KernelOnDisk;

use harness::{rungs, tools};

/// The package that has `ptxas`.
pub const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";

#[derive(clap::Args)]
pub struct Arguments {
    /// The rung: its number or name
    rung: String,
    /// Another rung: count the instructions of both instead
    other: Option<String>,
    /// What to assemble for; sm_90a takes the rung's Hopper kernel, if it has one [default: sm_90]
    #[arg(long)]
    arch: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let arch = arguments.arch.as_deref();
    let (name, code, said) = machine_code(&arguments.rung, arch)?;
    if let Some(other) = &arguments.other {
        let (other, others, _) = machine_code(other, arch)?;
        let kernels = [&code, &others].map(|code| compare::Census::of(code));
        anstream::print!("{}", compare::table([&name, &other], kernels.each_ref()));
    } else {
        anstream::print!("{code}");
        anstream::eprint!("{said}");
    }
    Ok(true)
}

/// A rung's name, its kernel as `nvdisasm` prints it, and what `ptxas` said of it.
fn machine_code(rung: &str, arch: Option<&str>) -> Result<(String, String, String)> {
    let ptxas = tools::find("ptxas", PTXAS)?;
    let nvdisasm = tools::find("nvdisasm", "nvidia-cuda-nvdisasm==13.2.51")?;
    let rung = rungs::find(rung)?;
    // The kernel that is written for `--arch`, else the first.
    let kernels = rung.kernels()?;
    let wanted = |kernel: &&KernelOnDisk| Some(kernel.kernel().arch) == arch;
    let kernel = kernels.iter().find(wanted).or(kernels.first());
    let no_kernel = || format!("rung {} has no kernel.cu", rung.name);
    let kernel = kernel.with_context(no_kernel)?.kernel();
    let arch = arch.unwrap_or(match kernel.arch {
        "sm_80" => "sm_90",
        own => own,
    });

    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let said = assemble(
        &ptxas,
        scratch.path(),
        &kernel.current_ptx(&rung.place())?,
        arch,
    )?;
    let mut disassemble = Command::new(&nvdisasm);
    let code = output(disassemble.current_dir(scratch.path()).args([
        "--print-code",
        "--print-line-info",
        "kernel.cubin",
    ]))?;
    Ok((rung.name, code, said))
}

/// Makes `kernel.cubin`; what `ptxas` said of it.
fn assemble(ptxas: &Path, scratch: &Path, ptx: &str, arch: &str) -> Result<String> {
    fs::write(scratch.join("kernel.ptx"), ptx).context("cannot write the PTX")?;
    let mut assemble = Command::new(ptxas);
    assemble
        .current_dir(scratch)
        .args(["--gpu-name", arch, "--verbose", "--generate-line-info"]);
    output(assemble.args(["kernel.ptx", "--output-file", "kernel.cubin"]))
}

/// Runs a program; what it said, on both streams.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{program} failed:\n{}", said.trim_end());
    }
    Ok(said)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::io::Write as _;

    use super::*;
    use std::path::PathBuf;

    /// Every card that a kernel runs on; what is written for `sm_90a` runs on no other.
    fn cards(arch: &str) -> &'static [&'static str] {
        match arch {
            "sm_80" => &[
                "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120",
            ],
            "sm_90a" => &["sm_90a"],
            _ => panic!("{arch}: which cards run it?"),
        }
    }

    /// What `ptxas` says of a kernel whose registers go to memory, or whose `wgmma` wait for each other, which are
    /// warnings C7510 to C7520.
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

    /// Bytes of shared memory that the kernel declares; what it is given at the launch is not among them.
    fn shared(said: &str) -> &str {
        let bytes = said.split_once(" bytes smem").map(|(before, _)| before);
        bytes
            .and_then(|before| before.rsplit(' ').next())
            .unwrap_or("0")
    }

    /// The PTX beside kernels that are no rungs': the book's.
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
    fn nothing_spills_and_no_wgmma_is_serialised() {
        let Some(ptxas) = tools::locate("ptxas") else {
            let required = std::env::var("GEMM_REQUIRE_PTXAS").is_ok_and(|value| value == "1");
            assert!(!required, "GEMM_REQUIRE_PTXAS=1, but there is no ptxas");
            // Not by eprintln!, which the test runner keeps to itself.
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
                    assert!(said.contains(NO_SPILLS), "{what}: {said}");
                    assert_eq!(complaints(&said), [""; 0], "{what}");
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

    /// Whether this is the ptxas that what is committed was made by.
    fn is_pinned(ptxas: &Path) -> bool {
        let version = output(Command::new(ptxas).arg("--version")).expect("its version");
        let (_, pinned) = PTXAS.split_once("==").expect("a version");
        version.contains(pinned)
    }

    /// Whether ptxas and nvdisasm are those that recorded; says so if not.
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

    /// What the book says of the scope of barriers: rung 11, and the same with `.release.cluster` and `.acquire.cluster`.
    #[test]
    fn the_recorded_scopes_are_current() {
        if !can_record() {
            return;
        }
        const RECORDED: &str = "book/recorded/sass_scope.txt";
        let root = rungs::root().expect("the root");
        let recorded = fs::read_to_string(root.join(RECORDED)).expect("recorded machine code");
        let (_, code, _) = machine_code("11", None).expect("rung 11");
        let ptx = fs::read_to_string(root.join("book/kernels/barriers_of_cluster_scope.ptx"));
        let scratch = tempfile::tempdir().expect("a folder for temporary files");
        let ptxas = tools::locate("ptxas").expect("found above");
        assemble(&ptxas, scratch.path(), &ptx.expect("its PTX"), "sm_90a").expect("assembled");
        let mut nvdisasm = Command::new(tools::locate("nvdisasm").expect("found above"));
        nvdisasm
            .arg("--print-code")
            .arg(scratch.path().join("kernel.cubin"));
        let variant = output(&mut nvdisasm).expect("disassembled");
        // What the recorded commands search for.
        let words = [
            "TRYWAIT",
            "CCTL",
            "DEPBAR",
            "MEMBAR",
            "ERRBAR",
            "SYNCS.ARRIVE",
        ];
        let of = |code: &str, most: usize| -> Vec<String> {
            let lines = code
                .lines()
                .filter(|line| words.iter().any(|word| line.contains(word)));
            lines.take(most).map(str::trim).map(str::to_owned).collect()
        };
        let wanted: Vec<_> = of(&code, 4).into_iter().chain(of(&variant, 10)).collect();
        let shown: Vec<_> = recorded
            .lines()
            .filter(|line| !line.starts_with('$'))
            .collect();
        let shown: Vec<_> = shown.into_iter().map(str::trim).collect();
        assert_eq!(shown, wanted, "run the commands in {RECORDED} again");
    }

    /// The table that the book shows where there is no `ptxas`.
    #[test]
    fn the_recorded_comparison_is_current() {
        if !can_record() {
            return;
        }
        let path = rungs::root().expect("the root").join(RECORDED);
        let recorded = fs::read_to_string(&path).expect("a recorded table");
        let (name, code, _) = machine_code("4", None).expect("rung 04");
        let (other, others, _) = machine_code("5", None).expect("rung 05");
        let kernels = [&code, &others].map(|code| compare::Census::of(code));
        let table = compare::table([&name, &other], kernels.each_ref());
        assert_eq!(
            recorded.replace('\r', ""),
            format!("$ cargo ladder sass 4 5\n{table}"),
            "write what `cargo ladder sass 4 5` prints into {RECORDED}, under the command"
        );
    }

    const RECORDED: &str = "book/recorded/sass_04_05.txt";

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
}
