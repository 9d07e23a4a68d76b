//! One row for each rung: what was predicted, what was counted on both sides, and the time.
use harness::{Size, thousands};

use super::Line;
use calibration::Counts;
use harness::table::{head, markdown_table};

/// The counters are those of loads and stores at [`calibration::SIZE_OF_COUNTERS`], emulated first; the other columns
/// are at the size of the bound.
pub fn table(lines: &[Line], counted: &[Option<[Counts; 2]>]) -> String {
    let names = "rung | limited by | TFLOP/s at most | measured | time | \
        shared wavefronts, emulated | on the H200 | global sectors, emulated | on the H200";
    let mut rows = vec![head(names.split(" | "))];
    for (line, counted) in lines.iter().zip(counted) {
        let tflops = line.measured.map(|(tflops, _)| tflops);
        let size = line.size.parse::<Size>().ok();
        let time = tflops.zip(size);
        let time = time.map(|(tflops, size)| time_of(size.flop() / (tflops * 1e12)));
        let mut row = vec![
            line.rung.clone(),
            line.limited_by.clone(),
            format!("{:.1}", line.predicted.0),
            tflops.map_or(String::new(), |tflops| format!("{tflops:.1}")),
            time.unwrap_or_default(),
        ];
        let all = counted.as_ref().map(|[emulated, measured]| {
            let wavefronts = [emulated.wavefronts, measured.wavefronts];
            let sectors = [emulated.sectors, measured.sectors];
            [wavefronts, sectors]
                .as_flattened()
                .iter()
                .map(|count| thousands(*count))
                .collect()
        });
        row.extend(all.unwrap_or(vec![String::new(); 4]));
        rows.push(row);
    }
    markdown_table(&rows)
}

fn time_of(seconds: f64) -> String {
    match seconds {
        ms if ms >= 1e-3 => format!("{:.2} ms", ms * 1e3),
        us if us >= 1e-6 => format!("{:.1} us", us * 1e6),
        ns => format!("{:.0} ns", ns * 1e9),
    }
}
