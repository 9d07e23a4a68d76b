//! Rarer modes of arithmetic, by the PTX ISA: `.ftz`, pairs of 16 bits, saturation, results in two registers.
//! `calibration` compares them with hardware.
use crate::common::{body, threads};

/// The value of `%r0` in the first thread after these lines.
fn result(text: &str) -> u32 {
    let text = format!("{text} st.global.u32 [%at], %r0;");
    body(&threads(1), &text.replace('\n', " ")).clean()[0]
}

/// A predicate as a number, in `%r0`.
fn flag(text: &str, p: &str) -> u32 {
    result(&format!("{text} selp.u32 %r0, 1, 0, {p};"))
}

#[test]
fn subnormal_operands_are_zeros_with_ftz() {
    // 2^-149 and 0.
    let operands = "mov.b32 %f0, 1; mov.b32 %f1, 0;";
    for (opcode, expected) in [
        ("setp.eq.f32", 0),
        ("setp.eq.ftz.f32", 1),
        ("setp.gt.ftz.f32", 0),
        ("setp.neu.ftz.f32", 0),
    ] {
        let text = format!("{operands} {opcode} %p0, %f0, %f1;");
        assert_eq!(flag(&text, "%p0"), expected, "{opcode}");
    }
    for (opcode, expected) in [
        ("abs.f32", 1),
        ("abs.ftz.f32", 0),
        ("neg.ftz.f32", 0x8000_0000),
    ] {
        let text = format!("{operands} {opcode} %f2, %f0; mov.b32 %r0, %f2;");
        assert_eq!(result(&text), expected, "{opcode}");
    }
    for (opcode, expected) in [("max.f32", 1), ("max.ftz.f32", 0), ("min.ftz.f32", 0)] {
        let text = format!("{operands} {opcode} %f2, %f0, %f1; mov.b32 %r0, %f2;");
        assert_eq!(result(&text), expected, "{opcode}");
    }
    // Half the smallest normal number, and 2^-14 x 2^-1 in f16.
    let product = "mov.b32 %f0, 0x00800000; mov.b32 %f1, 0x3f000000; mul.rz.ftz.f32 %f2, %f0, %f1; mov.b32 %r0, %f2;";
    assert_eq!(result(product), 0);
    let halves =
        "mov.b32 %r1, 0x04000400; mov.b32 %r2, 0xb8003800; mul.rn.ftz.f16x2 %r0, %r1, %r2;";
    assert_eq!(result(halves), 0x8000_0000);
    // A conversion flushes what it reads: 2^-149 rounded up.
    let up = "mov.b32 %f0, 1; cvt.rpi.ftz.s32.f32 %r0, %f0;";
    assert_eq!((result(up), result(&up.replace(".ftz", ""))), (0, 1));
}

#[test]
fn signs_are_combined_by_xorsign() {
    let of = |opcode: &str, a: f32, b: f32| {
        let [a, b] = [a, b].map(f32::to_bits);
        f32::from_bits(result(&format!(
            "mov.b32 %f0, {a}; mov.b32 %f1, {b}; {opcode} %f2, %f0, %f1; mov.b32 %r0, %f2;"
        )))
    };
    assert_eq!(of("min.xorsign.abs.f32", -3.0, 2.0), -2.0);
    assert_eq!(of("max.xorsign.abs.f32", -3.0, -2.0), 3.0);
    assert_eq!(of("max.NaN.xorsign.abs.f32", -3.0, 4.0), -4.0);
    assert!(of("max.NaN.xorsign.abs.f32", f32::NAN, 4.0).is_nan());
    assert_eq!(of("max.xorsign.abs.f32", f32::NAN, 4.0), 4.0);
}

#[test]
fn pairs_of_16_bits() {
    let of = |opcode: &str, a: u32, b: u32| {
        result(&format!(
            "mov.b32 %r1, {a}; mov.b32 %r2, {b}; {opcode} %r0, %r1, %r2;"
        ))
    };
    assert_eq!(of("add.u16x2", 0x0001_ffff, 0x0002_0003), 0x0003_0002);
    assert_eq!(of("min.s16x2", 0xffff_0005, 0x0001_8000), 0xffff_8000);
    assert_eq!(of("min.u16x2", 0xffff_0005, 0x0001_8000), 0x0001_0005);
    assert_eq!(of("max.u16x2", 0xffff_0005, 0x0001_8000), 0xffff_8000);
    assert_eq!(of("max.relu.s16x2", 0xffff_fff0, 0xfffe_0007), 0x0000_0007);
    assert_eq!(of("min.relu.s32", -5i32 as u32, 3), 0);
    assert_eq!(of("max.relu.s32", -5i32 as u32, 3), 3);
}

#[test]
fn numbers_are_packed_and_held() {
    let of = |opcode: &str, a: i32, b: i32, c: &str| {
        result(&format!(
            "mov.b32 %r1, {a}; mov.b32 %r2, {b}; mov.b32 %r3, 0x12345678; {opcode} %r0, %r1, %r2{c};"
        ))
    };
    assert_eq!(
        of("cvt.pack.sat.s8.s32.b32", 1000, -1000, ", %r3"),
        0x5678_7f80
    );
    assert_eq!(
        of("cvt.pack.sat.u4.s32.b32", 1000, -1000, ", %r3"),
        0x3456_78f0
    );
    assert_eq!(of("cvt.pack.sat.u16.s32", 70000, -1, ""), 0xffff_0000);
    assert_eq!(
        result("mov.b32 %r1, -200; cvt.sat.s8.s32 %r0, %r1;"),
        -128i32 as u32
    );
    assert_eq!(result("mov.b32 %r1, -200; cvt.sat.u32.s32 %r0, %r1;"), 0);
    assert_eq!(
        result("mov.b64 %d0, -1; cvt.sat.s32.u64 %r0, %d0;"),
        i32::MAX as u32
    );
    assert_eq!(
        result("mov.b32 %f0, 0x3f801001; cvt.rn.tf32.f32 %r0, %f0;"),
        0x3f80_2000
    );
    assert_eq!(
        result("mov.b32 %f0, 0xbf801001; cvt.rz.relu.tf32.f32 %r0, %f0;"),
        0
    );
    assert_eq!(
        result("mov.b32 %r1, 0x00ffffff; mul24.hi.u32 %r0, %r1, %r1;"),
        0xffff_fe00
    );
    let held =
        "mov.b32 %r1, 0x7fffffff; mov.b32 %r2, 0x7fffffff; mad.hi.sat.s32 %r0, %r1, %r1, %r2;";
    assert_eq!(result(held), 0x7fff_ffff);
}

#[test]
fn bytes_are_chosen_by_the_mode_of_prmt() {
    let of = |mode: &str, selector: u32| {
        result(&format!(
            "mov.b32 %r1, 0x33221100; mov.b32 %r2, 0x77665544; mov.b32 %r3, {selector}; prmt.b32.{mode} %r0, %r1, %r2, %r3;"
        ))
    };
    assert_eq!(of("f4e", 1), 0x4433_2211);
    assert_eq!(of("b4e", 0), 0x5566_7700);
    assert_eq!(of("rc8", 2), 0x2222_2222);
    assert_eq!(of("ecl", 2), 0x3322_2222);
    assert_eq!(of("ecr", 1), 0x1111_1100);
    assert_eq!(of("rc16", 3), 0x3322_3322);
    // Only the low bits are used.
    assert_eq!(of("f4e", 5), of("f4e", 1));
}

#[test]
fn predicates_beside_a_result() {
    let lop = |q: &str, target: &str| {
        format!(
            "mov.b32 %r1, 12; mov.b32 %r2, 10; mov.b32 %r3, 0; setp.eq.u32 %p1, %r3, 0; lop3.{q}.b32 {target}, %r1, %r2, %r3, 0x3c, !%p1;"
        )
    };
    // 12 xor 10, which is not zero.
    assert_eq!(result(&lop("or", "%r0|%p0")), 6);
    assert_eq!(flag(&lop("or", "_|%p0"), "%p0"), 1);
    assert_eq!(flag(&lop("and", "%r4|%p0"), "%p0"), 0);
    // 1 and 2 against 2 and 1, in f16.
    let pair = "mov.b32 %r1, 0x40003c00; mov.b32 %r2, 0x3c004000; setp.lt.f16x2 %p0|%p1, %r1, %r2;";
    assert_eq!((flag(pair, "%p0"), flag(pair, "%p1")), (1, 0));
    let combined = pair.replace(
        "setp.lt.f16x2 %p0|%p1, %r1, %r2",
        "setp.eq.u32 %p2, %r1, 0; setp.lt.or.f16x2 %p0|%p1, %r1, %r2, !%p2",
    );
    assert_eq!(flag(&combined, "%p1"), 1);
    let set = "mov.b32 %f0, 1; mov.b32 %f1, 0; setp.eq.u32 %p0, %tid, 0; set.eq.and.ftz.u32.f32 %r0, %f0, %f1, %p0;";
    assert_eq!(result(set), u32::MAX);
    assert_eq!(result(&set.replace(", %p0;", ", !%p0;")), 0);
}
