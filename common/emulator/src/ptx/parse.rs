//! Tokens to a [`Parsed`]. Registers and labels are resolved here, scope by scope: inline assembly
//! opens scopes of its own.
use std::sync::Arc;

use super::body::Body;
use super::lex::{Spanned, Token, lex};
use super::number::{self, Number};
use super::targets;
use super::{Kernel, Loc, Parsed, PtxError, VariableSpace};
use crate::program::SourceLine;

pub(super) type Result<T> = std::result::Result<T, PtxError>;

pub(super) fn module(text: &str) -> Result<Parsed> {
    let tokens = lex(text)?;
    if tokens.first().map(|first| first.token) != Some(Token::Word(".version")) {
        let message = "this is not PTX: it does not start with `.version`";
        return Err(PtxError::new(1, message));
    }
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
    };
    let mut module = Parsed::default();
    while parser.at < tokens.len() {
        parser.item(&mut module)?;
    }
    if module.target.is_empty() {
        return Err(PtxError::new(1, "`.target` is missing after `.version`"));
    }
    Ok(module)
}

impl Parsed {
    /// Checks that no kernel or function has this name.
    fn is_new(&self, name: &str, line: u32) -> Result<()> {
        let mut known = self.kernels.iter().chain(&self.functions);
        match known.find(|known| known.name == name) {
            None => Ok(()),
            Some(first) => {
                let message = format!("`{name}` is defined twice; first in line {}", first.line);
                Err(PtxError::new(line, message))
            }
        }
    }
}

/// The number in the label of a string, which is how `.loc` refers to it: `$L__info_string20`.
pub(super) fn string_number(label: Token<'_>) -> Option<u32> {
    match label {
        Token::Word(label) => label.strip_prefix("$L__info_string")?.parse().ok(),
        _ => None,
    }
}

/// A function's name in the source, without namespaces (Itanium C++ ABI, "Mangling"): `load` of `_ZN3gpu4loadEPf`.
fn function_name(mangled: &str) -> &str {
    if mangled.starts_with("_ZZ") && mangled.contains("EUl") || mangled.contains("ENKUl") {
        return "a lambda";
    }
    let (mut name, mut rest) = (
        mangled,
        mangled.trim_start_matches(['_', 'Z', 'N', 'K', 'L']),
    );
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (length, behind) = rest.split_at(digits);
        let length = length.parse().unwrap_or(usize::MAX);
        match behind.split_at_checked(length) {
            Some((part, behind)) => (name, rest) = (part, behind),
            None => return name,
        }
    }
}

pub(super) struct Parser<'a> {
    pub text: &'a str,
    pub tokens: &'a [Spanned<'a>],
    pub at: usize,
}

impl<'a> Parser<'a> {
    pub fn line(&self) -> u32 {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(0, |t| t.line)
    }
    pub fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(PtxError::new(self.line(), message))
    }
    pub fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|t| t.token)
    }
    pub fn next(&mut self) -> Result<Token<'a>> {
        let Some(token) = self.peek() else {
            return self.error("the text ends in the middle of a statement");
        };
        self.at += 1;
        Ok(token)
    }
    pub fn eat(&mut self, punct: char) -> bool {
        let found = self.peek() == Some(Token::Punct(punct));
        self.at += usize::from(found);
        found
    }
    pub fn expect(&mut self, punct: char) -> Result<()> {
        match self.eat(punct) {
            true => Ok(()),
            false => self.error(format!("expected `{punct}`")),
        }
    }
    /// Items with commas between them.
    pub fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(',') {
            items.push(item(self)?);
        }
        Ok(items)
    }
    /// The next word without its dot, if it begins with one.
    pub fn suffix(&mut self) -> Option<&'a str> {
        let Some(Token::Word(word)) = self.peek() else {
            return None;
        };
        let suffix = word.strip_prefix('.')?;
        self.at += 1;
        Some(suffix)
    }
    pub fn word(&mut self) -> Result<&'a str> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            _ => {
                self.at -= 1;
                self.error("expected a name")
            }
        }
    }
    pub fn int(&mut self) -> Result<u64> {
        let negative = self.eat('-');
        let value = match self.next()? {
            Token::Number(text) => number::parse(text),
            _ => None,
        };
        match value {
            Some(Number::Int(value)) if negative => Ok(value.wrapping_neg()),
            Some(Number::Int(value)) => Ok(value),
            _ => {
                self.at -= 1;
                self.error("expected an integer")
            }
        }
    }
    pub fn small(&mut self) -> Result<u32> {
        let value = self.int()?;
        u32::try_from(value).or_else(|_| self.error(format!("{value} is out of range here")))
    }

    /// One item of a module: a directive, a variable or a function.
    fn item(&mut self, module: &mut Parsed) -> Result<()> {
        let word = self.word()?;
        match word {
            ".version" => {
                let Token::Number(text) = self.next()? else {
                    return self.error("expected a version such as 7.0");
                };
                let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
                match (major.parse(), minor.parse()) {
                    (Ok(_), Ok(_)) if module.version != (0, 0) => {
                        self.at -= 1;
                        return self.error("`.version` is stated twice");
                    }
                    (Ok(major), Ok(minor)) => {
                        if let Err(why) = targets::check_version((major, minor)) {
                            self.at -= 1;
                            return self.error(why);
                        }
                        module.version = (major, minor);
                    }
                    _ => return self.error("expected a version such as 7.0"),
                }
            }
            ".target" => {
                module.target = self.word()?.to_string();
                if let Err(why) = targets::check_target(&module.target, module.version) {
                    self.at -= 1;
                    return self.error(why);
                }
                while self.eat(',') {
                    let word = self.word()?;
                    if !targets::is_option(word) {
                        self.at -= 1;
                        return self.error(format!("there is no .target {word}"));
                    }
                }
            }
            ".address_size" => {
                if self.int()? != 64 {
                    return self.error("only 64-bit addresses are supported");
                }
            }
            ".file" => {
                let index = self.small()?;
                let Token::Text(name) = self.next()? else {
                    return self.error("expected a file name");
                };
                module.files.insert(index, Arc::from(name));
                while self.eat(',') {
                    self.next()?;
                }
            }
            ".section" => {
                let names = self.word()? == ".debug_str";
                self.section(names, module)?;
            }
            // Linkage has no effect, except that `.extern .shared` is dynamic shared memory.
            ".extern" if self.peek() == Some(Token::Word(".shared")) => {
                self.at += 1;
                self.variables(module, VariableSpace::DynamicShared)?;
            }
            ".visible" | ".extern" | ".weak" | ".common" => {}
            ".global" => self.variables(module, VariableSpace::Global)?,
            ".const" => self.variables(module, VariableSpace::Const)?,
            ".shared" => self.variables(module, VariableSpace::Shared)?,
            ".entry" => {
                let line = self.line();
                let name = self.word()?.to_string();
                if let Some(kernel) = self.function(name, line)? {
                    module.is_new(&kernel.name, line)?;
                    module.kernels.push(kernel);
                }
            }
            ".func" => {
                let line = self.line();
                let returns = self.params()?;
                let name = self.word()?.to_string();
                match self.function(name.clone(), line)? {
                    Some(function) => {
                        module.is_new(&function.name, line)?;
                        module.functions.push(Kernel {
                            returns,
                            ..function
                        });
                    }
                    None => module.externs.push(name),
                }
            }
            ".pragma" => self.skip_statement()?,
            other => {
                self.at -= 1;
                return self.error(format!("`{other}` is not known at module level"));
            }
        }
        Ok(())
    }

    fn variables(&mut self, module: &mut Parsed, space: VariableSpace) -> Result<()> {
        let declared = self.variable(space)?;
        for (name, variable) in declared {
            // Dynamic shared memory may be declared repeatedly.
            let known = module.variables.iter().find(|known| known.name == name);
            if known.is_some_and(|known| known.space != VariableSpace::DynamicShared) {
                self.at -= 1;
                return self.error(format!("the variable `{name}` is defined twice"));
            }
            module.variables.push(variable);
        }
        Ok(())
    }

    pub fn skip_statement(&mut self) -> Result<()> {
        while self.next()? != Token::Punct(';') {}
        Ok(())
    }
    /// Skips a section; keeps the names of inlined functions, which `.debug_str` has as bytes.
    fn section(&mut self, names: bool, module: &mut Parsed) -> Result<()> {
        self.expect('{')?;
        let (mut depth, mut number, mut bytes) = (1, None, Vec::new());
        while depth > 0 {
            match self.next()? {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') => depth -= 1,
                Token::Number(byte) if names => bytes.extend(byte.parse::<u8>().ok()),
                label => number = string_number(label).or(number),
            }
            if bytes.last() == Some(&0) {
                let name = String::from_utf8_lossy(&bytes[..bytes.len() - 1]);
                let name = Arc::from(function_name(&name));
                let known = number.take();
                known.map(|number| module.inlined_functions.insert(number, name));
                bytes.clear();
            }
        }
        Ok(())
    }
    /// A line of the CUDA source. Compilers name the files at the end of the text.
    fn source_line(&self, loc: Loc) -> Option<SourceLine> {
        let (file, line) = loc.of_mistake();
        let directives = self.tokens.windows(3);
        directives
            .filter_map(
                |window| match [window[0].token, window[1].token, window[2].token] {
                    [
                        Token::Word(".file"),
                        Token::Number(index),
                        Token::Text(name),
                    ] if index.parse() == Ok(file) => Some(name),
                    _ => None,
                },
            )
            .map(|name| SourceLine {
                file: Arc::from(name),
                line,
            })
            .next()
    }
    /// A kernel or device function, starting at its parameters; `None` if it is only a prototype.
    fn function(&mut self, name: String, line: u32) -> Result<Option<Kernel>> {
        let params = self.params()?;
        let mut kernel = Kernel {
            name,
            line,
            params,
            ..Kernel::default()
        };
        while let Some(Token::Word(word)) = self.peek() {
            if !word.starts_with('.') {
                return self.error("expected `{`");
            }
            self.at += 1;
            let mut numbers = Vec::new();
            while matches!(self.peek(), Some(Token::Number(_))) {
                numbers.push(self.small()?);
                self.eat(',');
            }
            let dim = |i: usize| numbers.get(i).copied().unwrap_or(1);
            match word {
                ".maxntid" | ".reqntid" => kernel.max_threads = Some([dim(0), dim(1), dim(2)]),
                ".maxnreg" => kernel.max_registers = numbers.first().copied(),
                ".reqnctapercluster" => {
                    kernel.cluster = Some([dim(0), dim(1), dim(2)]);
                    kernel.explicit_cluster = true;
                }
                ".explicitcluster" => kernel.explicit_cluster = true,
                ".maxclusterrank" => kernel.max_cluster = numbers.first().copied(),
                ".minnctapersm" => kernel.min_blocks = numbers.first().copied(),
                ".noreturn" | ".maxnctapersm" => {}
                other => {
                    self.at -= 1;
                    return self.error(format!("`{other}` is not known for a kernel"));
                }
            }
        }
        if self.eat(';') {
            return Ok(None);
        }
        self.expect('{')?;
        let mut body = Body::new(kernel);
        let read = self.block(&mut body);
        read.map_err(|error| error.at(body.loc().and_then(|loc| self.source_line(loc))))?;
        Ok(Some(body.finish()))
    }
}
