//! Arithmetic, bit for bit as an H100 does it. `h100/arithmetic.csv` holds, for each instruction, a digest
//! of its results on 1024 operands, as computed by an H100 80GB HBM3 (driver 580, PTX compiled by the
//! driver); the operands are the numbers that are hard to get right, and random bits.
use emulator::{Arg, Launch, Memory, Module, Options, Program, Simd, launch};

const COUNT: usize = 1024;

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

/// A kernel that does `$d = op($a, $b, $c, $e)` for each thread.
fn kernel(number: usize, text: &str, result: &str, kinds: &[&str]) -> String {
    let mut body = String::new();
    let mut instruction = text.replace("$d", "%d");
    for (i, (name, kind)) in ["a", "b", "c", "e"].into_iter().zip(kinds).enumerate() {
        let (at, width) = (8 * i, width(kind));
        body += &format!("\t.reg .b{width} %{name};\n\tld.global.u{width} %{name}, [%in+{at}];\n");
        instruction = instruction.replace(&format!("${name}"), &format!("%{name}"));
    }
    body += &match result {
        "p" => format!("\t.reg .pred %d;\n\t{instruction};\n\tselp.u64 %out64, 1, 0, %d;\n"),
        "64" => format!("\t.reg .b64 %d;\n\t{instruction};\n\tmov.b64 %out64, %d;\n"),
        _ => format!("\t.reg .b{result} %d;\n\t{instruction};\n\tcvt.u64.u{result} %out64, %d;\n"),
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

#[test]
fn every_instruction_as_on_an_h100() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("h100/arithmetic.csv")) {
        let ptx = HEAD.to_string() + &kernel(row.number, row.text, row.result, &row.kinds);
        let input = operands(row.number, &row.kinds);
        let output = results(row.number, &ptx, &input, Simd::Auto);
        assert_eq!(
            output,
            results(row.number, &ptx, &input, Simd::Scalar),
            "{}",
            row.text
        );
        if format!("{:016x}", digest(&output)) != row.digest {
            wrong.push(row.text);
        }
    }
    assert_eq!(wrong, [""; 0]);
}
