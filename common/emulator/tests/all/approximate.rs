//! Approximate instructions as a kernel executes them: special values, guards, pairs, operands of every width.
//! `calibration` tests that all results equal the hardware's.
use crate::common;
use common::{body, lower, module, threads};
use emulator::{InstructionKind, Number, approximate};

const NAN: u32 = 0x7fff_ffff;

/// The results of an instruction for these f32, one in each thread.
fn results(opcode: &str, operands: &[f32]) -> Vec<f32> {
    let mut text = String::from("mov.b32 %f1, 0;\n");
    for (thread, x) in operands.iter().enumerate() {
        text += &format!(
            "setp.eq.u32 %p0, %tid, {thread};\n@%p0 mov.b32 %f1, {};\n",
            x.to_bits()
        );
    }
    text += &format!("{opcode} %f0, %f1;\nst.global.f32 [%at], %f0;");
    let words = body(&threads(32), &text).clean();
    let words = words[..operands.len()].iter();
    words.map(|&word| f32::from_bits(word)).collect()
}

fn is(opcode: &str, operands: &[f32], expected: &[f32]) {
    let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let found = results(opcode, operands);
    assert_eq!(bits(&found), bits(expected), "{opcode} {found:?}");
}

#[test]
fn special_values() {
    let inf = f32::INFINITY;
    let nan = f32::from_bits(NAN);
    let tiny = f32::from_bits(1);
    let signaling = f32::from_bits(0xff80_0001);
    is(
        "rcp.approx.ftz.f32",
        &[0.0, -0.0, tiny, -tiny, inf, -inf, signaling, 0.5],
        &[inf, -inf, inf, -inf, 0.0, -0.0, nan, 2.0],
    );
    // 2^-127 is subnormal.
    let large = [2f32.powi(127), -2f32.powi(127)];
    is("rcp.approx.ftz.f32", &large, &[0.0, -0.0]);
    is(
        "rcp.approx.f32",
        &large,
        &[2f32.powi(-127), -2f32.powi(-127)],
    );
    is(
        "rcp.approx.f32",
        &[2f32.powi(-127), tiny],
        &[2f32.powi(127), inf],
    );
    is(
        "rsqrt.approx.ftz.f32",
        &[0.0, -0.0, tiny, -1.0, inf, 4.0, nan],
        &[inf, -inf, inf, nan, 0.0, 0.5, nan],
    );
    is(
        "rsqrt.approx.f32",
        &[2f32.powi(-148), -tiny],
        &[2f32.powi(74), nan],
    );
    is(
        "sqrt.approx.ftz.f32",
        &[0.0, -0.0, tiny, -tiny, -1.0, inf, 4.0],
        &[0.0, -0.0, 0.0, -0.0, nan, inf, 2.0],
    );
    is(
        "sqrt.approx.f32",
        &[2f32.powi(-148), -tiny, -0.0],
        &[2f32.powi(-74), nan, -0.0],
    );
    is(
        "lg2.approx.ftz.f32",
        &[0.0, -0.0, -tiny, -1.0, inf, 1.0, 8.0],
        &[-inf, -inf, -inf, nan, inf, 0.0, 3.0],
    );
    is("lg2.approx.f32", &[0.0, 1.0, -tiny], &[-inf, 0.0, nan]);
    is(
        "ex2.approx.ftz.f32",
        &[0.0, -0.0, -1.0, 128.0, -126.0, -127.0, inf, -inf, nan],
        &[1.0, 1.0, 0.5, inf, 2f32.powi(-126), 0.0, inf, 0.0, nan],
    );
    // The square of 2^-63.5, truncated.
    is(
        "ex2.approx.f32",
        &[-127.0, -149.0, -151.0, 127.0],
        &[f32::from_bits(0x3f_ffff), tiny, 0.0, 2f32.powi(127)],
    );
    is(
        "sin.approx.f32",
        &[0.0, -0.0, tiny, inf, -inf],
        &[0.0, -0.0, 0.0, nan, nan],
    );
    is(
        "cos.approx.f32",
        &[0.0, -0.0, tiny, inf, nan],
        &[1.0, 1.0, 1.0, nan, nan],
    );
    is(
        "tanh.approx.f32",
        &[0.0, -0.0, tiny, -0.001, 8.0, -inf, nan],
        &[0.0, -0.0, tiny, -0.001, 1.0, -1.0, nan],
    );
}

/// Results of an H200 that differ from the correctly rounded ones.
#[test]
fn results_that_are_not_the_nearest() {
    is("lg2.approx.ftz.f32", &[0.5], &[-0.999_999_9]);
    is(
        "lg2.approx.ftz.f32",
        &[1f32.next_up()],
        &[f32::from_bits(0x3495_f600)],
    );
    is(
        "rcp.approx.ftz.f32",
        &[1f32.next_up()],
        &[f32::from_bits(0x3f7f_fffe)],
    );
    is(
        "tanh.approx.f32",
        &[0.5, 1.0],
        &[f32::from_bits(0x3eec_9a50), f32::from_bits(0x3f42_f848)],
    );
}

#[test]
fn pairs_are_two_halves() {
    for (pair, half) in [
        ("ex2.approx.f16x2", "ex2.approx.f16"),
        ("tanh.approx.bf16x2", "tanh.approx.bf16"),
    ] {
        let text = format!(
            "mul.lo.u32 %r0, %tid, 0x07770531;\n{pair} %r1, %r0;\nmov.b32 {{%h0, %h1}}, %r0;\n\
             {half} %h2, %h0;\n{half} %h3, %h1;\nmov.b32 %r2, {{%h2, %h3}};\nsub.u32 %r3, %r1, %r2;\nst.global.u32 [%at], %r3;"
        );
        assert_eq!(
            body(&threads(256), &text).clean()[..256],
            [0; 256],
            "{pair}"
        );
    }
}

#[test]
fn a_guard_leaves_the_others_alone() {
    let text = "setp.lt.u32 %p0, %tid, 5;\nmov.f32 %f0, 0f40000000;\n@%p0 ex2.approx.ftz.f32 %f0, %f0;\nst.global.f32 [%at], %f0;";
    let words = body(&threads(32), text).clean();
    for (thread, word) in words[..32].iter().enumerate() {
        let expected: f32 = if thread < 5 { 4.0 } else { 2.0 };
        assert_eq!(*word, expected.to_bits(), "thread {thread}");
    }
}

#[test]
fn a_division_reads_both_operands() {
    for opcode in [
        "div.approx.f32",
        "div.approx.ftz.f32",
        "div.full.f32",
        "div.full.ftz.f32",
    ] {
        let text = format!(
            "mov.f32 %f1, 0f40C00000;\nmov.f32 %f2, 0f40000000;\n{opcode} %f0, %f1, %f2;\nst.global.f32 [%at], %f0;"
        );
        assert_eq!(
            body(&threads(1), &text).clean()[0],
            3f32.to_bits(),
            "{opcode}"
        );
    }
    // PTX ISA, "div": beyond 2^126 `.approx` gives 0, `.full` scales.
    let quotient = |opcode: &str| {
        let text = format!(
            "mov.f32 %f1, 0f7F000000;\nmov.f32 %f2, 0f7F000000;\n{opcode} %f0, %f1, %f2;\nst.global.f32 [%at], %f0;"
        );
        f32::from_bits(body(&threads(1), &text).clean()[0])
    };
    assert_eq!(quotient("div.approx.ftz.f32"), 0.0);
    assert_eq!(quotient("div.full.ftz.f32"), 1.0);
    assert_eq!(quotient("div.full.f32"), 1.0);
}

#[test]
fn doubles() {
    let quotient = |opcode: &str, x: f64| {
        let text = format!(
            "mov.b64 %d1, 0x{:x};\n{opcode} %d0, %d1;\nst.global.b64 [%out], %d0;",
            x.to_bits()
        );
        let words = body(&threads(1), &text).clean();
        f64::from_bits(u64::from(words[1]) << 32 | u64::from(words[0]))
    };
    assert_eq!(quotient("rcp.approx.ftz.f64", 4.0), 0.25);
    assert_eq!(quotient("rsqrt.approx.ftz.f64", 4.0), 0.5);
    assert_eq!(quotient("rsqrt.approx.f64", 4.0), 0.5);
    assert_eq!(
        quotient("rsqrt.approx.f64", f64::from_bits(1)),
        2f64.powi(537)
    );
    assert_eq!(
        quotient("rcp.approx.ftz.f64", f64::from_bits(1)),
        f64::INFINITY
    );
    // 20 bits of mantissa, and many more after a step of refinement.
    let third = quotient("rcp.approx.ftz.f64", 3.0);
    assert_eq!(third.to_bits() & 0xffff_ffff, 0);
    assert!((third * 3.0 - 1.0).abs() < 2f64.powi(-20), "{third}");
    let root = quotient("rsqrt.approx.f64", 2.0);
    assert!((root * root * 2.0 - 1.0).abs() < 2f64.powi(-51), "{root}");
}

#[test]
fn every_opcode_is_lowered_to_the_same_function() {
    for opcode in approximate::opcodes() {
        let register = match opcode {
            _ if opcode.ends_with("f32") => "%f",
            _ if opcode.ends_with("f64") => "%d",
            _ if opcode.ends_with("x2") => "%r",
            _ => "%h",
        };
        let second = if opcode.starts_with("div") {
            format!(", {register}2")
        } else {
            String::new()
        };
        let function = lower(&module(
            "",
            &format!("{opcode} {register}0, {register}1{second};"),
        ));
        let function = function.unwrap_or_else(|error| panic!("{error}"));
        let kinds = function
            .instructions()
            .iter()
            .map(|instruction| &instruction.kind);
        let mufu = if opcode.ends_with("x2") { 2 } else { 1 };
        let number = match register {
            "%f" => Number::F32,
            "%d" => Number::F64,
            _ => Number::Half,
        };
        assert!(
            kinds
                .into_iter()
                .any(|kind| *kind == InstructionKind::Approximate { number, mufu }),
            "{opcode}"
        );
        assert!(approximate::function(opcode).is_some());
    }
    assert!(approximate::function("ex2.approx.f64").is_none());
}

/// Operands of an instruction of this name: special values, and some from the whole range.
fn operands(opcode: &str) -> Vec<u64> {
    let specials = [0, 1, 0x3f80_0000, 0x7f80_0000, 0x7f80_0001, 0x7f7f_ffff];
    let mut bits: Vec<u64> = specials
        .iter()
        .flat_map(|&word: &u64| [word, word | 1 << 31, word << 32, word << 16])
        .collect();
    let mut word = 1u64;
    for _ in 0..20_000 {
        word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        bits.push(word ^ word >> 29);
    }
    if !opcode.ends_with("f64") {
        bits.iter_mut().for_each(|bits| *bits &= 0xffff_ffff);
    }
    bits
}

#[test]
fn a_trace_has_the_result_and_the_sum_of_what_it_shows() {
    for opcode in approximate::opcodes() {
        let function = approximate::function(opcode).expect("an opcode");
        let (mut mufus, mut sums) = (0, 0);
        let all = operands(opcode);
        for (&x, &y) in all.iter().zip(all.iter().rev()) {
            let (bits, trace) = approximate::trace(opcode, [x, y, 0]).expect("an opcode");
            assert_eq!(bits, function([x, y, 0]), "{opcode} {x:#x} {y:#x}");
            mufus += trace
                .steps
                .iter()
                .filter(|step| step.operand.is_some())
                .count();
            for sum in trace.steps.iter().filter_map(|step| step.interpolation) {
                let [c0, c1, c2] = sum.coefficients.map(i64::from);
                let terms = (c0 << 14) + c1 * i64::from(sum.argument) + c2 * i64::from(sum.square);
                assert_eq!(sum.sum as i64, terms + sum.constant, "{opcode} {x:#x}");
                assert!(sum.segment < sum.segments && sum.argument >> sum.argument_bits == 0);
                // The partial products below 2^17 sum to little more than 8 times that if all bits are set.
                let exact = f64::from(sum.argument >> (sum.argument_bits - 16)).powi(2)
                    / f64::from(1 << 17);
                assert!(
                    (0.0..8.001).contains(&(exact - f64::from(sum.square))),
                    "{opcode} {sum:?}"
                );
                sums += 1;
            }
            if let Some(last) = trace.steps.last()
                && !opcode.ends_with("x2")
                && !opcode.ends_with("f64")
            {
                assert_eq!(last.result.bits, bits, "{opcode} {x:#x}");
            }
        }
        assert!(mufus > 5_000 && sums > 500, "{opcode} {mufus} {sums}");
    }
    assert!(approximate::trace("ex2.approx.f64", [0; 3]).is_none());
}
