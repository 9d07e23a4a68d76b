//! Runs a few lines of PTX over some threads.
#![allow(dead_code, reason = "each test file uses its part")]
pub mod pairs;
pub mod tma;

use emulator::{
    Buffer, Context, Counters, Error, Finding, Function, KernelArg, LaunchConfig, LaunchReport,
    Limits, Options, Printed, Wait,
};

/// The configuration for running a kernel body.
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

/// The outcome of a run.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    pub words: Vec<u32>,
    pub findings: Vec<Finding>,
    pub remarks: Vec<Finding>,
    /// Text of each instruction, with its counters.
    pub counters: Vec<(String, Counters)>,
    pub waits: Vec<Wait>,
    pub printed: Vec<Printed>,
}

/// Findings as a user sees them.
pub fn report(findings: &[Finding]) -> String {
    let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
    lines.join("\n")
}

impl Outcome {
    /// The findings as a user sees them.
    pub fn report(&self) -> String {
        report(&self.findings)
    }
    /// The output words; panics if there are findings.
    pub fn clean(self) -> Vec<u32> {
        assert!(self.findings.is_empty(), "{}", self.report());
        self.words
    }
    /// Everything that was printed.
    pub fn text(&self) -> String {
        self.printed.iter().map(|one| one.text.as_str()).collect()
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
        ".version 8.8\n.target sm_90a\n.address_size 64\n{declarations}
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

/// The kernel `k` of a module in a context of its own.
pub fn lower(text: &str) -> Result<Function, Error> {
    load(&mut Context::new(Options::default()), text)
}

fn load(context: &mut Context, text: &str) -> Result<Function, Error> {
    context.load_module(text)?.function("k")
}

pub fn run(setup: &Setup, text: &str) -> Result<Outcome, Error> {
    let (mut context, function) = setup.context(text);
    let out = context.upload("out", &setup.fresh()).expect("room");
    setup.launch(&mut context, &function, &[KernelArg::Buffer(&out)], &[out])
}

impl Setup {
    /// A context with this setup's options, and the kernel `k` of a module in it.
    pub fn context(&self, text: &str) -> (Context, Function) {
        let mut context = Context::new(Options {
            sanitize: self.sanitize,
            schedule: self.schedule,
            ..Options::default()
        });
        let function = load(&mut context, text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        (context, function)
    }

    /// The output before the launch.
    pub fn fresh(&self) -> Vec<u8> {
        0xdead_u32.to_le_bytes().repeat(self.words)
    }

    /// Launches within the setup's limits; the outcome's words are those of these buffers, one after the other.
    pub fn launch(
        &self,
        context: &mut Context,
        function: &Function,
        args: &[KernelArg<'_>],
        outputs: &[Buffer],
    ) -> Result<Outcome, Error> {
        let config = LaunchConfig {
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.dynamic_shared,
            cluster: self.cluster,
            ..LaunchConfig::default()
        };
        context.options_mut().limits = self.limits;
        let LaunchReport {
            counters,
            waits,
            findings,
            printed,
            remarks,
            ..
        } = context.launch(function, &config, args)?;
        let texts = function.instructions().iter().map(|i| i.text.clone());
        Ok(Outcome {
            words: outputs
                .iter()
                .flat_map(|buffer| words(context, buffer))
                .collect(),
            findings,
            remarks,
            waits,
            printed,
            counters: texts.zip(counters).collect(),
        })
    }
}

/// A buffer's 32-bit words.
pub fn words(context: &Context, buffer: &Buffer) -> Vec<u32> {
    let bytes = context.read(buffer).expect("a buffer of this context");
    let (words, _) = bytes.as_chunks::<4>();
    words.iter().copied().map(u32::from_le_bytes).collect()
}

/// Runs a body; see [`module`].
pub fn body(setup: &Setup, body: &str) -> Outcome {
    body_with(setup, "", body)
}

/// The same with a line of declarations before the kernel.
pub fn body_with(setup: &Setup, declarations: &str, body: &str) -> Outcome {
    run(setup, &module(declarations, body)).expect("a launch")
}
