//! `cargo ladder stalls`: the columns of `stalls.csv` for any kernel, from what ncu printed of it.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::ncu::RawPage;
use super::rungs::stalls::{METRICS, fields};

#[derive(clap::Args)]
#[command(
    after_help = "A page is what `ncu --csv --page raw --print-units base --metrics \"$(cargo ladder stalls --metrics)\" PROGRAM`\n\
    prints of a program with one kernel. Stall reasons are warps that wait for that reason in an average cycle in which an\n\
    instruction is issued."
)]
pub struct Arguments {
    /// Pages of ncu, each with a name for its kernel
    #[arg(value_name = "NAME=FILE", required_unless_present = "metrics", value_parser = page)]
    pages: Vec<(String, PathBuf)>,
    /// Print what ncu is to be asked for, in one word
    #[arg(long, conflicts_with = "pages")]
    metrics: bool,
}

/// Of shared memory, beside what is asked of the rungs.
const SHARED: [(&str, &str); 2] = [
    (
        "shared_wavefronts",
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    ),
    (
        "shared_bank_conflicts",
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
    ),
];

fn page(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.into(), file.into()))
        }
        _ => Err("give a name and a file: NAME=FILE".into()),
    }
}

pub fn stalls(arguments: &Arguments) -> Result<bool> {
    let columns = [&METRICS[..], &SHARED].concat();
    if arguments.metrics {
        let metrics: Vec<&str> = columns.iter().map(|(_, metric)| *metric).collect();
        anstream::println!("{}", metrics.join(","));
        return Ok(true);
    }
    let mut pages = Vec::new();
    for (name, file) in &arguments.pages {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        pages.push((
            name.as_str(),
            RawPage::of(&text).with_context(|| shown.to_string())?,
        ));
    }
    anstream::print!("{}", table(&pages, &columns)?);
    Ok(true)
}

/// A row a page.
fn table(pages: &[(&str, RawPage)], columns: &[(&str, &str)]) -> Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    let names = columns.iter().map(|(name, _)| *name);
    table.write_record(std::iter::once("kernel").chain(names))?;
    for (name, page) in pages {
        if page.kernels() != 1 {
            bail!(
                "{name}: the page has {} kernels, one is expected",
                page.kernels()
            );
        }
        let fields = fields(page, 0, columns);
        if fields.iter().all(String::is_empty) {
            bail!(
                "{name}: the page has none of the metrics; `cargo ladder stalls --metrics` lists them"
            );
        }
        table.write_record(std::iter::once((*name).to_owned()).chain(fields))?;
    }
    let bytes = table.into_inner().context("the table is not complete")?;
    String::from_utf8(bytes).context("the table is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(rows: &str) -> RawPage {
        let head = "\"ID\",\"gpu__time_duration.sum\",\"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum\"\n\"\",\"ns\",\"\"\n";
        RawPage::of(&format!("==PROF== x\n{head}{rows}")).expect("a page")
    }

    #[test]
    fn each_page_is_a_row() {
        let columns = [METRICS[0], METRICS[1], SHARED[1]];
        let pages = [
            ("plain", raw("\"0\",\"2,709,504\",\"529,532,606\"\n")),
            ("swizzled", raw("\"0\",\"594,496\",\"49,452\"\n")),
        ];
        assert_eq!(
            table(&pages, &columns).expect("a table"),
            "kernel,time_ns,cycles,shared_bank_conflicts\nplain,2709504,,529532606\nswizzled,594496,,49452\n"
        );
        let error = |rows: &str, columns: &[_]| {
            format!(
                "{:#}",
                table(&[("x", raw(rows))], columns).expect_err("an error")
            )
        };
        assert!(error("", &columns).contains("x: the page has 0 kernels"));
        assert!(error("\"0\",\"1\",\"2\"\n", &METRICS[1..2]).contains("none of the metrics"));
    }

    #[test]
    fn a_page_has_a_name() {
        assert_eq!(page("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(["a", "=b", "a="].iter().all(|text| page(text).is_err()));
    }
}
