//! A source and the files that it includes, each read once, in the order in which the preprocessor meets them.
use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::declarations::{Declaration, Word, declarations};
use super::directives::{Directive, Macros};
use super::tokens::{Kind, tokens};

/// Limits on included files.
const MOST_FILES: usize = 512;
const MOST_DEPTH: usize = 64;
const MOST_BYTES: u64 = 64 << 20;

/// A file of the source.
#[derive(Clone, Debug)]
pub struct File {
    /// The name by which an `#include` refers to it; for the source itself, its path.
    pub name: String,
    pub text: String,
}

/// A source and the user's files that it includes.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The source is the first.
    pub files: Vec<File>,
    /// Headers that were not found.
    pub missing: Vec<String>,
    pub(super) macros: Macros,
    pub(super) parts: Vec<Part>,
}

/// The compiled part of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Kind and range of each word.
    words: Vec<(Kind, Range<usize>)>,
    /// Ranges of directives.
    pub directives: Vec<Range<usize>>,
}

impl Part {
    pub fn words<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Word<'a>> {
        self.words.iter().map(|(kind, range)| Word {
            kind: *kind,
            text: text.get(range.clone()).unwrap_or_default(),
            range: range.clone(),
        })
    }

    pub fn declarations<'a>(&'a self, text: &'a str, macros: &Macros) -> Vec<Declaration<'a>> {
        let words: Vec<Word<'a>> = self.words(text).collect();
        declarations(&words, macros)
    }
}

/// Where included files are searched.
pub struct Search<'a> {
    /// The user's include folders.
    pub folders: &'a [PathBuf],
    /// Whether the compiler has a header of this name.
    pub has_header: &'a dyn Fn(&str) -> bool,
}

/// Reads a source, with these macros defined, each as `NAME` or `NAME=VALUE`.
///
/// # Errors
/// The file that cannot be read, and the reason.
pub fn read(
    path: &Path,
    defines: &[String],
    search: &Search<'_>,
) -> Result<Source, (PathBuf, std::io::Error)> {
    let text = std::fs::read(path).map_err(|error| (path.to_owned(), error))?;
    Ok(of_text(path, &text, defines, search))
}

/// The same for a text in memory.
pub fn of_text(path: &Path, text: &[u8], defines: &[String], search: &Search<'_>) -> Source {
    let mut reader = Reader {
        search,
        source: Source::default(),
        known: HashMap::new(),
        bytes: 0,
    };
    for define in defines {
        let (name, value) = define.split_once('=').unwrap_or((define, "1"));
        reader.source.macros.define(name, false, value);
    }
    let name = path.display().to_string();
    reader.file(name, path, text, 0);
    reader.source
}

struct Reader<'s> {
    search: &'s Search<'s>,
    source: Source,
    /// Files by the names that refer to them.
    known: HashMap<String, usize>,
    bytes: u64,
}

/// An open `#if`.
struct Branch {
    /// Whether its lines are being compiled, and whether an earlier branch was.
    active: bool,
    done: bool,
}

impl Reader<'_> {
    fn file(&mut self, name: String, path: &Path, text: &[u8], depth: usize) {
        let text = String::from_utf8_lossy(text).into_owned();
        let index = self.source.files.len();
        self.known.insert(name.clone(), index);
        self.source.files.push(File {
            name,
            text: String::new(),
        });
        self.source.parts.push(Part::default());
        let mut part = Part::default();
        let mut branches: Vec<Branch> = Vec::new();
        for token in tokens(&text) {
            let active = branches.iter().all(|branch| branch.active);
            if token.kind != Kind::Directive {
                if active {
                    part.words.push((token.kind, token.range));
                }
                continue;
            }
            let macros = &mut self.source.macros;
            match Directive::parse(token.text(&text)) {
                Directive::If(condition) => {
                    let holds = active && macros.holds(&condition);
                    branches.push(Branch {
                        active: holds,
                        done: holds || !active,
                    });
                }
                Directive::Elif(condition) => {
                    if let Some(branch) = branches.last_mut() {
                        branch.active = !branch.done && macros.holds(&condition);
                        branch.done |= branch.active;
                    }
                }
                Directive::Else => {
                    if let Some(branch) = branches.last_mut() {
                        branch.active = !branch.done;
                        branch.done = true;
                    }
                }
                Directive::Endif => drop(branches.pop()),
                Directive::Define {
                    name,
                    function,
                    body,
                } if active => {
                    macros.define(name, function, body);
                }
                Directive::Undef(name) if active => macros.undefine(name),
                Directive::Include(name, quoted) if active => {
                    self.include(name, quoted.then(|| path.parent()).flatten(), depth);
                }
                Directive::Define { .. }
                | Directive::Undef(_)
                | Directive::Include(..)
                | Directive::Message
                | Directive::Other => {}
            }
            part.directives.push(token.range);
        }
        self.source.parts[index] = part;
        self.source.files[index].text = text;
    }

    /// `beside` is the folder of a file that includes another in quotes.
    fn include(&mut self, name: &str, beside: Option<&Path>, depth: usize) {
        if self.known.contains_key(name)
            || self.source.files.len() >= MOST_FILES
            || depth >= MOST_DEPTH
        {
            return;
        }
        let folders = beside
            .into_iter()
            .chain(self.search.folders.iter().map(PathBuf::as_path));
        let mut places = folders.map(|folder| folder.join(name));
        let own = beside.is_some() || !(self.search.has_header)(name);
        match places.find(|place| own && place.is_file()) {
            Some(place) => {
                let bytes = place.metadata().map_or(0, |about| about.len());
                self.bytes = self.bytes.saturating_add(bytes);
                if self.bytes > MOST_BYTES {
                    return;
                }
                if let Ok(text) = std::fs::read(&place) {
                    self.file(name.to_owned(), &place, &text, depth + 1);
                }
            }
            None if (self.search.has_header)(name) => {}
            None => self.source.missing.push(name.to_owned()),
        }
    }
}
