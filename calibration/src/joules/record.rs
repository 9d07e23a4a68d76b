//! The measurements as a file and as a table.
use anyhow::{Context, Result};
use harness::alone::{COLUMNS, cells};
use harness::table::table;
use serde::Serialize;

use super::measure::{Measured, Row};

/// A line of joules.csv.
#[derive(Serialize)]
struct Line<'a> {
    load: &'a str,
    values: &'a str,
    tflops: f64,
    sm_mhz: Option<f64>,
    watts: Option<f64>,
    pj_per_flop: Option<f64>,
    tensor_cores_busy: Option<f64>,
    gpu: &'a str,
    driver: Option<&'a str>,
    commit: Option<&'a str>,
    date: &'a str,
}

impl Measured {
    /// `joules.csv`: one line for each load and kind of values.
    ///
    /// # Errors
    /// If the table cannot be written.
    pub fn csv(&self) -> Result<String> {
        let provenance = &self.provenance;
        let gpu = provenance.gpu.as_ref();
        let mut table = csv::Writer::from_writer(Vec::new());
        for Row {
            load,
            values,
            alone,
        } in &self.rows
        {
            table.serialize(Line {
                load,
                values,
                tflops: alone.tflops,
                sm_mhz: alone.sm_mhz,
                watts: alone.watts,
                pj_per_flop: alone.pj_per_flop,
                tensor_cores_busy: alone.tensor_cores_busy,
                gpu: gpu.map_or("", |gpu| &gpu.name),
                driver: gpu.and_then(|gpu| gpu.driver.as_deref()),
                commit: provenance.commit.as_deref(),
                date: &provenance.date,
            })?;
        }
        let bytes = table.into_inner().context("the table is not complete")?;
        Ok(String::from_utf8(bytes)?)
    }

    /// The measurements as a table for a terminal.
    pub fn table(&self) -> Vec<String> {
        let row =
            |row: &Row| [vec![row.load.into(), row.values.into()], cells(&row.alone)].concat();
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        let mut lines = table(&[&["", "values"][..], &COLUMNS].concat(), &rows);
        if self.rows.iter().any(|row| row.alone.watts.is_none()) {
            lines.push(
                "no watts: NVML does not report this GPU's energy (in a virtual machine it may not)"
                    .into(),
            );
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use harness::{Alone, OnGpu, Provenance};

    use super::*;

    fn measured(watts: Option<f64>) -> Measured {
        let row = Row {
            load: "wgmma",
            values: "normal",
            alone: Alone {
                name: "wgmma".into(),
                kernel: None,
                tflops: 650.0,
                sm_mhz: Some(1300.0),
                watts,
                pj_per_flop: watts.map(|watts| watts / 650.0),
                tensor_cores_busy: Some(0.925),
            },
        };
        let gpu = OnGpu {
            name: "NVIDIA H200".into(),
            driver: Some("580.1".into()),
            cuda: "13.0".into(),
            cublas: None,
            sm_mhz: None,
            power_watts: None,
            power_limit_watts: None,
            celsius: None,
        };
        Measured {
            rows: vec![row],
            provenance: Provenance {
                kernel: String::new(),
                ptx: String::new(),
                commit: Some("abc1234".into()),
                date: "2026-11-22T00:00:00Z".into(),
                gpu: Some(gpu),
            },
        }
    }

    #[test]
    fn the_csv_has_its_columns() {
        assert_eq!(
            measured(Some(702.0)).csv().expect("a table"),
            "load,values,tflops,sm_mhz,watts,pj_per_flop,tensor_cores_busy,gpu,driver,commit,date\n\
             wgmma,normal,650.0,1300.0,702.0,1.08,0.925,NVIDIA H200,580.1,abc1234,2026-11-22T00:00:00Z\n"
        );
        let without = measured(None).csv().expect("a table");
        assert!(without.contains(",1300.0,,,0.925,"), "{without}");
    }

    #[test]
    fn the_table_says_why_watts_are_missing() {
        let lines = measured(Some(702.0)).table();
        assert_eq!(
            lines,
            [
                "        values   TFLOP/s   SM MHz       W   pJ/FLOP   tensor cores busy",
                "wgmma   normal     650.0     1300   702.0    1.0800               92.5%",
            ]
        );
        assert!(measured(None).table()[2].contains("NVML"));
    }
}
