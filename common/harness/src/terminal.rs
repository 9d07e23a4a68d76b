//! What reaches the terminal. Kernels, file names and arguments may contain anything; shown as text, none of it may
//! clear the screen, move the cursor or read differently than it is.
use std::fmt;
use std::io::{self, Write};
use std::process;

#[doc(hidden)]
pub use anstream;

/// The styles that our own text and clap's messages have: reset, bold, dimmed, underlined, red, green, yellow, cyan, and
/// the default color. In text of others they are as harmless.
const STYLES: [&str; 9] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[4m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m",
    "\x1b[39m",
];

/// Whether this character could control the terminal, or is not shown: a control character, a line separator, one that
/// changes the direction of text (Unicode, "Bidirectional Algorithm"), or one without which a name looks the same
/// (Unicode, `Default_Ignorable_Code_Point`). Newlines and tabs may stay.
pub fn steers(c: char) -> bool {
    let is_ignorable = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    let separates = matches!(c, '\u{2028}' | '\u{2029}');
    is_ignorable || separates || c.is_control() && !"\n\t".contains(c)
}

/// Replaces each character for which [`steers`] holds by U+FFFD.
pub fn harmless(text: &str) -> String {
    text.replace(steers, "\u{fffd}")
}

/// The same, but colors and line ends of Windows survive.
pub fn styled(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let mut pieces = text.split('\x1b');
    let mut out = harmless(pieces.next().unwrap_or_default());
    for piece in pieces {
        let is_style = |style: &&&str| piece.starts_with(&style[1..]);
        out.push_str(match STYLES.iter().find(is_style) {
            Some(_) => "\x1b",
            None => "\u{fffd}",
        });
        out += &harmless(piece);
    }
    out
}

/// A stream to the terminal that lets only text and [`STYLES`] through.
pub struct Styled<W>(W);

impl<W: Write> Write for Styled<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = styled(&String::from_utf8_lossy(bytes));
        self.0.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    /// In one piece, since a style may be formatted in several.
    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.write_all(text.to_string().as_bytes())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard output; without colors if it is not a terminal.
pub fn stdout() -> Styled<anstream::Stdout> {
    Styled(anstream::stdout())
}

/// Standard error, likewise.
pub fn stderr() -> Styled<anstream::Stderr> {
    Styled(anstream::stderr())
}

/// Prints text and colors to standard output.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => {
        $crate::terminal::anstream::print!("{}", $crate::terminal::styled(&::std::format!($($text)*)))
    };
}

/// The same, and ends the line.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($($text:tt)*) => { $crate::print!("{}\n", ::std::format_args!($($text)*)) };
}

/// Prints text and colors to standard error.
#[macro_export]
macro_rules! eprint {
    ($($text:tt)*) => {
        $crate::terminal::anstream::eprint!("{}", $crate::terminal::styled(&::std::format!($($text)*)))
    };
}

/// The same, and ends the line.
#[macro_export]
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::eprint!("{}\n", ::std::format_args!($($text)*)) };
}

/// Prints clap's help, or its message, which quotes the arguments; then exits, as [`clap::Error::exit`] does.
pub fn exit(error: &clap::Error) -> ! {
    let text = error.render();
    #[cfg(not(target_family = "wasm"))]
    let text = text.ansi();
    match error.use_stderr() {
        true => crate::eprint!("{text}"),
        false => crate::print!("{text}"),
    }
    process::exit(error.exit_code())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_cannot_control_the_terminal() {
        let mut out = Styled(Vec::new());
        let ours = "\x1b[1m\x1b[31mbad\x1b[0m\ta\r\nb\x1b[36m\x1b[39m";
        let others = "\x1b[2J\x1b]0;title\x07\x1b[8m\r\u{8}\u{9b}1m\u{202e}\x1b";
        // A style in two pieces.
        let escape = '\x1b';
        write!(out, "{ours}{escape}[2m{others}").expect("a vector");
        let shown = String::from_utf8(out.0).expect("UTF-8");
        let bad = "\u{fffd}";
        let others = format!("{bad}[2J{bad}]0;title{bad}{bad}[8m{bad}{bad}{bad}1m{bad}{bad}");
        let ours = ours.replace("\r\n", "\n");
        assert_eq!(shown, format!("{ours}\x1b[2m{others}"));
    }

    #[test]
    fn names_that_look_alike_are_told_apart() {
        let hidden = "\u{200b}\u{200c}\u{200d}\u{2060}\u{feff}\u{ad}\u{34f}\u{3164}\u{fe0f}\u{e0020}\u{e01ef}";
        for c in hidden.chars() {
            assert_eq!(harmless(&format!("al{c}ice")), "al\u{fffd}ice", "{c:?}");
        }
        let shown = "naïve Größe 行列 e\u{301} \u{a0}→×…\t\n";
        assert_eq!(harmless(shown), shown);
    }

    #[test]
    fn our_own_styles_are_let_through() {
        use owo_colors::OwoColorize;
        let text = format!(
            "{}{}{}{}{}{}",
            "a".bold(),
            "b".dimmed(),
            "c".red().bold(),
            "d".green(),
            "e".yellow(),
            "f".cyan()
        );
        assert_eq!(styled(&text), text);
        let error = clap::Command::new("x").arg(clap::arg!(--size <N>));
        let error = error.try_get_matches_from(["x", "--sizes"]);
        let error = error.expect_err("no such flag").render().ansi().to_string();
        assert!(error.contains('\x1b'), "{error}");
        assert_eq!(styled(&error), error);
    }
}
