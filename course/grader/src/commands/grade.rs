//! `cargo ladder grade ASSIGNMENT KERNEL.cu`: points, and how to get the missing ones.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process;
use std::{env, fs, io};

use anyhow::{Context, Result, ensure};
use harness::{Compile, Nvrtc, rungs};
use indicatif::{ProgressBar, ProgressStyle};

use crate::grade::class::{Class, GradedClass};
use crate::grade::{BROKEN, Grade, Grader, Request};
use crate::progress;
use crate::sandbox::Limits;
use crate::watch::Watch;
use crate::watch::report::{RunReport, Stage};

#[derive(clap::Args)]
#[command(
    after_help = "Predictions are read from prediction.toml in the kernel's folder.\n\
    Exit code 0: passed, or the whole class is graded. 1: points are missing. 2: it could not be graded."
)]
pub struct Arguments {
    /// The assignment's folder, such as course/assignments/05_swizzle
    assignment: PathBuf,
    /// The student's kernel or answers
    #[arg(value_name = "KERNEL.cu|ANSWERS.toml", required_unless_present_any = ["class", "regrade"])]
    submission: Option<PathBuf>,
    /// Grade every folder in this one, each named after a student; writes grades.csv, and a grade.json for each
    #[arg(long, value_name = "DIR", conflicts_with_all = ["submission", "regrade", "student", "json"])]
    class: Option<PathBuf>,
    /// Grade a class again, and list whose grades have changed and why
    #[arg(long, value_name = "DIR", conflicts_with_all = ["submission", "student", "json"])]
    regrade: Option<PathBuf>,
    /// Grade whenever the file is saved, and show what changed; keys: h hint, a all tiles, p profile, q quit
    #[arg(long, conflicts_with_all = ["class", "regrade", "json"])]
    watch: bool,
    /// Print the grade as Gradescope's results.json
    #[arg(long)]
    json: bool,
    /// A file that only the teacher has; hidden sizes, numbers and tiles are derived from it
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// The student: each one has different hidden sizes
    #[arg(long, value_name = "ID", requires = "secret")]
    student: Option<String>,
    /// Launch the public sizes with tile number N of the rubric; the first one is public
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["json", "class", "regrade"])]
    tile: usize,
    /// Compile untrusted kernels in a sandbox that limits them to 10 s and 2 GiB (Linux 5.13 or later); the default
    /// with --class, --regrade and --secret
    #[arg(long)]
    untrusted: bool,
    /// Compile without the sandbox, for systems that have none; an `#include` can then read any file that you can read
    #[arg(long, conflicts_with = "untrusted")]
    trusted: bool,
    /// The book: a folder or an address
    #[arg(
        long,
        value_name = "PLACE",
        env = "GEMM_BOOK",
        default_value = "book/book"
    )]
    book: String,
}

impl Arguments {
    /// A student's own kernel on their own machine needs no sandbox; kernels that others graded do.
    fn is_sandboxed(&self) -> bool {
        let of_others = self.class.is_some() || self.regrade.is_some() || self.secret.is_some();
        self.untrusted || of_others && !self.trusted
    }
}

/// Whether the kernel passed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if arguments.watch {
        return watch(arguments);
    }
    // Also for a class: whatever is missing here would be missing for every student, after the old grades are deleted.
    let grader = grader(arguments)?;
    if let Some(folder) = &arguments.class {
        return class(arguments, &Class::read(folder, grader.handed_in())?);
    }
    if let Some(folder) = &arguments.regrade {
        let class = Class::read(folder, grader.handed_in())?;
        return regrade(arguments, &class, folder);
    }
    let submission = arguments.submission.as_deref().unwrap_or(Path::new(""));
    let student = arguments.student.as_deref().unwrap_or_default();
    let grade = grader.grade(submission, student)?;
    if let Err(why) = keep(arguments, submission, &grade) {
        harness::eprintln!("`cargo ladder course` will not know of this grade: {why:#}");
    }
    let text = match arguments.json {
        true => grade.json(&arguments.book)?,
        false => grade.text(&arguments.book),
    };
    harness::print!("{text}");
    Ok(grade.passed())
}

/// Grades whenever the file is saved, until the student quits.
fn watch(arguments: &Arguments) -> Result<bool> {
    let file = arguments.submission.clone().unwrap_or_default();
    let tile = arguments.tile.to_string();
    let process = || {
        let mut command = process::Command::new(env::current_exe()?);
        command.args(["report-run", "--book", &arguments.book, "--tile", &tile]);
        command.arg(sandbox_flag(arguments.is_sandboxed()));
        if let Some(secret) = &arguments.secret {
            command.arg("--secret").arg(secret);
        }
        // As one argument, since a name that begins with a dash would be taken for a flag.
        let student = arguments.student.as_ref();
        command.args(student.map(|student| format!("--student={student}")));
        command.arg("--").args([&arguments.assignment, &file]);
        Ok(command)
    };
    crate::watch::watch(&Watch {
        assignment: arguments.assignment.clone(),
        file: file.clone(),
        process: &process,
    })?;
    Ok(true)
}

/// Prints a run's findings, one line of JSON per stage: the public sizes first, because the student waits for them.
pub fn report_run(arguments: &Arguments) -> Result<bool> {
    let grader = grader(arguments)?;
    let submission = arguments.submission.as_deref().unwrap_or(Path::new(""));
    let student = arguments.student.as_deref().unwrap_or_default();
    let say = |report: &RunReport| -> Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", serde_json::to_string(report)?)?;
        Ok(out.flush()?)
    };
    let public = match grader.launches_kernels() {
        true => Some(grader.grade_public(submission, student)?),
        false => None,
    };
    let public = public.map(|grade| RunReport::of(&grade, Stage::Public, &arguments.book));
    public.iter().try_for_each(say)?;
    let grade = grader.grade(submission, student)?;
    // The screen has no place for what went wrong.
    let _ = keep(arguments, submission, &grade);
    let all = RunReport::of(&grade, Stage::All, &arguments.book);
    say(&match &public {
        Some(public) => all.explained_by(public),
        None => all,
    })?;
    Ok(grade.passed())
}

/// Records a student's own grading for `cargo ladder course`. The grade does not depend on whether that succeeds.
fn keep(arguments: &Arguments, file: &Path, grade: &Grade) -> Result<()> {
    let is_students = arguments.secret.is_none() && !arguments.json && arguments.tile == 1;
    match rungs::root() {
        Some(root) if is_students => progress::record(&root, &arguments.assignment, file, grade),
        _ => Ok(()),
    }
}

/// Grades a student's own file and records it for `cargo ladder course`.
pub fn record(assignment: &Path, file: &Path) -> Result<()> {
    let root = rungs::root().context("this is not the workspace: run the command there")?;
    let grade = Grader::new(assignment, None, || compiler(false))?.grade(file, "")?;
    progress::record(&root, assignment, file, &grade)
}

/// The grader for these arguments.
fn grader(arguments: &Arguments) -> Result<Grader> {
    let secret = super::secret(arguments.secret.as_deref())?;
    let whole_class = arguments.class.is_some() || arguments.regrade.is_some();
    ensure!(
        secret.is_none() || arguments.student.is_some() || whole_class,
        "a secret needs `--student ID`: each student has different hidden sizes"
    );
    let grader = Grader::new(&arguments.assignment, secret, || {
        compiler(arguments.is_sandboxed())
    })?;
    grader
        .with_public_tile(arguments.tile)
        .with_context(|| format!("--tile {}", arguments.tile))
}

/// The user's own kernels are compiled in this process, untrusted ones in the sandbox.
fn compiler(untrusted: bool) -> Result<Box<dyn Compile>> {
    if untrusted {
        let sandboxed = super::sandboxed(&env::current_exe()?, Limits::default())?;
        return Ok(Box::new(sandboxed));
    }
    let nvrtc = Nvrtc::find().map_err(harness::Error::from)?;
    Ok(Box::new(nvrtc))
}

/// Tells a child process what was decided here.
fn sandbox_flag(is_sandboxed: bool) -> &'static str {
    match is_sandboxed {
        true => "--untrusted",
        false => "--trusted",
    }
}

/// A child process that runs `grade` for this request.
pub fn process(request: &Request) -> io::Result<process::Command> {
    let mut command = process::Command::new(env::current_exe()?);
    command.args(["grade", "--json", "--book", &request.book]);
    command.arg(sandbox_flag(request.untrusted));
    if let Some(secret) = &request.secret {
        command.arg("--secret").arg(secret);
        // As one argument, since a name that begins with a dash would be taken for a flag.
        command.arg(format!("--student={}", request.student));
    }
    command.arg("--");
    command.args([&request.assignment, &request.submission]);
    Ok(command)
}

/// Grades all folders; writes `grades.csv`, a `grade.json` beside each submission and, if kernels are similar,
/// `similar.csv`.
fn class(arguments: &Arguments, class: &Class) -> Result<bool> {
    class.ensure_writable()?;
    let mut graded = grade_all(arguments, class);
    let csv = graded.keep()?;
    harness::print!("{}", graded.table());
    let failed = graded.failed();
    harness::println!(
        "\n{} graded, {failed} failed to be graded; {}",
        class.len() - failed,
        csv.display()
    );
    let file = |name| fs::read_to_string(arguments.assignment.join(name));
    let starter = file(BROKEN).or_else(|_| file("kernel.cu"));
    let (pairs, file) = class.similar(&starter.unwrap_or_default())?;
    if !pairs.is_empty() {
        harness::println!(
            "{} pairs of kernels are similar: {}; please review them, no grade depends on it",
            pairs.len(),
            file.display()
        );
    }
    Ok(true)
}

/// Grades all folders again and lists changed grades; writes nothing.
fn regrade(arguments: &Arguments, class: &Class, folder: &Path) -> Result<bool> {
    let folder = folder.display();
    let before = class.with_grades();
    let before =
        before.with_context(|| format!("grade the class first with `--class {folder}`"))?;
    let changes = grade_all(arguments, &before).changes();
    for (student, words) in &changes.found {
        harness::println!("{student}: {words}");
    }
    harness::println!(
        "{} of {} grades changed; {} could not be compared, {} have no grade yet; \
        nothing was written (`--class {folder}` does)",
        changes.changed,
        before.len() - changes.broken,
        changes.broken,
        class.len() - before.len(),
    );
    Ok(true)
}

fn grade_all<'a>(arguments: &Arguments, class: &'a Class) -> GradedClass<'a> {
    let bar = ProgressBar::new(class.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} graded, {eta} left") {
        bar.set_style(style);
    }
    let request = Request {
        assignment: arguments.assignment.clone(),
        submission: PathBuf::new(),
        book: arguments.book.clone(),
        secret: arguments.secret.clone(),
        student: String::new(),
        untrusted: arguments.is_sandboxed(),
    };
    let graded = class.grade(&process, &request, || bar.inc(1));
    bar.finish_and_clear();
    graded
}
