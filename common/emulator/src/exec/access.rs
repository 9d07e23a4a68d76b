//! Loads, stores and atomics of one warp.
//!
//! The common cases, a whole warp in one allocation or in shared memory, are checked and served as
//! vectors. Everything else goes thread by thread through [`Context::read`] and [`Context::write`].
use super::block::Context;
use super::lanes::{Words, lanes, put, put_double};
use super::warp::Warp;
use crate::banks::{LANES, SharedAccess};
use crate::finding::{Access as Verb, Finding, Kind, Space as Where};
use crate::lower::{SHARED_BASE, window};
use crate::program::{Access, AtomicAccess, Class, Reg, Space};
use crate::shadow::{How, Verdict};

/// The launch cannot go on; the finding is noted.
pub(super) struct Fatal;

type Result<T> = std::result::Result<T, Fatal>;

/// Low `8 * bytes` bits.
#[inline(always)]
fn cut(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 {
        value
    } else {
        value & ((1 << (8 * bytes)) - 1)
    }
}

/// An element as its register holds it.
#[inline(always)]
fn extend(value: u64, bytes: u32, signed: bool) -> u64 {
    let unused = 64 - 8 * bytes;
    if signed {
        ((value << unused) as i64 >> unused) as u64
    } else {
        cut(value, bytes)
    }
}

impl Warp {
    /// The addresses of all lanes; inactive lanes get that of the first active one.
    #[inline(always)]
    fn addresses(&self, base: Reg, offset: i64, mask: u32) -> [u64; LANES] {
        let mut addresses = [0; LANES];
        match base.class {
            Class::Double => {
                let base = &self.doubles[base.index as usize].0;
                for i in 0..LANES {
                    addresses[i] = base[i].wrapping_add_signed(offset);
                }
            }
            _ => {
                let base = &self.words[base.index as usize].0;
                for i in 0..LANES {
                    addresses[i] = u64::from(base[i]).wrapping_add_signed(offset);
                }
            }
        }
        if mask != u32::MAX {
            let first = addresses[mask.trailing_zeros() as usize & 31];
            for i in 0..LANES {
                addresses[i] = if mask >> i & 1 == 1 {
                    addresses[i]
                } else {
                    first
                };
            }
        }
        addresses
    }

    #[inline(always)]
    pub fn load<const SANITIZE: bool>(
        &mut self,
        access: &Access,
        op: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        let mut addresses = self.addresses(access.base, access.offset, mask);
        let (space, mask_left) = resolve(access.space, &mut addresses, mask);
        let bytes = access.bytes * access.count;
        match space {
            Space::Shared if mask_left == 0 => {
                if let Some(addresses) = shared_window(&addresses, bytes, cx.machine.shared_end) {
                    cx.tally
                        .shared(op, access.slot, SharedAccess::Load, bytes, &addresses, mask);
                    if SANITIZE {
                        self.check_shared(How::Read, bytes, &addresses, op, mask, cx);
                    }
                    self.load_shared(access, &addresses, mask, cx);
                    return Ok(());
                }
            }
            Space::Global if mask_left == 0 => {
                if let Some((allocation, base)) = one_allocation(&addresses, bytes, cx) {
                    cx.tally.global(op, access.slot, bytes, &addresses, mask);
                    if !cx.writes.touched(allocation) {
                        self.load_global(
                            access,
                            &addresses,
                            base,
                            cx.machine.memory.data(allocation),
                            mask,
                        );
                        return Ok(());
                    }
                    return self.load_slowly(access, space, &addresses, op, mask, cx);
                }
            }
            _ => {}
        }
        self.count_slowly(
            access.slot,
            access.space,
            bytes,
            SharedAccess::Load,
            op,
            &addresses,
            mask,
            cx,
        );
        self.load_slowly(
            access,
            access.space,
            &self.addresses(access.base, access.offset, mask),
            op,
            mask,
            cx,
        )
    }

    #[inline(always)]
    fn load_shared(
        &mut self,
        access: &Access,
        addresses: &[u32; LANES],
        mask: u32,
        cx: &Context<'_>,
    ) {
        let shared = &cx.block.shared[..];
        let d = access.regs;
        match (access.class, access.bytes, access.count) {
            (Class::Word, 4, 4) => {
                let mut out = [Words::ZERO; 4];
                for i in 0..LANES {
                    let at = addresses[i] as usize / 4;
                    if let Some(&[a, b, c, d]) =
                        shared.get(at..at + 4).and_then(|s| s.first_chunk::<4>())
                    {
                        (out[0].0[i], out[1].0[i], out[2].0[i], out[3].0[i]) = (a, b, c, d);
                    }
                }
                for (d, out) in d.iter().zip(&out) {
                    put(&mut self.words[*d as usize], out, mask);
                }
            }
            (Class::Word, 4, 2) => {
                let mut out = [Words::ZERO; 2];
                for i in 0..LANES {
                    let at = addresses[i] as usize / 4;
                    if let Some(&[a, b]) = shared.get(at..at + 2).and_then(|s| s.first_chunk::<2>())
                    {
                        (out[0].0[i], out[1].0[i]) = (a, b);
                    }
                }
                put(&mut self.words[d[0] as usize], &out[0], mask);
                put(&mut self.words[d[1] as usize], &out[1], mask);
            }
            (Class::Word, 4, 1) => {
                let mut out = Words::ZERO;
                for i in 0..LANES {
                    out.0[i] = shared[addresses[i] as usize / 4];
                }
                put(&mut self.words[d[0] as usize], &out, mask);
            }
            _ => {
                for lane in lanes(mask) {
                    for (i, &d) in d[..access.count as usize].iter().enumerate() {
                        let address = addresses[lane] + i as u32 * access.bytes;
                        let value = extend(
                            shared_read(shared, address, access.bytes),
                            access.bytes,
                            access.signed,
                        );
                        self.set(
                            Reg {
                                class: access.class,
                                index: d,
                            },
                            lane,
                            value,
                        );
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn load_global(
        &mut self,
        access: &Access,
        addresses: &[u64; LANES],
        base: u64,
        data: &[u8],
        mask: u32,
    ) {
        macro_rules! gather {
            ($bytes:literal, $count:literal, $int:ty) => {{
                let mut out = [[0u64; LANES]; $count];
                for i in 0..LANES {
                    let at = (addresses[i] - base) as usize;
                    if let Some(chunk) = data.get(at..at + $bytes * $count) {
                        for (n, piece) in chunk.chunks_exact($bytes).enumerate() {
                            let mut raw = [0; $bytes];
                            raw.copy_from_slice(piece);
                            out[n][i] = u64::from(<$int>::from_le_bytes(raw));
                        }
                    }
                }
                for (n, out) in out.iter().enumerate() {
                    self.put_all(
                        Reg {
                            class: access.class,
                            index: access.regs[n],
                        },
                        out,
                        access,
                        mask,
                    );
                }
            }};
        }
        match (access.bytes, access.count) {
            (1, 1) => gather!(1, 1, u8),
            (2, 1) => gather!(2, 1, u16),
            (2, 2) => gather!(2, 2, u16),
            (2, 4) => gather!(2, 4, u16),
            (4, 1) => gather!(4, 1, u32),
            (4, 2) => gather!(4, 2, u32),
            (4, 4) => gather!(4, 4, u32),
            (8, 1) => gather!(8, 1, u64),
            (8, 2) => gather!(8, 2, u64),
            (1, 2) => gather!(1, 2, u8),
            _ => gather!(1, 4, u8),
        }
    }

    #[inline(always)]
    fn put_all(&mut self, d: Reg, values: &[u64; LANES], access: &Access, mask: u32) {
        if d.class == Class::Word {
            let mut out = Words::ZERO;
            for i in 0..LANES {
                out.0[i] = extend(values[i], access.bytes, access.signed) as u32;
            }
            put(&mut self.words[d.index as usize], &out, mask);
        } else {
            let mut out = super::lanes::Doubles::ZERO;
            for i in 0..LANES {
                out.0[i] = extend(values[i], access.bytes, access.signed);
            }
            put_double(&mut self.doubles[d.index as usize], &out, mask);
        }
    }

    #[inline(never)]
    fn load_slowly(
        &mut self,
        access: &Access,
        space: Space,
        addresses: &[u64; LANES],
        op: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        let bytes = access.bytes * access.count;
        for lane in lanes(mask) {
            let mut raw = [0; 16];
            let raw = &mut raw[..bytes as usize];
            cx.read(self, space, addresses[lane], raw, op, lane)?;
            for (i, piece) in raw.chunks_exact(access.bytes as usize).enumerate() {
                let mut wide = [0; 8];
                wide[..piece.len()].copy_from_slice(piece);
                let value = extend(u64::from_le_bytes(wide), access.bytes, access.signed);
                self.set(
                    Reg {
                        class: access.class,
                        index: access.regs[i],
                    },
                    lane,
                    value,
                );
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub fn store<const SANITIZE: bool>(
        &mut self,
        access: &Access,
        op: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        cx.block.activity += 1;
        let mut addresses = self.addresses(access.base, access.offset, mask);
        let (space, mask_left) = resolve(access.space, &mut addresses, mask);
        let bytes = access.bytes * access.count;
        match space {
            Space::Shared if mask_left == 0 => {
                if let Some(addresses) = shared_window(&addresses, bytes, cx.machine.shared_end) {
                    cx.tally.shared(
                        op,
                        access.slot,
                        SharedAccess::Store,
                        bytes,
                        &addresses,
                        mask,
                    );
                    if SANITIZE {
                        self.check_shared(How::Write, bytes, &addresses, op, mask, cx);
                    }
                    for (i, &a) in access.regs[..access.count as usize].iter().enumerate() {
                        let offset = i as u32 * access.bytes;
                        if access.class == Class::Word && access.bytes == 4 {
                            let values = &self.words[a as usize].0;
                            for lane in lanes(mask) {
                                cx.block.shared[(addresses[lane] + offset) as usize / 4] =
                                    values[lane];
                            }
                        } else {
                            for lane in lanes(mask) {
                                let value = self.get(
                                    Reg {
                                        class: access.class,
                                        index: a,
                                    },
                                    lane,
                                );
                                shared_write(
                                    &mut cx.block.shared,
                                    addresses[lane] + offset,
                                    access.bytes,
                                    value,
                                );
                            }
                        }
                    }
                    return Ok(());
                }
            }
            Space::Global if mask_left == 0 => {
                if let Some((allocation, base)) = one_allocation(&addresses, bytes, cx) {
                    cx.tally.global(op, access.slot, bytes, &addresses, mask);
                    for lane in lanes(mask) {
                        let raw = self.raw(access, lane);
                        let offset = (addresses[lane] - base) as usize;
                        cx.writes.write(
                            cx.machine.memory,
                            allocation,
                            offset,
                            &raw[..bytes as usize],
                        );
                    }
                    return Ok(());
                }
            }
            _ => {}
        }
        self.count_slowly(
            access.slot,
            access.space,
            bytes,
            SharedAccess::Store,
            op,
            &addresses,
            mask,
            cx,
        );
        let addresses = self.addresses(access.base, access.offset, mask);
        for lane in lanes(mask) {
            let raw = self.raw(access, lane);
            cx.write(
                self,
                access.space,
                addresses[lane],
                &raw[..bytes as usize],
                op,
                lane,
            )?;
        }
        Ok(())
    }

    /// What a lane stores, as bytes.
    fn raw(&self, access: &Access, lane: usize) -> [u8; 16] {
        let mut raw = [0; 16];
        for (i, &a) in access.regs[..access.count as usize].iter().enumerate() {
            let (at, bytes) = (i * access.bytes as usize, access.bytes as usize);
            let value = self
                .get(
                    Reg {
                        class: access.class,
                        index: a,
                    },
                    lane,
                )
                .to_le_bytes();
            raw[at..at + bytes].copy_from_slice(&value[..bytes]);
        }
        raw
    }

    /// Atomics are served lane by lane, in order; the hardware's order is open.
    #[inline(never)]
    pub fn atomic(
        &mut self,
        access: &AtomicAccess,
        op: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<()> {
        cx.block.activity += 1;
        let addresses = self.addresses(access.base, access.offset, mask);
        let mut relative = addresses;
        resolve(access.space, &mut relative, mask);
        self.count_slowly(
            access.slot,
            access.space,
            access.bytes,
            SharedAccess::Store,
            op,
            &relative,
            mask,
            cx,
        );
        for lane in lanes(mask) {
            let mut raw = [0; 8];
            let bytes = access.bytes as usize;
            let address = cx.locate(
                self,
                access.space,
                addresses[lane],
                access.bytes,
                Verb::Atomic,
                op,
                lane,
            )?;
            cx.get(self, &address, &mut raw[..bytes], lane);
            if let (Place::Shared(at), Some(_)) = (&address, &cx.block.shadow) {
                cx.check(
                    How::Atomic,
                    *at,
                    access.bytes,
                    op,
                    self.thread(lane),
                    self.index,
                );
            }
            let old = u64::from_le_bytes(raw);
            let f = match address {
                Place::Global(..) => access.on_global,
                _ => access.f,
            };
            let new = f([
                old,
                cut(self.get(access.b, lane), access.bytes),
                cut(self.get(access.c, lane), access.bytes),
            ]);
            cx.put(self, &address, &new.to_le_bytes()[..bytes], lane);
            if let Some(d) = access.d {
                self.set(d, lane, old);
            }
        }
        Ok(())
    }

    /// Counts an access whose lanes may point to different spaces.
    #[inline(never)]
    fn count_slowly(
        &self,
        slot: u32,
        space: Space,
        bytes: u32,
        kind: SharedAccess,
        op: usize,
        addresses: &[u64; LANES],
        mask: u32,
        cx: &mut Context<'_>,
    ) {
        let (mut shared, mut global) = (0, 0);
        for lane in lanes(mask) {
            match space {
                Space::Shared => shared |= 1 << lane,
                Space::Global => global |= 1 << lane,
                Space::Generic => match space_of(addresses[lane]) {
                    Space::Shared => shared |= 1 << lane,
                    Space::Global => global |= 1 << lane,
                    _ => {}
                },
                _ => {}
            }
        }
        let fill = |some: u32| {
            let first = addresses[some.trailing_zeros() as usize & 31];
            std::array::from_fn::<u64, LANES, _>(|i| {
                if some >> i & 1 == 1 {
                    addresses[i]
                } else {
                    first
                }
            })
        };
        if shared != 0 {
            cx.tally.shared(
                op,
                slot,
                kind,
                bytes,
                &fill(shared).map(|a| a as u32),
                shared,
            );
        }
        if global != 0 {
            cx.tally.global(op, slot, bytes, &fill(global), global);
        }
    }

    #[inline(never)]
    fn check_shared(
        &self,
        how: How,
        bytes: u32,
        addresses: &[u32; LANES],
        op: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) {
        for lane in lanes(mask) {
            cx.check(
                how,
                addresses[lane],
                bytes,
                op,
                self.thread(lane),
                self.index,
            );
        }
    }

    #[inline(always)]
    pub fn get(&self, reg: Reg, lane: usize) -> u64 {
        match reg.class {
            Class::Word => u64::from(self.words[reg.index as usize].0[lane]),
            Class::Double => self.doubles[reg.index as usize].0[lane],
            Class::Predicate => u64::from(self.predicates[reg.index as usize] >> lane & 1),
        }
    }

    #[inline(always)]
    pub fn set(&mut self, reg: Reg, lane: usize, value: u64) {
        match reg.class {
            Class::Word => self.words[reg.index as usize].0[lane] = value as u32,
            Class::Double => self.doubles[reg.index as usize].0[lane] = value,
            Class::Predicate => {
                let p = &mut self.predicates[reg.index as usize];
                *p = *p & !(1 << lane) | ((value & 1) as u32) << lane;
            }
        }
    }
}

/// The space of a generic address.
pub(super) fn space_of(address: u64) -> Space {
    match address {
        window::SHARED..window::LOCAL => Space::Shared,
        window::LOCAL..window::CONST => Space::Local,
        window::CONST..window::PARAM => Space::Const,
        window::PARAM..window::END => Space::Param,
        _ => Space::Global,
    }
}

/// Turns generic addresses of one space into addresses in it. The second result is the mask of lanes
/// that are elsewhere: if it is not zero, nothing was changed.
#[inline(always)]
fn resolve(space: Space, addresses: &mut [u64; LANES], mask: u32) -> (Space, u32) {
    if space != Space::Generic {
        return (space, 0);
    }
    let first = space_of(addresses[0]);
    let elsewhere = lanes(mask)
        .filter(|&lane| space_of(addresses[lane]) != first)
        .fold(0, |m, lane| m | 1 << lane);
    if elsewhere == 0 && first == Space::Shared {
        for address in addresses.iter_mut() {
            *address -= window::SHARED;
        }
    }
    (first, elsewhere)
}

/// The addresses, if all are aligned and within the block's shared memory.
#[inline(always)]
fn shared_window(addresses: &[u64; LANES], bytes: u32, end: u32) -> Option<[u32; LANES]> {
    let mut out = [0; LANES];
    let mut bad = false;
    let last = u64::from(end).wrapping_sub(u64::from(bytes));
    for i in 0..LANES {
        let address = addresses[i];
        bad |= address & u64::from(bytes - 1) != 0
            || address < u64::from(SHARED_BASE)
            || address > last;
        out[i] = address as u32;
    }
    (!bad && end >= bytes).then_some(out)
}

/// The allocation that holds all addresses, if they are aligned: its index and base.
#[inline(always)]
fn one_allocation(addresses: &[u64; LANES], bytes: u32, cx: &Context<'_>) -> Option<(usize, u64)> {
    let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
    for &address in addresses {
        low = low.min(address);
        high = high.max(address);
        bits |= address;
    }
    if bits & u64::from(bytes - 1) != 0 {
        return None;
    }
    let span = (high - low).checked_add(u64::from(bytes))?;
    let (allocation, _) = cx.machine.memory.find(low, span)?;
    Some((allocation, cx.machine.memory.base(allocation)))
}

fn shared_read(shared: &[u32], address: u32, bytes: u32) -> u64 {
    let at = address as usize / 4;
    match bytes {
        8 => u64::from(shared[at]) | u64::from(shared[at + 1]) << 32,
        _ => cut(u64::from(shared[at] >> (8 * (address % 4))), bytes),
    }
}

fn shared_write(shared: &mut [u32], address: u32, bytes: u32, value: u64) {
    let at = address as usize / 4;
    match bytes {
        8 => (shared[at], shared[at + 1]) = (value as u32, (value >> 32) as u32),
        4 => shared[at] = value as u32,
        _ => {
            let shift = 8 * (address % 4);
            let mask = ((1u32 << (8 * bytes)) - 1) << shift;
            shared[at] = shared[at] & !mask | (value as u32) << shift & mask;
        }
    }
}

/// A checked address.
pub(super) enum Place {
    Global(usize, usize),
    Shared(u32),
    /// Offset in the warp's local memory.
    Local(usize),
    Const(usize),
    Param(usize),
}

impl Context<'_> {
    fn report(&mut self, kind: Kind, op: usize, thread: usize) {
        let place = self.machine.place(op, thread, self.block.index);
        self.block.findings.add(Finding {
            kind,
            place,
            count: 1,
        });
    }

    /// Checks one lane's access and finds what it touches.
    fn locate(
        &mut self,
        warp: &Warp,
        space: Space,
        address: u64,
        bytes: u32,
        verb: Verb,
        op: usize,
        lane: usize,
    ) -> Result<Place> {
        let (space, address) = match space {
            Space::Generic => match space_of(address) {
                Space::Shared => (Space::Shared, address - window::SHARED),
                Space::Local => (Space::Local, address - window::LOCAL),
                Space::Const => (Space::Const, address - window::CONST),
                Space::Param => (Space::Param, address - window::PARAM),
                other => (other, address),
            },
            space => (space, address),
        };
        let named = match space {
            Space::Global => Where::Global,
            Space::Shared => Where::Shared,
            Space::Local => Where::Local,
            Space::Const => Where::Const,
            Space::Param => Where::Param,
            Space::Generic => Where::Generic,
        };
        let thread = warp.thread(lane);
        if address % u64::from(bytes) != 0 {
            self.report(
                Kind::Misaligned {
                    space: named,
                    access: verb,
                    bytes,
                    address,
                },
                op,
                thread,
            );
            return Err(Fatal);
        }
        let local = self.machine.program.local_bytes;
        let within = |from: u64, end: u64| {
            address >= from
                && address
                    .checked_add(u64::from(bytes))
                    .is_some_and(|last| last <= end)
        };
        let found = match space {
            Space::Global | Space::Generic => self
                .machine
                .memory
                .find(address, u64::from(bytes))
                .map(|(index, offset)| Place::Global(index, offset)),
            Space::Shared => within(SHARED_BASE.into(), self.machine.shared_end.into())
                .then_some(Place::Shared(address as u32)),
            Space::Local => within(0, local.into())
                .then(|| Place::Local(lane * local as usize + address as usize)),
            Space::Const => within(0, self.machine.program.constants.len() as u64)
                .then_some(Place::Const(address as usize)),
            Space::Param => within(0, self.machine.params.len() as u64)
                .then_some(Place::Param(address as usize)),
        };
        let writes = verb != Verb::Read;
        match found {
            Some(place) if !(writes && matches!(place, Place::Const(_) | Place::Param(_))) => {
                Ok(place)
            }
            _ => {
                let nearest = match space {
                    Space::Global | Space::Generic => self.machine.memory.nearest(address),
                    Space::Shared => format!(
                        "outside the block's {} bytes of shared memory, which start at 0x{SHARED_BASE:x}",
                        self.machine.shared_end - SHARED_BASE
                    ),
                    Space::Local => format!("outside the thread's {local} bytes of local memory"),
                    Space::Const | Space::Param => {
                        "outside the bank, or a write to read-only memory".into()
                    }
                };
                self.report(
                    Kind::OutOfBounds {
                        space: named,
                        access: verb,
                        bytes,
                        address,
                        nearest,
                    },
                    op,
                    thread,
                );
                Err(Fatal)
            }
        }
    }

    fn get(&self, warp: &Warp, place: &Place, out: &mut [u8], _lane: usize) {
        let len = out.len();
        match *place {
            Place::Global(allocation, offset) => {
                self.writes
                    .read(self.machine.memory, allocation, offset, out)
            }
            Place::Shared(address) => {
                for (i, byte) in out.iter_mut().enumerate() {
                    let at = address as usize + i;
                    *byte = (self.block.shared[at / 4] >> (8 * (at % 4))) as u8;
                }
            }
            Place::Local(at) => out.copy_from_slice(&warp.local[at..at + len]),
            Place::Const(at) => out.copy_from_slice(&self.machine.program.constants[at..at + len]),
            Place::Param(at) => out.copy_from_slice(&self.machine.params[at..at + len]),
        }
    }

    fn put(&mut self, warp: &mut Warp, place: &Place, bytes: &[u8], _lane: usize) {
        match *place {
            Place::Global(allocation, offset) => {
                self.writes
                    .write(self.machine.memory, allocation, offset, bytes)
            }
            Place::Shared(address) => {
                for (i, &byte) in bytes.iter().enumerate() {
                    shared_write(&mut self.block.shared, address + i as u32, 1, byte.into());
                }
            }
            Place::Local(at) => warp.local[at..at + bytes.len()].copy_from_slice(bytes),
            Place::Const(_) | Place::Param(_) => {}
        }
    }

    fn read(
        &mut self,
        warp: &Warp,
        space: Space,
        address: u64,
        out: &mut [u8],
        op: usize,
        lane: usize,
    ) -> Result<()> {
        let place = self.locate(warp, space, address, out.len() as u32, Verb::Read, op, lane)?;
        if let (Place::Shared(at), Some(_)) = (&place, &self.block.shadow) {
            self.check(
                How::Read,
                *at,
                out.len() as u32,
                op,
                warp.thread(lane),
                warp.index,
            );
        }
        self.get(warp, &place, out, lane);
        Ok(())
    }

    fn write(
        &mut self,
        warp: &mut Warp,
        space: Space,
        address: u64,
        bytes: &[u8],
        op: usize,
        lane: usize,
    ) -> Result<()> {
        let place = self.locate(
            warp,
            space,
            address,
            bytes.len() as u32,
            Verb::Write,
            op,
            lane,
        )?;
        if let (Place::Shared(at), Some(_)) = (&place, &self.block.shadow) {
            self.check(
                How::Write,
                *at,
                bytes.len() as u32,
                op,
                warp.thread(lane),
                warp.index,
            );
        }
        self.put(warp, &place, bytes, lane);
        Ok(())
    }

    /// Shows an access to the sanitizer.
    fn check(&mut self, how: How, address: u32, bytes: u32, op: usize, thread: usize, warp: usize) {
        let block = &mut *self.block;
        let Some(shadow) = &mut block.shadow else {
            return;
        };
        let verdict = shadow.access(how, address, bytes, op, thread, &block.clocks[warp]);
        let access = match how {
            How::Read => Verb::Read,
            How::Write => Verb::Write,
            How::Atomic => Verb::Atomic,
        };
        match verdict {
            Verdict::Fine => {}
            Verdict::Uninitialised => {
                self.report(
                    Kind::Uninitialised {
                        space: Where::Shared,
                        bytes,
                        address: address.into(),
                    },
                    op,
                    thread,
                );
            }
            Verdict::Race(hazard) => {
                let other = Box::new(self.machine.place(
                    hazard.op,
                    hazard.thread,
                    self.block.index,
                ));
                let other_access = if hazard.wrote {
                    Verb::Write
                } else {
                    Verb::Read
                };
                self.report(
                    Kind::Race {
                        access,
                        other_access,
                        other,
                        address: address.into(),
                    },
                    op,
                    thread,
                );
            }
        }
    }
}
