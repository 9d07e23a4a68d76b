//! Grades the answers to an exam's questions, which all have the same points. Each number of a question counts
//! separately, and the explanation follows whether or not the answer was right.
use std::collections::BTreeMap;

use toml::{Table, Value};

use super::predict::judged;
use super::{Complaint, NO_MISTAKE, RubricItem};
use crate::exam::access::{Count, Op};
use crate::exam::{Question, sheet};
use crate::submission;

/// An item for each question, with `of` points in total, and complaints about the file itself.
pub fn judge(questions: &[Question], answers: &str, of: f64) -> (Vec<RubricItem>, Vec<Complaint>) {
    let refused = |what: String, hint: &str| {
        let item = RubricItem {
            name: "answers".into(),
            points: 0.0,
            of,
            why: vec!["they could not be graded: see below".into()],
            visible: true,
        };
        (
            vec![item],
            vec![Complaint::new(what, hint, "answers-not-read")],
        )
    };
    let answers: Table = match submission::toml(answers) {
        Ok(answers) => answers,
        Err(error) => {
            let hint = "every line is a name in brackets, such as [q01], or a name, = and a number";
            return refused(format!("the answers are not TOML: {error}"), hint);
        }
    };
    let name = sheet::name(questions);
    if let Some(other) = answers.get("sheet").and_then(Value::as_str)
        && other != name
    {
        let other: String = other.chars().take(20).collect();
        let what = format!(
            "these answers are for the sheet {other:?}, but the sheet {name:?} is being graded"
        );
        let hint = "are these the questions that you were given? A personal sheet is graded with the teacher's secret";
        return refused(what, hint);
    }
    let mut complaints = unknown(questions, &answers);
    complaints.extend(no_table(questions, &answers));
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

/// A complaint about keys that no question has.
fn unknown(questions: &[Question], answers: &Table) -> Vec<Complaint> {
    let mut names = Vec::new();
    for (key, value) in answers {
        match (
            questions.iter().find(|question| question.key == *key),
            value,
        ) {
            (None, _) if key == "sheet" => {}
            (None, _) => names.push(key.clone()),
            (Some(question), Value::Table(given)) => {
                let asked: Vec<&str> = question.answers().map(|(count, _)| count).collect();
                let others = given
                    .keys()
                    .filter(|count| !asked.contains(&count.as_str()));
                names.extend(others.map(|count| format!("{key}.{count}")));
            }
            (Some(_), _) => {}
        }
    }
    if names.is_empty() {
        return Vec::new();
    }
    let shown: Vec<String> = names
        .into_iter()
        .take(10)
        .map(|one| format!("{:?}", one.chars().take(40).collect::<String>()))
        .collect();
    let what = format!("no question asks for {}", shown.join(", "));
    let hint = "the keys are those of the form, answers.toml: is one misspelt?";
    vec![Complaint::new(what, hint, NO_MISTAKE)]
}

/// A complaint about a question whose answers are not below its name.
fn no_table(questions: &[Question], answers: &Table) -> Option<Complaint> {
    let asked = |key: &&String| questions.iter().any(|question| question.key == **key);
    let is_table = |key: &&String| answers.get(*key).is_some_and(Value::is_table);
    let key = answers.keys().filter(asked).find(|key| !is_table(key))?;
    let what = format!("{key} has no answers that can be read");
    let hint = format!(
        "below a line [{key}], each answer has a line of its own, as in the form, answers.toml"
    );
    Some(Complaint::new(what, &hint, "answers-not-read"))
}

/// An entry of the book's page of mistakes, and a question to think about.
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
            "at which of the eight places of 16 bytes is each row of one matrix?",
        ),
        Op::GlobalLoad | Op::GlobalStore => (
            "uncoalesced",
            "in which pieces of 32 bytes are a warp's first and last byte, and which pieces between them are not accessed?",
        ),
    }
}

/// The item of a question, and whether one of its numbers is wrong.
fn item(question: &Question, answers: &Table, each: f64) -> (RubricItem, bool) {
    let given = answers.get(&question.key);
    let mut why = Vec::new();
    let (mut right, mut answered, mut wrong) = (0, false, false);
    let mut miscounted = false;
    for (count, number) in question.answers() {
        let verdict = judged(given.and_then(|given| given.get(count)), number);
        right += u32::from(verdict.right);
        answered |= verdict.number;
        let is_wrong = verdict.number && !verdict.right;
        wrong |= is_wrong;
        miscounted |= is_wrong && count == Count::Conflicts.name();
        why.push(format!("{count}: {}", verdict.said));
    }
    // No explanation for a question that has not been answered.
    why.extend(answered.then(|| question.reason()));
    let rule =
        "conflicts are the wavefronts beyond one for each group of lanes that is served together";
    why.extend(miscounted.then(|| rule.into()));
    let item = RubricItem {
        name: question.key.clone(),
        points: each * f64::from(right) / question.answers().count().max(1) as f64,
        of: each,
        why,
        visible: true,
    };
    (item, wrong)
}
