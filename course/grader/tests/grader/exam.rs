//! Assignment 00 cannot be fooled: each answer counts separately, whatever is in its place, and each student can have
//! different questions. Nothing is compiled.
use std::fs;
use std::path::PathBuf;

use clap::Parser;
use grader::exam::{Question, questions};
use grader::grade::{Grade, Grader};
use grader::{Command, starters};

use crate::support::{read, root};

fn assignment() -> PathBuf {
    root().join("course/assignments/00_predict")
}

/// The rubric's public questions.
fn public() -> Vec<Question> {
    let rubric = read(&assignment().join("rubric.toml"));
    let number = |key: &str| {
        let line = rubric.lines().find_map(|line| line.strip_prefix(key));
        let number = line.and_then(|line| line.trim_start_matches([' ', '=']).parse().ok());
        number.unwrap_or_else(|| panic!("no {key} in the rubric"))
    };
    questions(number("seed"), number("questions") as u32).expect("questions")
}

fn key() -> String {
    read(&assignment().join("solution/answers.toml"))
}

fn graded(answers: &[u8], secret: Option<(&[u8], &str)>) -> Grade {
    let (secret, student) = secret.unwrap_or_default();
    let secret = (!secret.is_empty()).then(|| secret.to_vec());
    let grader = Grader::new(&assignment(), secret, || {
        panic!("nothing is to be compiled")
    });
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("answers.toml");
    fs::write(&file, answers).expect("a file");
    let grade = grader.expect("an assignment").grade(&file, student);
    grade.expect("a grade")
}

/// The key with other texts in place of the numbers, chosen by question, count and number.
fn changed(with: impl Fn(&Question, &str, u64) -> String) -> String {
    let table = |question: &Question| {
        let lines = question
            .answers()
            .map(|(count, number)| format!("{count} = {}\n", with(question, count, number)));
        format!("[{}]\n{}", question.key, lines.collect::<String>())
    };
    public().iter().map(table).collect()
}

fn of(question: &Question, count: &str) -> u64 {
    let mut answers = question.answers();
    let found = answers.find(|(name, _)| *name == count);
    found.map_or_else(|| panic!("{count} is not asked"), |(_, number)| number)
}

/// The points for those numbers that satisfy the predicate.
fn share(holds: impl Fn(&Question, &str, u64) -> bool) -> f64 {
    let questions = public();
    let of = |question: &Question| {
        let all = question.answers().count() as f64;
        let right = question
            .answers()
            .filter(|(count, number)| holds(question, count, *number));
        right.count() as f64 / all
    };
    100.0 * questions.iter().map(of).sum::<f64>() / questions.len() as f64
}

/// The emulator executes each question when it is generated and reports disagreement as an error: these are some
/// thousands.
#[test]
fn every_question_is_what_the_emulator_counts() {
    for seed in 0..100 {
        let all = questions(seed, 40).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
        assert_eq!(all.len(), 40);
        for question in &all {
            match question.answers().collect::<Vec<_>>()[..] {
                [("wavefronts", wavefronts), ("conflicts", conflicts)] => {
                    assert!(wavefronts > conflicts, "{question:?}");
                }
                [("sectors", sectors)] => assert!((1..=32).contains(&sectors), "{question:?}"),
                ref other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn the_key_gets_all_points_and_every_reason() {
    let grade = graded(key().as_bytes(), None);
    let text = grade.text("book");
    assert!(
        (grade.points() - 100.0).abs() < 1e-9 && grade.passed(),
        "{text}"
    );
    assert!(
        grade.complaints().is_empty() && text.contains("Why it worked"),
        "{text}"
    );
    let wrong = graded(
        changed(|_, _, number| (number + 1).to_string()).as_bytes(),
        None,
    );
    for (question, grade) in public()
        .iter()
        .flat_map(|question| [(question, &grade), (question, &wrong)])
    {
        let test = grade.items().iter().find(|test| test.name == question.key);
        assert!(test.is_some_and(|test| test.why.contains(&question.reason()) && test.visible));
    }
    assert_eq!((wrong.points(), wrong.passed()), (0.0, false));
}

/// Whatever replaces the answers gets the points that it deserves, and no more.
#[test]
fn every_mutation_gets_its_points() {
    let swapped = |question: &Question, count: &str, number: u64| match count {
        "wavefronts" => of(question, "conflicts"),
        "conflicts" => of(question, "wavefronts"),
        _ => number,
    };
    let number = |with: u64| changed(move |_, _, _| with.to_string());
    let text = |with: &str| changed(|_, _, _| with.into());
    let first = public()[0].key.clone();
    let without_first = key().replace(&format!("[{first}]"), "[another]");
    let mutations = [
        (
            "exchanged",
            changed(|q, count, n| swapped(q, count, n).to_string()),
            share(|q, count, n| swapped(q, count, n) == n),
        ),
        ("all_ones", number(1), share(|_, _, n| n == 1)),
        ("all_zeros", number(0), share(|_, _, n| n == 0)),
        ("all_four", number(4), share(|_, _, n| n == 4)),
        (
            "conflicts_are_wavefronts",
            changed(|q, count, n| match count {
                "conflicts" => of(q, "wavefronts").to_string(),
                _ => n.to_string(),
            }),
            share(|q, count, n| count != "conflicts" || of(q, "wavefronts") == n),
        ),
        ("one_too_many", changed(|_, _, n| (n + 1).to_string()), 0.0),
        ("negative", changed(|_, _, n| format!("-{}", n + 1)), 0.0),
        ("least", text("-9223372036854775808"), 0.0),
        ("most", text("9223372036854775807"), 0.0),
        // Truncated to 32 bits, this is the right number.
        (
            "off_by_two_to_the_32",
            changed(|_, _, n| (n + (1 << 32)).to_string()),
            0.0,
        ),
        ("more_than_64_bits", text("99999999999999999999"), 0.0),
        ("strings", changed(|_, _, n| format!("\"{n}\"")), 0.0),
        ("floats", changed(|_, _, n| format!("{n}.0")), 0.0),
        ("lists", changed(|_, _, n| format!("[{n}]")), 0.0),
        ("yes", text("true"), 0.0),
        ("hexadecimal", changed(|_, _, n| format!("{n:#x}")), 100.0),
        (
            "one_question_is_missing",
            without_first,
            100.0 - share(|q, _, _| q.key == first),
        ),
        (
            "wavefronts_only",
            changed(|_, count, n| {
                if count == "conflicts" {
                    "\"?\"".into()
                } else {
                    n.to_string()
                }
            }),
            share(|_, count, _| count != "conflicts"),
        ),
        (
            "no_table",
            public()
                .iter()
                .map(|question| format!("{} = 4\n", question.key))
                .collect(),
            0.0,
        ),
        ("twice", format!("{0}{0}", key()), 0.0),
        ("starter", read(&assignment().join("answers.toml")), 0.0),
        ("empty", String::new(), 0.0),
        ("no_toml", "= what?".into(), 0.0),
        (
            "prose",
            "I think that all of them are conflict-free.".into(),
            0.0,
        ),
        ("deep", format!("a = {}", "[".repeat(200_000)), 0.0),
        (
            "long",
            format!("# {}\n{}", "x".repeat(1 << 19), key()),
            100.0,
        ),
    ];
    for (name, answers, points) in mutations {
        let grade = graded(answers.as_bytes(), None);
        assert!(
            (grade.points() - points).abs() < 1e-6,
            "{name}: {points}\n{}",
            grade.text("book")
        );
        assert_eq!(grade.passed(), points >= 80.0, "{name}");
        let of: f64 = grade.items().iter().map(|test| test.of).sum();
        assert!((of - 100.0).abs() < 1e-6, "{name}");
        let results: serde_json::Value =
            serde_json::from_str(&grade.json("book").expect("JSON")).expect("JSON");
        let refused = ["more_than_64_bits", "twice", "no_toml", "prose", "deep"].contains(&name);
        // An error that affects the whole file is reported once.
        let items = if refused { 1 } else { public().len() };
        let tests = results["tests"].as_array().map(Vec::len);
        assert_eq!(tests, Some(items), "{name}");
        let complains = grade
            .complaints()
            .iter()
            .any(|one| one.what.contains("not TOML"));
        assert_eq!(complains, refused, "{name}");
    }
    let bytes: Vec<u8> = (0..=255).collect();
    assert_eq!(graded(&bytes, None).points(), 0.0);
    let open = graded(read(&assignment().join("answers.toml")).as_bytes(), None);
    for (question, test) in public().iter().zip(open.items()) {
        assert_eq!(
            test.why.len(),
            question.answers().count(),
            "no reason before an answer"
        );
    }
}

#[test]
fn unknown_names_are_reported() {
    let first = public()[0].key.clone();
    let misspelt = key().replacen(&format!("[{first}]"), "[another]", 1);
    let grade = graded(misspelt.as_bytes(), None);
    let told = |grade: &grader::grade::Grade, what: &str| {
        grade.complaints().iter().any(|one| one.what.contains(what))
    };
    assert!(
        told(&grade, "no question asks for \"another\""),
        "{}",
        grade.text("book")
    );
    assert!(!told(&graded(key().as_bytes(), None), "no question asks"));
    let no_table = graded(format!("{first} = 1").as_bytes(), None);
    let why = format!("{first} has no answers that can be read");
    assert!(told(&no_table, &why), "{}", no_table.text("book"));
    let hostile = graded(b"[\"\\u202e\\n=q\"]\n", None).text("book");
    assert!(hostile.contains(r#"asks for "\u{202e}\n=q""#), "{hostile}");
}

/// Right answers to other questions do not count.
#[test]
fn another_sheet_is_refused() {
    let sheet = key()
        .lines()
        .find(|line| line.starts_with("sheet"))
        .map(str::to_owned);
    let sheet = sheet.expect("a sheet");
    let other = key().replace(&sheet, "sheet = \"another\"");
    let grade = graded(other.as_bytes(), None);
    assert_eq!(grade.points(), 0.0, "{}", grade.text("book"));
    assert!(grade.complaints()[0].what.contains("the sheet"));
}

#[test]
fn every_student_has_different_questions() {
    let secret: &[u8] = b"a secret of the tests";
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let file = folder.join("secret");
    fs::write(&file, secret).expect("a file");
    let sheet = |student: &str| {
        let out = folder.join(student);
        let words = [
            "exam",
            "--secret",
            path(&file),
            "--student",
            student,
            "--out",
            path(&out),
        ];
        let assignment = assignment();
        run(&[&words[..], &["--assignment", path(&assignment)]].concat());
        ["questions.md", "key.toml", "answers.toml"].map(|name| read(&out.join(name)))
    };
    let [ada, bob, again] = ["ada", "bob", "ada"].map(sheet);
    assert_eq!(ada, again);
    assert_ne!(ada[0].replace("ada", "bob"), bob[0]);
    assert!(
        !ada[0].contains("seed") && !ada[2].contains("seed"),
        "a seed would give the key away"
    );
    for (student, own) in [("ada", &ada), ("bob", &bob)] {
        let grade = graded(own[1].as_bytes(), Some((secret, student)));
        assert!(
            (grade.points() - 100.0).abs() < 1e-9,
            "{}",
            grade.text("book")
        );
    }
    let copied = graded(ada[1].as_bytes(), Some((secret, "bob")));
    assert!(
        !copied.passed() && copied.complaints()[0].what.contains("the sheet"),
        "{}",
        copied.text("book")
    );
    let another = graded(ada[1].as_bytes(), Some((b"another secret of tests", "ada")));
    assert!(!another.passed());
}

fn path(path: &std::path::Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Runs `cargo ladder` with these words.
fn run(words: &[&str]) {
    let ladder = Ladder::parse_from([&["ladder"], words].concat());
    assert!(ladder.command.run().expect("an exam"));
}

#[derive(Parser)]
struct Ladder {
    #[command(subcommand)]
    command: Command,
}

#[test]
fn starters_are_what_solutions_and_questions_give() {
    let outdated = starters::outdated(root()).expect("assignments");
    let paths: Vec<_> = outdated.iter().map(|(path, _)| path).collect();
    assert!(paths.is_empty(), "`cargo ladder starters` writes {paths:?}");
}
