//! Runs a few lines of PTX on a warpgroup, with given contents of shared memory, A and accumulators.
#![allow(dead_code, reason = "each test file uses its part")]
use emulator::{
    Context, Counters, Error, Finding, Function, KernelArg, LaunchConfig, LaunchReport, Options,
};

/// Bytes of shared memory.
pub const WINDOW: usize = 64 << 10;

/// The layout of an operand in shared memory, and its descriptor.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// M or N is contiguous.
    pub transposed: bool,
    /// 0, 32, 64 or 128.
    pub swizzle: u32,
    pub leading: u32,
    pub stride: u32,
    /// From the start of the window.
    pub start: u32,
    pub base_offset: u32,
}

impl Place {
    /// Packed, for `mn` rows or columns and 16 along K.
    pub fn packed(transposed: bool, swizzle: u32, mn: u32, start: u32) -> Self {
        let atom = 8 * swizzle;
        let (leading, stride) = match (transposed, swizzle) {
            (_, 0) => (16 * mn, 128),
            (false, _) => (16, atom),
            (true, _) => (atom, atom * mn.div_ceil(swizzle / 2)),
        };
        Self {
            transposed,
            swizzle,
            leading,
            stride,
            start,
            base_offset: 0,
        }
    }

    /// The descriptor, with addresses relative to the window.
    pub fn descriptor(&self) -> u64 {
        let mode = [(0, 0), (128, 1), (64, 2), (32, 3)];
        let mode = mode
            .into_iter()
            .find(|&(swizzle, _)| swizzle == self.swizzle);
        u64::from(self.start / 16)
            | u64::from(self.leading / 16) << 16
            | u64::from(self.stride / 16) << 32
            | u64::from(self.base_offset) << 49
            | mode.map_or(0, |(_, code)| code) << 62
    }

    /// The byte of element (mn, k): the canonical layouts of the PTX ISA in CuTe's notation, and the swizzle on
    /// the address. The window is aligned to 1024 bytes.
    pub fn byte(&self, mn: u32, k: u32) -> u32 {
        let (lbo, sbo) = (self.leading, self.stride);
        let plain = match (self.transposed, self.swizzle) {
            // ((8,m),(T,2k)):((1T,SBO),(1,LBO))
            (false, 0) => mn % 8 * 16 + mn / 8 * sbo + k % 8 * 2 + k / 8 * lbo,
            // ((8,m),(T,2k)):((W T,SBO),(1,T))
            (false, w) => mn % 8 * w + mn / 8 * sbo + k * 2,
            // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
            (true, 0) => mn % 8 * 2 + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo,
            // ((T,W,m),(8,k)):((1,T,LBO),(W T,SBO))
            (true, w) => mn % (w / 2) * 2 + mn / (w / 2) * lbo + k % 8 * w + k / 8 * sbo,
        };
        let address = self.start + plain;
        let row = (address / 128 + 8 - self.base_offset) % 8;
        match self.swizzle {
            0 => address,
            w => address ^ (row % (w / 16) * 16),
        }
    }

    /// Writes an operand of `mn` x 16 to the window.
    pub fn put(&self, window: &mut [u8], mn: u32, element: impl Fn(u32, u32) -> u16) {
        for (row, k) in (0..mn).flat_map(|row| (0..16).map(move |k| (row, k))) {
            let at = self.byte(row, k) as usize;
            window[at..at + 2].copy_from_slice(&element(row, k).to_le_bytes());
        }
    }
}

/// The initial state of four warps, and the launch options.
#[derive(Clone)]
pub struct Warpgroup {
    pub window: Vec<u8>,
    /// A, 64 x 16, for `%a0` to `%a3`.
    pub a: Vec<u16>,
    /// The initial D, 64 x n, for `%d0` and on.
    pub d: Vec<u32>,
    pub n: u32,
    pub threads: u32,
    pub sanitize: bool,
    pub schedule: u64,
    /// Code between filling the window and the body.
    pub before: &'static str,
}

/// The outcome of a run.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// D, 64 x n.
    pub d: Vec<u32>,
    pub findings: Vec<Finding>,
    pub remarks: Vec<Finding>,
    pub counters: Vec<(String, Counters)>,
}

impl Outcome {
    pub fn report(&self) -> String {
        crate::common::report(&self.findings)
    }
    /// D; panics if there are findings.
    pub fn clean(self) -> Vec<u32> {
        assert!(self.findings.is_empty(), "{}", self.report());
        self.d
    }
    pub fn of(&self, text: &str) -> Vec<Counters> {
        let hits = self.counters.iter().filter(|(t, _)| t.starts_with(text));
        hits.map(|(_, counters)| *counters).collect()
    }
}

/// Row and column of accumulator register `r` of a thread (PTX ISA, "Matrix Fragments for
/// wgmma.mma_async.m64nNk16").
fn place(thread: u32, r: u32) -> (u32, u32) {
    let (warp, lane) = (thread / 32, thread % 32);
    (
        16 * warp + lane / 4 + 8 * (r / 2 % 2),
        8 * (r / 4) + lane % 4 * 2 + r % 2,
    )
}

impl Warpgroup {
    pub fn new(n: u32) -> Self {
        Self {
            window: vec![0; WINDOW],
            a: vec![0; 64 * 16],
            d: vec![0; 64 * n as usize],
            n,
            threads: 128,
            sanitize: true,
            schedule: 0,
            before: "fence.proxy.async; bar.sync 0;",
        }
    }

    /// `{%d0, …}` of n columns, from register `first` on.
    pub fn list(first: u32, n: u32) -> String {
        let names: Vec<String> = (first..first + n / 2).map(|i| format!("%d{i}")).collect();
        format!("{{{}}}", names.join(", "))
    }

    /// The module. The body finds A and D in their registers, `%base` to add to a descriptor that counts from
    /// the window, `%tid`, and `%yes` and `%no`; `%r0` to `%r9`, `%l0` to `%l9`, `%x0` to `%x9` and `%p0` to
    /// `%p9` are free. It starts at line 100 of `kernel.cu`, and a line of it is a line there.
    pub fn ptx(&self, body: &str) -> String {
        let registers = self.n / 2;
        let mut text = format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 window[];
.visible .entry k(.param .u64 in, .param .u64 out) .maxntid {}, 1, 1\n{{
.reg .b32 %tid, %r<10>, %s<10>, %a<4>;\n.reg .b64 %in, %out, %base, %l<10>, %t<10>;\n.reg .f32 %d<260>, %x<10>;
.reg .pred %yes, %no, %p<10>;
mov.u32 %tid, %tid.x;\nld.param.u64 %in, [in];\nld.param.u64 %out, [out];
mov.u32 %s0, window;\nmov.u32 %s1, %tid;
FILL: mul.wide.u32 %t0, %s1, 16;\nadd.u64 %t0, %t0, %in;\nld.global.v4.u32 {{%s2, %s3, %s4, %s5}}, [%t0];
shl.b32 %s6, %s1, 4;\nadd.u32 %s6, %s6, %s0;\nst.shared.v4.u32 [%s6], {{%s2, %s3, %s4, %s5}};
add.u32 %s1, %s1, {};\nsetp.lt.u32 %no, %s1, {};\n@%no bra FILL;
shr.u32 %s1, %s0, 4;\ncvt.u64.u32 %base, %s1;\nmul.wide.u32 %t0, %tid, 4;\nadd.u64 %t0, %t0, %in;
add.u64 %t1, %t0, {WINDOW};\nmul.wide.u32 %t0, %tid, 4;\nadd.u64 %out, %out, %t0;
setp.eq.u32 %yes, %tid, %tid;\nsetp.ne.u32 %no, %tid, %tid;\n",
            self.threads,
            self.threads,
            WINDOW / 16
        );
        for r in 0..4 {
            text += &format!("ld.global.u32 %a{r}, [%t1+{}];\n", 512 * r);
        }
        for r in 0..registers {
            text += &format!("ld.global.f32 %d{r}, [%t1+{}];\n", 512 * (4 + r));
        }
        text += &format!(".loc 1 99 0\n{}\n", self.before);
        for (line, statement) in (100..).zip(body.trim_matches('\n').lines()) {
            text += &format!(".loc 1 {line} 0\n{statement}\n");
        }
        text += ".loc 1 999 0\n";
        for r in 0..registers {
            text += &format!("st.global.f32 [%out+{}], %d{r};\n", 512 * r);
        }
        text + "ret;\n}\n.file 1 \"/home/student/kernel.cu\"\n"
    }

    fn context(&self) -> Context {
        Context::new(Options {
            sanitize: self.sanitize,
            schedule: self.schedule,
            ..Options::default()
        })
    }

    pub fn lower(&self, body: &str) -> Result<Function, Error> {
        self.load(&mut self.context(), body)
    }

    fn load(&self, context: &mut Context, body: &str) -> Result<Function, Error> {
        context.load_module(&self.ptx(body))?.function("k")
    }

    pub fn run(&self, body: &str) -> Outcome {
        let mut context = self.context();
        let function = self
            .load(&mut context, body)
            .unwrap_or_else(|error| panic!("{error}\n{}", self.ptx(body)));
        let (threads, registers) = (128, self.n / 2);
        let mut input = self.window.clone();
        for r in 0..4 {
            for thread in 0..threads {
                let (row, k) = place(thread, [0, 2, 4, 6][r]);
                let at = (row * 16 + k) as usize;
                input.extend(self.a[at].to_le_bytes());
                input.extend(self.a[at + 1].to_le_bytes());
            }
        }
        for (r, thread) in (0..registers).flat_map(|r| (0..threads).map(move |t| (r, t))) {
            let (row, column) = place(thread, r);
            input.extend(self.d[(row * self.n + column) as usize].to_le_bytes());
        }
        // A second warpgroup reads beyond this input.
        input.extend([0; 512]);
        let input = context.upload("in", &input).expect("room");
        let out = context
            .alloc("out", 512 * registers as usize)
            .expect("room");
        let config = LaunchConfig {
            block: [self.threads, 1, 1],
            dynamic_shared: WINDOW as u32,
            ..LaunchConfig::default()
        };
        let args = [&input, &out].map(KernelArg::Buffer);
        let LaunchReport {
            counters,
            findings,
            remarks,
            ..
        } = context.launch(&function, &config, &args).expect("a launch");
        let bytes = context.read(&out).expect("there");
        let mut d = vec![0; self.d.len()];
        for (r, thread) in (0..registers).flat_map(|r| (0..threads).map(move |t| (r, t))) {
            let (row, column) = place(thread, r);
            let at = 4 * (r * threads + thread) as usize;
            let word = bytes[at..at + 4].try_into().expect("4 bytes");
            d[(row * self.n + column) as usize] = u32::from_le_bytes(word);
        }
        let texts = function.instructions().iter().map(|i| i.text.clone());
        Outcome {
            d,
            findings,
            remarks,
            counters: texts.zip(counters).collect(),
        }
    }
}
