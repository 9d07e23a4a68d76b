//! Every assignment has three meaningful hints that reveal no line of the solution, and students get them.
use grader::watch::hints::{FILE, Hints};

use crate::support::{assignments, kernels, read};

/// The shortest line that is significant; shorter ones are braces and the like.
const SAYS_SOMETHING: usize = 12;

#[test]
fn every_assignment_has_three() {
    for assignment in assignments() {
        let hints = Hints::read(&assignment).unwrap_or_else(|error| panic!("{error:#}"));
        let levels = hints.levels();
        assert!(
            levels[0].contains('?'),
            "{}: the first is a question",
            assignment.display()
        );
        assert!(
            levels[0].len() < levels[2].len(),
            "{}: the last says most",
            assignment.display()
        );
    }
}

#[test]
fn none_has_a_line_of_a_solution() {
    for assignment in assignments() {
        let hints = read(&assignment.join(FILE));
        let hints = hints.split_whitespace().collect::<String>();
        for solution in kernels(&assignment.join("solution")) {
            for line in read(&solution).lines() {
                let line = line.split("//").next().unwrap_or_default();
                let bare = line.split_whitespace().collect::<String>();
                let told = bare.len() >= SAYS_SOMETHING && hints.contains(&bare);
                assert!(!told, "{}: {line}", assignment.display());
            }
        }
    }
}
