//! The source lines of an instruction, and whether they belong to a library.
use std::sync::Arc;

use crate::program::{Callee, SourceLine};
use crate::ptx::{Instr, Parsed};

/// The line of the outermost call, and the line in the inlined function, if the instruction is in one.
pub(super) fn source_lines(
    module: &Parsed,
    instr: &Instr,
) -> (Option<SourceLine>, Option<SourceLine>) {
    let line = |file, line| source_line(module, file, line);
    match instr.loc {
        None => (None, None),
        Some(loc) => match loc.inlined_at {
            Some((file, at)) => (line(file, at), line(loc.file, loc.line)),
            None => (line(loc.file, loc.line), None),
        },
    }
}

/// The line that is named if the instruction is wrong.
pub(super) fn line_of_mistake(module: &Parsed, instr: &Instr) -> Option<SourceLine> {
    let (file, line) = instr.loc?.of_mistake();
    source_line(module, file, line)
}

/// The function that the kernel calls there, and the line in it.
pub(super) fn callee(module: &Parsed, instr: &Instr) -> Option<Arc<Callee>> {
    let frame = instr.loc?.callee?;
    Some(Arc::new(Callee {
        function: module.inlined_functions.get(&frame.function?)?.clone(),
        line: source_line(module, frame.at.0, frame.at.1)?,
        call: source_line(module, frame.call.0, frame.call.1)?,
    }))
}

fn source_line(module: &Parsed, file: u32, line: u32) -> Option<SourceLine> {
    module.files.get(&file).map(|name| SourceLine {
        file: name.clone(),
        line,
    })
}

/// Whether the instruction is in an inlined function of NVIDIA's headers that was called by another one of them.
/// Wrappers of single instructions, `cuda::ptx`, count as the kernel's own code if the kernel calls them.
pub(super) fn in_library(module: &Parsed, instr: &Instr) -> bool {
    let is_nvidias = |file: u32| {
        let name = module.files.get(&file).map_or("", |name| name);
        let mut parts = name.split(['/', '\\']).rev();
        let file = parts.next().unwrap_or_default();
        let folders: Vec<&str> = parts.collect();
        file.starts_with("cuda_pipeline")
            || folders.contains(&"cooperative_groups")
            || folders.contains(&"cuda") && folders.iter().any(|folder| folder.starts_with("__"))
    };
    is_called_within(instr, is_nvidias)
}

/// The same for CUB, whose merges read one key past the end and do not use it.
pub(super) fn in_cub(module: &Parsed, instr: &Instr) -> bool {
    is_called_within(instr, |file| {
        let name = module.files.get(&file).map_or("", |name| name);
        name.split(['/', '\\']).any(|folder| folder == "cub")
    })
}

/// Whether it is in an inlined function of a library file that was called by a function in such a file.
fn is_called_within(instr: &Instr, is_of_library: impl Fn(u32) -> bool) -> bool {
    let called = instr.loc.and_then(|loc| Some((loc.file, loc.caller?)));
    called.is_some_and(|(file, caller)| is_of_library(file) && is_of_library(caller))
}
