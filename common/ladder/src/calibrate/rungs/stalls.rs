//! `stalls.csv`: why the warps of each rung did not issue, and how busy the pipes were, with its time. For the reader;
//! nothing is compared with it.
use crate::calibrate::ncu::RawPage;

/// What is asked of Nsight Compute, with the column's name and how its values are printed. Stall reasons are warps that
/// wait for that reason in an average cycle in which an instruction is issued.
pub const METRICS: [(&str, &str); 24] = [
    ("time_ns", "gpu__time_duration.sum"),
    ("cycles", "gpc__cycles_elapsed.max"),
    (
        "issue_percent",
        "sm__inst_issued.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "tensor_percent",
        "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "fma_percent",
        "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "lsu_shared_percent",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "lsu_percent",
        "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "l2_percent",
        "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
    ),
    (
        "dram_percent",
        "dram__bytes.sum.pct_of_peak_sustained_elapsed",
    ),
    ("dram_read_bytes", "dram__bytes_read.sum"),
    ("dram_write_bytes", "dram__bytes_write.sum"),
    ("warps_active", "smsp__warps_active.avg.per_cycle_active"),
    (
        "selected",
        "smsp__average_warps_issue_stalled_selected_per_issue_active.ratio",
    ),
    (
        "not_selected",
        "smsp__average_warps_issue_stalled_not_selected_per_issue_active.ratio",
    ),
    (
        "barrier",
        "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio",
    ),
    (
        "short_scoreboard",
        "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio",
    ),
    (
        "long_scoreboard",
        "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio",
    ),
    (
        "mio_throttle",
        "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio",
    ),
    (
        "lg_throttle",
        "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio",
    ),
    (
        "math_pipe_throttle",
        "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio",
    ),
    (
        "dispatch_stall",
        "smsp__average_warps_issue_stalled_dispatch_stall_per_issue_active.ratio",
    ),
    (
        "wait",
        "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio",
    ),
    (
        "no_instruction",
        "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio",
    ),
    (
        "gmma",
        "smsp__average_warps_issue_stalled_gmma_per_issue_active.ratio",
    ),
];

/// The first line of the file.
pub fn header() -> Vec<&'static str> {
    let run = ["rung", "arch", "tile", "size"];
    run.into_iter()
        .chain(METRICS.map(|(name, _)| name))
        .collect()
}

/// A kernel's values; empty where ncu has none.
pub fn fields(page: &RawPage, kernel: usize, metrics: &[(&str, &str)]) -> Vec<String> {
    let text = |metric| match page.number(kernel, metric) {
        Ok(number) => format!("{number}"),
        Err(_) => String::new(),
    };
    metrics.iter().map(|(_, metric)| text(metric)).collect()
}
