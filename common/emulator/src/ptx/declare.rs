//! Declarations: variables with their initial values, parameters, registers.
use super::body::Body;
use super::lex::Token;
use super::number::{self, Number};
use super::parse::{Parser, Result};
use super::{InitialAddress, ParamDecl, RegisterId, Type, Variable, VariableSpace};
use crate::program::ParamKind;

/// A bound for hostile input: more registers than any reasonable kernel has.
const MAX_REGISTERS: usize = 1 << 20;
/// The same for variables, in bytes.
const MAX_VARIABLE: u64 = 1 << 28;

impl<'a> Parser<'a> {
    /// `.align 4 .b8 name[24] = {…}, …;`
    pub fn variable(&mut self, space: VariableSpace) -> Result<Vec<(&'a str, Variable)>> {
        let (mut align, mut ty, mut vector) = (0, None, 1);
        while let Some(suffix) = self.suffix() {
            match suffix {
                "align" => align = self.small()?,
                "v2" => vector = 2,
                "v4" => vector = 4,
                // Managed memory is ordinary memory in the emulator.
                "attribute" => {
                    self.expect('(')?;
                    if self.suffix() != Some("managed") {
                        return self.error("`.managed` is the only attribute here");
                    }
                    self.expect(')')?;
                }
                "ptr" | "global" => {
                    return self.error(format!("`.{suffix}` is not supported here"));
                }
                _ => match Type::parse(suffix) {
                    Some(parsed) => ty = Some(parsed),
                    None => return self.error(format!("`.{suffix}` is not a type")),
                },
            }
        }
        let Some(ty) = ty else {
            return self.error("expected a type");
        };
        let element = ty.bytes() * vector;
        let mut variables = Vec::new();
        loop {
            let name = self.word()?;
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
            let (init, addresses) = match self.eat('=') {
                true => self.initializer(ty)?,
                false => Default::default(),
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
            let align = self.alignment(if align == 0 { element } else { align })?;
            let variable = Variable {
                name: name.to_string(),
                space,
                align,
                bytes,
                init,
                addresses,
            };
            variables.push((name, variable));
            if !self.eat(',') {
                break;
            }
        }
        self.expect(';')?;
        Ok(variables)
    }

    fn initializer(&mut self, ty: Type) -> Result<(Vec<u8>, Vec<InitialAddress>)> {
        let width = (ty.bytes() as usize).min(8);
        let (mut bytes, mut addresses) = (Vec::new(), Vec::new());
        let mut depth = 0;
        loop {
            while self.eat('{') {
                depth += 1;
            }
            if let Some(Token::Word(_)) = self.peek() {
                addresses.push(self.initial_address(bytes.len(), width)?);
                bytes.resize(bytes.len() + width, 0);
                if self.next_value(&mut depth) {
                    continue;
                }
                break;
            }
            let negative = self.eat('-');
            let Token::Number(text) = self.next()? else {
                self.at -= 1;
                return self.error("numbers and addresses are supported as initial values");
            };
            let value = match number::parse(text) {
                Some(Number::Int(v)) if negative => v.wrapping_neg(),
                Some(Number::Int(v)) => v,
                Some(Number::F32(v)) => u64::from(v) ^ (u64::from(negative) << 31),
                Some(Number::F64(v)) => v ^ (u64::from(negative) << 63),
                None => return self.error(format!("`{text}` is not a number")),
            };
            bytes.extend_from_slice(&value.to_le_bytes()[..width]);
            if !self.next_value(&mut depth) {
                break;
            }
        }
        if depth > 0 {
            return self.error("expected `}`");
        }
        Ok((bytes, addresses))
    }

    /// Consumes closing braces; returns whether another value of a list follows.
    fn next_value(&mut self, depth: &mut u32) -> bool {
        while *depth > 0 && self.eat('}') {
            *depth -= 1;
        }
        *depth > 0 && self.eat(',')
    }

    /// `generic(name) + 8`; `generic` and the offset are optional.
    fn initial_address(&mut self, at: usize, width: usize) -> Result<InitialAddress> {
        let line = self.line();
        let mut symbol = self.word()?;
        let generic = symbol == "generic" && self.eat('(');
        if generic {
            symbol = self.word()?;
        }
        let mut addend = 0_i64;
        let mut open = generic;
        loop {
            if open && self.eat(')') {
                open = false;
            } else if self.eat('+') || self.peek() == Some(Token::Punct('-')) {
                addend = addend.wrapping_add(self.int()? as i64);
            } else {
                break;
            }
        }
        if open {
            return self.error("expected `)`");
        }
        Ok(InitialAddress {
            at,
            width,
            symbol: symbol.into(),
            addend,
            generic,
            line,
        })
    }

    /// `(.param …, .param …)`, or nothing.
    pub fn params(&mut self) -> Result<Vec<ParamDecl>> {
        if !self.eat('(') || self.eat(')') {
            return Ok(Vec::new());
        }
        let params = self.list(Self::param)?;
        self.expect(')')?;
        Ok(params)
    }

    /// `.param .u64 .ptr .global .align 4 name[16]`
    fn param(&mut self) -> Result<ParamDecl> {
        let (mut align, mut ty, mut pointer) = (None, None, false);
        while let Some(suffix) = self.suffix() {
            match suffix {
                "align" => align = Some(self.small()?),
                "ptr" => pointer = true,
                "param" | "global" | "const" | "shared" | "local" => {}
                _ => ty = Type::parse(suffix).or(ty),
            }
        }
        let Some(ty) = ty else {
            return self.error("expected a parameter's type");
        };
        let name = self.word()?.to_string();
        let mut bytes = u64::from(ty.bytes());
        let mut kind = match () {
            () if pointer => ParamKind::Pointer,
            () if ty.is_float() => ParamKind::Float,
            () => ParamKind::Integer,
        };
        if self.eat('[') {
            bytes = bytes.saturating_mul(self.int()?);
            kind = ParamKind::Struct;
            self.expect(']')?;
        }
        // PTX ISA, "Kernel Function Parameters": 32,764 bytes at most since 8.1.
        let Ok(bytes @ 0..=32764) = u32::try_from(bytes) else {
            return self.error("this parameter is too large");
        };
        let align = self.alignment(align.unwrap_or(ty.bytes()))?;
        Ok(ParamDecl {
            name,
            bytes,
            align,
            kind,
        })
    }

    fn alignment(&self, bytes: u32) -> Result<u32> {
        match bytes.is_power_of_two() && bytes <= 1 << 16 {
            true => Ok(bytes),
            false => self.error(format!("{bytes} is not an alignment")),
        }
    }

    /// `.reg .f32 %f<31>, %x;`
    pub fn registers(&mut self, body: &mut Body<'a>) -> Result<()> {
        let mut ty = None;
        while let Some(suffix) = self.suffix() {
            match Type::parse(suffix) {
                Some(parsed) if parsed.bits <= 64 => ty = Some(parsed),
                _ => {
                    self.at -= 1;
                    return self.error(format!("registers of type `.{suffix}` are not supported"));
                }
            }
        }
        let Some(ty) = ty else {
            return self.error("expected a register's type");
        };
        loop {
            let name = self.word()?;
            let mut count = None;
            if self.eat('<') {
                count = Some(self.small()?);
                self.expect('>')?;
            }
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
}
