//! The emulated GPU: the behavior of its tensor cores, and what it cannot launch.
use std::fmt;
use std::str::FromStr;

use crate::program::Program;
use crate::{FactorFormat, Fence, InstructionKind, MatrixProduct, Space, SumFormat};

/// A GPU.
///
/// Memory counters follow the rules measured on the H100 for every card. They are expected to hold for related
/// GPUs, but were measured on the H100 only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Card {
    /// Hopper: measured, and compared bit for bit with recordings (`calibration/`).
    #[default]
    H100,
    /// Ampere, compute capability 8.0. Its tensor cores follow the literature: see [`crate::tensor`].
    A100,
}

impl Card {
    /// All cards, the default first.
    pub const ALL: [Self; 2] = [Self::H100, Self::A100];

    /// `h100` or `a100`.
    pub fn name(self) -> &'static str {
        match self {
            Self::H100 => "h100",
            Self::A100 => "a100",
        }
    }

    /// Where the model of its tensor cores comes from.
    pub fn evidence(self) -> &'static str {
        match self {
            Self::H100 => "measured",
            Self::A100 => "from the literature, not calibrated here",
        }
    }

    /// Streaming multiprocessors (SMs) of an H100 SXM and of an A100 (NVIDIA's architecture whitepapers).
    pub fn sms(self) -> u32 {
        match self {
            Self::H100 => 132,
            Self::A100 => 108,
        }
    }

    /// Its compute capability: major and minor number.
    pub fn compute_capability(self) -> (u32, u32) {
        match self {
            Self::H100 => (9, 0),
            Self::A100 => (8, 0),
        }
    }

    /// The most shared memory that a block can use, in bytes (CUDA C++ Programming Guide, "Compute Capabilities").
    pub fn shared_of_a_block(self) -> u32 {
        match self {
            Self::H100 => 227 << 10,
            Self::A100 => 163 << 10,
        }
    }

    /// Bytes of shared memory of an SM (same table).
    pub fn shared_of_an_sm(self) -> u32 {
        match self {
            Self::H100 => 228 << 10,
            Self::A100 => 164 << 10,
        }
    }

    /// The newest `.target` that it runs.
    fn newest_target(self) -> &'static str {
        match self {
            Self::H100 => "sm_90a",
            Self::A100 => "sm_80",
        }
    }

    /// Whether it runs PTX for this `.target`: `sm_90a` only where the compute capability is 9.0, `sm_80` also on all
    /// newer ones (PTX ISA, "PTX Module Directives: .target").
    pub fn runs(self, target: &str) -> bool {
        let (major, minor) = self.compute_capability();
        let number = 10 * major + minor;
        let Some(digits) = target.strip_prefix("sm_") else {
            return false;
        };
        match digits.strip_suffix('a') {
            Some(exact) => exact.parse() == Ok(number),
            None => digits.parse::<u32>().is_ok_and(|needed| needed <= number),
        }
    }

    /// If it cannot run this program, why.
    pub(crate) fn refuses(self, program: &Program) -> Option<String> {
        if !self.runs(&program.target) {
            let (major, minor) = self.compute_capability();
            return Some(format!(
                "the kernel is for {}, and an {} has compute capability {major}.{minor}; compile it for {}",
                program.target,
                self.name().to_uppercase(),
                self.newest_target(),
            ));
        }
        if self == Self::H100 {
            return None;
        }
        let remedy = "emulate an h100, or use a kernel for sm_80";
        let mut instructions = program.instructions.iter();
        instructions.find_map(|instruction| {
            let (line, opcode) = (instruction.ptx_line, &instruction.opcode);
            match &instruction.kind {
                kind if came_with_hopper(kind) => Some(format!(
                    "PTX line {line}: an A100 has no {opcode}, which came with Hopper; {remedy}"
                )),
                InstructionKind::Mma(product) if !is_known_of_ampere(*product) => Some(format!(
                    "PTX line {line}: the results of {opcode} on an A100's tensor cores are not known; emulate an h100"
                )),
                _ => None,
            }
        })
    }
}

/// Whether the literature describes how an A100 computes this product ([`crate::tensor`]), or it is exact on any card.
fn is_known_of_ampere(product: MatrixProduct) -> bool {
    match product.factors {
        FactorFormat::F16 | FactorFormat::Bf16 => product.sums == SumFormat::F32,
        FactorFormat::Int8 | FactorFormat::Int4 | FactorFormat::Bit => true,
        FactorFormat::Tf32 | FactorFormat::Fp8 | FactorFormat::F64 => false,
    }
}

/// Whether the instruction requires compute capability 9.0 (PTX ISA, "Target ISA Notes" of each).
fn came_with_hopper(kind: &InstructionKind) -> bool {
    match kind {
        InstructionKind::StoreMatrix { .. }
        | InstructionKind::BulkCopy { .. }
        | InstructionKind::BulkCopyGroup
        | InstructionKind::Wgmma(_)
        | InstructionKind::WgmmaGroup
        | InstructionKind::ClusterBarrier
        | InstructionKind::ClusterAddress
        | InstructionKind::Elect
        | InstructionKind::SetRegisters
        | InstructionKind::Fence(Fence::AsyncProxy | Fence::MbarrierInit) => true,
        InstructionKind::Load(transfer) | InstructionKind::Store(transfer) => {
            transfer.space == Space::Cluster
        }
        InstructionKind::Atomic { space, .. }
        | InstructionKind::ConvertAddress(space)
        | InstructionKind::IsSpace(space) => *space == Space::Cluster,
        InstructionKind::Mbarrier { space, transaction } => {
            *transaction || *space == Space::Cluster
        }
        InstructionKind::MbarrierWait { space, blocking } => *blocking || *space == Space::Cluster,
        InstructionKind::Hint { bulk } => *bulk,
        InstructionKind::LoadMatrix { .. }
        | InstructionKind::AsyncCopy { .. }
        | InstructionKind::AsyncCopyGroup
        | InstructionKind::Mma(_)
        | InstructionKind::Barrier
        | InstructionKind::WarpBarrier
        | InstructionKind::Fence(Fence::Memory | Fence::OtherProxy)
        | InstructionKind::Shuffle
        | InstructionKind::Vote
        | InstructionKind::Arithmetic { .. }
        | InstructionKind::Approximate { .. }
        | InstructionKind::Move
        | InstructionKind::Branch
        | InstructionKind::Exit
        | InstructionKind::Trap
        | InstructionKind::SystemCall => false,
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Card {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|card| card.name() == text);
        found.ok_or("expected h100 or a100")
    }
}
