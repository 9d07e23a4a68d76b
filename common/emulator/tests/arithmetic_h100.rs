//! Arithmetic, bit for bit as an H100 does it. `h100/arithmetic.csv` holds, for each instruction, a digest
//! of its results on 1024 operands, as computed by an H100 80GB HBM3 (driver 580, PTX compiled by the
//! driver); the operands are the numbers that are hard to get right, and random bits.
use emulator::{Arg, Launch, Memory, Module, Options, Program, Simd, launch};

const COUNT: usize = 1024;
/// A thread takes part in a guarded instruction if its number times this has the top bit set.
const CHOOSE: u32 = 0x9e37_79b1;

/// SplitMix64.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// One operand of a kind: `32` for an integer, `f32` for a float, `f16x2` for a pair.
fn operand(kind: &str, state: &mut u64) -> u64 {
    let mut bits = || random(state);
    let pick = bits();
    match kind {
        "f16x2" | "bf16x2" => {
            let half = kind.trim_end_matches("x2");
            operand(half, state) | operand(half, state) << 16
        }
        _ if pick.is_multiple_of(3) => bits(),
        // Small integers, powers of two, and their neighbours.
        "16" | "32" | "64" => {
            let near =
                1u64.wrapping_shl(bits() as u32 % 65) & u64::from(pick & 8 != 0).wrapping_neg();
            near.wrapping_add(bits() % 5).wrapping_sub(2)
        }
        // An exponent that leads to ties, subnormals, infinities and NaN, and few bits of mantissa.
        float => {
            let (exponent_bits, mantissa_bits) = match float {
                "f16" => (5, 10),
                "bf16" => (8, 7),
                "f32" => (8, 23),
                _ => (11, 52),
            };
            let bias = (1u64 << (exponent_bits - 1)) - 1;
            let top = (1u64 << exponent_bits) - 1;
            let exponent = match pick >> 8 & 7 {
                0 => 0,
                1 => top,
                2 => top - 1,
                3 => 1,
                _ => (bias + bits() % 70).saturating_sub(30).min(top),
            };
            let mantissa = match pick >> 16 & 3 {
                0 => 0,
                1 => bits(),
                2 => 1 << (bits() % mantissa_bits) | 1 << (bits() % mantissa_bits),
                _ => (bits() & 3).wrapping_sub(2),
            } & ((1 << mantissa_bits) - 1);
            (pick >> 32 & 1) << (exponent_bits + mantissa_bits)
                | exponent << mantissa_bits
                | mantissa
        }
    }
}

/// `f16x2` lies in 32 bits, `bf16` in 16.
fn width(kind: &str) -> u32 {
    match kind {
        "f16x2" | "bf16x2" => 32,
        "bf16" => 16,
        kind => kind.trim_start_matches('f').parse().expect("a width"),
    }
}

/// Four operands for each of `COUNT` threads; those that the instruction lacks are zero.
fn operands(number: usize, kinds: &[&str]) -> Vec<u8> {
    let mut state = number as u64;
    let mut bytes = Vec::new();
    for _ in 0..COUNT {
        for i in 0..4 {
            let value = kinds.get(i).map_or(0, |kind| operand(kind, &mut state));
            bytes.extend(value.to_le_bytes());
        }
    }
    bytes
}

/// A kernel that does `$d = op($a, $b, $c, $e)` for each thread, or for those that `guard` chooses: the
/// others keep a zero.
fn kernel(number: usize, text: &str, result: &str, kinds: &[&str], guard: bool) -> String {
    let mut body = String::new();
    let mut instruction = text.replace("$d", "%d");
    for (i, (name, kind)) in ["a", "b", "c", "e"].into_iter().zip(kinds).enumerate() {
        let (at, width) = (8 * i, width(kind));
        body += &format!("\t.reg .b{width} %{name};\n\tld.global.u{width} %{name}, [%in+{at}];\n");
        instruction = instruction.replace(&format!("${name}"), &format!("%{name}"));
    }
    let mut zero = String::new();
    if guard {
        body += &format!(
            "\t.reg .pred %g;\n\tmul.lo.u32 %t0, %t3, {CHOOSE};\n\tsetp.lt.s32 %g, %t0, 0;\n"
        );
        instruction = format!("@%g {instruction}");
        zero = match result {
            "p" => "setp.ne.u32 %d, 0, 0;".into(),
            bits => format!("mov.b{bits} %d, 0;"),
        };
    }
    body += &match result {
        "p" => {
            format!("\t.reg .pred %d;\n\t{zero}\n\t{instruction};\n\tselp.u64 %out64, 1, 0, %d;\n")
        }
        "64" => format!("\t.reg .b64 %d;\n\t{zero}\n\t{instruction};\n\tmov.b64 %out64, %d;\n"),
        _ => format!(
            "\t.reg .b{result} %d;\n\t{zero}\n\t{instruction};\n\tcvt.u64.u{result} %out64, %d;\n"
        ),
    };
    format!(
        ".visible .entry k{number}(.param .u64 in, .param .u64 out)\n{{
\t.reg .b32 %t<4>;
\t.reg .b64 %in, %out, %at, %out64;
\tmov.u32 %t0, %ctaid.x;
\tmov.u32 %t1, %ntid.x;
\tmov.u32 %t2, %tid.x;
\tmad.lo.u32 %t3, %t0, %t1, %t2;
\tld.param.u64 %in, [in];
\tld.param.u64 %out, [out];
\tmul.wide.u32 %at, %t3, 32;
\tadd.u64 %in, %in, %at;
\tmul.wide.u32 %at, %t3, 8;
\tadd.u64 %out, %out, %at;
{body}\tst.global.u64 [%out], %out64;
\tret;
}}\n"
    )
}

const HEAD: &str = ".version 8.0\n.target sm_90\n.address_size 64\n";

fn results(number: usize, ptx: &str, input: &[u8], simd: Simd) -> Vec<u8> {
    let module = Module::parse(ptx).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let name = format!("k{number}");
    let program = Program::new(&module, &name).unwrap_or_else(|error| panic!("{error}\n{ptx}"));
    let mut memory = Memory::new(1 << 20);
    let a = memory.alloc("in", input.to_vec()).expect("room");
    let d = memory.alloc("out", vec![0; 8 * COUNT]).expect("room");
    let shape = Launch {
        grid: [COUNT as u32 / 256, 1, 1],
        block: [256, 1, 1],
        dynamic_shared: 0,
        cluster: [1; 3],
        args: vec![Arg::U64(a), Arg::U64(d)],
    };
    let options = Options {
        simd,
        ..Options::default()
    };
    let run = launch(&program, &mut memory, &shape, &options).expect("a launch");
    assert_eq!(run.findings, []);
    memory.bytes(d).expect("there").to_vec()
}

/// FNV-1a.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

struct Row<'a> {
    number: usize,
    text: &'a str,
    result: &'a str,
    kinds: Vec<&'a str>,
    digest: &'a str,
}

fn rows(csv: &str) -> impl Iterator<Item = Row<'_>> {
    let lines = csv.lines().skip(1).enumerate();
    lines.map(|(number, line)| {
        let mut fields = line.split(';');
        let mut next = || fields.next().expect("a field");
        let (text, (result, kinds)) = (next(), next().split_once('=').expect("a signature"));
        Row {
            number,
            text,
            result,
            kinds: kinds.split(' ').collect(),
            digest: next(),
        }
    })
}

fn check(guard: bool) {
    let mut wrong = Vec::new();
    for row in rows(include_str!("h100/arithmetic.csv")) {
        let ptx =
            |guard| HEAD.to_string() + &kernel(row.number, row.text, row.result, &row.kinds, guard);
        let input = operands(row.number, &row.kinds);
        let plain = results(row.number, &ptx(false), &input, Simd::Auto);
        if guard {
            let some = results(row.number, &ptx(true), &input, Simd::Auto);
            let pairs = plain.chunks(8).zip(some.chunks(8)).enumerate();
            for (thread, (plain, some)) in pairs {
                let chosen = (thread as u32).wrapping_mul(CHOOSE) >> 31 == 1;
                let expected = if chosen { plain } else { &[0; 8] };
                assert_eq!(some, expected, "{} in thread {thread}", row.text);
            }
            continue;
        }
        let scalar = results(row.number, &ptx(false), &input, Simd::Scalar);
        assert!(plain == scalar, "{} depends on the CPU", row.text);
        if format!("{:016x}", digest(&plain)) != row.digest {
            wrong.push(row.text);
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn every_instruction_as_on_an_h100() {
    check(false);
}

#[test]
fn guarded_instructions_leave_the_other_lanes_alone() {
    check(true);
}

#[test]
fn every_f16_as_f32() {
    let text = "cvt.f32.f16 $d, $a";
    for first in (0..=u16::MAX).step_by(COUNT) {
        let input: Vec<u8> = (first..=first + (COUNT as u16 - 1))
            .flat_map(|bits| [u64::from(bits), 0, 0, 0])
            .flat_map(u64::to_le_bytes)
            .collect();
        let ptx = HEAD.to_string() + &kernel(0, text, "32", &["f16"], false);
        let output = results(0, &ptx, &input, Simd::Auto);
        for (i, raw) in output.chunks(8).enumerate() {
            let bits = first + i as u16;
            let sign = if bits & 0x8000 == 0 { 1.0f32 } else { -1.0 };
            let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f32::from(bits & 1023));
            let expected = match exponent {
                31 if mantissa > 0.0 => 0x7fff_ffff,
                31 => (sign * f32::INFINITY).to_bits(),
                0 => (sign * mantissa * 2f32.powi(-24)).to_bits(),
                _ => (sign * (1024.0 + mantissa) * 2f32.powi(exponent - 25)).to_bits(),
            };
            assert_eq!(raw[..4], expected.to_le_bytes(), "{bits:#06x}");
        }
    }
}
