//! Nsight Compute on the command line: calls it, and parses the tables that it prints.
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail};
use csv::StringRecord;
use harness::tools;

/// Lines shown of a text that cannot be parsed.
const HEAD: usize = 12;

/// The `ncu` command, without arguments.
pub fn command() -> Result<Command> {
    let ncu = tools::locate("ncu")
        .context("ncu was not found in PATH or CUDA_HOME; it is part of Nsight Compute")?;
    Ok(Command::new(ncu))
}

/// The last line of its version output.
pub fn version() -> Result<String> {
    let text = print(command()?.arg("--version"))?;
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Ok(last.unwrap_or("unknown").trim().to_owned())
}

/// The result of profiling a program.
pub struct Profiled {
    /// ncu's log.
    pub log: String,
    /// The program's output.
    pub printed: Vec<u8>,
}

/// Runs a program under `ncu`, whose messages are written to the file `log`. Clocks are not locked.
pub fn profile(mut ncu: Command, log: &Path, program: &Command) -> Result<Profiled> {
    ncu.args(["--clock-control", "none", "--print-units", "base"])
        .arg("--log-file")
        .arg(log)
        .arg(program.get_program())
        .args(program.get_args());
    let output = run(&mut ncu)?;
    let said = std::fs::read_to_string(log);
    check(&ncu, &output, said.as_deref().unwrap_or_default())?;
    Ok(Profiled {
        log: said.context("ncu wrote no log")?,
        printed: output.stdout,
    })
}

/// Runs it and returns its output.
pub fn print(ncu: &mut Command) -> Result<String> {
    let output = run(ncu)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    check(ncu, &output, &said)?;
    Ok(said)
}

fn run(command: &mut Command) -> Result<Output> {
    let output = command.output();
    output.with_context(|| format!("cannot run {}", shown(command)))
}

fn check(command: &Command, output: &Output, said: &str) -> Result<()> {
    if output.status.success() && !said.lines().any(|line| line.starts_with("==ERROR==")) {
        return Ok(());
    }
    let errors: Vec<&str> = said.lines().filter(|line| line.starts_with("==")).collect();
    bail!(
        "{} failed: {}\n{}\n{}",
        shown(command),
        output.status,
        errors.join("\n"),
        String::from_utf8_lossy(&output.stderr).trim()
    );
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// The first lines of a text.
pub fn head(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .take(HEAD)
        .map(|line| line.chars().take(400).collect())
        .collect();
    lines.join("\n")
}

/// The table of `ncu --csv --page raw`: one kernel in each row, one metric in each column.
pub struct RawPage {
    header: StringRecord,
    rows: Vec<StringRecord>,
    text: String,
}

impl RawPage {
    /// Parses ncu's output; its own messages are between the rows.
    pub fn of(log: &str) -> Result<Self> {
        let rows: Vec<&str> = log.lines().filter(|line| line.starts_with('"')).collect();
        let rows = rows.join("\n");
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_reader(rows.as_bytes());
        let header = reader.headers().context("ncu printed no table")?.clone();
        let rows: Result<Vec<StringRecord>, _> = reader.records().collect();
        let mut rows = rows.context("ncu printed a table that cannot be read")?;
        // Below the names are the units, in a row without a kernel number.
        rows.retain(|row| row.get(0).is_some_and(|number| !number.is_empty()));
        Ok(Self {
            header,
            rows,
            text: log.trim().to_owned(),
        })
    }

    /// Number of profiled kernels.
    pub fn kernels(&self) -> usize {
        self.rows.len()
    }

    /// A metric of a kernel, counted from 0, as ncu wrote it.
    pub fn text(&self, kernel: usize, metric: &str) -> Result<&str> {
        let column = self.header.iter().position(|column| column == metric);
        let column = column.with_context(|| {
            let printed = head(&self.text);
            format!("ncu measured no {metric}; its output begins with\n{printed}")
        })?;
        let row = self.rows.get(kernel);
        let field = row.and_then(|row| row.get(column));
        field.with_context(|| format!("ncu printed no {metric} of kernel {kernel}"))
    }

    /// A metric as a number.
    pub fn number(&self, kernel: usize, metric: &str) -> Result<f64> {
        let text = self.text(kernel, metric)?;
        let number = text.replace(',', "").parse::<f64>().ok();
        let number = number.filter(|number| number.is_finite() && *number >= 0.0);
        number.with_context(|| format!("ncu gave {text:?} as {metric}"))
    }

    /// A metric as an integer.
    pub fn count(&self, kernel: usize, metric: &str) -> Result<u64> {
        let number = self.number(kernel, metric)?;
        if number.fract() != 0.0 {
            bail!("ncu gave {number} as {metric}: expected an integer");
        }
        Ok(number as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "==PROF== Connected to process 7\n\
        \"ID\",\"Kernel Name\",\"Block Size\",\"a.sum\",\"b.ratio\"\n\
        \"\",\"\",\"\",\"\",\"sector\"\n\
        \"0\",\"k\",\"(32, 1, 1)\",\"1,024\",\"0.25\"\n\
        \"1\",\"k\",\"(32, 1, 1)\",\"5\",\"n/a\"\n\
        ==PROF== Disconnected from process 7\n";

    #[test]
    fn each_kernel_has_its_metrics() {
        let page = RawPage::of(LOG).expect("a table");
        assert_eq!(page.kernels(), 2);
        assert_eq!(page.count(0, "a.sum").expect("a number"), 1024);
        assert_eq!(page.number(0, "b.ratio").expect("a number"), 0.25);
        assert_eq!(page.count(1, "a.sum").expect("a number"), 5);
        let error = |metric, kernel| format!("{:#}", page.count(kernel, metric).expect_err("none"));
        assert!(error("b.ratio", 0).contains("0.25 as b.ratio"));
        assert!(error("b.ratio", 1).contains("\"n/a\" as b.ratio"));
        assert!(error("c.sum", 0).contains("measured no c.sum"));
        assert!(
            error("c.sum", 0).contains("Kernel Name"),
            "it shows the text"
        );
        assert!(error("a.sum", 2).contains("of kernel 2"));
        let nothing = RawPage::of("==ERROR== no").expect("no rows");
        assert_eq!(nothing.kernels(), 0);
    }
}
