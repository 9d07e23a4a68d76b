//! Formats a grade for a terminal.
use std::iter;

use layout::show::wrap;

use super::{Complaint, Grade};
use harness::table::{head, markdown_table};
use harness::terminal::harmless;

pub fn text(grade: &Grade, book: &str) -> String {
    let of: f64 = grade.items.iter().map(|item| item.of).sum();
    let mut rows = vec![head(["what", "why", "points", "of"])];
    for item in &grade.items {
        let lines = item.why.iter().map(|why| why.replace('\n', " "));
        let lines = lines.flat_map(|why| wrap(&why, WIDEST));
        let numbers = [item.name.clone(), points(item.points), points(item.of)];
        // Only the first line has numbers.
        let cells = iter::once(numbers).chain(iter::repeat_with(Default::default));
        for (why, [name, got, of]) in lines.zip(cells) {
            rows.push(vec![name, why, got, of]);
        }
    }
    let mut out = format!(
        "{}: {} of {} points\n\n{}",
        grade.evidence.assignment,
        points(grade.points()),
        points(of),
        markdown_table(&rows)
    );
    out += &verdict(grade);
    for complaint in &grade.complaints {
        out += &format!("\n{}", one(complaint, book));
    }
    if let Some(printed) = &grade.printed {
        out += &format!("\n{printed}");
    }
    if let Some(after) = &grade.after {
        out += &format!("\nPassed. Why it worked:\n{after}\n");
    }
    out += &format!("\n{}\n", provenance(grade));
    harmless(&out)
}

/// Width of a table cell that contains sentences.
const WIDEST: usize = 90;

/// Formats a complaint.
pub fn one(complaint: &Complaint, book: &str) -> String {
    let read = complaint.read(book);
    let mut out = format!(
        "{}\n  hint: {}\n  read: {read}\n",
        complaint.what, complaint.hint
    );
    if let Some(see) = complaint.see(book) {
        out += &format!("  see:  {see}\n");
    }
    out
}

/// The verdict, if the grade did not pass.
pub fn verdict(grade: &Grade) -> String {
    match grade.passed() {
        true => String::new(),
        false => format!("\nNot passed: {} points are needed.\n", points(grade.pass)),
    }
}

/// What the grade is based on.
pub fn provenance(grade: &Grade) -> String {
    let evidence = &grade.evidence;
    let hidden = match (&evidence.secret, &evidence.compiler) {
        (Some(secret), Some(_)) => format!("hidden sizes from secret {secret}"),
        (Some(secret), None) => format!("questions from secret {secret}"),
        (None, Some(_)) => {
            "these hidden sizes are for practice; the grade that counts uses your teacher's secret"
                .into()
        }
        (None, None) => {
            "these are the public questions; the grade that counts uses your teacher's secret"
                .into()
        }
    };
    let compiler = evidence.compiler.as_deref();
    format!(
        "grader {}, rubric {:.12}, {}; {hidden}",
        evidence.grader,
        evidence.rubric_sha256,
        compiler.unwrap_or("nothing compiled")
    )
}

/// Formats points with at most two decimals.
pub fn points(points: f64) -> String {
    let text = format!("{points:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
