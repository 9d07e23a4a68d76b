//! Stream-ordered memory from pools. Here it is ordinary memory, allocated and freed at once.
use crate::device;
use crate::entry::entry_points;
use crate::error::{Fault, INVALID_HANDLE, INVALID_VALUE, NOT_SUPPORTED};
use crate::host::{In, Out};
use crate::state::{State, with, with_context};
use crate::table::Handle;

/// A pool.
#[derive(Default)]
pub struct Pool {
    /// By the number of `CUmemPool_attribute`.
    attributes: [u64; 9],
}

// CUmemPool_attribute
const RESERVED: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED: u32 = 7;
const USED_HIGH: u32 = 8;

impl State {
    fn default_pool(&mut self) -> Handle {
        let pools = &mut self.pools;
        *self.default_pool.get_or_insert_with(|| {
            let mut pool = Pool::default();
            // Memory is reused whenever possible.
            pool.attributes[1..=3].fill(1);
            pools.insert(pool)
        })
    }

    fn pool(&mut self, handle: Handle) -> Result<&mut Pool, Fault> {
        let found = self.pools.get_mut(handle);
        found.ok_or(Fault::silent(INVALID_HANDLE))
    }

    /// Bytes of a pool that are in use.
    fn used(&self, pool: Handle) -> u64 {
        let its = self.allocations.values().filter(|one| one.pool == pool);
        its.map(|one| one.bytes() as u64).sum()
    }

    fn allocate_from(&mut self, pool: Handle, bytes: usize, context: Handle) -> Result<u64, Fault> {
        let address = self.allocate(bytes, context, pool)?;
        let used = self.used(pool);
        let pool = self.pool(pool)?;
        for high in [RESERVED_HIGH, USED_HIGH] {
            let high = &mut pool.attributes[high as usize];
            *high = used.max(*high);
        }
        Ok(address)
    }
}

/// The reuse policies, attributes 1 to 3, have 32 bits; the release threshold and the counters, 4 to 8, have 64.
fn is_wide(which: u32) -> bool {
    which >= 4
}

entry_points! {
    /// The default pool.
    11020 fn cuDeviceGetDefaultMemPool(pool: Out<Handle>, device: i32) {
        with(|state| { device::check(device)?; pool.put(state.default_pool()) })
    }
    /// The current pool.
    11020 fn cuDeviceGetMemPool(pool: Out<Handle>, device: i32) {
        with(|state| { device::check(device)?; pool.put(state.default_pool()) })
    }
    /// The pool that [`cuMemAllocAsync`] takes from.
    11020 fn cuDeviceSetMemPool(device: i32, pool: Handle) {
        with(|state| { device::check(device)?; state.pool(pool)?; state.default_pool = Some(pool); Ok(()) })
    }
    /// The pool of a kind of memory; only device memory has one.
    13000 fn cuMemGetDefaultMemPool(pool: Out<Handle>, location: In<[i32; 2]>, _kind: u32) {
        match location.get()? {
            [1, 0] => with(|state| pool.put(state.default_pool())),
            _ => Err(Fault::of(NOT_SUPPORTED, "pools hold memory of the device")),
        }
    }
    /// As above.
    13000 fn cuMemGetMemPool(pool: Out<Handle>, location: In<[i32; 2]>, _kind: u32) {
        match location.get()? {
            [1, 0] => with(|state| pool.put(state.default_pool())),
            _ => Err(Fault::of(NOT_SUPPORTED, "pools hold memory of the device")),
        }
    }
    /// Creates a pool: allocation type, handle types, and location.
    11020 fn cuMemPoolCreate(pool: Out<Handle>, properties: In<[i32; 4]>) {
        pool.check()?;
        let [_, handles, location, device] = properties.get()?;
        if handles != 0 || location != 1 || device != 0 {
            return Err(Fault::of(NOT_SUPPORTED, "pools hold memory of the device, and no process shares them"));
        }
        with(|state| { let made = state.pools.insert(Pool::default()); pool.put(made) })
    }
    /// Destroys a pool; memory from it stays valid until it is freed.
    11020 fn cuMemPoolDestroy(pool: Handle) {
        with(|state| {
            if state.default_pool == Some(pool) {
                return Err(Fault::silent(INVALID_VALUE));
            }
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
    /// Allocates.
    11020 fn cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: Handle) {
        with_context(|state, context| {
            address.check()?;
            state.not_capturing(stream)?;
            let pool = state.default_pool();
            address.put(state.allocate_from(pool, bytes, context)?)
        })
    }
    /// Allocates from a pool.
    11020 fn cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: Handle, stream: Handle) {
        with_context(|state, context| {
            address.check()?;
            state.not_capturing(stream)?;
            state.pool(pool)?;
            address.put(state.allocate_from(pool, bytes, context)?)
        })
    }
    /// Frees.
    11020 fn cuMemFreeAsync(address: u64, stream: Handle) {
        with_context(|state, _| { state.not_capturing(stream)?; state.free(address) })
    }
}
