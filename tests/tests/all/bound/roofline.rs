//! The roofline as an SVG in the style of the book's own drawings: colors by class, no background of its own.
use std::fmt::Write as _;

/// A kernel.
pub struct Point {
    pub name: String,
    /// FLOP for each wavefront of the L1 data pipe.
    pub intensity: f64,
    /// TFLOP/s, measured.
    pub measured: f64,
    /// TFLOP/s of its bound.
    pub bound: f64,
}

/// The peak of each kind of arithmetic, in TFLOP/s.
pub struct Roof {
    pub name: &'static str,
    pub tflops: f64,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 430.0;
/// The panel: its edges in pixels, and the powers of two at them.
const ACROSS: Range = Range {
    pixels: (64.0, 470.0),
    powers: (4.0, 14.0),
};
const UP: Range = Range {
    pixels: (370.0, 24.0),
    powers: (2.0, 10.5),
};
/// The distance of two labels that would overlap.
const LINE: f64 = 16.0;
const LABEL: f64 = 110.0;

/// A logarithmic axis.
struct Range {
    pixels: (f64, f64),
    powers: (f64, f64),
}

impl Range {
    fn at(&self, value: f64) -> f64 {
        let part = (value.log2() - self.powers.0) / (self.powers.1 - self.powers.0);
        self.pixels.0 + part * (self.pixels.1 - self.pixels.0)
    }
}

/// The picture. `tflops_per_flop`: TFLOP/s of a kernel that does one FLOP for each wavefront, if only wavefronts
/// limit it.
pub fn svg(points: &[Point], roofs: &[Roof], tflops_per_flop: f64) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n"
    );
    axes(&mut svg);
    let highest = roofs.iter().map(|roof| roof.tflops).fold(0.0, f64::max);
    let left = 2f64.powf(ACROSS.powers.0);
    line(
        &mut svg,
        (left, left * tflops_per_flop),
        (highest / tflops_per_flop, highest),
        "stroke-width=\"2\"",
    );
    for Roof { name, tflops } in roofs {
        let corner = tflops / tflops_per_flop;
        let right = 2f64.powf(ACROSS.powers.1);
        line(
            &mut svg,
            (corner, *tflops),
            (right, *tflops),
            "stroke-width=\"2\"",
        );
        let (x, y) = (ACROSS.at(corner) - 8.0, UP.at(*tflops) + 4.0);
        text(&mut svg, (x, y), "end", &format!("{name}, {tflops:.0}"));
    }
    let mut labels: Vec<(f64, f64)> = Vec::new();
    let mut sorted: Vec<&Point> = points.iter().collect();
    sorted.sort_by(|a, b| b.measured.total_cmp(&a.measured));
    for point in sorted {
        let (x, y) = (ACROSS.at(point.intensity), UP.at(point.measured));
        line(
            &mut svg,
            (point.intensity, point.measured),
            (point.intensity, point.bound),
            "stroke-dasharray=\"3 3\"",
        );
        let _ = writeln!(
            svg,
            "<circle class=\"accent\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>"
        );
        let mut down = y + 4.0;
        // A name that a roof would cross is below its point.
        for roof in roofs.iter().map(|roof| UP.at(roof.tflops)) {
            if (down - 4.0 - roof).abs() < LINE / 2.0 {
                down = roof + LINE;
            }
        }
        for (other, taken) in &labels {
            if (other - x).abs() < LABEL && (down - taken).abs() < LINE {
                down = taken + LINE;
            }
        }
        labels.push((x, down));
        text(&mut svg, (x + 10.0, down), "start", &point.name);
    }
    svg + "</svg>\n"
}

fn axes(svg: &mut String) {
    let ((left, right), (bottom, top)) = (ACROSS.pixels, UP.pixels);
    for power in [2, 4, 6, 8, 10] {
        let y = UP.at(2f64.powi(power));
        let _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{y:.1}\" x2=\"{left}\" y2=\"{y:.1}\" stroke=\"currentColor\"/>",
            left - 4.0
        );
        let label = 2f64.powi(power).to_string();
        text(svg, (left - 8.0, y + 4.0), "end", &label);
    }
    for power in [4, 6, 8, 10, 12, 14] {
        let x = ACROSS.at(2f64.powi(power));
        let label = 2f64.powi(power).to_string();
        text(svg, (x, bottom + 20.0), "middle", &label);
    }
    let _ = writeln!(
        svg,
        "<path d=\"M{left} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"currentColor\"/>"
    );
    text(svg, (left - 40.0, top - 8.0), "start", "TFLOP/s");
    let title = "FLOP for each wavefront of the L1 data pipe";
    text(svg, (right, bottom + 44.0), "end", title);
}

fn line(svg: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    let [(x1, y1), (x2, y2)] = [from, to].map(|(x, y)| (ACROSS.at(x), UP.at(y)));
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"currentColor\" stroke-opacity=\"0.8\" {style}/>"
    );
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"currentColor\">{words}</text>"
    );
}
