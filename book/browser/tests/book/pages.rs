//! Every page of the book, on a desktop and on a phone; search; and the printed book.
use book_browser::Appearance;

use crate::{book, no_problems, open, reader};

fn pages() -> Vec<String> {
    let files = std::fs::read_dir(book()).expect("the built book");
    let names = files.map(|file| {
        file.expect("a file")
            .file_name()
            .to_string_lossy()
            .into_owned()
    });
    // 404.html is for servers; toc.html is a frame for readers without JavaScript.
    let mut pages: Vec<_> = names
        .filter(|name| name.ends_with(".html") && name != "404.html" && name != "toc.html")
        .collect();
    pages.sort();
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

#[test]
fn every_page_opens_and_fits() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut wrong = Vec::new();
    let mut page = chromium.page().expect("a page");
    let [phone, desktop] = [Appearance::new(true, true), Appearance::new(false, false)];
    for name in pages().iter().filter(|name| *name != "print.html") {
        page.appear(phone).expect("an appearance");
        page.open(server.address(), name).expect(name);
        let theme = page.evaluate("document.documentElement.className");
        let theme = theme.expect("a theme");
        if !theme.as_str().unwrap_or_default().contains("navy") {
            wrong.push(format!("{name}: the theme is {theme}"));
        }
        let overflow = page.overflowing().expect("an answer");
        // The other tests open pages on a desktop, in light colors; here only the change of the screen must cause no problem.
        page.appear(desktop).expect("an appearance");
        let found = page.problems().expect("an answer").into_iter();
        wrong.extend(found.chain(overflow).map(|what| format!("{name}: {what}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The tests above detect the problems that they look for.
#[test]
fn what_is_wrong_is_found() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = chromium.page().expect("a page");
    page.appear(Appearance::new(true, false))
        .expect("an appearance");
    page.open(server.address(), "index.html").expect("a page");
    no_problems(&mut page);
    assert!(page.overflowing().expect("an answer").is_empty());
    page.evaluate(
        "(async () => {\
           console.error('said so');\
           setTimeout(() => { throw new Error('thrown late'); });\
           await fetch('no_such_file.json').catch(() => 0);\
           await fetch('http://127.0.0.1:9/').catch(() => 0);\
           document.querySelector('main').innerHTML += '<div style=\"width: 900px\">wide</div>';\
           await new Promise((go) => setTimeout(go, 50));\
         })()",
    )
    .expect("an answer");
    let problems = page.problems().expect("an answer").join("\n");
    for expected in [
        "said so",
        "thrown late",
        "404 for",
        "a request to http://127.0.0.1:9/",
        "a failed request",
    ] {
        assert!(
            problems.contains(expected),
            "{expected} is not in {problems}"
        );
    }
    assert!(!page.overflowing().expect("an answer").is_empty());
}

#[test]
fn search_finds_a_chapter() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "index.html");
    page.press("s").expect("a key");
    page.wait_until("document.activeElement?.id === 'mdbook-searchbar'")
        .expect("the search bar");
    for key in "workbench".chars() {
        page.press(&key.to_string()).expect("a key");
    }
    page.wait_until("[...document.querySelectorAll('#mdbook-searchresults a')].some((link) => link.href.includes('workbench.html'))")
        .expect("a result");
    no_problems(&mut page);
}

#[test]
fn the_book_prints() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = chromium.page().expect("a page");
    page.appear(Appearance::new(false, false))
        .expect("an appearance");
    page.before_loading("window.print = () => { window.printed = true; };")
        .expect("an answer");
    page.open(server.address(), "print.html").expect("a page");
    page.wait_until("window.printed").expect("the dialogue");
    no_problems(&mut page);
    let chapters = page
        .evaluate("document.querySelectorAll('main h1').length")
        .expect("a number");
    assert!(chapters.as_u64().unwrap_or(0) > 30, "{chapters} chapters");
    // Paper cannot be clicked: it shows what readers without JavaScript see.
    let kept = page
        .evaluate("document.querySelectorAll('[data-interactive] pre').length")
        .expect("a number");
    assert!(kept.as_u64().unwrap_or(0) >= 3, "{kept}");
    assert_eq!(
        page.evaluate("document.querySelectorAll('.ia').length")
            .expect("a number"),
        0
    );
}
