//! Integer instructions without a recording: extended-precision additions, bit masks, products of halves. Expected
//! results follow the PTX ISA.
use crate::common;
use common::{body, lower, module, threads};

/// The value of `%r10` in the first lane after a body.
fn result(text: &str) -> u32 {
    let text = format!("{text} st.global.u32 [%at], %r10;");
    body(&threads(32), &text).clean()[0]
}

/// The same for `N` registers from `%r10` on.
fn results<const N: usize>(text: &str) -> [u32; N] {
    let store = |i: usize| format!("st.global.u32 [%at+{}], %r{};", 128 * i, 10 + i);
    let stores: String = (0..N).map(store).collect();
    let words = body(&threads(32), &format!("{text} {stores}")).clean();
    std::array::from_fn(|i| words[32 * i])
}

fn set(values: &[u32]) -> String {
    let set = |(i, value): (usize, &u32)| format!("mov.u32 %r{i}, {value};");
    values.iter().enumerate().map(set).collect()
}

fn words(value: u128) -> [u32; 4] {
    std::array::from_fn(|i| (value >> (32 * i)) as u32)
}

const NUMBERS: [u128; 6] = [
    0,
    1,
    u128::MAX,
    0xffff_ffff,
    0x1234_5678_9abc_def0_0fed_cba9_8765_4321,
    0x8000_0000_0000_0000_7fff_ffff_ffff_ffff,
];

#[test]
fn carries_go_through_four_words() {
    for a in NUMBERS {
        for b in NUMBERS {
            for (name, expected) in [("add", a.wrapping_add(b)), ("sub", a.wrapping_sub(b))] {
                let operands = [words(a), words(b)].concat();
                let text = format!(
                    "{} {name}.cc.u32 %r10, %r0, %r4; {name}c.cc.u32 %r11, %r1, %r5; {name}c.cc.u32 %r12, %r2, %r6; \
                     {name}c.u32 %r13, %r3, %r7;",
                    set(&operands)
                );
                assert_eq!(results::<4>(&text), words(expected), "{a:#x} {name} {b:#x}");
            }
        }
    }
}

#[test]
fn carries_of_64_bits() {
    let text = "mov.u64 %d0, -1; mov.u64 %d1, 1; add.cc.u64 %d2, %d0, %d1; addc.u64 %d3, %d1, %d1; \
        sub.cc.s64 %d4, %d1, %d0; subc.s64 %d5, %d1, %d1; \
        cvt.u32.u64 %r10, %d2; cvt.u32.u64 %r11, %d3; cvt.u32.u64 %r12, %d4; cvt.u32.u64 %r13, %d5;";
    assert_eq!(results::<4>(text), [0, 3, 2, u32::MAX]);
}

#[test]
fn a_product_of_two_words_by_mad_and_madc() {
    for a in [0, 1, 0xffff_ffff_ffff_ffff, 0x1234_5678_9abc_def0u64] {
        for b in [0, 3, 0xffff_ffff_ffff_fffe, 0x0fed_cba9_8765_4321u64] {
            let operands = [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
            let text = format!(
                "{} mul.lo.u32 %r10, %r0, %r2; mul.hi.u32 %r11, %r0, %r2; \
                 mad.lo.cc.u32 %r11, %r1, %r2, %r11; madc.hi.u32 %r12, %r1, %r2, 0; \
                 mad.lo.cc.u32 %r11, %r0, %r3, %r11; madc.hi.cc.u32 %r12, %r0, %r3, %r12; addc.u32 %r13, 0, 0; \
                 mad.lo.cc.u32 %r12, %r1, %r3, %r12; madc.hi.u32 %r13, %r1, %r3, %r13;",
                set(&operands)
            );
            let expected = u128::from(a) * u128::from(b);
            assert_eq!(results::<4>(&text), words(expected), "{a:#x} {b:#x}");
        }
    }
    // Signed: the high half of -1 x 5 is -1.
    let text = "mov.u32 %r0, -1; mov.u32 %r1, 5; mov.u32 %r2, 1; mad.hi.cc.s32 %r10, %r0, %r1, %r2; addc.u32 %r11, 0, 0;";
    assert_eq!(results::<2>(text), [0, 1]);
}

#[test]
fn a_carry_is_a_threads_own_and_kept_where_it_is_not_written() {
    let text = "mov.u32 %r0, -1; setp.lt.u32 %p0, %tid, 16; add.cc.u32 %r1, %r0, 0; @%p0 add.cc.u32 %r1, %r0, 1; \
        add.u32 %r2, %r0, %r0; addc.u32 %r10, 0, 0; st.global.u32 [%at], %r10;";
    let words = body(&threads(32), text).clean();
    for (lane, &word) in words[..32].iter().enumerate() {
        assert_eq!(word, u32::from(lane < 16), "lane {lane}");
    }
}

#[test]
fn a_subtraction_sets_the_carry_of_its_adder() {
    // Machine code does not invert the carry between a sub.cc and an addc: 5 - 3 has no borrow, so the carry is set.
    assert_eq!(
        result("mov.u32 %r0, 5; sub.cc.u32 %r1, %r0, 3; addc.u32 %r10, 0, 0;"),
        1
    );
    assert_eq!(
        result("mov.u32 %r0, 3; sub.cc.u32 %r1, %r0, 5; addc.u32 %r10, 0, 0;"),
        0
    );
}

#[test]
fn the_destination_may_be_a_source() {
    let text = "mov.u32 %r10, -1; add.cc.u32 %r10, %r10, %r10; addc.u32 %r11, %r10, %r10;";
    assert_eq!(results::<2>(text), [0xffff_fffe, 0xffff_fffd]);
}

#[test]
fn products_of_halves_and_bytes() {
    let dp2a = |mode: &str, types: &str| {
        result(&format!(
            "mov.u32 %r0, 0xfffe8003; mov.u32 %r1, 0xff02807f; mov.u32 %r2, 1000; dp2a.{mode}.{types} %r10, %r0, %r1, %r2;"
        )) as i32
    };
    // a: 0x8003 and 0xfffe; b: 0x7f and 0x80 below, 0x02 and 0xff above.
    assert_eq!(dp2a("lo", "u32.u32"), 0x8003 * 0x7f + 0xfffe * 0x80 + 1000);
    assert_eq!(dp2a("hi", "u32.u32"), 0x8003 * 0x02 + 0xfffe * 0xff + 1000);
    assert_eq!(
        dp2a("lo", "s32.s32"),
        (0x8003 - 0x10000) * 0x7f + -2 * -128 + 1000
    );
    assert_eq!(
        dp2a("hi", "s32.u32"),
        (0x8003 - 0x10000) * 0x02 - 2 * 0xff + 1000
    );
    assert_eq!(dp2a("hi", "u32.s32"), 0x8003 * 0x02 - 0xfffe + 1000);
}

#[test]
fn fns_finds_the_nth_set_bit() {
    let fns = |mask: u32, base: u32, offset: i32| {
        result(&format!(
            "mov.u32 %r0, {mask}; mov.u32 %r1, {base}; mov.u32 %r2, {offset}; fns.b32 %r10, %r0, %r1, %r2;"
        ))
    };
    let none = u32::MAX;
    assert_eq!(fns(0b1011_0100, 2, 0), 2);
    assert_eq!(fns(0b1011_0100, 3, 0), none);
    assert_eq!(fns(0b1011_0100, 2, 1), 2);
    assert_eq!(fns(0b1011_0100, 3, 2), 5);
    assert_eq!(fns(0b1011_0100, 0, 4), 7);
    assert_eq!(fns(0b1011_0100, 0, 5), none);
    assert_eq!(fns(0b1011_0100, 6, -1), 5);
    assert_eq!(fns(0b1011_0100, 31, -4), 2);
    assert_eq!(fns(0x8000_0000, 31, -1), 31);
    assert_eq!(fns(0x8000_0000, 31, i32::MIN), none);
}

#[test]
fn szext_and_bmsk() {
    let two = |text: &str, a: u32, b: u32| {
        result(&format!(
            "mov.u32 %r0, {a}; mov.u32 %r1, {b}; {text} %r10, %r0, %r1;"
        ))
    };
    let szext = |mode: &str, a, b| two(&format!("szext.{mode}"), a, b);
    assert_eq!(szext("clamp.s32", 0x88, 8), 0xffff_ff88);
    assert_eq!(szext("clamp.u32", 0xf88, 8), 0x88);
    assert_eq!(szext("wrap.s32", 0x88, 40), 0xffff_ff88);
    assert_eq!(szext("clamp.s32", 0x8000_0001, 40), 0x8000_0001);
    assert_eq!(szext("wrap.u32", u32::MAX, 0), 0);
    assert_eq!(szext("wrap.u32", u32::MAX, 32), 0);
    assert_eq!(szext("clamp.u32", u32::MAX, 0), 0);
    let bmsk = |mode: &str, a, b| two(&format!("bmsk.{mode}.b32"), a, b);
    assert_eq!(bmsk("wrap", 1, 2), 6);
    assert_eq!(bmsk("clamp", 4, 0), 0);
    assert_eq!(bmsk("clamp", 4, 40), 0xffff_fff0);
    assert_eq!(bmsk("wrap", 4, 40), 0xff0);
    assert_eq!(bmsk("clamp", 40, 4), 0);
    assert_eq!(bmsk("wrap", 40, 4), 0xf00);
    assert_eq!(bmsk("clamp", 30, 8), 0xc000_0000);
}

#[test]
fn testp_says_what_a_number_is() {
    let cases = [
        ("0f7F800000", "0d7FF0000000000000", ["infinite", "number"]),
        ("0fFFC00000", "0dFFF8000000000000", ["notanumber", ""]),
        ("0f80000000", "0d8000000000000000", ["finite", "normal"]),
        ("0f00000001", "0d0000000000000001", ["finite", "subnormal"]),
        ("0fBF800000", "0dBFF0000000000000", ["finite", "normal"]),
    ];
    for (single, double, is) in cases {
        for test in [
            "finite",
            "infinite",
            "number",
            "notanumber",
            "normal",
            "subnormal",
        ] {
            let expected = is.contains(&test) || test == "number" && is[0] == "finite";
            let text = format!(
                "mov.f32 %f0, {single}; testp.{test}.f32 %p0, %f0; selp.u32 %r10, 1, 0, %p0; \
                 mov.f64 %d0, {double}; testp.{test}.f64 %p0, %d0; selp.u32 %r11, 1, 0, %p0;"
            );
            assert_eq!(
                results::<2>(&text),
                [u32::from(expected); 2],
                "{test} {single}"
            );
        }
    }
}

#[test]
fn conversions_to_fp8_and_tf32() {
    let text = "mov.f32 %f0, 0f3FC00000; mov.f32 %f1, 0fC4800000; cvt.rn.satfinite.e4m3x2.f32 %h0, %f0, %f1; cvt.u32.u16 %r10, %h0; \
        cvt.rn.satfinite.relu.e5m2x2.f32 %h1, %f0, %f1; cvt.u32.u16 %r11, %h1; cvt.rn.f16x2.e4m3x2 %r12, %h0; \
        cvt.rn.satfinite.e5m2x2.f16x2 %h2, %r12; cvt.u32.u16 %r13, %h2; \
        mov.f32 %f2, 0f3F801000; cvt.rna.tf32.f32 %r14, %f2; cvt.rn.relu.f16x2.f32 %r15, %f0, %f1; \
        cvt.rz.satfinite.bf16x2.f32 %r16, %f0, %f1;";
    // 1.5 and -1024; the largest e4m3 is 448, which is 7 x 2^6 in e5m2.
    assert_eq!(
        results::<7>(text),
        [
            0x3cfe,
            0x3e00,
            0x3e00_df00,
            0x3edf,
            0x3f80_2000,
            0x3e00_0000,
            0x3fc0_c480
        ]
    );
}

#[test]
fn what_is_not_an_instruction_is_refused() {
    for text in [
        "addc.f32 %f0, %f1, %f2",
        "add.cc.u16 %h0, %h1, %h2",
        "mad.cc.u32 %r0, %r1, %r2, %r3",
        "mul.lo.cc.u32 %r0, %r1, %r2",
        "szext.s32 %r0, %r1, %r2",
        "bmsk.clamp.wrap.b32 %r0, %r1, %r2",
        "dp2a.s32.s32 %r0, %r1, %r2, %r3",
        "testp.odd.f32 %p0, %f0",
        "cvt.rn.e4m3x2.f32 %h0, %f0, %f1",
        "cvt.rn.satfinite.tf32.f32 %r0, %f0",
        "cvt.pack.s8.s32.b32 %r0, %r1, %r2, %r3",
        "cvt.sat.ftz.s8.s32 %r0, %r1",
        "min.relu.u32 %r0, %r1, %r2",
        "add.sat.s16x2 %r0, %r1, %r2",
        "prmt.b32.f5e %r0, %r1, %r2, %r3",
        "min.xorsign.f32 %f0, %f1, %f2",
        "add.rn.ftz.bf16 %h0, %h1, %h2",
        "cvt.rn.satfinite.f16x2.e4m3x2 %r0, %h0",
        "cvt.rs.f16x2.f32 %r0, %f0, %f1, %r1",
        "vadd.s32.s32.s32 %r0, %r1, %r2",
    ] {
        let error = lower(&module("", &format!("{text};"))).map(drop);
        let message = error.expect_err(text).to_string();
        assert!(
            message.contains(&format!("the emulator cannot execute `{text}`")),
            "{message}"
        );
    }
}
