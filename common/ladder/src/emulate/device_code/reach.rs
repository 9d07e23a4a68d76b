//! Finds the declarations that a kernel needs: it names them, or something that it needs names them. Functions without
//! `__device__` are not included unless they are `constexpr`: nvcc does not allow calling them from a kernel either
//! (CUDA C++ Programming Guide, "Function Execution Space Specifiers").
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::declarations::{Declaration, Form, Word};
use super::directives::{Directive, Macros};
use super::files::{File, Part, Source};
use super::tokens::{Kind, tokens};

/// A kernel that a source declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelDeclaration {
    pub name: String,
    /// Whether it is a template.
    pub template: bool,
    /// The parameters as in the source, on one line.
    pub parameters: String,
}

/// Host code that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOnly {
    pub name: String,
    /// 1-based line of the source.
    pub line: usize,
}

/// The compiled part of a source.
#[derive(Clone, Debug, Default)]
pub struct DeviceCode {
    /// The source, then the user's files that it includes; what is left out is blank.
    pub files: Vec<File>,
    pub kernels: Vec<KernelDeclaration>,
    pub host: Vec<HostOnly>,
}

/// Headers that are only included if they are used: some take a second to compile, others are for the host only.
const ON_DEMAND: [(&str, &[&str]); 12] = [
    ("thrust/", &["thrust"]),
    ("cub/", &["cub"]),
    ("cuda/", &["cuda"]),
    ("cooperative_groups", &["cooperative_groups"]),
    ("type_traits", &["std"]),
    ("limits", &["std"]),
    ("utility", &["std"]),
    ("array", &["std"]),
    ("tuple", &["std"]),
    ("functional", &["std"]),
    ("numeric", &["std"]),
    ("complex", &["std"]),
];

/// Namespaces that headers declare.
const NAMESPACES: [&str; 10] = [
    "std",
    "cuda",
    "nvcuda",
    "wmma",
    "cooperative_groups",
    "cub",
    "thrust",
    "experimental",
    "ptx",
    "literals",
];

/// The execution space that a declaration gives a function or variable.
#[derive(Clone, Copy, Default)]
struct Space {
    kernel: bool,
    device: bool,
    host: bool,
}

impl Source {
    /// The code that the kernel of this name needs; for all kernels if no name is given or none matches.
    pub fn device_code(&self, kernel: Option<&str>) -> DeviceCode {
        let mut reach = Reach::new(self);
        let kernels = reach.kernels();
        let wanted = kernel.map(base_name);
        let found = wanted.filter(|name| kernels.iter().any(|kernel| kernel.name == *name));
        reach.roots(found, wanted.is_some());
        // Template arguments name types of the source.
        reach
            .open
            .extend(words_of(kernel.unwrap_or_default()).map(str::to_owned));
        reach.follow();
        reach.assertions();
        DeviceCode {
            files: reach.files(),
            host: reach.host(),
            kernels,
        }
    }
}

/// The name in an expression such as `ours::reduce<float, 256>`.
pub fn base_name(expression: &str) -> &str {
    let name = expression.split('<').next().unwrap_or(expression);
    let name = name.rsplit("::").next().unwrap_or(name);
    name.trim().trim_start_matches('&').trim()
}

struct Reach<'a> {
    source: &'a Source,
    /// Each with its file.
    declarations: Vec<(usize, Declaration<'a>)>,
    by_name: HashMap<&'a str, Vec<usize>>,
    spaces: HashMap<&'a str, Space>,
    kept: Vec<bool>,
    /// Words that are reached; and those that have not been followed yet.
    reached: HashSet<String>,
    open: Vec<String>,
}

impl<'a> Reach<'a> {
    fn new(source: &'a Source) -> Self {
        let mut declarations = Vec::new();
        for (index, (file, part)) in source.files.iter().zip(&source.parts).enumerate() {
            let of_file = part.declarations(&file.text, &source.macros);
            declarations.extend(of_file.into_iter().map(|one| (index, one)));
        }
        let mut by_name: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, (_, one)) in declarations.iter().enumerate() {
            for name in &one.names {
                by_name.entry(name).or_default().push(index);
            }
        }
        Self {
            source,
            by_name,
            spaces: spaces(&source.macros),
            kept: vec![false; declarations.len()],
            declarations,
            reached: HashSet::new(),
            open: Vec::new(),
        }
    }

    fn space(&self, one: &Declaration<'_>) -> Space {
        let mut space = Space::default();
        for word in &one.head {
            let of_word = self.spaces.get(word).copied();
            let of_word = of_word.unwrap_or_else(|| space_of(word));
            space.kernel |= of_word.kernel;
            space.device |= of_word.device;
            space.host |= of_word.host;
        }
        space
    }

    fn kernels(&self) -> Vec<KernelDeclaration> {
        let mut kernels: Vec<KernelDeclaration> = Vec::new();
        for (file, one) in &self.declarations {
            if one.form != Form::Function || !self.space(one).kernel {
                continue;
            }
            let Some(name) = one.names.last() else {
                continue;
            };
            let text = &self.source.files[*file].text;
            let parameters = one.parameters.clone().and_then(|range| text.get(range));
            let words = parameters.unwrap_or_default().split_whitespace();
            let declared = KernelDeclaration {
                name: (*name).to_owned(),
                template: one.template,
                parameters: words.collect::<Vec<_>>().join(" "),
            };
            if !kernels.contains(&declared) {
                kernels.push(declared);
            }
        }
        kernels
    }

    /// Keeps what is always needed: the requested kernels, operators, and braces of macros. If a macro generates a
    /// kernel, its name cannot be matched, so all device code is kept.
    fn roots(&mut self, kernel: Option<&str>, named: bool) {
        for index in 0..self.declarations.len() {
            let one = &self.declarations[index].1;
            let space = self.space(one);
            let root = match one.form {
                Form::Function if space.kernel => {
                    kernel.is_none_or(|name| one.names.contains(&name))
                }
                Form::Function => {
                    space.device && (one.names.contains(&"operator") || named && kernel.is_none())
                }
                Form::Macro => space.kernel || space.device || self.is_open(one),
                Form::UsingNamespace
                | Form::Type
                | Form::Variable
                | Form::Alias
                | Form::StaticAssert => false,
            };
            if root {
                self.keep(index);
            }
        }
    }

    /// Whether a macro has unbalanced braces.
    fn is_open(&self, one: &Declaration<'_>) -> bool {
        let bodies = one
            .head
            .iter()
            .flat_map(|name| self.source.macros.ever(name));
        let mut counts =
            bodies.map(|one| (one.body.matches('{').count(), one.body.matches('}').count()));
        counts.any(|(open, close)| open != close)
    }

    /// Whether a macro declares something that both sides may use.
    fn declares_both(&self, one: &Declaration<'_>) -> bool {
        let bodies = one
            .head
            .iter()
            .flat_map(|name| self.source.macros.ever(name));
        let mut words = bodies.flat_map(|one| words_of(&one.body));
        words.any(|word| {
            matches!(
                word,
                "constexpr" | "struct" | "class" | "enum" | "using" | "typedef"
            )
        })
    }

    /// Whether device code may use it.
    fn usable(&self, one: &Declaration<'_>) -> bool {
        let space = self.space(one);
        let has = |word| one.head.contains(word);
        match one.form {
            Form::Function if space.kernel || space.device => true,
            Form::Function => !space.host && (has("constexpr") || has("consteval")),
            Form::Variable => space.device || has("const") || has("constexpr") || has("constinit"),
            Form::Macro => space.kernel || space.device || self.declares_both(one),
            Form::Type | Form::Alias => true,
            Form::UsingNamespace | Form::StaticAssert => false,
        }
    }

    fn keep(&mut self, index: usize) {
        if std::mem::replace(&mut self.kept[index], true) {
            return;
        }
        let (file, one) = &self.declarations[index];
        let mut cut = Vec::new();
        self.host_members(one, &mut cut);
        let words: Vec<String> = match cut.is_empty() {
            true => one.words.iter().map(|word| (*word).to_owned()).collect(),
            false => {
                let inside = |word: &Word<'_>| one.range.contains(&word.range.start);
                let is_cut =
                    |word: &Word<'_>| cut.iter().any(|range| range.contains(&word.range.start));
                let all = self.source.parts[*file].words(&self.source.files[*file].text);
                let left =
                    all.filter(|word| word.kind == Kind::Word && inside(word) && !is_cut(word));
                left.map(|word| word.text.to_owned()).collect()
            }
        };
        self.open.extend(words);
    }

    /// The host functions of a class and of its nested classes.
    fn host_members(&self, one: &Declaration<'_>, cut: &mut Vec<Range<usize>>) {
        for member in &one.members {
            let stays = member.given || member.head.contains("virtual") || self.usable(member);
            match member.form {
                Form::Function if !stays => cut.push(member.range.clone()),
                Form::Type => self.host_members(member, cut),
                Form::Function
                | Form::Variable
                | Form::Alias
                | Form::UsingNamespace
                | Form::StaticAssert
                | Form::Macro => {}
            }
        }
    }

    /// Follows every word to the declarations that it names.
    fn follow(&mut self) {
        while let Some(word) = self.open.pop() {
            if self.reached.contains(&word) {
                continue;
            }
            for definition in self.source.macros.ever(&word) {
                self.open
                    .extend(words_of(&definition.body).map(str::to_owned));
            }
            for index in self.by_name.get(word.as_str()).cloned().unwrap_or_default() {
                if self.usable(&self.declarations[index].1) {
                    self.keep(index);
                }
            }
            self.reached.insert(word);
        }
    }

    /// Known namespaces and static assertions, which are never named.
    fn assertions(&mut self) {
        let files = self.source.files.iter().zip(&self.source.parts);
        let words = files
            .flat_map(|(file, part)| part.words(&file.text))
            .collect::<Vec<_>>();
        let own = words.windows(2).filter(|pair| pair[0].text == "namespace");
        let own: HashSet<&str> = own.map(|pair| pair[1].text).collect();
        for index in 0..self.declarations.len() {
            let one = &self.declarations[index].1;
            let known = |word: &&str| NAMESPACES.contains(word) || own.contains(word);
            let there = |word: &&str| match self.by_name.get(word) {
                Some(found) => found.iter().any(|&index| self.kept[index]),
                None => *word != "std" || self.reached.contains("std"),
            };
            let keep = match one.form {
                Form::UsingNamespace => one.names.iter().all(known),
                Form::StaticAssert => one.words.iter().all(there),
                Form::Function | Form::Type | Form::Variable | Form::Alias | Form::Macro => false,
            };
            self.kept[index] |= keep;
        }
    }

    fn files(&self) -> Vec<File> {
        let mut texts: Vec<Vec<u8>> = self
            .source
            .files
            .iter()
            .map(|file| file.text.clone().into_bytes())
            .collect();
        for (index, (file, one)) in self.declarations.iter().enumerate() {
            let mut cut = vec![one.range.clone()];
            if self.kept[index] {
                cut.clear();
                self.host_members(one, &mut cut);
            }
            for range in cut {
                blank(
                    &mut texts[*file],
                    &self.source.files[*file].text,
                    range,
                    &self.source.parts[*file],
                );
            }
        }
        for ((text, file), part) in texts
            .iter_mut()
            .zip(&self.source.files)
            .zip(&self.source.parts)
        {
            for range in &part.directives {
                let line = file.text.get(range.clone()).unwrap_or_default();
                if let Directive::Include(name, _) = Directive::parse(line)
                    && self.is_needless(name)
                {
                    fill(text, range.clone());
                }
            }
        }
        let files = self.source.files.iter().zip(texts);
        files
            .map(|(file, text)| File {
                text: String::from_utf8_lossy(&text).into_owned(),
                ..file.clone()
            })
            .collect()
    }

    /// Whether nothing that is kept uses a header.
    fn is_needless(&self, name: &str) -> bool {
        let of = ON_DEMAND
            .iter()
            .find(|(header, _)| match header.ends_with('/') {
                true => name.starts_with(header),
                false => {
                    name == *header
                        || name.starts_with(&format!("{header}."))
                        || name.starts_with(&format!("{header}/"))
                }
            });
        let own = self.source.files.iter().any(|file| file.name == name);
        of.is_some_and(|(_, words)| !own && !words.iter().any(|word| self.reached.contains(*word)))
    }

    fn host(&self) -> Vec<HostOnly> {
        let mut host = Vec::new();
        for (index, (file, one)) in self.declarations.iter().enumerate() {
            let may_be_named = matches!(one.form, Form::Function | Form::Variable);
            if self.kept[index] || !may_be_named || self.usable(one) {
                continue;
            }
            let before = self.source.files[*file].text.get(..one.range.start);
            let line = before.unwrap_or_default().matches('\n').count() + 1;
            host.extend(one.names.iter().map(|name| HostOnly {
                name: (*name).to_owned(),
                line,
            }));
        }
        host
    }
}

/// Blanks a range, except for line ends and directives.
fn blank(text: &mut [u8], original: &str, range: Range<usize>, part: &Part) {
    let mut at = range.start;
    let first = part
        .directives
        .partition_point(|directive| directive.start < range.start);
    for directive in &part.directives[first..] {
        if directive.start >= range.end {
            break;
        }
        fill(text, at..directive.start);
        at = directive.end;
        let line = original.get(directive.clone()).unwrap_or_default();
        if Directive::parse(line) == Directive::Message {
            fill(text, directive.clone());
        }
    }
    fill(text, at..range.end.max(at));
}

fn fill(text: &mut [u8], range: Range<usize>) {
    for byte in text.get_mut(range).unwrap_or_default() {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let tokens = tokens(text).into_iter();
    let words = tokens.filter(|token| token.kind == Kind::Word);
    words.filter_map(|token| text.get(token.range))
}

fn space_of(word: &str) -> Space {
    Space {
        kernel: word == "__global__",
        device: matches!(
            word,
            "__device__" | "__constant__" | "__managed__" | "__shared__" | "__tile__"
        ),
        host: word == "__host__",
    }
}

/// The execution spaces that macros stand for: `#define HD __host__ __device__`, and macros of such macros.
fn spaces(macros: &Macros) -> HashMap<&str, Space> {
    let mut spaces: HashMap<&str, Space> = HashMap::new();
    // As deep as macros are nested in practice.
    for _ in 0..4 {
        for name in macros.names() {
            let mut space = Space::default();
            for body in macros.ever(name) {
                for word in words_of(&body.body) {
                    let found = spaces.get(word).copied().unwrap_or_else(|| space_of(word));
                    space.kernel |= found.kernel;
                    space.device |= found.device;
                    space.host |= found.host;
                }
            }
            spaces.insert(name, space);
        }
    }
    spaces
}
