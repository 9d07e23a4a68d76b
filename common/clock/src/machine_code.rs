//! The parts of a kernel's machine code that timing depends on: opcodes in order, the PTX line of each, and the control
//! bits with which ptxas tells the scheduler when an instruction may issue.
//!
//! The control bits are those of Volta and later (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
//! Microbenchmarking", 2018, "Control information"). They begin at bit 41 of the upper 64 bits of an instruction: stall
//! count (4 bits), yield (1), the scoreboards that the write and the read release (3 each), a mask of scoreboards to
//! wait for (6).
use std::collections::HashMap;
use std::fmt::Write as _;

/// One machine instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineInstruction {
    /// The name with its modifiers: `LDSM.16.M88.4`.
    pub opcode: String,
    /// The operands that timing depends on: a barrier's counts, a scoreboard, those of a `wgmma`.
    pub operands: String,
    /// 1-based line of the PTX; 0 if there is none.
    pub ptx_line: u32,
    /// Whether it is guarded by a predicate, `@P0`.
    pub guarded: bool,
    /// Index of a branch's target.
    pub target: Option<u32>,
    /// Clocks until the warp may issue its next instruction.
    pub stall: u8,
    /// The scoreboard that it releases when its result has been written.
    pub write: Option<u8>,
    /// The scoreboard that it releases when its operands have been read.
    pub read: Option<u8>,
    /// Mask of the scoreboards that must be released before it issues.
    pub wait: u8,
}

/// A kernel's machine code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineCode {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// In address order.
    pub instructions: Vec<MachineInstruction>,
}

/// Why a text is not machine code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the machine code: {reason}")]
pub struct MachineCodeError {
    /// 1-based; 0 for the text as a whole.
    pub line: usize,
    /// What is wrong.
    pub reason: String,
}

fn wrong(line: usize, reason: impl Into<String>) -> MachineCodeError {
    MachineCodeError {
        line,
        reason: reason.into(),
    }
}

/// The parts of a line of `nvdisasm`: guard, opcode, operands, label.
struct Disassembled<'a> {
    guarded: bool,
    opcode: &'a str,
    operands: &'a str,
    label: Option<&'a str>,
}

impl<'a> Disassembled<'a> {
    fn of(text: &'a str) -> Self {
        let text = text.trim().trim_end_matches(';').trim();
        let (guard, rest) = match text.strip_prefix('@') {
            Some(rest) => rest.split_once(' ').unwrap_or((rest, "")),
            None => ("", text),
        };
        let (opcode, operands) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let label = operands.split_once("`(");
        let label = label.and_then(|(_, label)| label.split_once(')'));
        Self {
            guarded: !guard.is_empty() && guard != "PT",
            opcode,
            operands: operands.trim(),
            label: label.map(|(label, _)| label),
        }
    }
}

impl MachineCode {
    /// Parses the kernel `name` in the output of `nvdisasm --print-code --print-line-info-ptx
    /// --print-instruction-encoding`.
    ///
    /// # Errors
    /// If the kernel is not in it, or a line is not in the format of `nvdisasm` 13.
    pub fn of_nvdisasm(text: &str, name: &str) -> Result<Self, MachineCodeError> {
        let header = format!(".text.{name}:");
        let mut code = Self::default();
        let (mut labels, mut jumps) = (HashMap::new(), Vec::new());
        let (mut inside, mut ptx_line, mut pending) = (false, 0, None);
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.starts_with(".text.") {
                inside = line == header;
                ptx_line = 0;
                continue;
            }
            if line.starts_with("//----") {
                inside = false;
            }
            if !inside {
                continue;
            }
            if let Some(place) = line.strip_prefix("//## File ") {
                let digits = place.rsplit("line ").next().unwrap_or_default();
                let digits: String = digits.chars().take_while(char::is_ascii_digit).collect();
                ptx_line = digits.parse().unwrap_or(0);
            } else if let Some(label) = line.strip_suffix(':') {
                labels.insert(label.to_owned(), code.instructions.len() as u32);
            } else if line.starts_with("/* 0x") || line.starts_with("/*0x") {
                let Some(own) = pending.take() else { continue };
                let word = line.trim_matches(['/', '*', ' ']);
                let word = word.trim_start_matches("0x");
                let word = u64::from_str_radix(word, 16)
                    .map_err(|_| wrong(number, "this is not the encoding of an instruction"))?;
                code.instructions.push(with_control(own, word));
            } else if line.starts_with("/*") {
                let text = line.split_once("*/").map_or("", |(_, text)| text);
                let text = text.split("/*").next().unwrap_or_default();
                let read = Disassembled::of(text);
                if let Some(label) = read.label {
                    jumps.push((code.instructions.len(), label.to_owned()));
                }
                pending = Some(MachineInstruction {
                    opcode: read.opcode.to_owned(),
                    operands: kept(read.opcode, read.operands),
                    ptx_line,
                    guarded: read.guarded || is_conditional(read.opcode, read.operands),
                    target: None,
                    stall: 1,
                    write: None,
                    read: None,
                    wait: 0,
                });
            }
        }
        if code.instructions.is_empty() {
            return Err(wrong(0, format!("it has no kernel `{name}`")));
        }
        for (at, label) in jumps {
            code.instructions[at].target = labels.get(&label).copied();
        }
        Ok(code)
    }

    /// The text format in which it is stored: a line for each instruction.
    pub fn to_text(&self) -> String {
        let mut text = format!("registers {}\n", self.registers);
        for one in &self.instructions {
            let board = |board: Option<u8>| board.map_or("-".into(), |board| board.to_string());
            let target = one.target.map_or("-".into(), |target| target.to_string());
            let guard = if one.guarded { "@" } else { "" };
            let _ = write!(
                text,
                "{} {} {} {} {:02x} {target} {guard}{}",
                one.ptx_line,
                one.stall,
                board(one.write),
                board(one.read),
                one.wait,
                one.opcode,
            );
            if !one.operands.is_empty() {
                let _ = write!(text, " {}", one.operands);
            }
            text.push('\n');
        }
        text
    }

    /// Parses the output of [`Self::to_text`]; skips lines that begin with `//`.
    ///
    /// # Errors
    /// If a line is not in that format.
    pub fn of_text(text: &str) -> Result<Self, MachineCodeError> {
        let mut code = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            if line.starts_with("//") || line.trim().is_empty() {
                continue;
            }
            if let Some(registers) = line.strip_prefix("registers ") {
                code.registers = registers
                    .trim()
                    .parse()
                    .map_err(|_| wrong(number, "no number of registers"))?;
                continue;
            }
            let mut fields = line.splitn(8, ' ');
            let mut field = |what: &str| {
                let missing = || wrong(number, format!("{what} is missing"));
                fields.next().ok_or_else(missing)
            };
            let number_of = |text: &str, what: &str| -> Result<u32, MachineCodeError> {
                text.parse()
                    .map_err(|_| wrong(number, format!("`{text}` is not {what}")))
            };
            let board = |text: &str| -> Result<Option<u8>, MachineCodeError> {
                match text {
                    "-" => Ok(None),
                    _ => match number_of(text, "a scoreboard")? {
                        board @ 0..6 => Ok(Some(board as u8)),
                        _ => Err(wrong(number, format!("there is no scoreboard {text}"))),
                    },
                }
            };
            let ptx_line = number_of(field("the PTX line")?, "a line")?;
            let stall = number_of(field("the stall count")?, "a stall count")?.min(15) as u8;
            let write = board(field("the scoreboard of the write")?)?;
            let read = board(field("the scoreboard of the read")?)?;
            let wait = u8::from_str_radix(field("the mask of scoreboards")?, 16)
                .map_err(|_| wrong(number, "the mask of scoreboards is not hexadecimal"))?;
            let target = match field("the target")? {
                "-" => None,
                text => Some(number_of(text, "a target")?),
            };
            let opcode = field("the opcode")?;
            code.instructions.push(MachineInstruction {
                guarded: opcode.starts_with('@'),
                opcode: opcode.trim_start_matches('@').to_owned(),
                operands: fields.next().unwrap_or_default().to_owned(),
                ptx_line,
                target,
                stall,
                write,
                read,
                wait,
            });
        }
        let all = code.instructions.len() as u32;
        if let Some(at) = (code.instructions.iter())
            .position(|one| one.target.is_some_and(|target| target >= all))
        {
            let reason = format!("instruction {at} branches past the end");
            return Err(wrong(0, reason));
        }
        if all == 0 {
            return Err(wrong(0, "it has no instruction"));
        }
        Ok(code)
    }
}

/// Branches also list predicates among their operands.
fn is_conditional(opcode: &str, operands: &str) -> bool {
    let is_branch = opcode.starts_with("BRA");
    let first = operands.trim_start_matches(['!', 'U']);
    is_branch && (opcode.contains(".ANY") || opcode.contains(".DIV") || first.starts_with('P'))
}

/// The operands that timing depends on.
fn kept(opcode: &str, operands: &str) -> String {
    let kept = [
        "DEPBAR",
        "WARPGROUP.DEPBAR",
        "BAR",
        "HGMMA",
        "IGMMA",
        "QGMMA",
        "BGMMA",
    ];
    match kept.iter().any(|kept| opcode.starts_with(kept)) {
        true => operands.replace(' ', ""),
        false => String::new(),
    }
}

fn with_control(mut one: MachineInstruction, upper: u64) -> MachineInstruction {
    let bits = |from: u32, count: u32| (upper >> from & ((1 << count) - 1)) as u8;
    let board = |number: u8| (number < 6).then_some(number);
    one.stall = bits(41, 4);
    one.write = board(bits(46, 3));
    one.read = board(bits(49, 3));
    one.wait = bits(52, 6);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An excerpt of the output of `nvdisasm` 13.2.
    const LISTING: &str = "\
//--------------------- .text.k --------------------------
.text.k:
	//## File \".nv_debug_ptx_txt\", line 34
        /*0000*/                   LDC R1, c[0x0][0x28] ;                                   /* 0x00000a00ff017b82 */
                                                                                            /* 0x000fe20000000800 */
.L_x_0:
	//## File \".nv_debug_ptx_txt\", line 54
        /*0010*/                   S2R R4, SR_CTAID.X ;                                     /* 0x0000000000047919 */
                                                                                            /* 0x000e620000002500 */
        /*0020*/              @!P0 BRA `(.L_x_0) ;                                          /* 0x0000000400040947 */
                                                                                            /* 0x002fec0003800000 */
        /*0030*/                   DEPBAR.LE SB0, 0x1 ;                                     /* 0x000080400000791a */
                                                                                            /* 0x000fe40000000000 */
        /*0040*/                   EXIT ;                                                   /* 0x000000000000794d */
                                                                                            /* 0x000fea0003800000 */
";

    #[test]
    fn control_bits_lines_and_labels_are_read() {
        let code = MachineCode::of_nvdisasm(LISTING, "k").expect("a listing");
        let [load, special, branch, wait, exit] = code.instructions.as_slice() else {
            panic!("{code:?}");
        };
        assert_eq!((load.ptx_line, load.stall, load.write), (34, 1, None));
        // S2R's result releases scoreboard 1, which the branch waits for.
        assert_eq!((special.ptx_line, special.write), (54, Some(1)));
        assert_eq!(
            (branch.wait, branch.target, branch.guarded),
            (0b10, Some(1), true)
        );
        assert_eq!(
            (wait.opcode.as_str(), wait.operands.as_str()),
            ("DEPBAR.LE", "SB0,0x1")
        );
        assert_eq!((exit.guarded, exit.stall), (false, 5));
        assert!(MachineCode::of_nvdisasm(LISTING, "other").is_err());
    }

    #[test]
    fn the_kept_form_is_read_again() {
        let mut code = MachineCode::of_nvdisasm(LISTING, "k").expect("a listing");
        code.registers = 42;
        assert_eq!(MachineCode::of_text(&code.to_text()), Ok(code));
    }

    #[test]
    fn what_is_not_of_the_form_is_refused_by_line() {
        for (text, line) in [
            ("", 0),
            ("registers many", 1),
            ("registers 8\n1 2", 2),
            ("registers 8\n1 1 9 - 00 - EXIT", 2),
            ("registers 8\n1 1 - - zz - EXIT", 2),
            ("registers 8\n1 1 - - 00 7 BRA", 0),
        ] {
            let error = MachineCode::of_text(text).expect_err(text);
            assert_eq!(error.line, line, "{text}: {error}");
        }
    }
}
