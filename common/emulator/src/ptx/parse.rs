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

/// Names known in one pair of braces.
#[derive(Default)]
struct Scope<'a> {
    registers: HashMap<&'a str, RegisterId>,
    /// `%r<20>`: prefix to first register and count.
    ranges: HashMap<&'a str, (RegisterId, u32)>,
    labels: HashMap<&'a str, LabelId>,
}

struct Body<'a> {
    kernel: Kernel,
    scopes: Vec<Scope<'a>>,
    /// Labels that were used before they stood anywhere, by name: (depth of the use, label, line).
    pending: Vec<(&'a str, usize, LabelId, u32)>,
    labels: LabelId,
    loc: Option<Loc>,
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

    /// `.align 4 .b8 name[24] = {…}, …;`
    fn variable(&mut self, space: VariableSpace) -> Result<Vec<Variable>> {
        let (mut align, mut ty, mut vector) = (0, None, 1);
        while let Some(Token::Word(word)) = self.peek() {
            let Some(suffix) = word.strip_prefix('.') else {
                break;
            };
            self.at += 1;
            match suffix {
                "align" => align = self.small()?,
                "v2" => vector = 2,
                "v4" => vector = 4,
                "ptr" | "global" | "attribute" => {
                    return self.error(format!("`{word}` is not supported here"));
                }
                _ => match Type::parse(suffix) {
                    Some(parsed) => ty = Some(parsed),
                    None => return self.error(format!("`{word}` is not a type")),
                },
            }
        }
        let Some(ty) = ty else {
            return self.error("a type expected");
        };
        let element = ty.bytes() * vector;
        let mut variables = Vec::new();
        loop {
            let name = self.word()?.to_string();
            let mut count: Option<u64> = Some(1);
            while self.eat('[') {
                if self.eat(']') {
                    count = None;
                } else {
                    let n = self.int()?;
                    self.expect(']')?;
                    count = count.and_then(|c| c.checked_mul(n));
                    if count.is_none() {
                        return self.error("this variable is too large");
                    }
                }
            }
            let init = if self.eat('=') {
                self.initialiser(ty)?
            } else {
                Vec::new()
            };
            let bytes = match count {
                Some(count) => count
                    .checked_mul(u64::from(element))
                    .filter(|&b| b <= MAX_VARIABLE),
                None if init.is_empty() => Some(0),
                None => Some(init.len() as u64),
            };
            let Some(bytes) = bytes else {
                return self.error(format!("`{name}` is larger than {MAX_VARIABLE} bytes"));
            };
            if init.len() as u64 > bytes {
                return self.error(format!("`{name}` has more initial values than elements"));
            }
            let align = if align == 0 { element } else { align };
            if !align.is_power_of_two() || align > 1 << 16 {
                return self.error(format!("{align} is not an alignment"));
            }
            variables.push(Variable {
                name,
                space,
                align,
                bytes,
                init,
            });
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(variables)
    }

    fn initialiser(&mut self, ty: Type) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut depth = 0;
        loop {
            while self.eat('{') {
                depth += 1;
            }
            let negative = self.eat('-');
            let Token::Number(text) = self.next()? else {
                self.at -= 1;
                return self.error("only numbers are supported as initial values");
            };
            let value = match number::parse(text) {
                Some(Number::Int(v)) if negative => v.wrapping_neg(),
                Some(Number::Int(v)) => v,
                Some(Number::F32(v)) => u64::from(v) ^ (u64::from(negative) << 31),
                Some(Number::F64(v)) => v ^ (u64::from(negative) << 63),
                None => return self.error(format!("`{text}` is not a number")),
            };
            let width = (ty.bytes() as usize).min(8);
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            while depth > 0 && self.eat('}') {
                depth -= 1;
            }
            if depth == 0 || !self.eat(',') {
                break;
            }
        }
        if depth > 0 {
            return self.error("`}` expected");
        }
        Ok(bytes)
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

    /// `.param .u64 .ptr .global .align 4 name[16]`
    fn param(&mut self) -> Result<ParamDecl> {
        let (mut align, mut ty) = (None, None);
        while let Some(Token::Word(word)) = self.peek() {
            let Some(suffix) = word.strip_prefix('.') else {
                break;
            };
            self.at += 1;
            match suffix {
                "align" => align = Some(self.small()?),
                "param" | "ptr" | "global" | "const" | "shared" | "local" => {}
                _ => ty = Type::parse(suffix).or(ty),
            }
        }
        let Some(ty) = ty else {
            return self.error("a parameter's type expected");
        };
        let name = self.word()?.to_string();
        let mut bytes = u64::from(ty.bytes());
        if self.eat('[') {
            bytes = bytes.saturating_mul(self.int()?);
            self.expect(']')?;
        }
        // PTX ISA, "Kernel Function Parameters": 32,764 bytes at most since 8.1.
        let Ok(bytes @ 0..=32764) = u32::try_from(bytes) else {
            return self.error("this parameter is too large");
        };
        let align = align.unwrap_or(ty.bytes());
        if !align.is_power_of_two() || align > 1 << 16 {
            return self.error(format!("{align} is not an alignment"));
        }
        Ok(ParamDecl { name, bytes, align })
    }

    /// Statements up to the closing brace, which is eaten.
    fn block(&mut self, body: &mut Body<'a>) -> Result<()> {
        loop {
            match self.peek() {
                None => return self.error("a kernel's closing `}` is missing"),
                Some(Token::Punct('}')) => {
                    self.at += 1;
                    return self.close(body);
                }
                Some(Token::Punct('{')) => {
                    self.at += 1;
                    if body.scopes.len() >= MAX_DEPTH {
                        return self.error("too many braces within braces");
                    }
                    body.scopes.push(Scope::default());
                    self.block(body)?;
                }
                Some(Token::Punct(';')) => self.at += 1,
                Some(Token::Punct('@')) => self.instruction(body)?,
                Some(Token::Word(word)) if word.starts_with('.') => self.directive(body)?,
                Some(Token::Word(name)) => {
                    if self.tokens.get(self.at + 1).map(|t| t.token) == Some(Token::Punct(':')) {
                        self.at += 2;
                        self.label(body, name)?;
                    } else {
                        self.instruction(body)?;
                    }
                }
                Some(_) => return self.error("an instruction expected"),
            }
        }
    }

    /// Ends a scope: labels that were used in it and stood nowhere may stand further out.
    fn close(&mut self, body: &mut Body<'a>) -> Result<()> {
        let depth = body.scopes.len();
        body.scopes.pop();
        for (name, at, _, line) in &mut body.pending {
            if *at == depth {
                if depth == 1 {
                    return Err(PtxError::new(
                        *line,
                        format!("the label `{name}` stands nowhere"),
                    ));
                }
                *at -= 1;
            }
        }
        Ok(())
    }

    fn label(&mut self, body: &mut Body<'a>, name: &'a str) -> Result<()> {
        // `name: .branchtargets a, b;` names a list of labels, not a place.
        if self.peek() == Some(Token::Word(".branchtargets")) {
            return self.error("indirect branches (`brx.idx`) are not supported");
        }
        let depth = body.scopes.len();
        let id = body.labels;
        body.labels += 1;
        if let Some(scope) = body.scopes.last_mut() {
            if scope.labels.insert(name, id).is_some() {
                return self.error(format!("the label `{name}` stands twice"));
            }
        }
        body.kernel.body.push(Statement::Label(id));
        // Uses that came before, from this scope or from one inside it that is closed by now.
        let mut resolved: Vec<LabelId> = Vec::new();
        body.pending.retain(|&(pending, at, placeholder, _)| {
            let hit = pending == name && at == depth;
            if hit {
                resolved.push(placeholder);
            }
            !hit
        });
        for placeholder in resolved {
            body.kernel.body.push(Statement::Label(placeholder));
        }
        Ok(())
    }

    fn use_label(&mut self, body: &mut Body<'a>, name: &'a str) -> LabelId {
        // Only labels of the innermost scope are known for sure: an inner one may still follow.
        if let Some(&id) = body
            .scopes
            .iter()
            .rev()
            .find_map(|scope| scope.labels.get(name))
        {
            return id;
        }
        let id = body.labels;
        body.labels += 1;
        body.pending
            .push((name, body.scopes.len(), id, self.line()));
        id
    }

    fn directive(&mut self, body: &mut Body<'a>) -> Result<()> {
        match self.word()? {
            ".reg" => self.registers(body),
            ".shared" => {
                let variables = self.variable(VariableSpace::Shared)?;
                body.kernel.variables.extend(variables);
                Ok(())
            }
            ".local" => {
                let variables = self.variable(VariableSpace::Local)?;
                body.kernel.variables.extend(variables);
                Ok(())
            }
            ".loc" => {
                let (file, line, _column) = (self.small()?, self.small()?, self.small()?);
                let mut inlined_at = None;
                while self.eat(',') {
                    match self.word()? {
                        "function_name" => {
                            self.next()?;
                            if self.eat('+') {
                                self.next()?;
                            }
                        }
                        "inlined_at" => {
                            inlined_at = Some((self.small()?, self.small()?));
                            self.small()?;
                        }
                        other => return self.error(format!("`{other}` is not known in `.loc`")),
                    }
                }
                // A call within an inlined function names the line inside it: follow it outwards.
                if let (
                    Some((file, line)),
                    Some(Loc {
                        file: f,
                        line: l,
                        inlined_at: Some(outer),
                    }),
                ) = (inlined_at, body.loc)
                {
                    if (file, line) == (f, l) {
                        inlined_at = Some(outer);
                    }
                }
                body.loc = Some(Loc {
                    file,
                    line,
                    inlined_at,
                });
                Ok(())
            }
            ".pragma" => self.skip_statement(),
            other => {
                self.at -= 1;
                self.error(format!("`{other}` is not supported in a kernel"))
            }
        }
    }

    /// `.reg .f32 %f<31>, %x;`
    fn registers(&mut self, body: &mut Body<'a>) -> Result<()> {
        let mut ty = None;
        while let Some(Token::Word(word)) = self.peek() {
            let Some(suffix) = word.strip_prefix('.') else {
                break;
            };
            match Type::parse(suffix) {
                Some(parsed) if parsed.bits <= 64 => ty = Some(parsed),
                _ => return self.error(format!("registers of type `{word}` are not supported")),
            }
            self.at += 1;
        }
        let Some(ty) = ty else {
            return self.error("a register's type expected");
        };
        loop {
            let name = self.word()?;
            let count = if self.eat('<') {
                let count = self.small()?;
                self.expect('>')?;
                Some(count)
            } else {
                None
            };
            let first = body.kernel.registers.len();
            let total = first + count.unwrap_or(1) as usize;
            if total > MAX_REGISTERS {
                return self.error(format!("more than {MAX_REGISTERS} registers"));
            }
            body.kernel.registers.resize(total, ty);
            if let Some(scope) = body.scopes.last_mut() {
                match count {
                    Some(count) => drop(scope.ranges.insert(name, (first as RegisterId, count))),
                    None => drop(scope.registers.insert(name, first as RegisterId)),
                }
            }
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')
    }

    fn find_register(body: &Body<'a>, name: &str) -> Option<RegisterId> {
        body.scopes.iter().rev().find_map(|scope| {
            if let Some(&id) = scope.registers.get(name) {
                return Some(id);
            }
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let &(first, count) = scope.ranges.get(prefix)?;
            let index: u32 = name[prefix.len()..].parse().ok()?;
            (index < count).then_some(first + index)
        })
    }

    fn instruction(&mut self, body: &mut Body<'a>) -> Result<()> {
        let first = self.at;
        let line = self.line();
        let mut guard = None;
        if self.eat('@') {
            let negated = self.eat('!');
            let name = self.word()?;
            let Some(register) = Self::find_register(body, name) else {
                return self.error(format!("`{name}` is not a register"));
            };
            if body.kernel.registers[register as usize] != Type::PRED {
                return self.error(format!("`{name}` is not a predicate"));
            }
            guard = Some((register, negated));
        }
        let opcode: Vec<String> = self.word()?.split('.').map(str::to_string).collect();
        if matches!(opcode[0].as_str(), "call") {
            let end = self.tokens[self.at..]
                .iter()
                .position(|t| t.token == Token::Punct(';'))
                .unwrap_or(0);
            let text = self.excerpt(first, self.at + end);
            return Err(PtxError::new(
                line,
                format!(
                    "the emulator cannot execute `{text}`: only functions that NVRTC inlines are supported (add __forceinline__, remove printf and assert)"
                ),
            ));
        }
        let mut operands = Vec::new();
        if !self.eat(';') {
            loop {
                operands.push(self.operand(body, 0)?);
                if self.eat('|') {
                    let second = self.operand(body, 0)?;
                    if let Some(first) = operands.pop() {
                        operands.push(Operand::Pair(Box::new(first), Box::new(second)));
                    }
                }
                if !self.eat(',') {
                    break;
                }
            }
            self.expect(';')?;
        }
        let text = self.excerpt(first, self.at - 1);
        let instr = Instr {
            line,
            loc: body.loc,
            guard,
            opcode,
            operands,
            text,
        };
        body.kernel.body.push(Statement::Instr(Box::new(instr)));
        Ok(())
    }

    /// The text of some tokens, on one line, with single spaces.
    fn excerpt(&self, first: usize, end: usize) -> String {
        let (Some(a), Some(b)) = (self.tokens.get(first), self.tokens.get(end)) else {
            return String::new();
        };
        self.text[a.start..b.start.max(a.end)]
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    fn operand(&mut self, body: &mut Body<'a>, depth: usize) -> Result<Operand> {
        if depth > MAX_DEPTH {
            return self.error("too many brackets within brackets");
        }
        match self.next()? {
            Token::Punct('[') => {
                let base = self.operand(body, depth + 1)?;
                let mut offset = 0_i64;
                loop {
                    if self.eat('+') {
                        offset = offset.wrapping_add(self.int()? as i64);
                    } else if self.peek() == Some(Token::Punct('-')) {
                        offset = offset.wrapping_add(self.int()? as i64);
                    } else {
                        break;
                    }
                }
                self.expect(']')?;
                Ok(match base {
                    Operand::Symbol(name, inner) => Operand::Address(
                        Box::new(Operand::Symbol(name, 0)),
                        inner.wrapping_add(offset),
                    ),
                    base => Operand::Address(Box::new(base), offset),
                })
            }
            Token::Punct('{') => {
                let mut elements = Vec::new();
                loop {
                    elements.push(self.operand(body, depth + 1)?);
                    if !self.eat(',') {
                        break;
                    }
                }
                self.expect('}')?;
                Ok(Operand::Vector(elements))
            }
            Token::Punct('!') => {
                let name = self.word()?;
                match Self::find_register(body, name) {
                    Some(id) => Ok(Operand::NotRegister(id)),
                    None => self.error(format!("`{name}` is not a register")),
                }
            }
            Token::Punct('-') => match self.operand(body, depth + 1)? {
                Operand::Int(value) => Ok(Operand::Int(value.wrapping_neg())),
                Operand::F32(bits) => Ok(Operand::F32(bits ^ (1 << 31))),
                Operand::F64(bits) => Ok(Operand::F64(bits ^ (1 << 63))),
                _ => self.error("only a number can be negated"),
            },
            Token::Number(text) => match number::parse(text) {
                Some(Number::Int(value)) => Ok(Operand::Int(value)),
                Some(Number::F32(bits)) => Ok(Operand::F32(bits)),
                Some(Number::F64(bits)) => Ok(Operand::F64(bits)),
                None => {
                    self.at -= 1;
                    self.error(format!("`{text}` is not a number"))
                }
            },
            Token::Word("_") => Ok(Operand::Sink),
            Token::Word(name) => {
                if let Some(id) = Self::find_register(body, name) {
                    return Ok(Operand::Register(id));
                }
                if name.starts_with('%') {
                    return Ok(Operand::Special(name.to_string()));
                }
                let is_branch = depth == 0 && self.is_branch_operand();
                if is_branch {
                    return Ok(Operand::Label(self.use_label(body, name)));
                }
                let mut offset = 0_i64;
                while self.peek() == Some(Token::Punct('+')) {
                    self.at += 1;
                    offset = offset.wrapping_add(self.int()? as i64);
                }
                Ok(Operand::Symbol(name.to_string(), offset))
            }
            _ => {
                self.at -= 1;
                self.error("an operand expected")
            }
        }
    }

    /// Whether the operand just read belongs to `bra`: walk back to the start of the statement.
    fn is_branch_operand(&self) -> bool {
        match self
            .at
            .checked_sub(2)
            .and_then(|i| self.tokens.get(i))
            .map(|t| t.token)
        {
            Some(Token::Word(word)) => word == "bra" || word == "bra.uni",
            _ => false,
        }
    }
}
