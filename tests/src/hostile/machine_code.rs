//! Machine code as `nvdisasm` prints it and as it is committed for the clock model, and the words of `cargo ladder
//! approximate`.
use std::sync::OnceLock;

use clock::{Card, Launch, MachineCode, Sharing};
use emulator::{Context, Function, KernelArg, LaunchConfig, Options, TraceRequest, WarpTrace};

/// A kernel with a loop, a guard, a barrier, shared and global memory.
const PTX: &str = include_str!("machine_code.ptx");

/// The first byte selects one of the two formats. The machine code is parsed, written in the other format, parsed
/// again, and used to time a launch of a kernel that may be a different one.
///
/// # Panics
/// If the written text cannot be parsed.
pub(super) fn machine_code(bytes: &[u8]) {
    let (&choice, text) = bytes.split_first().unwrap_or((&0, &[]));
    let text = String::from_utf8_lossy(text);
    let code = match choice % 2 {
        0 => MachineCode::of_nvdisasm(&text, "k"),
        _ => MachineCode::of_text(&text),
    };
    let Ok(code) = code else {
        return;
    };
    let written = code.to_text();
    let again = MachineCode::of_text(&written);
    assert_eq!(again.map(|code| code.to_text()), Ok(written));
    let (function, traces, card) = traced();
    let launch = Launch {
        card,
        code: &code,
        listed: None,
        instructions: function.instructions(),
        traces,
        blocks: 4,
        cluster: [1, 1, 1],
        resident: 2,
        shared_bytes: 1024,
        sharing: Sharing {
            distinct: 1.0,
            read: 1.0,
            cold: 0.5,
            at_work: 1.0,
            far: true,
        },
        window: None,
    };
    match launch.estimate_with_spans() {
        Ok((estimate, _)) => assert!(estimate.clocks >= 0.0, "{estimate:?}"),
        Err(error) => drop(error.to_string()),
    }
}

/// The trace of two CTAs of the kernel.
fn traced() -> &'static (Function, Vec<WarpTrace>, Card) {
    static TRACED: OnceLock<(Function, Vec<WarpTrace>, Card)> = OnceLock::new();
    TRACED.get_or_init(|| {
        let blocks = vec![[0, 0, 0], [1, 0, 0]];
        let mut context = Context::new(Options {
            trace: Some(TraceRequest {
                blocks,
                only: true,
                ..TraceRequest::default()
            }),
            ..Options::default()
        });
        let module = context.load_module(PTX).expect("a module");
        let function = module.function("k").expect("a kernel");
        let data = context.alloc("data", 1 << 12).expect("memory");
        let config = LaunchConfig {
            grid: [2, 1, 1],
            block: [64, 1, 1],
            ..LaunchConfig::default()
        };
        let report = context.launch(&function, &config, &[KernelArg::Buffer(&data)]);
        let traces = report.expect("a launch").traces;
        (function, traces, Card::H200)
    })
}

/// Words after `cargo ladder approximate`, one on each line.
pub(super) fn approximate(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.lines().collect();
    if let Err(error) = ladder::untrusted::approximate(&words) {
        drop(format!("{error:#}"));
    }
}
