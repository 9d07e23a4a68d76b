use std::collections::BTreeSet;

use super::*;

fn exam(seed: u64, number: u32) -> Vec<Question> {
    questions(seed, number).expect("an exam")
}

/// If this changes, so do the questions that earlier students got.
#[test]
fn the_same_everywhere() {
    let questions = exam(7, 17);
    let files = sheet::files("seed 7", &questions);
    let text: Vec<String> = files.map(|(name, text)| format!("{name}:\n{text}")).into();
    insta::assert_snapshot!(text.join("\n"));
    assert_eq!(
        exam(7, 5)[..],
        questions[..5],
        "a shorter exam is its beginning"
    );
}

#[test]
fn questions_do_not_repeat() {
    for seed in 0..10 {
        let all = exam(seed, MOST);
        let different: BTreeSet<_> = all
            .iter()
            .map(|one| (one.op(), one.draft.access.bytes, &one.offsets))
            .collect();
        assert_eq!(different.len(), all.len());
    }
    assert!(questions(1, 0).is_err() && questions(1, MOST + 1).is_err());
}

/// No answer can be guessed: for any count, the most frequent number is right in less than half of the questions.
#[test]
fn no_number_is_right_everywhere() {
    let all: Vec<Question> = (0..30).flat_map(|seed| exam(seed, 20)).collect();
    for count in ["wavefronts", "conflicts", "sectors"] {
        let answers: Vec<u64> = all
            .iter()
            .flat_map(|one| {
                one.answers()
                    .filter(|(name, _)| *name == count)
                    .map(|(_, number)| number)
            })
            .collect();
        let most = answers
            .iter()
            .map(|one| answers.iter().filter(|other| *other == one).count())
            .max();
        assert!(
            most.is_some_and(|most| 2 * most < answers.len()),
            "{count}: {most:?} of {}",
            answers.len()
        );
    }
}

/// Explanations name lanes, rows and banks; the conclusion is left to the student.
#[test]
fn reasons_reveal_no_count() {
    for question in (0..30).flat_map(|seed| exam(seed, 20)) {
        let reason = question.reason();
        for (count, number) in question.answers() {
            for telling in [
                format!("{number} {count}"),
                format!("{number}-way"),
                format!("degree {number}"),
            ] {
                assert!(!reason.contains(&telling), "{reason}");
            }
        }
    }
}

/// Explanations are derived from a family's numbers, not from the bank model, and must agree with it.
#[test]
fn reasons_agree_with_the_counts() {
    let meet = [
        "is back at",
        "is on banks of run 0",
        "Rows that differ only in",
    ];
    let apart = [
        "before one comes back",
        "are in different banks",
        "no two of these runs",
        "so no two lanes meet",
        "same word, which is served once",
        "changes their order in it and nothing else",
    ];
    for question in (0..60).flat_map(|seed| exam(seed, 20)) {
        let conflicts = question.answers().find(|(count, _)| *count == "conflicts");
        let Some((_, conflicts)) = conflicts else {
            continue;
        };
        let says = |words: &[&str]| {
            words
                .iter()
                .any(|words| question.draft.reason.contains(words))
        };
        assert_eq!(
            (says(&meet), says(&apart)),
            (conflicts > 0, conflicts == 0),
            "{question:?}"
        );
    }
}
