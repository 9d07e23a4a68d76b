//! Compares the student's predictions with the model.
use anyhow::{Context, Result};
use toml::Value;

use super::RubricItem;
use super::rubric::{Prediction, Rubric};
use crate::exam::{predicted, sheet};
use crate::submission;

/// The row of the table; none if the rubric has no predictions.
pub fn judge(rubric: &Rubric, answers: Option<&str>) -> Option<RubricItem> {
    let of = rubric.points.prediction;
    if rubric.prediction.is_empty() {
        return None;
    }
    let (right, why) =
        check(rubric, answers).unwrap_or_else(|error| (0, vec![format!("{error:#}")]));
    Some(RubricItem {
        name: "prediction".into(),
        points: of * right as f64 / rubric.prediction.len() as f64,
        of,
        why,
        visible: true,
    })
}

/// The number of right answers, and a line about each question.
fn check(rubric: &Rubric, answers: Option<&str>) -> Result<(usize, Vec<String>)> {
    let Some(answers) = answers else {
        let what = "there is no prediction.toml beside the kernel: README.md has the questions";
        return Ok((0, vec![what.into()]));
    };
    let answers = submission::toml(answers).context("prediction.toml is not TOML")?;
    let mut right = 0;
    let lines = rubric.prediction.iter().map(|question| {
        let verdict = judged(answers.get(&question.key), counted(question));
        right += usize::from(verdict.right);
        let meeting = predicted::meeting(question.access, question.bytes, &question.offsets);
        let why = match meeting {
            _ if verdict.right => question.reason.clone(),
            Some(meeting) if verdict.number => meeting,
            None if verdict.number => sectors(question),
            _ => question.question.clone(),
        };
        format!("{}: {}: {why}", question.key, verdict.said)
    });
    let mut lines: Vec<String> = lines.collect();
    lines.extend(unknown(rubric, &answers));
    Ok((right, lines))
}

/// What there is to count of an access to global memory.
fn sectors(question: &Prediction) -> String {
    let apart = match question.offsets[..] {
        [first, second, ..] => format!(
            ", lanes 0 and 1 begin {} bytes apart",
            second.abs_diff(first)
        ),
        _ => String::new(),
    };
    format!(
        "how many different pieces of 32 bytes do the lanes touch? Each lane takes {} bytes{apart}",
        question.bytes
    )
}

/// A line about keys that are no question's.
fn unknown(rubric: &Rubric, answers: &toml::Table) -> Option<String> {
    let is_asked = |key: &str| rubric.prediction.iter().any(|of| of.key == key);
    let unknown = answers.keys().find(|key| !is_asked(key))?;
    let shown: String = unknown.chars().take(40).collect();
    Some(format!(
        "prediction.toml has {shown:?}, which no question asks for: is it misspelt?"
    ))
}

/// The verdict on an answer.
pub struct GradedAnswer {
    pub right: bool,
    /// Whether the answer is a number at all.
    pub number: bool,
    pub said: String,
}

/// Judges an answer.
pub fn judged(answer: Option<&Value>, right: u64) -> GradedAnswer {
    let number = answer.and_then(Value::as_integer);
    let right = number.is_some_and(|found| u64::try_from(found) == Ok(right));
    let said = match answer {
        Some(Value::Integer(found)) if right => format!("{found} is right"),
        Some(Value::Integer(found)) => format!("{found} is wrong"),
        None => "no answer".into(),
        Some(Value::String(open)) if open == sheet::OPEN => "no answer".into(),
        Some(Value::String(_)) => "not an integer but text in quotes: remove the quotes".into(),
        Some(other) => format!("not an integer: type {}", other.type_str()),
    };
    let number = number.is_some();
    GradedAnswer {
        right,
        number,
        said,
    }
}

/// The right answer.
pub fn counted(question: &Prediction) -> u64 {
    let counts = predicted::counts(question.access, question.bytes, &question.offsets);
    let mut asked = counts
        .into_iter()
        .filter(|(count, _)| *count == question.count);
    asked.next().map_or(0, |(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_05: &str = include_str!("../../../assignments/05_swizzle/rubric.toml");

    /// The rubric of 05 with other questions; students have this file, so it must not contain the real ones.
    fn rows_apart() -> Rubric {
        let question = |key: &str, bytes: u32| {
            let offsets: Vec<u32> = (0..8).map(|row| bytes * row).collect();
            format!(
                "[[prediction]]\nkey = \"{key}\"\nquestion = \"how many\"\nreason = \"so\"\naccess = \"ldmatrix\"\nbytes = 16\noffsets = {offsets:?}\n"
            )
        };
        let questions = [("far", 128), ("near", 32), ("side_by_side", 16)];
        let questions = questions.map(|(key, bytes)| question(key, bytes));
        let (head, rest) = OF_05.split_once("[[prediction]]").expect("questions");
        let (_, after) = rest.split_once("[after]").expect("an end");
        Rubric::parse(&format!("{head}{}[after]{after}", questions.concat())).expect("a rubric")
    }

    #[test]
    fn each_answer_counts_alone() {
        let rubric = rows_apart();
        let answers: Vec<u64> = rubric.prediction.iter().map(counted).collect();
        assert_eq!(answers, [8, 2, 1]);
        let right = |text| check(&rubric, Some(text)).expect("TOML").0;
        assert_eq!(right("far = 8\nnear = 2\nside_by_side = 1"), 3);
        assert_eq!(right("far = 8\nnear = -2\nside_by_side = \"1\""), 1);
        assert_eq!(right(""), 0);
        assert_eq!(check(&rubric, None).expect("none").0, 0);
        assert!(check(&rubric, Some("=")).is_err());
        let (_, lines) = check(&rubric, Some("near = 2\n\"\\u202efa\" = 8")).expect("TOML");
        assert!(lines[3].contains(r#"has "\u{202e}fa""#), "{lines:?}");
        let (_, lines) = check(&rubric, Some("near = 2")).expect("TOML");
        assert_eq!(lines.len(), 3, "{lines:?}");
        let (_, lines) = check(&rubric, Some("far = 3")).expect("TOML");
        assert!(
            lines[0].contains("3 is wrong") && lines[0].contains("lanes 0 and 1"),
            "{lines:?}"
        );
        assert!(
            lines[1].contains("no answer") && !lines[1].contains("lanes"),
            "{lines:?}"
        );
    }

    /// The rubric of 05 with an additional question.
    fn asking(question: &str) -> Result<Rubric> {
        let question =
            format!("key = \"more\"\nquestion = \"how many\"\nreason = \"so\"\n{question}");
        Rubric::parse(&OF_05.replacen(
            "[after]",
            &format!("[[prediction]]\n{question}\n[after]"),
            1,
        ))
    }

    #[test]
    fn every_kind_of_access_can_be_asked_about() {
        for (question, answer) in [
            ("access = \"ld\"\nbytes = 4\noffsets = [0, 128, 256]", 3),
            (
                "access = \"st\"\nbytes = 16\noffsets = [0, 128]\ncount = \"conflicts\"",
                1,
            ),
            (
                "access = \"ld.global\"\nbytes = 2\noffsets = [0, 2, 64]\ncount = \"sectors\"",
                2,
            ),
            (
                "access = \"st.global\"\nbytes = 16\noffsets = [16, 32]\ncount = \"sectors\"",
                2,
            ),
        ] {
            let rubric = asking(question).expect(question);
            assert_eq!(
                rubric.prediction.last().map(counted),
                Some(answer),
                "{question}"
            );
        }
    }

    #[test]
    fn what_is_no_access_is_refused() {
        for (question, says) in [
            ("access = \"ld\"\nbytes = 12\noffsets = [0]", "16 bytes"),
            ("access = \"ld\"\nbytes = 4\noffsets = []", "1 to 32 lanes"),
            ("access = \"ld\"\nbytes = 4\noffsets = [2]", "multiple of 4"),
            (
                "access = \"ld\"\nbytes = 4\noffsets = [4294967292]",
                "below",
            ),
            (
                "access = \"ldmatrix\"\nbytes = 16\noffsets = [0]",
                "8, 16 or 32 rows",
            ),
            (
                "access = \"ld\"\nbytes = 4\noffsets = [0]\ncount = \"sectors\"",
                "global memory's",
            ),
            (
                "access = \"ld.global\"\nbytes = 4\noffsets = [0]",
                "global memory's",
            ),
            ("access = \"ldx\"\nbytes = 4\noffsets = [0]", "ldx"),
        ] {
            let error = asking(question).expect_err(question);
            assert!(format!("{error:#}").contains(says), "{question}: {error:#}");
        }
    }
}
