//! Which instructions are available for a `.version` and a `.target`: a row for each family, and for modifiers and
//! types that were added later. The source of a row is the paragraphs "PTX ISA Notes" and "Target ISA Notes" of the PTX
//! ISA section that it names; a test checks each against ptxas (`ptxas_agrees`).
use super::targets::{self, Target};
use super::{Instr, Operand, PtxError};

/// An instruction must satisfy all rows that match it.
pub(super) struct Row {
    opcodes: &'static [&'static str],
    /// The opcode must contain one suffix of each list.
    with: &'static [&'static [&'static str]],
    version: (u32, u32),
    target: Target,
    /// The section of the PTX ISA.
    section: &'static str,
}

/// A special register.
struct SpecialRow {
    name: &'static str,
    version: (u32, u32),
    target: Target,
}

const fn row(
    opcodes: &'static [&'static str],
    with: &'static [&'static [&'static str]],
    version: (u32, u32),
    target: Target,
    section: &'static str,
) -> Row {
    Row {
        opcodes,
        with,
        version,
        target,
        section,
    }
}

const fn special(name: &'static str, version: (u32, u32), target: Target) -> SpecialRow {
    SpecialRow {
        name,
        version,
        target,
    }
}

const fn sm(number: u32) -> Target {
    Target {
        number,
        suffix: None,
    }
}

const SM_90A: Target = Target {
    number: 90,
    suffix: Some('a'),
};

/// Ordered by family.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    row(&["ldmatrix"], &[], (6, 5), sm(75), "Warp-level matrix load instruction: ldmatrix"),
    row(&["stmatrix"], &[], (7, 8), sm(90), "Warp-level matrix store instruction: stmatrix"),
    row(&["movmatrix"], &[], (7, 8), sm(75), "Warp-level matrix transpose instruction: movmatrix"),
    row(&["mma"], &[&["m8n8k4"]], (6, 4), sm(70), "mma"),
    row(&["mma"], &[&["m16n8k8", "m8n8k16", "m8n8k32"]], (6, 5), sm(75), "mma"),
    row(&["mma"], &[&["m8n8k128"]], (7, 0), sm(75), "mma"),
    row(&["mma"], &[&["m16n8k16", "m16n8k32", "m16n8k64", "m16n8k128", "m16n8k256"]], (7, 0), sm(80), "mma"),
    row(&["mma"], &[&["bf16", "tf32", "f64"]], (7, 0), sm(80), "mma"),
    row(&["mma"], &[&["b1"], &["and"]], (7, 1), sm(80), "mma"),
    row(&["mma"], &[&["f64"], &["m16n8k4", "m16n8k8", "m16n8k16"]], (7, 8), sm(90), "mma"),
    row(&["mma"], &[&["e4m3", "e5m2"]], (8, 4), sm(89), "mma"),
    row(&["mma"], &[&["e4m3", "e5m2"], &["m16n8k16"]], (8, 7), sm(89), "mma"),
    row(&["mma"], &[&["e4m3", "e5m2"], &["f16"]], (8, 7), sm(89), "mma"),
    row(&["wgmma"], &[], (8, 0), SM_90A, "Asynchronous Warpgroup Level Matrix Instructions"),
    row(&["wgmma"], &[&["s8"], &["u8"]], (8, 4), SM_90A, "wgmma.mma_async"),
    row(&["setmaxnreg"], &[], (8, 0), SM_90A, "setmaxnreg"),
    row(&["wmma"], &[], (6, 3), sm(70), "wmma"),
    row(&["wmma"], &[&["s8", "u8"]], (6, 3), sm(72), "wmma"),
    row(&["wmma"], &[&["s4", "u4", "b1"]], (6, 3), sm(75), "wmma"),
    row(&["wmma"], &[&["bf16", "tf32", "f64"]], (7, 0), sm(80), "wmma"),
    row(&["mbarrier"], &[], (7, 0), sm(80), "mbarrier"),
    row(&["mbarrier"], &[&["parity"]], (7, 1), sm(80), "mbarrier.test_wait"),
    row(&["mbarrier"], &[&["try_wait"]], (7, 8), sm(90), "mbarrier.try_wait"),
    row(&["mbarrier"], &[&["expect_tx", "complete_tx"]], (8, 0), sm(90), "mbarrier.expect_tx"),
    row(&["mbarrier"], &[&["shared::cluster"]], (8, 0), sm(90), "mbarrier.arrive"),
    row(&["mbarrier"], &[&["acquire", "release"]], (8, 0), sm(80), "mbarrier.arrive"),
    row(&["mbarrier"], &[&["arrive", "arrive_drop", "test_wait", "try_wait"], &["relaxed"]], (8, 6), sm(90), "mbarrier.arrive"),
    row(&["cp"], &[&["async"]], (7, 0), sm(80), "cp.async"),
    row(&["cp"], &[&["async"], &["L2::64B", "L2::128B", "L2::256B", "L2::cache_hint"]], (7, 4), sm(80), "cp.async"),
    row(&["cp"], &[&["async"], &["bulk"]], (8, 0), sm(90), "cp.async.bulk"),
    row(&["cp"], &[&["async"], &["bulk"], &["global"], &["shared::cta"], &["mbarrier::complete_tx::bytes"]], (8, 6), sm(90), "cp.async.bulk"),
    row(&["mapa"], &[], (7, 8), sm(90), "mapa"),
    row(&["getctarank"], &[], (7, 8), sm(90), "getctarank"),
    row(&["createpolicy"], &[], (7, 4), sm(80), "createpolicy"),
    row(&["st"], &[&["async"]], (8, 1), sm(90), "st.async"),
    row(&["red"], &[&["async"]], (8, 1), sm(90), "red.async"),
    row(&["shfl"], &[&["sync"]], (6, 0), sm(30), "shfl.sync"),
    row(&["vote"], &[&["sync"]], (6, 0), sm(30), "vote.sync"),
    row(&["match"], &[], (6, 0), sm(70), "match.sync"),
    row(&["redux"], &[], (7, 0), sm(80), "redux.sync"),
    row(&["activemask"], &[], (6, 2), sm(30), "activemask"),
    row(&["elect"], &[], (8, 0), sm(90), "elect.sync"),
    row(&["nanosleep"], &[], (6, 2), sm(70), "nanosleep"),
    row(&["fence"], &[], (6, 0), sm(70), "fence"),
    row(&["fence"], &[&["cluster"]], (7, 8), sm(90), "fence"),
    row(&["fence"], &[&["proxy"], &["alias"]], (7, 5), sm(70), "fence"),
    row(&["fence"], &[&["proxy"], &["async"]], (8, 0), sm(90), "fence"),
    row(&["fence"], &[&["proxy"], &["async::generic"]], (8, 6), sm(90), "fence"),
    row(&["fence"], &[&["proxy"], &["tensormap::generic"]], (8, 3), sm(90), "fence"),
    row(&["fence"], &[&["mbarrier_init"]], (8, 0), sm(90), "fence"),
    row(&["griddepcontrol"], &[], (7, 8), sm(90), "griddepcontrol"),
    row(&["barrier"], &[], (6, 0), sm(30), "barrier"),
    row(&["barrier"], &[&["cluster"]], (7, 8), sm(90), "barrier.cluster"),
    row(&["bar"], &[&["warp"]], (6, 0), sm(30), "bar.warp.sync"),
    row(&["brx"], &[], (6, 0), sm(30), "brx.idx"),
    row(&["ld", "st"], &[&["relaxed", "acquire", "release", "weak"]], (6, 0), sm(70), "ld"),
    row(&["ld", "st"], &[&["relaxed", "acquire", "release"], &["cluster"]], (7, 8), sm(90), "ld"),
    row(&["ld"], &[&["nc"]], (4, 0), sm(32), "ld.global.nc"),
    row(&["ld"], &[&["mmio"]], (8, 2), sm(70), "ld"),
    row(&["atom", "red"], &[&["v2", "v4", "v8"]], (8, 1), sm(90), "atom"),
    row(&["ld", "st"], &[&["L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate"]], (7, 4), sm(70), "ld"),
    row(&["ld", "st", "atom", "red"], &[&["L2::cache_hint"]], (7, 4), sm(80), "ld"),
    row(&["ld"], &[&["L2::64B", "L2::128B"]], (7, 4), sm(75), "ld"),
    row(&["ld"], &[&["L2::256B"]], (7, 4), sm(80), "ld"),
    row(&["ld", "st", "atom", "red", "cvta", "isspacep"], &[&["shared::cta"]], (7, 8), sm(20), "ld"),
    row(&["ld", "st", "atom", "red", "cvta", "isspacep"], &[&["shared::cluster"]], (7, 8), sm(90), "ld"),
    row(&["atom", "red"], &[&["cta", "gpu", "sys"]], (5, 0), sm(60), "atom"),
    row(&["atom", "red"], &[&["cluster"]], (7, 8), sm(90), "atom"),
    row(&["atom", "red"], &[&["relaxed", "acquire", "release", "acq_rel"]], (6, 0), sm(70), "atom"),
    row(&["atom", "red"], &[&["add"], &["f64"]], (5, 0), sm(60), "atom"),
    row(&["atom", "red"], &[&["add"], &["f16x2"]], (6, 2), sm(60), "atom"),
    row(&["atom", "red"], &[&["add"], &["f16"]], (6, 3), sm(70), "atom"),
    row(&["atom", "red"], &[&["add"], &["bf16", "bf16x2"]], (7, 8), sm(90), "atom"),
    row(&["atom"], &[&["cas"], &["b16"]], (6, 3), sm(70), "atom"),
    row(&["atom", "red"], &[&["min", "max", "and", "or", "xor"], &["b64", "u64", "s64"]], (4, 0), sm(32), "atom"),
    row(&["discard"], &[], (7, 4), sm(80), "discard"),
    row(&["applypriority"], &[], (7, 4), sm(80), "applypriority"),
    row(&["prefetch"], &[&["L2::evict_last", "L2::evict_normal"]], (7, 4), sm(80), "prefetch"),
    row(&["prefetch"], &[&["tensormap"]], (8, 0), sm(90), "prefetch"),
    row(&["isspacep", "cvta"], &[&["const"]], (3, 1), sm(20), "isspacep"),
    row(&["isspacep", "cvta"], &[&["param"]], (7, 7), sm(70), "isspacep"),
    row(&["add", "sub", "mul", "fma", "set", "setp"], &[&["f16", "f16x2"]], (4, 2), sm(53), "Half Precision Floating Point Instructions"),
    row(&["fma"], &[&["relu"]], (7, 0), sm(80), "fma"),
    row(&["fma"], &[&["bf16", "bf16x2"]], (7, 0), sm(80), "fma"),
    row(&["add", "sub", "mul", "set", "setp"], &[&["bf16", "bf16x2"]], (7, 8), sm(90), "Half Precision Floating Point Instructions"),
    row(&["neg"], &[&["f16", "f16x2"]], (6, 0), sm(53), "neg"),
    row(&["abs"], &[&["f16", "f16x2"]], (6, 5), sm(53), "abs"),
    row(&["neg", "abs"], &[&["bf16", "bf16x2"]], (7, 0), sm(80), "abs"),
    row(&["min", "max"], &[&["f16", "f16x2", "bf16", "bf16x2"]], (7, 0), sm(80), "min"),
    row(&["min", "max"], &[&["NaN"]], (7, 0), sm(80), "min"),
    row(&["min", "max"], &[&["xorsign"]], (7, 2), sm(86), "min"),
    row(&["min", "max"], &[&["relu"], &["s32"]], (8, 0), sm(90), "min"),
    row(&["min", "max", "add"], &[&["s16x2", "u16x2"]], (8, 0), sm(90), "min"),
    row(&["ex2"], &[&["f16", "f16x2"]], (7, 0), sm(75), "ex2"),
    row(&["tanh"], &[], (7, 0), sm(75), "tanh"),
    row(&["ex2", "tanh"], &[&["bf16", "bf16x2"]], (7, 8), sm(90), "ex2"),
    row(&["dp4a", "dp2a"], &[], (5, 0), sm(61), "dp4a"),
    row(&["vabsdiff2", "vabsdiff4"], &[], (3, 0), sm(30), "SIMD Video Instructions"),
    row(&["lop3"], &[], (4, 3), sm(50), "lop3"),
    row(&["shf"], &[], (4, 0), sm(32), "shf"),
    row(&["bmsk", "szext"], &[], (7, 6), sm(70), "bmsk"),
    row(&["fns"], &[], (6, 0), sm(30), "fns"),
    row(&["cvt"], &[&["f16x2", "bf16x2", "bf16", "relu", "tf32"]], (7, 0), sm(80), "cvt"),
    row(&["cvt"], &[&["bf16"], &["f16", "f64", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64"]], (7, 8), sm(90), "cvt"),
    row(&["cvt"], &[&["tf32"], &["rn", "rz"]], (7, 8), sm(90), "cvt"),
    row(&["cvt"], &[&["e4m3x2", "e5m2x2"]], (8, 1), sm(89), "cvt"),
    row(&["cvt"], &[&["pack"]], (6, 5), sm(72), "cvt.pack"),
];

/// PTX ISA, "Special Registers".
#[rustfmt::skip]
const SPECIAL: &[SpecialRow] = &[
    special("%clusterid", (7, 8), sm(90)),
    special("%nclusterid", (7, 8), sm(90)),
    special("%cluster_ctaid", (7, 8), sm(90)),
    special("%cluster_nctaid", (7, 8), sm(90)),
    special("%cluster_ctarank", (7, 8), sm(90)),
    special("%cluster_nctarank", (7, 8), sm(90)),
    special("%is_explicit_cluster", (7, 8), sm(90)),
    special("%dynamic_smem_size", (4, 1), sm(20)),
    special("%total_smem_size", (4, 1), sm(20)),
    special("%aggr_smem_size", (8, 1), sm(90)),
    special("%globaltimer", (3, 1), sm(30)),
];

impl Row {
    fn fits(&self, instr: &Instr) -> bool {
        self.opcodes.contains(&instr.opcode[0].as_str())
            && self.with.iter().all(|any| instr.has_any(any))
    }
}

/// What an instruction requires of a module: the minimum version and target, each with the PTX ISA's section.
struct Needs {
    version: ((u32, u32), &'static str),
    target: Option<(Target, &'static str)>,
}

fn needs(instr: &Instr) -> Needs {
    let mut needs = Needs {
        version: ((1, 0), ""),
        target: None,
    };
    let mut add = |version, target: Target, section| {
        if version > needs.version.0 {
            needs.version = (version, section);
        }
        let is_more =
            |(known, _): (Target, _)| (target.number, target.suffix) > (known.number, known.suffix);
        if needs.target.is_none_or(is_more) {
            needs.target = Some((target, section));
        }
    };
    for row in ROWS.iter().filter(|row| row.fits(instr)) {
        add(row.version, row.target, row.section);
    }
    for operand in &instr.operands {
        if let Operand::Special(name) = operand {
            let base = name.split('.').next().unwrap_or_default();
            for row in SPECIAL.iter().filter(|row| row.name == base) {
                add(row.version, row.target, "Special Registers");
            }
        }
    }
    needs
}

/// Refuses an instruction that is not available for this version and target, as ptxas does.
pub(crate) fn check(instr: &Instr, version: (u32, u32), target: &str) -> Result<(), PtxError> {
    let needs = needs(instr);
    let ((major, minor), section) = needs.version;
    if (major, minor) > version {
        let (is, has) = version;
        return Err(instr.wrong(format!(
            "requires PTX ISA .version {major}.{minor} or later, and this module's is {is}.{has}: compile it with a newer CUDA version (PTX ISA, \"{section}\")"
        )));
    }
    let Some(own) = targets::find(target) else {
        return Ok(());
    };
    match needs.target {
        Some((least, section)) if !own.has(least) => {
            let more = match least.suffix {
                Some(_) => "",
                None => " or higher",
            };
            Err(instr.wrong(format!(
                "requires .target {least}{more}, and this module's is {target}: compile it for {least} (PTX ISA, \"{section}\")"
            )))
        }
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
#[path = "availability_tests.rs"]
mod tests;
