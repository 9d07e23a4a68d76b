//! The terminal: keys in, lines out; it is restored on exit, however that happens.
use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::Sender;
use std::{panic, thread};

use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, queue, style, terminal};
use owo_colors::OwoColorize;

use super::screen::{self, Line, Tone};
use super::state::{Event, Key, State};

/// Where lines are written.
pub enum Output {
    /// To a full-screen window.
    Window(Window),
    /// One line after the other, to a pipe or a file.
    Plain,
}

/// Columns of the output to a pipe or a file.
const PLAIN_WIDTH: usize = 100;

impl Output {
    /// A window if both input and output are terminals.
    pub fn open() -> io::Result<Self> {
        match io::stdout().is_terminal() && io::stdin().is_terminal() {
            true => Window::open().map(Self::Window),
            false => Ok(Self::Plain),
        }
    }

    /// Shows the state.
    pub fn show(&self, state: &State) -> io::Result<()> {
        match self {
            Self::Window(window) => window.show(state),
            Self::Plain => {
                let mut out = io::stdout().lock();
                if state.report.is_none() {
                    writeln!(out, "{}", screen::KEYS)?;
                }
                for line in screen::news(state, PLAIN_WIDTH) {
                    writeln!(out, "{}", line.text)?;
                }
                writeln!(out)?;
                out.flush()
            }
        }
    }

    /// Sends key presses while there is a receiver.
    pub fn listen(&self, to: Sender<Event>) {
        match self {
            Self::Window(_) => thread::spawn(move || window_events(&to)),
            Self::Plain => thread::spawn(move || letters(&to)),
        };
    }
}

/// The alternate screen of a terminal, in raw mode; both are restored on drop.
pub struct Window(());

impl Window {
    fn open() -> io::Result<Self> {
        let hook = panic::take_hook();
        // A panic's message should remain visible.
        panic::set_hook(Box::new(move |why| {
            restore();
            hook(why);
        }));
        let window = Self(());
        terminal::enable_raw_mode()?;
        execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
        Ok(window)
    }

    fn show(&self, state: &State) -> io::Result<()> {
        let (width, height) = terminal::size()?;
        let mut out = io::stdout().lock();
        queue!(out, terminal::BeginSynchronizedUpdate)?;
        let lines = screen::window(state, width.into(), height.into());
        for (row, line) in (0..height).zip(&lines) {
            queue!(
                out,
                cursor::MoveTo(0, row),
                terminal::Clear(terminal::ClearType::CurrentLine),
                style::Print(painted(line))
            )?;
        }
        queue!(out, terminal::EndSynchronizedUpdate)?;
        out.flush()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        restore();
    }
}

fn restore() {
    // An error here cannot be handled.
    let _ = execute!(io::stdout(), cursor::Show, terminal::LeaveAlternateScreen);
    let _ = terminal::disable_raw_mode();
}

fn painted(line: &Line) -> String {
    let text = &line.text;
    if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        return text.clone();
    }
    match line.tone {
        Tone::Plain => text.clone(),
        Tone::Heading => text.bold().to_string(),
        Tone::Right => text.green().to_string(),
        Tone::Wrong => text.red().to_string(),
        Tone::Quiet => text.dimmed().to_string(),
    }
}

fn window_events(to: &Sender<Event>) {
    loop {
        let event = match event::read() {
            Ok(event::Event::Key(key)) => pressed(key).map(Event::Pressed),
            Ok(event::Event::Resize(..)) => Some(Event::Resized),
            Ok(_) => None,
            Err(_) => Some(Event::Pressed(Key::Quit)),
        };
        if event.is_some_and(|event| to.send(event).is_err()) {
            return;
        }
    }
}

/// The meaning of a key; in raw mode Ctrl-C is a key.
fn pressed(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    match key.code {
        KeyCode::Char(letter) if key.modifiers.contains(KeyModifiers::CONTROL) => {
            matches!(letter, 'c' | 'd').then_some(Key::Quit)
        }
        KeyCode::Char(letter) => Key::of(letter),
        KeyCode::Up => Some(Key::Up),
        KeyCode::Down => Some(Key::Down),
        _ => None,
    }
}

/// Letters from a pipe, one or more lines at a time. End of input does not quit: it may be empty from the start.
fn letters(to: &Sender<Event>) {
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        for key in line.chars().filter_map(Key::of) {
            if to.send(Event::Pressed(key)).is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_last_line_says() {
        let key = |code, modifiers| pressed(KeyEvent::new(code, modifiers));
        let plain = |letter| key(KeyCode::Char(letter), KeyModifiers::NONE);
        let control = |letter| key(KeyCode::Char(letter), KeyModifiers::CONTROL);
        assert_eq!(control('c'), Some(Key::Quit));
        assert_eq!(control('h'), None);
        assert_eq!(plain('c'), None);
        assert_eq!(key(KeyCode::Down, KeyModifiers::NONE), Some(Key::Down));
        for words in screen::KEYS.split("   ") {
            let letter = words.chars().next().expect("a letter");
            assert!(plain(letter).is_some(), "{words}");
        }
    }
}
