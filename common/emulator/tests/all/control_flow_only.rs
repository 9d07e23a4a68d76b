//! A launch of which only one cluster is traced, and only its control flow: it must neither wait for other clusters nor
//! take their share of the work.
use std::collections::BTreeMap;

use emulator::{Context, KernelArg, LaunchConfig, Options, TraceRequest};

/// How often the first of eight blocks executed each opcode.
fn traced(body: &str) -> BTreeMap<String, usize> {
    let ptx = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 p)\n{{\n.reg .u64 %d<4>; .reg .u32 %r<8>; .reg .pred %p<4>;\n\
         ld.param.u64 %d0, [p];\n{body}\nret;\n}}\n"
    );
    let mut context = Context::new(Options {
        trace: Some(TraceRequest {
            blocks: vec![[0; 3]],
            only: true,
            control_flow_only: true,
            most: None,
        }),
        ..Options::default()
    });
    let module = context.load_module(&ptx).expect("a module");
    let function = module.function("k").expect("a kernel");
    let words = context.alloc("words", 64).expect("memory");
    let config = LaunchConfig {
        grid: [8, 1, 1],
        block: [32, 1, 1],
        ..LaunchConfig::default()
    };
    let report = context.launch(&function, &config, &[KernelArg::Buffer(&words)]);
    let report = report.expect("a launch");
    assert_eq!(report.findings, [], "{ptx}");
    let mut counts = BTreeMap::new();
    for warp in &report.traces {
        assert_eq!(warp.block, [0; 3]);
        for event in &warp.events {
            let instruction = &function.instructions()[event.instruction as usize];
            *counts.entry(instruction.opcode.clone()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn a_block_takes_its_share_of_a_common_counter() {
    // 40 tiles, taken dynamically from a counter: five for each of the eight blocks.
    let counts = traced(
        "mov.u32 %r1, %laneid;
        NEXT:
        mov.u32 %r2, 0;
        setp.eq.u32 %p0, %r1, 0;
        @%p0 atom.global.add.u32 %r2, [%d0], 1;
        shfl.sync.idx.b32 %r2, %r2, 0, 31, -1;
        setp.ge.u32 %p1, %r2, 40;
        @%p1 bra DONE;
        membar.cta;
        bra NEXT;
        DONE:",
    );
    assert_eq!(counts["membar.cta"], 5);
}

#[test]
fn a_block_does_not_wait_for_what_another_one_writes() {
    let counts = traced(
        "POLL:
        ld.acquire.gpu.global.u32 %r1, [%d0];
        setp.eq.u32 %p0, %r1, 0;
        @%p0 bra POLL;
        membar.cta;",
    );
    assert_eq!(counts["membar.cta"], 1);
    assert!(counts["ld.acquire.gpu.global.u32"] > 1);
}
