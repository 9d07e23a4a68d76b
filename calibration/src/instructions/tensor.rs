//! `tensor.csv`: many matrix products in each row, made from a seed, with a digest of all results.
//!
//! A row is an instruction, a class of inputs, a seed, the number of records, and the [`Digest`] of their D, record
//! by record, each 16x8 f32 as little-endian bits. A record's A, B and C follow from class, seed and the record's
//! number by integer arithmetic alone; the layout is that of `matrix`.
use anyhow::{Context, Result, bail, ensure};

use super::matrix::{Mma, RECORD, SHAPES};
use super::random::random;
use super::table::number;
use super::{Digest, Experiment, Row};

/// Most records of a row: more would not fit in the emulator's memory.
const MAX_RECORDS: usize = 1 << 16;
/// Records of a planned row: enough to find a difference, while a file stays small.
const PLANNED_RECORDS: usize = 512;
/// Planned rows of an instruction and a class.
const SEEDS: u64 = 4;

/// Classes of numbers in a record; each tests one corner of the rule in [`emulator::tensor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Magnitudes from 0 to 4, evenly.
    Normal,
    /// Every finite exponent.
    Wide,
    /// Products that nearly cancel each other, in pairs.
    Canceling,
    /// Subnormal numbers, and products below the smallest exponent that is kept.
    Tiny,
    /// Mostly zeros, with no sign.
    Zero,
    /// Mostly zeros of either sign.
    SignedZero,
    /// The largest exponents, and an addend near the largest f32.
    Overflowing,
    /// A few infinities of either sign among normal numbers.
    Infinite,
    /// A few NaNs, zeros and infinities.
    Nan,
    /// Zeros, subnormal, normal and the largest numbers side by side.
    Mixed,
    /// Any bits.
    Random,
}

impl Class {
    const ALL: [(&'static str, Self); 11] = [
        ("normal", Self::Normal),
        ("wide", Self::Wide),
        ("canceling", Self::Canceling),
        ("tiny", Self::Tiny),
        ("zero", Self::Zero),
        ("signed_zero", Self::SignedZero),
        ("overflowing", Self::Overflowing),
        ("infinite", Self::Infinite),
        ("nan", Self::Nan),
        ("mixed", Self::Mixed),
        ("random", Self::Random),
    ];
}

/// The bit layout of a number.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
}

const F16: Format = Format::new(5, 10);
const BF16: Format = Format::new(8, 7);
const F32: Format = Format::new(8, 23);

impl Format {
    const fn new(exponent_bits: u32, mantissa_bits: u32) -> Self {
        Self {
            exponent_bits,
            mantissa_bits,
        }
    }

    /// The exponent field of 1.
    fn bias(self) -> u64 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The exponent field of infinity.
    fn top(self) -> u64 {
        (1 << self.exponent_bits) - 1
    }

    fn sign(self) -> u32 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    /// A number with this exponent field; sign and mantissa are random bits.
    fn with(self, field: u64, bits: u64) -> u32 {
        let mantissa = (bits >> 32) as u32 & ((1 << self.mantissa_bits) - 1);
        let sign = if bits & 1 == 1 { self.sign() } else { 0 };
        sign | (field.min(self.top()) as u32) << self.mantissa_bits | mantissa
    }

    /// The same between two fields.
    fn between(self, low: u64, high: u64, bits: u64) -> u32 {
        self.with(low + (bits >> 8 & 0xffff) % (high - low + 1), bits)
    }

    fn zero(self, bits: u64) -> u32 {
        (bits as u32 & 1) * self.sign()
    }

    fn infinity(self, bits: u64) -> u32 {
        self.zero(bits) | (self.top() as u32) << self.mantissa_bits
    }

    fn nan(self, bits: u64) -> u32 {
        self.with(self.top(), bits) | 1
    }

    /// From 0 to 4, evenly: an exponent is half as frequent as the next.
    fn normal(self, bits: u64) -> u32 {
        let below = u64::from((bits >> 8 & 0xffff | 0x1_0000).trailing_zeros());
        self.with((self.bias() + 1).saturating_sub(below), bits)
    }

    fn subnormal(self, bits: u64) -> u32 {
        self.with(0, bits)
    }

    fn any(self, bits: u64) -> u32 {
        (bits >> 8) as u32 & (self.sign() | (self.sign() - 1))
    }
}

/// One of a record's three matrices.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    A,
    B,
    C,
}

/// One number of an operand, from 64 random bits; `factor` is the format of A and B.
fn element(class: Class, operand: Operand, factor: Format, bits: u64) -> u32 {
    let is_addend = operand == Operand::C;
    let format = if is_addend { F32 } else { factor };
    // Bits that no other choice here uses.
    let pick = bits >> 25 & 0x7f;
    match class {
        Class::Normal => format.normal(bits),
        // The addend where the products are: 2^-48 to 2^32 for f16, everywhere for bf16.
        Class::Wide if is_addend && factor.exponent_bits == 5 => format.between(75, 163, bits),
        Class::Wide => format.between(1, format.top() - 1, bits),
        Class::Canceling if is_addend => format.between(87, 127, bits),
        Class::Canceling => format.normal(bits),
        Class::Tiny => match (operand, factor.exponent_bits) {
            // Products of f16 down to 2^-48.
            (Operand::C, 5) => format.between(70, 100, bits),
            (_, 5) => format.between(0, 3, bits),
            // One small factor: products about 2^-126, where sums become subnormal.
            (Operand::C, _) => format.between(0, 3, bits),
            (Operand::A, _) => format.between(0, 2, bits),
            (Operand::B, _) => format.between(factor.bias() - 20, factor.bias() - 3, bits),
        },
        Class::Zero if is_addend || pick >= 16 => 0,
        Class::Zero => format.normal(bits),
        Class::SignedZero if is_addend || pick >= 8 => format.zero(bits),
        Class::SignedZero => format.normal(bits),
        Class::Overflowing if is_addend => format.between(250, 254, bits),
        // Products of bf16 from 2^120 to 2^130; those of f16 cannot exceed f32, only their addend is near its
        // maximum.
        Class::Overflowing if factor.exponent_bits == 8 => {
            format.between(factor.bias() + 60, factor.bias() + 65, bits)
        }
        Class::Overflowing => format.between(format.top() - 2, format.top() - 1, bits),
        Class::Infinite if pick < if is_addend { 8 } else { 2 } => format.infinity(bits),
        Class::Infinite => format.normal(bits),
        Class::Nan => match pick {
            0 => format.nan(bits),
            1 => format.infinity(bits),
            2..8 => format.zero(bits),
            _ => format.normal(bits),
        },
        Class::Mixed => match pick & 7 {
            0 => format.zero(bits),
            1 | 2 => format.subnormal(bits),
            3 => format.between(format.top() - 2, format.top() - 1, bits),
            _ => format.normal(bits),
        },
        Class::Random => format.any(bits),
    }
}

/// Records of A, B and C, with D zero, in the format of `matrix`.
fn records(mma: Mma, class: Class, seed: u64, count: usize) -> Vec<u8> {
    let factor = if mma.factor == "f16" { F16 } else { BF16 };
    let mut bytes = vec![0; RECORD * count];
    for (i, record) in bytes.chunks_exact_mut(RECORD).enumerate() {
        // SplitMix64 is random from any start: each record has its own, so rows may be split anywhere.
        let mut state = seed << 32 | i as u64;
        state = random(&mut state);
        let (a, rest) = record.split_at_mut(512);
        let (b, rest) = rest.split_at_mut(256);
        for (operand, bytes) in [(Operand::A, &mut *a), (Operand::B, &mut *b)] {
            for bytes in bytes.chunks_exact_mut(2) {
                let value = element(class, operand, factor, random(&mut state));
                bytes.copy_from_slice(&(value as u16).to_le_bytes());
            }
        }
        for bytes in rest[..512].chunks_exact_mut(4) {
            let value = element(class, Operand::C, factor, random(&mut state));
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        if class == Class::Canceling {
            cancel(a, b, &mut state);
        }
    }
    bytes
}

/// Makes the product at k + 1 nearly that at k with the other sign, for every other k.
fn cancel(a: &mut [u8], b: &mut [u8], state: &mut u64) {
    for row in a.chunks_exact_mut(32) {
        for pair in row.chunks_exact_mut(4) {
            pair.copy_within(..2, 2);
            // A quarter of them differ in the last bit.
            pair[2] ^= u8::from(random(state) & 3 == 0);
        }
    }
    for pair in b.chunks_exact_mut(32) {
        pair.copy_within(..16, 16);
        pair[17..]
            .iter_mut()
            .step_by(2)
            .for_each(|high| *high ^= 0x80);
    }
}

/// A row of the file.
pub(super) struct Batch {
    mma: Mma,
    class: (&'static str, Class),
    seed: u64,
    count: usize,
}

impl Row for Batch {
    type Measured = Digest;

    const HEADER: &'static str = "instruction,class,seed,records,digest";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Digest)> {
        let [instruction, class, seed, count, digest] = *fields else {
            bail!("a batch has 5 fields");
        };
        let mma = SHAPES.into_iter().find(|mma| mma.name == instruction);
        let mma = mma.with_context(|| {
            let names = SHAPES.map(|mma| mma.name).join(", ");
            format!("{instruction:?} is not an instruction: there are {names}")
        })?;
        let found = Class::ALL.into_iter().find(|(name, _)| *name == class);
        let class = found.with_context(|| {
            let names = Class::ALL.map(|(name, _)| name).join(", ");
            format!("{class:?} is not a class of inputs: there are {names}")
        })?;
        let (seed, count) = (number("seed", seed)?, number("records", count)?);
        ensure!(
            (1..=MAX_RECORDS).contains(&count),
            "records is {count}: 1 to {MAX_RECORDS} are possible"
        );
        let batch = Self {
            mma,
            class,
            seed,
            count,
        };
        Ok((batch, Digest::parse(digest)?))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        let records = records(self.mma, self.class.1, self.seed, self.count);
        Ok(vec![self.mma.experiment(&records)])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Digest> {
        Ok(Digest::of(&outputs.concat()))
    }

    fn fields(&self, digest: &Digest) -> Vec<String> {
        vec![digest.to_string()]
    }

    /// A digest shows only that some record of the row differs.
    fn difference(&self, recorded: &Digest, found: &Digest) -> [String; 3] {
        let (mma, class) = (self.mma.name, self.class.0);
        let what = format!(
            "{mma}, {class}, seed {}: some of {} records",
            self.seed, self.count
        );
        let [expected, found] = Digest::sides(recorded, found);
        [what, expected, found]
    }
}

/// The rows to record: every instruction, every class, and more than 20,000 records of each instruction. The digests
/// are zero.
pub(super) fn plan() -> String {
    let mut text = Batch::HEADER.to_owned() + "\n";
    for mma in SHAPES {
        for (class, _) in Class::ALL {
            for seed in 1..=SEEDS {
                text += &format!("{},{class},{seed},{PLANNED_RECORDS},{:016x}\n", mma.name, 0);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use emulator::Options;
    use emulator::tensor::NAN;

    /// D of 64 records, as bits.
    fn outputs(mma: Mma, class: Class) -> Vec<u32> {
        let experiment = mma.experiment(&records(mma, class, 1, 64));
        let observed = experiment.on_emulator(&Options::default());
        let output = observed.expect("an experiment").output;
        let words = output.chunks_exact(4);
        words
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect()
    }

    fn share(all: &[u32], is: impl Fn(f32) -> bool) -> f64 {
        let found = all.iter().filter(|bits| is(f32::from_bits(**bits)));
        found.count() as f64 / all.len() as f64
    }

    /// Each class produces the results that it is there for.
    #[test]
    fn classes_are_what_they_are_called() {
        for mma in SHAPES {
            let of = |class| outputs(mma, class);
            let bf16 = mma.factor == "bf16";
            for class in [Class::Normal, Class::Canceling, Class::Tiny, Class::Zero] {
                assert_eq!(share(&of(class), f32::is_finite), 1.0, "{class:?}");
            }
            let normal = share(&of(Class::Normal), |d| (0.01..64.0).contains(&d.abs()));
            assert!(normal > 0.95, "{normal}");
            let canceled = share(&of(Class::Canceling), |d| d.abs() < 0.1);
            assert!(canceled > 0.2, "{}: {canceled}", mma.name);
            let zero = share(&of(Class::Zero), |d| d.to_bits() == 0);
            assert!((0.1..0.99).contains(&zero), "{zero}");
            // The sum of nothing but zeros is +0, whatever their signs.
            let signed = of(Class::SignedZero);
            assert!(share(&signed, |d| d == 0.0) > 0.5);
            assert_eq!(share(&signed, |d| d.to_bits() == 1 << 31), 0.0);
            let infinite = share(&of(Class::Infinite), f32::is_infinite);
            let nan = share(&of(Class::Infinite), f32::is_nan);
            assert!(infinite > 0.1 && nan > 0.01, "{infinite} {nan}");
            let nan = of(Class::Nan);
            assert!((0.05..0.95).contains(&share(&nan, f32::is_nan)));
            assert!(
                nan.iter()
                    .all(|d| !f32::from_bits(*d).is_nan() || *d == NAN)
            );
            if bf16 {
                assert!(share(&of(Class::Tiny), f32::is_subnormal) > 0.1);
                let over = share(&of(Class::Overflowing), f32::is_infinite);
                assert!((0.1..0.99).contains(&over), "{over}");
            } else {
                assert!(share(&of(Class::Tiny), |d| d.abs() < 1e-6) > 0.9);
                assert!(share(&of(Class::Overflowing), |d| d.abs() > 1e37) > 0.9);
            }
        }
    }

    /// The records of a seed must never change: without them a recording is worthless.
    #[test]
    fn the_same_records_everywhere() {
        let found: Vec<String> = Class::ALL
            .iter()
            .map(|(_, class)| Digest::of(&records(SHAPES[2], *class, 7, 3)).to_string())
            .collect();
        assert_eq!(found.join(" "), PINNED);
        let bf16 = Digest::of(&records(SHAPES[3], Class::Wide, 7, 3)).to_string();
        assert_eq!(bf16, PINNED_BF16);
    }
    const PINNED: &str = "6e79c77f5bced931 454acda3901f98c8 037d83364409bcc2 ac4d2315ecb7bba1 \
        4819c5e0981257d6 140c0cc1dc7d262b 1a07b2407e667ffa 99646953d9ab5265 2fd38266f546da85 \
        360f2004abfa3e7b 9779d709aa8536df";
    const PINNED_BF16: &str = "7b0d99be5e993812";
}
