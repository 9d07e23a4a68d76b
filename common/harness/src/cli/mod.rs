//! The command line of a rung; no other module knows a flag.
mod arguments;
mod remedy;
pub mod rungs;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::process::ExitCode;

use emulator::Card;
use owo_colors::OwoColorize;

use crate::bench::{self, Effort};
use crate::target::Target;
use crate::threads::both;
use crate::{
    Error, Result, Rung, Size, choose, json, predict, profile, report, run, sanitize, table,
    terminal,
};
use arguments::{Arguments, Bench, Command, Sizes};
pub use arguments::{Bytes, command as command_line, constant};
pub use remedy::explained;

/// Everything that a rung's `main` does, except the host function.
pub fn main(rung: &Rung) -> ExitCode {
    crate::limit_threads();
    let arguments = Arguments::from_env(rung);
    match execute(rung, &arguments, &mut terminal::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            crate::eprintln!("{} {}", "error:".red().bold(), explained(&error));
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs [`main`] with these words, the first of which is the program's name. Reports and error messages go to `out`.
/// Returns the exit code. For tests: no words may make it panic or run forever.
pub fn main_with(rung: &Rung, words: &[&str], out: &mut dyn Write) -> u8 {
    let error = match Arguments::from_words(rung, words) {
        Err(error) => (error.exit_code() as u8, error.to_string()),
        Ok(arguments) => match execute(rung, &arguments, out) {
            Ok(right) => return (!right).into(),
            Err(error) => (error.exit_code(), explained(&error)),
        },
    };
    // A closed pipe needs no message.
    let _ = writeln!(out, "{}", error.1);
    error.0
}

/// The settings and the device for these words, the first of which is the program's name; for code that runs no
/// command.
///
/// # Errors
/// If they are not a valid command line, with clap's message; if the device does not exist.
pub fn asked(
    rung: &Rung,
    words: &[&str],
) -> std::result::Result<(crate::Settings, Target), String> {
    let arguments = Arguments::from_words(rung, words).map_err(|error| error.to_string())?;
    let target = Target::choose(arguments.device, arguments.emulate, arguments.need());
    let target = target.map_err(|error| explained(&error))?;
    let size = arguments.size.unwrap_or(target.default_size());
    Ok((arguments.settings(size), target))
}

/// Carries out the command and writes the report to `out`; returns whether everything succeeded.
fn execute(rung: &Rung, arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let target = Target::choose(arguments.device, arguments.emulate, arguments.need())?;
    let size = arguments.size.unwrap_or(target.default_size());
    match (&arguments.command, &target) {
        (Some(Command::Tiles(Sizes { sizes })), _) => {
            report::print(out, &tiles(rung, arguments, &target, sizes)?)?;
            Ok(true)
        }
        (Some(Command::Time(time)), _) => {
            let settings = arguments.settings(arguments.size.unwrap_or(Target::FULL));
            let arch = run::arch(rung, &settings.kernel, &target)?;
            let gpu = Target::beside_the_emulator(arguments.device, arguments.emulate, &arch)?;
            let options = predict::PredictOptions {
                spans: time.timeline.is_some(),
                from_ptx: time.from_ptx,
            };
            let prediction = match &gpu {
                None => {
                    let source = choose::source(rung, &target, &settings.kernel, settings.size)?;
                    predict::Prediction::new(rung, &settings, &target, source, options)?
                }
                Some(gpu) => predict::Prediction::beside(rung, &settings, &target, gpu, options)?,
            };
            let picture = time.timeline.as_deref();
            report::print(
                out,
                &report::predicted(&prediction, arguments.json, picture)?,
            )?;
            Ok(true)
        }
        (Some(Command::Bench(bench)), _) => time(rung, arguments, &target, bench, out),
        (_, Target::Emulator(_)) => emulate(rung, arguments, &target, size, out),
        (command, Target::Gpu(info)) => {
            let only_launch = *command == Some(Command::Launch) || info.emulated;
            let effort = (!only_launch).then_some(Effort::Run);
            let settings = arguments.settings(size);
            let outcome = run::on_gpu(rung, &settings, &target, effort)?;
            let text = match arguments.json {
                true => json::text(&outcome, None),
                false => report::text(&outcome),
            };
            report::print(out, &text)?;
            Ok(outcome.verification.ok())
        }
    }
}

fn emulate(
    rung: &Rung,
    arguments: &Arguments,
    target: &Target,
    size: Size,
    out: &mut dyn Write,
) -> Result<bool> {
    let settings = arguments.settings(size);
    // Before anything is emulated: a GPU that the user named and that is missing is an error.
    let gpu = match &arguments.command {
        Some(Command::Profile) => {
            let arch = run::arch(rung, &settings.kernel, target)?;
            Target::beside_the_emulator(arguments.device, arguments.emulate, &arch)?
        }
        _ => None,
    };
    let plain = matches!(arguments.command, None | Some(Command::Run));
    let timed = plain && !arguments.json && target.emulated() == Some(Card::H100);
    let source = choose::source(rung, target, &settings.kernel, size)?;
    let run = || run::on_emulator(rung, &settings, target, source.clone());
    // The prediction traces a separate launch, so it can run concurrently.
    let predict = || {
        let options = predict::PredictOptions::default();
        predict::Prediction::new(rung, &settings, target, source.clone(), options)
    };
    let (outcome, prediction) = match timed {
        true => both(run, predict),
        false => (run(), None),
    };
    let mut outcome = outcome?;
    if arguments.command == Some(Command::Profile) {
        outcome.bound = Some(run::bound(rung, &settings, target, gpu.as_ref())?);
    }
    let right = outcome.verification.ok();
    if right {
        outcome.predicted = prediction.map(|made| made.map_err(|error| error.to_string()));
    }
    let findings = settings
        .emulator
        .sanitize
        .then(|| sanitize::findings(&outcome));
    let clean = findings.as_ref().is_none_or(Vec::is_empty);
    if !arguments.json {
        report::print(out, &report::printed(&outcome))?;
    }
    let text = match (&arguments.command, findings) {
        (_, findings) if arguments.json => json::text(&outcome, findings),
        (_, Some(findings)) => sanitize::text(&findings, sanitize::remarks(&outcome), right),
        (Some(Command::Profile), None) => profile::text(&outcome),
        (_, None) => report::text(&outcome),
    };
    report::print(out, &text)?;
    Ok(clean && right)
}

/// The sizes from the command line, or the default ones.
fn sizes_of(arguments: &Arguments, sizes: &[Size]) -> Vec<Size> {
    match (arguments.size, sizes) {
        (Some(size), _) => vec![size],
        (None, []) => bench::SIZES.to_vec(),
        (None, sizes) => sizes.to_vec(),
    }
}

/// Times all sizes, each with the tile of the kernel that is fastest there.
fn time(
    rung: &Rung,
    arguments: &Arguments,
    target: &Target,
    bench: &Bench,
    out: &mut dyn Write,
) -> Result<bool> {
    let sizes = sizes_of(arguments, &bench.sizes.sizes);
    let settings: Vec<_> = sizes.iter().map(|&size| arguments.settings(size)).collect();
    let mut outcomes = Vec::new();
    for settings in &settings {
        let outcome = run::on_gpu(rung, settings, target, Some(bench.effort()))?;
        if !arguments.json {
            report::print(out, &report::text(&outcome))?;
        }
        outcomes.push(outcome);
    }
    let text = match arguments.json {
        true => json::bench(&outcomes),
        false => report::summary(&outcomes),
    };
    report::print(out, &text)?;
    Ok(outcomes.iter().all(|outcome| outcome.verification.ok()))
}

/// The tile that the rung's kernel takes at each size.
fn tiles(rung: &Rung, arguments: &Arguments, target: &Target, sizes: &[Size]) -> Result<String> {
    if arguments.kernel.is_some() {
        return Err(Error::OwnKernelsOnly);
    }
    let mut choices = Vec::new();
    for size in sizes_of(arguments, sizes) {
        let settings = arguments.settings(size);
        choices.push((size, choose::kernel(rung, target, &settings.kernel, size)?));
    }
    if arguments.json {
        return Ok(json::tiles(rung, target.sms(), &choices));
    }
    let Some((_, first)) = choices.first() else {
        return Ok(String::new());
    };
    let rows: Vec<_> = choices
        .iter()
        .map(|(size, kernel)| vec![size.to_string(), kernel.tile()])
        .collect();
    Ok(format!(
        "{} for {}: the tile of C that it takes\n\n{}\n",
        rung.name,
        first.arch,
        table::table(&["size", "tile"], &rows).join("\n")
    ))
}
