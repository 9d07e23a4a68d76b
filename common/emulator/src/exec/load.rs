//! Loads of one warp.
use super::block::Execution;
use super::global_pattern::{Placed, Shape};
use super::lane_access::{LaneAccess, Result, shared_read};
use super::lanes::{ALL, Lanes, LanesB32, LanesB64, lanes, put};
use super::profiler::Request;
use super::warp::Warp;
use super::warp_access::{cut, resolve, shared_window};
use crate::Space;
use crate::banks::{LANES, SharedAccess};
use crate::op::{Address, Class, LoadStore, Reg};
use crate::shadow::AccessMode;

/// Extends a loaded element to its register.
#[inline(always)]
pub(super) fn extend(value: u64, bytes: u32, signed: bool) -> u64 {
    let unused = 64 - 8 * bytes;
    if signed {
        ((value << unused) as i64 >> unused) as u64
    } else {
        cut(value, bytes)
    }
}

impl Warp {
    #[inline(always)]
    pub fn load<const SANITIZE: bool>(
        &mut self,
        access: &LoadStore,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        cx.before_load();
        let bytes = access.bytes * access.count;
        let request = Request::new(op, access.slot, access.space, bytes, SharedAccess::Load);
        if mask == ALL && !SANITIZE && self.load_last_pattern(access, request, cx) {
            return Ok(());
        }
        let mut addresses = self.addresses(access.address, mask);
        let (space, mask_left) = resolve(access.space, &mut addresses, mask);
        let strong = SANITIZE && access.order.strong.is_some();
        if space == Space::Shared
            && mask_left == 0
            && !strong
            && let Some(addresses) = shared_window(&addresses, bytes, cx.machine.shared_end)
        {
            cx.profiler.shared(request, &addresses, mask);
            if SANITIZE {
                if !cfg!(target_family = "wasm") && cx.machine.options.own_loads {
                    let site = |lane| self.site(op, lane);
                    lanes(mask).for_each(|lane| cx.note_own(addresses[lane], bytes, site(lane)));
                }
                cx.check_lanes(AccessMode::Read, &addresses, bytes, op, self, mask);
            }
            self.load_shared(access, &addresses, mask, cx);
            return Ok(());
        }
        if space == Space::Global
            && mask_left == 0
            && !strong
            && let Some(placed) =
                cx.profiler
                    .global_in_one(request, &addresses, mask, cx.machine.memory)
        {
            if !cx.writes.touched(placed.allocation) {
                if SANITIZE {
                    let at = (placed.allocation, placed.base);
                    cx.check_global_load(at, &addresses, bytes, op, self, mask);
                }
                let data = cx.machine.memory.data(placed.allocation);
                self.load_global(access, addresses[0], &placed, data, mask);
                return Ok(());
            }
            return self.load_by_lane(access, op, mask, cx);
        }
        // Checked lane by lane.
        cx.count_by_lane(request, &addresses, mask);
        self.load_by_lane(access, op, mask, cx)
    }

    /// Executes a full warp's load if its addresses are those of the instruction's last load, all moved by the same
    /// distance; otherwise does nothing. Nearly every load in a loop is like this, and its addresses need not be
    /// computed.
    #[inline(always)]
    fn load_last_pattern(
        &mut self,
        access: &LoadStore,
        request: Request,
        cx: &mut Execution<'_>,
    ) -> bool {
        let Address { base, offset } = access.address;
        match (access.space, base.class) {
            (Space::Global, Class::B64) => {
                let registers = &self.b64[base.index as usize].0;
                let first = registers[0].wrapping_add_signed(offset);
                let memory = cx.machine.memory;
                let untouched = |allocation| !cx.writes.touched(allocation);
                let Some(placed) =
                    (cx.profiler).global_repeats(request, registers, offset, memory, untouched)
                else {
                    return false;
                };
                self.load_global(access, first, &placed, memory.data(placed.allocation), ALL);
                true
            }
            (Space::Shared, Class::B32) => {
                let registers = &self.b32[base.index as usize].0;
                let (offset, end) = (offset as u32, cx.machine.shared_end);
                let repeats = cx.profiler.shared_repeats(request, registers, offset, end);
                if repeats {
                    let addresses = registers.map(|register| register.wrapping_add(offset));
                    self.load_shared(access, &addresses, ALL, cx);
                }
                repeats
            }
            _ => false,
        }
    }

    #[inline(always)]
    fn load_shared(
        &mut self,
        access: &LoadStore,
        addresses: &[u32; LANES],
        mask: u32,
        cx: &Execution<'_>,
    ) {
        let shared = &cx.block.shared[..];
        let d = access.regs;
        match (access.class, access.bytes, access.count) {
            (Class::B32, 4, 4) => {
                let mut out = [LanesB32::ZERO; 4];
                for i in 0..LANES {
                    let at = addresses[i] as usize / 4;
                    if let Some(&[a, b, c, d]) =
                        shared.get(at..at + 4).and_then(|s| s.first_chunk::<4>())
                    {
                        (out[0].0[i], out[1].0[i], out[2].0[i], out[3].0[i]) = (a, b, c, d);
                    }
                }
                for (d, out) in d.iter().zip(&out) {
                    put(&mut self.b32[*d as usize], out, mask);
                }
            }
            (Class::B32, 4, 2) => {
                let mut out = [LanesB32::ZERO; 2];
                for i in 0..LANES {
                    let at = addresses[i] as usize / 4;
                    if let Some(&[a, b]) = shared.get(at..at + 2).and_then(|s| s.first_chunk::<2>())
                    {
                        (out[0].0[i], out[1].0[i]) = (a, b);
                    }
                }
                put(&mut self.b32[d[0] as usize], &out[0], mask);
                put(&mut self.b32[d[1] as usize], &out[1], mask);
            }
            (Class::B32, 4, 1) => {
                let mut out = LanesB32::ZERO;
                for i in 0..LANES {
                    out.0[i] = shared[addresses[i] as usize / 4];
                }
                put(&mut self.b32[d[0] as usize], &out, mask);
            }
            _ => {
                for lane in lanes(mask) {
                    for i in 0..access.count as usize {
                        let address = addresses[lane] + i as u32 * access.bytes;
                        let value = shared_read(shared, address, access.bytes);
                        let value = extend(value, access.bytes, access.signed);
                        self.set(access.reg(i), lane, value);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn load_global(
        &mut self,
        access: &LoadStore,
        first: u64,
        placed: &Placed,
        data: &[u8],
        mask: u32,
    ) {
        let base = placed.base;
        let first = (first - base) as usize;
        let as_it_is = access.class == Class::B32 && !access.signed;
        // The index of a lane is its offset in the row, so that the loop compiles to a few vector instructions.
        macro_rules! row {
            ($bytes:literal, $int:ty) => {{
                let mut out = LanesB32::ZERO;
                if let Some(row) = data.get(first..first + $bytes * LANES) {
                    for (out, raw) in out.0.iter_mut().zip(row.as_chunks().0) {
                        *out = u32::from(<$int>::from_le_bytes(*raw));
                    }
                }
                put(&mut self.b32[access.regs[0] as usize], &out, mask);
                return;
            }};
        }
        match (placed.shape, access.bytes, access.count) {
            (Shape::Row, 2, 1) if as_it_is => row!(2, u16),
            (Shape::Row, 4, 1) if as_it_is => row!(4, u32),
            (Shape::Same, 1, 1) => return self.load_same::<1>(access, first, data, mask),
            (Shape::Same, 2, 1) => return self.load_same::<2>(access, first, data, mask),
            (Shape::Same, 4, 1) => return self.load_same::<4>(access, first, data, mask),
            (Shape::Same, 8, 1) => return self.load_same::<8>(access, first, data, mask),
            _ => {}
        }
        let addresses = self.addresses(access.address, mask);
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
                    self.put_all(access.reg(n), out, access, mask);
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

    /// Loads one element for all lanes.
    #[inline(always)]
    fn load_same<const BYTES: usize>(
        &mut self,
        access: &LoadStore,
        at: usize,
        data: &[u8],
        mask: u32,
    ) {
        let mut raw = [0; 8];
        if let Some(element) = data.get(at..at + BYTES) {
            raw[..BYTES].copy_from_slice(element);
        }
        let value = extend(u64::from_le_bytes(raw), BYTES as u32, access.signed);
        let Reg { class, index } = access.reg(0);
        if class == Class::B32 {
            let out = Lanes([value as u32; LANES]);
            put(&mut self.b32[index as usize], &out, mask);
        } else {
            put(&mut self.b64[index as usize], &Lanes([value; LANES]), mask);
        }
    }

    #[inline(always)]
    fn put_all(&mut self, d: Reg, values: &[u64; LANES], access: &LoadStore, mask: u32) {
        if d.class == Class::B32 {
            let mut out = LanesB32::ZERO;
            for i in 0..LANES {
                out.0[i] = extend(values[i], access.bytes, access.signed) as u32;
            }
            put(&mut self.b32[d.index as usize], &out, mask);
        } else {
            let mut out = LanesB64::ZERO;
            for i in 0..LANES {
                out.0[i] = extend(values[i], access.bytes, access.signed);
            }
            put(&mut self.b64[d.index as usize], &out, mask);
        }
    }

    #[inline(never)]
    fn load_by_lane(
        &mut self,
        access: &LoadStore,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let addresses = self.addresses(access.address, mask);
        let bytes = access.bytes * access.count;
        for lane in lanes(mask) {
            let mut raw = [0; 16];
            let raw = &mut raw[..bytes as usize];
            let touch = LaneAccess::new(access.space, addresses[lane], bytes, self.site(op, lane));
            cx.read(self, &touch.ordered(access.order), raw)?;
            for (i, piece) in raw.chunks_exact(access.bytes as usize).enumerate() {
                let mut wide = [0; 8];
                wide[..piece.len()].copy_from_slice(piece);
                let value = extend(u64::from_le_bytes(wide), access.bytes, access.signed);
                self.set(access.reg(i), lane, value);
            }
        }
        if access.order.strong.is_some() {
            cx.order.unite_lanes(self.actor, self.alive);
        }
        Ok(())
    }
}
