//! Compiler warnings of a kernel with missing points: the line of a warning may be the cause.
use std::path::Path;

use harness::{Compile, Error, IGNORES_SETMAXNREG, compile_text, name_in_ptx, ptx_file};

use super::{Complaint, NO_MISTAKE};

/// Warnings that almost always indicate a mistake: division by zero, operation out of range, unreachable statement,
/// expression without effect, comparison of an unsigned number with zero, variable used before it is set, function
/// without a return value.
const NUMBERS: &str = "39,61,111,174,186,549,940";

/// The most lines of warnings that are shown.
const SHOWN: usize = 12;

/// Compiles the kernel again with these warnings as errors, because the sandbox returns messages only if compilation fails.
pub fn of(
    (file, text): (&str, &str),
    arch: &str,
    macros: &[String],
    compiler: &dyn Compile,
) -> Option<Complaint> {
    let mut options = ptx_file::options(arch, "");
    options.extend(macros.iter().map(|one| format!("--define-macro={one}")));
    let plain = options.clone();
    options.push(format!("--diag-error={NUMBERS}"));
    // The messages are the front end's: no code is generated for them.
    options.push("--fdevice-syntax-only".into());
    let log = compiles(file, text, &options, compiler).err()?;
    // A kernel that does not compile has a complaint already.
    compiles(file, text, &plain, compiler).ok()?;
    let lines = log.replace("): error: ", "): warning: ");
    let lines = lines
        .lines()
        .filter(|line| !line.contains(" detected in the compilation of "));
    let own = format!("{file}(");
    let mut is_own = false;
    let lines = lines.filter(|line| {
        // The code follows the message; a header's message is not about the kernel.
        if line.contains("): warning: ") {
            is_own = line.starts_with(&own);
        }
        is_own && !line.trim().is_empty()
    });
    let lines: Vec<_> = lines.take(SHOWN).collect();
    if lines.is_empty() {
        return None;
    }
    let hint =
        "begin here: the kernel compiles, but what the compiler warns about may be the mistake";
    let what = format!("the compiler warns:\n{}", lines.join("\n"));
    Some(Complaint::new(what, hint, "compiler-warning"))
}

/// ptxas, if it is found, ignores each `setmaxnreg` of this kernel. That costs no points: C is right, and no assignment needs
/// it.
pub fn of_setmaxnreg(ptx: &str, arch: &str, compiler: &dyn Compile) -> Option<Complaint> {
    if !ptx.contains("setmaxnreg") {
        return None;
    }
    let code = compiler.assemble(ptx, "gemm", arch).ok()?;
    let ignores = code.lines().any(|line| line == IGNORES_SETMAXNREG);
    ignores.then(|| {
        Complaint::new(
            "ptxas ignores each setmaxnreg of this kernel: one of them leaves a warp fewer registers than its code needs",
            "how many registers a thread do the accumulators of each warp take, and how many are left for its addresses and counters? \
             Raise the number of a setmaxnreg in steps of 8 until this remark is gone",
            NO_MISTAKE,
        )
    })
}

/// The compiler's messages if the kernel does not compile.
fn compiles(
    file: &str,
    text: &str,
    options: &[String],
    compiler: &dyn Compile,
) -> Result<(), String> {
    let name = name_in_ptx(Path::new(file));
    match compile_text(compiler, text, &name, options, file) {
        Err(Error::Compile { log, .. }) => Err(log),
        _ => Ok(()),
    }
}
