//! Measured ceilings as files and as a table.
use super::{Measured, measure::Run};
use crate::table::table;

impl Measured {
    /// `ceilings.json`: the ceilings, what they belong to, and every measurement.
    pub fn json(&self) -> String {
        // Serialising plain structs cannot fail: no map with keys other than strings.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// `ceilings.csv`: a line a measurement.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "name,unit,bytes,skip,work_per_block,clocks,per_clock,milliseconds,per_second\n",
        );
        for run in &self.runs {
            text += &format!(
                "{},{},{},{},{},{},{},{},{}\n",
                run.name,
                run.unit,
                run.bytes,
                run.skip,
                run.work,
                run.clocks,
                run.per_clock,
                run.milliseconds,
                run.per_second
            );
        }
        text
    }

    /// The same for a terminal.
    pub fn table(&self) -> Vec<String> {
        let row = |run: &Run| {
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
            &[
                "",
                "a clock and multiprocessor",
                "unit",
                "T/s, whole card",
                "ms",
            ],
            &rows,
        );
        lines.push(format!(
            "at {:.0} MHz; cuBLAS f16 at 4096: {:.1} TFLOP/s",
            self.ceilings.sm_mhz, self.ceilings.cublas_tflops
        ));
        lines
    }
}
