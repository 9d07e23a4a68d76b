//! Contexts: whose memory, modules and streams things are, and which of them a thread works in.
use crate::device;
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_CONTEXT, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::state::{self, State, with, with_context};
use crate::table::Handle;

/// A context.
pub struct Context {
    flags: u32,
    /// What a kernel in it did wrong: from then on every call answers so.
    pub fault: Option<u32>,
    /// Whether it is the device's primary one.
    primary: bool,
    cache: u32,
    /// What limits other than the stack's were set to.
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
/// Bytes of `CU_LIMIT_PRINTF_FIFO_SIZE` and `CU_LIMIT_MALLOC_HEAP_SIZE` that a context begins with, levels and launches of
/// dynamic parallelism, bytes of a fetch from L2, and of L2 for data that persists.
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

    /// Frees a context with all that is its.
    fn destroy(&mut self, handle: Handle) -> Answer {
        let known = self.contexts.remove(handle);
        known.ok_or(Fault::silent(INVALID_CONTEXT))?;
        self.free_all_of(handle);
        self.unload_all_of(handle);
        self.streams.retain(|stream| stream.context != handle);
        self.events.retain(|event| event.context != handle);
        Ok(())
    }

    /// The context of a handle, or the current one for 0.
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

/// What a kernel has done wrong in the current context shows here.
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
    /// Releases it; the last release destroys it.
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
    /// Frees all that is in it.
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
    /// Its flags, and whether it is there.
    7000 fn cuDevicePrimaryCtxGetState(device: i32, flags: Out<u32>, active: Out<i32>) {
        with(|state| {
            device::check(device)?;
            flags.put(state.primary.flags)?;
            active.put(state.primary.handle.is_some().into())
        })
    }
    /// How it is to be.
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
    /// A context of its own, made current.
    3020 fn cuCtxCreate_v2(context: Out<Handle>, flags: u32, device: i32) {
        create(context, flags, device)
    }
    /// The same; only part of the SMs cannot be had.
    11040 fn cuCtxCreate_v3(context: Out<Handle>, affinity: In<u64>, count: i32, flags: u32, device: i32) {
        if count != 0 || !affinity.is_null() {
            return Err(Fault::of(NOT_SUPPORTED, "a context cannot have part of the SMs; create one with all of them"));
        }
        create(context, flags, device)
    }
    /// The same.
    12050 fn cuCtxCreate_v4(context: Out<Handle>, parameters: In<u64>, flags: u32, device: i32) {
        if !parameters.is_null() && parameters.all(2)? != [0, 0] {
            return Err(Fault::of(NOT_SUPPORTED, "a context cannot have part of the SMs; create one with all of them"));
        }
        create(context, flags, device)
    }
    /// Frees a context with all that is its.
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
    /// Makes it current, above the one that was.
    4000 fn cuCtxPushCurrent_v2(context: Handle) {
        with(|state| { state.of(context)?; state::push(context); Ok(()) })
    }
    /// Makes the one below current.
    4000 fn cuCtxPopCurrent_v2(context: Out<Handle>) {
        with(|_| {
            let top = state::pop().ok_or(Fault::silent(INVALID_CONTEXT))?;
            context.put_if_wanted(top)
        })
    }
    /// Makes it current in place of the one that was; 0 for none.
    4000 fn cuCtxSetCurrent(context: Handle) {
        with(|state| {
            if context != 0 {
                state.of(context)?;
            }
            state::replace((context != 0).then_some(context));
            Ok(())
        })
    }
    /// The current one, or 0.
    4000 fn cuCtxGetCurrent(context: Out<Handle>) {
        with(|_| context.put(state::current().unwrap_or(0)))
    }
    /// The device of the current one.
    2000 fn cuCtxGetDevice(device: Out<i32>) {
        with(|state| { state.current()?; device.put(0) })
    }
    /// The device of a context.
    13000 fn cuCtxGetDevice_v2(device: Out<i32>, context: Handle) {
        with(|state| { state.context_or_current(context)?; device.put(0) })
    }
    /// The flags of the current one.
    7000 fn cuCtxGetFlags(flags: Out<u32>) {
        with(|state| { let context = state.current()?; flags.put(state.of(context)?.flags) })
    }
    /// Sets them.
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
    /// A number that no other context has.
    12000 fn cuCtxGetId(context: Handle, id: Out<u64>) {
        with(|state| { let context = state.context_or_current(context)?; id.put(context as u64) })
    }
    /// Waits for all work; a kernel's fault shows here.
    2000 fn cuCtxSynchronize() { synchronize() }
    /// The same of any context.
    13000 fn cuCtxSynchronize_v2(context: Handle) {
        with(|state| {
            let context = state.context_or_current(context)?;
            match state.of(context)?.fault {
                Some(code) => Err(Fault::silent(code)),
                None => state.end_of_work(context),
            }
        })
    }
    /// A limit, such as the stack of a thread.
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
    /// What it is.
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
    /// A preference that changes nothing here.
    3020 fn cuCtxGetCacheConfig(config: Out<u32>) {
        with_context(|state, context| config.put(state.of(context)?.cache))
    }
    /// A preference that changes nothing here.
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
    /// Banks have 4 bytes.
    4020 fn cuCtxGetSharedMemConfig(config: Out<u32>) { with_context(|_, _| config.put(1)) }
    /// Banks have 4 bytes, whatever is asked for.
    4020 fn cuCtxSetSharedMemConfig(_config: u32) { with_context(|_, _| Ok(())) }
    /// That of contexts since CUDA 4.
    3020 fn cuCtxGetApiVersion(context: Handle, version: Out<u32>) {
        with(|state| { state.context_or_current(context)?; version.put(3020) })
    }
    /// Priorities are kept and change nothing.
    5050 fn cuCtxGetStreamPriorityRange(least: Out<i32>, greatest: Out<i32>) {
        with_context(|_, _| { least.put_if_wanted(0)?; greatest.put_if_wanted(-5) })
    }
    /// There is no cache to be reset.
    11000 fn cuCtxResetPersistingL2Cache() { with_context(|_, _| Ok(())) }
    /// There is no other device.
    4000 fn cuCtxEnablePeerAccess(_peer: Handle, _flags: u32) {
        with_context(|_, _| Err(Fault::of(crate::error::PEER_ACCESS_UNSUPPORTED, "there is one device")))
    }
    /// There is no other device.
    4000 fn cuCtxDisablePeerAccess(_peer: Handle) {
        with_context(|_, _| Err(Fault::silent(crate::error::PEER_ACCESS_NOT_ENABLED)))
    }
    /// An old way to retain a context.
    2000 fn cuCtxAttach(_context: Out<Handle>, _flags: u32) {
        Err(Fault::of(NOT_SUPPORTED, "cuCtxAttach is deprecated; use cuDevicePrimaryCtxRetain"))
    }
}
