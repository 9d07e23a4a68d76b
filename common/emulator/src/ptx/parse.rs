//! Tokens to a [`Module`]. Registers and labels are resolved here, scope by scope: inline assembly
//! opens scopes of its own.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::lex::{Spanned, Token, lex};
use super::number::{self, Number};
use super::{
    Instr, Kernel, LabelId, Loc, Module, Operand, ParamDecl, PtxError, RegisterId, Statement, Type,
    Variable, VariableSpace,
};

type Result<T> = std::result::Result<T, PtxError>;

/// More registers than any kernel of ours or a student's; a bound for hostile input.
const MAX_REGISTERS: usize = 1 << 20;
/// The same for variables, in bytes.
const MAX_VARIABLE: u64 = 1 << 28;
/// The same for scopes within scopes and operands within operands.
const MAX_DEPTH: usize = 64;

pub(super) fn module(text: &str) -> Result<Module> {
    let tokens = lex(text)?;
    if !matches!(
        tokens.first(),
        Some(Spanned {
            token: Token::Word(".version"),
            ..
        })
    ) {
        return Err(PtxError::new(
            1,
            "this is not PTX: it does not start with `.version`",
        ));
    }
    let mut parser = Parser {
        text,
        tokens: &tokens,
        at: 0,
    };
    let mut module = Module {
        version: (0, 0),
        target: String::new(),
        files: BTreeMap::new(),
        variables: Vec::new(),
        kernels: Vec::new(),
    };
    while parser.at < tokens.len() {
        parser.item(&mut module)?;
    }
    Ok(module)
}

struct Parser<'a> {
    text: &'a str,
    tokens: &'a [Spanned<'a>],
    at: usize,
}

impl<'a> Parser<'a> {
    fn line(&self) -> u32 {
        self.tokens
            .get(self.at)
            .or(self.tokens.last())
            .map_or(0, |t| t.line)
    }
    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(PtxError::new(self.line(), message))
    }
    fn peek(&self) -> Option<Token<'a>> {
        self.tokens.get(self.at).map(|t| t.token)
    }
    fn next(&mut self) -> Result<Token<'a>> {
        let Some(token) = self.peek() else {
            return self.error("the text ends in the middle of a statement");
        };
        self.at += 1;
        Ok(token)
    }
    fn eat(&mut self, punct: char) -> bool {
        let found = self.peek() == Some(Token::Punct(punct));
        self.at += usize::from(found);
        found
    }
    fn expect(&mut self, punct: char) -> Result<()> {
        if self.eat(punct) {
            Ok(())
        } else {
            self.error(format!("`{punct}` expected"))
        }
    }
    fn word(&mut self) -> Result<&'a str> {
        match self.next()? {
            Token::Word(word) => Ok(word),
            _ => {
                self.at -= 1;
                self.error("a name expected")
            }
        }
    }
    fn int(&mut self) -> Result<u64> {
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
                self.error("an integer expected")
            }
        }
    }
    fn small(&mut self) -> Result<u32> {
        let value = self.int()?;
        u32::try_from(value).or_else(|_| self.error(format!("{value} is out of range here")))
    }

    /// One item of a module: a directive, a variable or a function.
    fn item(&mut self, module: &mut Module) -> Result<()> {
        let word = self.word()?;
        match word {
            ".version" => {
                let Token::Number(text) = self.next()? else {
                    return self.error("a version such as 7.0 expected");
                };
                let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
                match (major.parse(), minor.parse()) {
                    (Ok(major), Ok(minor)) => module.version = (major, minor),
                    _ => return self.error("a version such as 7.0 expected"),
                }
            }
            ".target" => {
                module.target = self.word()?.to_string();
                while self.eat(',') {
                    self.word()?;
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
                    return self.error("a file name expected");
                };
                module.files.insert(index, Arc::from(name));
                while self.eat(',') {
                    self.next()?;
                }
            }
            ".section" => {
                self.word()?;
                self.skip_braces()?;
            }
            ".visible" | ".extern" | ".weak" | ".common" | ".alias" => {
                if word == ".extern" && self.peek() == Some(Token::Word(".shared")) {
                    self.at += 1;
                    let variable = self.variable(VariableSpace::DynamicShared)?;
                    module.variables.extend(variable);
                }
            }
            ".global" => module
                .variables
                .extend(self.variable(VariableSpace::Global)?),
            ".const" => module
                .variables
                .extend(self.variable(VariableSpace::Const)?),
            ".shared" => module
                .variables
                .extend(self.variable(VariableSpace::Shared)?),
            ".entry" => {
                let kernel = self.entry()?;
                module.kernels.push(kernel);
            }
            ".func" => self.skip_function()?,
            ".pragma" => self.skip_statement()?,
            other => {
                self.at -= 1;
                return self.error(format!("`{other}` is not known at module level"));
            }
        }
        Ok(())
    }

    fn skip_statement(&mut self) -> Result<()> {
        while self.next()? != Token::Punct(';') {}
        Ok(())
    }
    fn skip_braces(&mut self) -> Result<()> {
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }
    /// Device functions that NVRTC did not inline; a call of one is refused where it stands.
    fn skip_function(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Some(Token::Punct(';')) => {
                    self.at += 1;
                    return Ok(());
                }
                Some(Token::Punct('{')) => return self.skip_braces(),
                _ => self.next()?,
            };
        }
    }

    fn entry(&mut self) -> Result<Kernel> {
        let line = self.line();
        let name = self.word()?.to_string();
        let mut params = Vec::new();
        if self.eat('(') && !self.eat(')') {
            loop {
                params.push(self.param()?);
                if !self.eat(',') {
                    break;
                }
            }
            self.expect(')')?;
        }
        let mut kernel = Kernel {
            name,
            line,
            params,
            registers: Vec::new(),
            variables: Vec::new(),
            body: Vec::new(),
            max_threads: None,
            min_blocks: None,
        };
        while let Some(Token::Word(word)) = self.peek() {
            self.at += 1;
            let mut numbers = Vec::new();
            while matches!(self.peek(), Some(Token::Number(_))) {
                numbers.push(self.small()?);
                self.eat(',');
            }
            let dim = |i: usize| numbers.get(i).copied().unwrap_or(1);
            match word {
                ".maxntid" | ".reqntid" => kernel.max_threads = Some([dim(0), dim(1), dim(2)]),
                ".minnctapersm" => kernel.min_blocks = Some(dim(0)),
                ".maxnreg" | ".noreturn" | ".maxnctapersm" => {}
                other => {
                    self.at -= 1;
                    return self.error(format!("`{other}` is not known for a kernel"));
                }
            }
        }
        let mut body = Body {
            kernel,
            scopes: vec![Scope::default()],
            pending: Vec::new(),
            labels: 0,
            loc: None,
        };
        self.expect('{')?;
        self.block(&mut body)?;
        Ok(body.kernel)
    }
}
