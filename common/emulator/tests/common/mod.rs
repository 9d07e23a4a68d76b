//! Runs a few lines of PTX over some threads.
#![allow(dead_code, reason = "each test file uses its part")]
pub mod tma;

use emulator::{
    Arg, Counters, Finding, Launch, LaunchError, Limits, Memory, Module, Options, Program,
    PtxError, Run, Wait, launch,
};

/// What a kernel body is run with.
#[derive(Clone)]
pub struct Setup {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub dynamic_shared: u32,
    pub cluster: [u32; 3],
    /// Words of the output, all `0xdead` at first.
    pub words: usize,
    pub sanitize: bool,
    pub schedule: u64,
    pub limits: Limits,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            grid: [1, 1, 1],
            block: [32, 1, 1],
            dynamic_shared: 0,
            cluster: [1; 3],
            words: 1024,
            sanitize: true,
            schedule: 0,
            limits: Limits {
                instructions: 1 << 24,
                ..Limits::default()
            },
        }
    }
}

pub fn threads(x: u32) -> Setup {
    Setup {
        block: [x, 1, 1],
        ..Setup::default()
    }
}

/// What came of it.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub words: Vec<u32>,
    pub findings: Vec<Finding>,
    /// Text of each instruction, with its counters.
    pub counters: Vec<(String, Counters)>,
    pub waits: Vec<Wait>,
}

impl Outcome {
    /// The findings as a user sees them.
    pub fn report(&self) -> String {
        let lines: Vec<String> = self.findings.iter().map(|f| f.to_string()).collect();
        lines.join("\n")
    }
    /// The words, where nothing may be found wrong.
    pub fn clean(self) -> Vec<u32> {
        assert!(self.findings.is_empty(), "{}", self.report());
        self.words
    }
    /// Counters of the instructions that start with `text`.
    pub fn of(&self, text: &str) -> Vec<Counters> {
        let hits = self.counters.iter().filter(|(t, _)| t.starts_with(text));
        hits.map(|(_, counters)| *counters).collect()
    }
}

/// A whole module around a kernel `k` with one pointer parameter. `%tid` holds threadIdx.x, `%out` the
/// output's address, `%at` that of the thread's own word; `%r0` to `%r31`, `%d0` to `%d15`, `%f0` to
/// `%f15`, `%h0` to `%h15` and `%p0` to `%p15` are free. The body starts at PTX line 17, and `.loc`
/// makes PTX line n the line n of `kernel.cu`.
pub fn module(declarations: &str, body: &str) -> String {
    assert!(!declarations.contains('\n'), "declarations are one line");
    let mut text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n{declarations}
.visible .entry k(.param .u64 out)
{{
.reg .b32 %tid, %r<32>;
.reg .b64 %out, %at, %d<16>;
.reg .f32 %f<16>;
.reg .b16 %h<16>;
.reg .pred %p<16>;
mov.u32 %tid, %tid.x;
ld.param.u64 %out, [out];
mul.wide.u32 %at, %tid, 4;
add.u64 %at, %at, %out;
\n"
    );
    let first = text.lines().count() + 1;
    for (line, statement) in (first..).zip(body.trim_matches('\n').lines()) {
        text += &format!(".loc 1 {line} 0 {statement}\n");
    }
    text + "ret;\n}\n.file 1 \"/home/student/kernel.cu\"\n"
}

pub fn lower(text: &str) -> Result<Program, PtxError> {
    Program::new(&Module::parse(text)?, "k")
}

pub fn run(setup: &Setup, text: &str) -> Result<Outcome, LaunchError> {
    let program = lower(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut memory = Memory::new(1 << 26);
    let fresh = 0xdead_u32.to_le_bytes().repeat(setup.words);
    let out = memory.alloc("out", fresh).expect("room");
    let shape = Launch {
        grid: setup.grid,
        block: setup.block,
        dynamic_shared: setup.dynamic_shared,
        cluster: setup.cluster,
        args: vec![Arg::U64(out)],
    };
    let options = Options {
        sanitize: setup.sanitize,
        schedule: setup.schedule,
        limits: setup.limits,
        ..Options::default()
    };
    let Run {
        counters,
        waits,
        findings,
        ..
    } = launch(&program, &mut memory, &shape, &options)?;
    let bytes = memory.bytes(out).expect("there");
    let texts = program.instructions().iter().map(|i| i.text.clone());
    Ok(Outcome {
        words: bytes
            .chunks_exact(4)
            .map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]))
            .collect(),
        findings,
        waits,
        counters: texts.zip(counters).collect(),
    })
}

/// Runs a body; see [`module`].
pub fn body(setup: &Setup, body: &str) -> Outcome {
    body_with(setup, "", body)
}

/// The same with a line of declarations before the kernel.
pub fn body_with(setup: &Setup, declarations: &str, body: &str) -> Outcome {
    run(setup, &module(declarations, body)).expect("a launch")
}
