//! `wmma` from memory to memory. The layout of fragments is recorded (`calibration/h200/wmma_layout.csv`); these tests
//! check that loads, products and stores agree, and their costs.
use crate::common;
use common::{body, body_with, lower, module, threads};
use emulator::{Context, FactorFormat, InstructionKind, KernelArg, LaunchConfig, Options};

/// One product.
#[derive(Clone, Copy, Debug)]
struct Form {
    shape: [u32; 3],
    /// Types of factors, C and D.
    types: [&'static str; 3],
    /// `row` or `col` of A, B, C and D.
    layouts: [&'static str; 4],
    /// `.global`, `.shared`, or nothing.
    space: &'static str,
    /// Padding of rows in elements; `None` omits the stride.
    pad: Option<u32>,
}

/// Addresses of A, B, C and D.
const PLACES: [u32; 4] = [0, 2048, 4096, 8192];
const BYTES: usize = 16384;

fn encode(ty: &str, value: i32) -> Vec<u8> {
    match ty {
        "f16" => half_of(value as f32).to_le_bytes().into(),
        "bf16" => ((value as f32).to_bits() >> 16).to_le_bytes()[..2].into(),
        "tf32" | "f32" => (value as f32).to_le_bytes().into(),
        "s32" => value.to_le_bytes().into(),
        _ => vec![value as u8],
    }
}

/// A small integer as f16.
fn half_of(value: f32) -> u16 {
    let bits = value.to_bits();
    match value {
        0.0 => 0,
        _ => (bits >> 16 & 0x8000) as u16 | ((bits >> 13 & 0x3_ffff) - (112 << 10)) as u16,
    }
}

/// Small numbers that differ between positions.
fn value(matrix: usize, row: u32, column: u32, signed: bool) -> i32 {
    let mixed = (row * 31 + column * 17 + matrix as u32 * 7) * 7919 % 9973;
    let value = (mixed % 9) as i32;
    match (matrix, signed) {
        (2, true) => (mixed % 201) as i32 - 100,
        (2, false) => (mixed % 201) as i32,
        (_, true) => value - 4,
        (_, false) => value,
    }
}

impl Form {
    /// Rows and columns of A, B, C and D.
    fn sizes(&self) -> [[u32; 2]; 4] {
        let [m, n, k] = self.shape;
        [[m, k], [k, n], [m, n], [m, n]]
    }

    fn type_of(&self, matrix: usize) -> &'static str {
        self.types[matrix.saturating_sub(1)]
    }

    fn stride(&self, matrix: usize) -> u32 {
        let [rows, columns] = self.sizes()[matrix];
        let least = if self.layouts[matrix] == "row" {
            columns
        } else {
            rows
        };
        least + self.pad.unwrap_or(0)
    }

    /// The byte of an element.
    fn byte(&self, matrix: usize, row: u32, column: u32) -> usize {
        let index = match self.layouts[matrix] {
            "row" => row * self.stride(matrix) + column,
            _ => column * self.stride(matrix) + row,
        };
        let bytes = encode(self.type_of(matrix), 0).len() as u32;
        (PLACES[matrix] + index * bytes) as usize
    }

    fn signed(&self) -> bool {
        self.types[0] != "u8"
    }

    fn memory(&self) -> Vec<u8> {
        let mut memory = vec![0; BYTES];
        for matrix in 0..3 {
            let [rows, columns] = self.sizes()[matrix];
            for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
                let value = value(matrix, row, column, self.signed());
                let bytes = encode(self.type_of(matrix), value);
                let at = self.byte(matrix, row, column);
                memory[at..at + bytes.len()].copy_from_slice(&bytes);
            }
        }
        memory
    }

    fn text(&self) -> String {
        let [m, n, k] = self.shape;
        let shape = format!("m{m}n{n}k{k}");
        let [factor, c, d] = self.types;
        let (a_count, b_count) = match factor {
            "f16" => (8, 8),
            "bf16" => (m * k / 64, k * n / 64),
            "tf32" => (4, 4),
            _ => (m * k / 128, k * n / 128),
        };
        let sums = |ty| if ty == "f16" { 4 } else { 8 };
        let list = |name: &str, count: u32| {
            let names: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
            format!("{{{}}}", names.join(", "))
        };
        let counts = [a_count, b_count, sums(c), sums(d)];
        let base = if self.space == ".shared" {
            "%s"
        } else {
            "%base"
        };
        let stride = |matrix: usize| match self.pad {
            Some(_) => format!(", {}", self.stride(matrix)),
            None => String::new(),
        };
        let mut text = String::new();
        for (i, name) in ["a", "b", "c"].into_iter().enumerate() {
            text += &format!(
                "wmma.load.{name}.sync.aligned.{}.{shape}{}.{} {}, [{base}+{}]{};\n",
                self.layouts[i],
                self.space,
                self.type_of(i),
                list(name, counts[i]),
                PLACES[i],
                stride(i)
            );
        }
        let formats = match factor {
            "f16" => format!("{d}.{c}"),
            factor => format!("{d}.{factor}.{factor}.{c}"),
        };
        let [a_layout, b_layout, _, d_layout] = self.layouts;
        text += &format!(
            "wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.{formats} {}, {}, {}, {};\n",
            list("d", counts[3]),
            list("a", counts[0]),
            list("b", counts[1]),
            list("c", counts[2]),
        );
        text + &format!(
            "wmma.store.d.sync.aligned.{d_layout}.{shape}{}.{d} [{base}+{}], {}{};\n",
            self.space,
            PLACES[3],
            list("d", counts[3]),
            stride(3)
        )
    }

    /// The whole kernel: shared memory is filled before, and written back after.
    fn ptx(&self) -> String {
        let base = match self.space {
            "" => "cvta.shared.u64 %base, %s64;",
            _ => "mov.u64 %base, %in;",
        };
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.shared .align 128 .b8 tile[{BYTES}];
.visible .entry k(.param .u64 in)\n{{
.reg .b32 %a<8>, %b<8>, %c<8>, %d<8>, %s, %i, %at32, %w;\n.reg .b64 %in, %base, %at, %s64;\n.reg .pred %p;
ld.param.u64 %in, [in];\nmov.u32 %s, tile;\ncvt.u64.u32 %s64, %s;\n{base}
mov.u32 %i, %tid.x;
FILL: mad.wide.u32 %at, %i, 4, %in;\nld.global.u32 %w, [%at];\nmad.lo.u32 %at32, %i, 4, %s;\nst.shared.u32 [%at32], %w;
add.u32 %i, %i, 32;\nsetp.lt.u32 %p, %i, {words};\n@%p bra FILL;\nbar.sync 0;
{}bar.sync 0;
{}ret;\n}}\n",
            self.text(),
            match self.space {
                ".global" => String::new(),
                _ => format!(
                    "mov.u32 %i, %tid.x;\nBACK: mad.wide.u32 %at, %i, 4, %in;\nmad.lo.u32 %at32, %i, 4, %s;\n\
                     ld.shared.u32 %w, [%at32];\nst.global.u32 [%at], %w;\nadd.u32 %i, %i, 32;\n\
                     setp.lt.u32 %p, %i, {words};\n@%p bra BACK;\n",
                    words = BYTES / 4
                ),
            },
            words = BYTES / 4
        )
    }

    fn check(&self) {
        let mut context = Context::new(Options {
            sanitize: true,
            ..Options::default()
        });
        let text = self.ptx();
        let function = context
            .load_module(&text)
            .and_then(|module| module.function("k"));
        let function = function.unwrap_or_else(|error| panic!("{error}\n{text}"));
        let memory = context.upload("in", &self.memory()).expect("room");
        let config = LaunchConfig {
            block: [32, 1, 1],
            ..LaunchConfig::default()
        };
        let report = context.launch(&function, &config, &[KernelArg::Buffer(&memory)]);
        assert_eq!(report.expect("a launch").findings, [], "{self:?}");
        let found = context.read(&memory).expect("there");
        let [m, n, k] = self.shape;
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let signed = self.signed();
            let products = (0..k).map(|k| value(0, row, k, signed) * value(1, k, column, signed));
            let sum = value(2, row, column, signed) + products.sum::<i32>();
            let bytes = encode(self.types[2], sum);
            let at = self.byte(3, row, column);
            assert_eq!(
                found[at..at + bytes.len()],
                bytes,
                "D[{row}][{column}] of {self:?}"
            );
        }
    }
}

const SQUARE: [u32; 3] = [16, 16, 16];
const TALL: [u32; 3] = [32, 8, 16];
const WIDE: [u32; 3] = [8, 32, 16];
const SHORT: [u32; 3] = [16, 16, 8];

#[test]
fn every_form_in_every_layout_and_space() {
    let mut count = 0;
    for (types, shapes) in [
        (["f16", "f32", "f32"], &[SQUARE, TALL, WIDE][..]),
        (["f16", "f16", "f16"], &[SQUARE, TALL, WIDE]),
        (["f16", "f16", "f32"], &[SQUARE, WIDE]),
        (["f16", "f32", "f16"], &[SQUARE, TALL]),
        (["bf16", "f32", "f32"], &[SQUARE, TALL, WIDE]),
        (["tf32", "f32", "f32"], &[SHORT]),
        (["s8", "s32", "s32"], &[SQUARE, TALL, WIDE]),
        (["u8", "s32", "s32"], &[SQUARE, TALL, WIDE]),
    ] {
        for &shape in shapes {
            for bits in 0..16 {
                let layout = |bit: u32| if bits >> bit & 1 == 0 { "row" } else { "col" };
                for space in [".global", ".shared", ""] {
                    let form = Form {
                        shape,
                        types,
                        layouts: [0, 1, 2, 3].map(layout),
                        space,
                        pad: [None, Some(8), Some(16)][count % 3]
                            .filter(|pad| types[0] != "s8" && types[0] != "u8" || *pad == 16),
                    };
                    form.check();
                    count += 1;
                }
            }
        }
    }
    assert_eq!(count, 20 * 48);
}

#[test]
fn the_first_four_k_of_tf32_are_added_first() {
    // A's row: 2^24 at k = 0, 1 at k = 4 and -2^24 at k = 5: the 1 is added to 2^24 where it is lost to rounding.
    let product = |large_k: u32, small_k: u32, minus_k: u32| {
        let text = format!(
            "mov.u32 %r20, tile; mad.lo.u32 %r21, %tid, 4, %r20;
            mov.u32 %r0, 0; st.shared.u32 [%r21], %r0; st.shared.u32 [%r21+128], %r0; st.shared.u32 [%r21+256], %r0; st.shared.u32 [%r21+384], %r0;
            mov.u32 %r0, 0x3f800000; st.shared.u32 [%r21+512], %r0; st.shared.u32 [%r21+640], %r0; st.shared.u32 [%r21+768], %r0;
            st.shared.u32 [%r21+896], %r0; bar.sync 0; setp.eq.u32 %p0, %tid, 0;
            mov.u32 %r0, 0x4d000000; @%p0 st.shared.u32 [%r20+{}], %r0; mov.u32 %r0, 0x3f800000; @%p0 st.shared.u32 [%r20+{}], %r0;
            mov.u32 %r0, 0xcd000000; @%p0 st.shared.u32 [%r20+{}], %r0; bar.sync 0;
            wmma.load.a.sync.aligned.row.m16n16k8.shared.tf32 {{%r0, %r1, %r2, %r3}}, [%r20];
            wmma.load.b.sync.aligned.col.m16n16k8.shared.tf32 {{%r4, %r5, %r6, %r7}}, [%r20+512];
            mov.f32 %f0, 0f00000000;
            wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {{%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}},
            {{%r0, %r1, %r2, %r3}}, {{%r4, %r5, %r6, %r7}}, {{%f0, %f0, %f0, %f0, %f0, %f0, %f0, %f0}}; st.global.f32 [%at], %f1;",
            4 * large_k, 4 * small_k, 4 * minus_k
        );
        let words = body_with(
            &threads(32),
            ".shared .align 128 .b8 tile[1024];",
            &text.replace('\n', " "),
        )
        .clean();
        f32::from_bits(words[0])
    };
    // If 2^27 and -2^27 cancel in the same sum as the 1, 25 bits decide whether it is kept; between two sums it is
    // lost.
    assert_eq!(product(0, 1, 2), 0.0);
    assert_eq!(product(0, 4, 1), 1.0);
    assert_eq!(product(4, 0, 5), 0.0);
    assert_eq!(product(0, 5, 4), 0.0);
}

#[test]
fn a_result_may_be_written_over_its_factors() {
    let text = "mov.u32 %r0, 0x3c003c00; mov.u32 %r1, %r0; mov.u32 %r2, %r0; mov.u32 %r3, %r0; mov.u32 %r4, %r0; mov.u32 %r5, %r0; \
        mov.u32 %r6, %r0; mov.u32 %r7, %r0; mov.u32 %r8, 0; \
        wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, \
        {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r8, %r8, %r8, %r8, %r8, %r8, %r8, %r8}; \
        st.global.u32 [%at], %r0; st.global.u32 [%at+128], %r7;";
    let words = body(&threads(32), text).clean();
    assert!(words[..64].iter().all(|&word| f32::from_bits(word) == 16.0));
}

#[test]
fn movmatrix_transposes() {
    // Element (row, column) is 8 row + column.
    let text = "shl.b32 %r0, %tid, 1; add.u32 %r1, %r0, 1; shl.b32 %r1, %r1, 16; or.b32 %r0, %r0, %r1; \
        movmatrix.sync.aligned.m8n8.trans.b16 %r2, %r0; st.global.u32 [%at], %r2;";
    let words = body(&threads(32), text).clean();
    for lane in 0..32u32 {
        let (row, column) = (lane / 4, lane % 4 * 2);
        let expected = (8 * column + row) | (8 * (column + 1) + row) << 16;
        assert_eq!(words[lane as usize], expected, "lane {lane}");
    }
}

#[test]
fn loads_cost_what_the_machine_codes_loads_cost() {
    const TILE: &str = ".shared .align 128 .b8 tile[4096];";
    let cost = |instruction: &str| {
        let text = format!("mov.u32 %r20, tile; {instruction};");
        let outcome = body_with(
            &common::Setup {
                sanitize: false,
                ..threads(32)
            },
            TILE,
            &text,
        );
        outcome.of("wmma")[0]
    };
    let registers = "{%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}";
    // Four 8x8 matrices by ldmatrix: with rows of 32 bytes, 2-way conflicts; with 48 none.
    for (layout, stride, wavefronts) in [
        ("row", 16, 8),
        ("row", 24, 4),
        ("col", 16, 8),
        ("col", 64, 32),
    ] {
        let counters = cost(&format!(
            "wmma.load.a.sync.aligned.{layout}.m16n16k16.shared.f16 {registers}, [%r20], {stride}"
        ));
        assert_eq!(counters.executions, 1);
        assert_eq!(counters.shared.wavefronts, wavefronts, "{layout} {stride}");
    }
    // From global memory, a request for each 8x8 matrix, 8 sectors each.
    for layout in ["row", "col"] {
        let counters = cost(&format!(
            "wmma.load.b.sync.aligned.{layout}.m16n16k16.global.f16 {registers}, [%out], 16"
        ));
        assert_eq!(
            (counters.global_requests, counters.global_sectors),
            (4, 32),
            "{layout}"
        );
    }
    // Sums of f32: 8 bytes a lane, or one element after the other.
    for (layout, requests) in [("row", 4), ("col", 8)] {
        let counters = cost(&format!(
            "wmma.load.c.sync.aligned.{layout}.m16n16k16.global.f32 {registers}, [%out], 16"
        ));
        assert_eq!(counters.global_requests, requests, "{layout}");
        let counters = cost(&format!(
            "wmma.store.d.sync.aligned.{layout}.m16n16k16.global.f32 [%out], {registers}, 16"
        ));
        assert_eq!(counters.global_requests, requests, "{layout}");
    }
}

#[test]
fn a_wmma_is_a_product_of_its_whole_shape() {
    let text = "wmma.mma.sync.aligned.row.col.m32n8k16.s32.s8.s8.s32.satfinite {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, {%r8, %r9, %r10, %r11}, \
        {%r12}, {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7};";
    let function = lower(&module("", text)).expect("a kernel");
    let products = function
        .instructions()
        .iter()
        .filter_map(|one| match one.kind {
            InstructionKind::Mma(product) => {
                Some((product.m, product.n, product.k, product.factors))
            }
            _ => None,
        });
    assert_eq!(
        products.collect::<Vec<_>>(),
        [(32, 8, 16, FactorFormat::Int8)]
    );
    let kind = |text: &str| {
        let function = lower(&module("", text)).expect(text);
        let mut instructions = function.instructions().iter();
        let found = instructions.find(|one| one.text.starts_with("wmma"));
        found.expect("a wmma").kind.clone()
    };
    let store = kind("wmma.store.d.sync.aligned.col.m16n16k16.f16 [%d0], {%r0, %r1, %r2, %r3};");
    assert!(store.is_store(), "{store:?}");
    let load = kind("wmma.load.c.sync.aligned.col.m16n16k16.f16 {%r0, %r1, %r2, %r3}, [%d0];");
    assert!(load.is_load(), "{load:?}");
}

#[test]
fn unsupported_wmma_is_refused() {
    for text in [
        "wmma.load.a.sync.aligned.col.m8n8k32.s4 {%r0}, [%d0], 32",
        "wmma.mma.sync.aligned.row.col.m8n8k4.rz.f64.f64.f64.f64 {%d0, %d1}, {%d2}, {%d3}, {%d0, %d1}",
        "wmma.load.a.sync.aligned.row.m16n16k16.tf32 {%r0, %r1, %r2, %r3}, [%d0], 16",
        "wmma.load.a.sync.aligned.row.m8n8k128.s4 {%r1}, [%d0], 128",
        "wmma.load.c.sync.aligned.row.m16n16k8.s32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%d0], 16",
        "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite {%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}, {%r0}, {%r0}, {%f0}",
    ] {
        let message = lower(&module("", &format!("{text};")))
            .expect_err(text)
            .to_string();
        assert!(
            message.contains("the emulator cannot execute `wmma."),
            "{message}"
        );
    }
}
