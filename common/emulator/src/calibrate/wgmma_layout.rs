//! `wgmma_layout.csv`: which byte of shared memory each element of a `wgmma` operand comes from.
//!
//! Shared memory is filled with its own index, the other operand is the identity, and so the product is what
//! the tensor cores have read: D = A I, or D = I B. An f16 holds integers up to 2048 exactly, so the index
//! comes in two digits, a launch each. The identity is the unswizzled K-major B, or the A in registers, of the
//! recorded arithmetic (`wgmma_*.bin`).
use std::fmt::{self, Write as _};

use super::placement::{self, Placement, Placements};
use super::table::number;
use super::{BadRow, CalibrateError, Experiment, Recording, Row, Table, is_named};
use crate::Card;

/// Elements along K.
const K: u32 = 16;
/// Bytes of shared memory that are filled: what a case may reach.
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
    /// Where the operand starts, from a multiple of 1024.
    pub start: u32,
}

/// The columns of `wgmma_layout.csv`.
pub const COLUMNS: [&str; 8] = [
    "operand",
    "major",
    "swizzle",
    "base_offset",
    "leading",
    "stride",
    "start",
    "bytes",
];

/// A case, and where its elements lie: a row of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// What was asked.
    pub case: Case,
    /// The byte of each element, from the multiple of 1024 that `start` counts from: M or N by M or N, and of
    /// each of them its 16 along K.
    pub bytes: Vec<u32>,
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

    /// What records it: an experiment for each digit of an index, lower digit first.
    pub fn experiments(&self) -> [Experiment; 2] {
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

    /// What their outputs say.
    ///
    /// # Errors
    /// If they are no digits of an index.
    pub fn decode(&self, outputs: [&[u8]; 2]) -> Result<Placed, BadRow> {
        let outputs = outputs.map(words);
        let count = (THREADS * registers(self.operand)) as usize;
        for output in &outputs {
            match output.get(count) {
                Some(base) if base % 1024 == 0 && output.len() == count + 1 => {}
                _ => {
                    let message =
                        format!("{self}: no output, or the window is not aligned to 1024 bytes");
                    return Err(BadRow(message));
                }
            }
        }
        let digit = |output: &[u32], at: u32| {
            let value = f32::from_bits(output[at as usize]);
            let whole = (0.0..2048.0).contains(&value) && value.fract() == 0.0;
            whole.then_some(value as u32)
        };
        let index = |at: u32| Some(digit(&outputs[0], at)? | digit(&outputs[1], at)? << DIGIT);
        let mut bytes = Vec::new();
        for (mn, k) in (0..self.mn()).flat_map(|mn| (0..K).map(move |k| (mn, k))) {
            // Every warp has the identity for its 16 rows of A: the same four times over.
            let places = match self.operand {
                Operand::A => vec![place(mn, k)],
                Operand::B => (0..4).map(|warp| place(16 * warp + k, mn)).collect(),
            };
            let mut found = places.into_iter().map(&index);
            match found.next().flatten() {
                Some(first) if found.all(|other| other == Some(first)) && 2 * first < WINDOW => {
                    bytes.push(2 * first);
                }
                _ => {
                    let message =
                        format!("{self}: element ({mn}, {k}) is not one of shared memory");
                    return Err(BadRow(message));
                }
            }
        }
        Ok(Placed { case: *self, bytes })
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

/// 16 bytes move as a whole, so of the 8 elements in them the first one's byte is written, M or N by M or N,
/// or K by K where M or N is contiguous. Where they do not lie together, all of them, with `+` between.
impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},", self.case)?;
        for (i, unit) in self.case.units().enumerate() {
            let bytes = unit.map(|at| self.bytes[at as usize]);
            let neighbours = (bytes[0]..).step_by(2).zip(bytes).all(|(a, b)| a == b);
            let gap = if i == 0 { "" } else { " " };
            write!(f, "{gap}{}", bytes[0])?;
            if !neighbours {
                bytes[1..]
                    .iter()
                    .try_for_each(|byte| write!(f, "+{byte}"))?;
            }
        }
        Ok(())
    }
}

impl Case {
    /// The elements of each 16 bytes, as indices into [`Placed::bytes`].
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

impl Placed {
    /// From the fields of the columns [`COLUMNS`].
    ///
    /// # Errors
    /// If one of them is malformed.
    pub fn parse(fields: [&str; 8]) -> Result<Self, BadRow> {
        let [operand, major, numbers @ .., bytes] = fields;
        let operand = match operand {
            "A" => Operand::A,
            "B" => Operand::B,
            _ => return Err(BadRow(format!("operand is {operand:?}: A or B is needed"))),
        };
        let major = match major {
            "K" => Major::K,
            "MN" => Major::Mn,
            _ => return Err(BadRow(format!("major is {major:?}: K or MN is needed"))),
        };
        let mut values = [0; 5];
        for ((value, field), name) in values.iter_mut().zip(numbers).zip(&COLUMNS[2..]) {
            *value = number(name, field)?;
        }
        let [swizzle, base_offset, leading, stride, start] = values;
        let field = |name: &str, value: u64| {
            let fits = value < 1 << 18 && value.is_multiple_of(16);
            let why = format!("{name} is {value}: a multiple of 16 below 2^18 is needed");
            fits.then_some(value as u32).ok_or(BadRow(why))
        };
        if ![0, 32, 64, 128].contains(&swizzle) || base_offset > 7 {
            let why = "swizzle is 0, 32, 64 or 128, base_offset 0 to 7";
            return Err(BadRow(why.into()));
        }
        let case = Case {
            operand,
            major,
            swizzle: swizzle as u32,
            base_offset: base_offset as u32,
            leading: field("leading", leading)?,
            stride: field("stride", stride)?,
            start: field("start", start)?,
        };
        let mut placed = vec![0; (case.mn() * K) as usize];
        let mut units = bytes.split_whitespace();
        let count = placed.len() / 8;
        for unit in case.units() {
            let Some(text) = units.next() else {
                return Err(BadRow(format!("too few bytes: {count} are needed")));
            };
            let listed: Vec<u64> = text
                .split('+')
                .map(|byte| number("a byte", byte))
                .collect::<Result<_, _>>()?;
            for (i, at) in unit.into_iter().enumerate() {
                let byte = match listed[..] {
                    [first] => first.saturating_add(2 * i as u64),
                    _ => listed.get(i).copied().unwrap_or(u64::MAX),
                };
                let why = || {
                    BadRow(format!(
                        "{text:?} is neither one byte nor eight, below 2^18"
                    ))
                };
                let valid = byte < 1 << 18 && [1, 8].contains(&listed.len());
                placed[at as usize] = valid.then_some(byte as u32).ok_or_else(why)?;
            }
        }
        match units.next() {
            None => Ok(Self {
                case,
                bytes: placed,
            }),
            Some(_) => Err(BadRow(format!("too many bytes: {count} are needed"))),
        }
    }

    /// The rows of a file, with their lines counted from 1.
    ///
    /// # Errors
    /// If it has none, or one of them is malformed.
    pub fn all(bytes: &[u8]) -> Result<Vec<(usize, Self)>, CalibrateError> {
        placement::rows(bytes)
    }
}

pub(super) fn kind(stem: &str) -> Option<Box<dyn Recording>> {
    is_named(stem, "wgmma_layout").then(|| Box::new(Placements::<Placed>::NEW) as _)
}

impl Placement for Placed {
    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn parse_row(table: &Table<'_>, row: &Row<'_>) -> Result<Self, BadRow> {
        Self::parse(table.pick(row, COLUMNS)?)
    }

    fn experiments(&self) -> Vec<Experiment> {
        self.case.experiments().into()
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Self, BadRow> {
        match outputs {
            [low, high] => self.case.decode([low, high]),
            _ => Err(BadRow("two outputs are needed".into())),
        }
    }

    fn difference(&self, found: &Self) -> Option<[String; 3]> {
        let both = self.bytes.iter().zip(&found.bytes);
        let mut wrong = both.enumerate().filter(|(_, (a, b))| a != b);
        let (at, (expected, found)) = wrong.next()?;
        let (mn, k) = (at as u32 / K, at as u32 % K);
        let what = format!(
            "{}: element ({mn}, {k}), the first of {} that differ",
            self.case,
            1 + wrong.count()
        );
        Some([what, format!("byte {expected}"), format!("byte {found}")])
    }
}

impl Case {
    /// What the emulator says.
    ///
    /// # Errors
    /// If it refuses the descriptor.
    pub fn on_emulator(&self) -> Result<Placed, BadRow> {
        let row = Placed {
            case: *self,
            bytes: Vec::new(),
        };
        placement::on_emulator(&row, Card::H100)
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

/// Leading and stride byte offsets: packed, and with gaps that keep to no power of two.
fn strides(case: &Case) -> Vec<(u32, u32)> {
    let (mn, width) = (case.mn(), case.swizzle);
    let atom = 8 * width;
    match (case.major, width) {
        (_, 0) => vec![(16 * mn, 128), (128, 256), (5008, 272)],
        // The leading offset is said not to matter.
        (Major::K, _) => vec![(16, atom), (4096, atom), (16, atom + 128), (16, atom + 16)],
        (Major::Mn, _) => vec![
            (atom, atom * (2 * mn / width)),
            (2 * atom, atom),
            (atom + 128, 9 * 1024 + 384),
            (atom + 16, 9 * 1024 + 32),
        ],
    }
}

/// Starts and base offsets: a pattern that starts at each eighth of 1024 bytes, with the base offset that says
/// so and without it, and the base offset alone. K steps inside a swizzled row.
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

fn words(bytes: &[u8]) -> Vec<u32> {
    let words = bytes.chunks_exact(4);
    words
        .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
        .collect()
}

/// Accumulator registers of a thread.
fn registers(operand: Operand) -> u32 {
    match operand {
        Operand::A => K / 2,
        Operand::B => 128 / 2,
    }
}

/// Where the output holds D's element: register by register, thread by thread (PTX ISA, "Matrix Fragments for
/// wgmma.mma_async.m64nNk16").
fn place(row: u32, column: u32) -> u32 {
    let thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2;
    let register = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
    register * THREADS + thread
}

/// The kernel; its input is the descriptor and the digit's shift, 8 bytes each.
fn ptx(operand: Operand, major: Major) -> String {
    let registers = registers(operand);
    let mut text = format!(
        ".version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 window[];
.visible .entry k(.param .u64 in, .param .u64 out)
.maxntid {THREADS}, 1, 1
{{
.reg .b32 %r<32>, %a<4>;
.reg .f32 %x<2>, %d<{registers}>;
.reg .b64 %l<16>;
.reg .pred %p<4>;
ld.param.u64 %l0, [out];
ld.param.u64 %l3, [in];
ld.global.u64 %l1, [%l3];
ld.global.u64 %l2, [%l3+8];
cvt.u32.u64 %r1, %l2;
mov.u32 %r0, %tid.x;
mov.u32 %r2, window;
// Word i of the window: digits of elements 2 i and 2 i + 1.
mov.u32 %r3, %r0;
FILL:
shl.b32 %r4, %r3, 1;
add.u32 %r5, %r4, 1;
shr.u32 %r4, %r4, %r1;
shr.u32 %r5, %r5, %r1;
and.b32 %r4, %r4, {mask};
and.b32 %r5, %r5, {mask};
cvt.rn.f32.u32 %x0, %r4;
cvt.rn.f32.u32 %x1, %r5;
cvt.rn.f16x2.f32 %r6, %x1, %x0;
shl.b32 %r7, %r3, 2;
add.u32 %r7, %r7, %r2;
st.shared.u32 [%r7], %r6;
add.u32 %r3, %r3, {THREADS};
setp.lt.u32 %p0, %r3, {words};
@%p0 bra FILL;
// Word i of the identity, 16 x 16 in 8 x 8 tiles of 128 bytes, K-major: its column and first k.
shl.b32 %r8, %r0, 2;
and.b32 %r9, %r8, 128;
shr.u32 %r9, %r9, 4;
bfe.u32 %r10, %r8, 4, 3;
add.u32 %r9, %r9, %r10;
shr.u32 %r10, %r8, 8;
shl.b32 %r10, %r10, 3;
bfe.u32 %r11, %r8, 1, 3;
add.u32 %r10, %r10, %r11;
",
        mask = (1 << DIGIT) - 1,
        words = WINDOW / 4,
    );
    // f16 1.0 in the lower half where %r9 = %r10, in the upper half where %r9 = %r10 + 1.
    let ones = |to: &str| {
        format!(
            "add.u32 %r12, %r10, 1;\nsetp.eq.u32 %p1, %r9, %r10;\nsetp.eq.u32 %p2, %r9, %r12;\n\
             selp.b32 %r13, 0x3c00, 0, %p1;\nselp.b32 {to}, 0x3c000000, %r13, %p2;\n"
        )
    };
    text += &ones("%r14");
    let _ = write!(
        text,
        "add.u32 %r15, %r8, %r2;
st.shared.u32 [%r15+{WINDOW}], %r14;
"
    );
    // The identity in the registers of A: row %r9, k %r10.
    for register in 0..4 {
        let _ = write!(
            text,
            "bfe.u32 %r9, %r0, 2, 3;\nadd.u32 %r9, %r9, {};\nand.b32 %r10, %r0, 3;\nshl.b32 %r10, %r10, 1;\n\
             add.u32 %r10, %r10, {};\n",
            8 * (register % 2),
            8 * (register / 2)
        );
        text += &ones(&format!("%a{register}"));
    }
    let list: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
    list.iter().for_each(|d| {
        let _ = writeln!(text, "mov.f32 {d}, 0f00000000;");
    });
    let trans = u32::from(major == Major::Mn);
    let (n, operands) = match operand {
        Operand::A => (K, format!("%l5, %l6, %p3, 1, 1, {trans}, 0")),
        Operand::B => (
            128,
            format!("{{%a0, %a1, %a2, %a3}}, %l5, %p3, 1, 1, {trans}"),
        ),
    };
    let _ = write!(
        text,
        "fence.proxy.async;
bar.sync 0;
// Descriptors count from the window; the identity's has 256 and 128 as its offsets.
shr.u32 %r16, %r2, 4;
cvt.u64.u32 %l4, %r16;
add.u64 %l5, %l1, %l4;
add.u64 %l6, %l4, {identity};
setp.ne.u32 %p3, %r0, %r0;
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{list}}}, {operands};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;
mul.wide.u32 %l7, %r0, 4;
add.u64 %l7, %l7, %l0;
",
        identity = u64::from(WINDOW >> 4) | 256 >> 4 << 16 | 128 >> 4 << 32,
        list = list.join(", "),
    );
    for (i, d) in list.iter().enumerate() {
        let _ = writeln!(
            text,
            "st.global.f32 [%l7+{}], {d};",
            4 * THREADS as usize * i
        );
    }
    let _ = write!(
        text,
        "setp.eq.u32 %p1, %r0, 0;\n@%p1 st.global.u32 [%l0+{}], %r2;\nret;\n}}\n",
        4 * THREADS * registers
    );
    text
}
