//! `stalls.csv`: the stall reasons of a kernel's warps, the utilization of the pipes, and the time. For the reader;
//! it is not compared with the emulator.
use anyhow::{Context, Result, bail};

use crate::ncu::RawPage;

/// The metrics besides stall reasons: a column's name and its metric.
const METRICS: &str = "\
time_ns gpu__time_duration.sum
cycles gpc__cycles_elapsed.max
issue_percent sm__inst_issued.avg.pct_of_peak_sustained_elapsed
tensor_percent sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed
fma_percent sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed
lsu_shared_percent l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed
lsu_percent l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed
l2_percent lts__t_sectors.avg.pct_of_peak_sustained_elapsed
dram_percent dram__bytes.sum.pct_of_peak_sustained_elapsed
dram_read_bytes dram__bytes_read.sum
dram_write_bytes dram__bytes_write.sum
warps_active smsp__warps_active.avg.per_cycle_active";

/// Stall reasons, and `selected`: the number of warps in that state in an average cycle in which an instruction is
/// issued.
const REASONS: [&str; 12] = [
    "selected",
    "not_selected",
    "barrier",
    "short_scoreboard",
    "long_scoreboard",
    "mio_throttle",
    "lg_throttle",
    "math_pipe_throttle",
    "dispatch_stall",
    "wait",
    "no_instruction",
    "gmma",
];

/// Metrics of shared memory, in addition to those recorded for the rungs.
const SHARED: &str = "\
shared_wavefronts l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
shared_bank_conflicts l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum";

/// A column's name, and its metric.
type Column = (String, String);

fn columns(text: &str) -> impl Iterator<Item = Column> {
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.map(|(name, metric)| (name.to_owned(), metric.to_owned()))
}

/// The columns that are recorded for the rungs.
pub fn metrics() -> Vec<Column> {
    let stalled = |reason: &str| {
        let metric = format!("smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio");
        (reason.to_owned(), metric)
    };
    columns(METRICS).chain(REASONS.map(stalled)).collect()
}

/// The columns for any kernel.
pub fn metrics_of_any() -> Vec<Column> {
    metrics().into_iter().chain(columns(SHARED)).collect()
}

/// The first kernel's values; empty where ncu has none.
pub fn fields(page: &RawPage, columns: &[Column]) -> Vec<String> {
    let field = |metric| page.number(0, metric).map(|number| number.to_string());
    let fields = columns.iter().map(|(_, metric)| field(metric));
    fields.map(Result::unwrap_or_default).collect()
}

/// One row for each page, under the name of its kernel.
///
/// # Errors
/// If a page does not hold exactly one kernel with some of these metrics.
pub fn table(pages: &[(&str, RawPage)], columns: &[Column]) -> Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|(name, _)| name.as_str());
    table.write_record(std::iter::once("kernel").chain(names))?;
    for (name, page) in pages {
        if page.kernels() != 1 {
            let kernels = page.kernels();
            bail!("{name}: the page has {kernels} kernels, one is expected");
        }
        let fields = fields(page, columns);
        if fields.iter().all(String::is_empty) {
            bail!("{name}: the page has none of the metrics");
        }
        table.write_record(std::iter::once((*name).to_owned()).chain(fields))?;
    }
    let bytes = table.into_inner().context("the table is not complete")?;
    String::from_utf8(bytes).context("the table is not text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(rows: &str) -> RawPage {
        let head = "\"ID\",\"gpu__time_duration.sum\",\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\"\n\"\",\"ns\",\"\"\n";
        RawPage::of(&format!("==PROF== x\n{head}{rows}")).expect("a page")
    }

    #[test]
    fn each_page_is_a_row() {
        let all = metrics_of_any();
        let columns = [0, 1, all.len() - 1].map(|column| all[column].clone());
        let pages = [
            ("plain", raw("\"0\",\"2,709,504\",\"529,532,606\"\n")),
            ("swizzled", raw("\"0\",\"594,496\",\"49,452\"\n")),
        ];
        assert_eq!(
            table(&pages, &columns).expect("a table"),
            "kernel,time_ns,cycles,shared_bank_conflicts\nplain,2709504,,529532606\nswizzled,594496,,49452\n"
        );
        let error = |rows: &str, columns: &[_]| {
            format!(
                "{:#}",
                table(&[("x", raw(rows))], columns).expect_err("an error")
            )
        };
        assert!(error("", &columns).contains("x: the page has 0 kernels"));
        assert!(error("\"0\",\"1\",\"2\"\n", &columns[1..2]).contains("none of the metrics"));
    }

    /// The recorded table has these columns.
    #[test]
    fn every_column_is_recorded() {
        let recorded = include_str!("../h200/stalls.csv").lines().next();
        let names: Vec<String> = metrics().into_iter().map(|(name, _)| name).collect();
        let expected = format!("rung,arch,tile,size,{}", names.join(","));
        assert_eq!(recorded, Some(expected.as_str()));
    }
}
