//! `cargo ladder grade` cannot be fooled: solutions get all points, and cheats and mistakes lose the points that they
//! should, with the right complaint. Kernels are compiled here, so NVRTC is needed.
use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use grader::grade::{Grade, Grader, RubricItem};
use harness::Nvrtc;

use crate::bugs;
use crate::mutations::{Mutation, Mutations, Points};
use crate::recorded;
use crate::support::{self, has_nvrtc, has_ptxas, is_timed, name, on_all_cores, read, root};

const SECRET: &[u8] = b"a secret of the tests";

/// The only assignment to grade, while you work on one: all others take minutes.
fn only() -> Option<String> {
    std::env::var("GEMM_ASSIGNMENT").ok()
}

/// Assignments that have a kernel.
pub fn assignments() -> Vec<PathBuf> {
    let mut all = support::assignments();
    all.retain(|folder| only().is_none_or(|only| only == name(folder)));
    all.retain(|folder| folder.join("solution/kernel.cu").is_file());
    all.retain(|folder| !is_timed(folder) || has_ptxas());
    all
}

fn swizzle() -> PathBuf {
    root().join("course/assignments/05_swizzle")
}

fn solution(assignment: &Path) -> String {
    read(&assignment.join("solution/kernel.cu"))
}

fn grader(assignment: &Path, secret: Option<&[u8]>) -> Grader {
    let compiler = || Ok(Box::new(Nvrtc::find()?) as Box<dyn harness::Compile>);
    Grader::new(assignment, secret.map(<[u8]>::to_vec), compiler).expect("a grader")
}

/// Grades a text with right predictions, in a temporary folder.
fn graded(grader: &Grader, assignment: &Path, text: &str) -> Grade {
    graded_for("student", grader, assignment, text)
}

fn graded_for(student: &str, grader: &Grader, assignment: &Path, text: &str) -> Grade {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    for name in ["prediction.toml", "diagnosis.toml"] {
        let answers = assignment.join("solution").join(name);
        if answers.is_file() {
            write(name, &read(&answers));
        }
    }
    write("kernel.cu", text);
    let kernel = folder.path().join("kernel.cu");
    grader.grade(&kernel, student).expect("a grade")
}

fn json(grade: &Grade) -> String {
    grade.json("book").expect("JSON")
}

/// The points of a grade, over all parts of the assignment.
fn points(grade: &Grade) -> Points {
    let of = |name: &str| {
        let tests = grade.items().iter();
        let parts = tests.filter(|test| test.name.rsplit(": ").next() == Some(name));
        parts.map(|test| test.points).sum()
    };
    Points {
        public: of("values at public sizes"),
        hidden: of("values at hidden sizes"),
        mechanism: of("mechanism"),
        sanitizer: of("sanitizer"),
    }
}

/// Rounded to a hundredth, as points are printed.
fn close(a: Points, b: Points) -> bool {
    let all = |p: Points| [p.public, p.hidden, p.mechanism, p.sanitizer];
    all(a)
        .iter()
        .zip(all(b))
        .all(|(a, b)| (a - b).abs() < 0.006)
}

fn all_points(grade: &Grade) -> bool {
    let full = |test: &RubricItem| (test.points - test.of).abs() < 1e-6;
    grade.items().iter().all(full) && grade.passed() && grade.complaints().is_empty()
}

/// The first and last mutation of each assignment.
#[test]
fn a_wrong_kernel_of_each_assignment_loses_points_for_the_right_reason() {
    // The next test grades these, too.
    let all_run = std::env::args().any(|argument| argument == "--include-ignored");
    if all_run || !has_nvrtc() {
        return;
    }
    let mut failed = Vec::new();
    for assignment in assignments() {
        let grader = grader(&assignment, Some(SECRET));
        let mutations = Mutations::of(&assignment).mutation;
        for one in mutations.iter().take(1).chain(mutations.last()) {
            let grade = graded(&grader, &assignment, &one.text(&assignment));
            failed.extend(differs(one, &grade).map(|why| format!("{assignment:?}, {why}")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn wrong_and_cheating_kernels_lose_points_for_the_right_reason() {
    if !has_nvrtc() {
        return;
    }
    let mut failed = Vec::new();
    let (shown, mut said) = (recorded::shown(), Vec::new());
    for assignment in assignments() {
        let grader = grader(&assignment, Some(SECRET));
        let folder = name(&assignment);
        let mut mutations = Mutations::of(&assignment).mutation;
        let is_shown = |one: &Mutation| shown.contains(&recorded::called(&folder, one));
        mutations.retain(|one| is_shown(one) || !recorded::recording());
        let mutations = part(mutations, MISTAKES, |one| {
            one.class.is_some() || is_shown(one)
        });
        let judged = on_all_cores(&mutations, |one| {
            let grade = graded(&grader, &assignment, &one.text(&assignment));
            let row = is_shown(one).then(|| recorded::row(&folder, one, &grade));
            (row, differs(one, &grade))
        });
        for (row, differs) in judged {
            said.extend(row);
            failed.extend(differs.map(|why| format!("{folder}, {why}")));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
    if only().is_some() {
        return;
    }
    recorded::check(&shown, &said);
}

/// The beginners' mistakes and the right solutions of each assignment that are graded without `GEMM_WHOLE_SUITE=1`. With it, all
/// are, which takes several minutes longer: do so after a change of the grader or of a rubric.
const MISTAKES: usize = 14;
const SOLUTIONS: usize = 8;

/// All that must be there, and so many of the others, spread over the list.
fn part<T>(all: Vec<T>, most: usize, must: impl Fn(&T) -> bool) -> Vec<T> {
    let others = all.iter().filter(|one| !must(one)).count();
    let whole = std::env::var_os("GEMM_WHOLE_SUITE").is_some() || only().is_some();
    if others <= most || whole {
        return all;
    }
    let _ = writeln!(
        std::io::stderr(),
        "{most} of {others}: GEMM_WHOLE_SUITE=1 grades all"
    );
    let mut at = 0;
    let mut is_taken = |one: &T| {
        let is_other = !must(one);
        at += usize::from(is_other);
        !is_other || at * most / others > (at - 1) * most / others
    };
    all.into_iter().filter(|one| is_taken(one)).collect()
}

/// What is wrong with the grade of a mutation, if anything.
fn differs(one: &Mutation, grade: &Grade) -> Option<String> {
    let mut found = grade.complaints().iter();
    let complains = found.clone().any(|other| other.what.contains(&one.says))
        && found.any(|other| other.mistake == one.mistake);
    let good = close(points(grade), one.points) && complains && !grade.passed();
    (!good).then(|| format!("{}: {:?}\n{}", one.name, points(grade), grade.text("book")))
}

/// Another secret and another student give the same points as those in `solution/`: of kernels that are right at some sizes only, and of
/// those that get a part of the mechanism's points.
#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn every_student_gets_the_same_points_for_the_same_kernel() {
    if !has_nvrtc() {
        return;
    }
    let mut failed = Vec::new();
    for assignment in assignments() {
        let at_some = |one: &&Mutation| one.class.as_deref() == Some("only some launches");
        let all = Mutations::of(&assignment).mutation;
        let in_part = all.iter().find(|one| one.points.mechanism > 0.0);
        let shown: Vec<_> = all.iter().filter(at_some).chain(in_part).collect();
        let grader = grader(&assignment, Some(b"another secret of the tests"));
        let judged = on_all_cores(&shown, |one| {
            let text = one.text(&assignment);
            let found = points(&graded_for("bob", &grader, &assignment, &text));
            let differs = !close(one.points, found);
            differs.then(|| format!("{assignment:?}, {}: {found:?}", one.name))
        });
        failed.extend(judged.into_iter().flatten());
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The minimum size of the whole suite.
#[test]
fn there_are_enough_of_them() {
    let count = |assignment: PathBuf| Mutations::of(&assignment).mutation.len();
    let all: usize = assignments().into_iter().map(count).sum();
    assert!(all >= 150, "{all}");
}

#[test]
fn right_kernels_get_all_points() {
    if !has_nvrtc() {
        return;
    }
    let mut failed = Vec::new();
    for assignment in assignments() {
        let grader = grader(&assignment, Some(SECRET));
        let solution = solution(&assignment);
        let other = assignment.join("solution/other.cu");
        let mut right = vec![("solution".to_owned(), solution.clone())];
        for one in part(Mutations::of(&assignment).right, SOLUTIONS, |_| false) {
            right.push((one.name.clone(), one.text(&assignment)));
        }
        for one in bugs::mends(&assignment) {
            right.push((one.name(), one.text(&assignment)));
        }
        if other.is_file() {
            right.push(("other.cu".into(), read(&other)));
        }
        let name = assignment.display();
        assert!(right.len() >= 6, "{name} has {} solutions", right.len());
        let judged = on_all_cores(&right, |(which, text)| {
            let grade = graded(&grader, &assignment, text);
            let text = grade.text("book");
            let good = all_points(&grade) && text.contains("Why it worked");
            (!good).then(|| format!("{name}, {which}: {text}"))
        });
        failed.extend(judged.into_iter().flatten());
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Each class of cheats has more than one case.
#[test]
fn every_class_of_cheats_has_three_members() {
    let mut classes = BTreeMap::<String, usize>::new();
    for assignment in assignments() {
        for one in Mutations::of(&assignment).mutation {
            *classes.entry(one.class.unwrap_or_default()).or_default() += 1;
        }
    }
    assert!(classes.len() > 12, "{classes:?}");
    let few: Vec<_> = classes.iter().filter(|(_, count)| **count < 3).collect();
    assert!(few.is_empty(), "{few:?}");
}

#[test]
fn starters_compile_and_fail() {
    if !has_nvrtc() {
        return;
    }
    for assignment in assignments() {
        let starter = support::starter(&assignment);
        // Hidden launches follow the public ones, and a wrong one ends them before all tiles are compiled.
        for tile in 1.. {
            let grader = grader(&assignment, Some(SECRET)).with_public_tile(tile);
            let Ok(grader) = grader else { break };
            let grade = graded(&grader, &assignment, &starter);
            let text = grade.text("book");
            let name = assignment.display();
            assert!(!text.contains("does not compile"), "{name}: {text}");
            assert!(!text.contains("was not launched"), "{name}: {text}");
            assert!(!grade.passed(), "{name}: {text}");
        }
    }
}

#[test]
fn a_grade_is_the_same_again_and_names_what_it_rests_on() {
    if !has_nvrtc() {
        return;
    }
    let two_way = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let grader = grader(&swizzle(), None);
    let [one, other] = [(); 2].map(|()| graded(&grader, &swizzle(), &two_way));
    assert_eq!(one.text("book"), other.text("book"));
    assert_eq!(json(&one), json(&other));
    let results: serde_json::Value = serde_json::from_str(&json(&one)).expect("JSON");
    assert_eq!(results["score"], 79.0, "{}", one.text("book"));
    let extra = &results["extra_data"];
    let compiler = extra["compiler"].as_str().unwrap_or_default();
    assert!(
        compiler.starts_with("NVRTC 1") && compiler.matches('.').count() == 2,
        "{compiler}"
    );
    assert_eq!(extra["rubric_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(extra["submission_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(extra["grader"], "16");
    let tests = results["tests"].as_array().expect("tests");
    let sum: f64 = tests.iter().filter_map(|test| test["score"].as_f64()).sum();
    assert!((sum - 79.0).abs() < 1e-9);
    let hidden = tests
        .iter()
        .filter(|test| test["visibility"] == "after_published");
    assert_eq!(hidden.count(), 1);
}

/// Only success and tile are disclosed for a hidden launch: another secret, with different sizes and numbers, gives the
/// same text.
#[test]
fn hidden_launches_are_not_revealed() {
    if !has_nvrtc() {
        return;
    }
    let graded = |name: &str, secret: &[u8]| {
        let all = Mutations::of(&swizzle()).mutation;
        let one = all.iter().find(|one| one.name == name).expect(name);
        let grade = graded(
            &grader(&swizzle(), Some(secret)),
            &swizzle(),
            &one.text(&swizzle()),
        );
        let text = grade.text("book") + &grade.text("book");
        assert!(text.contains("hidden size"), "{name}: {text}");
        let lines = text.lines().filter(|line| !line.starts_with("grader "));
        lines.collect::<Vec<_>>().join("\n")
    };
    for name in ["right_for_the_public_seed_only", "b_in_two_turns"] {
        let [one, other] = [SECRET, b"another secret of the tests"].map(|of| graded(name, of));
        assert_eq!(one, other);
    }
}

/// The points that later launches could give are lost.
#[test]
fn no_launch_follows_a_wrong_hidden_one() {
    if !has_nvrtc() {
        return;
    }
    let all = Mutations::of(&swizzle()).mutation;
    let is_it = |one: &&Mutation| one.name == "right_for_the_public_seed_only";
    let one = all.iter().find(is_it).expect("such a cheat");
    let grader = grader(&swizzle(), Some(SECRET));
    let grade = graded(&grader, &swizzle(), &one.text(&swizzle()));
    let right: Vec<_> = grade.launches().iter().map(|one| one.right).collect();
    let mut from_wrong = right.iter().skip_while(|right| **right == Some(true));
    assert_eq!(from_wrong.next(), Some(&Some(false)), "{right:?}");
    assert!(from_wrong.clone().count() > 1, "{right:?}");
    assert!(from_wrong.all(Option::is_none), "{right:?}");
    let text = grade.text("book");
    assert!(text.contains(": no launch after it"), "{text}");
}

#[test]
fn lines_where_warps_of_a_deadlock_wait_are_shown() {
    if !has_nvrtc() {
        return;
    }
    let acc = "    float acc[WM / 16][WN / 8][4] = {};";
    let barrier = r#"if (threadIdx.x >= 32) asm volatile("bar.sync 1, %0;" :: "n"(THREADS));"#;
    let text = solution(&swizzle()).replace(acc, &format!("{acc}\n    {barrier}"));
    let grade = graded(&grader(&swizzle(), None), &swizzle(), &text);
    let text = grade.text("book");
    assert!(text.contains(" threads have arrived"), "{text}");
    for line in [barrier, "__syncthreads();"] {
        assert!(text.contains(&format!(": {line}\n")), "{line}: {text}");
    }
}

/// ptxas ignores a `setmaxnreg` that leaves a warp too few registers, whether for a `wgmma` (24) or for what else it holds
/// (104). C is right, so that this costs no points.
#[test]
fn setmaxnreg_below_what_is_in_use() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    let specialized = root().join("course/assignments/11_specialized");
    let solution = solution(&specialized);
    let grader = grader(&specialized, None);
    let with = |registers: u32| {
        let loops = "    for (int step = 0; step < steps; ++step) {\n        const int round = step / STAGES, from";
        let gives =
            format!("    asm volatile(\"setmaxnreg.dec.sync.aligned.u32 {registers};\");\n{loops}");
        assert!(solution.contains(loops));
        graded(&grader, &specialized, &solution.replacen(loops, &gives, 1))
    };
    let ignores = "ptxas ignores each setmaxnreg of this kernel";
    for registers in [24, 104] {
        let grade = with(registers);
        let text = grade.text("book");
        assert!(grade.passed() && text.contains(ignores), "{text}");
    }
    let text = with(144).text("book");
    assert!(!text.contains("setmaxnreg"), "{text}");
}

/// What the compiler warns about in a header is not the student's mistake.
#[test]
fn warnings_of_headers_are_not_shown() {
    if !has_nvrtc() {
        return;
    }
    let wrong = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let with_header = format!("#include <cooperative_groups/memcpy_async.h>\n{wrong}");
    let first = |text: &str| {
        let grade = graded(&grader(&swizzle(), None), &swizzle(), text);
        grade.complaints()[0].mistake.clone()
    };
    assert_eq!(first(&with_header), "conflicts-on-ldmatrix");
    let own = with_header.replace("// Where am I?", "M == N;\n    // Where am I?");
    assert_eq!(first(&own), "compiler-warning");
}

/// A call that the clock cannot follow has a hint of its own.
#[test]
fn the_hint_of_an_indirect_call() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    let faster = root().join("course/assignments/12_faster");
    let all = Mutations::of(&faster).mutation;
    let is_called = |one: &&Mutation| one.name == "copies_by_a_pointer";
    let called = all.iter().find(is_called).expect("such a cheat");
    let text = graded(&grader(&faster, None), &faster, &called.text(&faster)).text("book");
    let hint = "hint: which function is called by a pointer, or which `switch` has many cases?";
    assert!(text.contains(hint), "{text}");
}

/// Clocks, bounds and sizes in the text of a timed assignment are those of a run and of its rubric.
#[test]
fn numbers_of_a_timed_assignment_are_so() {
    if !has_nvrtc() || !has_ptxas() {
        return;
    }
    for assignment in assignments().into_iter().filter(|one| is_timed(one)) {
        let readme = read(&assignment.join("README.md"));
        let rubric: toml::Table = read(&assignment.join("rubric.toml")).parse().expect("TOML");
        let has = |text: String| assert!(readme.contains(&text), "README.md lacks {text:?}");
        let number = |value: &toml::Value| {
            harness::thousands(value.as_integer().expect("whole").unsigned_abs())
        };
        let degrees = rubric["measure"][0]["degree"].as_array().expect("degrees");
        for degree in degrees {
            let credit = degree["credit"].as_float().expect("a fraction");
            has(format!(
                "| {} | {:.0}% |",
                number(&degree["at_most"]),
                100.0 * credit
            ));
        }
        has(format!("less than {}:", number(&degrees[0]["at_most"])));
        has(format!(
            "at most {} bytes",
            number(&rubric["tile"][0]["shared_bytes"])
        ));
        let starter = support::starter(&assignment);
        let text = graded(&grader(&assignment, None), &assignment, &starter).text("book");
        let clocks = text
            .split(" clocks are predicted")
            .next()
            .and_then(|text| text.rsplit(' ').next());
        let clocks: u64 = clocks
            .expect("clocks")
            .replace(',', "")
            .parse()
            .expect("a number");
        has(format!(
            "The starter takes {}.",
            harness::thousands((clocks + 500) / 1000 * 1000)
        ));
        let timed = rubric["sizes"]["timed"].as_str().expect("a size");
        let command = "time --kernel my_kernel.cu --size ";
        for text in [&readme, &starter, &solution(&assignment)] {
            let mut sizes = text.split(command).skip(1).peekable();
            assert!(
                sizes.peek().is_some() && sizes.all(|size| size.starts_with(timed)),
                "{text}"
            );
        }
    }
}

/// A line of an inlined function is quoted with the call, and a deadlock names its mbarriers.
#[test]
fn lines_of_inlined_functions_and_mbarriers_are_named() {
    if !has_nvrtc() {
        return;
    }
    let ring = root().join("course/assignments/10_ring");
    let says = |name: &str| {
        let all = Mutations::of(&ring).mutation;
        let one = all.iter().find(|one| one.name == name).expect(name);
        graded(&grader(&ring, None), &ring, &one.text(&ring)).text("book")
    };
    let text = says("releases_a_stage_before_it_is_read");
    let quoted = "  line 166: tma_load(s.stages[stage].A, A, step * BK, tileRow, &s.full[stage]);\n  in `load`, called from line 196: load(step, step % STAGES);\n";
    assert!(text.contains(quoted), "{text}");
    let text = says("the_producer_waits_for_the_other_parity");
    let named = "waits at kernel.cu:195 for phase 0 (parity 0) of mbarrier s + 0x9018 (index 0 of the 3 initialized at kernel.cu:155): 4 of 4 \
         arrivals pending";
    assert!(text.contains(named), "{text}");
}

/// Wavefronts that no conflict explains have a line, too.
#[test]
fn the_line_of_most_wavefronts_is_named() {
    if !has_nvrtc() {
        return;
    }
    let all = Mutations::of(&swizzle()).mutation;
    let one = all
        .iter()
        .find(|one| one.name == "reads_the_same_rows_again")
        .expect("a mutation");
    let text = graded(&grader(&swizzle(), None), &swizzle(), &one.text(&swizzle())).text("book");
    let most = "the multiplied elements fill\n  most of them by ldmatrix";
    assert!(text.contains(most) && text.contains(" in line "), "{text}");
}

/// Only the launch bounds of the kernel that is launched count.
#[test]
fn launch_bounds_of_another_kernel_do_not_count() {
    if !has_nvrtc() {
        return;
    }
    let bounds = "extern \"C\" __global__ void __launch_bounds__(";
    let of_other = format!("{bounds}1024) other() {{}}\n\n{bounds}");
    let two_way = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 3)");
    let text = two_way.replace(bounds, &of_other);
    assert_ne!(text, two_way);
    let text = graded(&grader(&swizzle(), None), &swizzle(), &text).text("book");
    assert!(text.contains("conflict"), "{text}");
    assert!(!text.contains("__launch_bounds__"), "{text}");
}

#[test]
fn what_a_kernel_prints_is_shown() {
    if !has_nvrtc() {
        return;
    }
    let acc = "    float acc[WM / 16][WN / 8][4] = {};";
    let prints = format!(
        "{acc}\n    if (threadIdx.x == 3 && blockIdx.x == 0) printf(\"row %d\\n\\x1b[2J\", myRow);"
    );
    let text = solution(&swizzle()).replace(acc, &prints);
    let grade = graded(&grader(&swizzle(), None), &swizzle(), &text);
    let text = grade.text("book");
    assert!(
        text.contains("printed at 64x32x32:\n  row 0\n  \u{fffd}[2J\n"),
        "{text}"
    );
}

#[test]
fn starters_hold_no_answer() {
    for assignment in assignments() {
        let starter = support::starter(&assignment);
        assert!(
            !starter.contains("//:") && !starter.contains("row >> 1"),
            "{}",
            assignment.display()
        );
    }
}

/// Every page that a complaint links to exists.
#[test]
fn complaints_link_to_mistakes_of_the_book() {
    let book = read(&root().join("book/src/mistakes.md"));
    let is_there = |word: &str| book.contains(&format!("{{#{word}}}"));
    let grade = root().join("course/grader/src/grade");
    let mut found = 0;
    for file in [
        "advice.rs",
        "answers.rs",
        "clock.rs",
        "diagnosis.rs",
        "fragment.rs",
        "diagnose.rs",
        "mechanism.rs",
        "misplaced.rs",
        "mod.rs",
        "pipeline.rs",
        "probe.rs",
        "sanitizer.rs",
        "values.rs",
        "warnings.rs",
    ] {
        for word in quoted(&grade.join(file)) {
            let is_option = word.starts_with('-');
            let is_anchor = word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            if word.contains('-') && is_anchor && !is_option {
                assert!(is_there(&word), "{file}: no {word} in mistakes.md");
                found += 1;
            }
        }
    }
    assert!(found > 8, "{found}");
    for assignment in assignments() {
        let rubric: toml::Table = read(&assignment.join("rubric.toml")).parse().expect("TOML");
        if let Some(mistake) = rubric
            .get("wrong")
            .and_then(|wrong| wrong["mistake"].as_str())
        {
            assert!(is_there(mistake), "{}: {mistake}", assignment.display());
        }
    }
}

fn quoted(path: &Path) -> Vec<String> {
    read(path)
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

/// Counters end with the launch: after a fault they do not tell what the kernel would have executed.
#[test]
fn after_a_fault_nothing_is_said_of_later_waits() {
    if !has_nvrtc() {
        return;
    }
    let text = solution(&swizzle()).replace("(row >> 1 & 3)", "(row & 7)");
    let text = graded(&grader(&swizzle(), None), &swizzle(), &text).text("book");
    assert!(
        text.contains("out of bounds") && text.contains("Race"),
        "{text}"
    );
    assert!(!text.contains("no wait for copies"), "{text}");
}
