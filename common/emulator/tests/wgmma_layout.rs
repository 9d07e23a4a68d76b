//! Which byte each element of a `wgmma` operand comes from: executed, and compared with the recording and with
//! the layouts of the PTX ISA, written down once more.
use emulator::probe::Probe;
use emulator::probe::wgmma_layout::{Case, Major, Row, cases};
use emulator::{Arg, Launch, Memory, Module, Options, Program, launch};

fn run(probe: &Probe) -> Vec<u8> {
    let module = Module::parse(&probe.ptx).unwrap_or_else(|error| panic!("{error}\n{}", probe.ptx));
    let program = Program::new(&module, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = Memory::new(1 << 20);
    let input = memory.alloc("in", probe.input.clone()).expect("room");
    let output = memory
        .alloc("out", vec![0; probe.output_bytes])
        .expect("room");
    let shape = Launch {
        grid: [1; 3],
        block: [probe.threads, 1, 1],
        dynamic_shared: probe.dynamic_shared,
        args: vec![Arg::U64(input), Arg::U64(output)],
    };
    let options = Options {
        sanitize: true,
        ..Options::default()
    };
    let run = launch(&program, &mut memory, &shape, &options).expect("a launch");
    let report: Vec<String> = run.findings.iter().map(|f| f.to_string()).collect();
    assert!(report.is_empty(), "{}", report.join("\n"));
    memory.bytes(output).expect("there").to_vec()
}

/// The canonical layouts in CuTe's notation, swizzled as absolute addresses.
fn expected(case: &Case, mn: u32, k: u32) -> u32 {
    let (lbo, sbo) = (case.leading, case.stride);
    let plain = match (case.major, case.swizzle) {
        // ((8,m),(T,2k)):((1T,SBO),(1,LBO))
        (Major::K, 0) => mn % 8 * 16 + mn / 8 * sbo + k % 8 * 2 + k / 8 * lbo,
        (Major::K, w) => mn % 8 * w + mn / 8 * sbo + k * 2,
        // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        (Major::Mn, 0) => mn % 8 * 2 + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo,
        // ((T,W,m),(8,k)):((1,T,LBO),(W T,SBO))
        (Major::Mn, w) => mn % (w / 2) * 2 + mn / (w / 2) * lbo + k % 8 * w + k / 8 * sbo,
    };
    let address = case.start + plain;
    let row = (address / 128 + 8 - case.base_offset) % 8;
    match case.swizzle {
        0 => address,
        w => address ^ row % (w / 16) * 16,
    }
}

#[test]
fn every_element_comes_from_where_the_layout_says() {
    let cases = cases();
    assert!(cases.len() > 300);
    for case in cases {
        let outputs = case.probes().map(|probe| run(&probe));
        let row = case
            .decode([&outputs[0], &outputs[1]])
            .unwrap_or_else(|error| panic!("{error}"));
        for (i, &byte) in (0..).zip(&row.bytes) {
            assert_eq!(
                byte,
                expected(&case, i / 16, i % 16),
                "{case}: ({}, {})",
                i / 16,
                i % 16
            );
        }
        assert_eq!(row.to_string().parse::<Row>(), Ok(row));
    }
}
