//! `cargo ladder approximate`: how the special function unit (MUFU) computes an approximate instruction.
//!
//! | file | what it does |
//! | --- | --- |
//! | `operand` | parses numbers; each instruction's mathematical function |
//! | `show` | one input, step by step |
//! | `errors` | the errors over an interval |
mod errors;
mod operand;
mod show;

use std::io::Write;

use anyhow::{Result, ensure};
use clap::Parser;
use harness::schema;

use crate::layout::Format;
use operand::Opcode;

/// The instruction and its operands.
#[derive(clap::Args)]
#[command(
    after_help = "A number is decimal, a power of two such as 2^-13, or bits such as 0x3e99999a. It is rounded to the operand's format. \
    `div` takes two, and so does a packed pair such as ex2.approx.f16x2, the lower half first.\n\
    For example: approximate ex2.approx.ftz.f32 0.3 | approximate div.full.f32 1 3 | approximate sin.approx.f32 --errors 0..0.5\n\
    approximate list prints all opcodes."
)]
pub struct Arguments {
    /// The instruction, such as ex2.approx.ftz.f32, or `list`
    opcode: String,
    /// Its operands
    #[arg(value_name = "X", allow_negative_numbers = true)]
    operands: Vec<String>,
    /// In place of an operand: the errors of 65,536 numbers between these two
    #[arg(
        long,
        value_name = "FROM..TO",
        allow_hyphen_values = true,
        conflicts_with = "operands"
    )]
    errors: Option<String>,
    /// The output format; svg is a picture of `--errors`
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// Prints one input, step by step, or the errors over an interval.
///
/// # Errors
/// If there is no such instruction or number.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    harness::print(out, &output(arguments)?)?;
    Ok(true)
}

/// The output of `cargo ladder approximate` for these words.
///
/// # Errors
/// If the words are not a valid command line, or the command fails.
pub fn output_of(words: &[&str]) -> Result<String> {
    let words = [&["approximate"], words].concat();
    output(&Words::try_parse_from(words)?.approximate)
}

/// Parses the words as a command line of its own.
#[derive(clap::Parser)]
struct Words {
    #[command(flatten)]
    approximate: Arguments,
}

/// The possible values of the opcode.
#[derive(serde::Serialize)]
struct Opcodes {
    opcodes: Vec<&'static str>,
}

fn output(arguments: &Arguments) -> Result<String> {
    let format = match arguments.json {
        true => Format::Json,
        false => arguments.format,
    };
    if arguments.opcode == "list" {
        return Ok(match format {
            Format::Json => schema::APPROXIMATE.pretty(&Opcodes {
                opcodes: emulator::approximate::opcodes().collect(),
            }),
            Format::Text | Format::Svg => operand::list(),
        });
    }
    let opcode = Opcode::find(&arguments.opcode)?;
    if let Some(interval) = &arguments.errors {
        let errors = errors::Errors::over(opcode, interval)?;
        return Ok(match format {
            Format::Text => errors.text(),
            Format::Svg => errors.svg(),
            Format::Json => schema::APPROXIMATE_ERRORS.pretty(&errors.json()),
        });
    }
    let shown = show::Shown::new(opcode, &arguments.operands)?;
    ensure!(
        format != Format::Svg,
        "only --errors draws a picture: replace the operand by --errors FROM..TO"
    );
    Ok(match format {
        Format::Json => schema::APPROXIMATE.pretty(&shown.json()),
        Format::Text | Format::Svg => shown.text(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(opcode: &str, operands: &[&str]) -> Result<String> {
        output(&Arguments {
            opcode: opcode.into(),
            operands: operands.iter().map(|text| (*text).to_owned()).collect(),
            errors: None,
            format: Format::Text,
            json: false,
        })
    }

    #[test]
    fn one_input_of_each_kind() {
        let inputs: [(&str, &[&str]); 9] = [
            ("ex2.approx.ftz.f32", &["0.3"]),
            ("ex2.approx.f32", &["-130.25"]),
            ("rcp.approx.ftz.f32", &["3"]),
            ("rsqrt.approx.f32", &["2^-140"]),
            ("lg2.approx.ftz.f32", &["0.75"]),
            ("sin.approx.f32", &["2"]),
            ("tanh.approx.f32", &["-0.5"]),
            ("ex2.approx.f16x2", &["0.5", "-0x3c00"]),
            ("ex2.approx.f16x2", &["0.5", "inf"]),
        ];
        let texts = inputs.map(|(opcode, operands)| match of(opcode, operands) {
            Ok(text) => text,
            Err(error) => format!("{opcode} {operands:?}: {error:#}\n"),
        });
        insta::assert_snapshot!(texts.join("\n"));
    }

    #[test]
    fn errors_list_what_exists() {
        for (opcode, operands, why) in [
            ("ex2.approx", &["1"][..], "ex2.approx.ftz.f32"),
            ("mul.f32", &["1"], "cargo ladder approximate list"),
            ("ex2.approx.f32", &[], "takes a number"),
            ("ex2.approx.f32", &["1", "2"], "takes a number"),
            ("div.full.f32", &["1"], "takes two numbers"),
            ("tanh.approx.bf16x2", &["1"], "lower half first"),
            ("ex2.approx.f32", &["one"], "write 0.3"),
            ("ex2.approx.f16", &["0x12345"], "16 bits"),
        ] {
            let error = of(opcode, operands).expect_err(opcode);
            assert!(format!("{error:#}").contains(why), "{opcode}: {error:#}");
        }
    }

    #[test]
    fn every_opcode_is_listed_and_shown() {
        let list = of("list", &[]).expect("a list");
        for opcode in emulator::approximate::opcodes() {
            assert!(list.contains(opcode), "{opcode}");
            let operands = match opcode {
                _ if opcode.starts_with("div") || opcode.ends_with("x2") => &["0.75", "0.5"][..],
                _ => &["0.75"],
            };
            let text = of(opcode, operands).expect(opcode);
            assert!(text.contains("error"), "{opcode}\n{text}");
        }
    }

    #[test]
    fn json_has_the_numbers_of_the_text() {
        let arguments = Arguments {
            opcode: "ex2.approx.ftz.f32".into(),
            operands: vec!["0.3".into()],
            errors: None,
            format: Format::Text,
            json: true,
        };
        let json: serde_json::Value =
            serde_json::from_str(&output(&arguments).expect("an output")).expect("JSON");
        assert_eq!(json["steps"][0]["segment"], 19);
        assert_eq!(json["result"]["bits"], "0x3f9d9624");
        let text = of("ex2.approx.ftz.f32", &["0.3"]).expect("a text");
        assert!(
            text.contains("19 of 64") && text.contains("0x3f9d9624"),
            "{text}"
        );
    }

    #[test]
    fn errors_over_an_interval() {
        let arguments = |errors: &str, format| Arguments {
            opcode: "ex2.approx.ftz.f32".into(),
            operands: Vec::new(),
            errors: Some(errors.into()),
            format,
            json: false,
        };
        let text = output(&arguments("0..1", Format::Text)).expect("a text");
        insta::assert_snapshot!(text);
        let svg = output(&arguments("0..0.0625", Format::Svg)).expect("a picture");
        assert!(svg.starts_with("<svg") && svg.contains("ulp"), "{svg}");
        for (interval, why) in [
            ("0", "FROM..TO"),
            ("1..0", "below"),
            ("0..inf", "finite"),
            ("a..1", "write 0.3"),
        ] {
            let error = output(&arguments(interval, Format::Text)).expect_err(interval);
            assert!(format!("{error:#}").contains(why), "{interval}: {error:#}");
        }
    }
}
