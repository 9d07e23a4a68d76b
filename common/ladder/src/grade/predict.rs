//! The student's predictions against what the emulator counts.
use anyhow::{Context, Result};
use emulator::{LANES, SharedAccess, shared_wavefronts};

use super::Test;
use super::rubric::{Prediction, Rubric};

/// The line of the table; none if nothing is asked.
pub fn test(rubric: &Rubric, answers: Option<&str>) -> Option<Test> {
    let of = rubric.points.prediction;
    if rubric.prediction.is_empty() {
        return None;
    }
    let (right, why) = match check(rubric, answers) {
        Ok(checked) => checked,
        Err(error) => (0, vec![format!("{error:#}")]),
    };
    Some(Test {
        name: "prediction".into(),
        points: of * right as f64 / rubric.prediction.len() as f64,
        of,
        why,
        visible: true,
    })
}

/// How many answers are right, and a line about each question.
fn check(rubric: &Rubric, answers: Option<&str>) -> Result<(usize, Vec<String>)> {
    let Some(answers) = answers else {
        let what = "there is no prediction.toml beside the kernel: README.md has the questions";
        return Ok((0, vec![what.into()]));
    };
    let answers: toml::Table = answers.parse().context("prediction.toml is no TOML")?;
    let mut right = 0;
    let lines = rubric.prediction.iter().map(|question| {
        let found = answers.get(&question.key).and_then(toml::Value::as_integer);
        let Prediction { key, reason, .. } = question;
        let question_text = &question.question;
        match found {
            Some(answer) if u64::try_from(answer) == Ok(wavefronts(question)) => {
                right += 1;
                format!("{key}: {answer} is right: {reason}")
            }
            Some(answer) => {
                format!("{key}: {answer} is not it ({question_text}): draw the eight rows into the banks")
            }
            None => format!("{key}: no number ({question_text})"),
        }
    });
    let lines = lines.collect();
    Ok((right, lines))
}

/// The answer.
fn wavefronts(question: &Prediction) -> u64 {
    let mut addresses = [0; LANES];
    addresses[..8].copy_from_slice(&question.offsets);
    shared_wavefronts(SharedAccess::Matrix, 16, &addresses, 0xff).wavefronts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_counts_alone() {
        let text = include_str!("../../../../assignments/05_swizzle/rubric.toml");
        let rubric = Rubric::parse(text).expect("a rubric");
        let answers: Vec<u64> = rubric.prediction.iter().map(wavefronts).collect();
        assert_eq!(answers, [4, 2, 1]);
        let right = |text| check(&rubric, Some(text)).expect("TOML").0;
        assert_eq!(right("plain = 4\nrow_and_3 = 2\npadded = 1"), 3);
        assert_eq!(right("plain = 4\nrow_and_3 = -2\npadded = \"1\""), 1);
        assert_eq!(right(""), 0);
        assert_eq!(check(&rubric, None).expect("none").0, 0);
        assert!(check(&rubric, Some("=")).is_err());
    }
}
