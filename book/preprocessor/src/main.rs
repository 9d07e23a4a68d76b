//! `book`, as a preprocessor for mdBook. `cargo book build` is the same with mdBook linked in (`build`).
use std::io::{Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use mdbook_preprocessor::Preprocessor;

#[cfg(feature = "build")]
mod build;

const USAGE: &str = "\
cargo book build [--url ADDRESS]      builds the book into book/book; with mdbook installed, `mdbook serve book` shows it
cargo book publish [REMOTE]           builds it and pushes it to the branch gh-pages of a git remote, by default origin
ADDRESS, or else the variable GEMM_BOOK, is where readers will find it; links of the grader lead there.
cargo book wasm                       makes the engine of the book's pages";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => preprocess(),
        // All renderers get Markdown with a little HTML.
        ["supports", _] => Ok(()),
        ["build" | "publish", ..] => build(&words),
        ["wasm"] => root().and_then(|root| book::wasm::make(&root)),
        _ => Err(anyhow::anyhow!("{USAGE}")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// mdBook's protocol: the book as JSON from standard input to standard output.
fn preprocess() -> Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(stdin())?;
    let book = book::Directives.run(&context, book)?;
    let text = serde_json::to_string(&book).context("the book does not fit JSON")?;
    stdout()
        .write_all(text.as_bytes())
        .context("mdbook does not read the book")
}

fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder is unknown")?;
    let mut folders = here.ancestors();
    match folders.find(|folder| folder.join("book/book.toml").is_file()) {
        Some(folder) => Ok(folder.to_owned()),
        None => bail!("there is no book/book.toml here; run this in the workspace"),
    }
}

#[cfg(not(feature = "build"))]
fn build(_words: &[&str]) -> Result<()> {
    bail!(
        "this program was built without mdBook: `cargo book build` builds it with mdBook, and runs it"
    )
}

#[cfg(feature = "build")]
fn build(words: &[&str]) -> Result<()> {
    build::run(words)
}
