//! Device memory, copies and fills.
use crate::copy::{Copy, Fill, Place, Shape, Side};
use crate::entry::entry_points;
use crate::error::{Answer, Fault, INVALID_VALUE, NOT_FOUND, NOT_SUPPORTED, OUT_OF_MEMORY};
use crate::host::{self, In, Out, plain_struct};
use crate::host_memory::Origin;
use crate::state::{State, with_context};
use crate::stream::{LEGACY, LEGACY_BY_NAME, Work};
use crate::table::Handle;

/// An allocation of device memory.
pub struct Allocation {
    buffer: emulator::Buffer,
    pub context: Handle,
    /// The pool that it was allocated from; 0 for none.
    pub pool: Handle,
}

impl Allocation {
    /// Its size.
    pub fn bytes(&self) -> usize {
        self.buffer.len()
    }
}

/// Bytes to which `cuMemAllocPitch` rounds a row, as on an H100.
const PITCH: usize = 512;

plain_struct! {
    /// `CUDA_MEMCPY2D`
    pub struct Memcpy2d {
        pub src_x: u64, pub src_y: u64, pub src_type: u32, pub pad_1: u32,
        pub src_host: u64, pub src_device: u64, pub src_array: u64, pub src_pitch: u64,
        pub dst_x: u64, pub dst_y: u64, pub dst_type: u32, pub pad_2: u32,
        pub dst_host: u64, pub dst_device: u64, pub dst_array: u64, pub dst_pitch: u64,
        pub width: u64, pub height: u64,
    }
}

plain_struct! {
    /// `CUDA_MEMCPY3D`
    pub struct Memcpy3d {
        pub src_x: u64, pub src_y: u64, pub src_z: u64, pub src_lod: u64, pub src_type: u32, pub pad_1: u32,
        pub src_host: u64, pub src_device: u64, pub src_array: u64, pub reserved_1: u64,
        pub src_pitch: u64, pub src_height: u64,
        pub dst_x: u64, pub dst_y: u64, pub dst_z: u64, pub dst_lod: u64, pub dst_type: u32, pub pad_2: u32,
        pub dst_host: u64, pub dst_device: u64, pub dst_array: u64, pub reserved_2: u64,
        pub dst_pitch: u64, pub dst_height: u64,
        pub width: u64, pub height: u64, pub depth: u64,
    }
}

impl State {
    /// Allocates device memory of a context.
    pub fn allocate(&mut self, bytes: usize, context: Handle, pool: Handle) -> Result<u64, Fault> {
        if bytes == 0 {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let buffer = self.named_buffer(bytes)?;
        let address = buffer.address();
        self.allocations.insert(
            address,
            Allocation {
                buffer,
                context,
                pool,
            },
        );
        Ok(address)
    }

    /// Allocates a buffer under a number, by which findings name it.
    pub fn named_buffer(&mut self, bytes: usize) -> Result<emulator::Buffer, Fault> {
        let name = format!("allocation {}", self.named + 1);
        let buffer = self.gpu.alloc(&name, bytes)?;
        self.named += 1;
        Ok(buffer)
    }

    /// Frees device memory, managed memory, or memory from a pool; ignores 0.
    pub fn free(&mut self, address: u64) -> Answer {
        if address == 0 {
            return Ok(());
        }
        if self.graph_memory.contains_key(&address) {
            return self.set_allocated(address, false);
        }
        match self.allocations.remove(&address) {
            Some(known) => Ok(self.gpu.free(known.buffer)?),
            None => self.free_on_host(
                address,
                |of| matches!(of, Origin::Managed(_) | Origin::Pooled(_)),
                INVALID_VALUE,
            ),
        }
    }

    /// Frees all device memory of a context.
    pub fn free_all_of(&mut self, context: Handle) {
        let its = self.allocations.iter();
        let its = its.filter(|(_, one)| one.context == context);
        let its: Vec<u64> = its.map(|(&address, _)| address).collect();
        for address in its {
            // It exists, so this cannot fail.
            self.graph_memory.remove(&address);
            let _ = self.free(address);
        }
        self.free_all_on_host_of(context);
    }

    /// The allocation that contains an address: its first address and size.
    pub fn range(&self, address: u64) -> Result<(u64, usize), Fault> {
        let (buffer, _) = self.gpu.find(address).ok_or(Fault::silent(INVALID_VALUE))?;
        Ok((buffer.address(), buffer.len()))
    }
}

fn flat(from: Place, to: Place, bytes: usize) -> Work {
    Work::Copy(Copy {
        from: Side::flat(from),
        to: Side::flat(to),
        shape: Shape {
            width: bytes as u64,
            rows: 1,
            slices: 1,
        },
    })
}

plain_struct! {
    /// `CUmemcpyAttributes`: when the source is read, hints about both locations, and flags.
    pub struct MemcpyAttributes {
        pub order: u32, pub source: [i32; 2], pub destination: [i32; 2], pub flags: u32,
    }
}

/// Reads an array of the client, after checking that its whole length is mapped.
fn array<T: host::Plain>(values: In<T>, count: usize) -> Result<Vec<T>, Fault> {
    let bytes = count.checked_mul(size_of::<T>());
    host::check_mapped(
        values.address() as u64,
        bytes.ok_or(Fault::silent(INVALID_VALUE))?,
    )?;
    values.all(count)
}

/// The copies of a batch. Each is complete when the call returns, which satisfies every order in which the source may be read.
fn batch(
    [to, from]: [In<u64>; 2],
    bytes: In<usize>,
    count: usize,
    attributes: In<MemcpyAttributes>,
    firsts: In<usize>,
    kinds: usize,
) -> Result<Vec<Work>, Fault> {
    let wrong = Fault::silent(INVALID_VALUE);
    if kinds == 0 || kinds > count {
        return Err(wrong);
    }
    let orders = array(attributes, kinds)?;
    let firsts = array(firsts, kinds)?;
    let ordered = firsts[0] == 0 && firsts.is_sorted_by(|a, b| a < b) && firsts[kinds - 1] < count;
    if !ordered || orders.iter().any(|one| !(1..=3).contains(&one.order)) {
        return Err(wrong);
    }
    let (to, from, bytes) = (array(to, count)?, array(from, count)?, array(bytes, count)?);
    let copies = to.into_iter().zip(from).zip(bytes);
    let copies = copies.map(|((to, from), bytes)| match bytes {
        0 => Err(wrong.clone()),
        _ => Ok(flat(Place::Unified(from), Place::Unified(to), bytes)),
    });
    copies.collect()
}

fn enqueue(stream: Handle, work: Work) -> Answer {
    with_context(|state, _| state.enqueue(stream, work))
}

// CUmemorytype
pub const HOST: u32 = 1;
pub const DEVICE: u32 = 2;
pub const UNIFIED: u32 = 4;

fn place(kind: u32, host: u64, device: u64, offset: Option<u64>) -> Result<Place, Fault> {
    let at = |base: u64| {
        let at = offset.and_then(|offset| base.checked_add(offset));
        at.filter(|_| base != 0).ok_or(Fault::silent(INVALID_VALUE))
    };
    Ok(match kind {
        HOST => Place::Host(at(host)?),
        DEVICE => Place::Device(at(device)?),
        UNIFIED => Place::Unified(at(device)?),
        3 => {
            return Err(Fault::of(
                NOT_SUPPORTED,
                "CUDA arrays are not supported; copy from and to device memory",
            ));
        }
        _ => return Err(Fault::silent(INVALID_VALUE)),
    })
}

fn copy_2d(copy: In<Memcpy2d>) -> Result<Work, Fault> {
    let c = copy.get()?;
    let offset = |x: u64, y: u64, pitch: u64| y.checked_mul(pitch)?.checked_add(x);
    let side = |place, pitch| Side {
        place,
        pitch,
        slice: 0,
    };
    let from = place(
        c.src_type,
        c.src_host,
        c.src_device,
        offset(c.src_x, c.src_y, c.src_pitch),
    )?;
    let to = place(
        c.dst_type,
        c.dst_host,
        c.dst_device,
        offset(c.dst_x, c.dst_y, c.dst_pitch),
    )?;
    Ok(Work::Copy(Copy {
        from: side(from, c.src_pitch),
        to: side(to, c.dst_pitch),
        shape: Shape {
            width: c.width,
            rows: c.height,
            slices: 1,
        },
    }))
}

pub fn copy_3d(copy: In<Memcpy3d>) -> Result<Work, Fault> {
    let c = copy.get()?;
    let offset = |x: u64, y: u64, z: u64, pitch: u64, height: u64| {
        let slices = z.checked_mul(pitch.checked_mul(height)?)?;
        y.checked_mul(pitch)?.checked_add(x)?.checked_add(slices)
    };
    let side = |place, pitch: u64, height: u64| Side {
        place,
        pitch,
        slice: pitch.saturating_mul(height),
    };
    let from = offset(c.src_x, c.src_y, c.src_z, c.src_pitch, c.src_height);
    let from = place(c.src_type, c.src_host, c.src_device, from)?;
    let to = offset(c.dst_x, c.dst_y, c.dst_z, c.dst_pitch, c.dst_height);
    let to = place(c.dst_type, c.dst_host, c.dst_device, to)?;
    Ok(Work::Copy(Copy {
        from: side(from, c.src_pitch, c.src_height),
        to: side(to, c.dst_pitch, c.dst_height),
        shape: Shape {
            width: c.width,
            rows: c.height,
            slices: c.depth,
        },
    }))
}

pub fn set(to: u64, pitch: usize, value: u32, element: u8, width: usize, rows: usize) -> Work {
    Work::Fill(Fill {
        to,
        pitch: pitch as u64,
        value,
        element,
        width: width as u64,
        rows: rows as u64,
    })
}

entry_points! {
    /// Allocates device memory, zeroed.
    3020 fn cuMemAlloc_v2(address: Out<u64>, bytes: usize) {
        with_context(|state, context| { address.check()?; address.put(state.allocate(bytes, context, 0)?) })
    }
    /// As above, in rows padded to a multiple of 512 bytes.
    3020 fn cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, rows: usize, element: u32) {
        with_context(|state, context| {
            address.check()?;
            pitch.check()?;
            if !matches!(element, 4 | 8 | 16) || width == 0 || rows == 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
            let row = width.checked_next_multiple_of(PITCH);
            let bytes = row.and_then(|row| row.checked_mul(rows));
            let bytes = bytes.ok_or(Fault::silent(OUT_OF_MEMORY))?;
            address.put(state.allocate(bytes, context, 0)?)?;
            pitch.put(row.unwrap_or(width))
        })
    }
    /// Frees device memory.
    3020 fn cuMemFree_v2(address: u64) { with_context(|state, _| state.free(address)) }
    /// Free and total bytes.
    3020 fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        with_context(|state, _| {
            let all = state.gpu.options().limits.memory as usize;
            let used: usize = state.allocations.values().map(|one| one.buffer.len()).sum();
            free.put_if_wanted(all.saturating_sub(used))?;
            total.put_if_wanted(all)
        })
    }
    /// The allocation that contains an address.
    3020 fn cuMemGetAddressRange_v2(base: Out<u64>, bytes: Out<usize>, address: u64) {
        with_context(|state, _| {
            let range = state.range(address).map_err(|_| Fault::silent(NOT_FOUND))?;
            base.put_if_wanted(range.0)?;
            bytes.put_if_wanted(range.1)
        })
    }
    /// Copies between any two addresses.
    4000 fn cuMemcpy(to: u64, from: u64, bytes: usize) {
        enqueue(LEGACY, flat(Place::Unified(from), Place::Unified(to), bytes))
    }
    /// As above, in stream order.
    4000 fn cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(stream, flat(Place::Unified(from), Place::Unified(to), bytes))
    }
    /// Copies from the host to the device.
    3020 fn cuMemcpyHtoD_v2(to: u64, from: u64, bytes: usize) {
        enqueue(LEGACY, flat(Place::Host(from), Place::Device(to), bytes))
    }
    /// As above, in stream order.
    3020 fn cuMemcpyHtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(stream, flat(Place::Host(from), Place::Device(to), bytes))
    }
    /// Copies from the device to the host.
    3020 fn cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) {
        enqueue(LEGACY, flat(Place::Device(from), Place::Host(to), bytes))
    }
    /// As above, in stream order.
    3020 fn cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(stream, flat(Place::Device(from), Place::Host(to), bytes))
    }
    /// Copies within the device.
    3020 fn cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) {
        enqueue(LEGACY, flat(Place::Device(from), Place::Device(to), bytes))
    }
    /// As above, in stream order.
    3020 fn cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: Handle) {
        enqueue(stream, flat(Place::Device(from), Place::Device(to), bytes))
    }
    /// Copies between contexts, which share memory here.
    4000 fn cuMemcpyPeer(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize) {
        enqueue(LEGACY, flat(Place::Device(from), Place::Device(to), bytes))
    }
    /// As above, in stream order.
    4000 fn cuMemcpyPeerAsync(to: u64, _to_context: Handle, from: u64, _from_context: Handle, bytes: usize, stream: Handle) {
        enqueue(stream, flat(Place::Device(from), Place::Device(to), bytes))
    }
    /// Several copies in stream order; the legacy default stream is refused, as by CUDA.
    13000 fn cuMemcpyBatchAsync_v2(
        to: In<u64>, from: In<u64>, bytes: In<usize>, count: usize,
        attributes: In<MemcpyAttributes>, firsts: In<usize>, kinds: usize, stream: Handle,
    ) {
        with_context(|state, _| {
            if matches!(stream, LEGACY | LEGACY_BY_NAME) {
                return Err(Fault::silent(INVALID_VALUE));
            }
            let copies = batch([to, from], bytes, count, attributes, firsts, kinds)?;
            copies.into_iter().try_for_each(|copy| state.enqueue(stream, copy))
        })
    }
    /// Copies rows.
    3020 fn cuMemcpy2D_v2(copy: In<Memcpy2d>) { enqueue(LEGACY, copy_2d(copy)?) }
    /// Copies rows at any addresses.
    3020 fn cuMemcpy2DUnaligned_v2(copy: In<Memcpy2d>) { enqueue(LEGACY, copy_2d(copy)?) }
    /// Copies rows, in stream order.
    3020 fn cuMemcpy2DAsync_v2(copy: In<Memcpy2d>, stream: Handle) { enqueue(stream, copy_2d(copy)?) }
    /// Copies slices of rows.
    3020 fn cuMemcpy3D_v2(copy: In<Memcpy3d>) { enqueue(LEGACY, copy_3d(copy)?) }
    /// Copies slices of rows, in stream order.
    3020 fn cuMemcpy3DAsync_v2(copy: In<Memcpy3d>, stream: Handle) { enqueue(stream, copy_3d(copy)?) }
    /// Sets bytes.
    3020 fn cuMemsetD8_v2(to: u64, value: u8, count: usize) { enqueue(LEGACY, set(to, 0, value.into(), 1, count, 1)) }
    /// Sets 16-bit values.
    3020 fn cuMemsetD16_v2(to: u64, value: u16, count: usize) { enqueue(LEGACY, set(to, 0, value.into(), 2, count, 1)) }
    /// Sets 32-bit values.
    3020 fn cuMemsetD32_v2(to: u64, value: u32, count: usize) { enqueue(LEGACY, set(to, 0, value, 4, count, 1)) }
    /// Sets bytes in stream order.
    3020 fn cuMemsetD8Async(to: u64, value: u8, count: usize, stream: Handle) {
        enqueue(stream, set(to, 0, value.into(), 1, count, 1))
    }
    /// Sets 16-bit values in stream order.
    3020 fn cuMemsetD16Async(to: u64, value: u16, count: usize, stream: Handle) {
        enqueue(stream, set(to, 0, value.into(), 2, count, 1))
    }
    /// Sets 32-bit values in stream order.
    3020 fn cuMemsetD32Async(to: u64, value: u32, count: usize, stream: Handle) {
        enqueue(stream, set(to, 0, value, 4, count, 1))
    }
    /// Sets rows of bytes.
    3020 fn cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, rows: usize) {
        enqueue(LEGACY, set(to, pitch, value.into(), 1, width, rows))
    }
    /// Sets rows of 16-bit values.
    3020 fn cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, rows: usize) {
        enqueue(LEGACY, set(to, pitch, value.into(), 2, width, rows))
    }
    /// Sets rows of 32-bit values.
    3020 fn cuMemsetD2D32_v2(to: u64, pitch: usize, value: u32, width: usize, rows: usize) {
        enqueue(LEGACY, set(to, pitch, value, 4, width, rows))
    }
    /// Sets rows of bytes in stream order.
    3020 fn cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, rows: usize, stream: Handle) {
        enqueue(stream, set(to, pitch, value.into(), 1, width, rows))
    }
    /// Sets rows of 16-bit values in stream order.
    3020 fn cuMemsetD2D16Async(to: u64, pitch: usize, value: u16, width: usize, rows: usize, stream: Handle) {
        enqueue(stream, set(to, pitch, value.into(), 2, width, rows))
    }
    /// Sets rows of 32-bit values in stream order.
    3020 fn cuMemsetD2D32Async(to: u64, pitch: usize, value: u32, width: usize, rows: usize, stream: Handle) {
        enqueue(stream, set(to, pitch, value, 4, width, rows))
    }
}
