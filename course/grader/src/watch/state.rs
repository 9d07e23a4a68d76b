//! What happens on an event: no threads, clocks or terminals here.
use super::hints::Hints;
use crate::grade::text::points;

use super::report::{RunReport, Stage};

/// The keys that a student can press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Hint,
    Tiles,
    Profile,
    Keys,
    Up,
    Down,
    Quit,
}

impl Key {
    /// The key for this letter, if there is one.
    pub fn of(letter: char) -> Option<Self> {
        Some(match letter.to_ascii_lowercase() {
            'h' => Self::Hint,
            'a' => Self::Tiles,
            'p' => Self::Profile,
            '?' => Self::Keys,
            'k' => Self::Up,
            'j' => Self::Down,
            'q' => Self::Quit,
            _ => return None,
        })
    }
}

/// An event.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The content of the kernel or of the predictions has changed.
    FileChanged,
    /// The kernel does not exist any more.
    FileRemoved,
    /// The run with this number has a report.
    Reported(u64, Box<RunReport>),
    /// It ended without a report of all launches, for this reason.
    Failed(u64, String),
    /// A key was pressed.
    Pressed(Key),
    /// The window was resized.
    Resized,
}

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Grade the file; the reports will have this number.
    Start(u64),
    /// Stop the current run.
    Cancel,
    /// Redraw.
    Redraw,
    /// Quit.
    Quit,
}

/// What the window shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What changed, and what is still wrong.
    Main,
    /// Every launch.
    Tiles,
    /// The lines around the mistake.
    Profile,
    /// The keys.
    Keys,
}

/// The state of the current run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The public sizes are being launched.
    Public,
    /// The public sizes are done, the others are being launched.
    Rest,
    /// Everything is done.
    Done,
    /// There is no grade, for this reason.
    Failed(String),
    /// There is no file.
    Removed,
}

/// What changed since the previous run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub right: Vec<String>,
    pub wrong: Vec<String>,
    /// Criteria that still lack as many points, or more, or fewer.
    pub points: Vec<String>,
}

impl Changes {
    fn between(before: &RunReport, now: &RunReport) -> Self {
        let mut changes = Self::default();
        for (name, is_right) in now.checks() {
            let was_right = before.checks().find(|(other, _)| *other == name);
            match (was_right.and_then(|(_, was)| was), is_right) {
                (Some(false), Some(true)) => changes.right.push(name),
                (Some(true), Some(false)) => changes.wrong.push(name),
                _ => {}
            }
        }
        let items = now.items.iter().filter(|item| !item.is_full());
        for item in items {
            let mut others = before.items.iter();
            let was = others.find(|other| other.name == item.name && !other.is_full());
            if let Some(was) = was.filter(|was| (was.points - item.points).abs() > 1e-6) {
                let [had, has] = [was.points, item.points].map(points);
                changes
                    .points
                    .push(format!("{}, {had} -> {has}", item.name));
            }
        }
        changes
    }

    pub fn is_empty(&self) -> bool {
        self.right.is_empty() && self.wrong.is_empty() && self.points.is_empty()
    }
}

/// The whole state.
#[derive(Clone, Debug)]
pub struct State {
    /// The current view.
    pub file: String,
    pub hints: Option<Hints>,
    /// The command of the assignment that shows the whole kernel, if it has one.
    pub command: Option<String>,
    /// How many hints are shown.
    pub hints_shown: usize,
    pub view: View,
    /// Lines of the view above the window.
    pub scrolled: usize,
    pub progress: Progress,
    /// Since the previous run; none in the first one.
    pub changes: Option<Changes>,
    /// The report that is shown: of the public sizes until all launches are done.
    pub report: Option<RunReport>,
    /// The last report of each stage, for comparison with the next one.
    public: Option<RunReport>,
    all: Option<RunReport>,
    run: u64,
}

impl State {
    /// The initial state, and the first actions.
    pub fn new(file: String, hints: Option<Hints>) -> (Self, Vec<Action>) {
        let state = Self {
            file,
            hints,
            command: None,
            hints_shown: 0,
            view: View::Main,
            scrolled: 0,
            progress: Progress::Public,
            changes: None,
            report: None,
            public: None,
            all: None,
            run: 1,
        };
        (state, vec![Action::Start(1), Action::Redraw])
    }

    /// Handles an event; returns the actions to perform, in order.
    pub fn update(&mut self, event: Event) -> Vec<Action> {
        match event {
            Event::FileChanged => self.start(),
            Event::FileRemoved => {
                let cancel = self.is_running().then_some(Action::Cancel);
                // What a canceled run still sends has another number.
                self.run += 1;
                self.progress = Progress::Removed;
                cancel.into_iter().chain([Action::Redraw]).collect()
            }
            // A canceled run may already have sent an event.
            Event::Reported(run, _) | Event::Failed(run, _) if run != self.run => Vec::new(),
            Event::Reported(_, report) => {
                self.report(*report);
                vec![Action::Redraw]
            }
            Event::Failed(_, why) => {
                self.progress = Progress::Failed(why);
                vec![Action::Redraw]
            }
            Event::Pressed(Key::Quit) => match self.is_running() {
                true => vec![Action::Cancel, Action::Quit],
                false => vec![Action::Quit],
            },
            Event::Pressed(key) => {
                self.press(key);
                vec![Action::Redraw]
            }
            Event::Resized => vec![Action::Redraw],
        }
    }

    fn is_running(&self) -> bool {
        matches!(self.progress, Progress::Public | Progress::Rest)
    }

    fn start(&mut self) -> Vec<Action> {
        let cancel = self.is_running().then_some(Action::Cancel);
        self.run += 1;
        self.progress = Progress::Public;
        let start = [Action::Start(self.run), Action::Redraw];
        cancel.into_iter().chain(start).collect()
    }

    fn report(&mut self, report: RunReport) {
        let (last, progress) = match report.stage {
            Stage::Public => (&mut self.public, Progress::Rest),
            Stage::All => (&mut self.all, Progress::Done),
        };
        // A kernel that does not compile says nothing about its launches.
        let has_launched = report.has_launched();
        let before = last.as_ref().filter(|_| has_launched);
        self.changes = before.map(|before| Changes::between(before, &report));
        if has_launched {
            *last = Some(report.clone().with_earlier(last.as_ref()));
        }
        self.progress = progress;
        self.report = Some(report);
        self.scrolled = 0;
    }

    fn press(&mut self, key: Key) {
        let view = match key {
            Key::Hint => {
                let hints = self.hints.as_ref().map_or(0, |hints| hints.levels().len());
                self.hints_shown = hints.min(self.hints_shown + 1);
                View::Main
            }
            Key::Tiles => self.toggled(View::Tiles),
            Key::Profile => self.toggled(View::Profile),
            Key::Keys => self.toggled(View::Keys),
            Key::Up => {
                self.scrolled = self.scrolled.saturating_sub(1);
                return;
            }
            Key::Down => {
                self.scrolled += 1;
                return;
            }
            Key::Quit => return,
        };
        self.view = view;
        self.scrolled = 0;
    }

    /// Pressing the same key again returns to the previous view.
    fn toggled(&self, view: View) -> View {
        match self.view == view {
            true => View::Main,
            false => view,
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::watch::report::{Item, Launch, Reported};

    /// A report of two public sizes and a hidden one, with the given results.
    pub fn reported(stage: Stage, right: [bool; 3], mechanism: bool) -> RunReport {
        let names = [
            "at 64x32x32",
            "at 70x40x100",
            "at a hidden size with tile 2 (32x32x32)",
        ];
        let launches = names.iter().zip(right).map(|(name, right)| Launch {
            name: (*name).into(),
            right: Some(right),
            clean: true,
        });
        let shown = if stage == Stage::Public { 2 } else { 3 };
        let item = |name: &str, is_right, of, why: &str| Item {
            name: name.into(),
            points: if is_right { of } else { 0.0 },
            of,
            why: vec![why.into()],
        };
        let mut items = vec![item(
            "values at public sizes",
            right[0] && right[1],
            20.0,
            "C is right at some sizes",
        )];
        if stage == Stage::All {
            items.push(item("values at hidden sizes", right[2], 20.0, "likewise"));
        }
        let words = "the worst access takes 4.00 times the ideal number of wavefronts";
        items.push(item("mechanism", mechanism, 35.0, words));
        let complaint = || Reported {
            what: "line 133: ldmatrix(regA[m], &As[place(row, chunk)]);\n  lanes 0 and 2 meet"
                .into(),
            hint: "which bits of the row tell these two lanes apart?".into(),
            read: "book/book/mistakes.html#conflicts-on-ldmatrix".into(),
            see: None,
        };
        RunReport {
            stage,
            assignment: "05_swizzle".into(),
            passed: right == [true; 3] && mechanism,
            points: items.iter().map(|item| item.points).sum(),
            of: items.iter().map(|item| item.of).sum(),
            pass: 70.0,
            items,
            launches: launches.take(shown).collect(),
            complaints: if mechanism { vec![] } else { vec![complaint()] },
            profile: Some("line 133, at 64x32x32\n  133  ldmatrix\n".into()),
            printed: None,
            after: None,
        }
    }

    pub fn hints() -> Hints {
        Hints::parse("question = \"why?\"\nmechanism = \"so\"\nnearly = \"thus\"").expect("hints")
    }

    pub fn begun() -> State {
        State::new("my_kernel.cu".into(), Some(hints())).0
    }

    fn found(run: u64, report: RunReport) -> Event {
        Event::Reported(run, Box::new(report))
    }

    #[test]
    fn a_run_begins_at_once_and_again_when_the_file_changes() {
        let (mut state, actions) = State::new("k.cu".into(), None);
        assert_eq!(actions, [Action::Start(1), Action::Redraw]);
        let actions = state.update(Event::FileChanged);
        assert_eq!(
            actions,
            [Action::Cancel, Action::Start(2), Action::Redraw],
            "the first was not done"
        );
        state.update(found(2, reported(Stage::Public, [true; 3], true)));
        assert_eq!(state.progress, Progress::Rest);
        state.update(found(2, reported(Stage::All, [true; 3], true)));
        assert_eq!(state.progress, Progress::Done);
        let actions = state.update(Event::FileChanged);
        assert_eq!(actions, [Action::Start(3), Action::Redraw], "it was done");
    }

    #[test]
    fn what_a_canceled_run_reports_is_not_shown() {
        let mut state = begun();
        state.update(Event::FileChanged);
        let late = found(1, reported(Stage::Public, [true; 3], true));
        assert_eq!(state.update(late), []);
        assert_eq!(state.update(Event::Failed(1, "killed".into())), []);
        assert!(state.report.is_none());
        assert_eq!(state.progress, Progress::Public);
    }

    #[test]
    fn changes_are_since_the_last_run_of_the_same_launches() {
        let mut state = begun();
        state.update(found(1, reported(Stage::Public, [true; 3], false)));
        assert_eq!(state.changes, None, "nothing to compare with");
        state.update(found(1, reported(Stage::All, [true, true, false], false)));
        assert_eq!(state.changes, None);
        state.update(Event::FileChanged);
        state.update(found(2, reported(Stage::Public, [true, false, true], true)));
        let changes = state.changes.clone().expect("changes");
        assert_eq!(changes.right, ["mechanism"]);
        assert_eq!(changes.wrong, ["C at 70x40x100"]);
        state.update(found(2, reported(Stage::All, [true, false, true], true)));
        let changes = state.changes.clone().expect("changes");
        let hidden = "C at a hidden size with tile 2 (32x32x32)";
        assert_eq!(changes.right, [hidden, "mechanism"]);
        assert_eq!(changes.wrong, ["C at 70x40x100"]);
    }

    #[test]
    fn hidden_launches_of_one_name_are_right_together() {
        let report = |right: [Option<bool>; 3]| {
            let mut report = reported(Stage::All, [true; 3], true);
            let hidden = report.launches.pop().expect("a hidden launch");
            let others = right.map(|right| Launch {
                right,
                ..hidden.clone()
            });
            report.launches.extend(others);
            report
        };
        let mut state = begun();
        let mut changes = |run, right| {
            state.update(found(run, report(right)));
            let changes = state.changes.clone().unwrap_or_default();
            state.update(Event::FileChanged);
            (changes.right, changes.wrong)
        };
        let hidden = || vec!["C at a hidden size with tile 2 (32x32x32)".to_owned()];
        let (none, [yes, no]) = (Vec::new, [Some(true), Some(false)]);
        assert_eq!(changes(1, [yes, no, None]), (none(), none()));
        assert_eq!(changes(2, [yes, no, None]), (none(), none()), "the same");
        assert_eq!(changes(3, [yes, None, None]), (none(), none()), "not known");
        assert_eq!(changes(4, [yes, yes, yes]), (hidden(), none()));
        assert_eq!(changes(5, [yes, yes, None]), (none(), none()), "not known");
        assert_eq!(changes(6, [yes, yes, no]), (none(), hidden()));
    }

    /// The same report of a kernel that does not compile.
    pub fn not_compiled(mut report: RunReport) -> RunReport {
        report.launches.iter_mut().for_each(|one| one.right = None);
        report.items.iter_mut().for_each(|one| one.points = 0.0);
        report.complaints = vec![Reported {
            what: "k.cu does not compile:\nk.cu(7): error: expected a \";\"".into(),
            hint: "begin with the compiler's first message".into(),
            read: "book/book/mistakes.html#not-launched".into(),
            see: None,
        }];
        report
    }

    #[test]
    fn a_kernel_that_does_not_compile_leaves_its_launches_as_they_were() {
        let mut state = begun();
        let first = reported(Stage::Public, [true, false, true], true);
        state.update(found(1, first.clone()));
        state.update(Event::FileChanged);
        state.update(found(2, not_compiled(first)));
        assert_eq!(state.changes, None, "nothing was launched");
        state.update(Event::FileChanged);
        state.update(found(3, reported(Stage::Public, [false, true, true], true)));
        let changes = state.changes.clone().expect("changes since the first run");
        assert_eq!(changes.right, ["C at 70x40x100"]);
        assert_eq!(changes.wrong, ["C at 64x32x32"]);
        // A launch that an earlier one has prevented is as it was.
        state.update(Event::FileChanged);
        let mut stopped = reported(Stage::Public, [false, true, true], true);
        stopped.launches[1].right = None;
        state.update(found(4, stopped));
        assert_eq!(state.changes.clone().expect("changes").wrong, [""; 0]);
        state.update(Event::FileChanged);
        state.update(found(5, reported(Stage::Public, [false; 3], true)));
        let changes = state.changes.clone().expect("changes");
        assert_eq!(changes.wrong, ["C at 70x40x100"]);
    }

    #[test]
    fn a_removed_file_ends_the_run_until_it_is_back() {
        let mut state = begun();
        let actions = state.update(Event::FileRemoved);
        assert_eq!(actions, [Action::Cancel, Action::Redraw]);
        assert_eq!(state.progress, Progress::Removed);
        let late = found(1, reported(Stage::Public, [true; 3], true));
        assert_eq!(state.update(late), []);
        let actions = state.update(Event::FileChanged);
        assert_eq!(actions, [Action::Start(3), Action::Redraw]);
    }

    #[test]
    fn there_are_three_hints_and_no_more() {
        let mut state = begun();
        for shown in [1, 2, 3, 3] {
            assert_eq!(state.update(Event::Pressed(Key::Hint)), [Action::Redraw]);
            assert_eq!(state.hints_shown, shown);
        }
        let mut without = State::new("k.cu".into(), None).0;
        without.update(Event::Pressed(Key::Hint));
        assert_eq!(without.hints_shown, 0);
    }

    #[test]
    fn a_key_leads_to_its_view_and_back() {
        let mut state = begun();
        for (letter, view) in [('a', View::Tiles), ('p', View::Profile), ('?', View::Keys)] {
            let key = Key::of(letter).expect("a key");
            state.update(Event::Pressed(key));
            assert_eq!(state.view, view);
            state.update(Event::Pressed(key));
            assert_eq!(state.view, View::Main);
        }
        assert_eq!(Key::of('x'), None);
    }

    #[test]
    fn quitting_ends_the_run() {
        let mut state = begun();
        let quit = Event::Pressed(Key::Quit);
        assert_eq!(state.update(quit.clone()), [Action::Cancel, Action::Quit]);
        state.update(Event::Failed(1, "no compiler".into()));
        assert_eq!(state.progress, Progress::Failed("no compiler".into()));
        assert_eq!(state.update(quit), [Action::Quit]);
    }
}
