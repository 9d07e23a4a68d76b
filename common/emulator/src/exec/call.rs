//! Calls that are not inlined: a call stack for each thread. A frame saves the caller's registers, so that functions
//! may use the same ones; arguments and results are in local memory (PTX ISA, "Function Declarations and Definitions",
//! "call").
use super::block::Execution;
use super::lanes::lanes;
use super::machine::Machine;
use super::step::Stop;
use super::undefined::Saved;
use super::warp::{State, Warp};
use crate::finding::FindingKind;
use crate::op::{Call, CallTarget, Class, Code, Reg};
use crate::program::Program;

/// The call stack of each lane; empty before the first call.
#[derive(Default)]
pub(super) struct CallStacks(Vec<CallStack>);

impl Frame {
    /// Host memory that it takes, in bytes.
    fn bytes(&self) -> u64 {
        (size_of::<Self>() + size_of_val(&self.registers[..]) + self.undefined.bytes()) as u64
    }
}

#[derive(Clone, Default)]
struct CallStack {
    /// The first byte of the running function's frame in local memory, and the first byte after it.
    base: u32,
    top: u32,
    frames: Vec<Frame>,
}

/// What a return restores.
#[derive(Clone)]
struct Frame {
    /// The calling operation.
    call: u32,
    base: u32,
    top: u32,
    registers: Box<[u64]>,
    /// Which of their bits no instruction has written.
    undefined: Saved,
}

impl CallStacks {
    /// The start of the running function's frame.
    pub fn base(&self, lane: usize) -> u32 {
        self.0.get(lane).map_or(0, |stack| stack.base)
    }

    /// Removes all frames and returns how many bytes they took.
    pub fn clear(&mut self) -> u64 {
        let stacks = std::mem::take(&mut self.0);
        let frames = stacks.iter().flat_map(|stack| &stack.frames);
        frames.map(Frame::bytes).sum()
    }

    /// Everything but the saved registers, for a digest.
    pub fn state(&self) -> impl Iterator<Item = u64> {
        let stacks = self.0.iter();
        stacks.flat_map(|stack| {
            let calls = stack.frames.iter().map(|frame| u64::from(frame.call));
            calls.chain([u64::from(stack.base)])
        })
    }
}

/// The registers that are not fixed.
fn registers(program: &Program) -> impl Iterator<Item = Reg> {
    let of = |class, first: usize, end: usize| {
        (first..end).map(move |index| Reg {
            class,
            index: index as u32,
        })
    };
    of(Class::B32, program.fixed_b32.len(), program.b32)
        .chain(of(Class::B64, program.fixed_b64.len(), program.b64))
        .chain(of(Class::Predicate, 0, program.predicates))
}

impl Warp {
    /// The lanes `active` of a split call; the others in `mask` wait for them after the call.
    #[inline(never)]
    pub(super) fn call(
        &mut self,
        call: &Call,
        pc: u32,
        (mask, active): (u32, u32),
        join: u32,
        cx: &mut Execution<'_>,
    ) -> Option<Stop> {
        if self.has_wgmma_in_flight(cx) {
            let reason = "a wgmma of this warp is in flight, whose results land in registers that a call saves: the emulator \
                          needs wgmma.wait_group 0 before the call";
            cx.writes.restore(self.calls.clear());
            cx.report(
                FindingKind::InvalidCall(reason.into()),
                self.site(pc as usize, lanes(active).next().unwrap_or(0)),
            );
            return Some(Stop::Fatal);
        }
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in lanes(active) {
            let pushed = self.push_frame(call, pc, lane, cx.machine);
            let pushed = pushed.and_then(|(function, bytes)| {
                cx.writes.save(bytes);
                let limit = cx.machine.options.limits.memory;
                match cx.writes.bytes() <= limit {
                    true => Ok(function),
                    false => Err(format!(
                        "the call stacks need more than {limit} bytes of memory; raise the limit if the machine has them"
                    )),
                }
            });
            let function = match pushed {
                Ok(function) => function,
                Err(reason) => {
                    cx.writes.restore(self.calls.clear());
                    let site = self.site(pc as usize, lane);
                    cx.report(FindingKind::InvalidCall(reason), site);
                    return Some(Stop::Fatal);
                }
            };
            let entry = cx.machine.program.functions[function].entry;
            match groups.iter_mut().find(|(to, _)| *to == entry) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((entry, 1 << lane)),
            }
        }
        let join = self.open_join(pc + 1, mask, join);
        if mask & !active != 0 {
            self.split(pc + 1, mask & !active, join, State::Ready);
        }
        for (entry, lanes) in groups {
            self.split(entry, lanes, join, State::Ready);
        }
        None
    }

    /// The lanes `active` return, each to its call site.
    #[inline(never)]
    pub(super) fn ret(
        &mut self,
        pc: u32,
        (mask, active): (u32, u32),
        join: u32,
        cx: &mut Execution<'_>,
    ) {
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in lanes(active) {
            let to = self.pop_frame(lane, pc, cx);
            match groups.iter_mut().find(|(known, _)| *known == to) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((to, 1 << lane)),
            }
        }
        if mask & !active != 0 {
            self.split(pc + 1, mask & !active, join, State::Ready);
        }
        for (to, lanes) in groups {
            self.split(to, lanes, join, State::Ready);
        }
    }

    /// Pushes the frame of the function that a lane calls. Returns the function and the host memory that the frame
    /// takes, or what is wrong with the call.
    fn push_frame(
        &mut self,
        call: &Call,
        pc: u32,
        lane: usize,
        machine: &Machine<'_>,
    ) -> Result<(usize, u64), String> {
        let program = machine.program;
        let number = match call.target {
            CallTarget::Function(number) => number as usize,
            CallTarget::Pointer(pointer) => {
                let address = self.get(pointer, lane);
                let mut functions = program.functions.iter();
                functions
                    .position(|function| function.address == address)
                    .ok_or_else(|| format!("there is no function at 0x{address:x}"))?
            }
        };
        let function = &program.functions[number];
        let fits = |given: &[(u32, u32)], declared: &[(u32, u32)]| {
            let mut pairs = given.iter().zip(declared);
            given.len() == declared.len() && pairs.all(|(given, declared)| given.1 == declared.1)
        };
        if !fits(&call.arguments, &function.params) || !fits(&call.results, &function.returns) {
            let name = &function.name;
            return Err(format!(
                "the function `{name}` has other parameters or results than this call"
            ));
        }
        let registers = registers(program).map(|reg| self.get(reg, lane)).collect();
        if self.calls.0.is_empty() {
            let top = program.local_bytes;
            let empty = CallStack {
                top,
                ..CallStack::default()
            };
            self.calls.0 = vec![empty; 32];
        }
        let stack = &mut self.calls.0[lane];
        let (from, to) = (stack.base, stack.top);
        let top = to.saturating_add(function.frame);
        if top > machine.local {
            return Err(format!(
                "the call stack of {} bytes is full after {} calls; if the recursion ends, raise Limits::stack (--stack), on a \
                 GPU cudaDeviceSetLimit(cudaLimitStackSize, bytes)",
                machine.local - program.local_bytes,
                stack.frames.len()
            ));
        }
        let undefined = self
            .undefined
            .enter(lane, &function.unwritten, to, function.frame);
        let frame = Frame {
            call: pc,
            base: from,
            top: to,
            registers,
            undefined,
        };
        let bytes = frame.bytes();
        stack.frames.push(frame);
        (stack.base, stack.top) = (to, top);
        for (&(at, size), &(param, _)) in call.arguments.iter().zip(&function.params) {
            self.copy_local(lane, from + at, to + param, size, machine);
        }
        Ok((number, bytes))
    }

    /// Ends a lane's function and returns where it continues.
    fn pop_frame(&mut self, lane: usize, pc: u32, cx: &mut Execution<'_>) -> u32 {
        let program = cx.machine.program;
        let from = self.calls.base(lane);
        let Some(stack) = self.calls.0.get_mut(lane) else {
            return pc;
        };
        let Some(frame) = stack.frames.pop() else {
            return pc;
        };
        (stack.base, stack.top) = (frame.base, frame.top);
        cx.writes.restore(frame.bytes());
        for (reg, &value) in registers(program).zip(&frame.registers) {
            self.set(reg, lane, value);
        }
        self.undefined.leave(lane, &frame.undefined);
        // An operation belongs to the last function that begins before it.
        let functions = program
            .functions
            .iter()
            .filter(|function| function.entry <= pc);
        let function = functions.max_by_key(|function| function.entry);
        if let (Code::Call(call), Some(function)) =
            (&program.ops[frame.call as usize].code, function)
        {
            for (&(at, bytes), &(value, _)) in call.results.iter().zip(&function.returns) {
                self.copy_local(lane, from + value, frame.base + at, bytes, cx.machine);
            }
        }
        frame.call + 1
    }

    fn copy_local(&mut self, lane: usize, from: u32, to: u32, bytes: u32, machine: &Machine<'_>) {
        self.undefined.copy_local(lane, from, to, bytes);
        let start = lane * machine.local as usize;
        let [from, to] = [from, to].map(|at| start + at as usize);
        self.local.copy_within(from..from + bytes as usize, to);
    }
}
