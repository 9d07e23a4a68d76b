//! A grade in a terminal.
use layout::show::wrap;

use super::{Complaint, Grade, VERSION};
use crate::table::{head, markdown_table};

pub fn text(grade: &Grade, book: &str) -> String {
    let of: f64 = grade.tests.iter().map(|test| test.of).sum();
    let mut rows = vec![head(&["what", "why", "points", "of"])];
    for test in &grade.tests {
        let lines = test
            .why
            .iter()
            .flat_map(|why| wrap(&why.replace('\n', " "), WIDEST));
        for (index, why) in lines.enumerate() {
            let first = |text: String| if index == 0 { text } else { String::new() };
            rows.push(vec![
                first(test.name.clone()),
                why,
                first(points(test.points)),
                first(points(test.of)),
            ]);
        }
    }
    let mut out = format!(
        "{}: {} of {} points\n\n{}",
        grade.assignment,
        points(grade.points()),
        points(of),
        markdown_table(&rows)
    );
    for complaint in &grade.complaints {
        out += &format!("\n{}", one(complaint, book));
    }
    if let Some(after) = &grade.after {
        out += &format!("\nPassed. Why it worked:\n{after}\n");
    }
    out + &format!("\n{}\n", provenance(grade))
}

/// Columns of a table's cell that holds sentences.
const WIDEST: usize = 90;

/// What a student can act on.
pub fn one(complaint: &Complaint, book: &str) -> String {
    let Complaint {
        what,
        hint,
        mistake,
        player,
    } = complaint;
    let book = book.trim_end_matches('/');
    let mut out = format!("{what}\n  hint: {hint}\n  read: {book}/mistakes.html#{mistake}\n");
    if let Some(player) = player {
        out += &format!("  see:  {book}/{player}\n");
    }
    out
}

/// What the points belong to.
pub fn provenance(grade: &Grade) -> String {
    let hidden = match (&grade.secret, &grade.compiler) {
        (Some(secret), Some(_)) => format!("hidden sizes from secret {secret}"),
        (Some(secret), None) => format!("questions from secret {secret}"),
        (None, Some(_)) => {
            "no secret: hidden sizes that anybody can find out, not those of a grade that counts"
                .into()
        }
        (None, None) => "no secret: the questions that everybody has".into(),
    };
    let compiler = grade.compiler.as_deref().unwrap_or("nothing compiled");
    format!(
        "grader {VERSION}, rubric {}, {compiler}; {hidden}",
        &grade.rubric[..12.min(grade.rubric.len())]
    )
}

/// At most two digits after the point.
pub fn points(points: f64) -> String {
    let text = format!("{points:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
