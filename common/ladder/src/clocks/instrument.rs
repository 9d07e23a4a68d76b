//! Instruments PTX with a clock log of each warp's events.
//!
//! Lane 0 of each warp of the first blocks writes a 64-bit value at each event: the event in the upper 8 bits,
//! `%clock64` in the others. A register holds the position in the log, so that no instruction waits.
use std::fmt::Write as _;

use anyhow::{Result, ensure};

/// Number of blocks that are logged.
pub const BLOCKS: usize = 8;
/// Most warps of a block that the log holds.
pub const WARPS: usize = 16;
/// Most events of a warp that the log holds.
pub const EVENTS: usize = 4096;

/// The event of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The kernel begins.
    Start = 1,
    /// A wait for a tile, or for a free stage, is over.
    Wait = 2,
    /// A group of wgmmas is committed.
    Multiply = 3,
    /// The kernel ends.
    End = 4,
}

/// The event of a log entry, and its clock.
pub fn event(word: u64) -> Option<(Event, u64)> {
    let all = [Event::Start, Event::Wait, Event::Multiply, Event::End];
    let found = all.into_iter().find(|event| *event as u64 == word >> 56);
    found.map(|event| (event, word & ((1 << 56) - 1)))
}

/// The instructions that log an event.
fn log(event: Event) -> String {
    format!(
        "\tmov.u64 %clk_t, %clock64;\n\tor.b64 %clk_t, %clk_t, 0x{:x};\n\t@%clk_p st.global.u64 [%clk_at], %clk_t;\n\t\
         setp.lt.and.u64 %clk_p, %clk_at, %clk_end, %clk_p;\n\tadd.u64 %clk_at, %clk_at, 8;\n",
        (event as u64) << 56
    )
}

/// Declares registers, and computes the address of this warp's part of the log.
fn prologue() -> String {
    let bytes = EVENTS * 8;
    format!(
        "\t.reg .b64 %clk_t, %clk_at, %clk_end;\n\t.reg .b32 %clk_a, %clk_b;\n\t.reg .pred %clk_p;\n\t\
         mov.u32 %clk_a, %tid.x;\n\tand.b32 %clk_b, %clk_a, 31;\n\tsetp.eq.u32 %clk_p, %clk_b, 0;\n\t\
         shr.u32 %clk_a, %clk_a, 5;\n\tsetp.lt.and.u32 %clk_p, %clk_a, {WARPS}, %clk_p;\n\t\
         mov.u32 %clk_b, %ctaid.x;\n\tsetp.lt.and.u32 %clk_p, %clk_b, {BLOCKS}, %clk_p;\n\t\
         mad.lo.u32 %clk_a, %clk_b, {WARPS}, %clk_a;\n\tmul.wide.u32 %clk_at, %clk_a, {bytes};\n\t\
         mov.u64 %clk_t, {name};\n\tadd.u64 %clk_at, %clk_at, %clk_t;\n\tadd.u64 %clk_end, %clk_at, {last};\n{start}",
        name = harness::CLOCK_LOG,
        last = bytes - 16,
        start = log(Event::Start),
    )
}

/// Adds a log to the kernel `gemm` of this PTX.
///
/// # Errors
/// If it has no wait, by `mbarrier.try_wait` or `cp.async.wait_group`.
pub fn instrumented(ptx: &str) -> Result<String> {
    let mut text = String::new();
    // The kind of line that ends the wait: an inline `try_wait` ends with its block, `wait_group` with the barrier.
    let (mut in_kernel, mut begun, mut try_wait, mut wait_group, mut commit) =
        (false, false, false, false, false);
    let mut waits = 0;
    for line in ptx.lines() {
        let code = line.trim();
        if code.starts_with(".visible .entry gemm(") {
            let _ = writeln!(
                text,
                ".visible .global .align 8 .b64 {}[{}];",
                harness::CLOCK_LOG,
                BLOCKS * WARPS * EVENTS
            );
            in_kernel = true;
        }
        let is_instruction = !code.is_empty()
            && !code.starts_with(['.', '/', '{', ')', '}'])
            && !code.ends_with(':');
        if in_kernel && !begun && is_instruction {
            text += &prologue();
            begun = true;
        }
        if begun && in_kernel && code == "ret;" {
            text += &log(Event::End);
        }
        text += line;
        text.push('\n');
        if !begun || !in_kernel {
            continue;
        }
        try_wait |= code.contains("mbarrier.try_wait");
        commit |= code.starts_with("wgmma.commit_group");
        wait_group |= code.starts_with("cp.async.wait_group");
        let ends_asm = code.starts_with("// end inline asm");
        if ends_asm && try_wait || wait_group && code.starts_with("bar.sync") {
            text += &log(Event::Wait);
            (try_wait, wait_group) = (false, false);
            waits += 1;
        } else if ends_asm && commit {
            text += &log(Event::Multiply);
            commit = false;
        }
        in_kernel = line != "}";
    }
    ensure!(
        waits > 0,
        "the kernel has no wait by mbarrier.try_wait or cp.async.wait_group: rungs from 06 on have one"
    );
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_waits_is_refused() {
        let ptx = ".visible .entry gemm(\n)\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r1, 0;\n\tret;\n}\n";
        assert!(instrumented(ptx).is_err_and(|why| why.to_string().contains("has no wait")));
    }

    #[test]
    fn an_entry_is_an_event_and_its_clock() {
        assert_eq!(event(2 << 56 | 1234), Some((Event::Wait, 1234)));
        assert_eq!(event(0), None);
    }
}
