//! `cargo book build` and `cargo book publish`: build the book without an installed mdbook.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use mdbook_driver::MDBook;

/// The book's address, unless `--url` names another.
const PLACE: &str = "GEMM_BOOK";
/// The branch that GitHub Pages and other hosts serve.
const BRANCH: &str = "gh-pages";

/// Carries out the command.
pub fn run(words: &[&str]) -> Result<()> {
    let address = std::env::var(PLACE).ok();
    let address = address.as_deref().filter(|place| place.contains("://"));
    match words {
        ["build"] => build(address, true).map(|_| ()),
        ["build", "--url", address] => build(Some(address), true).map(|_| ()),
        // Built as the `mdbook` command would: it starts this program through the command in book.toml.
        ["build", "--as-mdbook"] => build(address, false).map(|_| ()),
        ["publish"] => publish(&build(address, true)?, "origin"),
        ["publish", remote] => publish(&build(address, true)?, remote),
        _ => bail!("{}", super::USAGE),
    }
}

/// Builds the book; returns its folder.
fn build(address: Option<&str>, inside: bool) -> Result<PathBuf> {
    let here = std::env::current_dir().context("the current folder is unknown")?;
    let Some(folder) = here
        .ancestors()
        .find(|folder| folder.join("book/book.toml").is_file())
    else {
        bail!("there is no book/book.toml here; run this in the workspace");
    };
    let mut book = MDBook::load(folder.join("book"))?;
    if let Some(address) = address {
        book.config.set("output.html.site-url", path_of(address)?)?;
    }
    if inside {
        // Replaces the preprocessor command of that name in book.toml.
        book.with_preprocessor(book::Directives);
    }
    book.build()?;
    let built = book.build_dir_for("html");
    book::wasm::refresh(folder, &built)?;
    println!("the book is in {}", built.join("index.html").display());
    Ok(built)
}

/// The path of an address, with a slash at both ends: the 404 page needs it to find its pictures.
fn path_of(address: &str) -> Result<String> {
    let rest = address
        .strip_prefix("https://")
        .or(address.strip_prefix("http://"));
    let rest = rest.with_context(|| {
        format!("{address} is not the address of a book, such as https://example.org/book")
    })?;
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    match path.trim_matches('/') {
        "" => Ok("/".into()),
        path => Ok(format!("/{path}/")),
    }
}

/// Pushes a folder to a remote's branch as a commit without history; neither the working tree nor its branch changes.
fn publish(built: &Path, remote: &str) -> Result<()> {
    // Without this file, GitHub Pages omits folders that begin with an underscore.
    std::fs::write(built.join(".nojekyll"), "")?;
    let index = tempfile::NamedTempFile::new()?.into_temp_path();
    std::fs::remove_file(&index)?;
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .args(arguments)
            .env("GIT_INDEX_FILE", &index)
            .env("GIT_WORK_TREE", built)
            .env("GIT_DIR", git_dir(built)?)
            .output()
            .context("cannot run git")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "git {}: {errors}",
            arguments.join(" ")
        );
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    };
    git(&["add", "--all", "--force", "."])?;
    let tree = git(&["write-tree"])?;
    let source = git(&["rev-parse", "--short", "HEAD"])?;
    let commit = git(&[
        "commit-tree",
        &tree,
        "-m",
        &format!("The book as of {source}"),
    ])?;
    git(&[
        "push",
        "--force",
        remote,
        &format!("{commit}:refs/heads/{BRANCH}"),
    ])?;
    println!("pushed to {BRANCH} of {remote}");
    Ok(())
}

/// The repository that contains a folder.
fn git_dir(folder: &Path) -> Result<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--absolute-git-dir"])
        .current_dir(folder)
        .output()
        .context("cannot run git")?;
    ensure!(
        output.status.success(),
        "{} is in no git repository",
        folder.display()
    );
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_path() {
        let path = |address| path_of(address).map_err(|error| error.to_string());
        assert_eq!(path("https://a.github.io/gemm"), Ok("/gemm/".into()));
        assert_eq!(path("http://a.org"), Ok("/".into()));
        assert!(path("a.org/book").is_err_and(|why| why.contains("https://example.org/book")));
    }

    #[test]
    fn a_folder_is_pushed_and_nothing_else_changes() {
        let scratch = tempfile::tempdir().expect("a folder");
        let at = |name: &str| scratch.path().join(name);
        let git = |folder: &str, arguments: &[&str]| {
            let output = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@b.c"])
                .args(arguments)
                .current_dir(at(folder))
                .output()
                .expect("git");
            assert!(output.status.success(), "{arguments:?}: {output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        std::fs::create_dir_all(at("work/built/_static")).expect("a folder");
        std::fs::create_dir(at("remote")).expect("a folder");
        git("remote", &["init", "--bare"]);
        git("work", &["init"]);
        std::fs::write(at("work/.gitignore"), "built\n").expect("written");
        std::fs::write(at("work/built/_static/a.css"), "a").expect("written");
        git("work", &["add", ".gitignore"]);
        git("work", &["commit", "-m", "first"]);
        for (name, value) in [("user.name", "a"), ("user.email", "a@b.c")] {
            git("work", &["config", name, value]);
        }
        let remote = at("remote").display().to_string();
        for _ in 0..2 {
            publish(&at("work/built"), &remote).expect("pushed");
        }
        let files = git("remote", &["ls-tree", "-r", "--name-only", BRANCH]);
        assert_eq!(files, ".nojekyll\n_static/a.css\n");
        assert_eq!(git("work", &["status", "--short"]), "");
        assert_eq!(git("work", &["log", "--oneline"]).lines().count(), 1);
    }
}
