//! What the compiler warns of in a kernel that is short of points: such a line may be the cause.
use std::path::Path;

use harness::{Compile, Error, compile_text, name_in_ptx, ptx_file};

use super::Complaint;

/// Numbers of the warnings that are mistakes nearly always: a division by zero, an operation out of range, a statement that is
/// never reached, an expression without an effect, an unsigned number that is compared with zero, a variable that is used before
/// it has a value, a function that returns nothing.
const NUMBERS: &str = "39,61,111,174,186,549,940";

/// Lines of the compiler's that are shown.
const SHOWN: usize = 12;

/// The kernel compiled once more, with these warnings as errors: so they come by the way of errors, from the sandbox, too.
pub fn of(
    (file, text): (&str, &str),
    arch: &str,
    macros: &[String],
    compiler: &dyn Compile,
) -> Option<Complaint> {
    let mut options = ptx_file::options(arch, "");
    options.extend(macros.iter().map(|one| format!("--define-macro={one}")));
    if let Ok(()) = compiles(file, text, &options, compiler) {
        options.push(format!("--diag-error={NUMBERS}"));
        let log = compiles(file, text, &options, compiler).err()?;
        let lines = log.replace("): error: ", "): warning: ");
        let lines = lines
            .lines()
            .filter(|line| !line.contains(" detected in the compilation of "));
        let lines: Vec<_> = lines
            .filter(|line| !line.trim().is_empty())
            .take(SHOWN)
            .collect();
        let hint = "the kernel compiles all the same, and may be wrong for this reason: begin here";
        let what = format!("the compiler warns:\n{}", lines.join("\n"));
        return Some(Complaint::new(what, hint, "compiler-warning"));
    }
    None
}

/// Its messages if it does not.
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
