//! What `cargo ladder export-course` writes: what students need, and no answers.
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use grader::export::{self, FileTree};

use crate::support::{self, assignments, folders, kernels, name, read, root};

const BOOK: &str = "https://example.org/book";

/// An export of this workspace, with the book at an address.
fn exported() -> &'static FileTree {
    static TREE: OnceLock<FileTree> = OnceLock::new();
    TREE.get_or_init(|| {
        let book = export::Book::find(root(), Some(BOOK)).expect("an address");
        export::course(root(), &book).expect("a course")
    })
}

fn text(path: &str) -> String {
    let found = exported().files().find(|(name, _)| *name == path);
    let (_, file) = found.unwrap_or_else(|| panic!("{path} is not exported"));
    String::from_utf8(file.bytes.clone()).unwrap_or_else(|_| panic!("{path} is no text"))
}

#[test]
fn students_get_what_they_build_and_what_they_begin_with() {
    let paths: BTreeSet<&str> = exported().files().map(|(path, _)| path).collect();
    let always = [
        ".cargo/config.toml",
        ".devcontainer/Dockerfile",
        ".devcontainer/devcontainer.json",
        ".gitattributes",
        ".github/grade.sh",
        ".github/handed_out.sha256",
        ".github/workflows/grade.yml",
        ".gitignore",
        "Cargo.lock",
        "Cargo.toml",
        "README.md",
        "rungs/05_swizzle/kernel.cu",
    ];
    for path in always {
        assert!(paths.contains(path), "{path} is not exported");
    }
    let readme = text("README.md");
    for assignment in assignments() {
        let name = name(&assignment);
        let of = |file: &str| format!("course/assignments/{name}/{file}");
        assert!(
            ["README.md", "rubric.toml", "hints.toml"]
                .iter()
                .all(|file| paths.contains(&*of(file))),
            "{name}"
        );
        assert!(
            readme.contains(&of("README.md")),
            "README.md does not list {name}"
        );
        let begun = ["kernel.cu", "answers.toml"].map(of);
        for file in begun.iter().filter(|file| root().join(file).exists()) {
            assert!(
                text(".github/handed_out.sha256").contains(file.as_str()),
                "{file}"
            );
        }
    }
}

/// What the book's commands compare predictions with: `time`, `bench`, `clock --experiments --recorded`, `tiles --check`.
const MEASURED: [&str; 4] = [
    "results/predictions.csv",
    "results/h200/bench.json",
    "results/h200/experiments.csv",
    "results/h200/tiles.csv",
];

#[test]
fn nothing_that_is_not_for_students_leaves() {
    for (path, _) in exported().files() {
        let first = path.split('/').next().unwrap_or_default();
        let known = ["common", "rungs"].contains(&first)
            || [
                "book/accesses/",
                "book/data/",
                "book/kernels/",
                "book/labs/",
            ]
            .iter()
            .any(|folder| path.starts_with(folder))
            || path.starts_with("tests/faults/")
            || path.starts_with("course/assignments/")
            || path.starts_with("course/grader/")
            || harness::ceilings::RECORDS
                .iter()
                .any(|(record, _)| path == *record)
            || harness::records::FILES.contains(&path)
            || MEASURED.contains(&path)
            || path.starts_with("results/h200/clocks/")
            || path.starts_with(".github/")
            || [".cargo", ".devcontainer"].contains(&first)
            || !path.contains('/');
        assert!(known, "{path}");
        for word in [
            "solution",
            "secret",
            "mutation",
            "calibration",
            "target/",
            ".cuda/",
        ] {
            assert!(!path.contains(word), "{path}");
        }
    }
}

/// Lines of a text, without trivial ones.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().map(str::trim);
    lines.filter(|line| line.len() > 24 && !line.starts_with("//"))
}

/// For each solution file, the lines that are in no rung and not in its starter; for solutions other than the
/// reference, in no starter at all, since they have the starters' helpers anywhere.
fn answers() -> BTreeMap<PathBuf, Vec<String>> {
    let rungs = folders(&root().join("rungs"));
    let public = rungs.iter().flat_map(|rung| kernels(rung));
    let faults = folders(&root().join("tests/faults"));
    let faults = faults.iter().flat_map(|class| kernels(class));
    let public: String = public.chain(faults).map(|kernel| read(&kernel)).collect();
    let starter = |assignment: &PathBuf| match assignment.join("solution/kernel.cu").exists() {
        true => support::starter(assignment),
        false => String::new(),
    };
    let starters: String = assignments().iter().map(starter).collect();
    let mut found = BTreeMap::new();
    for assignment in assignments() {
        let own = starter(&assignment);
        for solution in kernels(&assignment.join("solution")) {
            let known = match name(&solution) == "kernel.cu" {
                true => &own,
                false => &starters,
            };
            let text = read(&solution);
            let mine = lines(&text)
                .filter(|line| !known.contains(line) && !public.contains(line))
                .map(str::to_owned);
            found.insert(solution.clone(), mine.collect());
        }
        for name in ["prediction.toml", "diagnosis.toml"] {
            let answered = assignment.join("solution").join(name);
            if answered.exists() {
                let text = read(&answered);
                let answers = text.lines().map(str::trim);
                let answers = answers.filter(|line| line.contains(" = ") && !line.starts_with('#'));
                found.insert(answered, answers.map(str::to_owned).collect());
            }
        }
    }
    found
}

/// Whether the text occurs there as a whole number or name.
fn holds(text: &str, line: &str) -> bool {
    text.match_indices(line).any(|(at, _)| {
        let next = text[at + line.len()..].chars().next();
        !next.is_some_and(|next| next.is_alphanumeric() || next == '_')
    })
}

/// The commands on a page: those of directives and of predictions, and those in blocks for a terminal.
fn commands(page: &str) -> Vec<&str> {
    let after = move |start: &'static str| page.split(start).skip(1);
    let directives = ["{{#run ", "{{#figure ", "{{#number "].into_iter();
    let directives = directives.flat_map(after);
    let directives = directives.filter_map(|text| text.split(['|', '}']).next());
    let answers = after("run = \"").filter_map(|text| text.split('"').next());
    let all = directives.chain(answers).chain(page.lines()).map(str::trim);
    all.filter(|command| command.starts_with("cargo ") || command.starts_with("clocks "))
        .collect()
}

/// Every command that the book runs finds its files and its program in the students' repository, or README.md says
/// there that it does not.
#[test]
fn the_books_commands_run_in_the_export() {
    let elsewhere = [
        "cargo ladder calibrate",
        "cargo ladder clock --kernels",
        "cargo ladder sanitizers",
    ];
    let readme = text("README.md").replace('\n', " ");
    for command in elsewhere {
        assert!(readme.contains(command), "{command}");
    }
    let there: BTreeSet<&str> = exported().files().map(|(path, _)| path).collect();
    assert!(MEASURED.iter().all(|path| there.contains(path)));
    // A file, or a folder of exported files.
    let is_there = |word: &str| {
        there.contains(word) || there.iter().any(|path| Path::new(path).starts_with(word))
    };
    let manifests = exported().files();
    let manifests = manifests.filter(|(path, _)| path.ends_with("/Cargo.toml"));
    let programs: BTreeSet<String> = manifests
        .filter_map(|(_, file)| {
            let text = String::from_utf8(file.bytes.clone()).ok()?;
            let manifest: toml::Table = text.parse().ok()?;
            Some(manifest["package"]["name"].as_str()?.to_owned())
        })
        .collect();
    let mut checked = 0;
    for page in support::entries(&root().join("book/src")) {
        let Ok(page) = std::fs::read_to_string(&page) else {
            continue;
        };
        for command in commands(&page) {
            if elsewhere.iter().any(|other| command.starts_with(other)) {
                continue;
            }
            checked += 1;
            let words: Vec<_> = command.split_whitespace().collect();
            for (word, next) in words.iter().zip(words.iter().skip(1).chain([&""])) {
                let folders = [
                    "book/",
                    "calibration/",
                    "common/",
                    "course/",
                    "results/",
                    "rungs/",
                    "tests/",
                ];
                let is_path = folders.iter().any(|folder| word.starts_with(folder));
                assert!(!is_path || is_there(word), "{command}");
                assert!(*word != "-p" || programs.contains(*next), "{command}");
            }
        }
    }
    assert!(checked > 400, "{checked}");
}

/// The order of assignments is that of the list, in the exported README and in the teacher's guide.
#[test]
fn assignments_have_one_order() {
    let order = read(&root().join("course/assignments/order.txt"));
    let mut names: Vec<_> = order.lines().map(str::to_owned).collect();
    let at = |name: &String| text("README.md").find(&format!("assignments/{name}/README.md"));
    let places: Option<Vec<_>> = names.iter().map(at).collect();
    assert!(places.is_some_and(|places| places.is_sorted()), "{names:?}");

    let guide = read(&root().join("book/src/teaching.md"));
    let rows = guide.split("optional").skip(1).take(2);
    let rows = rows.filter_map(|row| row.split('|').next());
    let digits = |word: &str| word.len() == 2 && word.chars().all(|c| c.is_ascii_digit());
    let told: Vec<_> = rows
        .flat_map(|row| row.split(|c: char| !c.is_alphanumeric()))
        .filter(|word| digits(word))
        .map(str::to_owned)
        .collect();
    let optional = names.iter().skip_while(|name| !name.starts_with("06"));
    let optional: Vec<_> = optional.skip(1).map(|name| name[..2].to_owned()).collect();
    assert_eq!(told, optional);

    names.sort();
    let folders: Vec<_> = assignments().iter().map(|folder| name(folder)).collect();
    assert_eq!(names, folders);
}

#[test]
fn no_exported_file_holds_an_answer() {
    let answers = answers();
    assert!(answers.values().any(|lines| !lines.is_empty()));
    let mut found = Vec::new();
    for (path, file) in exported().files() {
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            continue;
        };
        for (of, lines) in &answers {
            // A variable there may have a prediction's name and value.
            let is_fault = path.starts_with("tests/faults/") && of.ends_with("prediction.toml");
            let told = lines.iter().filter(|line| !is_fault && holds(text, line));
            found.extend(told.map(|line| format!("{path} has a line of {}: {line}", of.display())));
        }
        if path.ends_with("/answers.toml") {
            let filled = |line: &&str| {
                line.split(" = ")
                    .nth(1)
                    .is_some_and(|it| it.parse::<f64>().is_ok())
            };
            found.extend(
                text.lines()
                    .find(filled)
                    .map(|line| format!("{path}: {line}")),
            );
        }
        let markers = path.starts_with("course/assignments/") && text.contains("//: ");
        assert!(!markers, "{path} has a solution's markers");
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_same_again_with_lines_that_end_as_on_linux() {
    let book = export::Book::find(root(), Some(BOOK)).expect("an address");
    assert_eq!(
        &export::course(root(), &book).expect("a course"),
        exported()
    );
    for (path, file) in exported()
        .files()
        .filter(|(path, _)| !path.ends_with(".bin"))
    {
        assert!(!file.bytes.contains(&b'\r'), "{path}");
    }
    let scripts = exported().files().filter(|(_, file)| file.executable);
    assert_eq!(
        scripts.map(|(path, _)| path).collect::<Vec<_>>(),
        [".github/grade.sh"]
    );
}

/// Placeholders are filled in, and links out of an assignment lead to existing files.
#[test]
fn templates_are_filled_in_and_links_lead_somewhere() {
    for (path, file) in exported().files() {
        let Ok(text) = std::str::from_utf8(&file.bytes) else {
            continue;
        };
        let ours = !["book/", "common/", "course/grader/", "rungs/", "tests/"]
            .iter()
            .any(|folder| path.starts_with(folder));
        assert!(!ours || !text.replace("${{", "").contains("{{"), "{path}");
        if !path.ends_with("README.md") || !ours {
            continue;
        }
        let folder = Path::new(path).parent().unwrap_or(Path::new(""));
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap_or_default();
            if let Some(page) = link.strip_prefix(BOOK) {
                let (page, section) = page.split_once('#').unwrap_or((page, ""));
                let source = page.trim_start_matches('/').replace(".html", ".md");
                let source = root().join("book/src").join(source);
                if source.ends_with("index.md") {
                    continue;
                }
                let has_it = read(&source).contains(&format!("{{#{section}}}"));
                assert!(section.is_empty() || has_it, "{path}: {link}");
            } else {
                let mut to = PathBuf::new();
                for part in folder
                    .join(link.split('#').next().unwrap_or_default())
                    .components()
                {
                    match part.as_os_str() == ".." {
                        true => drop(to.pop()),
                        false => to.push(part),
                    }
                }
                let to = to.to_string_lossy().replace('\\', "/");
                assert!(
                    exported().files().any(|(path, _)| path == to),
                    "{path}: {link}"
                );
            }
        }
    }
}

#[test]
fn workflow_and_container_can_be_read() {
    let json: serde_json::Value =
        serde_json::from_str(&text(".devcontainer/devcontainer.json")).expect("JSON");
    assert_eq!(json["build"]["dockerfile"], "Dockerfile");
    assert_eq!(json["postCreateCommand"], "cargo ladder get-nvrtc --ptxas");
    assert!(text(".devcontainer/Dockerfile").contains("\nFROM rust:"));

    let workflow = text(".github/workflows/grade.yml");
    let read = yaml_rust2::YamlLoader::load_from_str(&workflow).expect("YAML");
    let job = &read[0]["jobs"]["grade"];
    assert_eq!(job["runs-on"].as_str(), Some("ubuntu-latest"));
    let steps = job["steps"].as_vec().expect("steps");
    let runs: Vec<&str> = steps
        .iter()
        .filter_map(|step| step["run"].as_str())
        .collect();
    assert_eq!(runs.last(), Some(&"bash .github/grade.sh"));
    assert!(text(".github/grade.sh").contains("grade --untrusted"));
    assert_eq!(read[0]["permissions"]["contents"].as_str(), Some("read"));
}

/// Students have the explanations of predictions' answers, since their grader shows them, but cannot read them.
#[test]
fn explanations_of_answers_are_encrypted() {
    let path = "course/grader/src/grade/reasons.toml";
    let plain: toml::Table = read(&root().join(path)).parse().expect("TOML");
    let all: toml::Table = text(path).parse().expect("TOML");
    for (assignment, reasons) in &plain {
        for (key, reason) in reasons.as_table().expect("a table") {
            let reason = reason.as_str().expect("a text");
            let one = all[assignment][key].as_str().expect("a text");
            assert_eq!(one.len(), "encrypted ".len() + 2 * reason.len(), "{key}");
            for (path, _) in exported()
                .files()
                .filter(|(path, _)| path.starts_with("course/"))
            {
                assert!(
                    !path.ends_with(".toml") || !text(path).contains(reason),
                    "{path}: {key}"
                );
            }
        }
    }
}
