//! `cargo ladder grade` cannot be fooled: solutions get all points, and cheats and mistakes lose the points that they
//! should, with the right complaint. Kernels are compiled here, so NVRTC is needed.
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

use grader::grade::{Grade, RubricItem};

use crate::bugs;
use crate::grading::{SECRET, assignments, graded, graded_for, grader, only, solution};
use crate::mutations::{Mutation, Mutations, Points};
use crate::recorded;
use crate::support::{self, has_nvrtc, name, on_all_cores, read};

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
        let mutations = part(mutations, WRONG, is_shown, |one| one.slow);
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

/// Of each assignment's wrong kernels, mistakes and cheats, so many are graded without `GEMM_WHOLE_SUITE=1`, besides those that the book
/// shows. With it, all are, and all right solutions, which takes twenty minutes longer: do so after a change of the grader or of a rubric.
const WRONG: usize = 2;

fn is_whole_suite() -> bool {
    std::env::var_os("GEMM_WHOLE_SUITE").is_some() || only().is_some()
}

/// All that must be there, and at most `most` of the others that are not slow, spread over the list.
fn part<T>(
    mut all: Vec<T>,
    most: usize,
    must: impl Fn(&T) -> bool,
    slow: impl Fn(&T) -> bool,
) -> Vec<T> {
    if is_whole_suite() {
        return all;
    }
    let count = all.len();
    all.retain(|one| must(one) || !slow(one));
    let others = all.iter().filter(|one| !must(one)).count();
    let mut at = 0;
    all.retain(|one| {
        let is_other = !must(one);
        at += usize::from(is_other);
        !is_other || at * most / others.max(most) > (at - 1) * most / others.max(most)
    });
    if all.len() < count {
        let part = all.len();
        let _ = writeln!(
            std::io::stderr(),
            "{part} of {count}: GEMM_WHOLE_SUITE=1 grades all"
        );
    }
    all
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
/// those that get a part of the mechanism's points. Without `GEMM_WHOLE_SUITE=1`, assignments take turns.
#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn every_student_gets_the_same_points_for_the_same_kernel() {
    if !has_nvrtc() {
        return;
    }
    let mut failed = Vec::new();
    for (number, assignment) in assignments().into_iter().enumerate() {
        let at_some = |one: &&Mutation| one.class.as_deref() == Some("only some launches");
        let all = Mutations::of(&assignment).mutation;
        let in_part = all.iter().find(|one| one.points.mechanism > 0.0);
        let at_some: Vec<_> = all.iter().filter(at_some).collect();
        let at_some = part(at_some, 1, |_| false, |one| one.slow);
        let mut shown: Vec<_> = at_some.into_iter().chain(in_part).collect();
        if !is_whole_suite() && shown.len() > 1 {
            shown.swap_remove(number % 2);
        }
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
        for one in bugs::mends(&assignment) {
            right.push((one.name(), one.text(&assignment)));
        }
        if other.is_file() {
            right.push(("other.cu".into(), read(&other)));
        }
        let name = assignment.display();
        let more = Mutations::of(&assignment).right;
        let known = right.len() + more.len();
        assert!(known >= 6, "{name} has {known} solutions");
        if is_whole_suite() {
            let more = more.iter();
            right.extend(more.map(|one| (one.name.clone(), one.text(&assignment))));
        }
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

/// Without `GEMM_WHOLE_SUITE=1`, tiles take turns.
#[test]
fn starters_compile_and_fail() {
    if !has_nvrtc() {
        return;
    }
    for (number, assignment) in assignments().into_iter().enumerate() {
        let starter = support::starter(&assignment);
        // Hidden launches follow the public ones, and a wrong one ends them before all tiles are compiled.
        let of_tile = |tile| grader(&assignment, Some(SECRET)).with_public_tile(tile);
        let mut graders: Vec<_> = (1..).map_while(|tile| of_tile(tile).ok()).collect();
        if !is_whole_suite() && !graders.is_empty() {
            graders = vec![graders.swap_remove(number % graders.len())];
        }
        assert!(!graders.is_empty(), "{}", assignment.display());
        for grader in graders {
            let grade = graded(&grader, &assignment, &starter);
            let text = grade.text("book");
            let name = assignment.display();
            assert!(!text.contains("does not compile"), "{name}: {text}");
            assert!(!text.contains("was not launched"), "{name}: {text}");
            assert!(!grade.passed(), "{name}: {text}");
        }
    }
}
