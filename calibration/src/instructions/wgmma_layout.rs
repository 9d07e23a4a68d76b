//! `wgmma_layout.csv`: the byte of shared memory from which `wgmma` reads each element of an operand.
//!
//! Shared memory is filled with its own index, and the other operand is the identity, so the product is what the
//! tensor cores have read: D = A I, or D = I B. An f16 holds integers up to 2048 exactly, so the index is read in two
//! digits, with a launch for each. The identity is the unswizzled K-major B, or the A in registers, of the recorded
//! arithmetic (`wgmma_*.bin`).
use std::fmt;

use anyhow::{Context, Result, bail, ensure};

use super::table::{number, whole_numbers};
use super::{Experiment, Row, words};

/// Elements along K.
const K: u32 = 16;
/// Bytes of shared memory that are filled; a case must not read beyond them.
const WINDOW: u32 = 32 << 10;
/// Bytes of the identity after them.
const IDENTITY: u32 = 512;
/// Bits of an index's lower digit.
const DIGIT: u32 = 11;
const THREADS: u32 = 128;

/// Which operand is read from shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A, 64 rows.
    A,
    /// B, 128 columns.
    B,
}

/// Which dimension is contiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Major {
    /// K: no transpose bit.
    K,
    /// M or N: the transpose bit.
    Mn,
}

/// One descriptor. Addresses and offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The operand under test.
    pub operand: Operand,
    /// Its contiguous dimension.
    pub major: Major,
    /// The swizzle: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// The descriptor's base offset.
    pub base_offset: u32,
    /// Leading dimension byte offset.
    pub leading: u32,
    /// Stride dimension byte offset.
    pub stride: u32,
    /// The operand's start, from a multiple of 1024.
    pub start: u32,
}

impl Case {
    /// Elements along M or N.
    pub fn mn(&self) -> u32 {
        match self.operand {
            Operand::A => 64,
            Operand::B => 128,
        }
    }

    /// The descriptor, with the start counted from the window's first byte.
    fn descriptor(&self) -> u64 {
        let mode: u64 = match self.swizzle {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        let field = |bytes: u32| u64::from(bytes >> 4 & 0x3fff);
        field(self.start)
            | field(self.leading) << 16
            | field(self.stride) << 32
            | u64::from(self.base_offset & 7) << 49
            | mode << 62
    }

    /// An experiment for each digit of an index, lower digit first.
    fn digits(&self) -> [Experiment; 2] {
        let ptx = ptx(self.operand, self.major);
        [0, DIGIT].map(|shift| Experiment {
            ptx: ptx.clone(),
            blocks: 1,
            threads: THREADS,
            dynamic_shared: WINDOW + IDENTITY,
            input: [self.descriptor(), shift.into()]
                .map(u64::to_le_bytes)
                .concat(),
            tensor: None,
            output_bytes: 4 * (THREADS * registers(self.operand) + 1) as usize,
        })
    }

    /// The byte of each element, from the multiple of 1024 that `start` counts from: for each row of M or N its 16
    /// elements along K.
    fn decode(&self, outputs: [&Vec<u8>; 2]) -> Result<Vec<u32>> {
        let outputs = outputs.map(|output| words(output).collect::<Vec<u32>>());
        let count = (THREADS * registers(self.operand)) as usize;
        for output in &outputs {
            let is_aligned = output.get(count).is_some_and(|base| base % 1024 == 0);
            ensure!(
                is_aligned && output.len() == count + 1,
                "{self}: no output, or the window is not aligned to 1024 bytes"
            );
        }
        let digit = |output: &[u32], at: u32| {
            let value = f32::from_bits(output[at as usize]);
            let whole = (0.0..2048.0).contains(&value) && value.fract() == 0.0;
            whole.then_some(value as u32)
        };
        let index = |at: u32| Some(digit(&outputs[0], at)? | digit(&outputs[1], at)? << DIGIT);
        let mut bytes = Vec::new();
        for (mn, k) in (0..self.mn()).flat_map(|mn| (0..K).map(move |k| (mn, k))) {
            // Every warp has the identity for its 16 rows of A, so the result is the same four times.
            let places = match self.operand {
                Operand::A => vec![place(mn, k)],
                Operand::B => (0..4).map(|warp| place(16 * warp + k, mn)).collect(),
            };
            let mut found = places.into_iter().map(&index);
            match found.next().flatten() {
                Some(first) if found.all(|other| other == Some(first)) && 2 * first < WINDOW => {
                    bytes.push(2 * first);
                }
                _ => bail!("{self}: element ({mn}, {k}) is not a byte of shared memory"),
            }
        }
        Ok(bytes)
    }

    /// The elements of each 16 bytes, as indices into the result of [`Case::decode`].
    fn units(&self) -> impl Iterator<Item = [u32; 8]> {
        let (major, mn) = (self.major, self.mn());
        (0..mn * K / 8).map(move |unit| {
            std::array::from_fn(|i| match major {
                Major::K => 8 * unit + i as u32,
                Major::Mn => (unit % (mn / 8) * 8 + i as u32) * K + unit / (mn / 8),
            })
        })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operand = match self.operand {
            Operand::A => "A",
            Operand::B => "B",
        };
        let major = match self.major {
            Major::K => "K",
            Major::Mn => "MN",
        };
        write!(
            f,
            "{operand},{major},{},{},{},{},{}",
            self.swizzle, self.base_offset, self.leading, self.stride, self.start
        )
    }
}

impl Row for Case {
    /// The result of [`Case::decode`].
    type Measured = Vec<u32>;

    const HEADER: &'static str = "operand,major,swizzle,base_offset,leading,stride,start,bytes";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Vec<u32>)> {
        let [operand, major, numbers @ .., bytes] = fields else {
            bail!("a descriptor has 8 fields");
        };
        let operand = match *operand {
            "A" => Operand::A,
            "B" => Operand::B,
            _ => bail!("operand is {operand:?}: A or B is needed"),
        };
        let major = match *major {
            "K" => Major::K,
            "MN" => Major::Mn,
            _ => bail!("major is {major:?}: K or MN is needed"),
        };
        let names = Self::HEADER.split(',').skip(2);
        let [swizzle, base_offset, leading, stride, start] =
            whole_numbers::<u32, 5>(names, numbers)?;
        ensure!(
            [0, 32, 64, 128].contains(&swizzle) && base_offset <= 7,
            "swizzle is 0, 32, 64 or 128, base_offset 0 to 7"
        );
        for (name, value) in [("leading", leading), ("stride", stride), ("start", start)] {
            ensure!(
                value < 1 << 18 && value.is_multiple_of(16),
                "{name} is {value}: a multiple of 16 below 2^18 is needed"
            );
        }
        let case = Case {
            operand,
            major,
            swizzle,
            base_offset,
            leading,
            stride,
            start,
        };
        let mut placed = vec![0; (case.mn() * K) as usize];
        let mut units = bytes.split_whitespace();
        let count = placed.len() / 8;
        for unit in case.units() {
            let next = units.next();
            let text = next.with_context(|| format!("too few bytes: {count} are needed"))?;
            let listed: Vec<u64> = text
                .split('+')
                .map(|byte| number("a byte", byte))
                .collect::<Result<_, _>>()?;
            for (i, at) in unit.into_iter().enumerate() {
                let byte = match listed[..] {
                    [first] => first.saturating_add(2 * i as u64),
                    _ => listed.get(i).copied().unwrap_or(u64::MAX),
                };
                ensure!(
                    byte < 1 << 18 && [1, 8].contains(&listed.len()),
                    "{text:?} is neither one byte nor eight, below 2^18"
                );
                placed[at as usize] = byte as u32;
            }
        }
        ensure!(units.next().is_none(), "too many bytes: {count} are needed");
        Ok((case, placed))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(self.digits().into())
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Vec<u32>> {
        match outputs {
            [low, high] => self.decode([low, high]),
            _ => bail!("two outputs are needed"),
        }
    }

    /// 16 bytes move as a whole, so of their 8 elements only the first one's byte is written, in the order of M or N,
    /// or of K if M or N is contiguous. If they are not contiguous, all bytes are written, with `+` between.
    fn fields(&self, bytes: &Vec<u32>) -> Vec<String> {
        let unit = |unit: [u32; 8]| {
            let bytes = unit.map(|at| bytes[at as usize]);
            let neighbors = (bytes[0]..).step_by(2).zip(bytes).all(|(a, b)| a == b);
            match neighbors {
                true => bytes[0].to_string(),
                false => bytes.map(|byte| byte.to_string()).join("+"),
            }
        };
        vec![self.units().map(unit).collect::<Vec<_>>().join(" ")]
    }

    fn difference(&self, recorded: &Vec<u32>, found: &Vec<u32>) -> [String; 3] {
        let wrong = (0..recorded.len()).filter(|&at| recorded[at] != found[at]);
        let wrong: Vec<usize> = wrong.collect();
        let first = wrong.first().copied().unwrap_or_default();
        let what = format!(
            "{self}: element ({}, {}), the first of {} that differ",
            first / K as usize,
            first % K as usize,
            wrong.len()
        );
        let [expected, found] = [recorded, found].map(|bytes| format!("byte {}", bytes[first]));
        [what, expected, found]
    }
}

/// Every swizzle, major and base offset, for both operands; steps along K, and strides with gaps.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for operand in [Operand::A, Operand::B] {
        for (major, swizzle) in [Major::K, Major::Mn]
            .into_iter()
            .flat_map(|major| [0, 32, 64, 128].map(|swizzle| (major, swizzle)))
        {
            let case = Case {
                operand,
                major,
                swizzle,
                base_offset: 0,
                leading: 0,
                stride: 0,
                start: 0,
            };
            for (i, (leading, stride)) in strides(&case).into_iter().enumerate() {
                for (start, base_offset) in starts(&case, i == 0) {
                    cases.push(Case {
                        base_offset,
                        leading,
                        stride,
                        start,
                        ..case
                    });
                }
            }
        }
    }
    cases
}

/// Leading and stride byte offsets: packed, and with gaps that are not powers of two.
fn strides(case: &Case) -> Vec<(u32, u32)> {
    let (mn, width) = (case.mn(), case.swizzle);
    let atom = 8 * width;
    match (case.major, width) {
        (_, 0) => vec![(16 * mn, 128), (128, 256), (5008, 272)],
        // The leading offset is documented as ignored.
        (Major::K, _) => vec![(16, atom), (4096, atom), (16, atom + 128), (16, atom + 16)],
        (Major::Mn, _) => vec![
            (atom, atom * (2 * mn / width)),
            (2 * atom, atom),
            (atom + 128, 9 * 1024 + 384),
            (atom + 16, 9 * 1024 + 32),
        ],
    }
}

/// Starts and base offsets: a pattern that starts at each eighth of 1024 bytes, with the matching base offset and
/// without it, and the base offset alone; K steps inside a swizzled row.
fn starts(case: &Case, all: bool) -> Vec<(u32, u32)> {
    if case.swizzle == 0 {
        return vec![(0, 0), (16, 0), (1040, 0)];
    }
    if !all {
        return vec![(0, 0), (384, 3)];
    }
    let rows = 0..8;
    let mut starts: Vec<(u32, u32)> = rows.clone().map(|row| (128 * row, row)).collect();
    starts.extend(rows.clone().skip(1).map(|row| (128 * row, 0)));
    starts.extend(rows.skip(1).map(|row| (0, row)));
    if case.major == Major::K {
        let steps = (1..case.swizzle / 32).flat_map(|step| [(32 * step, 0), (32 * step + 640, 5)]);
        starts.extend(steps);
    }
    starts
}

/// Accumulator registers of a thread.
fn registers(operand: Operand) -> u32 {
    match operand {
        Operand::A => K / 2,
        Operand::B => 128 / 2,
    }
}

/// The position of D's element in the output: register by register, thread by thread (PTX ISA, "Matrix Fragments for
/// wgmma.mma_async.m64nNk16").
fn place(row: u32, column: u32) -> u32 {
    let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
    let register = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
    register * THREADS + thread
}

/// The kernel: the file beside this one, with the parts that depend on the operand.
fn ptx(operand: Operand, major: Major) -> String {
    let registers = registers(operand);
    // f16 1.0 in the lower half if %r9 = %r10, in the upper half if %r9 = %r10 + 1.
    let ones = |to: &str| {
        format!(
            "add.u32 %r12, %r10, 1;\nsetp.eq.u32 %p1, %r9, %r10;\nsetp.eq.u32 %p2, %r9, %r12;\n\
             selp.b32 %r13, 0x3c00, 0, %p1;\nselp.b32 {to}, 0x3c000000, %r13, %p2;\n"
        )
    };
    let identity = (0..4).map(|register| {
        let (row, k) = (8 * (register % 2), 8 * (register / 2));
        format!(
            "bfe.u32 %r9, %r0, 2, 3;\nadd.u32 %r9, %r9, {row};\nand.b32 %r10, %r0, 3;\n\
             shl.b32 %r10, %r10, 1;\nadd.u32 %r10, %r10, {k};\n{}",
            ones(&format!("%a{register}"))
        )
    });
    let d: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
    let zeros = d.iter().map(|d| format!("mov.f32 {d}, 0f00000000;\n"));
    let stores =
        (0..registers).map(|i| format!("st.global.f32 [%l7+{}], %d{i};\n", 4 * THREADS * i));
    let trans = u32::from(major == Major::Mn);
    let (n, operands) = match operand {
        Operand::A => (K, format!("%l5, %l6, %p3, 1, 1, {trans}, 0")),
        Operand::B => (
            128,
            format!("{{%a0, %a1, %a2, %a3}}, %l5, %p3, 1, 1, {trans}"),
        ),
    };
    let wgmma = format!(
        "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{}}}, {operands};",
        d.join(", ")
    );
    let descriptor = u64::from(WINDOW >> 4) | 256 >> 4 << 16 | 128 >> 4 << 32;
    [
        ("$THREADS", THREADS.to_string()),
        ("$REGISTERS", registers.to_string()),
        ("$MASK", ((1 << DIGIT) - 1).to_string()),
        ("$WORDS", (WINDOW / 4).to_string()),
        ("$WINDOW", WINDOW.to_string()),
        ("$ONES", ones("%r14")),
        ("$IDENTITY", identity.collect()),
        ("$ZEROS", zeros.collect()),
        ("$DESCRIPTOR", descriptor.to_string()),
        ("$WGMMA", wgmma),
        ("$STORES", stores.collect()),
        ("$END", (4 * THREADS * registers).to_string()),
    ]
    .into_iter()
    .fold(
        include_str!("wgmma_layout.ptx").into(),
        |text: String, (name, value)| text.replace(name, &value),
    )
}
