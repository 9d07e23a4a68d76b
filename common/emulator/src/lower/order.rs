//! Memory order of accesses and fences: `.relaxed`, `.acquire`, `.release`, `.volatile` and their scopes (PTX ISA,
//! "Memory Consistency Model").
use crate::op::{Order, Scope};
use crate::ptx::Instr;

/// The scope that the opcode names.
pub(super) fn scope(instr: &Instr) -> Option<Scope> {
    match () {
        () if instr.has("cta") => Some(Scope::Block),
        () if instr.has("cluster") => Some(Scope::Cluster),
        () if instr.has_any(&["gpu", "gl", "sys"]) => Some(Scope::Gpu),
        () => None,
    }
}

/// The order of a load, a store or an atomic.
pub(super) fn order(instr: &Instr) -> Order {
    let (acquire, release) = (
        instr.has_any(&["acquire", "acq_rel"]),
        instr.has_any(&["release", "acq_rel"]),
    );
    let strong = acquire || release || instr.has_any(&["relaxed", "volatile"]);
    Order {
        strong: strong.then(|| scope(instr).unwrap_or(Scope::Gpu)),
        volatile: instr.has("volatile"),
        acquire,
        release,
    }
}
