//! The operands of a line's instructions, for one lane.
use anyhow::Result;
use emulator::{Instruction, InstructionKind, Operand, OperandSnapshot, SharedVariable, Snapshot};
use half::f16;
use harness::Function;
use harness::labels::{Element, Labels};
use harness::table::table;
use layout::descriptor::Descriptor;

use super::Look;

/// Whether the emulator keeps the operands of this instruction.
pub fn has_operands(kind: &InstructionKind) -> bool {
    kind.is_load()
        || kind.is_store()
        || matches!(
            kind,
            InstructionKind::AsyncCopy { .. } | InstructionKind::Mma(_) | InstructionKind::Wgmma(_)
        )
}

pub fn text(
    look: &Look,
    function: &Function,
    snapshot: &Snapshot,
    labels: Option<&Labels>,
) -> Result<String> {
    let (instructions, variables) = (function.instructions(), function.shared_variables());
    let mut all: Vec<_> = snapshot.operands.iter().collect();
    all.retain(|one| one.warp == look.warp);
    if all.is_empty() {
        return Err(look.nothing().context(format!("warp {}", look.warp)));
    }
    let [x, y, z] = look.block_index;
    let mut out = format!(
        "block ({x},{y},{z}), warp {}, lane {}: {}\n",
        look.warp,
        look.lane,
        look.moment()
    );
    for one in all {
        let known = (&*variables, labels);
        out += &execution(one, &instructions[one.instruction], known, look.lane);
    }
    Ok(out)
}

fn execution(
    one: &OperandSnapshot,
    instruction: &Instruction,
    known: (&[SharedVariable], Option<&Labels>),
    lane: u32,
) -> String {
    let mut out = format!("\n{}\n", instruction.text.trim());
    if one.active >> lane & 1 == 0 {
        return out + "  this lane takes no part\n";
    }
    let mut heads = HEADS.to_vec();
    let mut rows: Vec<_> = one
        .operands
        .iter()
        .map(|of| row(of, &instruction.opcode, known, lane))
        .collect();
    for column in (0..HEADS.len()).rev() {
        if rows.iter().all(|row| row[column].is_empty()) {
            heads.remove(column);
            for row in &mut rows {
                row.remove(column);
            }
        }
    }
    for line in table(&heads, &rows) {
        out += &format!("  {line}\n");
    }
    out
}

const HEADS: [&str; 6] = [
    "operand",
    "bits",
    "elements",
    "f16",
    "f32",
    "as integer or place",
];

/// The type of an operand's bits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Address,
    /// One value, or two packed ones.
    F16,
    F32,
    /// The instruction does not say.
    Any,
}

fn meaning(role: &str, opcode: &str) -> Meaning {
    let has = |types: &str| opcode.contains(types);
    match role {
        "address" => Meaning::Address,
        // Sums have the first and the last type, factors the two in between.
        "c" | "d" if has(".f32.f16.f16.f32") || has(".f32.bf16.bf16.f32") => Meaning::F32,
        "a" | "b" if has(".f16.f16") && !opcode.starts_with("wgmma") => Meaning::F16,
        "c" | "d" if has(".f16.f16.f16.f16") => Meaning::F16,
        "value" if has_matrix(opcode) => Meaning::F16,
        "value" if has(".f32") => Meaning::F32,
        _ => Meaning::Any,
    }
}

fn has_matrix(opcode: &str) -> bool {
    opcode.starts_with("ldmatrix") || opcode.starts_with("stmatrix")
}

/// An address in shared memory, relative to a variable: `tiles + 320`.
fn named(address: u64, variables: &[SharedVariable]) -> Option<String> {
    let (variable, offset) = variables.iter().rev().find_map(|one| {
        let offset = address.checked_sub(one.address.into())?;
        let inside = one.bytes.is_none_or(|bytes| offset < bytes.into());
        inside.then_some((one, offset))
    })?;
    Some(format!("{} + {offset}", variable.name))
}

/// The fields of a descriptor of `wgmma`.
fn descriptor(bits: u64, variables: &[SharedVariable]) -> String {
    let Descriptor {
        start,
        leading,
        stride,
        mode,
        ..
    } = Descriptor::decode(bits);
    let start = named(start.into(), variables).unwrap_or_else(|| start.to_string());
    format!("{start}, leading {leading}, stride {stride}, {mode}")
}

fn row(
    operand: &Operand,
    opcode: &str,
    (variables, labels): (&[SharedVariable], Option<&Labels>),
    lane: u32,
) -> Vec<String> {
    let bits = operand.lanes[lane as usize];
    let meaning = meaning(operand.role, opcode);
    let name = match meaning {
        Meaning::Address => operand.role.to_owned(),
        Meaning::F16 | Meaning::F32 | Meaning::Any => {
            format!("{}[{}]", operand.role, operand.number)
        }
    };
    let digits = 2 * operand.bytes as usize;
    let half = |bits: u64| f16::from_bits(bits as u16).to_string();
    let when = |is_it: bool, text: String| if is_it { text } else { String::new() };
    let is = |one: Meaning| meaning == one || meaning == Meaning::Any;
    let halves = match operand.bytes {
        2 => half(bits),
        4 => format!("{}, {}", half(bits), half(bits >> 16)),
        _ => String::new(),
    };
    let is_shared =
        meaning == Meaning::Address && (opcode.contains("shared") || has_matrix(opcode));
    let place = is_shared.then(|| named(bits, variables)).flatten();
    let is_integer = meaning == Meaning::Any || meaning == Meaning::Address;
    let place = place.or_else(|| {
        let is_descriptor = opcode.starts_with("wgmma") && operand.bytes == 8;
        is_descriptor.then(|| descriptor(bits, variables))
    });
    let elements = |count: u16| -> Option<String> {
        let of = |i| labels?.get((bits >> (16 * i)) as u16);
        let all: Option<Vec<_>> = (0..count).map(of).collect();
        Some(Element::names(&all?))
    };
    // A sum may happen to have the bits of an element.
    let may_be =
        is(Meaning::F16) && operand.role != "c" && operand.role != "d" && !opcode.starts_with("st");
    let elements = may_be.then(|| elements(operand.bytes as u16 / 2));
    let is_f32 = is(Meaning::F32) && operand.bytes == 4;
    vec![
        name,
        format!("0x{bits:0digits$x}"),
        elements.flatten().unwrap_or_default(),
        when(is(Meaning::F16), halves),
        when(is_f32, f32::from_bits(bits as u32).to_string()),
        when(is_integer, place.unwrap_or_else(|| bits.to_string())),
    ]
}
