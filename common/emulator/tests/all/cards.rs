//! The tensor cores of two cards: values, derived by hand, for which their rules differ; and what an A100 refuses.
//! The H100's rule is measured (`hardware.rs`), the A100's is from the literature.
use crate::common;
use common::{body, lower, module, threads};
use emulator::tensor::{Factor, mma};
use emulator::{Card, Context, Error, KernelArg, LaunchConfig, Options, Ptx};

/// 2^`exponent` in f16, also if it is subnormal.
fn power(exponent: i32) -> u16 {
    match exponent {
        -14..=15 => ((exponent + 15) as u16) << 10,
        -24..=-15 => 1 << (exponent + 24),
        _ => panic!("no f16"),
    }
}

/// `a[0] b[0] + a[1] b[1] + … + c` as each card computes it; the terms are signed powers of two, at these k.
fn sums(terms: &[(usize, f32)], c: f32) -> [f32; 2] {
    let (mut a, mut b) = ([0; 256], [0; 128]);
    for &(k, term) in terms {
        let exponent = (term.abs().to_bits() >> 23) as i32 - 127;
        // Splits the exponent such that both factors fit in f16.
        let half = exponent / 2;
        a[k] = power(half) | if term < 0.0 { 0x8000 } else { 0 };
        b[8 * k] = power(exponent - half);
    }
    let mut addends = [0; 128];
    addends[0] = c.to_bits();
    [Card::H100, Card::A100]
        .map(|card| f32::from_bits(mma::<16, 256, 128>(card, Factor::F16, &a, &b, &addends)[0]))
}

const fn two_to(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

#[test]
fn an_a100_keeps_24_bits_below_the_largest_exponent() {
    // 1 - 1 leaves the bits of the small term that were kept.
    let small = |exponent| sums(&[(0, 1.0), (1, two_to(exponent))], -1.0);
    assert_eq!(small(-24), [two_to(-24), two_to(-24)]);
    assert_eq!(small(-25), [two_to(-25), 0.0]);
    assert_eq!(small(-26), [0.0, 0.0]);
}

#[test]
fn an_a100_adds_eight_products_and_then_the_other_eight() {
    let (large, small) = (two_to(10), two_to(-20));
    // The large terms cancel before the small one is added, or in the same sum.
    assert_eq!(
        sums(&[(0, large), (7, -large), (8, small)], 0.0),
        [0.0, small]
    );
    // All three are among the first eight, or all among the last.
    assert_eq!(sums(&[(0, large), (1, -large), (7, small)], 0.0), [0.0; 2]);
    assert_eq!(sums(&[(8, large), (9, -large), (15, small)], 0.0), [0.0; 2]);
    // The addend is in the sum of the first eight.
    assert_eq!(sums(&[(0, -large), (8, small)], large), [0.0, small]);
    assert_eq!(sums(&[(8, -large), (0, small)], large), [0.0, 0.0]);
}

#[test]
fn an_a100_rounds_between_the_halves() {
    // 1 + 2^-24 is not an f32.
    assert_eq!(
        sums(&[(0, 1.0), (1, two_to(-24)), (8, -1.0)], 0.0),
        [two_to(-24), 0.0]
    );
    // 1 + 2^-23 is an f32.
    assert_eq!(
        sums(&[(0, 1.0), (1, two_to(-23)), (8, -1.0)], 0.0),
        [two_to(-23); 2]
    );
}

#[test]
fn an_m16n8k8_is_one_sum_on_both() {
    let (mut a, mut b) = ([0; 128], [0; 64]);
    for (k, [x, y]) in [[power(0), power(0)], [power(-12), power(-13)]]
        .into_iter()
        .enumerate()
    {
        (a[k], b[8 * k]) = (x, y);
    }
    let mut c = [0; 128];
    c[0] = (-1.0_f32).to_bits();
    let d = |card| f32::from_bits(mma::<8, 128, 64>(card, Factor::F16, &a, &b, &c)[0]);
    assert_eq!([d(Card::H100), d(Card::A100)], [two_to(-25), 0.0]);
}

#[test]
fn both_agree_on_special_values() {
    let infinite = f32::INFINITY;
    for (terms, c) in [
        (&[(0, 1.0), (9, 1.0)][..], f32::NAN),
        (&[(0, 1.0)], infinite),
        (&[(9, -1.0)], -infinite),
    ] {
        let [h100, a100] = sums(terms, c);
        assert_eq!(h100.to_bits(), a100.to_bits(), "{terms:?} + {c}");
    }
}

/// Launches a kernel with one pointer on this card.
fn on(card: Card, text: &str, dynamic_shared: u32, cluster: u32) -> Result<Vec<u8>, Error> {
    let mut context = Context::new(Options {
        card,
        ..Options::default()
    });
    let function = context.load_module(text)?.function("k")?;
    let out = context.alloc("out", 512).expect("room");
    let config = LaunchConfig {
        grid: [cluster, 1, 1],
        block: [32, 1, 1],
        dynamic_shared,
        cluster: [cluster, 1, 1],
        overlap: false,
        cooperative: false,
    };
    context.launch(&function, &config, &[KernelArg::Buffer(&out)])?;
    context.read(&out)
}

#[test]
fn a_kernel_computes_as_the_card_that_was_chosen() {
    // Row 0 of A has 1 and 2^-12 at k 0 and 1; column 0 of B has 1 and 2^-13; C is -1 at (0, 0).
    let text = module(
        "",
        "setp.eq.u32 %p0, %tid, 0;
selp.b32 %r1, 0x0c003c00, 0, %p0;
selp.b32 %r2, 0x08003c00, 0, %p0;
selp.b32 %r3, 0xbf800000, 0, %p0;
mov.u32 %r0, 0;
mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r4, %r5, %r6, %r7}, {%r1, %r0, %r0, %r0}, {%r2, %r0}, {%r3, %r0, %r0, %r0};
st.global.u32 [%at], %r4;",
    )
    .replace("sm_90a", "sm_80");
    let first = |card| {
        let bytes = on(card, &text, 0, 1).expect("a launch");
        f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    };
    assert_eq!(first(Card::H100), two_to(-25));
    assert_eq!(first(Card::A100), 0.0);
}

#[test]
fn an_a100_refuses_unsupported_instructions_by_name() {
    let old = module("", "").replace("sm_90a", "sm_80");
    on(Card::A100, &old, 163 << 10, 1).expect("as much as it has");
    for (text, shared, cluster, says) in [
        (module("", ""), 0, 1, "sm_90"),
        (old.clone(), (163 << 10) + 16, 1, "an A100 has 166912"),
        (old.clone(), 0, 2, "clusters of 2 blocks"),
        (
            module("", "setmaxnreg.dec.sync.aligned.u32 40;").replace("sm_90a", "sm_80"),
            0,
            1,
            "`setmaxnreg.dec.sync.aligned.u32 40` requires .target sm_90a",
        ),
        (
            module("", "@%p0 fence.proxy.async;").replace("sm_90a", "sm_80"),
            0,
            1,
            "`@%p0 fence.proxy.async` requires .target sm_90 or higher, and this module's is sm_80",
        ),
    ] {
        let error = on(Card::A100, &text, shared, cluster).expect_err(says);
        assert!(error.to_string().contains(says), "{error}");
    }
    assert!(lower(&old).is_ok());
    body(&threads(32), "fence.proxy.async;").clean();
}

/// PTX ISA, ".target": code for a target runs on later ones too, except what is specific to an architecture (`a`).
#[test]
fn a_target_that_a_card_does_not_run_is_refused() {
    let target = |target: &str| module("", "").replace("sm_90a", target);
    for (card, name, runs) in [
        (Card::H100, "sm_70", true),
        (Card::H100, "sm_90", true),
        (Card::H100, "sm_90a", true),
        (Card::H100, "sm_100", false),
        (Card::H100, "sm_100a", false),
        (Card::A100, "sm_80", true),
        (Card::A100, "sm_86", false),
        (Card::A100, "sm_90a", false),
    ] {
        assert_eq!(card.runs(name), runs, "{card}, {name}");
        assert_eq!(
            on(card, &target(name), 0, 1).is_ok(),
            runs,
            "{card}, {name}"
        );
    }
    let error = on(Card::H100, &target("sm_100"), 0, 1).expect_err("a Blackwell's");
    let said = error.to_string();
    assert!(
        said.contains("for sm_100") && said.contains("sm_90a"),
        "{said}"
    );
}

/// Comments and file names are not instructions.
#[test]
fn opcodes_are_those_of_instructions() {
    let text = module("", "griddepcontrol.wait;\n// wgmma.fence.sync.aligned;");
    let ptx = Ptx::parse(&text).expect("PTX");
    let kernel = ptx.kernels().next().expect("a kernel").to_owned();
    let opcodes: Vec<String> = ptx.opcodes(&kernel).collect();
    assert!(
        opcodes.iter().any(|one| one == "griddepcontrol.wait"),
        "{opcodes:?}"
    );
    assert!(
        !opcodes.iter().any(|one| one.starts_with("wgmma")),
        "{opcodes:?}"
    );
    assert_eq!(ptx.opcodes("another").count(), 0);
}
