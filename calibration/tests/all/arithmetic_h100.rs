//! Arithmetic, bit for bit as on an H100: the rows of `h100/arithmetic.csv` that `hardware.rs` does not check.
use calibration::instructions::{self, ArithmeticRow, Experiment};
use emulator::{Options, Simd};

const COUNT: usize = 1024;

fn rows() -> impl Iterator<Item = ArithmeticRow> {
    let rows =
        instructions::rows(include_bytes!("../../h100/arithmetic.csv")).expect("a recording");
    rows.into_iter().map(|row| row.case)
}

fn results(experiment: &Experiment, simd: Simd) -> Vec<u8> {
    let options = Options {
        simd,
        ..Options::default()
    };
    let observed = experiment.on_emulator(&options);
    observed
        .unwrap_or_else(|error| panic!("{error}\n{}", experiment.ptx))
        .output
}

#[test]
fn the_bits_do_not_depend_on_the_cpu() {
    for row in rows() {
        let experiment = row.experiment(false);
        assert!(
            results(&experiment, Simd::Auto) == results(&experiment, Simd::Scalar),
            "{}",
            row.text
        );
    }
}

#[test]
fn guarded_instructions_leave_the_other_lanes_alone() {
    for row in rows() {
        let plain = results(&row.experiment(false), Simd::Auto);
        let some = results(&row.experiment(true), Simd::Auto);
        let pairs = plain.chunks(8).zip(some.chunks(8)).zip(0..);
        for ((plain, some), thread) in pairs {
            let chosen = ArithmeticRow::is_chosen(thread);
            let expected = if chosen { plain } else { &[0; 8] };
            assert_eq!(some, expected, "{} in thread {thread}", row.text);
        }
    }
}

#[test]
fn every_f16_as_f32() {
    let row = ArithmeticRow {
        number: 0,
        text: "cvt.f32.f16 $d, $a".into(),
        result: "32".into(),
        operands: vec!["f16".into()],
    };
    for first in (0..=u16::MAX).step_by(COUNT) {
        let input: Vec<u8> = (first..=first + (COUNT as u16 - 1))
            .flat_map(|bits| [u64::from(bits), 0, 0, 0])
            .flat_map(u64::to_le_bytes)
            .collect();
        let experiment = Experiment {
            input,
            ..row.experiment(false)
        };
        let output = results(&experiment, Simd::Auto);
        for (i, raw) in output.chunks(8).enumerate() {
            let bits = first + i as u16;
            let sign = if bits & 0x8000 == 0 { 1.0f32 } else { -1.0 };
            let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
            let expected = match exponent {
                31 if mantissa > 0.0 => 0x7fff_ffff,
                31 => (sign * f32::INFINITY).to_bits(),
                0 => (sign * mantissa * 2f32.powi(-24)).to_bits(),
                _ => (sign * (1024.0 + mantissa) * 2f32.powi(exponent - 25)).to_bits(),
            };
            assert_eq!(raw[..4], expected.to_le_bytes(), "{bits:#06x}");
        }
    }
}
