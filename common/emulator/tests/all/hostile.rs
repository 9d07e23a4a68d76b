//! Text and kernels that no one would write never cause a panic or an endless run.
use crate::common;
use common::{Setup, body, lower, module, run, threads};
use emulator::{Buffer, Context, FindingKind, KernelArg, LaunchConfig, Limits, Options};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn pick<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

/// Replaces each letter in an instruction template.
fn fill(random: &mut Random, template: &str, labels: usize) -> String {
    template
        .chars()
        .map(|letter| match letter {
            'W' => format!("%r{}", random.below(6)),
            'D' => format!("%d{}", random.below(6)),
            'H' => format!("%h{}", random.below(6)),
            'P' => format!("%p{}", random.below(6)),
            'L' => format!("L{}", random.below(labels)),
            'A' => random
                .pick(&["%out", "%at", "room", "%d1", "%d2", "wide", "%r0"])
                .into(),
            'S' => random
                .pick(&[
                    "global",
                    "shared",
                    "local",
                    "const",
                    "volatile.global",
                    "param",
                ])
                .into(),
            'T' => random
                .pick(&[
                    "s32", "u32", "s64", "u64", "s16", "u16", "f32", "f64", "f16", "bf16x2",
                ])
                .into(),
            'N' => random
                .pick(&[
                    "0",
                    "1",
                    "-1",
                    "31",
                    "32",
                    "64",
                    "0x80000000",
                    "4294967296",
                    "0f7F800001",
                ])
                .into(),
            other => other.to_string(),
        })
        .collect()
}

const TEMPLATES: &[&str] = &[
    "bra L",
    "@P bra L",
    "@!P bra L",
    "ret",
    "@P exit",
    "bar.sync 0",
    "bar.sync W",
    "barrier.sync W, W",
    "bar.arrive 1, 64",
    "bar.red.popc.u32 W, 0, P",
    "bar.warp.sync W",
    "bar.warp.sync -1",
    "trap",
    "ld.S.u32 W, [A+N]",
    "ld.S.v2.u64 {D, D}, [A]",
    "ld.S.s8 H, [A+N]",
    "st.S.v4.u32 [A+N], {W, W, W, W}",
    "st.S.u16 [A], H",
    "st.u32 [D], W",
    "ld.u8 W, [D+N]",
    "atom.S.add.u32 W, [A], W",
    "atom.cas.b64 D, [D], D, D",
    "atom.S.inc.u32 W, [A], N",
    "red.S.add.f32 [A], W",
    "shfl.sync.idx.b32 W|P, W, W, W, W",
    "vote.sync.ballot.b32 W, P, -1",
    "match.any.sync.b64 W, D, W",
    "redux.sync.add.u32 W, W, W",
    "add.T W, W, W",
    "sub.T D, D, D",
    "mul.lo.T W, W, N",
    "mul.hi.T D, D, N",
    "mad.wide.T D, W, W, D",
    "div.T W, W, W",
    "rem.T D, D, D",
    "rem.T H, H, W",
    "shl.b32 W, W, N",
    "shr.T W, W, W",
    "bfe.T W, W, W, N",
    "bfi.b64 D, D, D, W, W",
    "bfind.shiftamt.T W, W",
    "prmt.b32 W, W, W, W",
    "lop3.b32 W, W, W, W, 0x96",
    "shf.l.wrap.b32 W, W, W, W",
    "setp.lt.and.T P|P, W, W, !P",
    "setp.eq.T P, D, N",
    "set.gt.f16x2.f16x2 W, W, W",
    "selp.T W, W, N, P",
    "selp.pred P, P, N, P",
    "mov.b64 D, {W, W}",
    "mov.b64 {W, W}, D",
    "mov.b32 {H, H}, W",
    "cvt.T.T W, W",
    "cvt.rni.T.f32 W, W",
    "cvt.rn.T.T D, D",
    "cvt.sat.T.T W, H",
    "fma.rn.T W, W, W, W",
    "min.T H, H, H",
    "and.pred P, P, P",
    "not.b16 H, H",
    "add.b128 D, D, D",
    "clz.b16 W, H",
    "cvta.to.shared.u64 D, D",
    "isspacep.local P, D",
    "activemask.b32 W",
    "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {W, W, W, W}, [A]",
    "stmatrix.sync.aligned.m8n8.x1.shared.b16 [A], {W}",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {W, W, W, W}, {W, W}, {W}, {W, W, W, W}",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {W, W, W, W}, D, D, P, 1, -1, 0, 1",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {W, W, W, W}, {W, W, W, W}, D, !P, 1, 1, 0",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {W, W, W, W}, {W, W, W, W}, 64, P, 1, 1, 1",
    "wgmma.fence.sync.aligned",
    "wgmma.commit_group.sync.aligned",
    "wgmma.wait_group.sync.aligned 0",
    "wgmma.wait_group.sync.aligned N",
    "cp.async.cg.shared.global [A], [D], 16",
    "cp.async.commit_group",
    "cp.async.wait_group 1",
    "mov.u64 D, room",
];

/// Instructions of Hopper's asynchrony. `M`: usually an mbarrier; `Q`: a shared address; `C`: a small number.
const HOPPER: &[&str] = &[
    "bra L",
    "@P bra L",
    "@P exit",
    "mbarrier.init.shared.b64 [M], C",
    "mbarrier.inval.shared.b64 [M]",
    "mbarrier.arrive.shared.b64 _, [M]",
    "mbarrier.arrive.shared.b64 D, [M], C",
    "mbarrier.arrive_drop.shared.b64 D, [M]",
    "mbarrier.arrive.noComplete.shared.b64 D, [M], C",
    "mbarrier.arrive.expect_tx.shared.b64 _, [M], W",
    "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [Q]",
    "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [M], 16",
    "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [Q], C",
    "mbarrier.try_wait.parity.shared.b64 P, [M], 0",
    "mbarrier.try_wait.shared.b64 P, [M], D",
    "mbarrier.test_wait.parity.b64 P, [D], W",
    "mbarrier.pending_count.b64 W, D",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [M]",
    "cp.async.cg.shared.global [Q], [%out], 16",
    "cp.async.wait_all",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [Q], [%out], 64, [M]",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [Q], [D], W, [M], C",
    "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [Q], [Q], 32, [Q]",
    "cp.async.bulk.global.shared::cta.bulk_group [%out], [Q], 48",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [Q], [%map, {W, C}], [M]",
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [Q], [%map, {C, W}], [M], C",
    "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%map, {W, N}], [Q]",
    "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [D, {W}], [Q]",
    "cp.async.bulk.commit_group",
    "cp.async.bulk.wait_group C",
    "cp.async.bulk.wait_group.read 0",
    "fence.proxy.async",
    "fence.mbarrier_init.release.cluster",
    "barrier.cluster.arrive.relaxed",
    "barrier.cluster.arrive.aligned",
    "barrier.cluster.wait",
    "bar.sync 0",
    "bar.warp.sync W",
    "mapa.shared::cluster.u32 W, W, C",
    "mapa.u64 D, D, W",
    "getctarank.shared::cluster.u32 W, W",
    "ld.shared::cluster.v2.u32 {W, W}, [Q]",
    "st.shared::cluster.u16 [Q], H",
    "atom.shared::cluster.add.u32 W, [Q], W",
    "ld.u32 W, [D]",
    "elect.sync W|P, W",
    "setmaxnreg.dec.sync.aligned.u32 40",
    "setmaxnreg.inc.sync.aligned.u32 240",
    "ld.shared.u32 W, [Q]",
    "st.shared.u32 [Q], W",
    "mov.u32 W, room",
    "mov.u32 W, bars",
    "cvta.shared.u64 D, D",
    "add.u32 W, W, N",
    "mov.u64 D, %map",
];

/// A kernel of these instructions, partly valid: with initialized mbarriers and correct addresses.
fn hopper(random: &mut Random) -> String {
    let count = 4 + random.below(20);
    let mut text = String::from(
        ".version 8.0\n.target sm_90a\n.shared .align 1024 .b8 room[4096]; .shared .align 8 .b64 bars[4];\n\
         .visible .entry k(.param .align 64 .b8 map[128], .param .u64 out) .maxntid 256, 1, 1\n{\n\
         .reg .b32 %tid, %s, %bar, %r<8>; .reg .b64 %map, %out, %d<8>; .reg .b16 %h<8>; .reg .pred %p<8>;\n\
         mov.u32 %tid, %tid.x; mov.u32 %s, room; mov.u32 %bar, bars; mov.b64 %map, map; cvta.param.u64 %map, %map;\n\
         ld.param.u64 %out, [out]; setp.eq.u32 %p0, %tid, 0; mov.u64 %d0, room; cvta.shared.u64 %d0, %d0;\n\
         mov.u32 %r0, 1; mapa.shared::cluster.u32 %r1, %bar, 0; mov.u64 %d1, %out;\n",
    );
    if random.below(4) > 0 {
        text += "@%p0 mbarrier.init.shared.b64 [%bar], 1; @%p0 mbarrier.init.shared.b64 [%bar+8], 32;\n\
                 fence.mbarrier_init.release.cluster; bar.sync 0;\n";
    }
    for i in 0..count {
        let guard = random.pick(&["", "", "@%p0 ", "@%p1 "]);
        let line: String = random
            .pick(HOPPER)
            .chars()
            .map(|letter| match letter {
                'M' => random
                    .pick(&["%bar", "%bar", "%bar+8", "%bar+16", "%r1", "%s"])
                    .into(),
                'Q' => random
                    .pick(&["%s", "%s+1024", "%r1", "%r2", "%bar", "%s+4080"])
                    .into(),
                'C' => random.pick(&["0", "1", "2", "3", "32"]).into(),
                other => other.to_string(),
            })
            .collect();
        let line = fill(random, &line, count);
        text += &match line.starts_with('@') {
            true => format!("L{i}: {line};\n"),
            false => format!("L{i}: {guard}{line};\n"),
        };
    }
    text + "ret;\n}\n"
}

/// A kernel of random instructions.
fn soup(random: &mut Random) -> String {
    let count = 2 + random.below(14);
    let mut text = String::from("mov.u64 %d1, room;\n");
    for i in 0..count {
        let template = random.pick(TEMPLATES);
        let guard = match (template.starts_with('@'), random.below(4)) {
            (false, 0) => "@P ",
            _ => "",
        };
        let line = fill(random, &format!("{guard}{template}"), count);
        text += &format!("L{i}: {line};\n");
    }
    let declarations = ".shared .align 16 .b8 room[256]; .global .u64 wide[8];";
    module(declarations, &text)
}

/// Removes, duplicates, swaps and truncates pieces of a text.
fn mutate(random: &mut Random, text: &str) -> String {
    let mut pieces: Vec<&str> = text
        .split_inclusive([' ', ',', '.', ';', '\n', '[', '%'])
        .collect();
    for _ in 0..1 + random.below(5) {
        let at = random.below(pieces.len());
        let to = random.below(pieces.len());
        match random.below(6) {
            0 => drop(pieces.splice(at..(at + random.below(8)).min(pieces.len()), [])),
            1 => pieces.swap(at, to),
            2 => pieces.insert(at, pieces[to]),
            3 => pieces.truncate(pieces.len() / 2 + at / 2),
            4 => {
                pieces[at] = random.pick(&[
                    "{", "}", "[", "]", ";", "@", "!", "|", "(", "\"", "/*", "_", "-", "é",
                ])
            }
            _ => {
                pieces[at] = random.pick(&[
                    "0",
                    "18446744073709551615",
                    "-1",
                    "v4.",
                    "pred ",
                    "b128 ",
                    "%r0, ",
                    "L0;",
                    ".reg ",
                ])
            }
        }
        if pieces.is_empty() {
            break;
        }
    }
    pieces.concat()
}

/// A valid map of a tensor that may be larger than its buffer.
fn tensor_map(random: &mut Random, context: &Context, buffer: &Buffer) -> Vec<u8> {
    let dimensions = [[8, 64], [40, 3], [1 << 32, 1 << 32]][random.below(3)];
    let strides = [[16], [80], [(1 << 40) - 16], [0]][random.below(4)];
    let tile = [[8, 8], [16, 64], [32, 1], [256, 256]][random.below(4)];
    let map = emulator::TensorMap {
        element: emulator::Element::F16,
        dimensions: &dimensions,
        strides: &strides,
        tile: &tile,
        element_strides: &[1, 1 + random.below(3) as u32],
        swizzle: [emulator::Swizzle::None, emulator::Swizzle::B64][random.below(2)],
        fill: emulator::Fill::Nan,
    };
    let map = context.tensor_map(buffer, &map);
    map.map_or(vec![1; 128], |bytes| bytes.to_vec())
}

/// Does everything that can be done with a text, with small limits.
fn survive(random: &mut Random, text: &str) -> bool {
    let mut context = Context::new(Options::default());
    let Ok(module) = context.load_module(text) else {
        return false;
    };
    let Some(name) = module.functions().next() else {
        return false;
    };
    let Ok(function) = module.function(name) else {
        return false;
    };
    let out = context.upload("out", &[0x3c; 4096]).expect("room");
    let mut args = Vec::new();
    for param in function.params() {
        args.push(match param.bytes {
            8 => out.address().to_le_bytes().to_vec(),
            128 => tensor_map(random, &context, &out),
            bytes => vec![1; bytes as usize],
        });
    }
    let cluster = 1 + random.below(2) as u32;
    let config = LaunchConfig {
        grid: [cluster * (1 + random.below(2) as u32), 1, 1],
        block: [[1, 32, 33, 64, 128, 256][random.below(6)], 1, 1],
        cluster: [cluster, 1, 1],
        ..LaunchConfig::default()
    };
    *context.options_mut() = Options {
        sanitize: random.below(2) == 0,
        schedule: random.next() % 3,
        limits: Limits {
            instructions: 2000,
            blocks: 16,
            memory: 1 << 26,
            ..Limits::default()
        },
        ..Options::default()
    };
    let args: Vec<KernelArg<'_>> = args.iter().map(|bytes| KernelArg::Bytes(bytes)).collect();
    if let Ok(report) = context.launch(&function, &config, &args) {
        report
            .findings
            .iter()
            .for_each(|finding| drop(finding.to_string()));
    }
    true
}

#[test]
fn random_kernels_and_broken_text() {
    let mut random = Random(1);
    let mut ran = 0;
    for _ in 0..4000 {
        let text = soup(&mut random);
        ran += u32::from(survive(&mut random, &text));
        let broken = mutate(&mut random, &text);
        ran += u32::from(survive(&mut random, &broken));
    }
    // Most kernels have an instruction that is refused, but enough have none.
    assert!(ran > 500, "only {ran} kernels ran");
}

#[test]
fn random_kernels_of_hopper() {
    let mut random = Random(2);
    let mut ran = 0;
    for _ in 0..COUNT {
        let text = hopper(&mut random);
        ran += u32::from(survive(&mut random, &text));
    }
    assert!(ran > COUNT / 3, "only {ran} kernels ran");
}

/// The number of random Hopper kernels.
const COUNT: u32 = 3000;

#[test]
fn what_the_fuzzer_found() {
    // The last byte of all addresses, far from every allocation.
    let outcome = body(&threads(1), "mov.u64 %d0, -1;\nst.u8 [%d0], %tid;");
    assert!(matches!(
        outcome.findings[0].kind,
        FindingKind::OutOfBounds { .. }
    ));
    // A divisor of 16 bits that is zero.
    for op in ["rem.s16", "rem.u16", "div.s16", "div.u16"] {
        let words = body(
            &threads(1),
            &format!(
                "mov.u32 %r0, 0x10000;\ncvt.u16.u32 %h2, %r0;\nmov.u16 %h1, 5;\n{op} %h0, %h1, %h2;\nst.global.u16 [%out], %h0;"
            ),
        );
        assert_eq!(words.clean()[0] & 0xffff, 0xffff);
    }
}

#[test]
fn large_texts_are_refused_or_done_in_time() {
    let head = ".version 8.0\n.target sm_90\n";
    let repeat = |n: usize, f: &dyn Fn(usize) -> String| (0..n).map(f).collect::<String>();
    let functions = repeat(60, &|i| {
        let call = format!("call.uni f{};", i.wrapping_sub(1));
        let calls = if i == 0 {
            String::new()
        } else {
            call.repeat(2)
        };
        format!(".func f{i}() {{ {calls} bar.sync 0; ret; }}\n")
    });
    let cases = [
        (
            format!(".entry k() {{ {} ret; }}", "{}".repeat(50_000)),
            None,
        ),
        (
            format!(".entry k() {{ {} ret; }}", "{".repeat(1000)),
            Some("braces are nested too deeply"),
        ),
        (
            format!(
                ".entry k() {{ .reg .b32 %a; mov.u32 %a, {}1; }}",
                "-".repeat(1000)
            ),
            Some("brackets are nested too deeply"),
        ),
        (
            ".entry k() { .reg .b32 %r<4000000000>; ret; }".into(),
            Some("more than 1048576 registers"),
        ),
        (
            format!(
                ".entry k({}.param .b8 z[4]) {{ ret; }}",
                ".param .b8 a[32764], ".repeat(10)
            ),
            Some("bytes of parameters"),
        ),
        (
            format!(
                "{} .entry k() {{ ret; }}",
                repeat(9, &|i| format!(".global .b8 g{i}[268435456];"))
            ),
            Some("does not fit its memory"),
        ),
        (
            ".shared .b8 s[49153]; .entry k() { ret; }".into(),
            Some("48 KiB"),
        ),
        (
            format!("{functions} .entry k() {{ call.uni f59; ret; }}"),
            Some("after inlining"),
        ),
        (
            format!(
                ".entry k() {{ .reg .b32 %r; X: T: .branchtargets {} X; {} ret; }}",
                "X,".repeat(20_000),
                "brx.idx %r, T;".repeat(200)
            ),
            Some("operations"),
        ),
        (
            format!(
                ".entry k() {{ {} }}",
                repeat(20_000, &|i| format!("bra L{i};"))
            ),
            Some("forward branches"),
        ),
        (
            format!(
                ".entry k() {{ .reg .pred %p; {} {} ret; }}",
                repeat(5000, &|i| format!("L{i}: bar.sync 0;")),
                repeat(5000, &|i| format!("@%p bra L{i};"))
            ),
            None,
        ),
    ];
    for (text, refusal) in cases {
        match (lower(&format!("{head}{text}")), refusal) {
            (Ok(_), None) => {}
            (Err(error), Some(words)) if error.to_string().contains(words) => {}
            (result, _) => panic!(
                "{refusal:?}: {:?}\n{}",
                result.err(),
                &text[..100.min(text.len())]
            ),
        }
    }
}

#[test]
fn a_limit_of_nothing() {
    let setup = Setup {
        limits: Limits {
            instructions: 0,
            blocks: 0,
            memory: 0,
            stack: 0,
        },
        ..threads(32)
    };
    assert!(run(&setup, &module("", "")).is_err());
}
