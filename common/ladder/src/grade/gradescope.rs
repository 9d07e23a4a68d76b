//! A grade as the `results.json` that Gradescope reads (its autograder specification, "Output Format").
use serde_json::json;

use super::text::{one, provenance};
use super::{Grade, Test, VERSION};

pub fn text(grade: &Grade, book: &str) -> String {
    let tests: Vec<_> = grade.tests.iter().map(test).collect();
    let mut output: Vec<String> = grade.complaints.iter().map(|of| one(of, book)).collect();
    output.extend(grade.after.clone());
    output.push(provenance(grade));
    let results = json!({
        "score": hundredths(grade.points()),
        "output": output.join("\n"),
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "assignment": grade.assignment,
            "grader": VERSION,
            "rubric_sha256": grade.rubric,
            "compiler": grade.compiler,
            "secret": grade.secret,
            "student": grade.student,
            "submission_sha256": grade.submission,
        },
    });
    format!("{results:#}\n")
}

fn test(test: &Test) -> serde_json::Value {
    let full = test.points > test.of - 1e-6;
    json!({
        "name": test.name,
        "score": hundredths(test.points),
        "max_score": hundredths(test.of),
        "status": if full { "passed" } else { "failed" },
        "output": test.why.join("\n"),
        "visibility": if test.visible { "visible" } else { "after_published" },
    })
}

fn hundredths(points: f64) -> f64 {
    (100.0 * points).round() / 100.0
}
