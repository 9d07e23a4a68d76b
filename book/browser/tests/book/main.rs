//! The built book in headless Chromium. Without a browser the tests are skipped with a message; with
//! `GEMM_REQUIRE_BROWSER=1` they fail.
mod barriers_waves;
mod explorer;
mod firefox;
mod in_chapters;
mod legible;
mod pages;
mod pipeline;
mod player;
mod run_here;
mod stepper;
mod terminal;
mod workbench;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use book_browser::{Appearance, Chromium, Page, Server, chromium_or_skip};
use serde_json::json;

fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        root.canonicalize().expect("the workspace")
    });
    &ROOT
}

/// The book, built once for all tests as a reader with nothing but cargo would build it.
fn book() -> &'static Path {
    static BOOK: LazyLock<PathBuf> = LazyLock::new(|| {
        let built = Command::new(env!("CARGO"))
            .args(["book", "build"])
            .current_dir(root())
            .output()
            .expect("cargo");
        assert!(
            built.status.success(),
            "cargo book build: {}",
            String::from_utf8_lossy(&built.stderr)
        );
        root().join("book/book")
    });
    &BOOK
}

/// A browser and the book's address; `None` if the test is skipped.
fn reader() -> Option<(Chromium, Server)> {
    let chromium = chromium_or_skip().unwrap_or_else(|error| panic!("{error:#}"))?;
    Some((chromium, Server::start(book()).expect("a port")))
}

/// Opens a page on a desktop, in light colors.
fn open<'a>(chromium: &'a mut Chromium, server: &Server, path: &str) -> Page<'a> {
    let mut page = chromium.page().expect("a page");
    page.appear(Appearance::new(false, false))
        .expect("an appearance");
    page.open(server.address(), path).expect(path);
    page
}

/// Fails with all problems of a page.
fn no_problems(page: &mut Page<'_>) {
    let problems = page.problems().expect("an answer");
    assert!(problems.is_empty(), "{problems:#?}");
}

/// The fragment of the page's address.
fn fragment(page: &mut Page<'_>) -> String {
    let found = page.evaluate("location.hash").expect("an address");
    found.as_str().unwrap_or_default().to_string()
}

/// The address of the book's folder.
fn disk() -> String {
    // The browser reports requests without the `..` of a path.
    let folder = book().canonicalize().expect("the book's folder");
    format!("file://{}/", folder.display())
}

/// Opens each link from disk on a phone, without motion, in light and in dark: the page shows what the link describes,
/// everything fits and is legible.
fn from_disk<'a, T: Copy>(
    chromium: &'a mut Chromium,
    links: &[(&str, T)],
    mut shows: impl FnMut(&mut Page<'_>, T),
) -> Page<'a> {
    let mut page = chromium.page().expect("a page");
    for dark in [false, true] {
        page.appear(Appearance {
            phone: true,
            dark,
            still: true,
        })
        .expect("an appearance");
        for &(link, expected) in links {
            page.open(&disk(), link).expect(link);
            shows(&mut page, expected);
            let overflowing = page.overflowing().expect("an answer");
            assert_eq!(overflowing, Vec::<String>::new(), "{link}");
            // The script checks every theme itself, so once is enough.
            if !dark {
                let illegible = page.evaluate(include_str!("legible.js"));
                assert_eq!(illegible.expect("an answer"), json!([]), "{link}");
            }
            no_problems(&mut page);
        }
    }
    page
}

/// The first element that matches the selector contains the text.
fn contains(page: &mut Page<'_>, (selector, text): (&str, &str)) {
    let found = page.text(selector).expect(selector);
    assert!(found.contains(text), "{selector}: {found}");
}
