//! What the student sees: lines of harmless characters, at most as wide as the window, with the important ones
//! highlighted.
use layout::show::wrap;
use unicode_width::UnicodeWidthStr;

use super::report::{RunReport, Stage};
use super::state::{Progress, State, View};
use crate::grade::text::points;
use harness::terminal::harmless;

/// How a line is highlighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Heading,
    Right,
    Wrong,
    Quiet,
}

/// A line of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub tone: Tone,
    pub text: String,
}

/// Complaints after the first that are named.
const NAMED: usize = 4;

/// The narrowest window that the layout supports; in a narrower one lines are truncated.
const NARROWEST: usize = 20;

/// The last line of the window.
pub const KEYS: &str = "h next hint   a all tiles   p profile   ? keys   q quit";

/// The whole content, of any length, without [`KEYS`].
pub fn lines(state: &State, width: usize) -> Vec<Line> {
    let mut page = Page {
        width: width.max(NARROWEST),
        lines: Vec::new(),
    };
    head(state, &mut page);
    if state.report.as_ref().is_some_and(RunReport::has_launched) {
        changes(state, &mut page);
    }
    match state.view {
        View::Main => main(state, &mut page),
        View::Tiles => tiles(state, &mut page),
        View::Profile => profile(state, &mut page),
        View::Keys => keys(&mut page),
    }
    page.lines
}

/// What changed since the last screen. While a run has only begun, that is a single line.
pub fn news(state: &State, width: usize) -> Vec<Line> {
    let has_begun = state.progress == Progress::Public && state.report.is_some();
    match has_begun && state.view == View::Main {
        true => vec![line(Tone::Quiet, "the file has changed; grading again …")],
        false => lines(state, width),
    }
}

/// The lines that fit into a window of this height, with [`KEYS`] below; longer content scrolls.
pub fn window(state: &State, width: usize, height: usize) -> Vec<Line> {
    let all = lines(state, width);
    let room = height.saturating_sub(2).max(1);
    let above = state.scrolled.min(all.len().saturating_sub(room));
    let below = all.len().saturating_sub(above + room);
    let mut shown: Vec<Line> = all.into_iter().skip(above).take(room).collect();
    let more = match (above, below) {
        (0, 0) => String::new(),
        (above, below) => format!("{above} lines above, {below} below: j and k scroll"),
    };
    shown.resize(room, line(Tone::Plain, ""));
    shown.push(line(Tone::Quiet, &cut(&more, width)));
    shown.push(line(Tone::Quiet, &cut(KEYS, width)));
    shown
}

fn line(tone: Tone, text: &str) -> Line {
    Line {
        tone,
        text: text.to_owned(),
    }
}

/// The first characters of a line, up to this width.
fn cut(text: &str, width: usize) -> String {
    let mut end = text.len();
    while text[..end].width() > width {
        end -= 1;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
    }
    text[..end].to_owned()
}

struct Page {
    width: usize,
    lines: Vec<Line>,
}

impl Page {
    fn blank(&mut self) {
        self.lines.push(line(Tone::Plain, ""));
    }

    /// A text of some lines, each wrapped at the window's width, with continuation lines indented like its beginning.
    fn text(&mut self, tone: Tone, text: &str) {
        for one in plain(text).lines() {
            let bare = one.trim_start();
            let indent = &one[..one.len() - bare.len()];
            let room = self.width.saturating_sub(indent.len()).max(1);
            for part in wrap(bare, room) {
                let part = format!("{indent}{part}");
                self.lines.push(line(tone, &cut(&part, self.width)));
            }
        }
    }

    /// Sentences, wrapped only at the window's width.
    fn paragraph(&mut self, tone: Tone, text: &str) {
        self.text(tone, &text.trim().replace('\n', " "));
    }

    /// An address after a word: it is never truncated, however long it is.
    fn link(&mut self, word: &str, address: &str) {
        let text = plain(&format!("  {word} {address}"));
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let part = cut(rest, self.width);
            self.lines.push(line(Tone::Quiet, &part));
            rest = &rest[part.len()..];
        }
    }

    /// A text whose columns matter: it is truncated at the window's width.
    fn listing(&mut self, text: &str) {
        for one in plain(text).lines() {
            self.lines.push(line(Tone::Plain, &cut(one, self.width)));
        }
    }
}

/// Removes control characters that a student's file may contain; expands a tab to four spaces.
fn plain(text: &str) -> String {
    harmless(text).replace('\t', "    ")
}

fn head(state: &State, page: &mut Page) {
    let Some(report) = &state.report else {
        let file = &state.file;
        match &state.progress {
            Progress::Failed(why) => failed(page, file, why),
            Progress::Removed => removed(page, file),
            _ => page.text(Tone::Heading, &format!("{file}: grading …")),
        }
        return;
    };
    let of = match report.stage {
        Stage::Public => "points at the public sizes",
        Stage::All => "points",
    };
    let verdict = match (report.stage, report.passed) {
        (Stage::All, true) => ", passed".to_owned(),
        (Stage::All, false) => format!(", {} pass", points(report.pass)),
        (Stage::Public, _) => String::new(),
    };
    let text = format!(
        "{}, {}: {} of {} {of}{verdict}",
        report.assignment,
        state.file,
        points(report.points),
        points(report.of),
    );
    page.text(Tone::Heading, &text);
    match &state.progress {
        Progress::Public => page.text(Tone::Quiet, "the file has changed; grading again …"),
        Progress::Rest => page.text(Tone::Quiet, "the other launches are running …"),
        Progress::Done => {}
        Progress::Failed(why) => failed(page, &state.file, why),
        Progress::Removed => removed(page, &state.file),
    }
}

fn removed(page: &mut Page, file: &str) {
    let text = format!("{file} has been removed; it is graded again once it is back");
    page.text(Tone::Wrong, &text);
}

fn failed(page: &mut Page, file: &str, why: &str) {
    page.text(Tone::Wrong, &format!("{file} could not be graded: {why}"));
}

fn main(state: &State, page: &mut Page) {
    if let Some(report) = &state.report {
        match report.has_launched() {
            true => wrong(report, page),
            false => {
                page.blank();
                page.text(
                    Tone::Wrong,
                    "nothing was launched; what was right before is not wrong now",
                );
            }
        }
        complaints(report, page);
        if let Some(printed) = &report.printed {
            page.blank();
            page.listing(printed);
        }
        if let Some(after) = &report.after {
            page.blank();
            page.text(Tone::Right, "Passed. Why it worked:");
            page.paragraph(Tone::Plain, after);
        }
    }
    hints(state, page);
}

fn changes(state: &State, page: &mut Page) {
    let Some(changes) = &state.changes else {
        return;
    };
    page.blank();
    if changes.is_empty() {
        page.text(Tone::Quiet, "no item has changed between right and wrong");
    }
    for (tone, word, names) in [
        (Tone::Right, "newly right", &changes.right),
        (Tone::Wrong, "newly wrong", &changes.wrong),
        (Tone::Plain, "other points", &changes.points),
    ] {
        if !names.is_empty() {
            page.text(tone, &format!("{word}: {}", names.join(", ")));
        }
    }
}

fn wrong(report: &RunReport, page: &mut Page) {
    let mut wrong = report
        .items
        .iter()
        .filter(|item| !item.is_full())
        .peekable();
    if wrong.peek().is_none() {
        page.blank();
        // The other launches are still running, or were not reached.
        let text = match report.stage {
            Stage::Public => "nothing is wrong at the public sizes",
            Stage::All => "nothing is wrong",
        };
        page.text(Tone::Right, text);
        return;
    }
    page.blank();
    page.text(Tone::Plain, "still wrong:");
    for item in wrong {
        let why = item.why.join("; ").replace('\n', " ");
        let (got, of) = (points(item.points), points(item.of));
        page.text(
            Tone::Wrong,
            &format!("  {}, {got} of {of}: {why}", item.name),
        );
    }
}

fn complaints(report: &RunReport, page: &mut Page) {
    let Some((first, others)) = report.complaints.split_first() else {
        return;
    };
    page.blank();
    page.text(Tone::Heading, &first.what);
    page.text(Tone::Plain, &format!("  hint: {}", first.hint));
    page.link("read:", &first.read);
    if let Some(see) = &first.see {
        page.link("see: ", see);
    }
    if others.is_empty() {
        return;
    }
    page.blank();
    page.text(Tone::Plain, "and after that:");
    for other in others.iter().take(NAMED) {
        let first = other.what.lines().next().unwrap_or_default();
        page.text(Tone::Plain, &format!("  {first}"));
    }
    if let Some(more @ 1..) = others.len().checked_sub(NAMED) {
        page.text(Tone::Quiet, &format!("  and {more} more"));
    }
}

fn hints(state: &State, page: &mut Page) {
    let Some(hints) = &state.hints else {
        return;
    };
    let levels = hints.levels();
    for (number, hint) in (1..).zip(levels.iter().take(state.hints_shown)) {
        page.blank();
        let text = format!("hint {number} of {}: {}", levels.len(), hint.trim());
        page.paragraph(Tone::Plain, &text);
    }
}

fn tiles(state: &State, page: &mut Page) {
    page.blank();
    let Some(report) = state.report.as_ref().filter(|one| !one.launches.is_empty()) else {
        page.text(Tone::Plain, "there are no launches to show");
        return;
    };
    for launch in &report.launches {
        let (tone, words) = match (launch.right, launch.clean) {
            (None, _) => (Tone::Quiet, "not launched"),
            (Some(true), true) => (Tone::Right, "right"),
            (Some(true), false) => (Tone::Wrong, "C is right, but the sanitizer finds something"),
            (Some(false), true) => (Tone::Wrong, "C is wrong"),
            (Some(false), false) => (
                Tone::Wrong,
                "C is wrong, or the launch was stopped; see the sanitizer",
            ),
        };
        page.text(tone, &format!("{}: {words}", launch.name));
    }
    if !report.has_launched() {
        // Nothing was launched: the complaints, such as the compiler's messages, are all there is to show.
        complaints(report, page);
    }
    if report.stage == Stage::Public {
        page.text(Tone::Quiet, "the other launches are running …");
    }
}

fn profile(state: &State, page: &mut Page) {
    let Some(report) = &state.report else {
        return;
    };
    if !report.has_launched() {
        complaints(report, page);
        return;
    }
    page.blank();
    match (&report.profile, &state.command) {
        (Some(text), _) => page.listing(text),
        (None, _) if report.launches.is_empty() => {
            page.text(Tone::Plain, "nothing is launched in this assignment");
        }
        (None, None) => page.text(Tone::Plain, "no line at fault has counters"),
        (None, Some(command)) => {
            page.text(
                Tone::Plain,
                "no line at fault has counters; to look at the whole kernel:",
            );
            page.text(Tone::Plain, &format!("  {command}"));
        }
    }
}

fn keys(page: &mut Page) {
    page.blank();
    for text in [
        "h      the next of three hints: a question, the mechanism, all but the code",
        "a      all launches, with their tiles; again: back",
        "p      the profile of the line at fault, at a public size; again: back",
        "j, k   down and up, like the arrow keys",
        "?      these keys; again: back",
        "q      quit, like Ctrl-C",
    ] {
        page.text(Tone::Plain, text);
    }
    page.blank();
    page.text(
        Tone::Plain,
        "Whenever the kernel or its prediction.toml is saved, the public sizes are launched again, then the others.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::report::Stage;
    use crate::watch::state::tests::{begun, not_compiled, reported};
    use crate::watch::state::{Event, Key};

    fn text(lines: &[Line]) -> String {
        lines.iter().map(|line| line.text.clone() + "\n").collect()
    }

    fn with(reports: Vec<RunReport>, keys: &str) -> State {
        let mut state = begun();
        for (run, report) in (1..).zip(reports) {
            if run > 1 {
                state.update(Event::FileChanged);
            }
            state.update(Event::Reported(run, Box::new(report)));
        }
        for key in keys.chars().filter_map(Key::of) {
            state.update(Event::Pressed(key));
        }
        state
    }

    #[test]
    fn before_the_first_report() {
        insta::assert_snapshot!(text(&lines(&begun(), 80)));
        let mut state = begun();
        state.update(Event::Failed(1, "there is no NVRTC".into()));
        insta::assert_snapshot!("no_report", text(&lines(&state, 80)));
    }

    #[test]
    fn what_changed_and_what_is_still_wrong() {
        let state = with(
            vec![
                reported(Stage::Public, [false, true, true], false),
                reported(Stage::Public, [true, false, true], false),
            ],
            "h",
        );
        insta::assert_snapshot!(text(&lines(&state, 80)));
    }

    #[test]
    fn a_kernel_that_does_not_compile_and_one_that_is_gone() {
        let before = reported(Stage::Public, [true; 3], false);
        let mut state = with(vec![before.clone(), not_compiled(before)], "");
        let shown = text(&lines(&state, 80));
        let nothing = "nothing was launched; what was right before is not wrong now\n";
        let compiler = "k.cu does not compile:\nk.cu(7): error: expected a \";\"\n";
        assert!(
            shown.contains(nothing) && shown.contains(compiler),
            "{shown}"
        );
        assert!(
            !shown.contains("newly wrong") && !shown.contains("still wrong"),
            "{shown}"
        );
        state.update(Event::FileRemoved);
        let shown = text(&lines(&state, 80));
        assert!(shown.contains("my_kernel.cu has been removed;"), "{shown}");
    }

    #[test]
    fn a_narrow_window() {
        let state = with(vec![reported(Stage::All, [true, true, false], false)], "");
        let all = lines(&state, 36);
        assert!(all.iter().all(|line| line.text.width() <= 36));
        insta::assert_snapshot!(text(&all));
    }

    #[test]
    fn other_views() {
        let report = || vec![reported(Stage::All, [true, true, false], false)];
        for (name, keys) in [("tiles", "a"), ("profile", "p"), ("keys", "?")] {
            insta::assert_snapshot!(name, text(&lines(&with(report(), keys), 80)));
        }
    }

    #[test]
    fn a_low_window_scrolls() {
        let mut state = with(
            vec![reported(Stage::All, [true, true, false], false)],
            "hhh",
        );
        let shown = window(&state, 80, 10);
        assert_eq!(shown.len(), 10);
        assert_eq!(shown[9].text, KEYS);
        assert!(shown[8].text.contains(" below: j and k scroll"));
        for _ in 0..100 {
            state.update(Event::Pressed(Key::Down));
        }
        let shown = window(&state, 80, 10);
        assert!(shown[8].text.contains(", 0 below"), "{shown:?}");
        assert!(shown[7].text.contains("thus"), "the last hint: {shown:?}");
        // No window is too small.
        for (width, height) in [(0, 0), (1, 1), (3, 2)] {
            window(&state, width, height);
        }
    }

    #[test]
    fn what_changed_is_in_every_view() {
        let first = || reported(Stage::Public, [false, true, true], false);
        let then = || reported(Stage::Public, [true; 3], false);
        for keys in ["", "a", "p", "?"] {
            let mut state = with(vec![first()], keys);
            state.update(Event::FileChanged);
            state.update(Event::Reported(2, Box::new(then())));
            let shown = text(&lines(&state, 80));
            assert!(shown.contains("newly right: C at 64x32x32\n"), "{shown}");
            state.update(Event::FileChanged);
            state.update(Event::Reported(3, Box::new(not_compiled(then()))));
            let shown = text(&lines(&state, 80));
            let says_why = shown.contains("k.cu(7): error");
            assert!(says_why || keys == "?", "{keys}: {shown}");
        }
    }

    #[test]
    fn without_a_profile_the_command_of_the_assignment_is_named() {
        let mut report = reported(Stage::All, [true; 3], true);
        report.profile = None;
        let mut state = with(vec![report], "p");
        let shown = text(&lines(&state, 80));
        assert!(
            shown.ends_with("\nno line at fault has counters\n"),
            "{shown}"
        );
        state.command = Some("cargo run -p rung09_tma -- sanitize --kernel my.cu".into());
        let shown = text(&lines(&state, 80));
        assert!(
            shown.ends_with(":\n  cargo run -p rung09_tma -- sanitize --kernel my.cu\n"),
            "{shown}"
        );
        let mut answers = reported(Stage::All, [true; 3], true);
        (answers.launches, answers.profile) = (Vec::new(), None);
        let shown = text(&lines(&with(vec![answers], "p"), 80));
        let nothing = "\nnothing is launched in this assignment\n";
        assert!(shown.ends_with(nothing), "{shown}");
    }

    /// A kernel's output, name or source lines must not control the terminal.
    #[test]
    fn no_control_character_comes_through() {
        let mut report = reported(Stage::Public, [false; 3], false);
        report.complaints[0].what = "line 1: \u{1b}[2J\u{202e}x\tдлинно 長い行".into();
        report.printed = Some("printed:\n  \u{7}\u{9b}31m\n".into());
        report.items[0].why = vec!["\r\u{8}".into()];
        let mut state = with(vec![report], "");
        state.file = "k\u{1b}]0;title\u{7}.cu".into();
        for width in [5, 20, 80] {
            let all = lines(&state, width);
            let bad = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!text(&all).replace('\n', "").contains(bad));
            assert!(
                all.iter()
                    .all(|line| line.text.width() <= width.max(NARROWEST))
            );
        }
    }
}
