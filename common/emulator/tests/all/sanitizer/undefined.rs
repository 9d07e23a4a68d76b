//! Registers and local memory that no instruction has written.
use crate::common::pairs::{Pair, check};
use crate::common::{Setup, body_with, threads};

const PAIRS: &[Pair] = &[
    Pair {
        name: "an accumulator",
        declarations: "",
        wrong: "mov.u32 %r0, 0;
            LOOP:
            cvt.rn.f32.u32 %f1, %r0;
            fma.rn.f32 %f0, %f1, %f1, %f0;
            add.u32 %r0, %r0, 1;
            setp.lt.u32 %p0, %r0, 4;
            @%p0 bra LOOP;
            st.global.f32 [%at], %f0; //~ Uninitialized register stored to memory",
        right: "mov.u32 %r0, 0;
            mov.f32 %f0, 0f00000000;
            LOOP:
            cvt.rn.f32.u32 %f1, %r0;
            fma.rn.f32 %f0, %f1, %f1, %f0;
            add.u32 %r0, %r0, 1;
            setp.lt.u32 %p0, %r0, 4;
            @%p0 bra LOOP;
            st.global.f32 [%at], %f0;",
    },
    Pair {
        name: "in some lanes, written by one side of a branch",
        declarations: "",
        wrong: "setp.lt.u32 %p0, %tid, 20;
            @!%p0 bra JOIN;
            mov.u32 %r0, 7;
            JOIN:
            st.global.u32 [%at], %r0; //~ by thread (20,0,0)",
        right: "setp.lt.u32 %p0, %tid, 20;
            @!%p0 bra JOIN;
            mov.u32 %r0, 7;
            JOIN:
            @%p0 st.global.u32 [%at], %r0;",
    },
    Pair {
        name: "a condition",
        declarations: "",
        wrong: "setp.lt.u32 %p1, %tid, 9;
            @%p1 mov.u32 %r0, 1;
            setp.eq.u32 %p0, %r0, 0;
            @%p0 bra END; //~ Uninitialized register used as a condition
            st.global.u32 [%at], %tid;
            END:",
        // The compiler's way to write `b && x > 3` where x is only read if b.
        right: "setp.ge.u32 %p1, %tid, 9;
            @!%p1 mov.u32 %r0, 1;
            setp.eq.u32 %p0, %r0, 0;
            or.pred %p2, %p1, %p0;
            @%p2 bra END;
            st.global.u32 [%at], %tid;
            END:",
    },
    Pair {
        name: "an address",
        declarations: ".shared .u32 a[64];",
        wrong: "mov.u32 %r0, a;
            and.b32 %r1, %r2, 60;
            add.u32 %r1, %r1, %r0;
            st.shared.u32 [%r1], 7; //~ Uninitialized register used as an address",
        right: "mov.u32 %r0, a;
            and.b32 %r1, %r2, 0;
            mad.lo.u32 %r1, %tid, 4, %r1;
            add.u32 %r1, %r1, %r0;
            st.shared.u32 [%r1], %tid;",
    },
    Pair {
        name: "a global address, under an undefined predicate",
        declarations: "",
        wrong: "selp.u32 %r0, 4, 0, %p3;
            cvt.u64.u32 %d0, %r0;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0]; //~ Uninitialized register used as an address
            st.global.u32 [%at], %r1;",
        right: "selp.u32 %r0, 4, 4, %p3;
            cvt.u64.u32 %d0, %r0;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0+2048];
            st.global.u32 [%at], %r1;",
    },
    Pair {
        name: "arithmetic that cancels",
        declarations: "",
        wrong: "xor.b32 %r1, %r0, %r2;
            st.global.u32 [%at], %r1; //~ stored to memory",
        right: "xor.b32 %r1, %r0, %r0;
            sub.u32 %r2, %r0, %r0;
            mul.lo.u32 %r3, %r0, 0;
            lop3.b32 %r4, %r0, %r1, %r2, 0x00;
            st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};",
    },
    Pair {
        name: "half of a register",
        declarations: "",
        wrong: "mov.u16 %h0, 5;
            mov.b32 %r0, {%h0, %h1};
            shr.u32 %r1, %r0, 8;
            cvt.u16.u32 %h2, %r1;
            add.u16 %h2, %h2, 1;
            st.global.u16 [%at], %h2; //~ stored to memory",
        right: "mov.u16 %h0, 5;
            mov.b32 %r0, {%h0, %h1};
            st.global.u16 [%at], %r0;
            st.global.u32 [%at+2048], %r0;",
    },
    Pair {
        name: "a vector store: a computed value, and padding",
        declarations: "",
        wrong: "mul.wide.u32 %at, %tid, 16;
            add.u64 %at, %at, %out;
            add.u32 %r3, %r3, 1;
            st.global.v4.u32 [%at], {%tid, %tid, %tid, %r3}; //~ stored to memory",
        right: "mul.wide.u32 %at, %tid, 16;
            add.u64 %at, %at, %out;
            st.global.v4.u32 [%at], {%tid, %tid, %tid, %r3};",
    },
    Pair {
        name: "a shuffle from another lane",
        declarations: "",
        wrong: "setp.eq.u32 %p0, %tid, 3;
            mov.u32 %r0, %tid;
            @%p0 mov.u32 %r0, %r5;
            shfl.sync.bfly.b32 %r1, %r0, 1, 31, 0xffffffff;
            st.global.u32 [%at], %r1; //~ by thread (2,0,0)",
        right: "setp.eq.u32 %p0, %tid, 3;
            mov.u32 %r0, %tid;
            @%p0 mov.u32 %r0, %r5;
            shfl.sync.idx.b32 %r1, %r0, 1, 31, 0xffffffff;
            st.global.u32 [%at], %r1;",
    },
    Pair {
        name: "a vote",
        declarations: "",
        wrong: "setp.gt.u32 %p0, %r3, 4;
            vote.sync.ballot.b32 %r0, %p0, 0xffffffff;
            st.global.u32 [%at], %r0; //~ stored to memory",
        right: "setp.gt.u32 %p0, %r3, 4;
            setp.lt.u32 %p1, %tid, 32;
            or.pred %p0, %p0, %p1;
            vote.sync.ballot.b32 %r0, %p0, 0xffffffff;
            st.global.u32 [%at], %r0;",
    },
    Pair {
        name: "an atomic's operand",
        declarations: ".shared .u32 a;",
        wrong: "st.shared.u32 [a], 0;
            bar.sync 0;
            add.u32 %r0, %r0, 1;
            atom.shared.add.u32 %r1, [a], %r0; //~ stored to memory",
        right: "st.shared.u32 [a], 0;
            bar.sync 0;
            mov.u32 %r0, 1;
            atom.shared.add.u32 %r1, [a], %r0;",
    },
    Pair {
        name: "a barrier's number",
        declarations: "",
        wrong: "and.b32 %r0, %r0, 0x1;
            bar.sync %r0, 32; //~ used as an operand",
        right: "and.b32 %r0, %r0, 0x0;
            bar.sync %r0, 32;",
    },
    Pair {
        name: "a matrix product's accumulator",
        declarations: "",
        wrong: "mov.u32 %r0, 0x3c003c00;
            mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0}, {%r0}, {%f0, %f1, %f2, %f3}; //~ used in a matrix product
            st.global.f32 [%at], %f0;",
        right: "mov.u32 %r0, 0x3c003c00;
            mov.f32 %f0, 0f00000000;
            mov.f32 %f1, %f0;
            mov.f32 %f2, %f0;
            mov.f32 %f3, %f0;
            mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r0}, {%r0}, {%f0, %f1, %f2, %f3};
            st.global.f32 [%at], %f0;",
    },
    Pair {
        name: "a matrix product's factor",
        declarations: "",
        wrong: "mov.u32 %r0, 0x3c003c00;
            mov.f32 %f0, 0f00000000;
            mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r0, %r1}, {%r0}, {%f0, %f0, %f0, %f0}; //~ used in a matrix product
            st.global.f32 [%at], %f4;",
        right: "mov.u32 %r0, 0x3c003c00;
            mov.u32 %r1, 0;
            mov.f32 %f0, 0f00000000;
            mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r0, %r1}, {%r0}, {%f0, %f0, %f0, %f0};
            st.global.f32 [%at], %f4;",
    },
    Pair {
        name: "local memory",
        declarations: "",
        wrong: ".local .align 4 .b8 room[16]; mov.u64 %d0, room;
            st.local.u32 [%d0], %tid;
            ld.local.u32 %r0, [%d0+4];
            st.global.u32 [%at], %r0; //~ stored to memory",
        right: ".local .align 4 .b8 room[16]; mov.u64 %d0, room;
            st.local.u32 [%d0], %tid;
            ld.local.u32 %r0, [%d0];
            ld.local.u32 %r1, [%d0+4];
            st.global.u32 [%at], %r0;",
    },
    Pair {
        name: "local memory by a generic address, of which some lanes have written the other half",
        declarations: "",
        wrong: ".local .align 8 .b8 room[8]; mov.u64 %d0, room; cvta.local.u64 %d0, %d0;
            and.b32 %r1, %tid, 1;
            mul.wide.u32 %d1, %r1, 4;
            add.u64 %d1, %d1, %d0;
            st.u32 [%d1], %tid;
            ld.u64 %d2, [%d0];
            shr.u64 %d2, %d2, 32;
            cvt.u32.u64 %r0, %d2;
            st.global.u32 [%at], %r0; //~ by thread (0,0,0)",
        right: ".local .align 8 .b8 room[8]; mov.u64 %d0, room; cvta.local.u64 %d0, %d0;
            st.u32 [%d0], %tid;
            ld.u64 %d2, [%d0];
            cvt.u32.u64 %r0, %d2;
            st.global.u32 [%at], %r0;",
    },
    Pair {
        name: "a copy of a struct with a hole, through local memory",
        declarations: "",
        wrong: ".local .align 8 .b8 room[16]; mov.u64 %d0, room;
            st.local.u16 [%d0], %tid;
            ld.local.u32 %r0, [%d0];
            add.u32 %r0, %r0, 1;
            st.global.u32 [%at], %r0; //~ stored to memory",
        right: ".local .align 8 .b8 room[16]; mov.u64 %d0, room;
            st.local.u16 [%d0], %tid;
            ld.local.u32 %r0, [%d0];
            st.local.u32 [%d0+8], %r0;
            ld.local.u32 %r1, [%d0+8];
            st.global.u32 [%at], %r1;",
    },
];

/// Recursive functions: each activation has registers and local memory of its own.
const FUNCTIONS: &str = "\
    .func (.param .b32 r) total(.param .b32 n) { .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.eq.u32 %p, %a0, 0; @%p bra DONE; \
      { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), total, (x); ld.param.b32 %a2, [y]; } \
      add.u32 %a3, %a2, %a0; DONE: st.param.b32 [r], %a3; ret; } \
    .func (.param .b32 r) total_ok(.param .b32 n) { .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; mov.u32 %a3, 0; setp.eq.u32 %p, %a0, 0; @%p bra DONE; \
      { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), total_ok, (x); ld.param.b32 %a2, [y]; } \
      add.u32 %a3, %a2, %a0; DONE: st.param.b32 [r], %a3; ret; } \
    .func (.param .b32 r) deepest(.param .b32 n) { .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.eq.u32 %p, %a0, 0; @!%p bra CALL; mov.u32 %a4, 5; bra DONE; \
      CALL: { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), deepest, (x); ld.param.b32 %a2, [y]; } \
      DONE: st.param.b32 [r], %a4; ret; } \
    .func (.param .b32 r) deepest_ok(.param .b32 n) { .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.eq.u32 %p, %a0, 0; @!%p bra CALL; mov.u32 %a4, 5; bra DONE; \
      CALL: { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), deepest_ok, (x); ld.param.b32 %a4, [y]; } \
      DONE: st.param.b32 [r], %a4; ret; } \
    .func (.param .b32 r) frame(.param .b32 n) { .local .align 4 .b8 room[8]; .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.eq.u32 %p, %a0, 0; @%p bra DONE; \
      st.local.u32 [room], %a0; { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), frame, (x); ld.param.b32 %a2, [y]; } \
      DONE: ld.local.u32 %a3, [room]; st.param.b32 [r], %a3; ret; } \
    .func (.param .b32 r) frame_ok(.param .b32 n) { .local .align 4 .b8 room[8]; .reg .pred %p; .reg .b32 %a<6>; ld.param.b32 %a0, [n]; setp.eq.u32 %p, %a0, 0; st.local.u32 [room], %a0; @%p bra DONE; \
      { .param .b32 x; .param .b32 y; sub.u32 %a1, %a0, 1; st.param.b32 [x], %a1; call.uni (y), frame_ok, (x); ld.param.b32 %a2, [y]; } \
      DONE: ld.local.u32 %a3, [room]; st.param.b32 [r], %a3; ret; }";

/// Calls a function with 0 to 2 and stores what it returns.
macro_rules! calls {
    ($function:literal, $finding:literal) => {
        concat!(
            "rem.u32 %r0, %tid, 3; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), ",
            $function,
            ", (x); ld.param.b32 %r1, [y]; }
            st.global.u32 [%at], %r1;",
            $finding
        )
    };
}

#[test]
fn functions_that_are_called_are_traced() {
    let pair = |name, wrong, right| Pair {
        name,
        declarations: FUNCTIONS,
        wrong,
        right,
    };
    check(
        &threads(32),
        &[
            pair(
                "the sum of the deepest call",
                calls!("total", " //~ Uninitialized register stored to memory"),
                calls!("total_ok", ""),
            ),
            pair(
                "a deeper call does not initialize the caller's variables",
                calls!("deepest", " //~ by thread (1,0,0)"),
                calls!("deepest_ok", ""),
            ),
            pair(
                "local memory of a frame",
                calls!("frame", " //~ stored to memory"),
                calls!("frame_ok", ""),
            ),
            pair(
                "the kernel's own register, around a call",
                "rem.u32 %r0, %tid, 3; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), total_ok, (x); ld.param.b32 %r1, [y]; }
                add.u32 %r2, %r1, %r3; st.global.u32 [%at], %r2; //~ stored to memory",
                "mov.u32 %r3, 4; rem.u32 %r0, %tid, 3; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r0; call.uni (y), total_ok, (x); ld.param.b32 %r1, [y]; }
                add.u32 %r2, %r1, %r3; st.global.u32 [%at], %r2;",
            ),
        ],
    );
}

#[test]
fn undefined_values_are_reported_where_they_are_used() {
    check(&threads(32), PAIRS);
}

#[test]
fn the_first_read_is_named() {
    let outcome = body_with(
        &threads(32),
        "",
        "add.u32 %r1, %r0, 1;
        mul.lo.u32 %r1, %r1, 3;
        st.global.u32 [%at], %r1;",
    );
    assert_eq!(
        outcome.report(),
        "Uninitialized register stored to memory\n    at kernel.cu:19 (PTX line 19)\n    \
         by thread (0,0,0) in block (0,0,0)\n    \
         read at kernel.cu:17 (PTX line 17) before any instruction had written it"
    );
}

#[test]
fn without_the_sanitizer_registers_are_poisoned() {
    let setup = Setup {
        sanitize: false,
        ..threads(32)
    };
    let text =
        "st.global.u32 [%at], %r0; add.f32 %f0, %f0, 0f3f800000; st.global.f32 [%at+128], %f0;";
    let words = body_with(&setup, "", text).clean();
    assert!(words[0] != 0 && f32::from_bits(words[32]).is_nan());
}
