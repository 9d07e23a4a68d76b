//! Which grades changed, and why.
use crate::grade::results::{Evidence, Results, TestResult};
use crate::grade::text::points;

/// A description of the change; none if the grade is the same.
pub fn between(before: &Results, after: Result<&Results, &String>) -> Option<String> {
    let after = match after {
        Ok(after) => after,
        Err(why) => return Some(format!("{} -> not graded: {why}", points(before.score))),
    };
    let tests = tests(before, after);
    if tests.is_empty() {
        return None;
    }
    let causes = causes(before, after);
    let causes = match &causes[..] {
        [] => "no input of the grade has changed: please report this as a bug in the grader".into(),
        causes => causes.join(", "),
    };
    let [old, new] = [before.score, after.score].map(points);
    let tests = tests.join("\n  ");
    Some(format!("{old} -> {new} ({causes})\n  {tests}"))
}

/// Lines of the table that differ: first the current ones, then the removed ones.
fn tests(before: &Results, after: &Results) -> Vec<String> {
    let (before, after) = (&before.tests, &after.tests);
    let now = after
        .iter()
        .filter_map(|new| match before.iter().find(|old| old.name == new.name) {
            Some(old) => differs(old, new),
            None => Some(format!("{}: new, {}", new.name, points(new.score))),
        });
    let is_gone = |old: &&TestResult| after.iter().all(|new| new.name != old.name);
    let gone = before.iter().filter(is_gone);
    let gone = gone.map(|old| format!("{}: gone, it had {}", old.name, points(old.score)));
    now.chain(gone).collect()
}

fn differs(old: &TestResult, new: &TestResult) -> Option<String> {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    let same = close(old.score, new.score) && close(old.max_score, new.max_score);
    let [was, is, of] = [old.score, new.score, new.max_score].map(points);
    let why = new.output.replace('\n', "; ");
    (!same).then(|| format!("{}: {was} -> {is} of {of}: {why}", new.name))
}

/// The inputs of a grade that changed.
fn causes(before: &Results, after: &Results) -> Vec<&'static str> {
    let (old, new) = (&before.extra_data, &after.extra_data);
    // A name only matters with a secret; a changed secret is reported itself.
    let named = |evidence: &Evidence| !evidence.student.is_empty();
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

    fn record(score: f64, rubric: &str) -> Results {
        let text = format!(
            r#"{{"score": {score}, "tests": [
                {{"name": "values", "score": {score}, "max_score": 60, "output": "C is right at 1 of 2 sizes"}},
                {{"name": "sanitizer", "score": 0, "max_score": 40, "output": "x"}}],
              "extra_data": {{"grader": "2", "rubric_sha256": "{rubric}", "compiler": null, "secret": null,
                "submission_sha256": "s", "assignment": "a", "student": "ada"}}}}"#
        );
        serde_json::from_str(&text).expect("a record")
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
        assert!(same.contains("bug in the grader"), "{same}");
        let gone = between(&record(60.0, "a"), Err(&"no file".into())).expect("a change");
        assert_eq!(gone, "60 -> not graded: no file");
    }
}
