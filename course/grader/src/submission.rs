//! Reads submissions: which file of a folder is graded, and its contents. A student may have submitted anything.
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use harness::terminal::harmless;

/// The file beside a kernel with predictions; it is never the file of answers.
pub const PREDICTIONS: &str = "prediction.toml";

/// The file beside a kernel with a bug: the diagnosis.
pub const DIAGNOSIS: &str = "diagnosis.toml";

/// All files that belong to a kernel.
pub const BESIDE: [&str; 2] = [PREDICTIONS, DIAGNOSIS];

/// The size limit of a secret: a device or a wrong file is larger.
const MOST_SECRET: u64 = 1 << 16;

/// The size limit of a submission: no kernel is this large.
const MOST: u64 = 1 << 20;

/// Reads an untrusted text. A link might lead to a file of this machine, which a message would quote, and a device or a
/// pipe never ends.
pub fn read(path: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", shown(path));
    let kind = fs::symlink_metadata(path).with_context(cannot)?;
    ensure!(
        !kind.is_dir(),
        "{} is not a plain file but a folder: name the file in it",
        shown(path)
    );
    ensure!(
        kind.is_file(),
        "{} is not a plain file: hand in a copy, not a link",
        shown(path)
    );
    ensure!(
        kind.len() <= MOST,
        "{} has {} bytes; at most {MOST} are read",
        shown(path),
        kind.len()
    );
    let bytes = fs::read(path).with_context(cannot)?;
    ensure!(
        !bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff"),
        "{} is UTF-16: save it as UTF-8",
        shown(path)
    );
    let text = String::from_utf8_lossy(&bytes);
    // Windows editors write a byte order mark, which compilers see and people do not.
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    ensure!(
        !harness::ends_with_cr(text),
        "the lines of {} end with CR alone: save it with LF or CR LF",
        shown(path)
    );
    Ok(harmless(&text.replace("\r\n", "\n")))
}

/// The file of this name beside a kernel, if it exists.
pub fn beside(kernel: &Path, name: &str) -> Result<Option<String>> {
    let path = kernel.with_file_name(name);
    ensure!(
        !path.is_dir(),
        "{} is a folder, and the kernel's {name} is read from there: rename the folder",
        shown(&path)
    );
    let is_there = path.symlink_metadata().is_ok();
    is_there.then(|| read(&path)).transpose()
}

/// Harmless text on one line, for a name that somebody else chose.
pub fn one_line(text: &str) -> String {
    harmless(text).replace(['\n', '\t'], "\u{fffd}")
}

/// A path for messages.
fn shown(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// A table cell that a spreadsheet shows unchanged: one that begins like a formula would be evaluated. Some spreadsheets skip
/// spaces before it, and in some languages they read full-width signs like the others, or begin a cell at each semicolon (OWASP,
/// "CSV Injection").
pub fn cell(text: &str) -> String {
    let text = harmless(text);
    let signs = [
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    let is_formula =
        |part: &str| part.starts_with(['\t', '\n']) || part.trim_start().starts_with(signs);
    let parts = text.split_inclusive([';', '\t', '\n']);
    parts
        .flat_map(|part| [if is_formula(part) { "'" } else { "" }, part])
        .collect()
}

/// A file's name as compilers and their messages can quote it.
pub fn plain_name(file: &Path) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._- ".contains(c);
    name(file).replace(|c: char| !plain(c), "_")
}

/// The most characters of a line that a message quotes.
const LONGEST_LINE: usize = 60;

/// Parses a student's table of answers. Errors name the line, and quote it if it is short.
pub fn toml(text: &str) -> Result<toml::Table> {
    text.parse().map_err(|error: toml::de::Error| {
        let at = error.span().map_or(0, |span| span.start.min(text.len()));
        let before = text.get(..at).unwrap_or_default();
        let number = before.matches('\n').count();
        let line = text.lines().nth(number).unwrap_or_default().trim();
        let mut quoted: String = line.chars().take(LONGEST_LINE).collect();
        if quoted.len() < line.len() {
            quoted.push('…');
        }
        let message = match error.message().trim() {
            too_large if too_large.contains("as i128") => "a number with too many digits".into(),
            message => message.replace('\n', ", "),
        };
        anyhow!("line {}, `{quoted}`: {message}", number + 1)
    })
}

/// Reads a teacher's secret.
pub fn secret(file: &Path) -> Result<Vec<u8>> {
    let cannot = || format!("cannot read {}", file.display());
    // A pipe may never end, and could be read once only, while each student's grader reads the secret again.
    let kind = fs::metadata(file).with_context(cannot)?;
    ensure!(
        kind.is_file(),
        "{} is not a regular file: write the secret into a file, and name that",
        file.display()
    );
    let mut secret = Vec::new();
    let opened = File::open(file).with_context(cannot)?;
    let bounded = opened.take(MOST_SECRET + 1).read_to_end(&mut secret);
    bounded.with_context(cannot)?;
    ensure!(
        secret.len() as u64 <= MOST_SECRET,
        "{} has more than {MOST_SECRET} bytes: it is not a secret; take 16 random ones or more",
        file.display()
    );
    ensure!(
        secret.len() >= 16,
        "{} has {} bytes, which can be guessed: take 16 random ones or more",
        file.display(),
        secret.len()
    );
    Ok(secret)
}

/// The file of this name; if it does not exist, the only file of the same kind.
///
/// # Errors
/// If there is none or several, or the folder cannot be read; the error tells a student what to do.
pub fn find(folder: &Path, wanted: &str) -> Result<PathBuf> {
    let path = folder.join(wanted);
    // Includes links: the code that reads the file explains what is wrong with them.
    if path.symlink_metadata().is_ok() {
        return Ok(path);
    }
    let entries = fs::read_dir(folder)
        .with_context(|| format!("the folder {} cannot be read", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // macOS creates a `._my.cu` beside each `my.cu`.
    files.retain(|file| !name(file).starts_with('.'));
    files.sort();
    let handed_in = match files.is_empty() {
        true => "nothing was handed in".into(),
        false => format!("handed in: {}", names(&files)),
    };
    let ending = Path::new(wanted).extension();
    let is_beside = |file: &PathBuf| BESIDE.iter().any(|name| file.ends_with(name));
    files.retain(|file| file.extension() == ending && !is_beside(file));
    ensure!(
        files.len() < 2,
        "There is no {wanted}, and several files might be meant ({}): call yours {wanted}.",
        names(&files)
    );
    let none = || format!("There is no {wanted} ({handed_in}): hand in that file.");
    files.pop().with_context(none)
}

/// The last component of a path.
pub fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Only some of them, if there are many.
fn names(files: &[PathBuf]) -> String {
    let names: Vec<_> = files
        .iter()
        .take(10)
        .map(|file| one_line(&name(file)))
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str| fs::write(folder.path().join(name), "").expect("a file");
        let found = |wanted: &str| {
            find(folder.path(), wanted)
                .map(|path| name(&path))
                .map_err(|error| error.to_string())
        };
        write("._my.cu");
        assert!(found("kernel.cu").is_err_and(|why| why.contains("nothing was handed in")));
        write("grade.json");
        write(PREDICTIONS);
        assert!(
            found("answers.toml").is_err_and(|why| why.contains("(handed in: grade.json, pred"))
        );
        write("my_answers.toml");
        assert_eq!(found("answers.toml"), Ok("my_answers.toml".into()));
        write("my.cu");
        assert_eq!(found("kernel.cu"), Ok("my.cu".into()));
        write("old.cu");
        assert!(found("kernel.cu").is_err_and(|why| why.contains("(my.cu, old.cu)")));
        write("kernel.cu");
        assert_eq!(found("kernel.cu"), Ok("kernel.cu".into()));
        assert!(
            find(&folder.path().join("none"), "kernel.cu")
                .is_err_and(|error| error.to_string().contains("cannot be read"))
        );
    }

    #[test]
    fn what_others_wrote_is_shown_harmlessly() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("kernel.cu");
        fs::write(&file, "\u{feff}a\r\nb\rc\u{202e}d\x1b[2J\u{2028}").expect("a file");
        let text = read(&file).expect("a text");
        assert_eq!(text, "a\nb\u{fffd}c\u{fffd}d\u{fffd}[2J\u{fffd}");
        fs::write(&file, b"\xff\xfea\0").expect("a file");
        assert!(read(&file).is_err_and(|why| why.to_string().contains("save it as UTF-8")));
        fs::write(&file, "// a\rint b;\r").expect("a file");
        assert!(read(&file).is_err_and(|why| why.to_string().contains("save it with LF")));
        for formula in ["=1+1", "-1", " =1", "\u{ff1d}1"] {
            assert_eq!(cell(formula), format!("'{formula}"));
        }
        assert_eq!(cell("\t=1"), "'\t'=1");
        assert_eq!(cell("a;=1; +2;b"), "a;'=1;' +2;b");
        assert_eq!(cell("ada"), "ada");
        assert_eq!(plain_name(Path::new("my\"kernel;.cu")), "my_kernel_.cu");
        fs::create_dir(folder.path().join(DIAGNOSIS)).expect("a folder");
        let error = beside(&file, DIAGNOSIS).expect_err("a folder");
        assert!(error.to_string().contains("rename the folder"), "{error}");
        let absent = folder.path().join("a\n=b\u{202e}\x1b.cu");
        let why = format!("{:#}", read(&absent).expect_err("no file"));
        assert!(
            why.contains("/a\u{fffd}=b\u{fffd}\u{fffd}.cu: No"),
            "{why:?}"
        );
        fs::write(&absent, "").expect("a file");
        fs::write(folder.path().join("b\n.cu"), "").expect("a file");
        let why = find(folder.path(), "my.cu").expect_err("several files");
        let why = why.to_string();
        assert!(
            why.contains("(a\u{fffd}=b\u{fffd}\u{fffd}.cu, b\u{fffd}.cu, kernel.cu)"),
            "{why:?}"
        );
    }

    #[test]
    fn a_secret_is_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("secret");
        fs::write(&file, vec![7; MOST_SECRET as usize + 1]).expect("a file");
        assert!(secret(&file).is_err_and(|why| why.to_string().contains("not a secret")));
        fs::write(&file, [7; 32]).expect("a file");
        assert_eq!(secret(&file).expect("a secret"), [7; 32]);
        let is_refused = |file: &Path| {
            secret(file).is_err_and(|why| why.to_string().contains("is not a regular file: write"))
        };
        assert!(is_refused(folder.path()));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&file, &link).expect("a link");
            assert_eq!(secret(&link).expect("a secret"), [7; 32]);
            let socket = folder.path().join("socket");
            let _open = std::os::unix::net::UnixListener::bind(&socket).expect("a socket");
            assert!(is_refused(&socket));
            assert!(is_refused(Path::new("/dev/zero")));
        }
    }

    #[test]
    fn a_long_line_is_quoted_in_part() {
        let error = toml(&format!("a = {}", "x".repeat(70_000))).expect_err("no TOML");
        let error = error.to_string();
        assert!(
            error.contains("a = xxx") && error.len() < 300,
            "{}",
            error.len()
        );
        let digits = toml(&format!("a = {}", "9".repeat(30))).expect_err("too many digits");
        assert!(
            digits
                .to_string()
                .ends_with("a number with too many digits")
        );
        assert_eq!(
            toml("a = 1\n= 1").expect_err("no TOML").to_string(),
            "line 2, `= 1`: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`"
        );
    }
}
