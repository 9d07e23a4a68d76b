use std::collections::BTreeSet;

use super::*;

fn exam(seed: u64, number: u32) -> Vec<Question> {
    questions(seed, number).expect("an exam")
}

/// Every question is checked by the emulator as it is made; these are some thousands.
#[test]
fn formulas_and_emulator_agree() {
    for seed in 0..100 {
        let all = exam(seed, 40);
        assert_eq!(all.len(), 40);
        for question in &all {
            let [(_, wavefronts), (_, conflicts)] = question.counts[..] else {
                assert_eq!(question.counts[0].0, Count::Sectors);
                continue;
            };
            assert!(wavefronts > conflicts, "{question:?}");
        }
    }
}

/// Whoever changes it changes what students of last year were asked.
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
            .map(|one| (one.access.op, one.access.bytes, &one.offsets))
            .collect();
        assert_eq!(different.len(), all.len());
    }
    assert!(questions(1, 0).is_err() && questions(1, MOST + 1).is_err());
}

/// No answer can be guessed: of any count, the most frequent number is right in less than half of the questions.
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

/// The reasons name lanes, rows and banks; what they conclude is for the student.
#[test]
fn reasons_tell_no_count() {
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
