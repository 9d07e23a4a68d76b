//! `book`, as mdBook calls it: a preprocessor. `cargo book build` is the same with mdBook inside.
use std::io::{Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use mdbook_preprocessor::Preprocessor;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [] => preprocess(),
        // Every renderer is given Markdown with a little HTML in it.
        ["supports", _] => Ok(()),
        ["build"] => build(),
        ["wasm"] => root().and_then(|root| book::wasm::make(&root)),
        _ => Err(anyhow::anyhow!(
            "`cargo book build` builds the book into book/book; with mdbook installed, `mdbook serve book` shows it; \
             `cargo book wasm` makes the engine of its pages"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// mdBook's protocol: the book as JSON on standard input, and again on standard output.
fn preprocess() -> Result<()> {
    let (context, book) = mdbook_preprocessor::parse_input(stdin())?;
    let book = book::Directives.run(&context, book)?;
    let text = serde_json::to_string(&book).context("the book does not fit JSON")?;
    stdout()
        .write_all(text.as_bytes())
        .context("mdbook does not read the book")
}

/// The workspace.
fn root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder is unknown")?;
    let mut folders = here.ancestors();
    match folders.find(|folder| folder.join("book/book.toml").is_file()) {
        Some(folder) => Ok(folder.to_owned()),
        None => bail!("there is no book/book.toml here; run this in the workspace"),
    }
}

#[cfg(feature = "build")]
fn build() -> Result<()> {
    let mut book = mdbook_driver::MDBook::load(root()?.join("book"))?;
    // It takes the place of the command of that name in book.toml.
    book.with_preprocessor(book::Directives);
    book.build()?;
    println!(
        "the book is in {}",
        book.build_dir_for("html").join("index.html").display()
    );
    Ok(())
}

#[cfg(not(feature = "build"))]
fn build() -> Result<()> {
    bail!("this program was made without mdBook: `cargo book build` makes it with")
}
