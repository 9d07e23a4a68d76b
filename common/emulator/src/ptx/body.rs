//! Statements of a kernel: scopes, labels, directives, instructions and their operands.
use std::collections::{HashMap, HashSet};

use super::lex::{Spanned, Token};
use super::number::{self, Number};
use super::parse::{Parser, Result, string_number};
use super::{
    Frame, Instr, Kernel, LabelId, Loc, Operand, PtxError, RegisterId, Statement, Type,
    VariableSpace,
};

/// Bounds for hostile input: nesting of scopes and operands, and the number of forward branches.
const MAX_DEPTH: usize = 64;
const MAX_PENDING: usize = 1 << 14;

/// Names declared in one pair of braces.
#[derive(Default)]
pub(super) struct Scope<'a> {
    pub registers: HashMap<&'a str, RegisterId>,
    /// `%r<20>`: prefix to first register and count.
    pub ranges: HashMap<&'a str, (RegisterId, u32)>,
    labels: HashMap<&'a str, LabelId>,
    /// Lists of labels, as `.branchtargets` names them.
    targets: HashMap<&'a str, Vec<LabelId>>,
    /// New names of variables whose names were already used in another scope.
    renamed: HashMap<&'a str, String>,
}

pub(super) struct Body<'a> {
    pub kernel: Kernel,
    pub scopes: Vec<Scope<'a>>,
    /// Labels that are used before they are defined, by name: (depth of the use, label, line).
    pending: Vec<(&'a str, usize, LabelId, u32)>,
    labels: LabelId,
    names: HashSet<&'a str>,
    loc: Option<Loc>,
    /// The file of the kernel itself.
    file: Option<u32>,
    /// For lines of inlined functions, the call in the kernel's file when they were last named, and the kernel's own call.
    calls: HashMap<(u32, u32), ((u32, u32), Frame)>,
}

impl<'a> Body<'a> {
    pub fn new(kernel: Kernel) -> Self {
        Self {
            kernel,
            scopes: vec![Scope::default()],
            pending: Vec::new(),
            labels: 0,
            names: HashSet::new(),
            loc: None,
            file: None,
            calls: HashMap::new(),
        }
    }
    /// The current line of the source.
    pub fn loc(&self) -> Option<Loc> {
        self.loc
    }
    pub fn finish(mut self) -> Kernel {
        self.kernel.labels = self.labels;
        self.kernel
    }
    fn new_label(&mut self) -> LabelId {
        self.labels += 1;
        self.labels - 1
    }
    /// Looks a name up, from the innermost scope outwards.
    fn find<T>(&self, look: impl Fn(&Scope<'a>) -> Option<T>) -> Option<T> {
        self.scopes.iter().rev().find_map(look)
    }
}

impl<'a> Parser<'a> {
    /// Parses statements up to and including the closing brace.
    pub fn block(&mut self, body: &mut Body<'a>) -> Result<()> {
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
                        return self.error("braces are nested too deeply");
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
                Some(_) => return self.error("expected an instruction"),
            }
        }
    }

    /// Ends a scope: labels that were used but not defined in it may be defined in an outer one.
    fn close(&mut self, body: &mut Body<'a>) -> Result<()> {
        let depth = body.scopes.len();
        body.scopes.pop();
        for (name, at, _, line) in &mut body.pending {
            if *at == depth {
                if depth == 1 {
                    let message = format!("the label `{name}` is not defined");
                    return Err(PtxError::new(*line, message));
                }
                *at -= 1;
            }
        }
        Ok(())
    }

    fn label(&mut self, body: &mut Body<'a>, name: &'a str) -> Result<()> {
        // `name: .branchtargets a, b;` declares a list of labels.
        if self.peek() == Some(Token::Word(".branchtargets")) {
            self.at += 1;
            let targets = self.list(|parser| {
                let target = parser.word()?;
                parser.use_label(body, target)
            })?;
            if let Some(scope) = body.scopes.last_mut() {
                scope.targets.insert(name, targets);
            }
            return self.expect(';');
        }
        // The prototype or the possible targets of an indirect call. They are skipped: the arguments of the call have
        // the same information.
        if let Some(Token::Word(".callprototype" | ".calltargets")) = self.peek() {
            return self.skip_statement();
        }
        let depth = body.scopes.len();
        let id = body.new_label();
        if let Some(scope) = body.scopes.last_mut()
            && scope.labels.insert(name, id).is_some()
        {
            return self.error(format!("the label `{name}` is defined twice"));
        }
        body.kernel.body.push(Statement::Label(id));
        // Resolve earlier uses in this scope, or in inner scopes that have ended.
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

    fn use_label(&mut self, body: &mut Body<'a>, name: &'a str) -> Result<LabelId> {
        // Only labels of the current scope are certain: one with the same name may still follow in it.
        if let Some(id) = body.find(|scope| scope.labels.get(name).copied()) {
            return Ok(id);
        }
        if body.pending.len() >= MAX_PENDING {
            return self.error(format!("more than {MAX_PENDING} forward branches"));
        }
        let id = body.new_label();
        let (depth, line) = (body.scopes.len(), self.line());
        body.pending.push((name, depth, id, line));
        Ok(id)
    }

    /// Declares a variable of the body. Scopes may reuse a name: later variables are renamed.
    fn local_variable(&mut self, body: &mut Body<'a>, space: VariableSpace) -> Result<()> {
        for (name, mut variable) in self.variable(space)? {
            if !body.names.insert(name) {
                variable.name = format!("{name}@{}", body.kernel.variables.len());
                if let Some(scope) = body.scopes.last_mut() {
                    scope.renamed.insert(name, variable.name.clone());
                }
            }
            body.kernel.variables.push(variable);
        }
        Ok(())
    }

    fn directive(&mut self, body: &mut Body<'a>) -> Result<()> {
        match self.word()? {
            ".reg" => self.registers(body),
            ".shared" => self.local_variable(body, VariableSpace::Shared),
            ".local" => self.local_variable(body, VariableSpace::Local),
            // Arguments and results of calls. Because the called function is inlined, they are local variables.
            ".param" => self.local_variable(body, VariableSpace::Local),
            ".loc" => {
                let (file, line, _column) = (self.small()?, self.small()?, self.small()?);
                let (mut inlined_at, mut function) = (None, None);
                while self.eat(',') {
                    match self.word()? {
                        "function_name" => {
                            function = string_number(self.next()?);
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
                // A call within an inlined function names a line inside that function: follow it outwards to the
                // kernel's file.
                let caller = inlined_at.map(|(file, _)| file);
                let mut callee = None;
                match inlined_at {
                    None => body.file = body.file.or(Some(file)),
                    Some(at) => {
                        let known = body.calls.get(&at).copied();
                        let before = body.loc.filter(|loc| at == (loc.file, loc.line));
                        let call = match before.and_then(|before| before.inlined_at) {
                            Some(outer) => outer,
                            None if body.file == Some(at.0) => at,
                            None => known.map_or(at, |(call, _)| call),
                        };
                        inlined_at = Some(call);
                        let frame = match known {
                            Some((_, outer)) => outer,
                            None => Frame {
                                at: (file, line),
                                function,
                                call: at,
                            },
                        };
                        body.calls.insert((file, line), (call, frame));
                        callee = Some(frame);
                    }
                }
                body.loc = Some(Loc {
                    file,
                    line,
                    inlined_at,
                    callee,
                    caller,
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
        let read = self.statement(body);
        read.map_err(|error| self.quoting(first, error))
    }

    /// Adds the text of the statement that begins with this token, because inline PTX is not in any file.
    fn quoting(&self, first: usize, mut error: PtxError) -> PtxError {
        let rest = self.tokens.get(first..).unwrap_or_default();
        let ends = |t: &Spanned<'_>| matches!(t.token, Token::Punct(';' | '}'));
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        let end = (first + length).min(self.tokens.len().saturating_sub(1));
        let text = self.excerpt(first, end);
        if !text.is_empty() && !error.message.contains(&text) {
            error.message += &format!(", in `{text}`");
        }
        error
    }

    fn statement(&mut self, body: &mut Body<'a>) -> Result<()> {
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
        let mut operands = Vec::new();
        if !self.eat(';') {
            operands = self.list(|parser| parser.operand_or_pair(body))?;
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

    /// The text of some tokens on one line, with single spaces, limited in length.
    fn excerpt(&self, first: usize, end: usize) -> String {
        let (Some(a), Some(b)) = (self.tokens.get(first), self.tokens.get(end)) else {
            return String::new();
        };
        let text = self.text.get(a.start..b.start.max(a.end)).unwrap_or("");
        let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = line.char_indices().nth(300) {
            line.truncate(at);
            line.push('…');
        }
        line
    }

    fn operand_or_pair(&mut self, body: &mut Body<'a>) -> Result<Operand> {
        let first = self.operand(body, 0)?;
        if !self.eat('|') {
            return Ok(first);
        }
        let second = self.operand(body, 0)?;
        Ok(Operand::Pair(Box::new(first), Box::new(second)))
    }

    fn operand(&mut self, body: &mut Body<'a>, depth: usize) -> Result<Operand> {
        if depth > MAX_DEPTH {
            return self.error("brackets are nested too deeply");
        }
        match self.next()? {
            Token::Punct('[') => {
                let base = self.operand(body, depth + 1)?;
                let mut offset = 0_i64;
                while self.eat('+') || self.peek() == Some(Token::Punct('-')) {
                    offset = offset.wrapping_add(self.int()? as i64);
                }
                let address = match base {
                    Operand::Symbol(name, inner) => {
                        let base = Operand::Symbol(name, 0);
                        Operand::Address(Box::new(base), inner.wrapping_add(offset))
                    }
                    base => Operand::Address(Box::new(base), offset),
                };
                // `[map, {x, y}]`: a tensor's coordinates.
                let mut list = vec![address];
                while self.eat(',') {
                    list.push(self.operand(body, depth + 1)?);
                }
                self.expect(']')?;
                Ok(match (list.pop(), list.is_empty()) {
                    (Some(address), true) => address,
                    (last, _) => {
                        list.extend(last);
                        Operand::Vector(list)
                    }
                })
            }
            // Arguments and results of calls are in parentheses.
            Token::Punct(open @ ('{' | '(')) => {
                let close = if open == '{' { '}' } else { ')' };
                let mut elements = Vec::new();
                while !self.eat(close) {
                    elements.push(self.operand(body, depth + 1)?);
                    if !self.eat(',') {
                        self.expect(close)?;
                        break;
                    }
                }
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
                if depth == 0 && self.is_branch_operand() {
                    return Ok(Operand::Label(self.use_label(body, name)?));
                }
                if let Some(targets) = body.find(|scope| scope.targets.get(name).cloned()) {
                    return Ok(Operand::Targets(targets));
                }
                let mut offset = 0_i64;
                while self.eat('+') {
                    offset = offset.wrapping_add(self.int()? as i64);
                }
                let renamed = body.find(|scope| scope.renamed.get(name).cloned());
                let name = renamed.unwrap_or_else(|| name.to_string());
                Ok(Operand::Symbol(name, offset))
            }
            _ => {
                self.at -= 1;
                self.error("expected an operand")
            }
        }
    }

    /// Whether the last operand belongs to `bra`: searches backwards for the start of the statement.
    fn is_branch_operand(&self) -> bool {
        let before = self.at.checked_sub(2).and_then(|i| self.tokens.get(i));
        before.is_some_and(|t| matches!(t.token, Token::Word("bra" | "bra.uni")))
    }
}
