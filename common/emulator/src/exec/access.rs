//! Stores and atomics of one warp, and what all accesses share.
//!
//! The common cases, a whole warp in one allocation or in shared memory, are checked and served as
//! vectors. Everything else goes thread by thread through [`Context::read`] and [`Context::write`].
use super::block::Context;
use super::checked::{Place, Result, Touch, shared_write, space_of};
use super::lanes::lanes;
use super::warp::Warp;
use crate::banks::{LANES, SharedAccess};
use crate::finding::Access as Verb;
use crate::lower::{SHARED_BASE, window};
use crate::op::{Access, AtomicAccess, Class, Reg, Space};
use crate::shadow::How;

/// Low `8 * bytes` bits.
#[inline(always)]
pub(super) fn cut(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 {
        value
    } else {
        value & ((1 << (8 * bytes)) - 1)
    }
}

/// A warp's access, for the counters.
pub(super) struct Request {
    pub op: usize,
    pub slot: u32,
    pub space: Space,
    pub bytes: u32,
    pub kind: SharedAccess,
}

impl Warp {
    /// The addresses of all lanes; inactive lanes get that of the first active one.
    #[inline(always)]
    pub(super) fn addresses(&self, base: Reg, offset: i64, mask: u32) -> [u64; LANES] {
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
                // Addresses of 32 bits wrap around within them.
                for i in 0..LANES {
                    addresses[i] = u64::from(base[i].wrapping_add(offset as u32));
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
                        cx.check_lanes(How::Write, &addresses, bytes, op, self, mask);
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
        let request = Request {
            op,
            slot: access.slot,
            space: access.space,
            bytes,
            kind: SharedAccess::Store,
        };
        self.count_slowly(&request, &addresses, mask, cx);
        let addresses = self.addresses(access.base, access.offset, mask);
        for lane in lanes(mask) {
            let raw = self.raw(access, lane);
            let touch = Touch {
                space: access.space,
                address: addresses[lane],
                bytes,
                op,
                lane,
            };
            cx.write(self, &touch, &raw[..bytes as usize])?;
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
        let addresses = self.addresses(access.base, access.offset, mask);
        let mut relative = addresses;
        let space = match resolve(access.space, &mut relative, mask) {
            (space, 0) => space,
            _ => access.space,
        };
        let request = Request {
            op,
            slot: access.slot,
            space,
            bytes: access.bytes,
            kind: SharedAccess::Store,
        };
        self.count_slowly(&request, &relative, mask, cx);
        for lane in lanes(mask) {
            let mut raw = [0; 8];
            let bytes = access.bytes as usize;
            let touch = Touch {
                space: access.space,
                address: addresses[lane],
                bytes: access.bytes,
                op,
                lane,
            };
            let address = cx.locate(self, &touch, Verb::Atomic)?;
            cx.get(self, &address, &mut raw[..bytes]);
            cx.show(How::Atomic, &address, &touch, self);
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
            // A failed attempt, such as that to take a lock, changes nothing.
            cx.block.activity += u64::from(cut(new, access.bytes) != old);
            cx.put(self, &address, &new.to_le_bytes()[..bytes]);
            if let Some(d) = access.d {
                self.set(d, lane, old);
            }
        }
        Ok(())
    }

    /// Counts an access whose lanes may point to different spaces.
    #[inline(never)]
    pub(super) fn count_slowly(
        &self,
        request: &Request,
        addresses: &[u64; LANES],
        mask: u32,
        cx: &mut Context<'_>,
    ) {
        let &Request {
            op,
            slot,
            space,
            bytes,
            kind,
        } = request;
        let (mut shared, mut global) = (0, 0);
        for lane in lanes(mask) {
            match space {
                Space::Shared | Space::Cluster => shared |= 1 << lane,
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
}

/// Turns generic addresses of one space into addresses in it. The second result is the mask of lanes
/// that are elsewhere: if it is not zero, nothing was changed.
#[inline(always)]
pub(super) fn resolve(space: Space, addresses: &mut [u64; LANES], mask: u32) -> (Space, u32) {
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
pub(super) fn shared_window(
    addresses: &[u64; LANES],
    bytes: u32,
    end: u32,
) -> Option<[u32; LANES]> {
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
pub(super) fn one_allocation(
    addresses: &[u64; LANES],
    bytes: u32,
    cx: &Context<'_>,
) -> Option<(usize, u64)> {
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
