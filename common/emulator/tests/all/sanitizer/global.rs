//! Races in global memory between unordered threads, warps and blocks.
use crate::common::pairs::{Pair, check};
use crate::common::{Setup, body_with, threads};

/// `%r30`: the thread's number in the grid; `%d14`: the address of its word of the output.
const WHO: &str = "mov.u32 %r29, %ctaid.x; mov.u32 %r28, %ntid.x; mad.lo.u32 %r30, %r29, %r28, %tid; mul.wide.u32 %d14, %r30, 4; add.u64 %d14, %d14, %out;";

fn with_who(pairs: &[Pair]) -> Vec<Pair> {
    let whole = |body: &str| -> &'static str { format!("{WHO}\n{body}").leak() };
    let pairs = pairs.iter().map(|pair| Pair {
        wrong: whole(pair.wrong),
        right: whole(pair.right),
        ..*pair
    });
    pairs.collect()
}

fn blocks(grid: u32, block: u32) -> Setup {
    Setup {
        grid: [grid, 1, 1],
        ..threads(block)
    }
}

const WITHIN_A_BLOCK: &[Pair] = &[
    Pair {
        name: "a word of another warp, without a barrier",
        declarations: "",
        wrong: "st.global.u32 [%d14], %tid; //~ Race reported between Write access
            xor.b32 %r0, %tid, 32;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            bar.sync 0;
            st.global.u32 [%d14], %r1;",
        right: "st.global.u32 [%d14], %tid;
            bar.sync 0;
            xor.b32 %r0, %tid, 32;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            bar.sync 0;
            st.global.u32 [%d14], %r1;",
    },
    Pair {
        name: "a word of another lane, without __syncwarp",
        declarations: "",
        wrong: "st.global.u32 [%d14], %tid; //~ Race reported between Write access
            xor.b32 %r0, %tid, 1;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            st.global.u32 [%d14+2048], %r1;",
        right: "st.global.u32 [%d14], %tid;
            bar.warp.sync 0xffffffff;
            xor.b32 %r0, %tid, 1;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            st.global.u32 [%d14+2048], %r1;",
    },
    Pair {
        name: "the barrier at the end of a loop",
        declarations: "",
        wrong: "xor.b32 %r0, %tid, 32; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out; mov.u32 %r2, 0;
            LOOP:
            add.u32 %r3, %r2, %tid;
            st.global.u32 [%d14], %r3; //~ Race reported between
            bar.sync 0;
            ld.global.u32 %r1, [%d0];
            add.u32 %r2, %r2, 1;
            setp.lt.u32 %p0, %r2, 3;
            @%p0 bra LOOP;",
        right: "xor.b32 %r0, %tid, 32; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out; mov.u32 %r2, 0;
            LOOP:
            add.u32 %r3, %r2, %tid;
            st.global.u32 [%d14], %r3;
            bar.sync 0;
            ld.global.u32 %r1, [%d0];
            bar.sync 0;
            add.u32 %r2, %r2, 1;
            setp.lt.u32 %p0, %r2, 3;
            @%p0 bra LOOP;",
    },
    Pair {
        name: "two warps write one word",
        declarations: "",
        wrong: "and.b32 %r0, %tid, 31;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            st.global.u32 [%d0], %tid; //~ Race reported between Write access",
        // The same value, whichever comes last.
        right: "and.b32 %r0, %tid, 31;
            mul.wide.u32 %d0, %r0, 4;
            add.u64 %d0, %d0, %out;
            st.global.u32 [%d0], %r0;",
    },
    Pair {
        name: "a vector that overlaps the next thread's word",
        declarations: "",
        wrong: "mul.wide.u32 %d0, %tid, 8;
            add.u64 %d0, %d0, %out;
            add.u32 %r0, %tid, 5;
            st.global.v4.u32 [%out], {%r0, %r0, %r0, %r0}; //~ Race reported between Write access
            st.global.v2.u32 [%d0+16], {%r0, %r0};",
        right: "mul.wide.u32 %d0, %tid, 8;
            add.u64 %d0, %d0, %out;
            add.u32 %r0, %tid, 5;
            setp.eq.u32 %p0, %tid, 0;
            @%p0 st.global.v4.u32 [%out], {%r0, %r0, %r0, %r0};
            st.global.v2.u32 [%d0+16], {%r0, %r0};",
    },
    Pair {
        name: "an atomic and an ordinary load",
        declarations: ".global .u32 sum;",
        wrong: "red.global.add.u32 [sum], 1; //~ Race reported between Atomic access
            ld.global.u32 %r0, [sum];
            st.global.u32 [%d14], %r0;",
        right: "red.global.add.u32 [sum], 1;
            bar.sync 0;
            ld.global.u32 %r0, [sum];
            st.global.u32 [%d14], %r0;",
    },
    Pair {
        name: "cp.async reads what another warp has just written",
        declarations: ".shared .align 16 .b8 tile[4096];",
        wrong: "mov.u32 %r1, tile; mad.lo.u32 %r1, %tid, 4, %r1;
            xor.b32 %r0, %tid, 32; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            st.global.u32 [%d14], %tid; //~ Race reported between Write access
            cp.async.ca.shared.global [%r1], [%d0], 4;
            cp.async.wait_all;",
        right: "mov.u32 %r1, tile; mad.lo.u32 %r1, %tid, 4, %r1;
            xor.b32 %r0, %tid, 32; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            st.global.u32 [%d14], %tid;
            bar.sync 0;
            cp.async.ca.shared.global [%r1], [%d0], 4;
            cp.async.wait_all;",
    },
];

#[test]
fn within_a_block() {
    check(&blocks(1, 64), &with_who(WITHIN_A_BLOCK));
}

const BETWEEN_BLOCKS: &[Pair] = &[
    Pair {
        name: "a neighboring block's word, as if blocks ran one after the other",
        declarations: "",
        wrong: "st.global.u32 [%d14], %r30; //~ Race reported between Write access
            ld.global.u32 %r1, [%d14+128];
            st.global.u32 [%d14+2048], %r1;",
        right: "st.global.u32 [%d14], %r30;
            ld.global.u32 %r1, [%d14+1024];
            st.global.u32 [%d14+2048], %r1;",
    },
    Pair {
        name: "a barrier orders one block only",
        declarations: "",
        wrong: "st.global.u32 [%d14], %r30; //~ Race reported between Write access
            bar.sync 0;
            xor.b32 %r0, %r30, 32; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            st.global.u32 [%d14+2048], %r1;",
        right: "st.global.u32 [%d14], %r30;
            bar.sync 0;
            xor.b32 %r0, %r30, 31; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0];
            st.global.u32 [%d14+2048], %r1;",
    },
    Pair {
        name: "all blocks write one word",
        declarations: "",
        wrong: "setp.eq.u32 %p0, %tid, 0;
            @%p0 st.global.u32 [%out], %r29; //~ Race reported between Write access",
        right: "setp.eq.u32 %p0, %tid, 0;
            @%p0 st.global.u32 [%out], 1;",
    },
    Pair {
        name: "neighboring bytes do not conflict",
        declarations: "",
        wrong: "cvt.u64.u32 %d0, %r30; add.u64 %d0, %d0, %out;
            st.global.u8 [%d0], %tid;
            st.global.u8 [%d0+1], 7; //~ Race reported between Write access",
        right: "cvt.u64.u32 %d0, %r30; add.u64 %d0, %d0, %out;
            st.global.u8 [%d0], %tid;
            ld.global.u8 %r0, [%d0];
            st.global.u8 [%d0+1024], %r0;",
    },
    Pair {
        name: "in place, with a neighbor",
        declarations: "",
        wrong: "add.u32 %r0, %r30, 1; and.b32 %r0, %r0, 127; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d0]; //~ Race reported between Read access
            add.u32 %r1, %r1, %r30;
            bar.sync 0;
            st.global.u32 [%d14], %r1;",
        right: "add.u32 %r0, %r30, 1; and.b32 %r0, %r0, 127; mul.wide.u32 %d0, %r0, 4; add.u64 %d0, %d0, %out;
            ld.global.u32 %r1, [%d14];
            add.u32 %r1, %r1, %r30;
            bar.sync 0;
            st.global.u32 [%d14], %r1;",
    },
    Pair {
        name: "a counter without an atomic",
        declarations: "",
        wrong: "setp.ne.u32 %p0, %tid, 0;
            @%p0 ret;
            ld.global.u32 %r0, [%out];
            add.u32 %r0, %r0, %r29;
            st.global.u32 [%out], %r0; //~ Race reported between Write access",
        right: "setp.ne.u32 %p0, %tid, 0;
            @%p0 ret;
            red.global.add.u32 [%out], %r29;",
    },
    Pair {
        name: "an atomic in one place, a store in another",
        declarations: "",
        wrong: "setp.ne.u32 %p0, %tid, 0;
            @%p0 ret;
            setp.eq.u32 %p1, %r29, 0;
            @%p1 st.global.u32 [%out], 100; //~ Race reported between Write access
            red.global.add.u32 [%out], %r29;",
        right: "setp.ne.u32 %p0, %tid, 0;
            @%p0 ret;
            setp.eq.u32 %p1, %r29, 0;
            @%p1 red.global.add.u32 [%out], 100;
            red.global.add.u32 [%out], %r29;",
    },
    Pair {
        name: "an atomic of a block's scope",
        declarations: "",
        wrong: "red.relaxed.cta.global.add.u32 [%out], %r30; //~ Race reported between Atomic access",
        right: "red.relaxed.gpu.global.add.u32 [%out], %r30;",
    },
];

#[test]
fn between_blocks() {
    check(&blocks(4, 32), &with_who(BETWEEN_BLOCKS));
}

#[test]
fn one_of_each_is_named_with_its_block() {
    let text = format!("{WHO}\nsetp.eq.u32 %p0, %tid, 0;\n@%p0 st.global.u32 [%out], %r29;");
    let outcome = body_with(&blocks(4, 32), "", &text);
    let report = outcome.report();
    let lines: Vec<&str> = report.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "Race reported between Write access at kernel.cu:19 (PTX line 19)",
            "by thread (0,0,0) in block (0,0,0)",
            "and Write access at kernel.cu:19 (PTX line 19)",
            "by thread (0,0,0) in block (1,0,0)",
            "at __global__ address 0x10000000000",
            "which is out + 0x0",
        ]
    );
}
