//! The findings of a run: written by the child process that grades, one line of JSON per stage, and read by the process
//! that watches.
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::grade::{Complaint, Grade, LaunchOutcome, RubricItem};

/// The launches that a report covers.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub enum Stage {
    /// The public sizes.
    Public,
    /// All graded launches.
    All,
}

/// The findings at one stage of a run.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct RunReport {
    pub stage: Stage,
    /// Name of the assignment.
    pub assignment: String,
    pub passed: bool,
    pub points: f64,
    /// Points at this stage.
    pub of: f64,
    /// Points required to pass, when everything is graded.
    pub pass: f64,
    pub items: Vec<Item>,
    pub launches: Vec<Launch>,
    pub complaints: Vec<Reported>,
    pub profile: Option<String>,
    pub printed: Option<String>,
    pub after: Option<String>,
}

/// A row of the grade.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Item {
    pub name: String,
    pub points: f64,
    pub of: f64,
    pub why: Vec<String>,
}

/// A launch.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Launch {
    pub name: String,
    /// None if the launch did not take place.
    pub right: Option<bool>,
    pub clean: bool,
}

/// A complaint, with links that the student can open.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Reported {
    pub what: String,
    pub hint: String,
    pub read: String,
    pub see: Option<String>,
}

impl RunReport {
    /// Converts a grade; the book is at this place.
    pub fn of(grade: &Grade, stage: Stage, book: &str) -> Self {
        Self {
            stage,
            assignment: grade.evidence().assignment.clone(),
            passed: grade.passed(),
            points: grade.points(),
            of: grade.items().iter().map(|item| item.of).sum(),
            pass: grade.pass(),
            items: grade.items().iter().map(Item::of).collect(),
            launches: grade.launches().iter().map(Launch::of).collect(),
            complaints: grade
                .complaints()
                .iter()
                .map(|one| Reported::of(one, book))
                .collect(),
            profile: grade.profile().map(str::to_owned),
            printed: grade.printed().map(str::to_owned),
            after: grade.after().map(str::to_owned),
        }
    }

    /// Takes complaints, profile and output from the report of the public sizes if that has any complaint, since these
    /// are what a student can reproduce.
    pub fn explained_by(mut self, public: &Self) -> Self {
        if !public.complaints.is_empty() {
            self.complaints.clone_from(&public.complaints);
        }
        if !public.complaints.is_empty() {
            self.profile.clone_from(&public.profile);
        }
        self.printed.clone_from(&public.printed);
        self
    }

    /// Whether any launch took place; true for answers, which are not launched.
    pub fn has_launched(&self) -> bool {
        self.launches.is_empty() || self.launches.iter().any(|one| one.right.is_some())
    }

    /// For launches that did not take place, takes the result of an earlier run.
    pub fn with_earlier(mut self, earlier: Option<&Self>) -> Self {
        for launch in self.launches.iter_mut().filter(|one| one.right.is_none()) {
            launch.right = earlier.and_then(|earlier| earlier.is_right(&launch.name));
        }
        self
    }

    /// Whether C is right in all launches of this name, which several hidden ones may have; none if some did not take place and no
    /// other is wrong.
    fn is_right(&self, name: &str) -> Option<bool> {
        let same = self.launches.iter().filter(|one| one.name == name);
        let both = |one, other| match (one, other) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), Some(true)) => Some(true),
            _ => None,
        };
        same.map(|one| one.right).reduce(both).flatten()
    }

    /// Every criterion that can be right or wrong, and whether it is right, if that is known. Names are distinct.
    pub fn checks(&self) -> impl Iterator<Item = (String, Option<bool>)> {
        let mut seen = BTreeSet::new();
        let launches = self.launches.iter();
        let launches = launches.filter(move |one| seen.insert(&one.name));
        let launches = launches.map(|one| (format!("C {}", one.name), self.is_right(&one.name)));
        // Values are covered by the launches above, one by one.
        let has_launches = !self.launches.is_empty();
        let items = self.items.iter();
        let items = items.filter(move |one| !has_launches || !one.name.contains("values at"));
        launches.chain(items.map(|one| (one.name.clone(), Some(one.is_full()))))
    }
}

impl Item {
    fn of(item: &RubricItem) -> Self {
        Self {
            name: item.name.clone(),
            points: item.points,
            of: item.of,
            why: item.why.clone(),
        }
    }

    /// Whether no points are missing.
    pub fn is_full(&self) -> bool {
        self.points > self.of - 1e-6
    }
}

impl Launch {
    fn of(launch: &LaunchOutcome) -> Self {
        Self {
            name: launch.name.clone(),
            right: launch.right,
            clean: launch.clean,
        }
    }
}

impl Reported {
    fn of(complaint: &Complaint, book: &str) -> Self {
        Self {
            what: complaint.what.clone(),
            hint: complaint.hint.clone(),
            read: complaint.read(book),
            see: complaint.see(book),
        }
    }
}
