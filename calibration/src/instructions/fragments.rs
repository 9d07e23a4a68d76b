//! `mma_fragments.csv`: matrix products in every format, register by register, with a digest of the results.
//!
//! A row is an instruction, a class of operands, the number of products, and the [`Digest`] of D: 32-bit words,
//! product by product, lane by lane, register by register. The operands are filled by register too, from the
//! product's number alone ([`word`]), so a row tests the fragment layout as well as the arithmetic. Product i of
//! class c has the number 4 i + c.
use std::fmt::Write;

use anyhow::{Context, Result, bail, ensure};

use super::random::mix;
use super::table::number;
use super::{Digest, Experiment, Row};

/// Most products of a row: more would not fit in the emulator's memory.
const MAX_PRODUCTS: u32 = 1 << 14;
/// Products of a planned row.
const PLANNED_PRODUCTS: u32 = 256;
/// Words of B for a `wgmma`: 8 columns of 32 bytes.
const SHARED: u32 = 64;

/// Classes of operands, by number: small exponents, or any integers; wide ones, or integers with an addend near the
/// largest; any bits; mostly zeros, or integers with an addend near the smallest.
const CLASSES: [&str; 4] = ["small", "wide", "random", "sparse"];

/// The format of an operand's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Two f16.
    F16,
    /// Two bf16.
    Bf16,
    /// An f32, or a tf32 with low bits that the hardware ignores.
    F32,
    /// Any bits.
    Bits,
    /// Half an f64 from 2^-16 to 2^15, the low half first; the same in all classes.
    F64,
}

/// One instruction: the words that a lane holds of A, B and D, and their formats.
#[derive(Clone, Copy, Debug)]
struct Form {
    name: &'static str,
    /// Words of A, B and C in each lane; 0 of B for `wgmma`, which reads B from shared memory.
    words: [u32; 3],
    factors: Kind,
    sums: Kind,
}

const fn form(name: &'static str, words: [u32; 3], factors: Kind, sums: Kind) -> Form {
    Form {
        name,
        words,
        factors,
        sums,
    }
}

/// How many of [`FORMS`] are in the first recording; `mma_fragments_more.csv` has the others.
const FORMS_IN_FIRST_RECORDING: usize = 22;

/// All recorded forms, without `mma.sync.aligned.` or `.mma_async.sync.aligned`.
const FORMS: [Form; 38] = {
    use Kind::*;
    [
        form("m16n8k16.row.col.f16.f16.f16.f16", [4, 2, 2], F16, F16),
        form("m16n8k8.row.col.f16.f16.f16.f16", [2, 1, 2], F16, F16),
        form("m16n8k8.row.col.f32.bf16.bf16.f32", [2, 1, 4], Bf16, F32),
        form("m16n8k4.row.col.f32.tf32.tf32.f32", [2, 1, 4], F32, F32),
        form("m16n8k8.row.col.f32.tf32.tf32.f32", [4, 2, 4], F32, F32),
        form("m8n8k16.row.col.s32.s8.s8.s32", [1, 1, 2], Bits, Bits),
        form("m16n8k16.row.col.s32.s8.s8.s32", [2, 1, 4], Bits, Bits),
        form("m16n8k32.row.col.s32.s8.s8.s32", [4, 2, 4], Bits, Bits),
        form("m16n8k32.row.col.s32.u8.s8.s32", [4, 2, 4], Bits, Bits),
        form(
            "m16n8k32.row.col.satfinite.s32.s8.s8.s32",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form(
            "m16n8k32.row.col.satfinite.s32.u8.u8.s32",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form("m16n8k32.row.col.s32.s4.s4.s32", [2, 1, 4], Bits, Bits),
        form("m16n8k64.row.col.s32.s4.s4.s32", [4, 2, 4], Bits, Bits),
        form(
            "m16n8k256.row.col.s32.b1.b1.s32.and.popc",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form("m16n8k32.row.col.f32.e4m3.e4m3.f32", [4, 2, 4], Bits, F32),
        form("m8n8k4.row.col.f64.f64.f64.f64", [2, 2, 4], F64, F64),
        form("wgmma.m64n8k16.f16.f16.f16", [4, 0, 2], F16, F16),
        form("wgmma.m64n8k8.f32.tf32.tf32", [4, 0, 4], F32, F32),
        form("wgmma.m64n8k32.s32.s8.s8", [4, 0, 4], Bits, Bits),
        form("wgmma.m64n8k32.s32.u8.s8", [4, 0, 4], Bits, Bits),
        form("wgmma.m64n8k32.s32.s8.s8.satfinite", [4, 0, 4], Bits, Bits),
        form("wgmma.m64n8k32.f32.e4m3.e4m3", [4, 0, 4], Bits, F32),
        form("m16n8k4.row.col.f64.f64.f64.f64", [4, 2, 8], F64, F64),
        form("m16n8k8.row.col.f64.f64.f64.f64", [8, 4, 8], F64, F64),
        form("m16n8k16.row.col.f64.f64.f64.f64", [16, 8, 8], F64, F64),
        form("m8n8k32.row.col.s32.s4.s4.s32", [1, 1, 2], Bits, Bits),
        form("m8n8k32.row.col.s32.u4.u4.s32", [1, 1, 2], Bits, Bits),
        form("m16n8k64.row.col.s32.s4.u4.s32", [4, 2, 4], Bits, Bits),
        form("m16n8k64.row.col.s32.u4.s4.s32", [4, 2, 4], Bits, Bits),
        form(
            "m8n8k32.row.col.satfinite.s32.s4.s4.s32",
            [1, 1, 2],
            Bits,
            Bits,
        ),
        form(
            "m16n8k32.row.col.satfinite.s32.u4.u4.s32",
            [2, 1, 4],
            Bits,
            Bits,
        ),
        form(
            "m16n8k64.row.col.satfinite.s32.s4.s4.s32",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form(
            "m16n8k64.row.col.satfinite.s32.u4.s4.s32",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form(
            "m8n8k128.row.col.s32.b1.b1.s32.and.popc",
            [1, 1, 2],
            Bits,
            Bits,
        ),
        form(
            "m16n8k128.row.col.s32.b1.b1.s32.xor.popc",
            [2, 1, 4],
            Bits,
            Bits,
        ),
        form(
            "m16n8k256.row.col.s32.b1.b1.s32.xor.popc",
            [4, 2, 4],
            Bits,
            Bits,
        ),
        form("m16n8k32.row.col.f32.e5m2.e5m2.f32", [4, 2, 4], Bits, F32),
        form("m16n8k32.row.col.f32.e4m3.e5m2.f32", [4, 2, 4], Bits, F32),
    ]
};

/// A number with this many exponent and mantissa bits, of a class, from random bits.
fn float(bits: u32, exponent_bits: u32, mantissa_bits: u32, class: u32) -> u32 {
    let any = u64::from(bits) & ((1 << (1 + exponent_bits + mantissa_bits)) - 1);
    let choice = ((u64::from(bits) * 0x9e37_79b1) >> 16 & 0xffff) as u32;
    if class == 2 {
        return any as u32;
    }
    if class == 3 && choice >> 8 & 7 != 0 {
        return 0;
    }
    let spread = match (class, exponent_bits) {
        (0, _) => 3,
        (_, 5) => 13,
        _ => 24,
    };
    let bias = (1 << (exponent_bits - 1)) - 1;
    let exponent = bias + choice % (2 * spread + 1) - spread;
    // Powers of two cancel more often.
    let mantissa = match class == 3 && choice >> 12 & 1 == 1 {
        true => 0,
        false => bits >> 1 & ((1 << mantissa_bits) - 1),
    };
    (bits & 1) << (exponent_bits + mantissa_bits) | exponent << mantissa_bits | mantissa
}

/// A word of a product's operand: A is 0, B is 1, C is 2; the index counts lane by lane, register by register.
fn word(kind: Kind, operand: u32, product: u32, index: u32) -> u32 {
    let class = product & 3;
    let random = mix(product * 4 + operand, index);
    let (low, high) = (random as u32, (random >> 32) as u32);
    match kind {
        Kind::F16 => float(low, 5, 10, class) | float(high, 5, 10, class) << 16,
        Kind::Bf16 => float(low, 8, 7, class) | float(high, 8, 7, class) << 16,
        Kind::F32 => float(low, 8, 23, class),
        Kind::Bits => match (operand, class) {
            (2, 1) => 0x7fff_ff00 + (low & 0xff),
            (2, 3) => 0x8000_0000 + (low & 0xff),
            _ => low,
        },
        Kind::F64 => {
            let random = mix(product * 4 + operand, index / 2);
            let exponent = 1023 - 16 + (random >> 53 & 31);
            let bits = random & 0x800f_ffff_ffff_ffff | exponent << 52;
            (bits >> (32 * (index % 2))) as u32
        }
    }
}

impl Form {
    fn is_wgmma(self) -> bool {
        self.name.starts_with("wgmma")
    }

    fn lanes(self) -> u32 {
        if self.is_wgmma() { 128 } else { 32 }
    }

    /// Words of A, B and C of all lanes.
    fn sizes(self) -> [u32; 3] {
        let [a, b, c] = self.words.map(|words| words * self.lanes());
        [a, if self.is_wgmma() { SHARED } else { b }, c]
    }

    /// The operands of these products, one after the other.
    fn input(self, class: u32, count: u32) -> Vec<u8> {
        let kinds = [self.factors, self.factors, self.sums];
        let mut input = Vec::new();
        for product in (0..count).map(|i| 4 * i + class) {
            for (operand, (size, kind)) in (0..).zip(self.sizes().into_iter().zip(kinds)) {
                let words = (0..size).map(|index| word(kind, operand, product, index));
                input.extend(words.flat_map(u32::to_le_bytes));
            }
        }
        input
    }

    fn experiment(self, class: u32, count: u32) -> Experiment {
        let d = 4 * self.lanes() * self.words[2];
        Experiment {
            ptx: self.ptx(),
            blocks: count,
            threads: self.lanes(),
            dynamic_shared: 0,
            input: self.input(class, count),
            output_bytes: (d * count) as usize,
            tensor: None,
        }
    }

    /// A block for each product: its lanes load their registers, multiply, and store D.
    fn ptx(self) -> String {
        let [a, b, c] = self.sizes();
        let is_f64 = self.factors == Kind::F64;
        let (class, bytes) = if is_f64 { ("f64", 8) } else { ("b32", 4) };
        let [a_count, b_count, c_count] = self.words.map(|words| 4 * words / bytes);
        let (target, shared) = match self.is_wgmma() {
            true => ("sm_90a", ".shared .align 128 .b8 tile[256];\n"),
            false => ("sm_90", ""),
        };
        let mut text = format!(
            ".version 8.4\n.target {target}\n.address_size 64\n{shared}\
             .visible .entry {}(.param .u64 in, .param .u64 out)\n{{\n\
             .reg .b32 %thread, %block, %word, %to;\n.reg .b64 %in, %out, %at, %descriptor;\n.reg .pred %p;\n\
             .reg .{class} %a<8>, %b<4>, %c<4>;\n\
             ld.param.u64 %in, [in];\nld.param.u64 %out, [out];\n\
             mov.u32 %thread, %tid.x;\nmov.u32 %block, %ctaid.x;\n\
             mad.wide.u32 %in, %block, {}, %in;\nmad.wide.u32 %out, %block, {}, %out;\n",
            Experiment::ENTRY,
            4 * (a + b + c),
            4 * c,
        );
        let mut load = |name: &str, count: u32, from: u32| {
            let _ = writeln!(text, "mad.wide.u32 %at, %thread, {}, %in;", bytes * count);
            for i in 0..count {
                let at = 4 * from + bytes * i;
                let _ = writeln!(text, "ld.global.{class} %{name}{i}, [%at+{at}];");
            }
        };
        load("a", a_count, 0);
        load("b", b_count, a);
        load("c", c_count, a + b);
        let list = |name: &str, count: u32| {
            let names: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let [a_list, b_list, c_list] =
            [("a", a_count), ("b", b_count), ("c", c_count)].map(|(name, count)| list(name, count));
        match self.name.strip_prefix("wgmma.") {
            None => {
                let name = self.name;
                let _ = writeln!(
                    text,
                    "mma.sync.aligned.{name} {c_list}, {a_list}, {b_list}, {c_list};"
                );
            }
            Some(name) => {
                let scales = match self.factors {
                    Kind::F16 => ", 1, 1, 0",
                    _ if name.contains("s32") => "",
                    _ => ", 1, 1",
                };
                // B without a swizzle: two core matrices of 8 columns, 16 bytes each, 128 bytes apart.
                let _ = write!(
                    text,
                    "mad.wide.u32 %at, %thread, 4, %in;\nsetp.lt.u32 %p, %thread, {SHARED};\n\
                     @%p ld.global.b32 %word, [%at+{}];\nmov.u32 %to, tile;\nshr.u32 %block, %to, 4;\n\
                     mad.lo.u32 %to, %thread, 4, %to;\n@%p st.shared.b32 [%to], %word;\n\
                     and.b32 %block, %block, 16383;\ncvt.u64.u32 %descriptor, %block;\n\
                     or.b64 %descriptor, %descriptor, {};\n\
                     fence.proxy.async.shared::cta;\nbar.sync 0;\n\
                     wgmma.fence.sync.aligned;\n\
                     wgmma.mma_async.sync.aligned.{name} {c_list}, {a_list}, %descriptor, 1{scales};\n\
                     wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
                    4 * a,
                    128u64 >> 4 << 16 | 256 >> 4 << 32,
                );
            }
        }
        let _ = writeln!(
            text,
            "mad.wide.u32 %at, %thread, {}, %out;",
            bytes * c_count
        );
        for i in 0..c_count {
            let _ = writeln!(text, "st.global.{class} [%at+{}], %c{i};", bytes * i);
        }
        text + "ret;\n}\n"
    }
}

/// A row of the file.
pub(super) struct Products {
    form: Form,
    class: u32,
    count: u32,
}

impl Row for Products {
    type Measured = Digest;

    const HEADER: &'static str = "instruction,class,products,digest";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Digest)> {
        let [instruction, class, count, digest] = *fields else {
            bail!("products have 4 fields");
        };
        let form = FORMS.into_iter().find(|form| form.name == instruction);
        let form = form.with_context(|| {
            let names = FORMS.map(|form| form.name).join(", ");
            format!("{instruction:?} is not an instruction: there are {names}")
        })?;
        let found = CLASSES.iter().position(|name| *name == class);
        let class = found.with_context(|| {
            format!(
                "{class:?} is not a class of operands: there are {}",
                CLASSES.join(", ")
            )
        })?;
        let count = number("products", count)?;
        ensure!(
            (1..=MAX_PRODUCTS).contains(&count),
            "products is {count}: 1 to {MAX_PRODUCTS} are possible"
        );
        let products = Self {
            form,
            class: class as u32,
            count,
        };
        Ok((products, Digest::parse(digest)?))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(vec![self.form.experiment(self.class, self.count)])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Digest> {
        Ok(Digest::of(&outputs.concat()))
    }

    fn fields(&self, digest: &Digest) -> Vec<String> {
        vec![digest.to_string()]
    }

    /// A digest shows only that some product of the row differs.
    fn difference(&self, recorded: &Digest, found: &Digest) -> [String; 3] {
        let class = CLASSES.get(self.class as usize).unwrap_or(&"");
        let what = format!(
            "{}, {class}: some of {} products",
            self.form.name, self.count
        );
        let [expected, found] = Digest::sides(recorded, found);
        [what, expected, found]
    }
}

/// The rows of the first recording. The digests are zero.
pub(super) fn plan() -> String {
    plan_of(&FORMS[..FORMS_IN_FIRST_RECORDING])
}

/// The rows of formats and shapes added after the first recording.
pub(super) fn plan_more() -> String {
    plan_of(&FORMS[FORMS_IN_FIRST_RECORDING..])
}

fn plan_of(forms: &[Form]) -> String {
    let mut text = Products::HEADER.to_owned() + "\n";
    for form in forms {
        for class in CLASSES {
            let _ = writeln!(text, "{},{class},{PLANNED_PRODUCTS},{:016x}", form.name, 0);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operands must never change: without them a recording is worthless.
    #[test]
    fn the_same_operands_everywhere() {
        let digest = |form: &Form| {
            let classes = (0..4).map(|class| form.input(class, 3));
            Digest::of(&classes.collect::<Vec<_>>().concat()).to_string()
        };
        let of_forms = |forms: &[Form]| {
            let found: Vec<String> = forms.iter().map(digest).collect();
            Digest::of(found.join(" ").as_bytes()).to_string()
        };
        assert_eq!(
            of_forms(&FORMS[..FORMS_IN_FIRST_RECORDING]),
            "b6eee0a86b58a6ac"
        );
        assert_eq!(
            of_forms(&FORMS[FORMS_IN_FIRST_RECORDING..]),
            "67c919e4d895a745"
        );
    }
}
