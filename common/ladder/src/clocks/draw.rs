//! Recorded clock logs as a picture: what a step along K takes beside what the tensor cores need for it, and what
//! passes between two tiles.
use std::path::Path;

use anyhow::{Context, Result, ensure};
use emulator::Ptx;
use harness::rungs;
use harness::{LaunchSpec, Size, TENSOR_FLOP_PER_CLOCK, occupancy, thousands};

const LEFT: f64 = 130.0;
const WIDTH: f64 = 420.0;
const ROW: f64 = 30.0;

/// What is drawn of one rung, in clocks.
struct Row {
    rung: String,
    /// From one step along K to the next.
    step: f64,
    /// What the tensor cores need for a step of all blocks that an SM holds.
    needed: f64,
    /// From the last step of a tile of C to the first of the next, beyond a step; of a block with a single tile its
    /// beginning and end.
    between: f64,
}

/// All logs of this folder, by the rungs' numbers.
///
/// # Errors
/// If there is none, or one of them is not what `cargo ladder clocks` prints.
pub fn svg(folder: &Path) -> Result<String> {
    let mut rows = Vec::new();
    for rung in rungs::all()? {
        let number: String = rung.name.chars().take(2).collect();
        let file = folder.join(format!("{number}.txt"));
        let Ok(text) = std::fs::read_to_string(&file) else {
            continue;
        };
        let row =
            row(&rung, &text).with_context(|| format!("{} is no clock log", file.display()))?;
        rows.push(row);
    }
    ensure!(
        !rows.is_empty(),
        "no clock log NN.txt in {}",
        folder.display()
    );
    Ok(drawn(&rows))
}

/// One rung and what was printed of it.
fn row(rung: &rungs::Rung, text: &str) -> Result<Row> {
    let (head, _) = text.split_once(", clocks on").context("its first line")?;
    let (head, tile) = match head.split_once(", tile ") {
        Some((head, tile)) => (head, Some(tile)),
        None => (head, None),
    };
    let size = head.rsplit(' ').next().unwrap_or_default();
    let size: Size = size.parse().map_err(anyhow::Error::msg)?;
    let [prologue, steps, step, pause, end] = medians(text)?;
    let mut specs = Vec::new();
    for kernel in rung.kernels()? {
        let kernel = kernel.kernel();
        if tile.is_none_or(|tile| tile == kernel.tile()) {
            let ptx = Ptx::parse(&kernel.current_ptx(&rung.place())?)?;
            specs.push(LaunchSpec::of(&ptx).map_err(|why| anyhow::anyhow!("{why:?}"))?);
        }
    }
    // A log of a kernel with several tiles names the one; older ones are of the largest.
    let largest = |spec: &LaunchSpec| spec.tile.bm * spec.tile.bn;
    let spec = specs.into_iter().max_by_key(largest).context("its tile")?;
    let [bm, bn, bk] = [spec.tile.bm, spec.tile.bn, spec.tile.bk].map(f64::from);
    // What the host pads K to may be several steps of a block with a single tile.
    let bk = match (pause, steps) {
        (None, Some(steps)) => f64::from(size.k) / steps,
        _ => bk,
    };
    let blocks = f64::from(occupancy::at_most(spec.threads, spec.dynamic_shared).blocks);
    Ok(Row {
        rung: rung.name.clone(),
        step: step.context("steps")?,
        needed: blocks * 2.0 * bm * bn * bk / TENSOR_FLOP_PER_CLOCK,
        between: match pause {
            Some(pause) => pause,
            None => prologue
                .zip(end)
                .map(|(a, b)| a + b)
                .context("a beginning and an end")?,
        },
    })
}

/// Of all blocks the medians of prologue, number of steps, step, pause and end; no pause where a block has a single tile.
fn medians(text: &str) -> Result<[Option<f64>; 5]> {
    let mut columns: [Vec<f64>; 5] = Default::default();
    let of_block = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        first.parse::<u32>().is_ok()
    };
    for line in text.lines().filter(of_block) {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let places = match cells[..] {
            [_, _, _, _, _, _, _, _] => [Some(1), Some(2), Some(3), Some(5), Some(6)],
            [_, _, _, _, _, _, _] => [Some(1), Some(2), Some(3), None, Some(5)],
            _ => anyhow::bail!("a block has 6 or 7 numbers: {line}"),
        };
        for (column, place) in columns.iter_mut().zip(places) {
            if let Some(cell) = place.and_then(|place| cells.get(place)) {
                column.push(
                    cell.replace(',', "")
                        .parse()
                        .with_context(|| line.to_owned())?,
                );
            }
        }
    }
    Ok(columns.map(|mut column| {
        column.sort_by(f64::total_cmp);
        column.get(column.len() / 2).copied()
    }))
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
        "The pause between two tiles of C; of a block with a single tile prologue and end, in clocks",
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
    fn a_single_tile_has_no_pause() {
        let one = "13_persistent at 4096x4096x4096, clocks on X\n\nblock prologue steps\n\
            0  4,954  256  1,016  1,142  3,223  4,111  277,319\n1  4,956  256  1,018  1,142  3,225  4,113  277,319\n";
        let medians_of = |text: &str| medians(text).expect("numbers");
        assert_eq!(
            medians_of(one),
            [
                Some(4956.0),
                Some(256.0),
                Some(1018.0),
                Some(3225.0),
                Some(4113.0)
            ]
        );
        let none = "0  3,068  64  2,007  2,188  3,078  131,123\n";
        assert_eq!(
            medians_of(none),
            [Some(3068.0), Some(64.0), Some(2007.0), None, Some(3078.0)]
        );
        assert!(medians("0 a b c d e f\n").is_err());
    }

    #[test]
    fn the_record_of_this_repository_is_drawn() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results/h200/clocks");
        let svg = svg(&folder).expect("clock logs");
        assert!(
            svg.contains("06_pipeline") && svg.contains("16_stream_k"),
            "{svg}"
        );
        assert!(svg.contains(">1,024 of 1,024<"), "{svg}");
    }
}
