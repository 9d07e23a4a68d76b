//! What the grader says to some wrong submissions, for the book's page for teachers.
use std::{env, fs};

use grader::grade::Grade;

use crate::mutations::Mutation;
use crate::support::{read, root};

/// Characters of a complaint that are kept; compilers say more.
const LONGEST: usize = 240;

const HEAD: [&str; 5] = ["assignment", "mistake", "points", "says", "hint"];

/// The page that shows them.
const PAGE: &str = "book/src/teaching.md";
const FILE: &str = "book/recorded/grader_says.csv";

/// Assignment and mistake of each row of the page.
pub fn shown() -> Vec<String> {
    let page = read(&root().join(PAGE));
    let start = format!("{{{{#table {FILE} | rows ");
    let lists = page
        .lines()
        .filter_map(|line| line.strip_prefix(&start)?.split(" | ").next());
    let rows: Vec<String> = lists
        .flat_map(|list| list.split(", "))
        .map(str::to_owned)
        .collect();
    assert!(rows.len() > 20, "{PAGE} shows {}", rows.len());
    rows
}

/// The mutation's name on the page.
pub fn called(assignment: &str, one: &Mutation) -> String {
    format!("{assignment} {}", one.name.replace('_', " "))
}

/// With `GEMM_RECORD=1` the file is written, and nothing else is graded.
pub fn recording() -> bool {
    env::var("GEMM_RECORD").is_ok_and(|value| value == "1")
}

/// A row: the mutation's name, its points, and the complaint that it demonstrates.
pub fn row(assignment: &str, one: &Mutation, grade: &Grade) -> Vec<String> {
    let complaint = grade
        .complaints()
        .iter()
        .find(|found| found.what.contains(&one.says));
    let (says, hint) = complaint.map_or((String::new(), String::new()), |found| {
        (format!("`{}`", short(&found.what)), found.hint.clone())
    });
    let points = format!("{:.2}", grade.points());
    vec![
        assignment.into(),
        one.name.replace('_', " "),
        points.trim_end_matches('0').trim_end_matches('.').into(),
        says,
        hint,
    ]
}

/// One line of it, without code, which is the solution's.
fn short(what: &str) -> String {
    let mut lines = what.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let rest: Vec<&str> = lines.collect();
    let cut = first.trim_end_matches(':');
    // The code follows `line 7: `, whatever part of the assignment precedes it.
    let code = cut
        .find("line ")
        .and_then(|at| Some(at + cut[at..].find(": ")?));
    let text = match code {
        _ if rest.is_empty() || cut.len() < first.len() => cut.to_owned(),
        Some(end) => format!("{}: {}", &cut[..end], rest.join("; ")),
        None => format!("{cut}; {}", rest.join("; ")),
    };
    let mut kept: String = text.replace('`', "'").chars().take(LONGEST).collect();
    if kept.len() < text.len() {
        kept += "…";
    }
    kept
}

fn table(rows: &[Vec<String>]) -> String {
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(HEAD).expect("a row");
    for row in rows {
        csv.write_record(row).expect("a row");
    }
    String::from_utf8(csv.into_inner().expect("a table")).expect("a text")
}

fn there() -> String {
    let path = root().join(FILE);
    match path.exists() {
        true => read(&path).replace("\r\n", "\n"),
        false => String::new(),
    }
}

/// Compares all rows with the file, or writes it.
pub fn check(shown: &[String], rows: &[Vec<String>]) {
    let has = |row: &&String| rows.iter().any(|found| **row == found[..2].join(" "));
    let missing: Vec<&String> = shown.iter().filter(|row| !has(row)).collect();
    assert!(
        missing.is_empty(),
        "{PAGE} shows what is no mutation: {missing:?}"
    );
    let text = table(rows);
    if recording() {
        fs::write(root().join(FILE), text).expect("a file");
        return;
    }
    let there = there();
    let news: Vec<&str> = text
        .lines()
        .filter(|line| !there.lines().any(|old| old == *line))
        .collect();
    assert!(
        there == text,
        "{FILE} is not current; `GEMM_RECORD=1 cargo test -p grader wrong_and -- --ignored` writes it. \
         Other now:\n{}",
        news.join("\n")
    );
}

#[test]
fn complaints_are_shown_without_code() {
    assert_eq!(
        short("line 7: C[i] = x;\n  st.global: 4 sectors\n  and more"),
        "line 7: st.global: 4 sectors; and more"
    );
    assert_eq!(
        short("by hand: line 7: load(x);\n  ld: 2 sectors"),
        "by hand: line 7: ld: 2 sectors"
    );
    assert_eq!(
        short("line 7: ld is not allowed here"),
        "line 7: ld is not allowed here"
    );
    assert_eq!(
        short("kernel.cu does not compile:\nkernel.cu(3): error"),
        "kernel.cu does not compile"
    );
    assert_eq!(
        short("at 1x1x1: Race\n  by thread 0"),
        "at 1x1x1: Race; by thread 0"
    );
    assert!(short(&"long ".repeat(100)).ends_with('…'));
}
