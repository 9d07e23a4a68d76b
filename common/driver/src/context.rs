//! Contexts: they own memory, modules and streams; each thread has a current one.
use crate::device;
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::state::{self, State, with, with_context};
use crate::table::Handle;

/// A context.
pub struct Context {
    flags: u32,
    /// The error of a kernel that failed in it: every later call returns it.
    pub fault: Option<u32>,
    /// Whether it is the device's primary context.
    primary: bool,
    cache: u32,
    /// Values that were set for limits other than the stack.
    limits: [usize; 16],
}

/// The primary context.
#[derive(Default)]
pub struct Primary {
    handle: Option<Handle>,
    retained: usize,
    flags: u32,
}

/// `CU_LIMIT_STACK_SIZE`.
const STACK: usize = 0;
/// Initial limits: bytes of `CU_LIMIT_PRINTF_FIFO_SIZE` and `CU_LIMIT_MALLOC_HEAP_SIZE`, nesting depth and pending
/// launches of dynamic parallelism, L2 fetch granularity, and bytes of persisting L2.
const LIMITS: [usize; 7] = [0, 1 << 20, 8 << 20, 2, 2048, 64, 0];
/// `CU_CTX_SCHED_MASK | CU_CTX_MAP_HOST | CU_CTX_LMEM_RESIZE_TO_MAX | …`
const FLAGS: u32 = 0xff;

impl State {
    fn create(&mut self, flags: u32, primary: bool) -> Handle {
        let mut limits = [0; 16];
        limits[..LIMITS.len()].copy_from_slice(&LIMITS);
        self.contexts.insert(Context {
            flags,
            fault: None,
            primary,
            cache: 0,
            limits,
        })
    }

    /// Destroys a context and everything that it owns.
    fn destroy(&mut self, handle: Handle) -> Answer {
        let known = self.contexts.remove(handle);
        known.ok_or(Fault::silent(INVALID_CONTEXT))?;
        self.free_all_of(handle);
        self.unload_all_of(handle);
        self.streams.retain(|stream| stream.context != handle);
        self.events.retain(|event| event.context != handle);
        Ok(())
    }

    /// The context of a handle; the current one for 0.
    fn context_or_current(&self, handle: Handle) -> Result<Handle, Fault> {
        match handle {
            0 => self.current(),
            _ => Some(handle)
                .filter(|&handle| self.contexts.get(handle).is_some())
                .ok_or(Fault::silent(INVALID_CONTEXT)),
        }
    }

    fn of(&mut self, handle: Handle) -> Result<&mut Context, Fault> {
        let found = self.contexts.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_CONTEXT))
    }
}

fn create(context: Out<Handle>, flags: u32, device: i32) -> Answer {
    with(|state| {
        context.check()?;
        device::check(device)?;
        if flags & !FLAGS != 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let made = state.create(flags, false);
        state::push(made);
        context.put(made)
    })
}

/// Reports a kernel's error in the current context.
fn synchronize() -> Answer {
    with_context(|state, context| state.end_of_work(context))
}

entry_points! {
    /// The device's primary context, shared by all that retain it.
    7000 fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: i32) {
        with(|state| {
            context.check()?;
            device::check(device)?;
            let handle = match state.primary.handle {
                Some(handle) => handle,
                None => {
                    let made = state.create(state.primary.flags, true);
                    state.primary.handle = Some(made);
                    made
                }
            };
            state.primary.retained += 1;
            context.put(handle)
        })
    }
    /// Releases the primary context; the last release destroys it.
    11000 fn cuDevicePrimaryCtxRelease_v2(device: i32) {
        with(|state| {
            device::check(device)?;
            match (state.primary.retained, state.primary.handle) {
                (0, _) | (_, None) => Err(Fault::silent(INVALID_CONTEXT)),
                (1, Some(handle)) => {
                    state.primary.retained = 0;
                    state.primary.handle = None;
                    state.destroy(handle)
                }
                _ => {
                    state.primary.retained -= 1;
                    Ok(())
                }
            }
        })
    }
    /// Frees everything in the primary context.
    11000 fn cuDevicePrimaryCtxReset_v2(device: i32) {
        with(|state| {
            device::check(device)?;
            let Some(handle) = state.primary.handle else { return Ok(()) };
            state.free_all_of(handle);
            state.unload_all_of(handle);
            state.streams.retain(|stream| stream.context != handle);
            state.events.retain(|event| event.context != handle);
            state.of(handle)?.fault = None;
            Ok(())
        })
    }
    /// The primary context's flags, and whether it is active.
    7000 fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        with(|state| {
            device::check(device)?;
            flags.put(state.primary.flags)?;
            active.put(state.primary.handle.is_some().into())
        })
    }
    /// Sets the primary context's flags.
    11000 fn cuDevicePrimaryCtxSetFlags_v2(device: i32, flags: u32) {
        with(|state| {
            device::check(device)?;
            if flags & !FLAGS != 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            state.primary.flags = flags;
            if let Some(handle) = state.primary.handle {
                state.of(handle)?.flags = flags;
            }
            Ok(())
        })
    }
    /// Creates a context and makes it current.
    3020 fn cuCtxCreate_v2(context: Out<Handle>, flags: u32, device: i32) {
        create(context, flags, device)
    }
    /// As above; contexts with only some of the SMs are not supported.
    11040 fn cuCtxCreate_v3(context: Out<Handle>, affinity: In<u64>, count: i32, flags: u32, device: i32) {
        if count != 0 || !affinity.is_null() {
            return Err(Fault::of(NOT_SUPPORTED, "a context with only some of the SMs is not supported; create one with all of them"));
        }
        create(context, flags, device)
    }
    /// As above.
    12050 fn cuCtxCreate_v4(context: Out<Handle>, parameters: In<u64>, flags: u32, device: i32) {
        if !parameters.is_null() && parameters.all(2)? != [0, 0] {
            return Err(Fault::of(NOT_SUPPORTED, "a context with only some of the SMs is not supported; create one with all of them"));
        }
        create(context, flags, device)
    }
    /// Destroys a context and everything that it owns.
    4000 fn cuCtxDestroy_v2(context: Handle) {
        with(|state| {
            if context == 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            if state.of(context)?.primary {
                return Err(Fault::silent(INVALID_CONTEXT));
            }
            state.destroy(context)?;
            if state::current() == Some(context) {
                state::pop();
            }
            Ok(())
        })
    }
    /// Pushes a context, which becomes current.
    4000 fn cuCtxPushCurrent_v2(context: Handle) {
        with(|state| { state.of(context)?; state::push(context); Ok(()) })
    }
    /// Pops the current context; the one below becomes current.
    4000 fn cuCtxPopCurrent_v2(context: Out<Handle>) {
        with(|_| {
            let top = state::pop().ok_or(Fault::silent(INVALID_CONTEXT))?;
            context.put_if_wanted(top)
        })
    }
    /// Replaces the current context; 0 for none.
    4000 fn cuCtxSetCurrent(context: Handle) {
        with(|state| {
            if context != 0 {
                state.of(context)?;
            }
            state::replace((context != 0).then_some(context));
            Ok(())
        })
    }
    /// The current context, or 0.
    4000 fn cuCtxGetCurrent(context: Out<Handle>) {
        with(|_| context.put(state::current().unwrap_or(0)))
    }
    /// The device of the current context.
    2000 fn cuCtxGetDevice(device: Out<i32>) {
        with(|state| { state.current()?; device.put(0) })
    }
    /// The device of a context.
    13000 fn cuCtxGetDevice_v2(device: Out<i32>, context: Handle) {
        with(|state| { state.context_or_current(context)?; device.put(0) })
    }
    /// The flags of the current context.
    7000 fn cuCtxGetFlags(flags: Out<u32>) {
        with(|state| { let context = state.current()?; flags.put(state.of(context)?.flags) })
    }
    /// Sets the flags of the current context.
    12010 fn cuCtxSetFlags(flags: u32) {
        with(|state| {
            let context = state.current()?;
            if flags & !FLAGS != 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            state.of(context)?.flags = flags;
            Ok(())
        })
    }
    /// The unique id of a context.
    12000 fn cuCtxGetId(context: Handle, id: Out<u64>) {
        with(|state| { let context = state.context_or_current(context)?; id.put(context as u64) })
    }
    /// Waits for all work; returns a kernel's error.
    2000 fn cuCtxSynchronize() { synchronize() }
    /// As above, for any context.
    13000 fn cuCtxSynchronize_v2(context: Handle) {
        with(|state| {
            let context = state.context_or_current(context)?;
            match state.of(context)?.fault {
                Some(code) => Err(Fault::silent(code)),
                None => state.end_of_work(context),
            }
        })
    }
    /// Sets a limit, such as a thread's stack size.
    3010 fn cuCtxSetLimit(which: u32, value: usize) {
        with_context(|state, context| {
            let which = which as usize;
            if which >= LIMITS.len() {
                return Err(Fault::silent(INVALID_VALUE));
            }
            if which == STACK {
                state.gpu.options_mut().limits.stack = value as u64;
            }
            state.of(context)?.limits[which] = value;
            Ok(())
        })
    }
    /// The value of a limit.
    3010 fn cuCtxGetLimit(value: Out<usize>, which: u32) {
        with_context(|state, context| {
            let which = which as usize;
            if which >= LIMITS.len() {
                return Err(Fault::silent(INVALID_VALUE));
            }
            let stack = state.gpu.options().limits.stack as usize;
            value.put(if which == STACK { stack } else { state.of(context)?.limits[which] })
        })
    }
    /// A preference without effect here.
    3020 fn cuCtxGetCacheConfig(config: Out<u32>) {
        with_context(|state, context| config.put(state.of(context)?.cache))
    }
    /// A preference without effect here.
    3020 fn cuCtxSetCacheConfig(config: u32) {
        with_context(|state, context| {
            // CUfunc_cache has four values.
            if config > 3 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            state.of(context)?.cache = config;
            Ok(())
        })
    }
    /// Banks are 4 bytes wide.
    4020 fn cuCtxGetSharedMemConfig(config: Out<u32>) { with_context(|_, _| config.put(1)) }
    /// Banks are 4 bytes wide, whatever the caller asks for.
    4020 fn cuCtxSetSharedMemConfig(_config: u32) { with_context(|_, _| Ok(())) }
    /// The API version of contexts since CUDA 4.
    3020 fn cuCtxGetApiVersion(context: Handle, version: Out<u32>) {
        with(|state| { state.context_or_current(context)?; version.put(3020) })
    }
    /// Stream priorities are stored and have no effect.
    5050 fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        with_context(|_, _| { least.put_if_wanted(0)?; greatest.put_if_wanted(-5) })
    }
    /// There is no cache to reset.
    11000 fn cuCtxResetPersistingL2Cache() { with_context(|_, _| Ok(())) }
    /// There is no other device.
    4000 fn cuCtxEnablePeerAccess(_peer: Handle, _flags: u32) {
        with_context(|_, _| Err(Fault::of(crate::error::PEER_ACCESS_UNSUPPORTED, "there is only one device")))
    }
    /// There is no other device.
    4000 fn cuCtxDisablePeerAccess(_peer: Handle) {
        with_context(|_, _| Err(Fault::silent(crate::error::PEER_ACCESS_NOT_ENABLED)))
    }
    /// The deprecated way to retain a context.
    2000 fn cuCtxAttach(_context: Out<Handle>, _flags: u32) {
        Err(Fault::of(NOT_SUPPORTED, "cuCtxAttach is deprecated; use cuDevicePrimaryCtxRetain"))
    }
}
