//! One run, from the command line to the exit code.
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use harness::Target;
use owo_colors::OwoColorize;

use crate::arguments::{Arguments, Command};
use crate::lab::{CompletedLaunch, Lab, Launch, Purpose, Scale};
use crate::{device, experiments, json, report, time};

/// Why a run failed: a harness's error, or a usage error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An error of the harness.
    #[error("{}", harness::explained(.0))]
    Harness(#[from] harness::Error),
    /// The arguments do not fit the lab.
    #[error("{0}")]
    Usage(String),
}

impl From<gpu::GpuError> for Error {
    fn from(error: gpu::GpuError) -> Self {
        Self::Harness(error.into())
    }
}

impl Error {
    fn exit_code(&self) -> u8 {
        match self {
            Self::Harness(error) => error.exit_code(),
            Self::Usage(_) => 2,
        }
    }
}

/// The result of anything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The entry point of the program.
pub fn main() -> ExitCode {
    let arguments = Arguments::try_parse();
    let arguments = arguments.unwrap_or_else(|error| harness::terminal::exit(&error));
    match execute(&arguments, &mut harness::terminal::stdout()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            harness::eprintln!("{} {error}", "error:".red().bold());
            ExitCode::from(error.exit_code())
        }
    }
}

/// Runs [`main`] with these words, the first of which is the program's name; reports and messages go to `out`,
/// without colors. Returns the exit code. For tests.
pub fn main_with(words: &[&str], out: &mut Vec<u8>) -> u8 {
    let mut plain = anstream::StripStream::new(out);
    let (code, message) = match Arguments::try_parse_from(words) {
        Err(error) => (error.exit_code() as u8, error.to_string()),
        Ok(arguments) => match execute(&arguments, &mut plain) {
            Ok(right) => return (!right).into(),
            Err(error) => (error.exit_code(), error.to_string()),
        },
    };
    // Writing to a vector cannot fail.
    let _ = writeln!(plain, "{message}");
    code
}

/// The definition of the command line.
pub fn command_line() -> clap::Command {
    use clap::CommandFactory;
    Arguments::command()
}

/// The names of the experiments, in the order of the list.
pub fn names() -> Vec<&'static str> {
    experiments::ALL.iter().map(|lab| lab.name).collect()
}

/// Carries out the command; returns whether every launch showed what it should.
fn execute(arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let (text, as_intended) = report_of(arguments)?;
    harness::print(out, &text)?;
    Ok(as_intended)
}

/// The output, and whether every launch showed what it should.
fn report_of(arguments: &Arguments) -> Result<(String, bool)> {
    let Some(name) = &arguments.lab else {
        let list = match arguments.json {
            true => json::list(experiments::ALL),
            false => report::list(experiments::ALL),
        };
        return Ok((list, true));
    };
    let lab = experiments::ALL.iter().find(|lab| lab.name == *name);
    let lab = lab.ok_or_else(|| {
        Error::Usage(format!(
            "there is no lab {name}; there are {}",
            names().join(", ")
        ))
    })?;
    if arguments.command == Command::Time
        && let Some(time) = lab.time
    {
        return Ok((time(arguments, device::gpu(arguments)?)?, true));
    }
    if !arguments.sizes.is_empty() {
        let why = "--sizes is for `bf16_tn time`: the other launches have sizes of their own";
        return Err(Error::Usage(why.into()));
    }
    if arguments.command == Command::Time {
        let launches = launches(lab, arguments, arguments.scale.unwrap_or(Scale::Full))?;
        let timed = time::run(lab, &launches, arguments, device::gpu(arguments)?)?;
        let text = match arguments.json {
            true => harness::schema::LABS_TIME.pretty(&timed),
            false => timed.text(),
        };
        return Ok((text, true));
    }
    let target = device::target(arguments)?;
    let (place, scale) = match &target {
        Target::Gpu(info) => (info.name.clone(), Scale::Full),
        Target::Emulator(_) => ("the emulator".into(), Scale::Small),
    };
    let mut launches = launches(lab, arguments, arguments.scale.unwrap_or(scale))?;
    if let Target::Gpu(_) = target {
        // After a fault a GPU accepts no more launches.
        launches.retain(|launch| !matches!(launch.purpose, Purpose::Fault(_)));
    }
    let run = |launch| device::run(lab, launch, arguments, &target);
    let done = launches.into_iter().map(run);
    let done = done.collect::<Result<Vec<CompletedLaunch>>>()?;
    let sanitize = arguments.command == Command::Sanitize;
    let text = match arguments.command {
        _ if arguments.json => json::text(lab, &place, &done),
        Command::Sanitize => report::findings(&done),
        Command::Profile => report::head(lab, &place, &done) + &report::listings(&done),
        Command::Run | Command::Time => report::text(lab, &place, &done),
    };
    let clean = done.iter().all(|done| done.findings().is_empty());
    let as_intended = done.iter().all(CompletedLaunch::as_intended) && (clean || !sanitize);
    Ok((text, as_intended))
}

/// The lab's launches that the arguments select.
fn launches(lab: &Lab, arguments: &Arguments, scale: Scale) -> Result<Vec<Launch>> {
    let all = (lab.launches)(scale);
    let names: Vec<&str> = all.iter().map(|launch| launch.name.as_str()).collect();
    let only = only(&arguments.only, &names);
    if let Some(unknown) = only.iter().find(|name| !names.contains(name)) {
        return Err(Error::Usage(format!(
            "{} has no launch {unknown}; it has {}",
            lab.name,
            names.join("; ")
        )));
    }
    let asked = |launch: &&Launch| only.is_empty() || only.contains(&launch.name.as_str());
    let in_file = kernels_of_file(lab, all.iter().find(asked), arguments)?;
    let is_there = |launch: &Launch| {
        let names = in_file.as_ref();
        names.is_none_or(|names| names.iter().any(|name| name == launch.entry))
    };
    let wanted = all.iter().filter(|one| asked(one) && is_there(one));
    let wanted: Vec<Launch> = wanted.cloned().collect();
    match in_file {
        Some(names) if wanted.is_empty() => Err(Error::Usage(format!(
            "the kernels of that file are {}; {} launches none of them here",
            names.join(", "),
            lab.name
        ))),
        _ => Ok(wanted),
    }
}

/// The selected names, some of which contain commas.
fn only<'a>(asked: &'a [String], names: &[&str]) -> Vec<&'a str> {
    let split = |asked: &'a String| match names.contains(&asked.as_str()) {
        true => vec![asked.as_str()],
        false => asked.split(',').map(str::trim).collect(),
    };
    asked.iter().flat_map(split).collect()
}

/// The names of the kernels in the user's file, if there is one.
fn kernels_of_file(
    lab: &Lab,
    first: Option<&Launch>,
    arguments: &Arguments,
) -> Result<Option<Vec<String>>> {
    let (Some(_), Some(first)) = (&arguments.kernel, first) else {
        return Ok(None);
    };
    let source = device::source(lab, first, arguments)?;
    let module = emulator::Ptx::parse(&source.ptx).map_err(|error| harness::Error::Ptx {
        file: source.file.clone(),
        error,
    })?;
    Ok(Some(module.kernels().map(str::to_owned).collect()))
}

#[cfg(test)]
mod tests {
    use super::only;

    #[test]
    fn a_name_may_have_commas() {
        let names = ["one", "two", "one, two"];
        let asked = |text: &str| [text.to_owned()];
        assert_eq!(only(&asked("one, two"), &names), ["one, two"]);
        assert_eq!(only(&asked("one,two"), &names), ["one", "two"]);
        assert_eq!(only(&[], &names), [""; 0]);
    }
}
