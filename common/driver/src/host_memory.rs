//! Host memory that the driver knows: pinned, managed, or registered by the client. Kernels can access it.
//!
//! A kernel can only access the emulator's buffers. So each host allocation also has a buffer. Before each launch the
//! buffer receives the host's bytes, and afterwards the bytes that the launch changed are written back. A launch is
//! complete when its call returns, so a client can observe no difference. Memory that the driver allocates has the same
//! address on both sides, as in CUDA's unified addressing: its pages are mapped at the buffer's address.
use crate::entry::entry_points;
use crate::error::{
    Answer, Fault, HOST_MEMORY_ALREADY_REGISTERED, HOST_MEMORY_NOT_REGISTERED, INVALID_VALUE,
};
use crate::host::{self, Mapping, Out};
use crate::state::{State, with_context};
use crate::table::Handle;

/// A host allocation that the driver knows.
pub struct HostMemory {
    bytes: usize,
    pub origin: Origin,
    /// Its buffer; registered memory has none until its device address is requested.
    buffer: Option<emulator::Buffer>,
    pub context: Handle,
    /// The pool that it was allocated from; 0 for none.
    pub pool: Handle,
    flags: u32,
}

impl HostMemory {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The call that it comes from. A mapping lasts until the memory is freed.
pub enum Origin {
    /// `cuMemAllocHost`, `cuMemHostAlloc`
    Pinned(#[allow(dead_code)] Mapping),
    /// From a pool of host memory.
    Pooled(#[allow(dead_code)] Mapping),
    /// `cuMemAllocManaged`, or from a pool of managed memory.
    Managed(#[allow(dead_code)] Mapping),
    /// `cuMemHostRegister`: owned by the client.
    Registered,
}

/// Host memory during a launch: host address, buffer, and the bytes that the kernel received.
pub type Given = Vec<(u64, emulator::Buffer, Vec<u8>)>;

/// All flags of `cuMemHostAlloc`: portable, mapped, write-combined.
const ALLOC_FLAGS: u32 = 7;
/// All flags of `cuMemHostRegister`: portable, mapped, I/O memory, read-only.
const REGISTER_FLAGS: u32 = 15;

impl State {
    /// Allocates memory that has the same address for the host and for kernels.
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
        // Buffers are at least 1 MiB apart, so no page is mapped twice.
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

    /// The host allocation that contains an address, and where it begins.
    fn host_memory(&self, address: u64) -> Option<(u64, &HostMemory)> {
        let (&start, memory) = self.host.range(..=address).next_back()?;
        (address - start < memory.bytes as u64).then_some((start, memory))
    }

    /// The range of the host allocation that contains an address.
    pub fn host_range(&self, address: u64) -> Option<(u64, usize)> {
        let (start, memory) = self.host_memory(address)?;
        Some((start, memory.bytes))
    }

    /// Whether an address is in managed memory.
    pub fn is_managed(&self, address: u64) -> bool {
        let found = self.host_memory(address);
        found.is_some_and(|(_, memory)| matches!(memory.origin, Origin::Managed(_)))
    }

    /// The context in which host memory was allocated or registered, and the pool that it was allocated from.
    pub fn owners_of_host_memory(&self, address: u64) -> Option<[Handle; 2]> {
        let (_, memory) = self.host_memory(address)?;
        Some([memory.context, memory.pool])
    }

    /// The host address of a device address, if both sides share it, and how many bytes follow.
    pub fn on_host(&self, device: u64) -> Option<(u64, u64)> {
        let (base, bytes) = self.range(device).ok()?;
        let mut all = self.host.iter();
        let (start, _) = all.find(|(_, memory)| {
            let buffer = memory.buffer.as_ref();
            buffer.is_some_and(|buffer| buffer.address() == base)
        })?;
        Some((start + (device - base), bytes as u64 - (device - base)))
    }

    /// The device address of a host address.
    pub fn on_device(&self, host: u64) -> Option<u64> {
        let (start, memory) = self.host_memory(host)?;
        Some(memory.buffer.as_ref()?.address() + (host - start))
    }

    /// The device address of host memory; this creates the buffer of registered memory.
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

    /// Removes host memory of this kind, given its first address, and unmaps it if the driver allocated it.
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

    /// Frees all host memory of a context; registered memory stays the client's.
    pub fn free_all_on_host_of(&mut self, context: Handle) {
        let its = self.host.iter();
        let its = its.filter(|(_, memory)| memory.context == context);
        let its: Vec<u64> = its.map(|(&address, _)| address).collect();
        for address in its {
            // It exists, so this cannot fail.
            let _ = self.free_on_host(address, |_| true, INVALID_VALUE);
        }
    }

    /// Copies what the host has written to the buffers.
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

    /// Copies back what the kernel has changed and nothing else: other threads may have written in the meantime.
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
            "the program has freed memory at 0x{start:x} that is still registered: call cuMemHostUnregister first"
        ),
    )
}

/// The runs of bytes in which `after` differs from `before`, each with its offset.
fn changes<'a>(before: &[u8], after: &'a [u8]) -> Vec<(usize, &'a [u8])> {
    let mut all = Vec::new();
    let mut at = 0;
    // Page by page, since most pages are unchanged.
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
    /// Allocates pinned host memory.
    3020 fn cuMemAllocHost_v2(address: Out<u64>, bytes: usize) { allocate(address, bytes, 0) }
    /// As above. It is mapped and portable whatever the flags say.
    2020 fn cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: u32) { allocate(address, bytes, flags) }
    /// Frees pinned host memory.
    2000 fn cuMemFreeHost(address: u64) {
        with_context(|state, _| state.free_on_host(address, |of| matches!(of, Origin::Pinned(_)), INVALID_VALUE))
    }
    /// Allocates managed memory, attached to all streams (1), to the host (2) or to one stream (4), which has no effect
    /// here.
    6000 fn cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: u32) {
        with_context(|state, context| {
            address.check()?;
            if !matches!(flags, 1 | 2 | 4) {
                return Err(Fault::silent(INVALID_VALUE));
            }
            address.put(state.allocate_shared(bytes, context, 0, 0, Origin::Managed)?)
        })
    }
    /// Registers memory of the client, so that kernels can be given a device address of it.
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
    /// Unregisters it.
    4000 fn cuMemHostUnregister(address: u64) {
        with_context(|state, _| {
            state.free_on_host(address, |of| matches!(of, Origin::Registered), HOST_MEMORY_NOT_REGISTERED)
        })
    }
    /// The device address of host memory: the same address, except for registered memory.
    3020 fn cuMemHostGetDevicePointer_v2(address: Out<u64>, host: u64, flags: u32) {
        with_context(|state, _| {
            address.check()?;
            match flags {
                0 => address.put(state.mapped(host)?),
                _ => Err(Fault::silent(INVALID_VALUE)),
            }
        })
    }
    /// The flags of its allocation.
    2030 fn cuMemHostGetFlags(flags: Out<u32>, host: u64) {
        with_context(|state, _| {
            let (_, memory) = state.host_memory(host).ok_or(Fault::silent(INVALID_VALUE))?;
            flags.put(memory.flags)
        })
    }
    /// A hint without effect here.
    8000 fn cuMemAdvise(address: u64, bytes: usize, _advice: u32, _device: i32) { hint(address, bytes) }
    /// A hint without effect here.
    12020 fn cuMemAdvise_v2(address: u64, bytes: usize, _advice: u32, _location: u64) { hint(address, bytes) }
    /// A hint without effect here.
    8000 fn cuMemPrefetchAsync(address: u64, bytes: usize, _device: i32, _stream: Handle) { hint(address, bytes) }
    /// A hint without effect here.
    12020 fn cuMemPrefetchAsync_v2(address: u64, bytes: usize, _location: u64, _flags: u32, _stream: Handle) {
        hint(address, bytes)
    }
}

/// Checks a hint, which is only valid for managed memory.
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
