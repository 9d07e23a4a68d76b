//! Matrix products in formats other than 16-bit factors with f32 sums. Their results are recorded
//! (`calibration/h200/mma_fragments.csv`); this file tests what is not in a recording: operands in shared memory,
//! signs, counters, refusals.
use crate::common;
use crate::warpgroup::{Place, Warpgroup};
use common::{body, lower, module, threads};
use emulator::{
    Card, Context, Demand, FactorFormat, InstructionKind, KernelArg, LaunchConfig, MatrixProduct,
    Options, SumFormat,
};

/// A lane's results of a body that leaves them in some of `%r10` to `%r13`.
fn results(text: &str) -> Vec<u32> {
    let clear: String = (10..14).map(|r| format!("mov.u32 %r{r}, 0; ")).collect();
    let store = |i: u32| format!("st.global.u32 [%at+{}], %r{};", 128 * i, 10 + i);
    let stores: String = (0..4).map(store).collect();
    body(&threads(32), &format!("{clear}{text}{stores}")).clean()
}

#[test]
fn f16_sums_are_rounded_to_the_nearest() {
    // A row is 1 in its first column and 2^-11 in its second: with B all ones, 1 + 2^-11 is a tie and rounds to 1; with
    // another 2^-11 the sum is exact. C is -0.
    let product = |a: &str| {
        let text = format!(
            "setp.eq.u32 %p0, %tid, 0; mov.u32 %r1, 0; @%p0 mov.u32 %r1, {a}; mov.u32 %r2, 0; mov.u32 %r3, 0x3c003c00; \
             mov.u32 %r4, 0x80008000; \
             mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {{%r10, %r11}}, {{%r1, %r2}}, {{%r3}}, {{%r4, %r4}};"
        );
        results(&text)[0] & 0xffff
    };
    assert_eq!(product("0x10003c00"), 0x3c00);
    assert_eq!(product("0x10013c00"), 0x3c01);
    assert_eq!(product("0x12003c00"), 0x3c01);
    // Zeros of either sign.
    assert_eq!(product("0x00000000"), 0);
}

#[test]
fn what_is_rounded_to_zero_has_no_sign() {
    // -2^-13 x 2^-13 in every output.
    let text = "mov.u32 %r1, 0x88000000; mov.u32 %r2, 0x08000000; mov.u32 %r4, 0; \
        setp.lt.u32 %p0, %tid, 32; and.b32 %r5, %tid, 3; setp.eq.u32 %p0, %r5, 0; selp.b32 %r1, %r1, 0, %p0; \
        mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r10, %r11}, {%r1, %r1}, {%r2}, {%r4, %r4};";
    assert!(results(text)[..64].iter().all(|&word| word == 0));
}

#[test]
fn the_low_bits_of_tf32_do_not_count() {
    let product = |bits: &str| {
        let text = format!(
            "mov.u32 %r1, {bits}; mov.f32 %f0, 0f3F800000; mov.b32 %r2, %f0; mov.f32 %f1, 0f00000000; \
             mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {{%f10, %f11, %f12, %f13}}, {{%r1, %r1}}, {{%r2}}, \
             {{%f1, %f1, %f1, %f1}}; mov.b32 %r10, %f10;"
        );
        f32::from_bits(results(&text)[0])
    };
    assert_eq!(product("0x3f801fff"), 4.0);
    assert_eq!(product("0x3f802000"), 4.0 * f32::from_bits(0x3f80_2000));
    // An f32 NaN of which only low bits are set is infinite.
    assert_eq!(product("0x7f801fff"), f32::INFINITY);
}

#[test]
fn integers_wrap_or_are_held() {
    let product = |saturate: &str| {
        let text = format!(
            "mov.u32 %r1, 0x7f7f7f7f; mov.u32 %r2, 0x7fffffff; \
             mma.sync.aligned.m8n8k16.row.col{saturate}.s32.s8.s8.s32 {{%r10, %r11}}, {{%r1}}, {{%r1}}, {{%r2, %r2}};"
        );
        results(&text)[0]
    };
    assert_eq!(product(""), 0x7fff_ffff + 16 * 127 * 127);
    assert_eq!(product(".satfinite"), 0x7fff_ffff);
}

#[test]
fn bits_are_counted_by_and_or_xor() {
    for (op, expected) in [("and", 128 * 2 / 8 + 5), ("xor", 128 * 4 / 8 + 5)] {
        let text = format!(
            "mov.u32 %r1, 0x33333333; mov.u32 %r2, 0x5a5a5a5a; mov.u32 %r3, 5; \
             mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.{op}.popc {{%r10, %r11}}, {{%r1}}, {{%r2}}, {{%r3, %r3}};"
        );
        assert_eq!(results(&text)[0], expected, "{op}");
    }
}

#[test]
fn fp8_of_both_kinds() {
    // 1.5 as e4m3 and as e5m2; 32 products of 2.25, and 1.
    let text = "mov.u32 %r1, 0x3c3c3c3c; mov.u32 %r2, 0x3e3e3e3e; mov.f32 %f0, 0f3F800000; \
        mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%f10, %f11, %f12, %f13}, {%r1, %r1, %r1, %r1}, {%r2, %r2}, \
        {%f0, %f0, %f0, %f0}; mov.b32 %r10, %f10; mov.u32 %r3, 0x3c003c00; \
        mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16 {%r11, %r12}, {%r2, %r2}, {%r1}, {%r3, %r3};";
    let words = results(text);
    assert_eq!(f32::from_bits(words[0]), 73.0);
    // 16 x 2.25 + 1 = 37.
    assert_eq!(words[32], 0x50a0_50a0);
}

#[test]
fn f64_adds_one_product_after_the_other() {
    // 2^53 + 1 - 2^53 + 0: each product is added separately, in the order of k, so the 1 is lost.
    let text = "and.b32 %r1, %tid, 3; setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2; \
        mov.f64 %d0, 0d0000000000000000; @%p0 mov.f64 %d0, 0d4340000000000000; @%p1 mov.f64 %d0, 0d3FF0000000000000; \
        @%p2 mov.f64 %d0, 0dC340000000000000; mov.f64 %d1, 0d3FF0000000000000; mov.f64 %d2, 0d3FF0000000000000; \
        mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d3, %d4}, {%d0}, {%d1}, {%d2, %d2}; \
        cvt.rn.f32.f64 %f0, %d3; mov.b32 %r10, %f0;";
    assert_eq!(f32::from_bits(results(text)[0]), 0.0);
}

fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Writes a row or a column of 32 bytes to shared memory, two bytes at a time.
fn put(place: &Place, window: &mut [u8], mn: u32, bytes: &[u8]) {
    place.put(window, mn, |row, k| {
        let at = (32 * row + 2 * k) as usize;
        u16::from_le_bytes([bytes[at], bytes[at + 1]])
    });
}

#[test]
fn wgmma_finds_bytes_in_every_swizzle() {
    const N: u32 = 48;
    for swizzle in [0, 32, 64, 128] {
        let (a, b) = (bytes(64 * 32, 1), bytes(N as usize * 32, 2));
        let mut group = Warpgroup::new(N);
        let places = [
            Place::packed(false, swizzle, 64, 0),
            Place::packed(false, swizzle, N, 16 << 10),
        ];
        put(&places[0], &mut group.window, 64, &a);
        put(&places[1], &mut group.window, N, &b);
        group.d = (0..64 * N).map(|i| i * 1000).collect();
        let [a_desc, b_desc] = places.map(|place| place.descriptor());
        let outcome = group.run(&format!(
            "add.u64 %l0, %base, {a_desc}; add.u64 %l1, %base, {b_desc}; wgmma.fence.sync.aligned;\n\
             wgmma.mma_async.sync.aligned.m64n{N}k32.s32.u8.s8 {}, %l0, %l1, %yes;\n\
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
            Warpgroup::list(0, N)
        ));
        // One wavefront for each 128 bytes of the operands.
        assert_eq!(
            outcome.of("wgmma.mma_async")[0].shared.wavefronts,
            32 * (64 + u64::from(N)) / 128
        );
        let expected: Vec<u32> = (0..64 * N as usize)
            .map(|i| {
                let (row, column) = (i / N as usize, i % N as usize);
                let products = (0..32)
                    .map(|k| i32::from(a[32 * row + k]) * i32::from(b[32 * column + k] as i8));
                (i as u32 * 1000).wrapping_add(products.sum::<i32>() as u32)
            })
            .collect();
        assert_eq!(outcome.clean(), expected, "swizzle {swizzle}");
    }
}

#[test]
fn wgmma_turns_the_signs_of_any_float() {
    for (format, k, one, four_ones) in [
        ("tf32", 8, "0x3f800000", 8.0),
        ("e4m3", 32, "0x38383838", 32.0),
    ] {
        for (scales, sign) in [
            ("1, 1", 1.0),
            ("-1, 1", -1.0),
            ("1, -1", -1.0),
            ("-1, -1", 1.0),
        ] {
            let mut group = Warpgroup::new(8);
            let place = Place::packed(false, 0, 8, 0);
            let word: u32 = if format == "tf32" {
                0x3f80_0000
            } else {
                0x3838_3838
            };
            put(&place, &mut group.window, 8, &word.to_le_bytes().repeat(64));
            let outcome = group.run(&format!(
                "add.u64 %l1, %base, {}; mov.u32 %a0, {one}; mov.u32 %a1, {one}; mov.u32 %a2, {one}; mov.u32 %a3, {one};\n\
                 wgmma.fence.sync.aligned;\n\
                 wgmma.mma_async.sync.aligned.m64n8k{k}.f32.{format}.{format} {}, {{%a0, %a1, %a2, %a3}}, %l1, %no, {scales};\n\
                 wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;",
                place.descriptor(),
                Warpgroup::list(0, 8)
            ));
            let expected = f32::to_bits(sign * four_ones);
            assert_eq!(outcome.clean(), vec![expected; 64 * 8], "{format} {scales}");
        }
    }
}

#[test]
fn wgmma_with_f16_sums_has_two_in_a_register() {
    let mut group = Warpgroup::new(8);
    let place = Place::packed(false, 0, 8, 0);
    // Column n of B is n + 1 at k = 0, A is all ones.
    let ones: [u16; 8] = [
        0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700, 0x4800,
    ];
    place.put(&mut group.window, 8, |n, k| {
        if k == 0 { ones[n as usize] } else { 0 }
    });
    group.a.fill(0x3c00);
    // Accumulators in registers that hold bits, not f32; stored through %d0 and %d1.
    let outcome = group.run(&format!(
        "add.u64 %l1, %base, {}; mov.u32 %r0, 0; mov.u32 %r1, 0; wgmma.fence.sync.aligned;\n\
         wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {{%r0, %r1}}, {{%a0, %a1, %a2, %a3}}, %l1, 1, 1, 1, 0;\n\
         wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n\
         mov.b32 %d0, %r0; mov.b32 %d1, %r1; mov.b32 %d2, %r0; mov.b32 %d3, %r1;",
        place.descriptor()
    ));
    let d = outcome.clean();
    // Register 0 of lane t holds columns 2 t and 2 t + 1 of its row; the test's D has it at column 2 t.
    for t in 0..4 {
        let expected = u32::from(ones[2 * t]) | u32::from(ones[2 * t + 1]) << 16;
        assert_eq!(d[2 * t], expected, "columns {}", 2 * t);
    }
}

#[test]
fn what_was_not_measured_is_refused() {
    for text in [
        "mma.sync.aligned.m8n8k8.row.col.f64.f64.f64.f64 {%d0, %d1}, {%d4, %d5}, {%d6}, {%d0, %d1}",
        "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s4.s32 {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1, %r2, %r3}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3}",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%r0, %r1}",
        "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2, %r3}, {%f0, %f1, %f2, %f3}, %r4, 0",
        "wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e4m3 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1",
        "wgmma.mma_async.sync.aligned.m64n8k32.f16.e4m3.e4m3 {%r0, %r1}, %d0, %d1, 1, 1, 1",
        "wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {%r0, %r1}, %d0, %d1, 1",
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1",
    ] {
        let message = lower(&module("", &format!("{text};")))
            .expect_err(text)
            .to_string();
        assert!(
            message.contains(&format!("the emulator cannot execute `{text}`")),
            "{message}"
        );
    }
}

#[test]
fn operands_are_those_of_the_format() {
    for (text, why) in [
        (
            "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1}, {%r2}, {%f0, %f1, %f2, %f3}",
            "names 2 registers where it needs 4",
        ),
        (
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d0, %d1}, {%r0}, {%d2}, {%d0, %d1}",
            "the registers of",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%f0, %f1, %f2, %f3}, %d0, %d1, 1, 1, 1, 0, 0",
            "takes two scales",
        ),
        (
            "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%r0, %r1, %r2, %r3}, %d0, %d1, 1, 1, 1",
            "takes nothing after the predicate",
        ),
    ] {
        let message = lower(&module("", &format!("{text};"))).map(drop);
        let message = message.map_err(|error| error.to_string());
        assert!(
            message.as_ref().is_err_and(|message| message.contains(why)),
            "{text}: {message:?}"
        );
    }
}

/// The product and the demand of a kernel with one `mma.sync`.
fn demand(instruction: &str) -> (MatrixProduct, Demand) {
    let mut context = Context::new(Options::default());
    let text = module("", &format!("{instruction};"));
    let function = context
        .load_module(&text)
        .and_then(|module| module.function("k"));
    let function = function.expect(instruction);
    let out = context.alloc("out", 4096).expect("room");
    let config = LaunchConfig {
        block: [32, 1, 1],
        ..LaunchConfig::default()
    };
    let report = context
        .launch(&function, &config, &[KernelArg::Buffer(&out)])
        .expect("a launch");
    let instructions = function.instructions();
    let product = instructions
        .iter()
        .find_map(|instruction| match instruction.kind {
            InstructionKind::Mma(product) => Some(product),
            _ => None,
        });
    (
        product.expect("an mma"),
        Demand::new(instructions, &report.counters),
    )
}

#[test]
fn tensor_cores_take_longer_for_tf32_than_for_bytes() {
    let flop = 2 * 16 * 8 * 8;
    let (product, tf32) = demand(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, \
         {%f0, %f1, %f2, %f3}",
    );
    assert_eq!(
        product,
        MatrixProduct {
            m: 16,
            n: 8,
            k: 8,
            factors: FactorFormat::Tf32,
            sums: SumFormat::F32
        }
    );
    assert_eq!((product.flop(), tf32.mma_sync), (flop, 2 * flop));
    let registers = "{%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1, %r2, %r3}";
    let (_, bytes) = demand(&format!(
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {registers}"
    ));
    assert_eq!(bytes.mma_sync, 2 * flop);
    let (product, bits) = demand(&format!(
        "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {registers}"
    ));
    assert_eq!((product.k, bits.mma_sync), (256, 0));
}

#[test]
fn an_a100_has_what_is_exact() {
    let launch = |instruction: &str| {
        let mut context = Context::new(Options {
            card: Card::A100,
            ..Options::default()
        });
        let text = module("", &format!("{instruction};")).replace("sm_90a", "sm_80");
        let function = context
            .load_module(&text)
            .and_then(|module| module.function("k"))?;
        let out = context.alloc("out", 4096)?;
        let config = LaunchConfig {
            block: [32, 1, 1],
            ..LaunchConfig::default()
        };
        context.launch(&function, &config, &[KernelArg::Buffer(&out)])
    };
    let registers = "{%r0, %r1, %r2, %r3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1, %r2, %r3}";
    assert!(
        launch(&format!(
            "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {registers}"
        ))
        .is_ok()
    );
    for instruction in [
        format!("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {registers}"),
        "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r0, %r1}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r0, %r1}".into(),
    ] {
        let message = launch(&instruction).expect_err(&instruction).to_string();
        assert!(message.contains("the results of mma.sync"), "{message}");
    }
}
