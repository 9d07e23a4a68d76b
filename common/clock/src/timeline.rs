//! Draws the resident warps of one SM over a few loop iterations: what each warp did, and below it what pipes, copies
//! and mbarriers did at the same time.
use std::fmt::Write as _;

use crate::simulate::{Activity, Simulation, Span, Unit};
use crate::stall::Stall;

const WIDTH: f64 = 720.0;
const LEFT: f64 = 116.0;
const ROW: f64 = 16.0;
const TOP: f64 = 24.0;
/// Slices per unit of the picture: an iteration has thousands of instructions, more than a screen has pixels.
const PARTS: f64 = 2.0;

/// A color of the picture and its meaning.
struct Color {
    name: &'static str,
    /// On a light page and on a dark page.
    light: &'static str,
    dark: &'static str,
    reasons: &'static [Stall],
}

const LEGEND: [Color; 6] = [
    Color {
        name: "issues",
        light: "#2a7d2a",
        dark: "#6fce6f",
        reasons: &[Stall::Selected],
    },
    Color {
        name: "ready, another warp issues",
        light: "#a8d5a8",
        dark: "#2f5f2f",
        reasons: &[Stall::NotSelected],
    },
    Color {
        name: "waits for arithmetic",
        light: "#d9a400",
        dark: "#e8c34a",
        reasons: &[Stall::Wait, Stall::MathPipeThrottle, Stall::BranchResolving],
    },
    Color {
        name: "waits for shared memory",
        light: "#c9622b",
        dark: "#e8935f",
        reasons: &[Stall::ShortScoreboard, Stall::MioThrottle],
    },
    Color {
        name: "waits for copies, loads, mbarriers",
        light: "#3b6fb6",
        dark: "#7fb0f0",
        reasons: &[Stall::LongScoreboard, Stall::LgThrottle],
    },
    Color {
        name: "waits for warps or wgmma",
        light: "#8a4fa3",
        dark: "#c48be0",
        reasons: &[Stall::Barrier, Stall::Membar, Stall::Gmma],
    },
];

/// The rows below the warps.
const UNITS: [(Unit, &str); 5] = [
    (Unit::Tensor, "tensor cores"),
    (Unit::SharedMemory, "shared memory"),
    (Unit::Loads, "loads in flight"),
    (Unit::BulkCopies, "boxes in flight"),
    (Unit::Phase, "mbarrier phases"),
];

fn class_of(stall: Stall) -> usize {
    let of = |color: &Color| color.reasons.contains(&stall);
    LEGEND.iter().position(of).unwrap_or(0)
}

/// Assigns rows to activities of one kind so that none covers another: the number of rows, and the row of each
/// activity.
fn stacked<'a>(
    activities: impl Iterator<Item = &'a Activity>,
) -> (usize, Vec<(usize, &'a Activity)>) {
    let mut all: Vec<&Activity> = activities.collect();
    all.sort_by(|a, b| a.from.total_cmp(&b.from));
    let (mut ends, mut placed) = (Vec::<f64>::new(), Vec::new());
    for one in all {
        let free = ends.iter().position(|&end| end <= one.from);
        let row = free.unwrap_or_else(|| {
            ends.push(0.0);
            ends.len() - 1
        });
        ends[row] = one.to;
        placed.push((row, one));
    }
    (ends.len(), placed)
}

/// What a warp does in each slice of the picture, judged by most of its clocks: a color, and where the run begins and
/// ends. `x` maps a clock to its position.
fn runs<'a>(
    spans: impl Iterator<Item = &'a Span>,
    x: impl Fn(f64) -> f64,
) -> Vec<(usize, f64, f64)> {
    let parts = ((WIDTH - LEFT) * PARTS) as usize;
    let mut clocks = vec![[0.0; LEGEND.len()]; parts];
    for span in spans {
        let color = class_of(span.stall);
        let (from, to) = ((x(span.from) - LEFT) * PARTS, (x(span.to) - LEFT) * PARTS);
        let (first, end) = (from as usize, to.ceil() as usize);
        for (part, of) in clocks.iter_mut().enumerate().take(end).skip(first) {
            let (begins, ends) = (part as f64, (part + 1) as f64);
            of[color] += to.min(ends) - from.max(begins);
        }
    }
    let most = |of: &[f64; LEGEND.len()]| {
        let all = of.iter().enumerate().filter(|(_, clocks)| **clocks > 0.0);
        let most = all.max_by(|a, b| a.1.total_cmp(b.1));
        most.map(|(color, _)| color)
    };
    let mut runs: Vec<(usize, f64, f64)> = Vec::new();
    for (part, of) in clocks.iter().enumerate() {
        let (from, to) = (part as f64 / PARTS + LEFT, (part + 1) as f64 / PARTS + LEFT);
        match (most(of), runs.last_mut()) {
            (Some(color), Some(last)) if last.0 == color && last.2 == from => last.2 = to,
            (Some(color), _) => runs.push((color, from, to)),
            (None, _) => (),
        }
    }
    runs
}

/// Rectangles of one color.
#[derive(Default)]
struct Path(String);

impl Path {
    fn rectangle(&mut self, from: f64, to: f64, y: f64, height: f64) {
        let _ = write!(
            self.0,
            "M{from:.1} {y:.1}h{0:.1}v{height:.1}h-{0:.1}z",
            to - from
        );
    }

    fn svg(&self, class: &str) -> String {
        match self.0.is_empty() {
            true => String::new(),
            false => format!("<path class=\"{class}\" d=\"{}\"/>\n", self.0),
        }
    }
}

/// An SVG of the recorded window, for the cluster's first SM. Its colors follow the page: light or dark by
/// `prefers-color-scheme`.
pub fn timeline(simulation: &Simulation, (from, to): (f64, f64)) -> String {
    let scale = (WIDTH - LEFT) / (to - from).max(1.0);
    let x = |clock: f64| LEFT + (clock.clamp(from, to) - from) * scale;
    let spans: Vec<&Span> = simulation
        .spans
        .iter()
        .filter(|span| span.sm == 0)
        .collect();
    let mut warps: Vec<(u32, u32)> = spans.iter().map(|span| (span.cta, span.warp)).collect();
    warps.sort_unstable();
    warps.dedup();
    let mut names = String::new();
    let mut colors: [Path; LEGEND.len()] = Default::default();
    let mut y = TOP;
    let mut title = |y: f64, name: &str| {
        let _ = writeln!(
            names,
            r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{name}</text>"#,
            LEFT - 6.0,
            y + ROW - 4.0
        );
    };
    for &(cta, warp) in &warps {
        title(y, &format!("CTA {cta}, warp {warp}"));
        let own = spans
            .iter()
            .filter(|one| (one.cta, one.warp) == (cta, warp));
        for (color, begins, ends) in runs(own.copied(), x) {
            colors[color].rectangle(begins, ends, y, ROW - 2.0);
        }
        y += ROW;
    }
    let mut units = Path::default();
    for (unit, name) in UNITS {
        let own = simulation.activities.iter();
        let (rows, placed) = stacked(own.filter(|one| one.sm == 0 && one.what == unit));
        if rows == 0 {
            continue;
        }
        y += ROW / 2.0;
        title(y, name);
        let height = if rows > 12 { 3.0 } else { ROW / 2.0 };
        // A gap separates phases, which are contiguous; for other activities a gap is idle time.
        let gap = if unit == Unit::Phase { 1.5 } else { 0.0 };
        let mut ends: Vec<Option<(f64, f64)>> = vec![None; rows];
        let top = |row: usize| y + row as f64 * height;
        for (row, one) in placed {
            let (begins, end) = (x(one.from), (x(one.to) - gap).max(x(one.from) + 0.2));
            match &mut ends[row] {
                Some(last) if begins - last.1 < 1.0 / PARTS => last.1 = end,
                other => {
                    if let Some((from, to)) = other.replace((begins, end)) {
                        units.rectangle(from, to, top(row), height - 1.0);
                    }
                }
            }
        }
        for (row, last) in ends.into_iter().enumerate() {
            if let Some((from, to)) = last {
                units.rectangle(from, to, top(row), height - 1.0);
            }
        }
        y += (rows as f64 * height).max(ROW);
    }
    let mut legend = String::new();
    for (index, Color { name, .. }) in LEGEND.iter().enumerate() {
        let (column, row) = ((index % 2) as f64, (index / 2) as f64);
        let (left, top) = (LEFT + column * 260.0, y + 14.0 + row * 20.0);
        colors[index].rectangle(left, left + 11.0, top, 11.0);
        let _ = writeln!(
            legend,
            r#"<text x="{:.0}" y="{:.0}">{name}</text>"#,
            left + 17.0,
            top + 10.0,
        );
    }
    let rules = |pick: fn(&Color) -> &'static str| {
        let rules = LEGEND.iter().enumerate();
        rules
            .map(|(index, color)| format!(".warps .c{index}{{fill:{}}}", pick(color)))
            .collect::<String>()
    };
    let drawn = colors.iter().enumerate();
    let drawn: String = drawn
        .map(|(index, path)| path.svg(&format!("c{index}")))
        .collect();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {:.0}\" role=\"img\" class=\"warps\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>Warps of one SM from clock {from:.0} to {to:.0}</title>\n\
         <style>.warps text{{fill:#222}}.warps .u{{fill:#777}}{}\
         @media (prefers-color-scheme:dark){{.warps text{{fill:#ddd}}.warps .u{{fill:#999}}{}}}</style>\n\
         <text x=\"{LEFT:.0}\" y=\"14\">{} clocks, from {from:.0} to {to:.0}</text>\n{names}{drawn}{}{legend}</svg>\n",
        y + 80.0,
        rules(|color| color.light),
        rules(|color| color.dark),
        (to - from).round(),
        units.svg("u"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activities_at_the_same_time_have_rows_of_their_own() {
        let act = |from, to| Activity {
            sm: 0,
            what: Unit::BulkCopies,
            from,
            to,
        };
        let all = [act(0.0, 10.0), act(5.0, 15.0), act(10.0, 20.0)];
        let (rows, placed) = stacked(all.iter());
        let order: Vec<usize> = placed.iter().map(|(row, _)| *row).collect();
        assert_eq!((rows, order), (2, vec![0, 1, 0]));
    }

    #[test]
    fn a_picture_has_a_row_for_each_warp_and_ends_where_the_window_does() {
        let span = |warp, from, to, stall| Span {
            sm: 0,
            cta: 0,
            warp,
            from,
            to,
            instruction: 0,
            stall,
        };
        let simulation = Simulation {
            spans: vec![
                span(0, 90.0, 110.0, Stall::Wait),
                span(1, 150.0, 400.0, Stall::Barrier),
            ],
            ..Simulation::default()
        };
        let svg = timeline(&simulation, (100.0, 200.0));
        assert!(
            svg.contains("CTA 0, warp 1") && svg.contains("100 clocks"),
            "{svg}"
        );
        // The first warp covers a tenth of the width from the left end, the second the middle to the right end.
        assert!(svg.contains("M116.0 24.0h60.5"), "{svg}");
        assert!(svg.contains("M418.0 40.0h302.0"), "{svg}");
        assert!(!svg.contains("h--"), "{svg}");
    }

    #[test]
    fn a_part_has_the_color_of_most_of_its_clocks() {
        let span = |from: f64, to: f64, stall| Span {
            sm: 0,
            cta: 0,
            warp: 0,
            from,
            to,
            instruction: 0,
            stall,
        };
        let spans = [
            span(0.0, 0.3, Stall::Selected),
            span(0.3, 1.0, Stall::Barrier),
            span(1.0, 1.6, Stall::Selected),
            span(1.6, 2.0, Stall::Barrier),
        ];
        // One slice per clock.
        let runs = runs(spans.iter(), |clock| LEFT + clock / PARTS);
        let (issues, waits) = (class_of(Stall::Selected), class_of(Stall::Barrier));
        let half = 1.0 / PARTS;
        assert_eq!(
            runs,
            [
                (waits, LEFT, LEFT + half),
                (issues, LEFT + half, LEFT + 2.0 * half)
            ]
        );
    }
}
