//! The errors of an instruction over an interval.
use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use emulator::approximate::{self, Format};
use harness::thousands;
use serde_json::{Value as Json, json};

use super::operand::Opcode;

/// Sampled inputs of an interval.
const SAMPLES: usize = 1 << 16;
/// Columns of the picture, each of which shows the smallest and the largest error of its inputs.
const COLUMNS: usize = 512;

/// The error of each sampled number, in units in the last place.
pub struct Errors {
    opcode: Opcode,
    from: f64,
    to: f64,
    ulps: Vec<f64>,
    nearest: usize,
}

impl Errors {
    /// Samples the interval `FROM..TO`.
    pub fn over(opcode: Opcode, interval: &str) -> Result<Self> {
        ensure!(
            !opcode.is_pair && !opcode.is_division() && opcode.format != Format::F64,
            "--errors is for instructions with one operand of f32, f16 or bf16; {} has another",
            opcode.name
        );
        let (from, to) = interval
            .split_once("..")
            .with_context(|| format!("`{interval}`: an interval is FROM..TO, such as 0..1"))?;
        let [from, to] = [opcode.operand(from)?, opcode.operand(to)?].map(|end| end.number());
        ensure!(
            from.is_finite() && to.is_finite(),
            "an interval has finite ends"
        );
        ensure!(
            from < to,
            "`{interval}`: the first number must be below the second"
        );
        let function = approximate::function(opcode.name)
            .with_context(|| format!("there is no instruction {}", opcode.name))?;
        let (mut ulps, mut nearest) = (Vec::with_capacity(SAMPLES), 0);
        for sample in 0..SAMPLES {
            let x = from + (to - from) * (sample as f64 + 0.5) / SAMPLES as f64;
            let bits = opcode.format.nearest(x);
            let exact = opcode.exactly(opcode.format.value(bits), 0.0);
            let result = function([bits, 0, 0]);
            let error = opcode.format.value(result) - exact;
            if error.is_finite() {
                ulps.push(error / opcode.format.ulp(exact));
                nearest += usize::from(result == opcode.format.nearest(exact));
            }
        }
        ensure!(
            !ulps.is_empty(),
            "{} has no finite result in {interval}",
            opcode.name
        );
        Ok(Self {
            opcode,
            from,
            to,
            ulps,
            nearest,
        })
    }

    fn ends(&self) -> [f64; 2] {
        let least = self.ulps.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.ulps.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        [least, most]
    }

    fn mean(&self) -> f64 {
        self.ulps.iter().sum::<f64>() / self.ulps.len() as f64
    }

    fn share_of_nearest(&self) -> f64 {
        self.nearest as f64 / self.ulps.len() as f64
    }

    /// For a terminal.
    pub fn text(&self) -> String {
        let [least, most] = self.ends();
        format!(
            "{}  {}\n\n  {} numbers from {} to {}, evenly spaced\n  error in ulp, compared with f64: {least:.3} to {most:.3}, on average {:.3}\n  \
             the nearest number: {:.1}% of the results\n",
            self.opcode.name,
            self.opcode.formula(),
            thousands(self.ulps.len() as u64),
            self.from,
            self.to,
            self.mean(),
            100.0 * self.share_of_nearest(),
        )
    }

    /// For a program.
    pub fn json(&self) -> Json {
        let [least, most] = self.ends();
        json!({
            "opcode": self.opcode.name,
            "from": self.from,
            "to": self.to,
            "samples": self.ulps.len(),
            "least_ulp": least,
            "most_ulp": most,
            "mean_ulp": self.mean(),
            "share_of_nearest": self.share_of_nearest(),
        })
    }

    /// The range of the errors in each column.
    pub fn svg(&self) -> String {
        const LEFT: f64 = 70.0;
        const TOP: f64 = 20.0;
        const HEIGHT: f64 = 260.0;
        let [least, most] = self.ends();
        // The scale is in half ulps, so that zero and the bound of correct rounding have grid lines.
        let low = ((least * 2.0).floor() / 2.0).min(-0.5);
        let high = ((most * 2.0).ceil() / 2.0).max(0.5);
        let y = |ulps: f64| TOP + HEIGHT * (high - ulps) / (high - low);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 {}\" font-family=\"sans-serif\">\n",
            TOP + HEIGHT + 50.0
        );
        let right = LEFT + COLUMNS as f64;
        let step = if high - low > 6.0 {
            (high - low) / 6.0
        } else {
            0.5
        };
        for tick in 0..=((high - low) / step).round() as usize {
            let ulps = low + step * tick as f64;
            let _ = writeln!(
                svg,
                "<line class=\"muted\" stroke=\"currentColor\" stroke-opacity=\"{}\" x1=\"{LEFT}\" x2=\"{right}\" y1=\"{1:.1}\" y2=\"{1:.1}\"/>",
                if ulps == 0.0 { 0.9 } else { 0.3 },
                y(ulps)
            );
            let _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{:.1}\" font-size=\"13\" text-anchor=\"end\" fill=\"currentColor\">{ulps:.1}</text>",
                LEFT - 8.0,
                y(ulps) + 4.0
            );
        }
        let share = self.ulps.len().div_ceil(COLUMNS).max(1);
        let mut path = String::new();
        for (column, errors) in self.ulps.chunks(share).enumerate() {
            let least = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let most = errors.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let x = LEFT + column as f64 + 0.5;
            let _ = write!(path, "M{x} {:.1}V{:.1}", y(least) + 0.5, y(most) - 0.5);
        }
        let _ = writeln!(
            svg,
            "<path class=\"accent\" fill=\"none\" stroke=\"currentColor\" d=\"{path}\"/>"
        );
        let bottom = TOP + HEIGHT;
        for (x, anchor, words) in [
            (LEFT, "start", format!("x = {}", self.from)),
            (right, "end", format!("x = {}", self.to)),
            (
                (LEFT + right) / 2.0,
                "middle",
                format!("error of {} in ulp", self.opcode.name),
            ),
        ] {
            let _ = writeln!(
                svg,
                "<text x=\"{x}\" y=\"{}\" font-size=\"13\" text-anchor=\"{anchor}\" fill=\"currentColor\">{words}</text>",
                bottom + 28.0
            );
        }
        svg + "</svg>\n"
    }
}
