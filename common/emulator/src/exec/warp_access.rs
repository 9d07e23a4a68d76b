//! Stores and atomics of one warp, and the code that all accesses share.
//!
//! The common cases, a whole warp in one allocation or in shared memory, are checked and executed as
//! vectors. All other accesses go thread by thread through [`Execution::read`] and
//! [`Execution::write`].
use super::block::Execution;
use super::global_check::Does;
use super::global_pattern::Placed;
use super::lane_access::{LaneAccess, Result, Target, shared_write, space_of};
use super::lanes::{fill_inactive, lanes, mask_of};
use super::profiler::Request;
use super::warp::Warp;
use crate::Space;
use crate::banks::{LANES, SharedAccess};
use crate::finding::AccessKind;
use crate::lower::{SHARED_BASE, window};
use crate::op::{Address, Atomic, Class, LoadStore};
use crate::shadow::AccessMode;

/// The low `8 * bytes` bits.
#[inline(always)]
pub(super) fn cut(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 {
        value
    } else {
        value & ((1 << (8 * bytes)) - 1)
    }
}

impl Warp {
    /// The addresses of all lanes; inactive lanes get that of the first active one.
    #[inline(always)]
    pub(super) fn addresses(&self, at: Address, mask: u32) -> [u64; LANES] {
        let Address { base, offset } = at;
        let mut addresses = [0; LANES];
        match base.class {
            Class::B64 => {
                let base = &self.b64[base.index as usize].0;
                for i in 0..LANES {
                    addresses[i] = base[i].wrapping_add_signed(offset);
                }
            }
            Class::B32 | Class::Predicate => {
                let base = &self.b32[base.index as usize].0;
                // 32-bit addresses wrap around.
                for i in 0..LANES {
                    addresses[i] = u64::from(base[i].wrapping_add(offset as u32));
                }
            }
        }
        if mask != u32::MAX {
            fill_inactive(&mut addresses, mask);
        }
        addresses
    }

    #[inline(always)]
    pub fn store<const SANITIZE: bool>(
        &mut self,
        access: &LoadStore,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        cx.block.activity += 1;
        let mut addresses = self.addresses(access.address, mask);
        let (space, mask_left) = resolve(access.space, &mut addresses, mask);
        let bytes = access.bytes * access.count;
        let request = Request::new(op, access.slot, access.space, bytes, SharedAccess::Store);
        let strong = SANITIZE && access.order.strong.is_some();
        if space == Space::Shared
            && mask_left == 0
            && !strong
            && let Some(addresses) = shared_window(&addresses, bytes, cx.machine.shared_end)
        {
            cx.profiler.shared(request, &addresses, mask);
            if SANITIZE {
                cx.check_lanes(AccessMode::Write, &addresses, bytes, op, self, mask);
            }
            let shared = &mut cx.block.shared;
            for i in 0..access.count as usize {
                let offset = i as u32 * access.bytes;
                if access.class == Class::B32 && access.bytes == 4 {
                    let values = &self.b32[access.regs[i] as usize].0;
                    for lane in lanes(mask) {
                        shared[(addresses[lane] + offset) as usize / 4] = values[lane];
                    }
                } else {
                    for lane in lanes(mask) {
                        let value = self.get(access.reg(i), lane);
                        shared_write(shared, addresses[lane] + offset, access.bytes, value);
                    }
                }
            }
            return Ok(());
        }
        if space == Space::Global
            && mask_left == 0
            && !strong
            && let Some(Placed {
                allocation, base, ..
            }) = cx
                .profiler
                .global_in_one(request, &addresses, mask, cx.machine.memory)
        {
            // Not in WebAssembly, to keep the download small.
            let is_native = !cfg!(target_family = "wasm");
            if is_native && !SANITIZE && access.class == Class::B32 && access.bytes == 4 {
                let at = (allocation, base);
                match access.count {
                    1 => self.store_words::<1, 4>(access, at, &addresses, mask, cx),
                    2 => self.store_words::<2, 8>(access, at, &addresses, mask, cx),
                    _ => self.store_words::<4, 16>(access, at, &addresses, mask, cx),
                }
                return Ok(());
            }
            for lane in lanes(mask) {
                let raw = &self.raw(access, lane)[..bytes as usize];
                let offset = (addresses[lane] - base) as usize;
                if SANITIZE {
                    let (at, site) = ((allocation, offset), self.site(op, lane));
                    cx.check_global(Does::Write, access.order, at, bytes, Some(raw), site);
                }
                cx.writes.write(cx.machine.memory, allocation, offset, raw);
            }
            return Ok(());
        }
        // Checked lane by lane.
        cx.count_by_lane(request, &addresses, mask);
        let addresses = self.addresses(access.address, mask);
        for lane in lanes(mask) {
            let raw = self.raw(access, lane);
            let touch = LaneAccess::new(access.space, addresses[lane], bytes, self.site(op, lane));
            let touch = touch.ordered(access.order);
            cx.write(self, &touch, &raw[..bytes as usize])?;
        }
        Ok(())
    }

    /// Writes the words of these registers to an allocation, whose index and base are given.
    #[inline(always)]
    fn store_words<const WORDS: usize, const BYTES: usize>(
        &self,
        access: &LoadStore,
        (allocation, base): (usize, u64),
        addresses: &[u64; LANES],
        mask: u32,
        cx: &mut Execution<'_>,
    ) {
        let registers: [&[u32; LANES]; WORDS] =
            std::array::from_fn(|i| &self.b32[access.regs[i] as usize].0);
        let lanes = lanes(mask).map(|lane| {
            let words = registers.map(|values| values[lane].to_le_bytes());
            let mut bytes = [0; BYTES];
            bytes.copy_from_slice(words.as_flattened());
            ((addresses[lane] - base) as usize, bytes)
        });
        cx.writes.write_lanes(cx.machine.memory, allocation, lanes);
    }

    /// The bytes that a lane stores.
    pub(super) fn raw(&self, access: &LoadStore, lane: usize) -> [u8; 16] {
        let mut raw = [0; 16];
        for i in 0..access.count as usize {
            let (at, bytes) = (i * access.bytes as usize, access.bytes as usize);
            let value = self.get(access.reg(i), lane).to_le_bytes();
            raw[at..at + bytes].copy_from_slice(&value[..bytes]);
        }
        raw
    }

    /// Atomics are executed lane by lane, in order; the order on hardware is unspecified.
    #[inline(never)]
    pub fn atomic(
        &mut self,
        access: &Atomic,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        cx.before_load();
        let addresses = self.addresses(access.address, mask);
        let mut relative = addresses;
        let space = match resolve(access.space, &mut relative, mask) {
            (space, 0) => space,
            _ => access.space,
        };
        let request = Request::new(op, access.slot, space, access.bytes, SharedAccess::Store);
        cx.count_by_lane(request, &relative, mask);
        for lane in lanes(mask) {
            let mut raw = [0; 8];
            let bytes = access.bytes as usize;
            let site = self.site(op, lane);
            let touch = LaneAccess::new(access.space, addresses[lane], access.bytes, site);
            let touch = touch.ordered(access.order);
            let address = cx.locate(&touch, AccessKind::Atomic)?;
            cx.get(self, &address, &mut raw[..bytes]);
            cx.show(Does::Atomic, &address, &touch, None);
            let old = u64::from_le_bytes(raw);
            let f = match address {
                Target::Global(..) => access.on_global,
                Target::Shared(_)
                | Target::Remote(..)
                | Target::Local(_)
                | Target::Const(_)
                | Target::Param(_) => access.f,
            };
            let [b, c] = [access.b, access.c].map(|reg| cut(self.get(reg, lane), access.bytes));
            let (old, new) = match (cx.machine.peers, access.d) {
                (Some(peers), Some(_)) => {
                    cx.among_peers(peers, old, |old| cut(f([old, b, c]), access.bytes))
                }
                _ => (old, f([old, b, c])),
            };
            // A failed attempt, such as to acquire a lock, does not count as a change.
            cx.block.activity += u64::from(cut(new, access.bytes) != old);
            cx.put(self, &address, &new.to_le_bytes()[..bytes]);
            if let Some(d) = access.d {
                self.set(d, lane, old);
            }
        }
        Ok(())
    }
}

impl Execution<'_> {
    /// An atomic operation that all `peers` clusters execute, in the order of their numbers: returns the value that
    /// this one reads, and the value after all of them.
    fn among_peers(&self, peers: u64, value: u64, f: impl Fn(u64) -> u64) -> (u64, u64) {
        let own = self.machine.cluster_of(self.block.index) % peers;
        let old = (0..own).fold(value, |value, _| f(value));
        (old, (own..peers).fold(old, |value, _| f(value)))
    }

    /// Counts an access whose lanes may point to different spaces.
    #[inline(never)]
    pub(super) fn count_by_lane(&mut self, request: Request, addresses: &[u64; LANES], mask: u32) {
        let (mut shared, mut global) = (0, 0);
        for lane in lanes(mask) {
            let space = match request.space {
                Space::Generic => space_of(addresses[lane]),
                named => named,
            };
            match space {
                Space::Shared | Space::Cluster => shared |= 1 << lane,
                Space::Global => global |= 1 << lane,
                Space::Local | Space::Const | Space::Param | Space::Generic => {}
            }
        }
        if shared != 0 {
            let mut addresses = addresses.map(|address| address as u32);
            fill_inactive(&mut addresses, shared);
            self.profiler.shared(request, &addresses, shared);
        }
        if global != 0 {
            let mut addresses = *addresses;
            fill_inactive(&mut addresses, global);
            self.profiler.global(request, &addresses, global);
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
    let elsewhere = mask_of(lanes(mask).filter(|&lane| space_of(addresses[lane]) != first));
    if elsewhere == 0 && first == Space::Shared {
        for address in addresses.iter_mut() {
            *address -= window::SHARED;
        }
    }
    (first, elsewhere)
}

/// The addresses, if all are aligned and within the block's shared memory.
#[inline(always)]
pub(super) fn shared_window(all: &[u64; LANES], bytes: u32, end: u32) -> Option<[u32; LANES]> {
    let mut out = [0; LANES];
    let mut bad = false;
    let last = u64::from(end).wrapping_sub(u64::from(bytes));
    for i in 0..LANES {
        let address = all[i];
        bad |= address & u64::from(bytes - 1) != 0
            || address < u64::from(SHARED_BASE)
            || address > last;
        out[i] = address as u32;
    }
    (!bad && end >= bytes).then_some(out)
}
