//! PTX that compilers and people write within the grammar, and the errors for text outside it.
use crate::common::{body, body_with, lower, module, threads};
use emulator::{Context, KernelArg, LaunchConfig, Options, ParamKind, Ptx};

#[test]
fn directives_need_no_blank_between_them() {
    let text = "{.reg.b32 t;\n.reg.pred p;\nsetp.lt.u32 p, %tid, 4;\nselp.b32 t, 7, 9, p;\nst.global.u32 [%at], t;}";
    let words = body(&threads(32), text).clean();
    assert_eq!(words[..6], [7, 7, 7, 7, 9, 9]);
}

#[test]
fn an_initial_value_may_be_an_address() {
    let declarations = ".global .align 4 .u32 a[4] = {10, 11, 12, 13}; .const .align 4 .u32 c[2] = {20, 21}; \
        .global .align 8 .u64 table[5] = {generic(a), a+8, generic(c)+4, 5, generic(a + 4)}; .global .u64 one = generic(table);";
    let text = "
mov.u64 %d0, one;
ld.global.u64 %d0, [%d0];
ld.u64 %d1, [%d0]; ld.u32 %r0, [%d1]; st.global.u32 [%out], %r0;
ld.u64 %d1, [%d0+8]; ld.u32 %r0, [%d1]; st.global.u32 [%out+4], %r0;
ld.u64 %d1, [%d0+16]; ld.u32 %r0, [%d1]; st.global.u32 [%out+8], %r0;
ld.u64 %d1, [%d0+24]; cvt.u32.u64 %r0, %d1; st.global.u32 [%out+12], %r0;
ld.u64 %d1, [%d0+32]; ld.u32 %r0, [%d1]; st.global.u32 [%out+16], %r0;";
    let words = body_with(&threads(1), declarations, text).clean();
    assert_eq!(words[..5], [10, 12, 21, 5, 11]);
}

/// A reset of the context also restores addresses in variables.
#[test]
fn addresses_are_there_after_a_reset() -> Result<(), emulator::Error> {
    let ptx = ".version 8.0\n.target sm_80\n.address_size 64\n.global .u32 a = 5;\n.global .u64 p = a;\n\
        .visible .entry k(.param .u64 out) { .reg .b64 %d<3>; .reg .b32 %r; ld.param.u64 %d0, [out];\n\
        ld.global.u64 %d1, [p]; ld.global.u32 %r, [%d1]; st.global.u32 [%d0], %r; mov.u64 %d2, 0; st.global.u64 [p], %d2; ret; }";
    let mut context = Context::new(Options::default());
    let function = context.load_module(ptx)?.function("k")?;
    for _ in 0..2 {
        let out = context.alloc("out", 4)?;
        let report = context.launch(
            &function,
            &LaunchConfig::default(),
            &[KernelArg::Buffer(&out)],
        )?;
        assert_eq!(report.findings, []);
        assert_eq!(context.read(&out)?, [5, 0, 0, 0]);
        context.reset();
    }
    Ok(())
}

#[test]
fn a_table_of_functions_does_not_refuse_the_module() {
    let declarations = ".extern .func f(); .global .u64 table[1] = {f};";
    let words = body_with(
        &threads(1),
        declarations,
        "mov.u32 %r0, 1; st.global.u32 [%out], %r0;",
    );
    assert_eq!(words.clean()[0], 1);
    for (declaration, why) in [
        (
            ".global .u64 p = nowhere;",
            "PTX line 4: `nowhere` is not declared",
        ),
        (".global .u64 p = generic(a;", "PTX line 4: expected `)`"),
        (
            ".global .u64 p[2] = {p, p, p};",
            "PTX line 4: `p` has more initial values than elements",
        ),
        (".global .u64 p = {p;", "PTX line 4: expected `}`"),
    ] {
        let error = lower(&module(declaration, "ret;"))
            .expect_err("a refusal")
            .to_string();
        assert_eq!(error, why);
    }
}

#[test]
fn inline_ptx_that_is_wrong_is_quoted_with_its_line() {
    for (text, why) in [
        (
            "mov.b32 %r0, !nowhere;",
            "PTX line 17 (kernel.cu:17): `nowhere` is not a register, in `mov.b32 %r0, !nowhere`",
        ),
        (
            "add.u32 %r0, %r1, @;",
            "PTX line 17 (kernel.cu:17): expected an operand, in `add.u32 %r0, %r1, @`",
        ),
        (
            "mov.b32 %r0, %r1",
            "PTX line 18 (kernel.cu:17): expected `;`, in `mov.b32 %r0, %r1 ret`",
        ),
        (
            ".reg .b99 x;",
            "PTX line 17 (kernel.cu:17): registers of type `.b99` are not supported",
        ),
    ] {
        let error = Ptx::parse(&module("", text))
            .expect_err("a refusal")
            .to_string();
        assert_eq!(error, why);
    }
}

#[test]
fn parameters_have_kinds_whether_or_not_the_kernel_runs() {
    let ptx = ".version 8.0\n.target sm_80\n.visible .entry k(.param .u64 .ptr .align 1 a, .param .u32 n, .param .f32 x,\n\
        .param .align 2 .b8 h[2], .param .u64 old, .param .f64 y, .param .u64 used) {\n\
        .reg .b64 %a, %b; ld.param.u64 %a, [used]; cvta.to.global.u64 %b, %a; tex.1d.v4.s32.s32 {a, b, c, d}, [t, {x}]; }";
    let parsed = Ptx::parse(ptx).expect("PTX");
    let params = parsed.params("k").expect("a kernel");
    use ParamKind::{Float, Integer, Pointer, Struct};
    let found: Vec<_> = params.iter().map(|one| (one.bytes, one.kind)).collect();
    assert_eq!(
        found,
        [
            (8, Pointer),
            (4, Integer),
            (4, Float),
            (2, Struct),
            (8, Integer),
            (8, Float),
            (8, Pointer)
        ]
    );
    let error = parsed.params("q").expect_err("no such kernel").to_string();
    assert!(
        error.contains("there is no kernel `q` in this PTX, only k"),
        "{error}"
    );
}
