//! `cargo ladder round`: one output of a tensor core, from its products to its bits, and the results of other
//! summation orders.
use std::fmt::Write;
use std::io;

use anyhow::{Context, Result, ensure};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use emulator::Card;
use emulator::tensor::{self, Factor, Steps};

/// The products and options.
#[derive(clap::Args)]
#[command(
    after_help = "A product is `A * B`, or `8 x A * B` for eight of them. A number is decimal, a power of two such as \
    2^-13 or -2^3, or bits such as 0x3c00. Factors are rounded to the format's nearest.\n\
    Options come before the products, which may begin with a minus sign.\n\
    For example: round '8 x 2^-13 * 2^-13' '1 * 1' | round --addend 2^-25 '1 * 1' | round --emulate a100 '1.5 * 1.5'"
)]
pub struct Arguments {
    /// The products, in the order of k
    #[arg(required = true, value_name = "A * B", allow_hyphen_values = true)]
    products: Vec<String>,
    /// The addend
    #[arg(long, default_value = "0", allow_hyphen_values = true)]
    addend: String,
    /// The depth K of the instruction: as in m16n8k8 or m16n8k16
    #[arg(long, default_value = "16", value_parser = PossibleValuesParser::new(["8", "16"]).map(|k| if k == "8" { 8usize } else { 16 }))]
    k: usize,
    /// The factors are bf16, not f16
    #[arg(long)]
    bf16: bool,
    /// The card whose tensor cores compute: h100, or a100, which follows the literature and is not calibrated here
    #[arg(long, default_value_t = Card::H100, value_parser = card)]
    emulate: Card,
}

/// A card by its name.
fn card(text: &str) -> Result<Card, String> {
    let names = || Card::ALL.map(Card::name).join(" or ");
    text.parse().map_err(|_| format!("there is {}", names()))
}

/// Products of one output, in the order of k.
struct Problem {
    card: Card,
    factor: Factor,
    products: Vec<(u16, u16)>,
    addend: u32,
}

/// Prints the sum, step by step.
///
/// # Errors
/// If the arguments are not valid products.
pub fn run(arguments: &Arguments, out: &mut dyn io::Write) -> Result<bool> {
    let factor = match arguments.bf16 {
        true => Factor::Bf16,
        false => Factor::F16,
    };
    let mut products = Vec::new();
    for text in &arguments.products {
        products.extend(product(factor, text).with_context(|| format!("`{text}`"))?);
    }
    let k = arguments.k;
    ensure!(
        products.len() <= k,
        "{} products, but m16n8k{k} has {k}{}",
        products.len(),
        if k == 8 { "; without --k 8, 16" } else { "" }
    );
    products.resize(k, (0, 0));
    let problem = Problem {
        card: arguments.emulate,
        factor,
        products,
        addend: addend(&arguments.addend).with_context(|| format!("`{}`", arguments.addend))?,
    };
    harness::print(out, &problem.text())?;
    Ok(true)
}

/// `8 x A * B`.
fn product(factor: Factor, text: &str) -> Result<Vec<(u16, u16)>> {
    ensure!(
        !text.starts_with("--"),
        "an option comes before the products: round --addend 2^-25 '1 * 1'"
    );
    // `0x` is the prefix of a factor's bits.
    let is_count =
        |text: &str| !["", "0"].contains(&text) && text.bytes().all(|b| b.is_ascii_digit());
    let (times, rest) = match text.split_once('x') {
        // A number that is too large to parse is too large for an instruction.
        Some((times, rest)) if is_count(times.trim()) => {
            (times.trim().parse().unwrap_or(usize::MAX), rest)
        }
        _ => (1, text),
    };
    ensure!(
        (1..=16).contains(&times),
        "one instruction has 16 products at most"
    );
    let (a, b) = rest.split_once('*').context("a product is `A * B`")?;
    Ok(vec![(bits(factor, a)?, bits(factor, b)?); times])
}

/// A factor's bits.
fn bits(factor: Factor, text: &str) -> Result<u16> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16).context("a factor has 16 bits"),
        None => Ok(factor.nearest(number(text)?)),
    }
}

fn addend(text: &str) -> Result<u32> {
    match text.trim().strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).context("the addend has 32 bits"),
        None => Ok((number(text)? as f32).to_bits()),
    }
}

/// `1.5`, `-2^-13`.
fn number(text: &str) -> Result<f64> {
    let text = text.trim();
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1.0, magnitude),
        None => (1.0, text),
    };
    if let Some(power) = magnitude.strip_prefix("2^") {
        let power: i32 = power.parse().context("write a power of two as 2^-13")?;
        return Ok(sign * 2f64.powi(power));
    }
    let no_number = || format!("`{text}` is not a number: write 1.5, 2^-13 or 0x3c00");
    emulator::parse_f64(text).with_context(no_number)
}

impl Problem {
    fn text(&self) -> String {
        let k = self.products.len();
        let format = match self.factor {
            Factor::F16 => "f16",
            Factor::Bf16 => "bf16",
        };
        let card = self.card.name().to_uppercase();
        let evidence = match self.card {
            Card::H100 => String::new(),
            card => format!(", {}", card.evidence()),
        };
        let mut text = format!(
            "One output of m16n8k{k}, {format} factors, as an {card} computes it{evidence}\n"
        );
        match tensor::steps(self.card, self.factor, &self.products, self.addend) {
            None => text += "  there is a NaN or an infinity: no sum is computed\n",
            Some(sums) => {
                let mut at = 0;
                for (index, sum) in sums.iter().enumerate() {
                    self.sum(&mut text, sum, at, (sums.len() > 1).then_some(index));
                    at += sum.cut.len() - 1;
                }
            }
        }
        text.push('\n');
        for (name, bits) in self.orders() {
            let _ = writeln!(text, "  {name:<30}{bits:#010x}   {}", f32::from_bits(bits));
        }
        text
    }

    /// One sum: the products starting at `from`, and the addend.
    fn sum(&self, text: &mut String, sum: &Steps, from: usize, index: Option<usize>) {
        let unit = sum.unit;
        if let Some(index) = index {
            let _ = writeln!(text, "\n  sum {} of 2", index + 1);
        }
        let _ = writeln!(
            text,
            "\n  {:<29}{:>16}   {:>18}   lost",
            "term",
            "exponent",
            format!("in units of 2^{unit}")
        );
        let last = sum.cut.len() - 1;
        let mut at = 0;
        for same in self.products[from..from + last].chunk_by(|a, b| a == b) {
            let (a, b) = same[0];
            if (a, b) != (0, 0) {
                let value = |bits| shown(f64::from(self.factor.to_f32(bits)));
                let times = match same.len() {
                    1 => String::new(),
                    times => format!("{times} x "),
                };
                let name = format!("{times}{} * {}", value(a), value(b));
                row(text, &name, sum, at);
            }
            at += same.len();
        }
        let before = match index {
            Some(index) if index > 0 => "the sum before",
            _ => "addend",
        };
        row(text, before, sum, last);
        let _ = writeln!(
            text,
            "\n  largest exponent           E = {}, so all are cut to multiples of 2^(E-{}) = 2^{unit}",
            sum.e,
            sum.e - unit
        );
        let _ = writeln!(
            text,
            "  their sum, exactly         {} x 2^{unit} = {}",
            sum.sum,
            sum.sum as f64 * 2f64.powi(unit)
        );
        let _ = writeln!(
            text,
            "  toward zero, as f32        {:#010x}   {}",
            sum.bits,
            f32::from_bits(sum.bits)
        );
    }

    /// The same products, added in other orders.
    fn orders(&self) -> Vec<(String, u32)> {
        let k = self.products.len();
        let at_once = self.instruction(&self.products, self.addend);
        let mut orders = vec![(format!("one k{k}"), at_once)];
        if k == 16 {
            let (first, second) = self.products.split_at(8);
            let between = self.instruction(first, self.addend);
            let bits = self.instruction(second, between);
            orders.push(("two k8, one after the other".into(), bits));
        }
        let value = |bits| self.factor.to_f32(bits);
        let fma = |sum: f32, &(a, b): &(u16, u16)| value(a).mul_add(value(b), sum);
        let one_by_one = self.products.iter().fold(f32::from_bits(self.addend), fma);
        orders.push(("f32, fmaf by fmaf".into(), cpu_bits(one_by_one)));
        let value = |bits| f64::from(value(bits));
        let fma = |sum: f64, &(a, b): &(u16, u16)| value(a).mul_add(value(b), sum);
        let addend = f64::from(f32::from_bits(self.addend));
        let in_f64 = self.products.iter().fold(addend, fma) as f32;
        orders.push(("f64, then to the nearest f32".into(), cpu_bits(in_f64)));
        orders
    }

    /// The result of one instruction.
    fn instruction(&self, products: &[(u16, u16)], addend: u32) -> u32 {
        match products.len() {
            8 => self.matrix::<8, { tensor::M * 8 }, { 8 * tensor::N }>(products, addend),
            _ => self.matrix::<16, { tensor::M * 16 }, { 16 * tensor::N }>(products, addend),
        }
    }

    /// Row 0 of A times column 0 of B; all other elements are zero. `MK` and `KN` are the sizes of A and B.
    fn matrix<const K: usize, const MK: usize, const KN: usize>(
        &self,
        products: &[(u16, u16)],
        addend: u32,
    ) -> u32 {
        let (mut a, mut b, mut c) = ([0; MK], [0; KN], [0; tensor::M * tensor::N]);
        for (k, &product) in products.iter().enumerate() {
            (a[k], b[k * tensor::N]) = product;
        }
        c[0] = addend;
        tensor::mma::<K, MK, KN>(self.card, self.factor, &a, &b, &c)[0]
    }
}

/// The bits of a sum computed by the CPU; CPUs differ in the bits of NaN.
fn cpu_bits(value: f32) -> u32 {
    let value = if value.is_nan() { f32::NAN } else { value };
    value.to_bits()
}

/// One term, or several equal ones.
fn row(text: &mut String, name: &str, sum: &Steps, at: usize) {
    let (term, cut) = (sum.terms[at], sum.cut[at]);
    if term.significand == 0 {
        let _ = writeln!(text, "  {name:<29}{:>16}   {:>18}", "", 0);
        return;
    }
    // The part of the term that truncation drops.
    let whole = term.significand as f64 * 2f64.powi(term.exponent - term.fraction_bits);
    let lost = whole - cut as f64 * 2f64.powi(sum.unit);
    let lost = match lost {
        0.0 => String::new(),
        lost => shown(lost),
    };
    let _ = writeln!(
        text,
        "  {name:<29}{:>16}   {cut:>18}   {lost}",
        term.exponent
    );
}

/// As a power of two if it is one and not an integer, otherwise in full.
fn shown(value: f64) -> String {
    let bits = value.abs().to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32 - 1023, bits & ((1 << 52) - 1));
    if fraction == 0 && (-1022..0).contains(&exponent) {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}2^{exponent}");
    }
    if value != 0.0 && value.abs() < 1e-4 {
        return format!("{value:e}");
    }
    format!("{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(products: &[&str], card: Card) -> Problem {
        let products = products
            .iter()
            .flat_map(|text| product(Factor::F16, text).expect("a product"));
        let mut products: Vec<(u16, u16)> = products.collect();
        products.resize(16, (0, 0));
        Problem {
            card,
            factor: Factor::F16,
            products,
            addend: 0,
        }
    }

    #[test]
    fn one_k16_drops_what_two_k8_keep() {
        let text = problem(&["8 x 2^-13 * 2^-13", "1 * 1"], Card::H100).text();
        insta::assert_snapshot!(text);
        let a100 = problem(&["8 x 2^-13 * 2^-13", "1 * 1"], Card::A100).orders();
        assert_eq!(a100[0].1, a100[1].1);
    }

    #[test]
    fn numbers_are_parsed_or_refused() {
        let bits = |text| product(Factor::F16, text).map_err(|error| format!("{error:#}"));
        assert_eq!(bits("1.5 * -2^-3"), Ok(vec![(0x3e00, 0xb000)]));
        assert_eq!(bits("2x0x3c00*0x0001"), Ok(vec![(0x3c00, 1); 2]));
        assert_eq!(bits("0x3c00 * 1"), Ok(vec![(0x3c00, 0x3c00)]));
        for (text, why) in [
            ("1", "A * B"),
            ("one * 1", "is not a number"),
            ("2^x * 1", "power of two"),
            ("0x12345 * 1", "16 bits"),
            ("17 x 1 * 1", "16 products"),
            ("99999999999999999999 x 1 * 1", "16 products"),
            ("--addend", "before the products"),
        ] {
            assert!(bits(text).is_err_and(|error| error.contains(why)), "{text}");
        }
        assert_eq!(addend("0x80000001").expect("bits"), 0x8000_0001);
        assert_eq!(addend("-2^-1").expect("a number"), (-0.5f32).to_bits());
    }

    #[test]
    fn infinities_are_not_summed() {
        let text = problem(&["inf * 1"], Card::H100).text();
        assert!(text.contains("no sum is computed"), "{text}");
        assert!(text.contains("0x7f800000"), "{text}");
    }
}
