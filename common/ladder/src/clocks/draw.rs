//! Recorded clock logs as a picture: the clocks of a step along K compared with what the tensor cores need for it,
//! and the clocks between two tiles.
use harness::thousands;

use super::recorded::Recorded;

const LEFT: f64 = 130.0;
const WIDTH: f64 = 420.0;
const ROW: f64 = 30.0;

/// The numbers of one rung that are drawn, in clocks.
struct Row {
    rung: String,
    /// From one step along K to the next.
    step: f64,
    /// Clocks that the tensor cores need for it.
    needed: f64,
    /// Clocks from the last step of a tile of C to the first of the next, minus a step; for a block with a single
    /// tile its prologue and end.
    between: f64,
}

/// Two groups of bars, one bar for each log.
pub fn svg(logs: &[Recorded]) -> String {
    let row = |log: &Recorded| Row {
        rung: log.rung.clone(),
        step: log.step.median as f64,
        needed: log.needed.wgmma,
        between: match log.pause {
            Some(pause) => pause.median as f64,
            None => (log.prologue.median + log.end.median) as f64,
        },
    };
    drawn(&logs.iter().map(row).collect::<Vec<_>>())
}

fn drawn(rows: &[Row]) -> String {
    let panel = 50.0 + ROW * rows.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 {}\" font-family=\"sans-serif\">\n",
        2.0 * panel + 10.0
    );
    let text = |x: f64, y: f64, anchor: &str, words: &str, more: &str| {
        format!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"13\" text-anchor=\"{anchor}\" fill=\"currentColor\"{more}>{words}</text>\n"
        )
    };
    let bar = |class: &str, y: f64, width: f64, opacity: f64| {
        format!(
            "<rect class=\"{class}\" fill=\"currentColor\" fill-opacity=\"{opacity}\" stroke=\"currentColor\" stroke-opacity=\"0.6\" \
             x=\"{LEFT}\" y=\"{}\" width=\"{width:.1}\" height=\"18\"/>\n",
            y - 14.0
        )
    };
    let clocks = |clocks: f64| thousands(clocks as u64);
    let bold = " font-weight=\"bold\"";
    svg += &text(
        10.0,
        24.0,
        "start",
        "A step along K, in clocks; filled: what the tensor cores need",
        bold,
    );
    let longest = rows.iter().map(|row| row.step).fold(1.0, f64::max);
    for (row, place) in rows.iter().zip(0..) {
        let y = 54.0 + ROW * f64::from(place);
        svg += &text(10.0, y, "start", &row.rung, "");
        svg += &bar("muted", y, WIDTH * row.step / longest, 0.1);
        svg += &bar("accent", y, WIDTH * row.needed.min(row.step) / longest, 0.5);
        let says = format!(
            "{} of {}",
            clocks(row.needed.min(row.step)),
            clocks(row.step)
        );
        svg += &text(LEFT + WIDTH + 10.0, y, "start", &says, "");
    }
    svg += &text(
        10.0,
        panel + 24.0,
        "start",
        "The pause between two tiles of C; for a block with a single tile its prologue and end, in clocks",
        bold,
    );
    let longest = rows.iter().map(|row| row.between).fold(1.0, f64::max);
    for (row, place) in rows.iter().zip(0..) {
        let y = panel + 54.0 + ROW * f64::from(place);
        svg += &text(10.0, y, "start", &row.rung, "");
        svg += &bar("muted", y, WIDTH * row.between / longest, 0.1);
        svg += &text(LEFT + WIDTH + 10.0, y, "start", &clocks(row.between), "");
    }
    svg + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_record_is_drawn() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = folder.join("../../results/h200/clocks");
        let svg = svg(&super::super::recorded::all(&folder).expect("clock logs"));
        assert!(
            svg.contains("06_pipeline") && svg.contains("16_stream_k"),
            "{svg}"
        );
        assert!(svg.contains(">1,024 of 1,024<"), "{svg}");
    }
}
