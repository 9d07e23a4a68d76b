//! Splits tokens into declarations: what each one declares, its scope, and where it ends. Brackets and a few keywords
//! are enough to recognize them. Text that is not C++ is returned, too, as some declaration.
use std::collections::HashSet;
use std::ops::Range;

use super::directives::Macros;
use super::tokens::Kind;

/// A token of a compiled line.
#[derive(Clone, Debug)]
pub struct Word<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub range: Range<usize>,
}

/// A declaration at namespace or class scope.
#[derive(Clone, Debug, Default)]
pub struct Declaration<'a> {
    pub form: Form,
    /// The names that it declares. Names of all namespaces and classes are in one set.
    pub names: Vec<&'a str>,
    /// Its range in the text, in bytes.
    pub range: Range<usize>,
    /// The range of a function's parameter list.
    pub parameters: Option<Range<usize>>,
    /// The names and keywords in it.
    pub words: HashSet<&'a str>,
    /// The words before the body, the initial value and the parameters.
    pub head: HashSet<&'a str>,
    pub template: bool,
    /// `= default`, `= delete` or `= 0`
    pub given: bool,
    /// The members of a class.
    pub members: Vec<Declaration<'a>>,
}

/// What kind of declaration it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    Function,
    /// A class or an enumeration.
    Type,
    #[default]
    Variable,
    /// `using a = …`, `typedef`, `namespace a = …`, `using b::a`
    Alias,
    UsingNamespace,
    StaticAssert,
    /// A macro that is a declaration by itself, or a brace of one.
    Macro,
}

/// Limits the nesting of scopes, for hostile texts.
const MOST_DEPTH: usize = 64;

/// Words before parentheses that are not parameter lists.
const NO_FUNCTIONS: [&str; 17] = [
    "__launch_bounds__",
    "__maxnreg__",
    "__cluster_dims__",
    "__block_size__",
    "__align__",
    "__attribute__",
    "__declspec",
    "alignas",
    "alignof",
    "decltype",
    "explicit",
    "noexcept",
    "requires",
    "sizeof",
    "throw",
    "typeof",
    "asm",
];

/// All declarations of a text, including those in namespaces.
pub fn declarations<'a>(words: &[Word<'a>], macros: &Macros) -> Vec<Declaration<'a>> {
    let mut parser = Parser {
        words,
        macros,
        at: 0,
    };
    let mut found = Vec::new();
    while parser.at < words.len() {
        parser.scope(&mut found, Scope::Namespace, 0);
        // An unmatched closing brace.
        parser.at += 1;
    }
    found
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Namespace,
    Class,
}

struct Parser<'w, 'a> {
    words: &'w [Word<'a>],
    macros: &'w Macros,
    at: usize,
}

impl<'a> Parser<'_, 'a> {
    fn text(&self, at: usize) -> &'a str {
        self.words.get(at).map_or("", |word| word.text)
    }

    fn peek(&self) -> &'a str {
        self.text(self.at)
    }

    fn is_word(&self, at: usize) -> bool {
        self.words
            .get(at)
            .is_some_and(|word| word.kind == Kind::Word)
    }

    /// Declarations up to the brace that closes the scope, which is not consumed.
    fn scope(&mut self, found: &mut Vec<Declaration<'a>>, scope: Scope, depth: usize) {
        while self.at < self.words.len() {
            match self.peek() {
                "}" => return,
                ";" => self.at += 1,
                "public" | "private" | "protected" if self.text(self.at + 1) == ":" => self.at += 2,
                "namespace" | "inline" | "extern" if self.opens_scope() => {
                    // From the first word up to the brace.
                    while self.peek() != "{" {
                        self.at += 1;
                    }
                    self.body(found, scope, depth);
                }
                _ => {
                    let before = self.at;
                    let declaration = self.declaration(scope, depth);
                    found.push(declaration);
                    // Unknown: skip it.
                    self.at = self.at.max(before + 1);
                }
            }
        }
    }

    /// The declarations between two braces, which are consumed.
    fn body(&mut self, found: &mut Vec<Declaration<'a>>, scope: Scope, depth: usize) {
        if depth >= MOST_DEPTH {
            return self.group();
        }
        self.at += 1;
        self.scope(found, scope, depth + 1);
        self.at += 1;
    }

    /// `namespace a::b {`, `inline namespace a {`, `extern "C" {`
    fn opens_scope(&self) -> bool {
        let mut at = self.at + usize::from(self.peek() == "inline");
        match self.text(at) {
            "extern" => {
                let is_text = self
                    .words
                    .get(at + 1)
                    .is_some_and(|word| word.kind == Kind::Literal);
                return is_text && self.text(at + 2) == "{";
            }
            "namespace" => at += 1,
            _ => return false,
        }
        while self.is_word(at) || self.text(at) == "::" {
            at += 1;
        }
        self.text(at) == "{"
    }

    /// Skips a bracketed range, including the brackets.
    fn group(&mut self) {
        let mut depth = 0usize;
        while self.at < self.words.len() {
            match self.peek() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Skips `<…>`, if it begins here.
    fn angles(&mut self) -> bool {
        let start = self.at;
        let mut depth = 0usize;
        while self.at < self.words.len() {
            match self.peek() {
                "<" => depth += 1,
                ">" => depth -= 1,
                "(" | "[" | "{" => {
                    self.group();
                    continue;
                }
                ";" | ")" | "]" | "}" => break,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return true;
            }
        }
        self.at = start;
        false
    }

    fn declaration(&mut self, scope: Scope, depth: usize) -> Declaration<'a> {
        let first = self.at;
        let mut one = Declaration::default();
        let start = self.at;
        while self.peek() == "template" && self.text(self.at + 1) == "<" {
            self.at += 1;
            if !self.angles() {
                break;
            }
        }
        match self.peek() {
            "using" if self.at > start => self.alias(&mut one),
            _ if self.at > start => {
                self.at = start;
                Declarator::new(self, scope, depth).read(&mut one);
            }
            word if self.is_macro(word) => self.macro_call(&mut one),
            "using" | "typedef" | "namespace" => self.alias(&mut one),
            "static_assert" => {
                one.form = Form::StaticAssert;
                self.statement();
            }
            _ => Declarator::new(self, scope, depth).read(&mut one),
        }
        self.at = self.at.max(first + 1).min(self.words.len());
        let words = &self.words[first..self.at];
        let plain = words.iter().filter(|word| word.kind == Kind::Word);
        one.words = plain.map(|word| word.text).collect();
        let (start, end) = (words.first(), words.last());
        one.range = start.map_or(0, |word| word.range.start)..end.map_or(0, |word| word.range.end);
        one
    }

    /// Reads up to the `;`.
    fn statement(&mut self) {
        while self.at < self.words.len() {
            match self.peek() {
                ";" => {
                    self.at += 1;
                    return;
                }
                "}" => return,
                "(" | "[" | "{" => self.group(),
                _ => self.at += 1,
            }
        }
    }

    fn alias(&mut self, one: &mut Declaration<'a>) {
        let first = self.at;
        self.statement();
        let words = &self.words[first..self.at];
        let named = |word: &&Word<'a>| word.kind == Kind::Word;
        one.form = Form::Alias;
        let name = match words.first().map(|word| word.text) {
            Some("using") if words.get(1).is_some_and(|word| word.text == "namespace") => {
                one.form = Form::UsingNamespace;
                words.iter().rfind(named)
            }
            // `typedef int (*function)(int);`, `typedef struct {…} name;`
            Some("typedef") => {
                let pointer = words.windows(3).find(|three| {
                    let [open, star, name] = three else {
                        return false;
                    };
                    open.text == "(" && star.text == "*" && name.kind == Kind::Word
                });
                // The array's name precedes its bounds.
                let mut plain = words.split(|word| word.text == "[").next().unwrap_or(words);
                if plain.iter().any(|word| word.text == "{") {
                    plain = words;
                }
                pointer.map(|three| &three[2]).or(plain.iter().rfind(named))
            }
            _ if words.iter().any(|word| word.text == "=") => words.get(1).filter(named),
            _ => words.iter().rfind(named),
        };
        one.names = name.iter().map(|word| word.text).collect();
    }

    /// Whether a macro of this name is a declaration, or opens or closes one.
    fn is_macro(&self, word: &str) -> bool {
        let called = self.text(self.at + 1) == "(";
        let definitions = self.macros.ever(word).iter();
        let mut these = definitions.filter(|one| one.function == called || !one.function);
        these.any(|one| one.body.contains(['{', '}', ';']))
    }

    /// `KERNEL(add, +)`, possibly followed by `;` or a body.
    fn macro_call(&mut self, one: &mut Declaration<'a>) {
        one.form = Form::Macro;
        one.head.insert(self.peek());
        let first = self.at;
        self.at += 1;
        if self.peek() == "("
            && self
                .macros
                .ever(self.text(first))
                .iter()
                .any(|one| one.function)
        {
            self.group();
            let arguments = self.words[first + 1..self.at].iter();
            let names = arguments.filter(|word| word.kind == Kind::Word);
            one.names = names.map(|word| word.text).collect();
        }
        match self.peek() {
            ";" => self.at += 1,
            "{" => self.group(),
            _ => {}
        }
    }
}

/// Reads a function, a class or a variable.
struct Declarator<'p, 'w, 'a> {
    parser: &'p mut Parser<'w, 'a>,
    scope: Scope,
    depth: usize,
    /// A `=` was read.
    value: bool,
    /// A `:` after the parameters was read: a constructor's initializer list.
    list: bool,
    /// `class`, `struct`, `union` or `enum` was read, and the name follows.
    class: Option<&'a str>,
    /// Words that may be a variable's name.
    last: Option<&'a str>,
    pointer: bool,
}

impl<'p, 'w, 'a> Declarator<'p, 'w, 'a> {
    fn new(parser: &'p mut Parser<'w, 'a>, scope: Scope, depth: usize) -> Self {
        Self {
            parser,
            scope,
            depth,
            value: false,
            list: false,
            class: None,
            last: None,
            pointer: false,
        }
    }

    fn read(mut self, one: &mut Declaration<'a>) {
        let first = self.parser.at;
        while self.parser.at < self.parser.words.len() {
            let at = self.parser.at;
            let open = one.parameters.is_none() && !self.value;
            match self.parser.peek() {
                "template" if open && self.parser.text(at + 1) == "<" => {
                    one.template = true;
                    self.parser.at += 1;
                    if !self.parser.angles() {
                        self.parser.at += 1;
                    }
                }
                ";" => {
                    self.name(one);
                    self.parser.at += 1;
                    return;
                }
                "}" => return self.name(one),
                "," if one.parameters.is_none() => {
                    self.name(one);
                    self.value = false;
                    self.parser.at += 1;
                }
                "{" => {
                    if self.brace(one, first) {
                        return;
                    }
                }
                "(" => self.parentheses(one),
                "[" => {
                    self.name(one);
                    self.parser.group();
                }
                "=" if !self.names_operator(at, 3) => {
                    self.name(one);
                    self.value = true;
                    one.given = one.parameters.is_some()
                        && matches!(self.parser.text(at + 1), "default" | "delete" | "0");
                    self.parser.at += 1;
                }
                "<" if !self.value
                    && !self.names_operator(at, 2)
                    && self.parser.is_word(at.wrapping_sub(1)) =>
                {
                    if !self.parser.angles() {
                        self.parser.at += 1;
                    }
                }
                ":" => {
                    self.list = one.parameters.is_some();
                    self.parser.at += 1;
                }
                "class" | "struct" | "union" | "enum" if open => {
                    self.parser.at += 1;
                    if matches!(self.parser.peek(), "class" | "struct") {
                        self.parser.at += 1;
                    }
                    self.class = self.class.or(Some(self.parser.text(at)));
                }
                word => {
                    if self.parser.is_word(at) {
                        self.word(one, word, open);
                    }
                    self.parser.at += 1;
                }
            }
        }
        self.name(one);
    }

    fn word(&mut self, one: &mut Declaration<'a>, word: &'a str, open: bool) {
        if !open {
            return;
        }
        one.head.insert(word);
        // The first word after `struct` that is not an attribute.
        let attribute = self.parser.text(self.parser.at + 1) == "(" || word == "final";
        if self.class.is_some() && one.form != Form::Type && !attribute {
            one.names.push(word);
            one.form = Form::Type;
            self.last = None;
        } else {
            self.last = Some(word);
        }
    }

    /// Whether this follows `operator`, in a name such as `operator<<=`.
    fn names_operator(&self, at: usize, most: usize) -> bool {
        let before = self.parser.words.get(at.saturating_sub(most)..at);
        before
            .unwrap_or_default()
            .iter()
            .any(|word| word.text == "operator")
    }

    /// A variable's name is the last word of its declarator.
    fn name(&mut self, one: &mut Declaration<'a>) {
        let name = self.last.take();
        if one.parameters.is_none() && !self.value {
            one.names.extend(name);
        }
    }

    fn parentheses(&mut self, one: &mut Declaration<'a>) {
        let at = self.parser.at;
        let before = at.wrapping_sub(1);
        let name = self.parser.text(before);
        let is_operator = self.names_operator(at, 4);
        // The parentheses of `operator()` are its name.
        if name == "operator" {
            self.parser.group();
            return;
        }
        if one.parameters.is_some() || self.value || self.pointer {
            return self.parser.group();
        }
        if matches!(self.parser.text(at + 1), "*" | "&") && !is_operator {
            let mut inside = at + 1;
            while matches!(
                self.parser.text(inside),
                "*" | "&" | "const" | "__restrict__"
            ) {
                inside += 1;
            }
            one.names.extend(
                self.parser
                    .is_word(inside)
                    .then(|| self.parser.text(inside)),
            );
            self.last = None;
            self.pointer = true;
            return self.parser.group();
        }
        // `name<int>(` of a specialization.
        let name = match (name, self.last) {
            (">", Some(last)) => last,
            _ => name,
        };
        let named = name == self.last.unwrap_or_default() || self.parser.is_word(before);
        let named = named && !NO_FUNCTIONS.contains(&name);
        let start = self.parser.words[at].range.start;
        self.parser.group();
        if named || is_operator {
            one.names.push(if is_operator { "operator" } else { name });
            one.form = Form::Function;
            let end = self.parser.words[self.parser.at - 1].range.end;
            one.parameters = Some(start..end);
        }
    }

    /// Reads a `{`; returns whether the declaration ends with the matching `}`.
    fn brace(&mut self, one: &mut Declaration<'a>, first: usize) -> bool {
        let before = self.parser.at.wrapping_sub(1);
        if self.value {
            self.parser.group();
            return false;
        }
        if one.parameters.is_some() {
            let member = self.list && before >= first;
            let member = member && (self.parser.is_word(before) || self.parser.text(before) == ">");
            self.parser.group();
            return !member;
        }
        match self.class.take() {
            Some("enum") => {
                one.form = Form::Type;
                let inside = self.parser.at + 1;
                self.parser.group();
                let words = self
                    .parser
                    .words
                    .get(inside..self.parser.at)
                    .unwrap_or_default();
                let enumerators = words.windows(2).filter(|pair| {
                    pair[0].kind == Kind::Word && matches!(pair[1].text, "," | "=" | "}")
                });
                one.names.extend(enumerators.map(|pair| pair[0].text));
            }
            Some(_) => {
                one.form = Form::Type;
                // `class EXPORTED name {`
                one.names.extend(self.last.take());
                self.parser.body(&mut one.members, Scope::Class, self.depth);
            }
            None => {
                self.name(one);
                self.parser.group();
                // An unknown macro with a body.
                return self.scope == Scope::Namespace && one.names.is_empty();
            }
        }
        self.last = None;
        false
    }
}
