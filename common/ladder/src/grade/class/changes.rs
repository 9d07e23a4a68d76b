//! Whose grade is another than before, and why.
use super::record::{Extra, Record, Test};
use crate::grade::text::points;

/// In words; nothing if it is the same grade.
pub fn between(before: &Record, after: Result<&Record, &String>) -> Option<String> {
    let after = match after {
        Ok(after) => after,
        Err(why) => return Some(format!("{} -> not graded: {why}", points(before.score))),
    };
    let tests = tests(before, after);
    if tests.is_empty() {
        return None;
    }
    let causes = causes(before, after);
    let causes = match causes.is_empty() {
        true => {
            "nothing that a grade rests on has changed: report this as a fault of the grader".into()
        }
        false => causes.join(", "),
    };
    let mut out = format!(
        "{} -> {} ({causes})",
        points(before.score),
        points(after.score)
    );
    for test in tests {
        out += &format!("\n  {test}");
    }
    Some(out)
}

/// The lines of the table that differ.
fn tests(before: &Record, after: &Record) -> Vec<String> {
    let find = |record: &Record, name: &str| -> Option<Test> {
        record.tests.iter().find(|test| test.name == name).cloned()
    };
    let mut names: Vec<&str> = after.tests.iter().map(|test| test.name.as_str()).collect();
    names.extend(before.tests.iter().map(|test| test.name.as_str()));
    let mut seen = Vec::new();
    names.retain(|name| {
        let new = !seen.contains(name);
        seen.push(*name);
        new
    });
    let line = |name: &str| match (find(before, name), find(after, name)) {
        (Some(old), Some(new)) => {
            let same = (old.score - new.score).abs() < 1e-6
                && (old.max_score - new.max_score).abs() < 1e-6;
            (!same).then(|| {
                format!(
                    "{name}: {} -> {} of {}: {}",
                    points(old.score),
                    points(new.score),
                    points(new.max_score),
                    new.output.replace('\n', "; ")
                )
            })
        }
        (None, Some(new)) => Some(format!("{name}: new, {}", points(new.score))),
        (Some(old), None) => Some(format!("{name}: gone, it had {}", points(old.score))),
        (None, None) => None,
    };
    names.into_iter().filter_map(line).collect()
}

/// What a grade rests on, and is another now.
fn causes(before: &Record, after: &Record) -> Vec<&'static str> {
    let (old, new) = (&before.extra_data, &after.extra_data);
    // A name counts only where there is a secret, and another secret is said of itself.
    let named = |extra: &Extra| !extra.student.is_empty();
    let all = [
        (old.assignment != new.assignment, "another assignment"),
        (
            named(old) && named(new) && old.student != new.student,
            "another student's name",
        ),
        (
            old.submission_sha256 != new.submission_sha256,
            "another submission",
        ),
        (old.rubric_sha256 != new.rubric_sha256, "another rubric"),
        (old.grader != new.grader, "another grader"),
        (old.compiler != new.compiler, "another compiler"),
        (old.secret != new.secret, "another secret"),
    ];
    all.into_iter()
        .filter_map(|(differs, words)| differs.then_some(words))
        .collect()
}

#[cfg(test)]
mod tests_of_changes {
    use super::*;

    fn record(score: f64, rubric: &str) -> Record {
        let text = format!(
            r#"{{"score": {score}, "tests": [
                {{"name": "values", "score": {score}, "max_score": 60, "output": "C is right at 1 of 2 sizes"}},
                {{"name": "sanitizer", "score": 0, "max_score": 40, "output": "x"}}],
              "extra_data": {{"grader": "2", "rubric_sha256": "{rubric}", "compiler": null, "secret": null,
                "submission_sha256": "s", "assignment": "a", "student": "ada"}}}}"#
        );
        Record::parse(&text).expect("a record")
    }

    #[test]
    fn another_assignment_or_name_is_a_cause() {
        let before = record(60.0, "a");
        let mut after = record(30.0, "a");
        after.extra_data.assignment = "b".into();
        after.extra_data.student = "bob".into();
        let words = between(&before, Ok(&after)).expect("a change");
        assert!(
            words.contains("(another assignment, another student's name)"),
            "{words}"
        );
        after.extra_data.student = String::new();
        let words = between(&before, Ok(&after)).expect("a change");
        assert!(words.contains("(another assignment)"), "{words}");
    }

    #[test]
    fn who_changed_and_why() {
        assert_eq!(between(&record(60.0, "a"), Ok(&record(60.0, "b"))), None);
        assert_eq!(
            between(&record(60.0, "a"), Ok(&record(30.0, "b"))).expect("a change"),
            "60 -> 30 (another rubric)\n  values: 60 -> 30 of 60: C is right at 1 of 2 sizes"
        );
        let same = between(&record(60.0, "a"), Ok(&record(30.0, "a"))).expect("a change");
        assert!(same.contains("fault of the grader"), "{same}");
        let gone = between(&record(60.0, "a"), Err(&"no file".into())).expect("a change");
        assert_eq!(gone, "60 -> not graded: no file");
    }
}
