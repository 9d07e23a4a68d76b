//! An exam as files: questions and an answer form for students, a key for graders.
use sha2::{Digest, Sha256};

use super::Question;
use super::access::{Op, WarpAccess};
use super::families::Draft;

/// The placeholder for an answer in the form.
pub const OPEN: &str = "?";

/// The name and text of each file. `head` says how the questions were generated.
pub fn files(head: &str, questions: &[Question]) -> [(&'static str, String); 4] {
    let title = format!("# {} accesses\n\n{head}\n\n", questions.len());
    [
        ("questions.md", format!("{title}{HOW}\n{}", list(questions))),
        ("answers.toml", form(questions)),
        ("key.toml", key(questions)),
        ("key.md", format!("{title}{}", reasons(questions))),
    ]
}

/// Instructions for reading the questions.
const HOW: &str = "\
Each question is one instruction of one warp, lanes 0 to 31. Addresses are bytes from a multiple of 128; numbers are whole,
`/` drops the remainder, `%` keeps it, and `&`, `^`, `>>` are as in C. Of shared memory, how many wavefronts does the
instruction take, and how many of them are bank conflicts, beyond the ideal? Of global memory, how many sectors does it
touch? Write numbers in place of the `\"?\"` in answers.toml; each of them counts alone.
";

/// The questions, in Markdown.
pub fn list(questions: &[Question]) -> String {
    let one = |question: &Question| {
        let (key, Draft { story, access, .. }) = (&question.key, &question.draft);
        let formulas = access.formulas();
        let width = formulas.iter().map(|(name, _)| name.len());
        let width = width.max().unwrap_or(0);
        let line = |(name, formula)| format!("{name:width$} = {formula}\n");
        let formulas: String = formulas.into_iter().map(line).collect();
        let asked: Vec<&str> = question.answers().map(|(name, _)| name).collect();
        format!(
            "### {key}\n`{}` {}: {story}.\n\n```text\n{formulas}```\n\nHow many {}?\n",
            access.instruction(),
            what(access),
            asked.join(", how many ")
        )
    };
    questions.iter().map(one).collect::<Vec<_>>().join("\n")
}

fn what(access: &WarpAccess) -> String {
    let bytes = access.bytes;
    let plural = if bytes == 1 { "" } else { "s" };
    match (access.op, access.lanes) {
        (Op::Matrix, lanes) => {
            let (matrices, givers) = match lanes {
                8 => ("one 8x8 matrix", "lanes 0 to 7"),
                16 => ("two 8x8 matrices", "lanes 0 to 15"),
                _ => ("four 8x8 matrices", "all lanes"),
            };
            format!("reads {matrices}, whose rows' addresses {givers} give")
        }
        (Op::Load | Op::GlobalLoad, _) => format!("loads {bytes} byte{plural} a lane"),
        (Op::Store | Op::GlobalStore, _) => format!("stores {bytes} byte{plural} a lane"),
    }
}

/// The answer form.
pub fn form(questions: &[Question]) -> String {
    let open = |_| format!("\"{OPEN}\"");
    format!(
        "# A number in place of each \"{OPEN}\"; `sheet` says to which questions.\n{}",
        tables(questions, open)
    )
}

/// The completed form.
pub fn key(questions: &[Question]) -> String {
    tables(questions, |number| number.to_string())
}

fn tables(questions: &[Question], value: impl Fn(u64) -> String) -> String {
    let mut out = format!("sheet = \"{}\"\n", name(questions));
    for question in questions {
        out += &format!("\n[{}]\n", question.key);
        for (count, number) in question.answers() {
            out += &format!("{count} = {}\n", value(number));
        }
    }
    out
}

/// Identifies a sheet: a hash of the questions, without answers.
pub fn name(questions: &[Question]) -> String {
    let hash = Sha256::digest(list(questions));
    harness::hex(&hash[..4])
}

/// The answers with explanations, in Markdown.
fn reasons(questions: &[Question]) -> String {
    let one = |question: &Question| {
        let answers = question.answers();
        let answers = answers.map(|(count, number)| format!("{count} **{number}**"));
        let answers: Vec<String> = answers.collect();
        format!(
            "### {}\n{}, `{}`: {}\n\n{}\n",
            question.key,
            question.draft.access.instruction(),
            question.draft.access.address,
            answers.join(", "),
            question.reason()
        )
    };
    questions.iter().map(one).collect::<Vec<_>>().join("\n")
}
