//! `cargo ladder stalls`: the columns of `stalls.csv` for any kernel, from ncu's output.
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::ncu::RawPage;
use crate::stalls::{metrics_of_any, table};

#[derive(clap::Args)]
#[command(
    after_help = "A page is the output of `ncu --csv --page raw --print-units base --metrics \"$(cargo ladder stalls --metrics)\" PROGRAM`\n\
    for a program with one kernel. A stall reason's value is the number of warps that wait for it in an average cycle in which an\n\
    instruction is issued."
)]
pub struct Arguments {
    /// ncu's output files, each with a name for its kernel
    #[arg(value_name = "NAME=FILE", required_unless_present = "metrics", value_parser = page)]
    pages: Vec<(String, PathBuf)>,
    /// Print the metrics that ncu must collect, separated by commas
    #[arg(long, conflicts_with = "pages")]
    metrics: bool,
}

fn page(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.into(), file.into()))
        }
        _ => Err("give a name and a file: NAME=FILE".into()),
    }
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let columns = metrics_of_any();
    if arguments.metrics {
        let metrics: Vec<&str> = columns.iter().map(|(_, metric)| metric.as_str()).collect();
        harness::println!("{}", metrics.join(","));
        return Ok(true);
    }
    let mut pages = Vec::new();
    for (name, file) in &arguments.pages {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let page = RawPage::of(&text).with_context(|| shown.to_string())?;
        pages.push((name.as_str(), page));
    }
    let made = table(&pages, &columns);
    let made = made.context("`cargo ladder stalls --metrics` lists the metrics that a page needs");
    harness::print!("{}", made?);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_name() {
        assert_eq!(page("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert!(["a", "=b", "a="].iter().all(|text| page(text).is_err()));
    }
}
