//! The driver's state, behind one lock: calls from a client's threads are serialized.
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::context::{Context, Primary};
use crate::error::{Answer, Fault, INVALID_CONTEXT, NOT_INITIALIZED};
use crate::event::Event;
use crate::graph::{Executable, Graph, Node, UserObject};
use crate::host_memory::HostMemory;
use crate::link::Link;
use crate::memory::Allocation;
use crate::module::{Kernel, Loaded};
use crate::pool::{Pool, PoolKind};
use crate::report::Reports;
use crate::stream::Stream;
use crate::table::{Handle, Table};

/// The driver's state.
pub struct State {
    /// The device: memory, modules, launches. All contexts share it, so they never allocate the same address.
    pub gpu: emulator::Context,
    /// What is reported of each launch.
    pub reports: Reports,
    pub contexts: Table<Context>,
    pub primary: Primary,
    pub modules: Table<Loaded>,
    pub kernels: Table<Kernel>,
    pub links: Table<Link>,
    pub streams: Table<Stream>,
    pub events: Table<Event>,
    pub graphs: Table<Graph>,
    pub nodes: Table<Node>,
    pub executables: Table<Executable>,
    pub user_objects: Table<UserObject>,
    pub pools: Table<Pool>,
    /// The default pool of each kind of memory, created when it is first needed.
    pub default_pools: BTreeMap<PoolKind, Handle>,
    /// The pools that the client has set instead.
    pub current_pools: BTreeMap<PoolKind, Handle>,
    /// Addresses of memory that graph nodes allocate, and whether it is allocated now.
    pub graph_memory: BTreeMap<u64, bool>,
    /// The largest number of bytes of it that were allocated at once.
    pub graph_memory_high: u64,
    /// Device memory by its address.
    pub allocations: BTreeMap<u64, Allocation>,
    /// Host memory that the driver knows, by address.
    pub host: BTreeMap<u64, HostMemory>,
    /// Number of allocations so far, by which findings name them.
    pub named: u64,
}

static STATE: Mutex<Option<State>> = Mutex::new(None);
/// The process that called `cuInit`; 0 if none did.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// This thread's stack of contexts, the current one last.
    static CURRENT: RefCell<Vec<Handle>> = const { RefCell::new(Vec::new()) };
}

/// Takes the lock. After a panic the state is as before the call, except perhaps for an object whose handle no client
/// has.
fn lock() -> MutexGuard<'static, Option<State>> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Checks that this process is the one that called `cuInit`, if any did. A forked child has a copy of the state but not
/// the emulator's threads, and would wait for them forever. CUDA refuses its calls, too.
fn not_forked() -> Answer {
    match PROCESS.load(Ordering::Relaxed) {
        0 => Ok(()),
        process if process == std::process::id() => Ok(()),
        _ => Err(Fault::of(
            NOT_INITIALIZED,
            "this process was forked after cuInit, but CUDA works only in the parent: start processes by spawn, in Python with multiprocessing.get_context(\"spawn\")",
        )),
    }
}

/// Initializes the driver, once.
pub fn initialize() -> Answer {
    not_forked()?;
    let mut state = lock();
    if state.is_none() {
        let reports = Reports::of_environment()?;
        PROCESS.store(std::process::id(), Ordering::Relaxed);
        *state = Some(State {
            gpu: emulator::Context::new(reports.options()),
            reports,
            contexts: Table::new(0x10),
            primary: Primary::default(),
            modules: Table::new(0x11),
            kernels: Table::new(0x12),
            links: Table::new(0x13),
            streams: Table::new(0x14),
            events: Table::new(0x15),
            graphs: Table::new(0x16),
            nodes: Table::new(0x17),
            executables: Table::new(0x18),
            user_objects: Table::new(0x1a),
            pools: Table::new(0x19),
            default_pools: BTreeMap::new(),
            current_pools: BTreeMap::new(),
            graph_memory: BTreeMap::new(),
            graph_memory_high: 0,
            allocations: BTreeMap::new(),
            host: BTreeMap::new(),
            named: 0,
        });
    }
    Ok(())
}

/// Runs an action on the driver's state; it must not call the client.
pub fn with<T>(action: impl FnOnce(&mut State) -> Result<T, Fault>) -> Result<T, Fault> {
    not_forked()?;
    match lock().as_mut() {
        Some(state) => action(state),
        None => Err(Fault::silent(NOT_INITIALIZED)),
    }
}

/// As [`with`], for actions that need a current context in which no kernel has failed: after a failure CUDA returns the
/// kernel's error from every call until the context is destroyed.
pub fn with_context<T>(
    action: impl FnOnce(&mut State, Handle) -> Result<T, Fault>,
) -> Result<T, Fault> {
    with(|state| {
        let context = state.healthy()?;
        action(state, context)
    })
}

impl State {
    /// The current context.
    pub fn current(&self) -> Result<Handle, Fault> {
        current()
            .filter(|&handle| self.contexts.get(handle).is_some())
            .ok_or(Fault::silent(INVALID_CONTEXT))
    }
    /// The current context, unless a kernel has failed in it.
    pub fn healthy(&self) -> Result<Handle, Fault> {
        let handle = self.current()?;
        match self.contexts.get(handle).and_then(|context| context.fault) {
            Some(code) => Err(Fault::silent(code)),
            None => Ok(handle),
        }
    }
}

/// The top of this thread's context stack.
pub fn current() -> Option<Handle> {
    CURRENT.with_borrow(|stack| stack.last().copied())
}
/// Pushes a context.
pub fn push(context: Handle) {
    CURRENT.with_borrow_mut(|stack| stack.push(context));
}
/// Pops a context.
pub fn pop() -> Option<Handle> {
    CURRENT.with_borrow_mut(Vec::pop)
}
/// Replaces the top of the stack.
pub fn replace(context: Option<Handle>) {
    CURRENT.with_borrow_mut(|stack| {
        stack.pop();
        stack.extend(context);
    });
}
