//! Predicted against measured clocks: a point for each kernel and size, on logarithmic axes.
use std::ops::RangeInclusive;

use anyhow::Result;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

use super::sheet::{self, Ink, Words};

/// Points of one kind: name, color, and the measured and predicted clocks of each.
pub struct Points {
    pub name: &'static str,
    pub ink: Ink,
    pub clocks: Vec<(f64, f64)>,
}

const HEIGHT: u32 = 560;
/// Margins for the axes' labels.
const LEFT: i32 = 74;
const BELOW: i32 = 40;
/// Distance of the outer lines from the diagonal.
const OFF: f64 = 0.2;

/// The decades that contain all points.
fn decades<'a>(clocks: impl Iterator<Item = &'a f64>) -> RangeInclusive<i32> {
    let (mut least, mut most) = (f64::MAX, f64::MIN);
    for clocks in clocks {
        (least, most) = (least.min(*clocks), most.max(*clocks));
    }
    match least <= most {
        true => least.log10().floor() as i32..=most.log10().ceil() as i32,
        false => 4..=5,
    }
}

/// The plot as SVG; `card` is the card of the measurements.
///
/// # Errors
/// If it cannot be drawn.
pub fn clock(all: &[Points], card: &str) -> Result<String> {
    let clocks = all.iter().flat_map(|points| &points.clocks);
    let decades = decades(clocks.flat_map(|(measured, predicted)| [measured, predicted]));
    let (from, to) = (f64::from(*decades.start()), f64::from(*decades.end()));
    let words = Words {
        title: format!("Clocks predicted and measured on an {card}"),
        description: format!(
            "A scatter plot on logarithmic axes from ten to the {from} to ten to the {to} clocks. Points near the diagonal are \
             predicted well; the lines beside it are {:.0}% off.",
            100.0 * OFF
        ),
        key: format!(
            "Each point is a kernel at one size. On the solid line the prediction is exact, on the dashed lines {:.0}% off.",
            100.0 * OFF
        ),
        foot: vec!["`cargo ladder clock --record` and `cargo ladder clock --kernels tests/kernels --record`, drawn by `cargo ladder plot`.".into()],
    };
    sheet::sheet(HEIGHT, &words, |area| {
        let chart = ChartBuilder::on(area)
            .margin_left(LEFT)
            .margin_right(24)
            .margin_bottom(BELOW)
            .build_cartesian_2d(from..to, from..to)?;
        let plane = chart.plotting_area();
        let line = |a: (f64, f64), b: (f64, f64), ink: Ink| -> Result<()> {
            plane.draw(&PathElement::new(vec![a, b], ink.line(1)))?;
            Ok(())
        };
        let right = Ink::Text.text(12, HPos::Right, VPos::Center);
        let top = Ink::Text.text(12, HPos::Center, VPos::Top);
        for decade in decades.clone() {
            let at = f64::from(decade);
            line((at, from), (at, to), Ink::Rule)?;
            line((from, at), (to, at), Ink::Rule)?;
            let label = format!("10^{decade}");
            plane.draw(
                &(EmptyElement::at((from, at)) + Text::new(label.clone(), (-8, 0), right.clone())),
            )?;
            plane.draw(&(EmptyElement::at((at, from)) + Text::new(label, (0, 8), top.clone())))?;
        }
        line((from, from), (to, to), Ink::Text)?;
        for off in [1.0 + OFF, 1.0 - OFF] {
            let off: f64 = off.log10();
            let (low, high) = (from.max(from - off), to.min(to - off));
            line((low, low + off), (high, high + off), Ink::Faint)?;
        }
        let (width, height) = area.dim_in_pixel();
        let center = (LEFT + width as i32 - 24) / 2;
        area.draw_text("measured clocks", &top, (center, height as i32 - 16))?;
        let sideways = Ink::Text.text(12, HPos::Center, VPos::Center);
        let sideways = sideways.transform(FontTransform::Rotate270);
        area.draw_text(
            "predicted clocks",
            &sideways,
            (20, (height as i32 - BELOW) / 2),
        )?;
        for (nth, points) in (0..).zip(all.iter().filter(|points| !points.clocks.is_empty())) {
            for (measured, predicted) in &points.clocks {
                plane.draw(&Circle::new(
                    (measured.log10(), predicted.log10()),
                    3,
                    points.ink.filled(),
                ))?;
            }
            let y = 18 + 18 * nth;
            area.draw(&Circle::new((LEFT + 20, y), 3, points.ink.filled()))?;
            let name = points.ink.text(12, HPos::Left, VPos::Center);
            area.draw_text(points.name, &name, (LEFT + 30, y))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_is_a_point() {
        let points = Points {
            name: "rungs",
            ink: Ink::Kernel,
            clocks: vec![(2e4, 2.2e4), (3e6, 2.5e6)],
        };
        let svg = clock(&[points], "NVIDIA H200").expect("a plot");
        // Two, and one beside the name.
        assert_eq!(svg.matches("<circle ").count(), 3, "{svg}");
        assert!(svg.contains("10^4") && svg.contains("10^7") && !svg.contains("10^8"));
    }
}
