//! Counts an access on the emulator: runs a kernel with one warp that computes the addresses and performs it.
use anyhow::{Context, Result, bail};
use emulator::{Context as Gpu, Counters, KernelArg, LaunchConfig, Options};

use super::access::{Count, Op, WarpAccess};

/// The kernel's name.
const ENTRY: &str = "access";

/// The counts, in the order of [`Op::counts`]; `end` is one past the last byte that the access touches.
pub fn counts(access: &WarpAccess, end: u32) -> Result<Vec<(Count, u64)>> {
    let shared = access.op.shared().is_some();
    let mut gpu = Gpu::new(Options::default());
    let function = gpu.load_module(&kernel(access))?.function(ENTRY)?;
    let input = gpu.alloc("in", if shared { 0 } else { end as usize })?;
    let output = gpu.alloc("out", 4)?;
    let config = LaunchConfig {
        block: [32, 1, 1],
        dynamic_shared: if shared { end } else { 0 },
        ..LaunchConfig::default()
    };
    let args = [KernelArg::Buffer(&input), KernelArg::Buffer(&output)];
    let report = gpu.launch(&function, &config, &args)?;
    if let Some(finding) = report.findings.first() {
        bail!("{finding}");
    }
    let instruction = access.instruction();
    let mut all = function.instructions().iter().zip(&report.counters);
    let (_, counters) = all
        .find(|(one, _)| one.opcode == instruction)
        .with_context(|| format!("{instruction} was not executed"))?;
    let of = |count: &Count| (*count, counted(counters, *count));
    Ok(access.op.counts().iter().map(of).collect())
}

fn counted(counters: &Counters, count: Count) -> u64 {
    match count {
        Count::Wavefronts => counters.shared.wavefronts,
        Count::Conflicts => counters.shared.conflicts,
        Count::Sectors => counters.global_sectors,
    }
}

/// Besides this access, the kernel accesses no memory of that kind.
fn kernel(access: &WarpAccess) -> String {
    let mut body = String::from(
        ".reg .b32 %lane, %row, %col, %address, %base, %v<4>;\n.reg .b64 %at, %in;\n.reg .pred %active;\n\
         mov.u32 %lane, %tid.x;\nld.param.u64 %in, [in];\n",
    );
    for (name, formula) in access.formulas() {
        body += &formula.ptx(name);
    }
    let (instructions, at) = match access.op.shared() {
        Some(_) => (
            "mov.u32 %base, tile;\nadd.u32 %address, %address, %base;\n",
            "%address",
        ),
        None => (
            "cvt.u64.u32 %at, %address;\nadd.u64 %at, %at, %in;\n",
            "%at",
        ),
    };
    body += instructions;
    let registers = match access.op {
        Op::Matrix => access.lanes / 8,
        _ => access.bytes.div_ceil(4),
    };
    let values: Vec<String> = (0..registers).map(|number| format!("%v{number}")).collect();
    for value in &values {
        body += &format!("mov.u32 {value}, 0;\n");
    }
    let values = match &values[..] {
        [one] if access.op != Op::Matrix => one.clone(),
        all => format!("{{{}}}", all.join(", ")),
    };
    // Lanes that give no row address are ignored by ldmatrix, but all lanes execute it.
    if access.op != Op::Matrix {
        body += &format!("setp.lt.u32 %active, %lane, {};\n@%active ", access.lanes);
    }
    let instruction = access.instruction();
    body += &match access.op.is_load() {
        true => format!("{instruction} {values}, [{at}];\n"),
        false => format!("{instruction} [{at}], {values};\n"),
    };
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .shared .align 128 .b8 tile[];\n\
         .visible .entry {ENTRY}(.param .u64 in, .param .u64 out)\n{{\n{body}ret;\n}}\n"
    )
}
