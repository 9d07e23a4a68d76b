//! The text of a finding, in compute-sanitizer's terms.
use std::fmt;

use super::{
    AccessKind, Conflict, Finding, FindingKind, Location, MemoryAccess, Severity, Synchronization,
    UndefinedUse,
};

impl AccessKind {
    /// As compute-sanitizer's racecheck writes it.
    fn title(self) -> &'static str {
        match self {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
            AccessKind::Atomic => "Atomic",
            AccessKind::AsyncRead => "Asynchronous Read",
            AccessKind::AsyncWrite => "Asynchronous Write",
        }
    }
}

impl fmt::Display for UndefinedUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UndefinedUse::Address => "used as an address",
            UndefinedUse::Condition => "used as a condition",
            UndefinedUse::Store => "stored to memory",
            UndefinedUse::Matrix(Some((operand, register))) => {
                return write!(f, "used in a matrix product, as {operand}[{register}]");
            }
            UndefinedUse::Matrix(None) => "used in a matrix product",
            UndefinedUse::Operand => "used as an operand",
        })
    }
}

impl fmt::Display for Synchronization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Synchronization::Copy => "an asynchronous copy",
            Synchronization::Wait => "a wait",
            Synchronization::Barrier => "a barrier",
            Synchronization::Fence => "a fence",
            Synchronization::Arrival => "an operation on an mbarrier",
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title().to_lowercase())
    }
}

impl Location {
    /// The line of the source and the line of the PTX.
    pub fn at(&self) -> String {
        match &self.source {
            Some(source) => format!("{source} (PTX line {})", self.ptx_line),
            None => format!("PTX line {}", self.ptx_line),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [bx, by, bz]) = (self.thread, self.block);
        f.write_str(&self.at())?;
        if let Some(callee) = &self.callee {
            write!(f, "\n    in {}", callee.function)?;
            if self.source.as_ref() != Some(&callee.line) {
                write!(f, ", at {}", callee.line)?;
            }
            if self.source.as_ref() != Some(&callee.call) {
                write!(f, ", called from {}", callee.call)?;
            }
        }
        match self.warpgroup_warp {
            None => write!(f, "\n    by thread ({x},{y},{z})")?,
            Some(warp) => {
                let first = warp / 4 * 4;
                write!(
                    f,
                    "\n    by the warpgroup of warps {first} to {}",
                    first + 3
                )?;
                if warp != first {
                    write!(f, " (seen in warp {warp})")?;
                }
            }
        }
        write!(f, " in block ({bx},{by},{bz})")
    }
}

/// The last line of a report.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} address 0x{:x}", self.space, self.address)
    }
}

impl fmt::Display for MemoryAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} of size {} bytes",
            self.space, self.access, self.bytes
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = self.location.to_string();
        let mut report = |title: &str, detail: &str| {
            write!(f, "{title}\n    at {here}")?;
            detail
                .lines()
                .try_for_each(|line| write!(f, "\n    {line}"))
        };
        match &self.kind {
            FindingKind::OutOfBounds {
                access, nearest, ..
            } => report(
                &format!("Invalid {access}"),
                &format!(
                    "Access at 0x{:x} is out of bounds\nand is {nearest}",
                    access.address
                ),
            ),
            FindingKind::Misaligned(access) => report(
                &format!("Invalid {access}"),
                &format!("Access at 0x{:x} is misaligned", access.address),
            ),
            FindingKind::Uninitialized(MemoryAccess {
                space,
                bytes,
                address,
                ..
            }) => report(
                &format!("Uninitialized {space} memory read of size {bytes} bytes"),
                &format!("Access at 0x{address:x}"),
            ),
            FindingKind::UndefinedRegister { of, first_read } => {
                let detail = first_read.as_ref().map_or(String::new(), |first| {
                    format!(
                        "read at {} before any instruction had written it",
                        first.at()
                    )
                });
                report(&format!("Uninitialized register {of}"), &detail)
            }
            FindingKind::Race(conflict) => write!(
                f,
                "Race reported between {} access at {}\n    and {} access at {here}\n    {conflict}",
                conflict.other_access.title(),
                conflict.other,
                conflict.access.title()
            ),
            FindingKind::MissingProxyFence(conflict) if conflict.of_init => write!(
                f,
                "Missing fence.mbarrier_init before an {} at {here}\n    at the mbarrier initialized at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::MissingProxyFence(conflict) => write!(
                f,
                "Missing fence.proxy.async before an {} at {here}\n    of what was written at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::MbarrierTouched(conflict) => write!(
                f,
                "Invalid {} of an mbarrier at {here}\n    initialized at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::DivergentBarrier { missing } => report(
                "Barrier error detected. Divergent thread(s) in warp",
                &format!("{missing} live threads of the warp are elsewhere"),
            ),
            FindingKind::InvalidBarrier(why) | FindingKind::InvalidMask(why) => {
                report("Barrier error detected. Invalid arguments", why)
            }
            FindingKind::InvalidMbarrier(_, why) => report("Invalid use of an mbarrier", why),
            FindingKind::UnheededWait { access } => report(
                "mbarrier.try_wait without a loop, or in one that gives up: it may return false before the phase is complete",
                &format!("the thread then goes on to {}", access.at()),
            ),
            FindingKind::TransactionCount(why) => report("Wrong transaction count", why),
            FindingKind::SwizzleMismatch(why) => {
                report("Swizzle mismatch between tensor map and descriptor", why)
            }
            FindingKind::InvalidBulkCopy(why) => report("Invalid bulk copy", why),
            FindingKind::UnfinishedCopy(_, why) => report("Unfinished bulk copy", why),
            FindingKind::ExitedBlock(why) => {
                report("Invalid access to a block that has exited", why)
            }
            FindingKind::InvalidCluster(why) => report("Invalid use of a cluster", why),
            FindingKind::InvalidCall(why) => report("Invalid call", why),
            FindingKind::InvalidRegisters(why) => report("Invalid setmaxnreg", why),
            FindingKind::TooFewRegisters(why) => report("Too few registers after setmaxnreg", why),
            FindingKind::InvalidWgmma(why) => report("Invalid wgmma", why),
            FindingKind::UnorderedWgmma(_, why) => report("Unordered wgmma", why),
            FindingKind::StateLeft {
                variables,
                consequence,
                ..
            } => report(
                &format!("State left for the next launch: {}", variables.join(", ")),
                &format!("a later launch on the same inputs has a different result: {consequence}"),
            ),
            FindingKind::NeverExecuted { what, executed_by } => {
                let at = self.location.at();
                write!(f, "Never executed in this launch: {what}\n    at {at}")?;
                executed_by.as_ref().map_or(Ok(()), |by| {
                    write!(f, "\n    a launch with {by} executes it")
                })
            }
            FindingKind::BeforePreviousGrid(access) => report(
                &format!("Access before griddepcontrol.wait: {access}"),
                &format!(
                    "Access at 0x{:x}, while the previous launch may still be using it",
                    access.address
                ),
            ),
            FindingKind::Deadlock { waiting } => {
                let waiting: Vec<&str> = waiting.iter().map(|one| &one.text[..]).collect();
                report("Deadlock: no thread can go on", &waiting.join("\n"))
            }
            FindingKind::Trap => report("Trap instruction executed", ""),
            FindingKind::Assertion {
                message,
                file,
                function,
                line,
            } => report(
                &format!("Assertion `{message}` failed"),
                &format!("{file}:{line}, in {function}"),
            ),
        }?;
        if let FindingKind::Race(conflict) = &self.kind
            && conflict.access == AccessKind::Write
            && conflict.other_access == AccessKind::Write
            && conflict.of_one_instruction
        {
            let why = "lanes of one instruction write different values: which of them is kept is undefined";
            write!(f, "\n    {why}")?;
        }
        if let Some((name, offset)) = &self.symbol {
            write!(f, "\n    which is {name} + 0x{offset:x}")?;
        }
        if self.count > 1 {
            write!(f, "\n    {} times in all", self.count)?;
        }
        if let Some(schedule) = self.schedule {
            write!(f, "\n    in another order of warps (schedule {schedule})")?;
        }
        Ok(())
    }
}
