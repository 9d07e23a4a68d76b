//! The tables of `wgmma` against execution: operands are stored where a table says, the emulator reads them through
//! the table's descriptor, and the accumulators' table interprets the product.
use emulator::{Context, KernelArg, LaunchConfig, Options};
use half::f16;
use layout::canonical::{Canonical, Major};
use layout::descriptor::{Descriptor, Mode};
use layout::fragment::Fragment;

/// Bytes of shared memory for A, and the same for B.
const WINDOW: u32 = 32 << 10;

/// One operand: its elements by (m or n, k), their offsets from the start of its window, and its descriptor.
struct Operand<'a> {
    mn: u32,
    element: &'a dyn Fn(u32, u32) -> u32,
    byte: &'a dyn Fn(u32, u32) -> u32,
    descriptor: Descriptor,
    major: Major,
}

impl Operand<'_> {
    fn window(&self) -> Vec<u8> {
        let mut bytes = vec![0; WINDOW as usize];
        for (mn, k) in (0..self.mn).flat_map(|mn| (0..16).map(move |k| (mn, k))) {
            let at = (self.byte)(mn, k) as usize;
            let value = f16::from_f32((self.element)(mn, k) as f32);
            bytes[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

/// D = A B, each thread's registers in order.
fn multiply(a: &Operand<'_>, b: &Operand<'_>) -> Vec<f32> {
    let registers = b.mn / 2;
    let list: Vec<String> = (0..registers).map(|i| format!("%d{i}")).collect();
    let bit = |operand: &Operand<'_>| u32::from(operand.major == Major::Mn);
    let stores: String = (0..registers)
        .map(|i| format!("st.global.f32 [%rd5+{}], %d{i};\n", 4 * i))
        .collect();
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 window[];
.visible .entry kernel(.param .u64 in, .param .u64 out)\n{{
.reg .b32 %r<8>;\n.reg .b64 %rd<12>;\n.reg .f32 %d<{registers}>;\n.reg .pred %p<4>;
ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, window;\nmov.u32 %r2, %r0;
COPY: mul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd3, %rd1;\nld.global.u32 %r3, [%rd3];
shl.b32 %r4, %r2, 2;\nadd.u32 %r4, %r4, %r1;\nst.shared.u32 [%r4], %r3;
add.u32 %r2, %r2, 128;\nsetp.lt.u32 %p0, %r2, {words};\n@%p0 bra COPY;
fence.proxy.async;\nbar.sync 0;
shr.u32 %r5, %r1, 4;\ncvt.u64.u32 %rd6, %r5;\nadd.u64 %rd7, %rd6, {a};\nadd.u64 %rd8, %rd6, {b};
setp.ne.u32 %p1, %r0, %r0;\nwgmma.fence.sync.aligned;
wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {{{list}}}, %rd7, %rd8, %p1, 1, 1, {ta}, {tb};
wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;
mul.wide.u32 %rd4, %r0, {stride};\nadd.u64 %rd5, %rd2, %rd4;\n{stores}ret;\n}}\n",
        words = WINDOW / 2,
        a = a.descriptor.encode().expect("a descriptor"),
        b = b.descriptor.encode().expect("a descriptor") + u64::from(WINDOW / 16),
        n = b.mn,
        list = list.join(", "),
        ta = bit(a),
        tb = bit(b),
        stride = 4 * registers,
    );
    let mut context = Context::new(Options {
        sanitize: true,
        ..Options::default()
    });
    let module = context.load_module(&text);
    let function = module
        .and_then(|module| module.function("kernel"))
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let input = [a.window(), b.window()].concat();
    let input = context.upload("in", &input).expect("small");
    let output = context
        .alloc("out", 512 * registers as usize)
        .expect("small");
    let config = LaunchConfig {
        block: [128, 1, 1],
        dynamic_shared: 2 * WINDOW,
        ..LaunchConfig::default()
    };
    let args = [&input, &output].map(KernelArg::Buffer);
    let run = context.launch(&function, &config, &args).expect("a run");
    assert!(run.findings.is_empty(), "{}", run.findings[0]);
    let bytes = context.read(&output).expect("the output");
    bytes
        .chunks_exact(4)
        .map(|word| f32::from_le_bytes(word.try_into().expect("4 bytes")))
        .collect()
}

fn canonical(major: Major, mode: Mode, mn: u32) -> Canonical {
    let layout = Canonical {
        major,
        mode,
        element_bytes: 2,
        mn,
        k: 16,
    };
    layout.checked().expect("a layout")
}

/// D's element (row, column), by the table of the accumulators.
fn at(d: &[f32], n: u32, row: u32, column: u32) -> f32 {
    let (thread, element) = Fragment::Wgmma { n }.holder(row, column).expect("a holder");
    d[(thread * n / 2 + element) as usize]
}

/// D[m][n] = 256 m + n, as products of k = 0 and k = 1.
#[test]
fn every_accumulator_is_where_the_table_says() {
    for n in (8..=256).step_by(8) {
        let places = [64, n].map(|mn| canonical(Major::K, Mode::None, mn));
        let a = Operand {
            mn: 64,
            element: &|m, k| [m, 1].get(k as usize).copied().unwrap_or(0),
            byte: &|m, k| places[0].offset(m, k),
            descriptor: places[0].descriptor(0),
            major: Major::K,
        };
        let b = Operand {
            mn: n,
            element: &|n, k| [256, n].get(k as usize).copied().unwrap_or(0),
            byte: &|n, k| places[1].offset(n, k),
            descriptor: places[1].descriptor(0),
            major: Major::K,
        };
        let d = multiply(&a, &b);
        for (row, column) in (0..64).flat_map(|row| (0..n).map(move |column| (row, column))) {
            assert_eq!(at(&d, n, row, column), (256 * row + column) as f32, "n {n}");
        }
        let fragment = Fragment::Wgmma { n };
        for (i, &found) in (0..).zip(&d) {
            let (row, column) = fragment.at(i / (n / 2), i % (n / 2));
            assert_eq!(found, (256 * row + column) as f32, "n {n}");
        }
    }
}

/// Element (mn, k) of the operand under test is 16 mn + k; the other operand is the identity. The pattern starts at
/// each eighth of 1024 bytes, with the matching base offset.
#[test]
fn every_canonical_layout_is_what_the_emulator_reads() {
    let straight = canonical(Major::K, Mode::None, 64);
    for (major, mode) in [Major::K, Major::Mn]
        .into_iter()
        .flat_map(|major| Mode::ALL.map(|mode| (major, mode)))
    {
        let starts = if mode == Mode::None { 0..1 } else { 0..8 };
        for (start, of_a) in starts.flat_map(|i| [(128 * i, true), (128 * i, false)]) {
            let mn = if of_a { 64 } else { 128 };
            let place = canonical(major, mode, mn);
            let tested = Operand {
                mn,
                element: &|mn, k| 16 * mn + k,
                byte: &|mn, k| start + place.offset(mn, k),
                descriptor: Descriptor {
                    base_offset: Descriptor::base_offset_of(start),
                    ..place.descriptor(start)
                },
                major,
            };
            let identity = Operand {
                mn: if of_a { 16 } else { 64 },
                element: &|mn, k| u32::from(mn == k),
                byte: &|mn, k| straight.offset(mn, k),
                descriptor: straight.descriptor(0),
                major: Major::K,
            };
            let d = match of_a {
                true => multiply(&tested, &identity),
                false => multiply(&identity, &tested),
            };
            for (mn, k) in (0..mn).flat_map(|mn| (0..16).map(move |k| (mn, k))) {
                let found = match of_a {
                    true => at(&d, 16, mn, k),
                    false => at(&d, 128, k, mn),
                };
                assert_eq!(
                    found,
                    (16 * mn + k) as f32,
                    "{place:?} at {start}, A {of_a}, element ({mn}, {k})"
                );
            }
        }
    }
}
