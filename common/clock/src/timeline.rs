//! The resident warps of one SM over a few steps, as a picture: what each did, and below it what pipes, copies and mbarriers
//! did at the same time.
use std::fmt::Write as _;

use crate::simulate::{Activity, Simulation, Span, Unit};
use crate::stall::Stall;

const WIDTH: f64 = 900.0;
const LEFT: f64 = 130.0;
const ROW: f64 = 14.0;
const TOP: f64 = 24.0;

/// What a colour stands for.
struct Colour {
    name: &'static str,
    /// On a light and on a dark page.
    light: &'static str,
    dark: &'static str,
    reasons: &'static [Stall],
}

const LEGEND: [Colour; 6] = [
    Colour {
        name: "issues",
        light: "#2a7d2a",
        dark: "#6fce6f",
        reasons: &[Stall::Selected],
    },
    Colour {
        name: "ready, another warp issues",
        light: "#a8d5a8",
        dark: "#2f5f2f",
        reasons: &[Stall::NotSelected],
    },
    Colour {
        name: "waits for arithmetic",
        light: "#d9a400",
        dark: "#e8c34a",
        reasons: &[Stall::Wait, Stall::MathPipeThrottle, Stall::BranchResolving],
    },
    Colour {
        name: "waits for shared memory",
        light: "#c9622b",
        dark: "#e8935f",
        reasons: &[Stall::ShortScoreboard, Stall::MioThrottle],
    },
    Colour {
        name: "waits for copies, loads, mbarriers",
        light: "#3b6fb6",
        dark: "#7fb0f0",
        reasons: &[Stall::LongScoreboard, Stall::LgThrottle],
    },
    Colour {
        name: "waits for warps or wgmma",
        light: "#8a4fa3",
        dark: "#c48be0",
        reasons: &[Stall::Barrier, Stall::Membar, Stall::Gmma],
    },
];

/// Rows below the warps.
const UNITS: [(Unit, &str); 5] = [
    (Unit::Tensor, "tensor cores"),
    (Unit::SharedMemory, "shared memory"),
    (Unit::Loads, "loads in flight"),
    (Unit::BulkCopies, "boxes in flight"),
    (Unit::Phase, "mbarrier phases"),
];

fn class_of(stall: Stall) -> usize {
    let of = |colour: &Colour| colour.reasons.contains(&stall);
    LEGEND.iter().position(of).unwrap_or(0)
}

/// The rows that activities of a kind need, so that none covers another, and the row of each.
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

/// An SVG of the window that the simulation was asked to keep, of the cluster's first SM. It takes the page's colours: light
/// or dark by `prefers-color-scheme`.
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
    let mut body = String::new();
    let mut y = TOP;
    let title = |body: &mut String, y: f64, name: &str| {
        let _ = writeln!(
            body,
            r#"<text x="{:.0}" y="{:.1}" text-anchor="end">{name}</text>"#,
            LEFT - 6.0,
            y + ROW - 3.0
        );
    };
    for &(cta, warp) in &warps {
        title(&mut body, y, &format!("CTA {cta}, warp {warp}"));
        for span in spans
            .iter()
            .filter(|span| (span.cta, span.warp) == (cta, warp))
        {
            let _ = writeln!(
                body,
                r#"<rect class="c{}" x="{:.2}" y="{y:.1}" width="{:.2}" height="{:.1}"/>"#,
                class_of(span.stall),
                x(span.from),
                x(span.to) - x(span.from),
                ROW - 2.0,
            );
        }
        y += ROW;
    }
    for (unit, name) in UNITS {
        let own = simulation.activities.iter();
        let (rows, placed) = stacked(own.filter(|one| one.sm == 0 && one.what == unit));
        if rows == 0 {
            continue;
        }
        y += ROW / 2.0;
        title(&mut body, y, name);
        let height = if rows > 12 { 3.0 } else { ROW / 2.0 };
        for (row, one) in placed {
            let _ = writeln!(
                body,
                r#"<rect class="u" x="{:.2}" y="{:.1}" width="{:.2}" height="{:.1}"/>"#,
                x(one.from),
                y + row as f64 * height,
                (x(one.to) - x(one.from)).max(0.2),
                height - 1.0,
            );
        }
        y += (rows as f64 * height).max(ROW);
    }
    let mut legend = String::new();
    for (index, Colour { name, .. }) in LEGEND.iter().enumerate() {
        let (column, row) = ((index % 3) as f64, (index / 3) as f64);
        let (left, top) = (LEFT + column * 255.0, y + 14.0 + row * 18.0);
        let _ = writeln!(
            legend,
            r#"<rect class="c{index}" x="{left:.0}" y="{top:.0}" width="10" height="10"/><text x="{:.0}" y="{:.0}">{name}</text>"#,
            left + 15.0,
            top + 9.0,
        );
    }
    let colours = |pick: fn(&Colour) -> &'static str| {
        let rules = LEGEND.iter().enumerate();
        rules
            .map(|(index, colour)| format!(".c{index}{{fill:{}}}", pick(colour)))
            .collect::<String>()
    };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH:.0} {:.0}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"10\">\n\
         <title>Warps of one SM from clock {from:.0} to {to:.0}</title>\n\
         <style>text{{fill:#222}}.u{{fill:#777}}{}@media(prefers-color-scheme:dark){{text{{fill:#ddd}}.u{{fill:#999}}{}}}</style>\n\
         <text x=\"{LEFT:.0}\" y=\"14\">{} clocks, from {from:.0} to {to:.0}</text>\n{body}{legend}</svg>\n",
        y + 54.0,
        colours(|colour| colour.light),
        colours(|colour| colour.dark),
        (to - from).round(),
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
        assert!(
            svg.contains("x=\"130.00\"") && !svg.contains("width=\"-"),
            "{svg}"
        );
    }
}
