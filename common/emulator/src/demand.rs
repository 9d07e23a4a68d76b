//! The demand of a launch on each resource of an SM, from the kind of each instruction and how
//! often it ran.
use crate::banks::LANES;
use crate::{Counters, FactorFormat, Instruction, InstructionKind, MatrixProduct, Number, Space};

/// The demand of a launch, summed over its blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Issue slots, in warp instructions. They are counted in PTX, so they are an estimate: ptxas folds
    /// addresses, merges neighboring instructions and adds some of its own. PTX instructions that it resolves
    /// without a machine instruction are not counted. (The inner loops of three kernels compiled by ptxas 13.0
    /// for sm_90a had 0.3% to 6% more.)
    pub issue: u64,
    /// f32 multiply-adds (or sums, or products), in lanes; the inactive lanes of a warp count too.
    pub fma: u64,
    /// Operations of `mma.sync`, converted to the number of f16 operations that take the same time.
    pub mma_sync: u64,
    /// Operations of `wgmma`, converted in the same way.
    pub wgmma: u64,
    /// Passes of shared memory through the L1's data pipe.
    pub shared_wavefronts: u64,
    /// Passes of global memory through the same pipe, a lower bound: a pass carries 128 bytes of one request.
    /// Copies that bypass registers (`cp.async`, bulk copies) are counted where they enter shared memory.
    pub global_wavefronts: u64,
    /// Bytes between L1 and L2 if every access misses the L1.
    pub l2_bytes: u64,
    /// The part of them that the L1 cannot serve: stores, and loads that bypass it.
    pub l2_bytes_past_l1: u64,
}

impl Demand {
    /// The demand of a launch with these counters, one for each instruction.
    pub fn new(instructions: &[Instruction], counters: &[Counters]) -> Self {
        let mut demand = Self::default();
        for (instruction, counters) in instructions.iter().zip(counters) {
            demand.add(&instruction.kind, counters);
        }
        demand
    }

    fn add(&mut self, operation: &InstructionKind, counters: &Counters) {
        let bytes = SECTOR * counters.global_sectors;
        // The lower bound that the sums allow: at least one pass for each request, and for each 128 bytes.
        let wavefronts = counters.global_requests.max(bytes.div_ceil(128));
        let mut free = false;
        match operation {
            // ptxas resolves these when it assigns registers and constants: parameters are operands in the
            // constant bank, and addresses of shared memory or of a variable are immediates.
            InstructionKind::Move | InstructionKind::ConvertAddress(_) => free = true,
            InstructionKind::Load(load) => {
                free = load.space == Space::Param;
                self.global_wavefronts += wavefronts;
                if !load.through_l1 {
                    self.l2_bytes_past_l1 += bytes;
                }
            }
            // Written through the L1 (PTX ISA, "Cache Operators").
            InstructionKind::Store(_) | InstructionKind::Atomic { .. } => {
                self.global_wavefronts += wavefronts;
                self.l2_bytes_past_l1 += bytes;
            }
            InstructionKind::AsyncCopy { through_l1, .. } => {
                if !through_l1 {
                    self.l2_bytes_past_l1 += bytes;
                }
            }
            InstructionKind::BulkCopy { .. } => self.l2_bytes_past_l1 += bytes,
            // f32 arithmetic in the FMA pipe (CUDA C++ Programming Guide, "Arithmetic Instructions": 128 results a
            // clock for 9.0). Other work of that pipe (integer multiplication, half precision) is not counted.
            InstructionKind::Arithmetic {
                number: Number::F32,
                multiply_add: true,
            } => self.fma += counters.executions * LANES as u64,
            InstructionKind::Mma(product) => {
                // ptxas makes f16 products of fp8 (`tensor/fp8.rs`).
                let operations = match product.factors {
                    FactorFormat::Fp8 => product.flop(),
                    _ => as_f16(*product),
                };
                self.mma_sync += counters.executions.saturating_mul(operations);
            }
            // The four warps of a warpgroup execute it together, each for 16 of the 64 rows.
            InstructionKind::Wgmma(product) => {
                self.wgmma += counters.executions.saturating_mul(as_f16(*product)) / 4;
            }
            InstructionKind::Arithmetic { .. }
            | InstructionKind::Approximate { .. }
            | InstructionKind::LoadMatrix { .. }
            | InstructionKind::StoreMatrix { .. }
            | InstructionKind::AsyncCopyGroup
            | InstructionKind::BulkCopyGroup
            | InstructionKind::WgmmaGroup
            | InstructionKind::Barrier
            | InstructionKind::ClusterBarrier
            | InstructionKind::WarpBarrier
            | InstructionKind::Mbarrier { .. }
            | InstructionKind::MbarrierWait { .. }
            | InstructionKind::Fence(_)
            | InstructionKind::Shuffle
            | InstructionKind::Vote
            | InstructionKind::Elect
            | InstructionKind::IsSpace(_)
            | InstructionKind::ClusterAddress
            | InstructionKind::SetRegisters
            | InstructionKind::Branch
            | InstructionKind::Exit
            | InstructionKind::Trap
            | InstructionKind::SystemCall
            | InstructionKind::Hint { .. } => {}
        }
        if !free {
            self.issue += counters.executions;
        }
        self.shared_wavefronts += counters.shared.wavefronts;
        self.l2_bytes += bytes;
    }
}

/// Converts to the number of f16 operations that take the same time, by the peak rates of NVIDIA's H100 whitepaper (989
/// TFLOP/s of f16 and bf16, 495 of tf32, 1,979 of 8 bits, 67 of f64). In machine code for sm_90a, one 4-bit product
/// becomes two 8-bit products. The rate of single-bit products is not known, so they are not counted.
fn as_f16(product: MatrixProduct) -> u64 {
    match product.factors {
        FactorFormat::F16 | FactorFormat::Bf16 => product.flop(),
        FactorFormat::Tf32 => 2 * product.flop(),
        FactorFormat::Fp8 | FactorFormat::Int8 | FactorFormat::Int4 => product.flop() / 2,
        FactorFormat::F64 => 15 * product.flop(),
        FactorFormat::Bit => 0,
    }
}

/// Bytes of a sector, in which L1 and L2 exchange data.
const SECTOR: u64 = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Error, Function, Options, SumFormat, Wavefronts};

    /// A kernel with this instruction.
    fn program(text: &str) -> Result<Function, Error> {
        let registers = ".reg .f32 %f<5>;\n.reg .b16 %rs<5>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n.reg .pred %p<5>;";
        let ptx = format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n\
             .visible .entry f(.param .u64 f_param_0)\n{{\n{registers}\n{text}\n}}\n"
        );
        Context::new(Options::default())
            .load_module(&ptx)?
            .function("f")
    }

    /// The demand of one instruction that ran 10 times, with 4 wavefronts and 3 sectors each time.
    fn demand(text: &str) -> Demand {
        let program = program(text).expect(text);
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
        demand.add(&program.instructions()[0].kind, &counters);
        demand
    }

    #[test]
    fn instructions_ask_for_their_pipe() {
        assert_eq!(demand("@%p1 fma.rn.f32 %f1, %f2, %f3, %f1;").fma, 320);
        assert_eq!(demand("add.s32 %r1, %r2, %r3;").fma, 0);
        let mma = demand(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 \
             {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%f1, %f2, %f3, %f4};",
        );
        assert_eq!((mma.mma_sync, mma.wgmma, mma.issue), (40_960, 0, 10));
        let sums = ["%f1"; 32].join(", ");
        let wgmma = demand(&format!(
            "wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {{{sums}}}, %rd1, %rd2, 1, 1, 1, 0, 0;"
        ));
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
    fn no_shape_is_too_strange() {
        for text in [
            "mma;",
            "mma.m99999999999n99999999999k99999999999;",
            "mma.m4000000n4000000k100000.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r1}, {%f1};",
            "wgmma.mnk;",
        ] {
            assert!(program(text).is_err(), "{text}");
        }
        let counters = Counters {
            executions: u64::MAX,
            ..Counters::default()
        };
        let largest = MatrixProduct {
            m: 64,
            n: 256,
            k: 16,
            factors: FactorFormat::F16,
            sums: SumFormat::F32,
        };
        Demand::default().add(&InstructionKind::Wgmma(largest), &counters);
    }
}
