//! One run, from the arguments to the exit code.
mod once;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;

use owo_colors::OwoColorize;

use crate::arguments::{Arguments, Command};
use crate::bench::{self, Effort};
use crate::choice::Choices;
use crate::device::Device;
use crate::on_gpu::Session;
use crate::{Kernel, Result, Rung, Size, json, profile, report, sanitize};
pub use once::Outcome;
use once::Run;

/// Everything that a rung's `main` does.
pub fn main(rung: &Rung) -> ExitCode {
    let arguments = Arguments::from_env(rung);
    match execute(rung, &arguments, &mut anstream::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            anstream::eprintln!("{} {error}", "error:".red().bold());
            ExitCode::from(error.exit_code())
        }
    }
}

/// What [`main`] does with these words, the first of which is the program's name: reports go to `out`, the message of
/// an error too. Returns the exit code. For tests: no words may make it panic, or run without end.
pub fn rehearse(rung: &Rung, words: &[&str], out: &mut dyn Write) -> u8 {
    let error = match Arguments::from_words(rung, words) {
        Err(error) => (error.exit_code() as u8, error.to_string()),
        Ok(arguments) => match execute(rung, &arguments, out) {
            Ok(right) => return (!right).into(),
            Err(error) => (error.exit_code(), error.to_string()),
        },
    };
    // A reader who has gone away needs no message.
    let _ = writeln!(out, "{}", error.1);
    error.0
}

/// Does what the arguments say and reports to `out`; whether all was well.
fn execute(rung: &Rung, arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let device = Device::choose(arguments)?;
    if let Some(Command::Tiles {
        sizes,
        multiprocessors,
    }) = &arguments.command
    {
        let sizes = sizes_of(arguments, sizes);
        let multiprocessors = multiprocessors.unwrap_or(device.multiprocessors());
        let choices = Choices::new(rung, arguments, &device, &sizes, multiprocessors)?;
        let text = if arguments.json {
            json::pretty(&choices)
        } else {
            choices.text()
        };
        report::print(out, &text)?;
        return Ok(true);
    }
    if let (Device::Gpu(info), Some(Command::Bench { sizes })) = (&device, &arguments.command) {
        return bench(rung, arguments, &device, info.ordinal, sizes, out);
    }
    let size = arguments.size.unwrap_or(device.default_size());
    let kernel = Kernel::new(rung, device.source(rung, arguments, size)?)?;
    let run = Run {
        rung,
        arguments,
        device: &device,
        kernel: &kernel,
    };
    match &device {
        Device::Emulator(_) => {
            let sanitizes = arguments.command == Some(Command::Sanitize);
            let mut outcome = run.on_emulator(size, sanitizes)?;
            if arguments.command == Some(Command::Profile) {
                // At that size another of the kernel's tiles may be the best.
                let source = device.source(rung, arguments, Device::FULL)?;
                let kernel = &Kernel::new(rung, source)?;
                outcome.bound = Some(Run { kernel, ..run }.bound()?);
            }
            let right = outcome.verification.ok();
            let findings = sanitizes.then(|| sanitize::findings(&outcome));
            let clean = findings.as_ref().is_none_or(Vec::is_empty);
            let text = match (&arguments.command, findings) {
                (_, findings) if arguments.json => json::text(&outcome, findings)?,
                (_, Some(findings)) => sanitize::text(&findings, right),
                (Some(Command::Profile), None) => profile::text(&outcome)?,
                (_, None) => report::text(&outcome),
            };
            report::print(out, &text)?;
            Ok(clean && right)
        }
        Device::Gpu(info) => {
            let session = Session::open(info.ordinal, &kernel, &arguments.switches)?;
            let only_launch = arguments.command == Some(Command::Launch);
            let effort = (!only_launch).then_some(Effort::Run);
            let outcome = run.on_gpu(&session, size, effort)?;
            report::print(
                out,
                &if arguments.json {
                    json::text(&outcome, None)?
                } else {
                    report::text(&outcome)
                },
            )?;
            Ok(outcome.verification.ok())
        }
    }
}

/// The sizes that are asked for, or the usual.
fn sizes_of(arguments: &Arguments, sizes: &[Size]) -> Vec<Size> {
    match (arguments.size, sizes) {
        (Some(size), _) => vec![size],
        (None, []) => bench::SIZES.to_vec(),
        (None, sizes) => sizes.to_vec(),
    }
}

/// Times all sizes, each with the configuration of the kernel that fits it best.
fn bench(
    rung: &Rung,
    arguments: &Arguments,
    device: &Device,
    ordinal: usize,
    sizes: &[Size],
    out: &mut dyn Write,
) -> Result<bool> {
    let sizes = sizes_of(arguments, sizes);
    let kernels: Vec<Kernel> = sizes
        .iter()
        .map(|&size| Kernel::new(rung, device.source(rung, arguments, size)?))
        .collect::<Result<_>>()?;
    let mut outcomes = Vec::new();
    for (size, kernel) in sizes.into_iter().zip(&kernels) {
        let session = Session::open(ordinal, kernel, &arguments.switches)?;
        if let Err(error) = session.cublas() {
            return Err(error.clone().into());
        }
        let run = Run {
            rung,
            arguments,
            device,
            kernel,
        };
        let outcome = run.on_gpu(&session, size, Some(Effort::Bench))?;
        if !arguments.json {
            report::print(out, &report::text(&outcome))?;
        }
        outcomes.push(outcome);
    }
    let text = if arguments.json {
        json::bench(&outcomes)?
    } else {
        report::summary(&outcomes)
    };
    report::print(out, &text)?;
    Ok(outcomes.iter().all(|outcome| outcome.verification.ok()))
}
