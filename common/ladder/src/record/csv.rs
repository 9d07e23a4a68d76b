//! bench.csv: a line for each contestant of each size of each rung, in each regime.
use anyhow::{Context, Result};

use super::{Record, Regime};

const HEAD: &str = "rung,size,tile,verified,regime,contestant,rounds,launches_per_sample,median_ms,p10_ms,p90_ms,tflops,\
    kernel_speed,sm_mhz_min,sm_mhz_median,sm_mhz_max,power_watts_min,power_watts_median,power_watts_max,commit,date,kernel";

pub fn csv(record: &Record) -> Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    table.write_record(HEAD.split(','))?;
    for (rung, run) in record.runs() {
        let regimes = [(Regime::Sustained, "sustained"), (Regime::Cool, "cool")];
        let figures = regimes.map(|(regime, name)| Some((name, run.figures(regime)?)));
        let of_each = figures.into_iter().flatten();
        let contests = of_each.flat_map(|(name, these)| {
            let contestants = these.contestants.iter();
            contestants.map(move |contest| (name, these, contest))
        });
        for (regime, these, contest) in contests {
            let mut row = vec![
                rung.to_owned(),
                run.size.to_string(),
                run.tile.clone().unwrap_or_default(),
                run.verify.ok.to_string(),
                regime.to_owned(),
                contest.name.clone(),
                these.rounds.to_string(),
                these.launches_per_sample.to_string(),
            ];
            let times = [contest.median_ms, contest.p10_ms, contest.p90_ms];
            row.extend(times.map(|ms| ms.to_string()));
            row.push(contest.tflops.to_string());
            row.push(contest.kernel_speed.to_string());
            row.extend(range(these.sm_mhz));
            row.extend(range(these.power_watts));
            row.push(run.provenance.commit.clone().unwrap_or_default());
            row.push(run.provenance.date.clone());
            row.push(contest.kernel.clone().unwrap_or_default());
            table.write_record(row)?;
        }
    }
    text(table)
}

/// The text that was written.
pub fn text(table: csv::Writer<Vec<u8>>) -> Result<String> {
    let bytes = table.into_inner().context("a table was not written")?;
    Ok(String::from_utf8(bytes)?)
}

/// Least, median and greatest; empty without a sensor.
fn range(sensor: Option<[f64; 3]>) -> [String; 3] {
    let shown = sensor.map(|three| three.map(|value| value.to_string()));
    shown.unwrap_or_default()
}
