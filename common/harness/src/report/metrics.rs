//! The emulator's counters under the names of Nsight Compute's metrics, and as the table that `ncu --csv --page raw`
//! prints.
use anyhow::Context as _;
use emulator::{Card, Counters, Instruction, InstructionKind};

use crate::LaunchConfig;
use crate::lines::{Row, sum, totals};

/// A metric: its name, its unit, its value.
pub type Metric = (&'static str, &'static str, u64);

/// The metrics of a launch, sorted by name. Instructions are PTX's: ptxas merges some and adds others.
pub fn of(
    instructions: &[Instruction],
    counters: &[Counters],
    config: &LaunchConfig,
    static_shared: u32,
) -> Vec<Metric> {
    let all = sum(counters);
    let by_row = totals(instructions, counters);
    let row = |row: Row| by_row.get(&row).copied().unwrap_or_default();
    let of_kind = |is: &dyn Fn(&InstructionKind) -> bool| {
        let these = instructions
            .iter()
            .zip(counters)
            .filter(|(one, _)| is(&one.kind));
        sum(these.map(|(_, counters)| counters)).shared.wavefronts
    };
    let (shared_loads, shared_stores) = (row(Row::SharedLoads), row(Row::SharedStores));
    let (global_loads, global_stores) = (row(Row::GlobalLoads), row(Row::GlobalStores));
    let blocks = config.grid.map(u64::from).iter().product::<u64>();
    let threads = config.block.map(u64::from).iter().product::<u64>();
    let mut metrics = vec![
        (
            "derived__memory_l1_wavefronts_shared_excessive",
            "",
            all.shared.conflicts,
        ),
        (
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
            "",
            shared_loads.shared.conflicts,
        ),
        (
            "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
            "",
            shared_stores.shared.conflicts,
        ),
        (
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "",
            shared_loads.shared.wavefronts,
        ),
        (
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "",
            shared_stores.shared.wavefronts,
        ),
        (
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
            "request",
            global_loads.global_requests,
        ),
        (
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
            "request",
            global_stores.global_requests,
        ),
        (
            "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "sector",
            global_loads.global_sectors,
        ),
        (
            "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "sector",
            global_stores.global_sectors,
        ),
        ("launch__block_size", "", threads),
        ("launch__grid_size", "", blocks),
        (
            "launch__shared_mem_per_block_dynamic",
            "byte/block",
            config.dynamic_shared.into(),
        ),
        (
            "launch__shared_mem_per_block_static",
            "byte/block",
            static_shared.into(),
        ),
        (
            "launch__thread_count",
            "thread",
            blocks.saturating_mul(threads),
        ),
        ("memory_l1_wavefronts_shared", "", all.shared.wavefronts),
        ("memory_l1_wavefronts_shared_ideal", "", all.shared.ideal),
        (
            "memory_l2_theoretical_sectors_global",
            "sector",
            all.global_sectors,
        ),
        (
            "memory_l2_theoretical_sectors_global_ideal",
            "sector",
            all.global_sectors_ideal,
        ),
        ("smsp__inst_executed.sum", "inst", all.executions),
        ("smsp__thread_inst_executed.sum", "thread", all.threads),
        (
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
            "",
            of_kind(&|kind| matches!(kind, InstructionKind::Load(_))),
        ),
        (
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
            "",
            of_kind(&|kind| matches!(kind, InstructionKind::LoadMatrix { .. })),
        ),
        (
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
            "",
            of_kind(&|kind| matches!(kind, InstructionKind::Store(_))),
        ),
        (
            "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum",
            "",
            of_kind(&|kind| matches!(kind, InstructionKind::StoreMatrix { .. })),
        ),
        (
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "sector",
            global_loads.global_sectors,
        ),
        (
            "smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum",
            "sector",
            global_stores.global_sectors,
        ),
    ];
    metrics.sort_unstable();
    metrics
}

/// The table of one launch with this number: names, units, values, all quoted.
///
/// # Errors
/// If it cannot be written.
pub fn csv(
    metrics: &[Metric],
    kernel: &str,
    config: &LaunchConfig,
    card: Card,
    id: u64,
) -> anyhow::Result<String> {
    let shape = |[x, y, z]: [u32; 3]| format!("({x}, {y}, {z})");
    let (major, minor) = card.compute_capability();
    let about = [
        ("ID", id.to_string()),
        ("Process ID", "0".into()),
        ("Process Name", "emulator".into()),
        ("Host Name", "127.0.0.1".into()),
        ("Kernel Name", kernel.into()),
        ("Context", "1".into()),
        ("Stream", "7".into()),
        ("Block Size", shape(config.block)),
        ("Grid Size", shape(config.grid)),
        ("Device", "0".into()),
        ("CC", format!("{major}.{minor}")),
    ];
    let mut table = csv::WriterBuilder::new()
        .quote_style(csv::QuoteStyle::Always)
        .from_writer(Vec::new());
    let names = about
        .iter()
        .map(|(name, _)| *name)
        .chain(metrics.iter().map(|metric| metric.0));
    table.write_record(names)?;
    let units = about
        .iter()
        .map(|_| "")
        .chain(metrics.iter().map(|metric| metric.1));
    table.write_record(units)?;
    let values = about.iter().map(|(_, value)| value.clone());
    table.write_record(values.chain(metrics.iter().map(|metric| metric.2.to_string())))?;
    let bytes = table.into_inner().context("cannot write the table")?;
    String::from_utf8(bytes).context("cannot write the table")
}
