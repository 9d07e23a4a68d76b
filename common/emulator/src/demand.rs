//! What a launch asks of a multiprocessor, resource by resource, from what each instruction is and how often
//! it ran.
use crate::banks::LANES;
use crate::{Counters, Instruction};

/// What a launch asks for, summed over its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Issue slots, in warp instructions. Counted in PTX, so an estimate: ptxas folds addresses and merges
    /// neighbours, and adds some instructions of its own. What it resolves without an instruction is left out.
    /// (The inner loops of three kernels as ptxas 13.0 made them for sm_90a had 0.3% to 6% more.)
    pub issue: u64,
    /// f32 multiply-adds (or sums, or products), in lanes: an idle lane of a warp takes its place too.
    pub fma: u64,
    /// Floating-point operations of `mma.sync`.
    pub mma_sync: u64,
    /// Floating-point operations of `wgmma`.
    pub wgmma: u64,
    /// Passes of shared memory through the L1's data pipe.
    pub shared_wavefronts: u64,
    /// Passes of global memory through the same pipe, at least: a pass carries 128 bytes of one request. What
    /// goes past the L1's registers (`cp.async`, bulk copies) is counted where it enters shared memory.
    pub global_wavefronts: u64,
    /// Bytes between L1 and L2, if nothing is ever found in the L1.
    pub l2_bytes: u64,
    /// The part of them that no L1 can save: stores, and loads that go past it.
    pub l2_bytes_past_l1: u64,
}

impl Demand {
    /// Of a launch with these counters, one for each instruction.
    pub fn new(instructions: &[Instruction], counters: &[Counters]) -> Self {
        let mut demand = Self::default();
        for (instruction, counters) in instructions.iter().zip(counters) {
            demand.add(&instruction.text, counters);
        }
        demand
    }

    fn add(&mut self, text: &str, counters: &Counters) {
        let opcode = opcode(text);
        let parts: Vec<&str> = opcode.split('.').collect();
        if !is_free(&parts) {
            self.issue += counters.executions;
        }
        if is_fma(&parts) {
            self.fma += counters.executions * LANES as u64;
        }
        match parts[0] {
            "mma" => self.mma_sync += counters.executions.saturating_mul(flop(&parts)),
            // The four warps of a group execute it together, each for 16 of the 64 rows.
            "wgmma" => self.wgmma += counters.executions.saturating_mul(flop(&parts)) / 4,
            _ => {}
        }
        self.shared_wavefronts += counters.shared.wavefronts;
        let bytes = SECTOR * counters.global_sectors;
        self.l2_bytes += bytes;
        if is_past_l1(&parts) {
            self.l2_bytes_past_l1 += bytes;
        }
        if parts[0] != "cp" {
            // The least that the sums allow: a request takes a pass, and so do 128 bytes.
            self.global_wavefronts += counters.global_requests.max(bytes.div_ceil(128));
        }
    }
}

/// Bytes of a sector, in which L1 and L2 exchange data.
const SECTOR: u64 = 32;

/// The operation of an instruction, without its guard: `fma.rn.f32`.
fn opcode(text: &str) -> &str {
    text.split_whitespace()
        .find(|word| !word.starts_with('@'))
        .unwrap_or_default()
        .trim_end_matches(';')
}

/// What ptxas resolves when it names registers and constants: parameters are operands from the constant bank,
/// and addresses of shared memory or of a variable are numbers.
fn is_free(parts: &[&str]) -> bool {
    match parts[0] {
        "mov" | "cvta" => true,
        "ld" => parts.contains(&"param"),
        // Between widths of integers: half of a register pair, or the register itself.
        "cvt" => parts[1..].iter().all(|part| {
            part.starts_with(['u', 's', 'b']) && part[1..].chars().all(|c| c.is_ascii_digit())
        }),
        _ => false,
    }
}

/// f32 arithmetic in the FMA pipe (CUDA C++ Programming Guide, "Arithmetic Instructions": 128 results a clock
/// for 9.0). Of what else goes there (multiplication of integers, half precision) nothing is counted.
fn is_fma(parts: &[&str]) -> bool {
    matches!(parts[0], "fma" | "mad" | "add" | "sub" | "mul") && parts.last() == Some(&"f32")
}

/// Stores are written through the L1; `.cg` and copies to shared memory leave it out (PTX ISA, "Cache
/// Operators").
fn is_past_l1(parts: &[&str]) -> bool {
    match parts[0] {
        "ld" => ["cg", "cv", "volatile", "acquire", "relaxed"]
            .iter()
            .any(|qualifier| parts.contains(qualifier)),
        "cp" => !parts.contains(&"ca"),
        _ => true,
    }
}

/// Operations of one matrix instruction, two for each of m n k: `m16n8k16` is 4,096.
fn flop(parts: &[&str]) -> u64 {
    let shape = |part: &&str| {
        let (m, nk) = part.strip_prefix('m')?.split_once('n')?;
        let (n, k) = nk.split_once('k')?;
        let [m, n, k] = [m, n, k].map(|side| side.parse::<u64>().ok());
        m?.checked_mul(n?)?.checked_mul(k?)?.checked_mul(2)
    };
    parts.iter().find_map(shape).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Wavefronts;

    /// What one instruction asks for that ran 10 times, with 4 wavefronts and 3 sectors each time.
    fn demand(text: &str) -> Demand {
        let mut demand = Demand::default();
        let counters = Counters {
            executions: 10,
            shared: Wavefronts {
                wavefronts: 40,
                ..Wavefronts::default()
            },
            global_requests: 10,
            global_sectors: 30,
            ..Counters::default()
        };
        demand.add(text, &counters);
        demand
    }

    #[test]
    fn instructions_ask_for_their_pipe() {
        assert_eq!(demand("@%p1 fma.rn.f32 %f1, %f2, %f3, %f1;").fma, 320);
        assert_eq!(demand("add.s32 %r1, %r2, %r3;").fma, 0);
        let mma = demand("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1}, {%r1};");
        assert_eq!((mma.mma_sync, mma.wgmma, mma.issue), (40_960, 0, 10));
        let wgmma = demand("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd1, %rd2;");
        assert_eq!((wgmma.mma_sync, wgmma.wgmma), (0, 327_680));
        assert_eq!(demand("wgmma.fence.sync.aligned;").wgmma, 0);
    }

    #[test]
    fn what_ptxas_resolves_takes_no_slot() {
        for free in [
            "mov.u32 %r1, %tid.x;",
            "cvta.to.global.u64 %rd1, %rd2;",
            "ld.param.u64 %rd1, [f_param_0];",
            "cvt.u64.u32 %rd1, %r1;",
            "@!%p2 mov.u32 %r1, %r2;",
        ] {
            assert_eq!(demand(free).issue, 0, "{free}");
        }
        for paid in [
            "cvt.f32.f16 %f1, %rs1;",
            "bar.sync 0;",
            "ret;",
            "ld.global.u16 %rs1, [%rd1];",
        ] {
            assert_eq!(demand(paid).issue, 10, "{paid}");
        }
    }

    #[test]
    fn bytes_pass_the_l1_or_may_be_found_there() {
        let bytes = |text| {
            let demand = demand(text);
            (
                demand.l2_bytes,
                demand.l2_bytes_past_l1,
                demand.global_wavefronts,
            )
        };
        assert_eq!(bytes("ld.global.u16 %rs1, [%rd1];"), (960, 0, 10));
        assert_eq!(bytes("ld.global.cg.u32 %r1, [%rd1];"), (960, 960, 10));
        assert_eq!(bytes("st.global.u32 [%rd1], %r1;"), (960, 960, 10));
        assert_eq!(
            bytes("cp.async.cg.shared.global [%r1], [%rd1], 16;"),
            (960, 960, 0)
        );
        assert_eq!(
            bytes("cp.async.ca.shared.global [%r1], [%rd1], 4;"),
            (960, 0, 0)
        );
    }

    #[test]
    fn no_text_is_too_strange() {
        for text in [
            "",
            ";",
            "@%p1",
            "mma",
            "mma.m99999999999n99999999999k99999999999",
            "mma.m4000000n4000000k100000",
            "wgmma.mnk",
            ".",
        ] {
            demand(text);
        }
    }
}
