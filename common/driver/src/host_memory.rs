//! Host memory that the driver knows: pinned, managed, or registered by the client. Kernels can read and write it.
//!
//! A kernel reaches nothing but the emulator's buffers. So such memory has a buffer, too: it is given the host's bytes before
//! each launch, and the bytes that the launch changed are written back after it. A launch is over when its call returns, so
//! this is all that a client can observe. Memory that the driver allocates has one address for both sides, as CUDA's unified
//! addressing has it: the pages are mapped where the buffer is.
use crate::entry::entry_points;
use crate::error::{
    Answer, Fault, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE,
};
use crate::host::{self, Mapping, Out};
use crate::state::{State, with_context};
use crate::table::Handle;

/// Memory of the host that the driver knows.
pub struct HostMemory {
    bytes: usize,
    pub origin: Origin,
    /// Where a kernel finds it; registered memory has none until its device address is asked for.
    buffer: Option<emulator::Buffer>,
    pub context: Handle,
    /// The pool that it is from; 0 for none.
    pub pool: Handle,
    flags: u32,
}

impl HostMemory {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Who allocated it. The mapping is kept until the memory is freed.
pub enum Origin {
    /// `cuMemAllocHost`, `cuMemHostAlloc`
    Pinned(#[allow(dead_code)] Mapping),
    /// From a pool of the host's memory.
    Pooled(#[allow(dead_code)] Mapping),
    /// `cuMemAllocManaged`, or from a pool of managed memory.
    Managed(#[allow(dead_code)] Mapping),
    /// `cuMemHostRegister`: the client's.
    Registered,
}

/// A launch's view of host memory: where it is on the host, its buffer, and the bytes that the kernel was given.
pub type Given = Vec<(u64, emulator::Buffer, Vec<u8>)>;

/// All flags of `cuMemHostAlloc`: portable, mapped, write-combined.
const ALLOC_FLAGS: u32 = 7;
/// All flags of `cuMemHostRegister`: portable, mapped, I/O memory, read-only.
const REGISTER_FLAGS: u32 = 15;

impl State {
    /// Allocates memory that the host and kernels reach at the same address.
    pub fn allocate_shared(
        &mut self,
        bytes: usize,
        context: Handle,
        pool: Handle,
        flags: u32,
        origin: impl FnOnce(Mapping) -> Origin,
    ) -> Result<u64, Fault> {
        if bytes == 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let buffer = self.named_buffer(bytes)?;
        let address = buffer.address();
        // No other buffer is within 1 MiB, so that no page is wanted twice.
        let mapping = match Mapping::at(address, bytes) {
            Ok(mapping) => mapping,
            Err(fault) => {
                self.gpu.free(buffer)?;
                return Err(fault);
            }
        };
        self.host.insert(
            address,
            HostMemory {
                bytes,
                origin: origin(mapping),
                buffer: Some(buffer),
                context,
                pool,
                flags,
            },
        );
        Ok(address)
    }

    /// The memory of the host that an address is in, with its first address.
    fn host_memory(&self, address: u64) -> Option<(u64, &HostMemory)> {
        let (&start, memory) = self.host.range(..=address).next_back()?;
        (address - start < memory.bytes as u64).then_some((start, memory))
    }

    /// First address and bytes of the host's memory that an address is in.
    pub fn host_range(&self, address: u64) -> Option<(u64, usize)> {
        let (start, memory) = self.host_memory(address)?;
        Some((start, memory.bytes))
    }

    /// Whether an address is in memory of `cuMemAllocManaged`.
    pub fn is_managed(&self, address: u64) -> bool {
        let found = self.host_memory(address);
        found.is_some_and(|(_, memory)| matches!(memory.origin, Origin::Managed(_)))
    }

    /// The context in which host memory was allocated or registered, and the pool that it is from.
    pub fn owners_of_host_memory(&self, address: u64) -> Option<[Handle; 2]> {
        let (_, memory) = self.host_memory(address)?;
        Some([memory.context, memory.pool])
    }

    /// Where the host has the byte at a device address, if both sides share it, and how many bytes follow it.
    pub fn on_host(&self, device: u64) -> Option<(u64, u64)> {
        let (base, bytes) = self.range(device).ok()?;
        let mut all = self.host.iter();
        let (start, _) = all.find(|(_, memory)| {
            let buffer = memory.buffer.as_ref();
            buffer.is_some_and(|buffer| buffer.address() == base)
        })?;
        Some((start + (device - base), bytes as u64 - (device - base)))
    }

    /// Where a kernel finds the byte at a host address.
    pub fn on_device(&self, host: u64) -> Option<u64> {
        let (start, memory) = self.host_memory(host)?;
        Some(memory.buffer.as_ref()?.address() + (host - start))
    }

    /// The device address of host memory; registered memory gets its buffer now.
    fn mapped(&mut self, host: u64) -> Result<u64, Fault> {
        let (start, memory) = self.host_memory(host).ok_or(Fault::silent(INVALID_VALUE))?;
        if memory.buffer.is_none() {
            let buffer = self.named_buffer(memory.bytes)?;
            if let Some(memory) = self.host.get_mut(&start) {
                memory.buffer = Some(buffer);
            }
        }
        self.on_device(host).ok_or(Fault::silent(INVALID_VALUE))
    }

    /// Forgets host memory of this kind at its first address, and unmaps it if it was the driver's.
    pub fn free_on_host(&mut self, address: u64, of: fn(&Origin) -> bool, wrong: u32) -> Answer {
        match self.host.get(&address) {
            Some(memory) if of(&memory.origin) => {}
            _ => return Err(Fault::silent(wrong)),
        }
        let memory = self.host.remove(&address);
        match memory.and_then(|memory| memory.buffer) {
            Some(buffer) => Ok(self.gpu.free(buffer)?),
            None => Ok(()),
        }
    }

    /// The same with all that a context has.
    pub fn free_all_on_host_of(&mut self, context: Handle) {
        let its = self.host.iter();
        let its = its.filter(|(_, memory)| memory.context == context);
        let its: Vec<u64> = its.map(|(&address, _)| address).collect();
        for address in its {
            // It is there, so that nothing can go wrong.
            let _ = self.free_on_host(address, |_| true, INVALID_VALUE);
        }
    }

    /// Gives kernels what the host has written.
    pub fn give_to_device(&mut self) -> Result<Given, Fault> {
        let mut given = Given::new();
        for (&start, memory) in &self.host {
            let Some(buffer) = &memory.buffer else {
                continue;
            };
            if matches!(memory.origin, Origin::Registered) {
                host::check_mapped(start, memory.bytes).map_err(|fault| unmapped(start, fault))?;
            }
            let bytes = host::bytes(start, memory.bytes)?;
            self.gpu.write(buffer, &bytes)?;
            given.push((start, *buffer, bytes));
        }
        Ok(given)
    }

    /// Gives the host what a kernel has changed, and nothing else: other threads may have written there meanwhile.
    pub fn give_to_host(&self, given: Given) -> Answer {
        for (start, buffer, before) in given {
            let after = self.gpu.bytes(&buffer)?;
            for (at, changed) in changes(&before, after) {
                host::write(start + at as u64, changed)?;
            }
        }
        Ok(())
    }
}

fn unmapped(start: u64, fault: Fault) -> Fault {
    Fault::of(
        fault.code,
        format!(
            "the program has freed memory at 0x{start:x} that is still registered: call cuMemHostUnregister before"
        ),
    )
}

/// The runs of bytes of `after` that `before` does not have, each with its offset.
fn changes<'a>(before: &[u8], after: &'a [u8]) -> Vec<(usize, &'a [u8])> {
    let mut all = Vec::new();
    let mut at = 0;
    // A page at a time, since most pages of much memory are as they were.
    for (old, new) in before.chunks(4096).zip(after.chunks(4096)) {
        if old != new {
            let mut from = 0;
            while from < new.len() {
                let same = old[from..]
                    .iter()
                    .zip(&new[from..])
                    .take_while(|(a, b)| a == b);
                from += same.count();
                let other = old[from..]
                    .iter()
                    .zip(&new[from..])
                    .take_while(|(a, b)| a != b);
                let end = from + other.count();
                if end > from {
                    all.push((at + from, &new[from..end]));
                }
                from = end;
            }
        }
        at += new.len();
    }
    all
}

fn allocate(address: Out<u64>, bytes: usize, flags: u32) -> Answer {
    with_context(|state, context| {
        address.check()?;
        if flags & !ALLOC_FLAGS != 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        address.put(state.allocate_shared(bytes, context, 0, flags, Origin::Pinned)?)
    })
}

entry_points! {
    /// Pinned memory of the host.
    3020 fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) { allocate(address, bytes, 0) }
    /// The same. It is mapped and portable whatever the flags say.
    2020 fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) { allocate(address, bytes, flags) }
    /// Frees it.
    2000 fn cuMemFreeHost(address: u64) {
        with_context(|state, _| state.free_on_host(address, |of| matches!(of, Origin::Pinned(_)), INVALID_VALUE))
    }
    /// Managed memory, attached to all streams (1), to the host (2) or to one stream (4), which changes nothing here.
    6000 fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) {
        with_context(|state, context| {
            address.check()?;
            if !matches!(flags, 1 | 2 | 4) {
                return Err(Fault::silent(INVALID_VALUE));
            }
            address.put(state.allocate_shared(bytes, context, 0, 0, Origin::Managed)?)
        })
    }
    /// Memory of the client that is copied from and to, and that kernels may be given the device address of.
    6050 fn cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) {
        with_context(|state, context| {
            if address == 0 || bytes == 0 || flags & !REGISTER_FLAGS != 0 || address.checked_add(bytes as u64).is_none() {
                return Err(Fault::silent(INVALID_VALUE));
            }
            host::check_mapped(address, bytes)?;
            let before = state.host.range(..address + bytes as u64).next_back();
            if before.is_some_and(|(start, memory)| start + memory.bytes as u64 > address) {
                return Err(Fault::silent(HOST_MEMORY_ALREADY_REGISTERED));
            }
            state.host.insert(address, HostMemory { bytes, origin: Origin::Registered, buffer: None, context, pool: 0, flags });
            Ok(())
        })
    }
    /// Forgets it.
    4000 fn cuMemHostUnregister(address: u64) {
        with_context(|state, _| {
            state.free_on_host(address, |of| matches!(of, Origin::Registered), HOST_MEMORY_NOT_REGISTERED)
        })
    }
    /// The address by which a kernel reads the host's memory: the same, except for registered memory.
    3020 fn cuMemHostGetDevicePointer_v2(address: Out<u64>, host: u64, flags: u32) {
        with_context(|state, _| {
            address.check()?;
            match flags {
                0 => address.put(state.mapped(host)?),
                _ => Err(Fault::silent(INVALID_VALUE)),
            }
        })
    }
    /// How it was allocated.
    2030 fn cuMemHostGetFlags(flags: Out<u32>, host: u64) {
        with_context(|state, _| {
            let (_, memory) = state.host_memory(host).ok_or(Fault::silent(INVALID_VALUE))?;
            flags.put(memory.flags)
        })
    }
    /// A hint that changes nothing here.
    8000 fn cuMemAdvise(address: u64, bytes: usize, _advice: u32, _device: i32) { hint(address, bytes) }
    /// A hint that changes nothing here.
    12020 fn cuMemAdvise_v2(address: u64, bytes: usize, _advice: u32, _location: u64) { hint(address, bytes) }
    /// A hint that changes nothing here.
    8000 fn cuMemPrefetchAsync(address: u64, bytes: usize, _device: i32, _stream: Handle) { hint(address, bytes) }
    /// A hint that changes nothing here.
    12020 fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, _location: u64, _flags: u32, _stream: Handle) {
        hint(address, bytes)
    }
}

/// What may be said of managed memory only.
fn hint(address: u64, bytes: usize) -> Answer {
    with_context(|state, _| {
        let found = state
            .host_range(address)
            .filter(|_| state.is_managed(address));
        let (start, held) = found.ok_or(Fault::silent(INVALID_VALUE))?;
        let end = address.checked_add(bytes as u64);
        match end.is_some_and(|end| end <= start + held as u64) {
            true => Ok(()),
            false => Err(Fault::silent(INVALID_VALUE)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::changes;

    #[test]
    fn only_changed_bytes_are_written_back() {
        let before = [7; 200];
        assert_eq!(changes(&before, &before), []);
        let mut after = before;
        (after[0], after[63], after[64], after[199]) = (1, 2, 3, 4);
        let expected: [(usize, &[u8]); 3] = [(0, &[1]), (63, &[2, 3]), (199, &[4])];
        assert_eq!(changes(&before, &after), expected);
    }
}
