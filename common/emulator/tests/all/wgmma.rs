//! Results of `wgmma`: recordings of an H100, every N, every layout, signs, transposes and counters.
//! Tests of its order are in `wgmma_order.rs`.
use crate::warpgroup;
use emulator::Card;
use emulator::tensor::{Factor, mma};
use warpgroup::{Place, Warpgroup};

/// A and B where the tests put them by default.
fn a_place() -> Place {
    Place::packed(false, 0, 64, 0)
}
fn b_place(n: u32) -> Place {
    Place::packed(false, 0, n, 16 << 10)
}

/// All operands and modifiers of a `wgmma` except its registers.
#[derive(Clone, Copy)]
struct Form {
    n: u32,
    kind: &'static str,
    a: Option<Place>,
    b: Place,
    scale_d: bool,
    negate: [bool; 2],
}

impl Form {
    fn new(n: u32) -> Self {
        Self {
            n,
            kind: "f16",
            a: Some(a_place()),
            b: b_place(n),
            scale_d: true,
            negate: [false; 2],
        }
    }

    fn text(&self) -> String {
        let a = match self.a {
            Some(_) => "%l0".to_string(),
            None => "{%a0, %a1, %a2, %a3}".to_string(),
        };
        let scale = |negate: bool| if negate { -1 } else { 1 };
        let mut bits: Vec<String> = self
            .a
            .iter()
            .map(|a| u8::from(a.transposed).to_string())
            .collect();
        bits.push(u8::from(self.b.transposed).to_string());
        format!(
            "add.u64 %l0, %base, {}; add.u64 %l1, %base, {};
wgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{kind}.{kind} {d}, {a}, %l1, {p}, {}, {}, {};
wgmma.commit_group.sync.aligned;
wgmma.wait_group.sync.aligned 0;",
            self.a.map_or(0, |a| a.descriptor()),
            self.b.descriptor(),
            scale(self.negate[0]),
            scale(self.negate[1]),
            bits.join(", "),
            n = self.n,
            kind = self.kind,
            d = Warpgroup::list(0, self.n),
            p = if self.scale_d { "%yes" } else { "%no" },
        )
    }

    /// Runs it with A 64 x 16, B 16 x n (k, n), D 64 x n.
    fn run(&self, a: &[u16], b: &[u16], d: &[u32]) -> warpgroup::Outcome {
        let mut group = Warpgroup::new(self.n);
        group.d.copy_from_slice(d);
        match self.a {
            Some(place) => place.put(&mut group.window, 64, |m, k| a[(m * 16 + k) as usize]),
            None => group.a.copy_from_slice(a),
        }
        let element = |n: u32, k: u32| b[(k * self.n + n) as usize];
        self.b.put(&mut group.window, self.n, element);
        group.run(&self.text())
    }

    /// The same by the arithmetic that is tested against recordings, panel by panel.
    fn expected(&self, a: &[u16], b: &[u16], d: &[u32]) -> Vec<u32> {
        let factor = if self.kind == "f16" {
            Factor::F16
        } else {
            Factor::Bf16
        };
        let sign = self.negate.map(|negate| if negate { 0x8000 } else { 0 });
        let (n, mut result) = (self.n as usize, vec![0; d.len()]);
        for (rows, columns) in (0..4).flat_map(|rows| (0..n / 8).map(move |c| (16 * rows, 8 * c))) {
            let at = |i: usize| (rows + i / 8) * n + columns + i % 8;
            let c = |i: usize| if self.scale_d { d[at(i)] } else { 0 };
            let panel = mma::<16, 256, 128>(
                Card::H100,
                factor,
                &std::array::from_fn(|i| a[rows * 16 + i] ^ sign[0]),
                &std::array::from_fn(|i| b[i / 8 * n + columns + i % 8] ^ sign[1]),
                &std::array::from_fn(c),
            );
            for (i, value) in panel.into_iter().enumerate() {
                result[at(i)] = value;
            }
        }
        result
    }

    fn check(&self, seed: u32) {
        let (a, b, d) = numbers(self, seed);
        let found = self.run(&a, &b, &d).clean();
        assert_eq!(found, self.expected(&a, &b, &d), "{}", self.text());
    }
}

/// Bits of finite numbers of moderate size, different at each position.
fn numbers(form: &Form, seed: u32) -> (Vec<u16>, Vec<u16>, Vec<u32>) {
    let mut x = seed.wrapping_mul(2_654_435_761) | 1;
    let mut next = move || {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        x
    };
    let middle: u16 = if form.kind == "f16" { 0x3000 } else { 0x3f00 };
    let mut half = |count: u32| -> Vec<u16> {
        (0..count)
            .map(|_| next() as u16 & 0x87ff | middle)
            .collect()
    };
    let (a, b, d) = (half(64 * 16), half(16 * form.n), half(64 * form.n));
    let d = d
        .into_iter()
        .map(|bits| u32::from(bits & 0x8fff | 0x3000) << 16)
        .collect();
    (a, b, d)
}

/// Records of one warp's 16 rows: A 16x16, B 16x8 (k, n), C and D 16x8.
fn records(name: &str, data: &[u8], kind: &'static str) {
    let mut count = 0;
    for record in data.chunks_exact(1792) {
        let half = |i: usize| u16::from_le_bytes([record[2 * i], record[2 * i + 1]]);
        let word =
            |i: usize| u32::from_le_bytes(record[768 + 4 * i..][..4].try_into().expect("4 bytes"));
        let a: Vec<u16> = (0..1024).map(|i| half(i % 256)).collect();
        let b: Vec<u16> = (0..128).map(|i| half(256 + i)).collect();
        let c: Vec<u32> = (0..512).map(|i| word(i % 128)).collect();
        let d: Vec<u32> = (0..512).map(|i| word(128 + i % 128)).collect();
        for a_place in [Some(a_place()), None] {
            let form = Form {
                kind,
                a: a_place,
                ..Form::new(8)
            };
            let found = form.run(&a, &b, &c).clean();
            assert_eq!(
                found,
                d,
                "{name}, record {count}, A in shared memory: {}",
                a_place.is_some()
            );
        }
        count += 1;
    }
    assert_eq!(count, 128, "{name}");
}

#[test]
fn as_measured_f16() {
    records(
        "f16",
        include_bytes!("../../../../calibration/h100/wgmma_m64n8k16_f16.bin"),
        "f16",
    );
}

#[test]
fn as_measured_bf16() {
    records(
        "bf16",
        include_bytes!("../../../../calibration/h100/wgmma_m64n8k16_bf16.bin"),
        "bf16",
    );
}

#[test]
fn every_n() {
    for n in (8..=256).step_by(8) {
        for (kind, a) in [("f16", None), ("bf16", Some(a_place()))] {
            let form = Form {
                kind,
                a,
                ..Form::new(n)
            };
            form.check(n);
        }
    }
}

#[test]
fn every_layout_of_a_with_every_layout_of_b() {
    let layouts: Vec<(bool, u32)> = [false, true]
        .into_iter()
        .flat_map(|transposed| [0, 32, 64, 128].map(|swizzle| (transposed, swizzle)))
        .collect();
    for (i, &(transposed, swizzle)) in layouts.iter().enumerate() {
        let a = Place::packed(transposed, swizzle, 64, 0);
        for &(transposed, swizzle) in &layouts {
            let b = Place::packed(transposed, swizzle, 128, 32 << 10);
            let form = Form {
                a: Some(a),
                b,
                ..Form::new(128)
            };
            form.check(i as u32 + swizzle);
        }
    }
}

/// A pattern that starts 3 times 128 bytes after a multiple of 1024, with the corresponding base offset; K
/// steps of 32 bytes inside the 128-byte rows.
#[test]
fn base_offsets_and_steps_along_k() {
    for base_offset in 0..8 {
        let a = Place {
            start: 128 * base_offset,
            base_offset,
            ..Place::packed(false, 128, 64, 0)
        };
        let form = Form {
            a: Some(a),
            ..Form::new(64)
        };
        form.check(base_offset);
    }
    for step in 0..4 {
        let b = Place {
            start: (16 << 10) + 32 * step,
            ..Place::packed(false, 128, 64, 0)
        };
        let form = Form { b, ..Form::new(64) };
        form.check(step);
    }
}

#[test]
fn signs_and_the_addend() {
    for bits in 0..8 {
        for a in [Some(a_place()), None] {
            let form = Form {
                a,
                scale_d: bits & 1 == 0,
                negate: [bits & 2 != 0, bits & 4 != 0],
                ..Form::new(24)
            };
            form.check(bits);
        }
    }
}

/// Wavefronts = bytes of the operands in shared memory / 128, once for the four warps; no conflicts.
#[test]
fn wavefronts_as_measured() {
    for (n, a, expected) in [
        (64, true, 32),
        (64, false, 16),
        (8, true, 18),
        (256, false, 64),
        (24, false, 6),
    ] {
        let form = Form {
            a: a.then(a_place),
            ..Form::new(n)
        };
        let (a, b, d) = numbers(&form, 1);
        let outcome = form.run(&a, &b, &d);
        let counters = outcome.of("wgmma.mma_async")[0];
        let shared = counters.shared;
        assert_eq!(
            (shared.wavefronts, shared.ideal, shared.conflicts),
            (expected, expected, 0)
        );
        assert_eq!((counters.executions, counters.threads), (4, 128));
        assert_eq!(counters.bytes, 128 * expected);
    }
}

/// Two consumer warpgroups, each with its own `wgmma` and its own rows.
#[test]
fn a_second_warpgroup_does_its_own() {
    let form = Form::new(16);
    let (a, b, d) = numbers(&form, 7);
    let mut group = Warpgroup::new(16);
    a_place().put(&mut group.window, 64, |m, k| a[(m * 16 + k) as usize]);
    b_place(16).put(&mut group.window, 16, |n, k| b[(k * 16 + n) as usize]);
    group.d.copy_from_slice(&d);
    group.threads = 256;
    // Only the first one stores its result.
    let body = format!(
        "setp.ge.u32 %p0, %tid, 128; @%p0 bra SECOND;\n{}\nbra OUT;\nSECOND: {}\nret;\nOUT:",
        form.text(),
        form.text()
    );
    let outcome = group.run(&body);
    let counters = outcome.of("wgmma.mma_async");
    assert_eq!(
        counters.iter().map(|c| c.executions).collect::<Vec<_>>(),
        [4, 4]
    );
    assert_eq!(outcome.clean(), form.expected(&a, &b, &d));
}

#[test]
fn the_order_of_the_warps_does_not_matter() {
    let form = Form::new(64);
    let (a, b, d) = numbers(&form, 3);
    let mut group = Warpgroup::new(64);
    a_place().put(&mut group.window, 64, |m, k| a[(m * 16 + k) as usize]);
    b_place(64).put(&mut group.window, 64, |n, k| b[(k * 64 + n) as usize]);
    group.d.copy_from_slice(&d);
    let expected = form.expected(&a, &b, &d);
    for schedule in 0..10 {
        group.schedule = schedule;
        assert_eq!(
            group.run(&form.text()).clean(),
            expected,
            "schedule {schedule}"
        );
    }
}

#[test]
fn missing_names_are_refused() {
    let group = Warpgroup::new(8);
    let d = Warpgroup::list(0, 8);
    let mma =
        |kind: &str, operands: &str| format!("wgmma.mma_async.sync.aligned.{kind} {operands};");
    let straight = "%l0, %l1, %yes, 1, 1, 0, 0";
    for (text, why) in [
        (mma("m64n8k32.f32.e5m2.e5m2", &format!("{d}, %l0, %l1, %yes, 1, 1")), "cannot execute"),
        (mma("m64n8k16.f16.bf16.bf16", &format!("{{%r0, %r1}}, {straight}")), "cannot execute"),
        (mma("m64n12k16.f32.f16.f16", &format!("{d}, {straight}")), "cannot execute"),
        (mma("m64n264k16.f32.f16.f16", &format!("{d}, {straight}")), "cannot execute"),
        ("wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.f16.f16 {%d0}, %l0, %l1, %r0, 0, %yes, 1, 1, 0, 0;".into(), "cannot execute"),
        (mma("m64n8k16.f32.f16.bf16", &format!("{d}, {straight}")), "cannot execute"),
        (mma("m64n16k16.f32.f16.f16", &format!("{d}, {straight}")), "names 4 registers where it needs 8"),
        (mma("m64n8k16.f32.f16.f16", &format!("{d}, %l0, %l1, %yes, 2, 1, 0, 0")), "neither 1 nor -1"),
        (mma("m64n8k16.f32.f16.f16", &format!("{d}, %l0, %l1, %yes, 1, 1, 0, 2")), "neither 0 nor 1"),
        (mma("m64n8k16.f32.f16.f16", &format!("{d}, %l0, %l1, %yes, 1, 1, 0")), "transpose bit for each"),
        (mma("m64n8k16.f32.f16.f16", &format!("{d}, %r0, %l1, %yes, 1, 1, 0, 0")), "64-bit registers"),
        ("wgmma.wait_group.sync.aligned %r0;".into(), "cannot execute"),
    ] {
        let error = group.lower(&text).expect_err(&text).to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(error.contains("wgmma"), "{error}");
    }
}
