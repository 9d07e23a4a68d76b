//! A recorded clock log over time: each logged block from its start to its end, and below it one step, enlarged,
//! beside a step of the previous rung.
use harness::thousands;

use super::recorded::{Block, Recorded};

const LEFT: f64 = 110.0;
const WIDTH: f64 = 560.0;
const ROW: f64 = 22.0;
const BAR: f64 = 15.0;

/// The phases of a block, each with the class of its color.
const PARTS: [(&str, &str); 4] = [
    ("prologue", "accent"),
    ("steps", "good"),
    ("pause between two tiles of C", "warn"),
    ("end", "muted"),
];

/// Part of a block's time: an index into [`PARTS`], and its clocks.
type Part = (usize, f64);

/// The parts of a block, in order. The log has only the median of several pauses, so all are drawn equally long.
fn parts(block: &Block, tiles: u64) -> Vec<Part> {
    let pauses = tiles.saturating_sub(1) as f64;
    let pause = block.pause.unwrap_or(0) as f64;
    let steps = (block.in_all - block.prologue - block.end) as f64;
    let of_a_tile = ((steps - pauses * pause) / tiles.max(1) as f64).max(0.0);
    let mut all = vec![(0, block.prologue as f64)];
    for tile in 0..tiles.max(1) {
        if tile > 0 {
            all.push((2, pause));
        }
        all.push((1, of_a_tile));
    }
    all.push((3, block.end as f64));
    all
}

fn text(x: f64, y: f64, anchor: &str, words: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"13\" text-anchor=\"{anchor}\" fill=\"currentColor\">{words}</text>\n"
    )
}

fn bar(class: &str, x: f64, y: f64, width: f64, opacity: f64) -> String {
    format!(
        "<rect class=\"{class}\" fill=\"currentColor\" fill-opacity=\"{opacity}\" stroke=\"currentColor\" stroke-opacity=\"0.5\" \
         x=\"{x:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{BAR}\"/>\n",
        y - 12.0
    )
}

/// Clocks between two marks of an axis that ends at `longest`, so that there are at most six.
fn mark(longest: f64) -> f64 {
    let wanted = longest / 5.0;
    let power = 10f64.powf(wanted.log10().floor());
    let fits = [1.0, 2.0, 5.0, 10.0].into_iter().map(|of| of * power);
    fits.into_iter()
        .find(|&step| step >= wanted)
        .unwrap_or(wanted)
}

/// An axis of clocks, with a line up to `top` at each mark.
fn axis(longest: f64, top: f64, y: f64) -> String {
    let (mut svg, step) = (String::new(), mark(longest).max(1.0));
    let marks = (0u32..).map(|count| f64::from(count) * step);
    for clocks in marks.take_while(|&clocks| clocks <= longest) {
        let x = LEFT + WIDTH * clocks / longest;
        svg += &format!(
            "<line stroke=\"currentColor\" stroke-opacity=\"0.3\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{y:.1}\"/>\n"
        );
        svg += &text(x, y + 15.0, "middle", &thousands(clocks as u64));
    }
    svg
}

/// `before`: the log of the previous rung, if there is one.
pub fn svg(log: &Recorded, before: Option<&Recorded>) -> String {
    let mut body = text(
        4.0,
        18.0,
        "start",
        &format!(
            "{} on an {}: blocks, in clocks from their start",
            log.rung, log.gpu
        ),
    );
    let longest = log.blocks.iter().map(|block| block.in_all).max();
    let longest = longest.unwrap_or(1).max(1) as f64;
    let mut y = 44.0;
    for (number, block) in log.blocks.iter().enumerate() {
        body += &text(LEFT - 8.0, y, "end", &format!("block {number}"));
        let mut from = 0.0;
        for (part, clocks) in parts(block, log.tiles) {
            let x = LEFT + WIDTH * from / longest;
            let width = WIDTH * clocks / longest;
            body += &bar(
                PARTS[part].1,
                x,
                y,
                width,
                if part == 1 { 0.2 } else { 0.75 },
            );
            from += clocks;
        }
        y += ROW;
    }
    body += &axis(longest, 30.0, y - 8.0);
    y += 36.0;
    let mut x = LEFT;
    for (part, (name, class)) in PARTS.iter().enumerate() {
        if part == 2 && log.pause.is_none() {
            continue;
        }
        body += &bar(class, x, y, BAR, if part == 1 { 0.2 } else { 0.75 });
        body += &text(x + 21.0, y, "start", name);
        x += 40.0 + 7.0 * name.len() as f64;
    }
    y += 36.0;
    body += &text(
        4.0,
        y,
        "start",
        "one step, in clocks (median); filled: what the tensor cores need; dashed: up to the slowest 10%",
    );
    y += 28.0;
    let rows: Vec<&Recorded> = before.into_iter().chain([log]).collect();
    let longest = rows
        .iter()
        .map(|row| row.slowest.median.max(row.step.median));
    let longest = longest.max().unwrap_or(1) as f64;
    let top = y - 18.0;
    for row in rows {
        let (step, needed) = (row.step.median as f64, row.needed());
        let scale = WIDTH / longest;
        body += &text(LEFT - 8.0, y, "end", &row.rung);
        body += &bar("muted", LEFT, y, step * scale, 0.1);
        body += &bar("accent", LEFT, y, needed.min(step) * scale, 0.6);
        let slowest = (row.slowest.median as f64 - step).max(0.0);
        body += &format!(
            "<rect class=\"warn\" fill=\"none\" stroke=\"currentColor\" stroke-dasharray=\"3 3\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>\n",
            LEFT + step * scale,
            y - 12.0,
            slowest * scale
        );
        y += ROW;
    }
    body += &axis(longest, top, y - 8.0);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 {:.0}\" font-family=\"sans-serif\">\n{body}</svg>\n",
        y + 20.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_block_are_all_its_clocks() {
        let block = Block {
            prologue: 100,
            steps: 12,
            step: 10,
            slowest: 11,
            pause: Some(30),
            end: 40,
            in_all: 320,
        };
        let parts = parts(&block, 3);
        let sum: f64 = parts.iter().map(|(_, clocks)| clocks).sum();
        assert_eq!(sum, 320.0);
        let kinds: Vec<usize> = parts.iter().map(|(part, _)| *part).collect();
        assert_eq!(kinds, [0, 1, 2, 1, 2, 1, 3]);
        assert_eq!(parts[1].1, 40.0);
    }

    #[test]
    fn an_axis_has_round_marks_and_few() {
        assert_eq!([131_822.0, 1_016.0, 5.0].map(mark), [50_000.0, 500.0, 1.0]);
    }

    #[test]
    fn every_committed_log_is_drawn() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let logs = super::super::recorded::all(&folder.join("../../results/h200/clocks"));
        let logs = logs.expect("clock logs");
        assert!(logs.len() > 10, "{}", logs.len());
        for (place, log) in logs.iter().enumerate() {
            let before = place.checked_sub(1).map(|place| &logs[place]);
            let svg = svg(log, before);
            let blocks = svg.matches(">block ").count();
            assert_eq!(blocks, log.blocks.len(), "{}", log.rung);
            assert!(before.is_none_or(|log| svg.contains(&log.rung)), "{svg}");
            // Four tiles of C have three pauses between them, and one is in the legend.
            let pauses = svg
                .matches("rect class=\"warn\" fill=\"currentColor\"")
                .count();
            let wanted = if log.pause.is_some() {
                3 * blocks + 1
            } else {
                0
            };
            assert_eq!(pauses, wanted, "{}", log.rung);
        }
    }
}
