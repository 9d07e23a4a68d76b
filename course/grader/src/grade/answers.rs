//! Answers to an exam's questions, which all have the same points: each of a question's numbers counts alone, and the
//! reason follows whatever the answer was.
use std::collections::BTreeMap;

use toml::{Table, Value};

use super::predict::judged;
use super::{Complaint, NO_MISTAKE, RubricItem};
use crate::exam::access::Op;
use crate::exam::{Question, sheet};
use crate::submission;

/// An item for each question, with `of` points for all of them, and what is wrong with the file itself.
pub fn judge(questions: &[Question], answers: &str, of: f64) -> (Vec<RubricItem>, Vec<Complaint>) {
    let mut complaints = Vec::new();
    let answers: Table = match submission::toml(answers) {
        Ok(answers) => answers,
        Err(error) => {
            let hint = "every line is a name in brackets, such as [q01], or a name, = and a number";
            let what = format!("the answers are no TOML: {error}");
            complaints.push(Complaint::new(what, hint, NO_MISTAKE));
            Table::new()
        }
    };
    let name = sheet::name(questions);
    if let Some(other) = answers.get("sheet").and_then(Value::as_str)
        && other != name
    {
        let other: String = other.chars().take(20).collect();
        let what =
            format!("these are answers to the sheet {other:?}; graded were those to {name:?}");
        let hint = "are these the questions that you were given? a sheet of your own is graded with a secret";
        complaints.push(Complaint::new(what, hint, NO_MISTAKE));
    }
    let each = of / questions.len().max(1) as f64;
    let mut wrong = BTreeMap::<_, Vec<&str>>::new();
    let items = questions.iter().map(|question| {
        let (item, is_wrong) = item(question, &answers, each);
        if is_wrong {
            let keys = wrong.entry(where_to_read(question.op())).or_default();
            keys.push(&question.key);
        }
        item
    });
    let items = items.collect();
    complaints.extend(wrong.into_iter().map(|((mistake, hint), keys)| {
        let what = format!("{}: not the number", keys.join(", "));
        Complaint::new(what, hint, mistake)
    }));
    (items, complaints)
}

/// A mistake of the book, and what to ask oneself.
fn where_to_read(op: Op) -> (&'static str, &'static str) {
    match op {
        Op::Load => (
            "conflicts-on-loads",
            "which lanes are served together, and how many different words must the fullest bank give them?",
        ),
        Op::Store => (
            "conflicts-on-stores",
            "which lanes are served together, and how many different words does the fullest bank take from them?",
        ),
        Op::Matrix => (
            "conflicts-on-ldmatrix",
            "at which of the eight places of 16 bytes does each row of one matrix lie?",
        ),
        Op::GlobalLoad | Op::GlobalStore => (
            "uncoalesced",
            "in which pieces of 32 bytes do a warp's first and last byte lie, and which between them are left out?",
        ),
    }
}

/// And whether one of its numbers is wrong.
fn item(question: &Question, answers: &Table, each: f64) -> (RubricItem, bool) {
    let given = answers.get(&question.key);
    let mut why = Vec::new();
    let (mut right, mut answered, mut wrong) = (0, false, false);
    for (count, number) in question.answers() {
        let verdict = judged(given.and_then(|given| given.get(count)), number);
        right += u32::from(verdict.right);
        answered |= verdict.number;
        wrong |= verdict.number && !verdict.right;
        why.push(format!("{count}: {}", verdict.said));
    }
    // Who has not tried yet shall.
    why.extend(answered.then(|| question.reason()));
    let item = RubricItem {
        name: question.key.clone(),
        points: each * f64::from(right) / question.answers().count().max(1) as f64,
        of: each,
        why,
        visible: true,
    };
    (item, wrong)
}
