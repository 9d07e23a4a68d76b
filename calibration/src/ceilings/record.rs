//! Measured ceilings as files and as a table.
use anyhow::{Context, Result};
use harness::table::table;

use super::{Measured, measure::Measurement};

impl Measured {
    /// `ceilings.json`: the ceilings, their provenance, and every measurement.
    pub fn json(&self) -> String {
        harness::schema::CEILINGS.pretty(self)
    }

    /// `ceilings.csv`: one line for each measurement.
    pub fn csv(&self) -> Result<String> {
        let header =
            "name,unit,bytes,skip,work_per_block,clocks,per_clock,milliseconds,per_second\n";
        let mut table = csv::WriterBuilder::new()
            .has_headers(false)
            .from_writer(header.as_bytes().to_vec());
        self.runs.iter().try_for_each(|run| table.serialize(run))?;
        let bytes = table.into_inner().context("the table is not complete")?;
        Ok(String::from_utf8(bytes)?)
    }

    /// The ceilings as a table for a terminal.
    pub fn table(&self) -> Vec<String> {
        let row = |run: &Measurement| {
            let name = match run.name {
                "l2" => format!(
                    "l2, {} MiB, {}",
                    run.bytes >> 20,
                    if run.skip == 0 {
                        "all together"
                    } else {
                        "each its own"
                    }
                ),
                name => name.into(),
            };
            vec![
                name,
                format!("{:.3}", run.per_clock),
                run.unit.into(),
                format!("{:.3}", run.per_second / 1e12),
                format!("{:.3}", run.milliseconds),
            ]
        };
        let rows: Vec<_> = self.runs.iter().map(row).collect();
        let mut lines = table(
            &["", "per clock and SM", "unit", "T/s, whole card", "ms"],
            &rows,
        );
        lines.push(format!(
            "at {:.0} MHz; cuBLAS f16 at 4096: {:.1} TFLOP/s",
            self.ceilings.sm_mhz, self.ceilings.cublas_tflops
        ));
        lines
    }
}
