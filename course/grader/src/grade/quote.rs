//! Lines of the submission, as complaints quote them.
use std::borrow::Cow;

use emulator::{Callee, Instruction};
use harness::{Source, lines};

/// The most characters of a line: the submission's may be megabytes long.
const MOST: usize = 160;

/// The line with this number, without indentation.
pub fn text(source: &Source, line: u32) -> Option<Cow<'_, str>> {
    let code = source.text.as_deref()?;
    let text = code.lines().nth((line as usize).checked_sub(1)?)?.trim();
    Some(match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{} …", &text[..end]).into(),
        None => text.into(),
    })
}

/// `line 88: load(step, 0);`. Of an instruction in an inlined function: its line in there, and that of the call.
pub fn line(source: &Source, instruction: &Instruction) -> Option<String> {
    let Some(callee) = callee(source, instruction) else {
        let line = lines::line_of(source, instruction)?;
        return Some(format!("line {line}: {}", text(source, line)?));
    };
    let (line, call) = (callee.line.line, callee.call.line);
    Some(format!(
        "line {line}: {}\n  in {}, called from line {call}: {}",
        text(source, line)?,
        name(source, callee),
        text(source, call)?
    ))
}

/// The line in the inlined function, if there is one; else the line in the kernel.
pub fn innermost(source: &Source, instruction: &Instruction) -> Option<u32> {
    match callee(source, instruction) {
        Some(callee) => Some(callee.line.line),
        None => lines::line_of(source, instruction),
    }
}

/// The inlined function of an instruction, if its line says more than the call: a function that wraps a single instruction does
/// not, and one of a header is not the student's.
fn callee<'a>(source: &Source, instruction: &'a Instruction) -> Option<&'a Callee> {
    let callee = instruction.callee.as_ref()?;
    let is_own = |line: &emulator::SourceLine| *line.file == *source.name;
    let text = text(source, callee.line.line)?;
    // The line is one of the lines of the `asm` statement.
    let wraps = text.starts_with([':', '"']) || text.contains("asm");
    (is_own(&callee.line) && is_own(&callee.call) && !wraps).then_some(callee)
}

/// The name of the function; that of a lambda is the variable's.
fn name<'a>(source: &'a Source, callee: &'a Callee) -> Cow<'a, str> {
    let code = source.text.as_deref().unwrap_or_default();
    let before: Vec<&str> = code.lines().take(callee.line.line as usize).collect();
    let defined = |line: &&'a str| {
        let (name, _) = line.trim().strip_prefix("auto ")?.split_once(" = [")?;
        Some(name)
    };
    match &*callee.function == "a lambda" {
        true => before.iter().rev().find_map(defined),
        false => Some(&*callee.function),
    }
    .map_or("a lambda".into(), |name| format!("`{name}`").into())
}
