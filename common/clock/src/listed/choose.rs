//! What ptxas usually makes of a PTX instruction: opcodes that [`Class`] knows, and the registers that order them.
use emulator::{Fence, Instruction, InstructionKind, Number, Space, SumFormat};
use rustc_hash::FxHashMap as HashMap;

use super::folded::Folded;
use crate::card::Card;
use crate::class::{Class, Does};
use crate::machine_code::MachineInstruction;

/// A PTX instruction as machine instructions.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// In program order; empty if ptxas only renames a register or folds the instruction into an operand.
    pub machine: Vec<MachineInstruction>,
    /// How the last of them executes.
    pub class: Option<Class>,
    /// Names of the registers that it writes and reads.
    pub writes: Vec<String>,
    pub reads: Vec<String>,
    /// Whether no other instruction may move across it: barriers, fences, waits.
    pub ordered: bool,
    /// Loads may be reordered with each other; stores and copies may not.
    pub loads: bool,
    pub stores: bool,
    /// The memories that it touches: an access to one passes those to another.
    pub memories: u8,
}

/// Memories that ptxas tells apart, a bit each.
const SHARED: u8 = 1;
const GLOBAL: u8 = 2;
const LOCAL: u8 = 4;

/// Those that an instruction touches.
fn memories(one: &Instruction) -> u8 {
    let of = |space: Space| match space {
        Space::Shared | Space::Cluster => SHARED,
        Space::Global => GLOBAL,
        Space::Local => LOCAL,
        Space::Generic => SHARED | GLOBAL | LOCAL,
        Space::Param | Space::Const => 0,
    };
    match &one.kind {
        // What is never written during the launch passes every store.
        InstructionKind::Load(_) if one.opcode.contains(".nc") => 0,
        InstructionKind::Load(transfer) | InstructionKind::Store(transfer) => of(transfer.space),
        InstructionKind::Atomic { space, .. } => of(*space),
        InstructionKind::LoadMatrix { .. } | InstructionKind::StoreMatrix { .. } => SHARED,
        _ => SHARED | GLOBAL | LOCAL,
    }
}

/// Lowers every instruction of a kernel.
pub(super) fn all(instructions: &[Instruction], card: &Card) -> Vec<Chosen> {
    let (uses, folded) = (uses(instructions), Folded::of(instructions));
    let mut all: Vec<Chosen> = (instructions.iter())
        .map(|one| chosen(one, card, &uses, &folded))
        .collect();
    for &part in &folded.parts {
        (all[part].machine, all[part].class) = (Vec::new(), None);
    }
    // In machine code the last wgmma of a group also commits it.
    let mut last: Option<usize> = None;
    for (at, one) in instructions.iter().enumerate() {
        match one.kind {
            InstructionKind::Wgmma(_) => last = Some(at),
            InstructionKind::WgmmaGroup if one.opcode.contains("commit") => {
                let ends = last.and_then(|last| all[last].machine.last_mut());
                if let Some(ends) = ends {
                    ends.operands = "gsb0".into();
                }
            }
            _ => {}
        }
    }
    all
}

/// The opcodes for a PTX instruction.
fn opcodes(one: &Instruction, uses: &HashMap<&str, Uses>, folded: &Folded<'_>) -> Vec<String> {
    let text = one.opcode.as_str();
    let once = |opcode: &str| vec![opcode.to_owned()];
    let has = |part: &str| text.split('.').any(|one| one == part);
    match &one.kind {
        InstructionKind::Load(transfer) | InstructionKind::Store(transfer) => {
            let bits = transfer.bytes * transfer.elements * 8;
            let is_load = matches!(one.kind, InstructionKind::Load(_));
            let root = match (transfer.space, is_load) {
                (Space::Shared | Space::Cluster, true) => "LDS",
                (Space::Shared | Space::Cluster, false) => "STS",
                (Space::Global | Space::Generic, true) => "LDG.E",
                (Space::Global | Space::Generic, false) => "STG.E",
                (Space::Local, true) => "LDL",
                (Space::Local, false) => "STL",
                // An operand in the constant bank.
                (Space::Param | Space::Const, _) => return Vec::new(),
            };
            once(&format!("{root}.{}", bits.max(32)))
        }
        InstructionKind::Atomic { space, .. } => match space {
            Space::Shared | Space::Cluster => once("ATOMS"),
            _ if text.starts_with("red") => once("REDG.E"),
            _ => once("ATOMG.E"),
        },
        InstructionKind::LoadMatrix { count, .. } => once(&format!("LDSM.16.M88.{count}")),
        InstructionKind::StoreMatrix { count, .. } => once(&format!("STSM.16.M88.{count}")),
        InstructionKind::AsyncCopy { through_l1, bytes } => {
            let root = if *through_l1 {
                "LDGSTS.E"
            } else {
                "LDGSTS.E.BYPASS"
            };
            once(&format!("{root}.{}", 8 * bytes))
        }
        InstructionKind::AsyncCopyGroup => match text.contains("commit") {
            true => once("LDGDEPBAR"),
            false => once("DEPBAR.LE"),
        },
        InstructionKind::BulkCopyGroup => match text.contains("commit") {
            true => once("UTMACMDFLUSH"),
            false => once("DEPBAR.LE"),
        },
        InstructionKind::BulkCopy { tensor } => match (tensor, text.contains(".global.shared")) {
            (true, false) => once("UTMALDG"),
            (true, true) => once("UTMASTG"),
            (false, _) => once("UBLKCP"),
        },
        InstructionKind::Mma(product) => {
            let (opcode, flop) = match product.sums {
                SumFormat::F64 => ("DMMA.884", 512),
                SumFormat::Int32 => ("IMMA.16832", 8192),
                SumFormat::F16 | SumFormat::F32 if product.flop() % 4096 == 0 => {
                    ("HMMA.16816", 4096)
                }
                SumFormat::F16 | SumFormat::F32 => ("HMMA.1688", 2048),
            };
            vec![opcode.to_owned(); (product.flop() / flop).clamp(1, 64) as usize]
        }
        InstructionKind::Wgmma(product) => {
            let root = match product.factors {
                emulator::FactorFormat::F16
                | emulator::FactorFormat::Bf16
                | emulator::FactorFormat::Tf32
                | emulator::FactorFormat::F64 => "HGMMA",
                emulator::FactorFormat::Fp8 => "QGMMA",
                emulator::FactorFormat::Int8 | emulator::FactorFormat::Int4 => "IGMMA",
                emulator::FactorFormat::Bit => "BGMMA",
            };
            once(&format!("{root}.{}x{}x{}", product.m, product.n, product.k))
        }
        InstructionKind::WgmmaGroup => match text {
            text if text.contains("commit") => Vec::new(),
            text if text.contains("fence") => once("WARPGROUP.ARRIVE"),
            _ => once("WARPGROUP.DEPBAR.LE"),
        },
        InstructionKind::Barrier => match text.contains("arrive") {
            true => once("BAR.ARV"),
            false => once("BAR.SYNC"),
        },
        InstructionKind::ClusterBarrier => match text.contains("arrive") {
            true => once("UCGABAR_ARV"),
            false => once("UCGABAR_WAIT"),
        },
        InstructionKind::WarpBarrier => once("WARPSYNC"),
        InstructionKind::Mbarrier { .. } => once("SYNCS.ARRIVE"),
        InstructionKind::MbarrierWait { .. } => once("SYNCS.PHASECHK.TRYWAIT"),
        InstructionKind::Fence(Fence::Memory) => match has("cta") {
            true => once("MEMBAR.SC.CTA"),
            false => once("MEMBAR.SC.GPU"),
        },
        InstructionKind::Fence(Fence::AsyncProxy) => once("FENCE.VIEW.ASYNC"),
        InstructionKind::Fence(Fence::OtherProxy | Fence::MbarrierInit) => Vec::new(),
        InstructionKind::Shuffle => once("SHFL"),
        InstructionKind::Vote => once("VOTE"),
        InstructionKind::Elect => once("ELECT"),
        InstructionKind::Arithmetic {
            number,
            multiply_add,
        } => arithmetic(one, *number, *multiply_add, uses, folded),
        InstructionKind::Approximate { mufu, .. } => {
            let mut several = vec!["MUFU".to_owned(); (*mufu).max(1) as usize];
            several.push("FMUL".into());
            several
        }
        InstructionKind::Move if is_special(&one.text) => once("S2R"),
        InstructionKind::Move
        | InstructionKind::ConvertAddress(_)
        | InstructionKind::IsSpace(_)
        | InstructionKind::SystemCall
        | InstructionKind::Trap => Vec::new(),
        InstructionKind::ClusterAddress => once("MAPA"),
        InstructionKind::SetRegisters => once("USETMAXREG"),
        InstructionKind::Branch => once("BRA"),
        InstructionKind::Exit => once("EXIT"),
        InstructionKind::Hint { bulk: true } => once("UTMAPF"),
        InstructionKind::Hint { bulk: false } if text.contains("tensormap") => once("UTMACCTL.PF"),
        InstructionKind::Hint { bulk: false } => once("NOP"),
    }
}

/// `mov.u32 %r1, %tid.x`
fn is_special(text: &str) -> bool {
    [
        "%tid",
        "%ctaid",
        "%laneid",
        "%warpid",
        "%smid",
        "%clock",
        "%cluster_ctarank",
        "%globaltimer",
    ]
    .iter()
    .any(|name| text.contains(name))
}

fn arithmetic(
    one: &Instruction,
    number: Number,
    multiply_add: bool,
    uses: &HashMap<&str, Uses>,
    folded: &Folded<'_>,
) -> Vec<String> {
    let text = one.opcode.as_str();
    let root = text.split('.').next().unwrap_or_default();
    let is_wide = text.contains(".wide");
    let is_64 = ["s64", "u64", "b64"]
        .iter()
        .any(|kind| text.ends_with(kind))
        && !is_wide;
    let operands = one
        .text
        .split_once(' ')
        .map_or("", |(_, operands)| operands);
    let has_number = operands
        .rsplit(',')
        .next()
        .is_some_and(|last| !last.trim().starts_with('%'));
    let name = written(operands);
    let is_64 = is_64 && !name.is_some_and(|name| folded.narrow.contains(name));
    let used = name.and_then(|name| uses.get(name));
    let only_addresses = used.is_some_and(|used| used.addresses > 0 && used.others == 0);
    let opcode = match (number, root) {
        (Number::Predicate, _) => return Vec::new(),
        (Number::F32, "add" | "sub" | "mul" | "fma" | "mad") => "FFMA",
        (Number::F32, "cvt") => "F2F",
        (Number::F32, _) => "FSETP",
        (Number::F64, "cvt") => "F2F",
        (Number::F64, _) => "DFMA",
        // As ptxas does it: f16 is widened to f32 by a shift, and narrowed by one instruction.
        (Number::Half, "cvt") => "F2FP",
        (Number::Half, _) => "HFMA2",
        (Number::Integer, "cvt") if text.contains(".f32") => "I2F",
        (Number::Integer, "cvt") => return Vec::new(),
        // An address plus a constant becomes an offset of the memory access.
        (Number::Integer, "add") if has_number && only_addresses => return Vec::new(),
        (Number::Integer, "popc" | "clz" | "bfind" | "brev") => "POPC",
        (Number::Integer, "mul" | "mad") if is_wide => "IMAD.WIDE",
        (Number::Integer, "mul" | "mad") => "IMAD",
        (Number::Integer, "div" | "rem") => {
            return vec!["IMAD".to_owned(); if is_64 { 40 } else { 16 }];
        }
        (Number::Integer, _) if multiply_add => "IADD3",
        (Number::Integer, _) => "LOP3",
    };
    // ptxas fuses a 64-bit address plus a product into one multiply-add.
    let is_sum = root == "add" && is_64 && !has_number;
    let count = if is_64 && !is_sum { 2 } else { 1 };
    vec![opcode.to_owned(); count]
}

/// How often a register is read: as an address, and otherwise.
#[derive(Default)]
pub(super) struct Uses {
    addresses: u32,
    others: u32,
}

fn uses(instructions: &[Instruction]) -> HashMap<&str, Uses> {
    let mut uses = HashMap::<&str, Uses>::default();
    for one in instructions {
        let operands = one
            .text
            .split_once(' ')
            .map_or("", |(_, operands)| operands);
        let mut inside = false;
        for (nth, part) in operands.split_inclusive(['[', ']', ',']).enumerate() {
            let name = part.trim_matches(|c: char| "[], ;{}".contains(c));
            let name = name.split(['+', ' ']).next().unwrap_or_default();
            if name.starts_with('%') && (nth > 0 || inside) {
                let entry = uses.entry(name).or_default();
                match inside {
                    true => entry.addresses += 1,
                    false => entry.others += 1,
                }
            }
            inside = part.ends_with('[') || inside && !part.ends_with(']');
        }
    }
    uses
}

/// The destination register of an instruction that does not write a vector.
fn written(operands: &str) -> Option<&str> {
    let first = operands.split(',').next()?.trim();
    let first = first.split('|').next()?;
    (!first.starts_with(['[', '{'])).then_some(first)
}

/// The register names in a text.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !(c.is_alphanumeric() || "%_$".contains(c)));
    parts.filter(|name| name.starts_with(|c: char| c == '%' || c.is_alphabetic() || c == '_'))
}

fn chosen(
    one: &Instruction,
    card: &Card,
    uses: &HashMap<&str, Uses>,
    folded: &Folded<'_>,
) -> Chosen {
    let opcodes = opcodes(one, uses, folded);
    let is_wait = |text: &str| text.contains("wait");
    let last = |text: &str| {
        let operand = text
            .trim_end_matches(';')
            .rsplit([',', ' '])
            .next()
            .unwrap_or_default();
        operand.trim().parse::<u32>().unwrap_or(0)
    };
    let operands =
        match is_wait(&one.opcode) && !matches!(one.kind, InstructionKind::MbarrierWait { .. }) {
            true => format!(
                "gsb0,{:#x}",
                if one.opcode.contains("wait_all") {
                    0
                } else {
                    last(&one.text)
                }
            ),
            false => String::new(),
        };
    let machine: Vec<MachineInstruction> = (opcodes.into_iter())
        .map(|opcode| MachineInstruction {
            opcode,
            operands: operands.clone(),
            ptx_line: one.ptx_line,
            guarded: one.guard.is_some(),
            target: None,
            stall: 1,
            write: None,
            read: None,
            wait: 0,
        })
        .collect();
    let class = machine.last().map(|last| Class::of(last, card));
    let (head, rest) = split(one);
    let mut reads: Vec<String> = names(rest).map(str::to_owned).collect();
    if matches!(one.kind, InstructionKind::Wgmma(_)) {
        // It adds to its accumulators.
        reads.extend(names(head).map(str::to_owned));
    }
    if let Some(guard) = one.text.strip_prefix('@') {
        reads.extend(names(guard.split(' ').next().unwrap_or_default()).map(str::to_owned));
    }
    let does = class.map(|class| class.does);
    let loads = matches!(does, Some(Does::Shared | Does::GlobalLoad)) && one.kind.is_load();
    let ordered = matches!(
        does,
        Some(
            Does::Barrier { .. }
                | Does::Mbarrier
                | Does::MbarrierWait
                | Does::WaitGroups(_)
                | Does::Wgmma(_)
                | Does::WaitWgmma(_)
                | Does::ClusterArrive
                | Does::ClusterWait
                | Does::Fence(_)
                | Does::FenceOfCopies(_)
                | Does::Branch
                | Does::CommitCopies
                | Does::CommitBulk
        )
    ) || matches!(
        one.kind,
        InstructionKind::Exit | InstructionKind::WgmmaGroup
    );
    let stores = !loads
        && !ordered
        && matches!(
            does,
            Some(
                Does::Shared
                    | Does::GlobalStore { .. }
                    | Does::Atomic
                    | Does::AsyncCopy { .. }
                    | Does::BulkCopy
                    | Does::Wgmma(_)
            )
        );
    Chosen {
        machine,
        class,
        writes: names(head).map(str::to_owned).collect(),
        reads,
        ordered,
        loads,
        stores,
        memories: memories(one),
    }
}

/// Splits operands into those that the instruction writes and those that it reads.
pub(super) fn split(one: &Instruction) -> (&str, &str) {
    let text = match one.text.strip_prefix('@') {
        Some(guarded) => guarded.split_once(' ').map_or("", |(_, rest)| rest),
        None => one.text.as_str(),
    };
    let operands = text
        .trim()
        .split_once([' ', '\t'])
        .map_or("", |(_, operands)| operands);
    let writes_none = one.kind.is_store()
        || matches!(
            one.kind,
            InstructionKind::Branch
                | InstructionKind::Exit
                | InstructionKind::Barrier
                | InstructionKind::AsyncCopy { .. }
                | InstructionKind::BulkCopy { .. }
                | InstructionKind::Fence(_)
        );
    if writes_none {
        return ("", operands);
    }
    let operands = operands.trim_start();
    let end = match operands.starts_with('{') {
        true => operands.find('}').map_or(operands.len(), |at| at + 1),
        false => operands.find(',').unwrap_or(operands.len()),
    };
    operands.split_at(end)
}
