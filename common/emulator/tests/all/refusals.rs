//! Refusals name what the emulator cannot execute: the instruction, its PTX line and its CUDA line.
use crate::common;
use common::{lower, module, threads};
use emulator::Ptx;

fn refusal(text: &str) -> String {
    lower(&module(".shared .b64 bar;", text))
        .expect_err("a refusal")
        .to_string()
}

#[test]
fn unsupported_instructions_are_refused_by_name() {
    for text in [
        "cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r4], [%d1, {%r3, %r3}], [%r4]",
        "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2",
        "multimem.red.add.u32 [%d1], %r1",
        "tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f0, %f1}]",
        "vadd4.u32.u32.u32 %r1, %r2, %r3, %r4",
    ] {
        let expected = format!("PTX line 18 (kernel.cu:18): the emulator cannot execute `{text}`");
        assert_eq!(refusal(&format!("mov.u32 %r0, 0;\n{text};")), expected);
    }
}

#[test]
fn approximations_that_ptx_does_not_have_are_refused() {
    for text in [
        "ex2.approx.f64 %d0, %d1",
        "ex2.approx.ftz.f16 %h0, %h1",
        "ex2.approx.bf16 %h0, %h1",
        "tanh.approx.ftz.f32 %f0, %f1",
        "add.approx.f32 %f0, %f1, %f2",
    ] {
        let expected = format!("PTX line 17 (kernel.cu:17): the emulator cannot execute `{text}`");
        assert_eq!(refusal(&format!("{text};")), expected);
    }
}

#[test]
fn calls_that_cannot_be_inlined() {
    for (declarations, call, why) in [
        (
            ".extern .func (.param .b64 p) malloc(.param .b64 n);",
            "call.uni (r0), malloc, (p0)",
            "there is no device-side malloc in the emulator",
        ),
        (
            ".func two(.param .b32 a, .param .b32 b) { ret; }",
            "call.uni two, (p0)",
            "`two` takes 2 arguments and returns 0 values",
        ),
        (
            ".func wide(.param .b64 a) { ret; }",
            "call.uni wide, (r0)",
            "the argument for `a` has another size",
        ),
    ] {
        let text = format!("{{\n.param .b64 p0;\n.param .b64 p1;\n.param .b32 r0;\n{call};\n}}");
        let error = lower(&module(declarations, &text))
            .expect_err("a refusal")
            .to_string();
        assert!(
            error.ends_with(&format!(
                "the emulator cannot execute `{}`: {why}",
                error.split('`').nth(1).unwrap_or("")
            )),
            "{error}"
        );
        assert!(error.contains("(kernel.cu:21)"), "{error}");
    }
}

#[test]
fn text_that_is_not_ptx() {
    for (text, message) in [
        (
            "",
            "PTX line 1: this is not PTX: it does not start with `.version`",
        ),
        (
            "#include <cuda.h>",
            "PTX line 1: this is not PTX: it does not start with `.version`",
        ),
        (
            ".version 8.0 .target sm_90\n.entry k() {",
            "PTX line 2: a kernel's closing `}` is missing",
        ),
        (
            ".version 8.0 .target sm_90\n.entry k() { bra NOWHERE; }",
            "PTX line 2: the label `NOWHERE` is not defined",
        ),
        (
            ".version 8.0\n/* open",
            "PTX line 2: a comment that starts with /* never ends",
        ),
        (
            ".version 8.0 .target sm_90\n.entry k() { mov.u32 %r0, 1; ret; }",
            "PTX line 2: `mov.u32 %r0, 1` has no register to write to",
        ),
        (
            ".version 8.0\nü",
            "PTX line 2: PTX is ASCII text, and this is not",
        ),
        (
            ".version 8.0 .target sm_90\n.global .b8 a[99999999999];",
            "PTX line 2: `a` is larger than 268435456 bytes",
        ),
        (
            ".version 8.0 .target sm_90\n.entry k() { }",
            "PTX line 2: the kernel `k` is empty",
        ),
    ] {
        let error = lower(text).expect_err("a refusal").to_string();
        assert_eq!(error, message);
    }
    let error = lower(".version 8.0\n.target sm_90\n.entry other() { ret; }")
        .expect_err("a refusal")
        .to_string();
    assert!(
        error.contains("there is no kernel `k` in this PTX, only other"),
        "{error}"
    );
    let ptx = Ptx::parse(".version 8.7\n.target sm_90a\n.entry a() { ret; }\n.entry b() { ret; }")
        .expect("PTX");
    assert_eq!((ptx.version(), ptx.target()), ((8, 7), "sm_90a"));
    assert_eq!(ptx.kernels().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn rounding_left_to_ptxas_is_a_warning() {
    let program = lower(&module(
        "",
        "mul.f32 %f0, %f1, %f2;\nadd.rn.f32 %f0, %f0, %f1;",
    ))
    .expect("a kernel");
    assert_eq!(
        program.warnings(),
        [
            "PTX line 17: `mul.f32 %f0, %f1, %f2` leaves its rounding to ptxas, so the GPU's bits may differ; compile with --fmad=false"
        ]
    );
    let program = lower(&module("", "add.f16x2 %r0, %r1, %r2;")).expect("a kernel");
    assert!(program.warnings()[0].ends_with("write __hmul_rn, __hadd_rn, __hsub_rn or __hfma"));
}

#[test]
fn the_line_of_an_inlined_function_and_of_its_call() {
    let text = module("", "").replace(
        "ret;\n}",
        ".loc 1 7 3\nadd.u32 %r0, %r0, 1;\n.loc 2 40 1, function_name name, inlined_at 1 7 9\nadd.u32 %r0, %r0, 2;\n.loc 2 50 1, function_name name, inlined_at 2 40 5\nadd.u32 %r0, %r0, 3;\nret;\n}\n.file 2 \"/x/helper.cuh\"",
    );
    let program = lower(&text).expect("a kernel");
    let lines: Vec<String> = program.instructions()[4..7]
        .iter()
        .map(|i| {
            let show = |line: &Option<emulator::SourceLine>| {
                line.as_ref().map_or("-".into(), ToString::to_string)
            };
            format!("{} {}", show(&i.source), show(&i.inlined_from))
        })
        .collect();
    assert_eq!(
        lines,
        [
            "kernel.cu:7 -",
            "kernel.cu:7 helper.cuh:40",
            "kernel.cu:7 helper.cuh:50"
        ]
    );
}

#[test]
fn findings_name_the_inlined_function_and_its_line() {
    let bytes = |name: &str| {
        let bytes = name.bytes().map(|byte| byte.to_string());
        bytes.collect::<Vec<_>>().join(",")
    };
    let text = |name: &str| {
        // `gemm` calls `load` in line 7, which calls `copy` in line 40.
        let calls = ".loc 2 40 1, function_name $L__info_string1, inlined_at 1 7 9\nmov.u32 %r1, 8;\n\
             .loc 2 50 1, function_name $L__info_string0, inlined_at 2 40 5\nld.global.u32 %r0, [%out+40000000];\n";
        let strings = format!(
            ".section .debug_str\n{{\n$L__info_string0:\n.b8 {},0\n$L__info_string1:\n.b8 {},0\n}}\n",
            bytes("_Z4copyv"),
            bytes(name)
        );
        module("", "").replace(
            "ret;\n}",
            &format!(".loc 1 7 3\n{calls}ret;\n}}\n{strings}.file 2 \"/x/helper.cuh\""),
        )
    };
    for (mangled, name) in [
        ("_Z4loadPKfi", "load"),
        ("_Z4loadILi8EEvv", "load"),
        ("_ZN3gpu4loadEv", "load"),
        ("_ZL4loadv", "load"),
        ("_ZZ4gemmENKUliE_clEi", "a lambda"),
        ("load", "load"),
        ("_Z99load", "_Z99load"),
    ] {
        let outcome = common::run(&threads(1), &text(mangled)).expect("a launch");
        // The call of `copy` in line 40 is not the kernel's.
        let place = format!(
            "kernel.cu:7 (PTX line 21)\n    in {name}, at helper.cuh:40\n    by thread (0,0,0)"
        );
        assert!(
            outcome.report().contains(&place),
            "{place}: {}",
            outcome.report()
        );
    }
}

/// As ptxas does. Taken for the instruction that it resembles, a misspelt barrier would be one that the hardware never executes.
#[test]
fn modifiers_that_an_opcode_does_not_take_are_refused() {
    let mut wrong = Vec::new();
    for (text, meant) in [
        ("bar.snyc 0;", "bar.sync"),
        ("bar.sync.acquire 0;", "bar.sync"),
        ("bar.sync.aligned 0;", "bar.sync"),
        ("bar.arive 1, 32;", "bar.arrive"),
        ("bar.warp.snyc -1;", "bar.warp.sync"),
        ("barrier.sync.cluster 0;", "barrier.cta.sync"),
        ("barrier.cluster.arrive.acquire;", "barrier.cluster.arrive"),
        ("membar.gpu;", "membar.gl"),
        ("membar.cluster;", "membar.cta"),
        ("membar;", "membar.{cta|gl|sys}"),
        ("fence.sc.gl;", "fence.sc.gpu"),
        ("fence.acq_rell.gpu;", "fence.acq_rel.gpu"),
        ("fence.acq_rel;", "fence.acq_rel.{cta|cluster|gpu|sys}"),
        ("fence.proxy.asinc;", "fence.proxy.async"),
        ("griddepcontrol.weit;", "griddepcontrol.wait"),
        ("elect.snyc _|%p1, -1;", "elect.sync"),
        ("redux.sync.add.b32 %r3, %r1, -1;", "redux.sync.add.u32"),
        ("shfl.up.b32 %r3, %r1, 1, 0;", "shfl.sync.up.b32"),
        ("vote.all.pred %p1, %p2;", "vote.sync.all.pred"),
        (
            "vote.sync.ballot.pred %p1, %p2, -1;",
            "vote.sync.ballot.b32",
        ),
        ("activemask %r3;", "activemask.b32"),
        ("nanosleep.foo 5;", "nanosleep.u32"),
        ("trap.foo;", "trap"),
        ("membar.gl.gl;", "membar.gl"),
        (
            "setmaxnreg.dec.sync.u32 40;",
            "setmaxnreg.dec.sync.aligned.u32",
        ),
        (
            "ld.gpu.global.u32 %r3, [%d1];",
            "ld.{relaxed|acquire}.gpu.global.u32",
        ),
        (
            "ld.release.gpu.global.u32 %r3, [%d1];",
            "ld.relaxed.gpu.global.u32",
        ),
        (
            "st.acquire.gpu.global.u32 [%d1], %r3;",
            "st.release.gpu.global.u32",
        ),
        ("st.global.nc.u32 [%d1], %r3;", "st.global.u32"),
        (
            "atom.relaxed.gl.global.add.u32 %r3, [%d1], %r4;",
            "atom.relaxed.gpu.global.add.u32",
        ),
        (
            "red.acquire.gpu.global.add.u32 [%d1], %r4;",
            "red.gpu.global.add.u32",
        ),
        (
            "mbarrier.arrive.relaxed.shared.b64 _, [%r1];",
            "mbarrier.arrive.relaxed.{cta|cluster}.shared.b64",
        ),
        (
            "mbarrier.try_wait.parity.release.cta.shared.b64 %p1, [%r1], 0;",
            "mbarrier.try_wait.parity.relaxed.cta.shared.b64",
        ),
        (
            "cp.async.mbarrier.arrive.inc.shared.b64 [%r1];",
            "cp.async.mbarrier.arrive.noinc.shared.b64",
        ),
        (
            "cp.async.ca.global.shared::cluster [%r1], [%d1], 4;",
            "cp.async.ca.shared::cta.global",
        ),
        (
            "red.async.add.u32 [%r1], %r3, [%r4];",
            "red.async.relaxed.cluster.mbarrier::complete_tx::bytes.add.u32",
        ),
        (
            "st.async.shared::cluster.b32 [%r1], %r3, [%r4];",
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32",
        ),
        (
            "st.release.shared.u32 [%r1], %r3;",
            "st.release.{cta|cluster|gpu|sys}.shared.u32",
        ),
        (
            "ld.acquire.global.u32 %r3, [%d1];",
            "ld.acquire.{cta|cluster|gpu|sys}.global.u32",
        ),
        ("cp.async.commit.group;", "cp.async.commit_group"),
        ("cp.async.wait.group 0;", "cp.async.wait_group"),
        (
            "cp.async.cg.shared.global.L2::128 [%r1], [%d1], 16;",
            "cp.async.cg.shared.global.L2::128B",
        ),
        (
            "shfl.sync.xor.b32 %r3, %r1, 1, 0, -1;",
            "shfl.sync.{up|down|bfly|idx}.b32",
        ),
        (
            "ld.shared.v4.f16 {%h0, %h1, %h2, %h3}, [%r1];",
            "ld.shared.v4.b16",
        ),
        ("st.shared.bf16 [%r1], %h0;", "st.shared.b16"),
        ("mov.f16 %h0, %h1;", "mov.b16"),
        ("xor.u32 %r0, %r1, %r2;", "xor.b32"),
        ("fma.f32 %f0, %f1, %f2, %f3;", "fma.{rn|rz|rm|rp}.f32"),
        ("div.f32 %f0, %f1, %f2;", "div.{approx|full}.f32"),
        ("div.approx.f64 %d0, %d1, %d2;", "div.approx.f32"),
        ("div.rn.sat.f32 %f0, %f1, %f2;", "div.rn.f32"),
        ("sqrt.approx.sat.f32 %f0, %f1;", "sqrt.approx.f32"),
        ("rcp.full.f32 %f0, %f1;", "rcp.approx.f32"),
    ] {
        let error = lower(&module("", text)).expect_err(text).to_string();
        let says = format!("; did you mean `{meant}`?");
        if !error.contains(&says) {
            wrong.push(format!("{error}, not {meant}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An exact conversion takes no rounding, and another one takes one.
#[test]
fn roundings_that_a_conversion_does_not_take_are_refused() {
    for text in [
        "cvt.rn.f32.f16 %f0, %h1",
        "cvt.rn.f32.f32 %f0, %f1",
        "cvt.rz.s64.s32 %d0, %r1",
        "cvt.rzi.u32.u64 %r0, %d1",
        "cvt.rni.f32.s32 %f0, %r1",
        "cvt.rn.rz.f16.f32 %h0, %f1",
        "cvt.rni.rzi.s32.f32 %r0, %f1",
    ] {
        let expected = format!("PTX line 17 (kernel.cu:17): the emulator cannot execute `{text}`");
        assert_eq!(refusal(&format!("{text};")), expected);
    }
    for text in ["cvt.rn.f32.bf16 %f0, %h1;", "cvt.rni.f32.f32 %f0, %f1;"] {
        lower(&module("", text)).expect(text);
    }
}

/// ptxas: "Rounding modifier required for instruction 'cvt'".
#[test]
fn conversions_that_round_say_how() {
    for text in [
        "cvt.f16.f32 %h0, %f1",
        "cvt.bf16.f32 %h0, %f1",
        "cvt.f32.f64 %f0, %d1",
        "cvt.f32.u32 %f0, %r1",
        "cvt.u32.f32 %r0, %f1",
    ] {
        let says = format!("`{text}` needs a rounding modifier");
        let error = refusal(&format!("{text};"));
        assert!(error.contains(&says), "{error}");
    }
    assert!(lower(&module("", "cvt.f64.f32 %d0, %f1; cvt.f32.f16 %f0, %h1;")).is_ok());
}

/// As wide as the type and of its kind, or of bits; a conversion takes wider ones. ptxas 13.0 accepts and refuses the same.
#[test]
fn registers_have_the_type_that_an_instruction_names() {
    for text in [
        "mov.b32 %r0, %h1",
        "mov.b64 %d0, %f1",
        "mov.u32 %f0, %r1",
        "add.s32 %r0, %r1, %f1",
        "fma.rn.f32 %f0, %f1, %f2, %d1",
        "mad.lo.s32 %r0, %r1, %r2, %f1",
        "shl.b32 %d0, %d1, 3",
        "selp.b32 %r0, %d1, %r1, %p1",
        "lop3.b32 %r0, %r1, %d1, %r2, 0x96",
        "cvt.u32.u16 %h0, %h1",
        "cvt.u32.u16 %f0, %h1",
    ] {
        let says = format!("`{text}` has an operand of another type, or of another size");
        let error = refusal(&format!("{text};"));
        assert!(error.contains(&says), "{error}");
    }
    for text in [
        "mov.b32 %f0, %r1;",
        "add.u32 %r0, %r1, %r2;",
        "shl.b64 %d0, %d1, %r1;",
        "mul.wide.u32 %d0, %r1, %r2;",
        "selp.b32 %f0, %r1, %f1, %p1;",
        "cvt.u16.u32 %r0, %d1;",
    ] {
        lower(&module("", text)).expect(text);
    }
}

/// ptxas does not mind their order.
#[test]
fn modifiers_in_another_order_are_accepted() {
    for text in [
        "fence.gpu.sc;",
        "barrier.red.aligned.popc.u32 %r3, 0, %p1;",
        "ld.global.gpu.u32.acquire %r3, [%d1];",
        "atom.add.v2.f32 {%r3, %r4}, [%d1], {%r5, %r6};",
        "match.sync.any.b32 %r3, %r1, -1;",
        "mbarrier.arrive.cluster.release.shared::cluster.b64 _, [%r1];",
    ] {
        lower(&module("", text)).expect(text);
    }
}

#[test]
fn instructions_that_a_version_or_target_lacks_are_refused() {
    let at = |version: &str, target: &str, line: &str| {
        let text = module("", line)
            .replace("8.8", version)
            .replace("sm_90a", target);
        lower(&text).map(drop).map_err(|error| error.to_string())
    };
    let copy = "cp.async.cg.shared.global [%r1], [%d1], 16;";
    assert_eq!(at("7.0", "sm_80", copy), Ok(()));
    assert_eq!(
        at("6.5", "sm_75", copy),
        Err("PTX line 17 (kernel.cu:17): `cp.async.cg.shared.global [%r1], [%d1], 16` requires PTX ISA .version 7.0 or later, and this \
             module's is 6.5: compile it with a newer CUDA version (PTX ISA, \"cp.async\")".into())
    );
    let error = at("7.0", "sm_75", copy).expect_err("too old a target");
    assert!(
        error.contains(
            "requires .target sm_80 or higher, and this module's is sm_75: compile it for sm_80"
        ),
        "{error}"
    );
    let error = at("8.0", "sm_90", "wgmma.fence.sync.aligned;").expect_err("not specific");
    assert!(
        error
            .contains("requires .target sm_90a, and this module's is sm_90: compile it for sm_90a"),
        "{error}"
    );
    let error = at("7.8", "sm_80", "mov.u32 %r0, %clusterid.x;").expect_err("no clusters");
    assert!(
        error.contains("requires .target sm_90 or higher"),
        "{error}"
    );
    let error = at(
        "7.8",
        "sm_90",
        "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;",
    );
    assert!(
        error
            .expect_err("an old version")
            .contains("requires PTX ISA .version 8.0 or later")
    );
}

#[test]
fn versions_and_targets_that_there_are_not_and_duplicates() {
    let head = ".version 8.0 .target sm_90\n";
    for (text, message) in [
        (
            ".version 7.9\n.target sm_90\n".to_owned(),
            "PTX line 1: there is no PTX ISA .version 7.9; the newest that is known here is 9.2",
        ),
        (
            ".version 8.0\n.target sm_85\n".into(),
            "PTX line 2: there is no .target sm_85; existing ones are sm_80, sm_90 and sm_90a, for example",
        ),
        (
            ".version 7.7\n.target sm_90\n".into(),
            "PTX line 2: PTX ISA .version 7.7 does not have .target sm_90, which came with 7.8",
        ),
        (
            ".version 8.0\n.target sm_90, fast\n".into(),
            "PTX line 2: there is no .target fast",
        ),
        (
            ".version 8.0\n".into(),
            "PTX line 1: `.target` is missing after `.version`",
        ),
        (
            format!("{head}.version 8.0"),
            "PTX line 2: `.version` is stated twice",
        ),
        (
            format!("{head}.entry k() {{ ret; }}\n.entry k() {{ ret; }}"),
            "PTX line 3: `k` is defined twice; first in line 2",
        ),
        (
            format!("{head}.func f() {{ ret; }}\n.func f() {{ ret; }}"),
            "PTX line 3: `f` is defined twice; first in line 2",
        ),
        (
            format!("{head}.entry k() {{ ret; }}\n.func k() {{ ret; }}"),
            "PTX line 3: `k` is defined twice; first in line 2",
        ),
        (
            format!("{head}.global .u32 x;\n.global .u32 x;\n"),
            "PTX line 3: the variable `x` is defined twice",
        ),
    ] {
        assert_eq!(
            Ptx::parse(&text)
                .map(drop)
                .map_err(|error| error.to_string()),
            Err(message.into())
        );
    }
    let prototypes = format!(
        "{head}.func f();\n.func f();\n.func f() {{ ret; }}\n.entry k() {{ call f; ret; }}"
    );
    assert!(lower(&prototypes).is_ok());
}
