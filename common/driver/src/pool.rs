//! Stream-ordered memory from pools. Here it is ordinary memory, allocated and freed immediately.
use crate::device;
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::host_memory::Origin;
use crate::state::{State, with, with_context};
use crate::stream::Work;
use crate::table::Handle;

/// A pool.
pub struct Pool {
    kind: PoolKind,
    /// By the number of `CUmemPool_attribute`.
    attributes: [u64; 9],
}

/// Which memory a pool allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PoolKind {
    Device,
    /// Pinned host memory.
    Host,
    Managed,
}

impl PoolKind {
    /// By `CUmemAllocationType` and `CUmemLocation`: none (0), the device, the host, or one of its NUMA nodes.
    fn of(kind: u32, location: [i32; 2]) -> Result<Self, Fault> {
        match (kind, location) {
            (1, [1, 0]) => Ok(Self::Device),
            (1, [2..=4, _]) => Ok(Self::Host),
            (2, [1, 0] | [0 | 2..=4, _]) => Ok(Self::Managed),
            _ => Err(Fault::silent(INVALID_VALUE)),
        }
    }
}

// CUmemPool_attribute
const RESERVED: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED: u32 = 7;
const USED_HIGH: u32 = 8;

impl State {
    /// The pool that allocations come from unless the client names one.
    fn current_pool(&mut self, kind: PoolKind) -> Handle {
        match self.current_pools.get(&kind) {
            Some(&pool) => pool,
            None => self.default_pool(kind),
        }
    }

    fn default_pool(&mut self, kind: PoolKind) -> Handle {
        let pools = &mut self.pools;
        *self.default_pools.entry(kind).or_insert_with(|| {
            let mut attributes = [0; 9];
            // Memory is reused whenever it can be.
            attributes[1..=3].fill(1);
            pools.insert(Pool { kind, attributes })
        })
    }

    fn pool(&mut self, handle: Handle) -> Result<&mut Pool, Fault> {
        let found = self.pools.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// Bytes that are allocated from a pool.
    fn used(&self, pool: Handle) -> u64 {
        let its = self.allocations.values().filter(|one| one.pool == pool);
        let on_host = self.host.values().filter(|one| one.pool == pool);
        let bytes = its.map(|one| one.bytes());
        let bytes = bytes.chain(on_host.map(|one| one.bytes()));
        bytes.map(|bytes| bytes as u64).sum()
    }

    fn allocate_from(&mut self, pool: Handle, bytes: usize, context: Handle) -> Result<u64, Fault> {
        let address = match self.pool(pool)?.kind {
            PoolKind::Device => self.allocate(bytes, context, pool),
            PoolKind::Host => self.allocate_shared(bytes, context, pool, 0, Origin::Pooled),
            PoolKind::Managed => self.allocate_shared(bytes, context, pool, 0, Origin::Managed),
        }?;
        let used = self.used(pool);
        let pool = self.pool(pool)?;
        for high in [RESERVED_HIGH, USED_HIGH] {
            let high = &mut pool.attributes[high as usize];
            *high = used.max(*high);
        }
        Ok(address)
    }

    /// As above, in stream order; in a capture it reserves memory that the graph allocates when it runs.
    fn allocate_in_order(
        &mut self,
        bytes: usize,
        pool: Handle,
        stream: Handle,
        context: Handle,
    ) -> Result<u64, Fault> {
        if self.capturing(stream)?.is_none() {
            return self.allocate_from(pool, bytes, context);
        }
        if self.pool(pool)?.kind != PoolKind::Device {
            return Err(Fault::of(
                NOT_SUPPORTED,
                "graphs can only allocate device memory: allocate host memory before the capture",
            ));
        }
        let address = self.reserve(bytes, context)?;
        self.enqueue(stream, Work::Allocate(address, true))?;
        Ok(address)
    }
}

fn put_pool(
    pool: Out<Handle>,
    kind: u32,
    location: [i32; 2],
    which: fn(&mut State, PoolKind) -> Handle,
) -> Answer {
    with(|state| {
        check_device(location)?;
        let kind = PoolKind::of(kind, location)?;
        pool.put(which(state, kind))
    })
}

fn set_current(kind: u32, location: [i32; 2], pool: Handle) -> Answer {
    with(|state| {
        check_device(location)?;
        let kind = PoolKind::of(kind, location)?;
        if state.pool(pool)?.kind != kind {
            return Err(Fault::silent(INVALID_VALUE));
        }
        state.current_pools.insert(kind, pool);
        Ok(())
    })
}

/// Checks that a device location names the only device.
fn check_device(location: [i32; 2]) -> Answer {
    match location {
        [1, device] => device::check(device),
        _ => Ok(()),
    }
}

/// The reuse policies, attributes 1 to 3, have 32 bits; the release threshold and the counters, 4 to 8, have 64.
fn is_wide(which: u32) -> bool {
    which >= 4
}

entry_points! {
    /// The default pool.
    11020 fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: i32) {
        put_pool(pool, 1, [1, device], State::default_pool)
    }
    /// The current pool, from which [`cuMemAllocAsync`] allocates.
    11020 fn cuDeviceGetMemPool(pool: Out<Handle>, device: i32) { put_pool(pool, 1, [1, device], State::current_pool) }
    /// Sets the current pool.
    11020 fn cuDeviceSetMemPool(device: i32, pool: Handle) { set_current(1, [1, device], pool) }
    /// The default pool of a kind of memory.
    13000 fn cuMemGetDefaultMemPool(pool: Out<Handle>, location: In<[i32; 2]>, kind: u32) {
        put_pool(pool, kind, location.get()?, State::default_pool)
    }
    /// The current pool of a kind of memory.
    13000 fn cuMemGetMemPool(pool: Out<Handle>, location: In<[i32; 2]>, kind: u32) {
        put_pool(pool, kind, location.get()?, State::current_pool)
    }
    /// Sets the current pool of a kind of memory.
    13000 fn cuMemSetMemPool(location: In<[i32; 2]>, kind: u32, pool: Handle) {
        set_current(kind, location.get()?, pool)
    }
    /// Creates a pool: allocation type, handle types, and location.
    11020 fn cuMemPoolCreate(pool: Out<Handle>, properties: In<[i32; 4]>) {
        pool.check()?;
        let [kind, handles, location, id] = properties.get()?;
        if handles != 0 {
            return Err(Fault::of(NOT_SUPPORTED, "no process shares the memory of a pool: create it without handles (in cuda.core ipc_enabled=False)"));
        }
        let kind = PoolKind::of(kind as u32, [location, id])?;
        with(|state| { let made = state.pools.insert(Pool { kind, attributes: [0; 9] }); pool.put(made) })
    }
    /// Destroys a pool that is not a default one; memory from it stays valid until it is freed. If it was the current pool, the
    /// default one is again.
    11020 fn cuMemPoolDestroy(pool: Handle) {
        with(|state| {
            if state.default_pools.values().any(|&one| one == pool) {
                return Err(Fault::silent(INVALID_VALUE));
            }
            state.current_pools.retain(|_, one| *one != pool);
            state.pools.remove(pool).map(|_| ()).ok_or(Fault::silent(INVALID_HANDLE))
        })
    }
    /// A pool caches nothing that could be trimmed.
    11020 fn cuMemPoolTrimTo(pool: Handle, _bytes: usize) { with(|state| state.pool(pool).map(|_| ())) }
    /// An attribute of a pool.
    11020 fn cuMemPoolGetAttribute(pool: Handle, which: u32, value: usize) {
        with(|state| {
            let used = state.used(pool);
            let kept = *state.pool(pool)?.attributes.get(which as usize).ok_or(Fault::silent(INVALID_VALUE))?;
            let found = if matches!(which, RESERVED | USED) { used } else { kept };
            match is_wide(which) {
                true => Out::<u64>::at(value).put(found),
                false => Out::<u32>::at(value).put(found as u32),
            }
        })
    }
    /// Sets an attribute, without effect.
    11020 fn cuMemPoolSetAttribute(pool: Handle, which: u32, value: usize) {
        with(|state| {
            let given = match is_wide(which) {
                true => In::<u64>::at(value).get()?,
                false => In::<u32>::at(value).get()?.into(),
            };
            let kept = state.pool(pool)?.attributes.get_mut(which as usize);
            *kept.ok_or(Fault::silent(INVALID_VALUE))? = given;
            Ok(())
        })
    }
    /// The device has read and write access.
    11020 fn cuMemPoolGetAccess(flags: Out<u32>, pool: Handle, _location: In<[i32; 2]>) {
        with(|state| { state.pool(pool)?; flags.put(3) })
    }
    /// The device has read and write access, whatever the caller asks for.
    11020 fn cuMemPoolSetAccess(pool: Handle, _list: usize, _count: usize) {
        with(|state| state.pool(pool).map(|_| ()))
    }
    /// Allocates device memory from the current pool.
    11020 fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
        with_context(|state, context| {
            address.check()?;
            let pool = state.current_pool(PoolKind::Device);
            address.put(state.allocate_in_order(bytes, pool, stream, context)?)
        })
    }
    /// Allocates from the given pool.
    11020 fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        with_context(|state, context| {
            address.check()?;
            address.put(state.allocate_in_order(bytes, pool, stream, context)?)
        })
    }
    /// Frees memory, in stream order.
    11020 fn cuMemFreeAsync(address: u64, stream: Handle) {
        with_context(|state, _| match state.graph_memory.contains_key(&address) {
            true => state.enqueue(stream, Work::Allocate(address, false)),
            false => { state.not_capturing(stream)?; state.free(address) }
        })
    }
}
