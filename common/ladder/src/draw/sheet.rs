//! The frame of a plot: background, colors, title and provenance.
//!
//! A plot is legible in light and in dark: it paints its own background, and a style sheet switches the colors with
//! the reader's color scheme. Text has an outline in the color of the background, so that it is legible over lines.
use std::fmt::Write as _;

use html_escape::encode_double_quoted_attribute as escape;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::panel::ends;
use crate::record::{Record, Run};

/// In pixels, like all lengths here.
pub const WIDTH: u32 = 900;

pub type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The use of a color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    Paper,
    Text,
    /// Secondary text, and ceilings.
    Faint,
    /// Grid lines.
    Rule,
    Kernel,
    /// A kernel of the same rung for an older architecture.
    Older,
    Cublas,
    CublasLt,
}

/// Each ink in light and in dark; a test computes the contrast with the background.
const COLORS: [(Ink, &str, &str); 8] = [
    (Ink::Paper, "#FFFFFF", "#15191E"),
    (Ink::Text, "#1B1F24", "#E6EDF3"),
    (Ink::Faint, "#57606A", "#9AA4AE"),
    (Ink::Rule, "#D0D7DE", "#3D444D"),
    (Ink::Kernel, "#0550AE", "#6CB6FF"),
    (Ink::Older, "#BC4C00", "#F0883E"),
    (Ink::Cublas, "#1A7F37", "#57CB6A"),
    (Ink::CublasLt, "#8250DF", "#C297FF"),
];

impl Ink {
    /// The light color; the style sheet has the dark one.
    pub fn color(self) -> RGBColor {
        let hex = COLORS.iter().find(|(ink, ..)| *ink == self);
        let part =
            |at| hex.and_then(|(_, light, _)| u8::from_str_radix(light.get(at..at + 2)?, 16).ok());
        let [red, green, blue] = [1, 3, 5].map(|at| part(at).unwrap_or_default());
        RGBColor(red, green, blue)
    }

    /// A line of this width.
    pub fn line(self, width: u32) -> ShapeStyle {
        ShapeStyle::from(self.color()).stroke_width(width)
    }

    /// A filled area.
    pub fn filled(self) -> ShapeStyle {
        ShapeStyle::from(self.color()).filled()
    }

    /// Text of this size, anchored by `horizontal` and `vertical`.
    pub fn text(self, size: u32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
        // The backend divides by 1.24.
        ("sans-serif", 1.24 * f64::from(size))
            .into_font()
            .color(&self.color())
            .pos(Pos::new(horizontal, vertical))
    }
}

/// The text around a plot.
pub struct Words {
    pub title: String,
    /// For readers who do not see the plot.
    pub description: String,
    /// Below the title: how to read the plot.
    pub key: String,
    /// At the foot, one line each.
    pub foot: Vec<String>,
}

/// Draws a plot of this height inside the margins of its text, and returns the SVG.
pub fn sheet(
    height: u32,
    words: &Words,
    draw: impl FnOnce(&Area) -> anyhow::Result<()>,
) -> anyhow::Result<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&Ink::Paper.color())?;
        let bold = Ink::Text.text(16, HPos::Left, VPos::Top);
        root.draw_text(&words.title, &bold, (16, 12))?;
        let faint = Ink::Faint.text(12, HPos::Left, VPos::Top);
        root.draw_text(&words.key, &faint, (16, 38))?;
        let foot = 18 * words.foot.len() as i32;
        for (line, text) in words.foot.iter().enumerate() {
            let y = height as i32 - 8 - foot + 18 * line as i32;
            root.draw_text(text, &faint, (16, y))?;
        }
        draw(&root.margin(62, foot + 14, 0, 0))?;
        root.present()?;
    }
    let (head, body) = svg.split_once(">\n").unwrap_or(("<svg", ""));
    // The first text is the title.
    let body = body.replacen("<text ", "<text font-weight=\"bold\" ", 1);
    let title = escape(&words.title);
    Ok(format!(
        "{head} class=\"plot\" role=\"img\" aria-label=\"{title}\">\n<title>{title}</title>\n\
         <desc>{}</desc>\n<style>{}</style>\n{body}",
        escape(&words.description),
        style()
    ))
}

/// The dark colors, dashes, the fonts, and the outline of text; for this plot only, since a page may hold several.
fn style() -> String {
    let [(_, light_paper, dark_paper), ..] = COLORS;
    let margin =
        |paper: &str| format!(".plot text{{stroke:{paper};stroke-width:3px;paint-order:stroke}}");
    let mut css = String::from(
        ".plot text{font-family:system-ui,-apple-system,\"Segoe UI\",Helvetica,Arial,\"DejaVu Sans\",sans-serif}",
    );
    for (ink, lengths) in [(Ink::Faint, "6 4"), (Ink::CublasLt, "3 3")] {
        let RGBColor(r, g, b) = ink.color();
        let _ = write!(
            css,
            ".plot [stroke=\"#{r:02X}{g:02X}{b:02X}\"]{{stroke-dasharray:{lengths}}}"
        );
    }
    css += &margin(light_paper);
    css += "@media (prefers-color-scheme:dark){";
    for (_, from, to) in COLORS {
        let _ = write!(
            css,
            ".plot [fill=\"{from}\"]{{fill:{to}}}.plot [stroke=\"{from}\"]{{stroke:{to}}}"
        );
    }
    css + &margin(dark_paper) + "}"
}

/// GPU, software, commit and date of a record, in a line.
pub fn provenance(record: &Record) -> String {
    let Some((_, Run { provenance, .. })) = record.runs().next() else {
        return String::new();
    };
    let gpu = &provenance.gpu;
    let mut parts = vec![gpu.name.clone()];
    parts.extend(gpu.driver.iter().map(|driver| format!("driver {driver}")));
    parts.push(format!("CUDA {}", gpu.cuda));
    parts.extend(gpu.cublas.iter().map(|version| format!("cuBLAS {version}")));
    parts.push(format!("commit {}", record.commits()));
    parts.push(record.dates());
    parts.join(", ")
}

/// The clock at which ceilings are drawn, and the clocks at which these runs were timed.
pub fn clocks<'a>(ceilings: Option<f64>, runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let Some(mhz) = ceilings else {
        return Vec::new();
    };
    let medians = runs.filter_map(|run| run.provenance.gpu.sm_mhz.map(|[_, median, _]| median));
    let ran = ends(medians).map_or(String::new(), |(least, most)| {
        format!("; these runs had a median of {least:.0} to {most:.0} MHz")
    });
    vec![format!(
        "Ceilings: measured, for all SMs at {mhz:.0} MHz, the highest clock{ran}."
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#RRGGBB` (WCAG 2).
    fn luminance(color: &str) -> f64 {
        let part = |at: usize| {
            let value = u8::from_str_radix(&color[at..at + 2], 16).expect("hexadecimal");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn every_ink_is_legible_on_its_paper() {
        let [(_, light_paper, dark_paper), ..] = COLORS;
        for (ink, light, dark) in COLORS {
            if matches!(ink, Ink::Paper | Ink::Rule) {
                continue;
            }
            for (color, paper) in [(light, light_paper), (dark, dark_paper)] {
                let mut pair = [luminance(color), luminance(paper)];
                pair.sort_by(f64::total_cmp);
                let contrast = (pair[1] + 0.05) / (pair[0] + 0.05);
                assert!(contrast >= 4.5, "{ink:?} {color}: {contrast}");
            }
        }
    }

    #[test]
    fn words_are_escaped() {
        let words = Words {
            title: "a < \"b\"".into(),
            description: "c & d".into(),
            key: "e > f".into(),
            foot: vec!["<script>".into()],
        };
        let svg = sheet(200, &words, |_| Ok(())).expect("a sheet");
        assert!(svg.contains("<title>a &lt; &quot;b&quot;</title>"), "{svg}");
        assert!(
            svg.contains("c &amp; d") && !svg.contains("<script>"),
            "{svg}"
        );
    }
}
