//! A sheet as SVG: plain strings, since all it needs is rectangles and text.
//!
//! The picture is legible in light and in dark: it paints its own background and follows the reader's color
//! scheme. The contrast of every pair of colors is at least 4.5 to 1, which a test computes.
use std::fmt::Write as _;

use html_escape::encode_double_quoted_attribute as escape;

use super::text::{closing, wrap};
use super::{Grid, Sheet};

/// Background, text, faint text and lines: light, then dark.
const BASE: [[&str; 4]; 2] = [
    ["#ffffff", "#1b1f24", "#57606a", "#d0d7de"],
    ["#15191e", "#e6edf3", "#9aa4ae", "#3d444d"],
];

/// The groups' colors, behind the text: light, then dark.
const GROUPS: [[&str; 8]; 2] = [
    [
        "#cfe3ff", "#ffe1b8", "#cdeccb", "#ffd3d8", "#e4d6fb", "#c8eef0", "#f4e9a8", "#e3e3e3",
    ],
    [
        "#1d3f6b", "#5c3b0c", "#1d4a26", "#632430", "#43306b", "#124a50", "#4f4710", "#3a3f45",
    ],
];

const SIZE: f64 = 12.0; // of a character, in pixels
const TITLE: f64 = 14.0; // of a character of the title
const ADVANCE: f64 = 7.3; // its width; monospaced
const LINE: f64 = 18.0;
const MARGIN: f64 = 16.0;

pub fn svg(sheet: &Sheet) -> String {
    let mut body = Body::default();
    body.line(&sheet.title, "title");
    let values = MARGIN + (sheet.width() + 2) as f64 * ADVANCE;
    for (name, value) in &sheet.facts {
        body.text(MARGIN, name, "faint");
        for part in wrap(&value.to_string(), 90) {
            body.text(values, &part, "");
            body.y += LINE;
        }
    }
    for grid in &sheet.grids {
        body.y += LINE / 2.0;
        body.grid(grid);
    }
    body.y += LINE / 2.0;
    for note in sheet.notes.iter().flat_map(|note| wrap(note, 100)) {
        body.line(&note, "");
    }
    for line in closing(sheet, 100) {
        body.line(&line, "faint");
    }
    let (width, height) = (body.width + MARGIN, body.y);
    let title = escape(&sheet.title);
    let about: Vec<_> = sheet.grids.iter().map(|grid| grid.title.as_str()).collect();
    let about = format!("{}. {}", about.join("; "), sheet.basis.sentence());
    let about = escape(&about);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"sheet\" viewBox=\"0 0 {width:.0} \
         {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{title}\">\n\
         <title>{title}</title>\n<desc>{about}</desc>\n<style>{}</style>\n\
         <rect class=\"paper\" width=\"100%\" height=\"100%\" rx=\"6\"/>\n{}</svg>\n",
        style(),
        body.out
    )
}

/// What has been drawn so far, and where the next line goes.
struct Body {
    out: String,
    y: f64,
    width: f64,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            out: String::new(),
            y: MARGIN + SIZE,
            width: 0.0,
        }
    }
}

impl Body {
    /// Draws text that may widen the picture.
    fn text(&mut self, x: f64, text: &str, class: &str) {
        self.put(x, text, class);
        let advance = if class == "title" {
            ADVANCE * TITLE / SIZE
        } else {
            ADVANCE
        };
        self.width = self.width.max(x + text.chars().count() as f64 * advance);
    }

    fn put(&mut self, x: f64, text: &str, class: &str) {
        let named = match class {
            "" => String::new(),
            class => format!(" class=\"{class}\""),
        };
        let (y, shown) = (self.y, escape(text));
        let _ = writeln!(
            self.out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\"{named}>{shown}</text>"
        );
    }

    fn line(&mut self, text: &str, class: &str) {
        self.text(MARGIN, text, class);
        self.y += LINE;
    }

    fn grid(&mut self, grid: &Grid) {
        self.line(&grid.title, "head");
        let (name, cell) = grid.widths();
        let left = MARGIN + (name + 1) as f64 * ADVANCE;
        let step = (cell as f64 * ADVANCE + 8.0).max(22.0);
        if grid.columns.iter().any(|column| !column.is_empty()) {
            for (i, column) in grid.columns.iter().enumerate() {
                self.put(left + (i as f64 + 0.5) * step, column, "faint middle");
            }
            self.y += LINE;
        }
        for row in &grid.rows {
            self.text(MARGIN, &row.name, "faint");
            let cells = row.cells.iter().enumerate();
            for (i, cell) in cells.filter(|(_, cell)| !cell.text.is_empty()) {
                let x = left + i as f64 * step;
                let class = cell
                    .group
                    .map_or("cell".into(), |group| format!("cell g{}", group % 8));
                let top = self.y - SIZE - 1.0;
                let _ = writeln!(
                    self.out,
                    "<rect x=\"{x:.1}\" y=\"{top:.1}\" width=\"{step:.1}\" height=\"{LINE}\" \
                     class=\"{class}\"/>"
                );
                self.put(x + step / 2.0, &cell.text, "middle");
            }
            self.width = self.width.max(left + row.cells.len() as f64 * step);
            self.y += LINE;
        }
    }
}

fn style() -> String {
    let theme = |i: usize| {
        let [paper, ink, faint, rule] = BASE[i];
        let mut css = format!(
            ".sheet .paper{{fill:{paper}}}.sheet text{{fill:{ink}}}.sheet .faint{{fill:{faint}}}\
             .sheet .cell{{fill:{paper};stroke:{rule}}}"
        );
        for (group, color) in GROUPS[i].iter().enumerate() {
            let _ = write!(css, ".sheet .g{group}{{fill:{color}}}");
        }
        css
    };
    format!(
        ".sheet text{{font:{SIZE}px ui-monospace,Consolas,Menlo,monospace;white-space:pre}}\
         .sheet .title{{font-weight:bold;font-size:{TITLE}px}}.sheet .head{{font-weight:bold}}\
         .sheet .middle{{text-anchor:middle}}{}@media (prefers-color-scheme:dark){{{}}}",
        theme(0),
        theme(1)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of `#rrggbb` (WCAG 2, "relative luminance").
    fn luminance(color: &str) -> f64 {
        let part = |at: usize| {
            let value =
                f64::from(u8::from_str_radix(&color[at..at + 2], 16).expect("hexadecimal")) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_color_is_legible_under_its_ink() {
        for theme in 0..2 {
            let [paper, ink, faint, _] = BASE[theme];
            assert!(
                contrast(paper, ink) >= 7.0 && contrast(paper, faint) >= 4.5,
                "theme {theme}"
            );
            for color in GROUPS[theme] {
                assert!(
                    contrast(color, ink) >= 4.5,
                    "{color} under {ink}: {}",
                    contrast(color, ink)
                );
            }
        }
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(
            escape("Swizzle<3,4,3> & \"x\""),
            "Swizzle&lt;3,4,3&gt; &amp; &quot;x&quot;"
        );
    }
}
