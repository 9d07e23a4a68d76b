//! The access of a single lane, checked against every rule.
use super::block::Execution;
use super::global_check::Does;
use super::warp::Warp;
use super::warp_access::cut;
use crate::Space;
use crate::finding::{AccessKind, FindingKind, MemoryAccess};
use crate::lower::{SHARED_BASE, window};
use crate::op::Order;
use crate::program::{Program, Symbol};
use crate::shadow::{AccessMode, Site};

/// The launch cannot continue; the finding has been recorded.
pub(super) struct Fatal;

pub(super) type Result<T> = std::result::Result<T, Fatal>;

/// One lane's access.
pub(super) struct LaneAccess {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub order: Order,
    pub site: Site,
}

impl LaneAccess {
    pub fn new(space: Space, address: u64, bytes: u32, site: Site) -> Self {
        Self {
            space,
            address,
            bytes,
            order: Order::default(),
            site,
        }
    }

    pub fn ordered(self, order: Order) -> Self {
        Self { order, ..self }
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

/// In addresses of the cluster's shared memory, the bits above the address within the block hold the block's
/// rank plus one. An address without them is in the thread's own block.
const RANK: u32 = 24;

/// The rank in an address from `mapa`, generic or in the cluster's window.
pub(super) fn rank_of(address: u64) -> Option<u32> {
    ((in_window(address) as u32) >> RANK).checked_sub(1)
}

/// The corresponding address in the block of this rank.
pub(super) fn map_to_rank(address: u64, rank: u32) -> u64 {
    let offset = in_window(address);
    let inside = offset & !u64::from(u32::MAX) | offset & u64::from(u32::MAX >> (32 - RANK));
    (address - offset) + (inside | u64::from(rank + 1) << RANK)
}

/// An address in shared memory, which may be generic, in the window.
fn in_window(address: u64) -> u64 {
    match space_of(address) {
        Space::Shared => address - window::SHARED,
        _ => address,
    }
}

/// Where an address is, instead of in a block's shared memory, which ends at `end`, and whether it is a generic one there.
fn outside_shared_memory(address: u64, bytes: u64, program: &Program, end: u32) -> (String, bool) {
    let all = end - SHARED_BASE;
    let mut words = format!(
        "outside the block's {all} bytes of shared memory, which start at 0x{SHARED_BASE:x}"
    );
    // A generic address, or its lower half.
    let generic = [window::SHARED, window::SHARED & u64::from(u32::MAX)];
    let offset = generic.map(|start| address.checked_sub(start));
    let is_inside = |offset: &u64| (SHARED_BASE.into()..end.into()).contains(offset);
    if offset
        .into_iter()
        .flatten()
        .any(|offset| is_inside(&offset))
    {
        words += "\nA generic address of shared memory is not one of the shared window: __cvta_generic_to_shared converts it";
        return (words, true);
    }
    // An index may be negative.
    let at = i64::from(address as u32 as i32);
    let start = |symbol: &Symbol| i64::from(symbol.start);
    let symbols = program.symbols.iter();
    let before = symbols.clone().filter(|symbol| start(symbol) <= at);
    if let Some(symbol) = before.max_by_key(|symbol| symbol.start) {
        let first = at - start(symbol);
        let (last, has) = (
            first + bytes as i64 - 1,
            symbol.bytes.unwrap_or(end - symbol.start),
        );
        words += &format!(
            "\nBytes {first} to {last} of {}, which has {has}",
            symbol.name
        );
    } else if let Some(first) = symbols.min_by_key(|symbol| symbol.start) {
        words += &format!(
            "\n{} bytes before {}: a negative index",
            start(first) - at,
            first.name
        );
    }
    (words, false)
}

pub(super) fn shared_read(shared: &[u32], address: u32, bytes: u32) -> u64 {
    let at = address as usize / 4;
    match bytes {
        8 => u64::from(shared[at]) | u64::from(shared[at + 1]) << 32,
        _ => cut(u64::from(shared[at] >> (8 * (address % 4))), bytes),
    }
}

pub(super) fn shared_write(shared: &mut [u32], address: u32, bytes: u32, value: u64) {
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

/// The location of a strong access: rank and address in shared memory, or allocation and offset in global memory.
#[derive(Clone, Copy)]
enum Flag {
    Shared(usize, u32),
    Global(usize, usize),
}

/// A checked address.
pub(super) enum Target {
    Global(usize, usize),
    Shared(u32),
    /// Shared memory of another block of the cluster: its rank, and the address in that block.
    Remote(usize, u32),
    /// Offset in the warp's local memory.
    Local(usize),
    Const(usize),
    Param(usize),
}

impl Target {
    /// The address in the shared memory of the thread's own block, if it is there.
    pub fn own_shared(&self) -> Option<u32> {
        match *self {
            Self::Shared(at) => Some(at),
            Self::Global(..)
            | Self::Remote(..)
            | Self::Local(_)
            | Self::Const(_)
            | Self::Param(_) => None,
        }
    }

    /// Rank and address in the shared memory of the cluster, if it is there; the thread's own block has rank `own`.
    pub fn in_cluster(&self, own: usize) -> Option<(usize, u32)> {
        match *self {
            Self::Remote(rank, at) => Some((rank, at)),
            Self::Global(..)
            | Self::Shared(_)
            | Self::Local(_)
            | Self::Const(_)
            | Self::Param(_) => self.own_shared().map(|at| (own, at)),
        }
    }
}

impl Execution<'_> {
    /// Whether this is an address in the block's shared memory, and not a generic one.
    fn is_in_shared(&self, address: u64) -> bool {
        (SHARED_BASE.into()..self.machine.shared_end.into()).contains(&address)
    }

    /// Checks one lane's access and finds its target.
    #[inline(always)]
    pub fn locate(&mut self, touch: &LaneAccess, verb: AccessKind) -> Result<Target> {
        let &LaneAccess { bytes, address, .. } = touch;
        let inside = address >= SHARED_BASE.into()
            && address <= u64::from(self.machine.shared_end).wrapping_sub(bytes.into());
        if touch.space == Space::Shared && inside && address & u64::from(bytes - 1) == 0 {
            return Ok(Target::Shared(address as u32));
        }
        self.locate_anywhere(touch, verb)
    }

    #[inline(never)]
    fn locate_anywhere(&mut self, touch: &LaneAccess, verb: AccessKind) -> Result<Target> {
        let &LaneAccess { bytes, site, .. } = touch;
        let (space, address) = match (touch.space, touch.address) {
            (Space::Generic, address) => match space_of(address) {
                Space::Shared => (Space::Shared, address - window::SHARED),
                Space::Local => (Space::Local, address - window::LOCAL),
                Space::Const => (Space::Const, address - window::CONST),
                Space::Param => (Space::Param, address - window::PARAM),
                other => (other, address),
            },
            named => named,
        };
        // `.shared::cluster` is shared memory too.
        let named = match space {
            Space::Cluster => Space::Shared,
            other => other,
        };
        // Generic addresses may point to shared memory of the whole cluster.
        let mapped = match (touch.space, space) {
            (Space::Generic, Space::Shared) | (_, Space::Cluster) => rank_of(address),
            _ => None,
        };
        let access = MemoryAccess {
            space: named,
            access: verb,
            bytes,
            address,
        };
        if address % u64::from(bytes) != 0 {
            self.report(FindingKind::Misaligned(access), site);
            return Err(Fatal);
        }
        let local = self.machine.local;
        let last = address.checked_add(bytes.into());
        let within = |from: u64, end: u64| address >= from && last.is_some_and(|last| last <= end);
        let shared_end = self.machine.shared_end;
        let found = match space {
            Space::Global | Space::Generic => self
                .machine
                .memory
                .find(address, u64::from(bytes))
                .map(|(index, offset)| Target::Global(index, offset)),
            Space::Shared | Space::Cluster if mapped.is_some() => {
                let rank = mapped.unwrap_or(0) as usize;
                let at = address & u64::from(u32::MAX >> (32 - RANK));
                let inside = at >= SHARED_BASE.into() && at + u64::from(bytes) <= shared_end.into();
                let alive = self.block_of(rank).map(|block| block.alive);
                if alive == Some(0) && inside {
                    // Its result is undefined; in the emulator the memory is as the block left it.
                    let reason = format!(
                        "{verb} of size {bytes} bytes in the shared memory of block {rank} of the cluster"
                    );
                    self.report(FindingKind::ExitedBlock(reason), site);
                }
                match alive {
                    Some(_) if inside && rank == self.rank => Some(Target::Shared(at as u32)),
                    Some(_) if inside => Some(Target::Remote(rank, at as u32)),
                    Some(_) | None => None,
                }
            }
            Space::Shared | Space::Cluster => within(SHARED_BASE.into(), shared_end.into())
                .then_some(Target::Shared(address as u32)),
            Space::Local => within(0, local.into())
                .then(|| Target::Local(site.lane * local as usize + address as usize)),
            Space::Const => within(0, self.machine.constants.len() as u64)
                .then_some(Target::Const(address as usize)),
            Space::Param => within(0, self.machine.params.len() as u64)
                .then_some(Target::Param(address as usize)),
        };
        let writes = verb != AccessKind::Read;
        match found {
            Some(place) if !(writes && matches!(place, Target::Const(_) | Target::Param(_))) => {
                Ok(place)
            }
            _ => {
                let (nearest, after, other_window) = match space {
                    Space::Global | Space::Generic if self.is_in_shared(address) => {
                        let nearest = "an address in the shared window: an instruction takes it only with `.shared` in its name";
                        (nearest.into(), None, true)
                    }
                    Space::Global | Space::Generic => {
                        let (nearest, after) = self.machine.memory.nearest(address);
                        (nearest, after, false)
                    }
                    Space::Shared | Space::Cluster => {
                        let (program, end) = (self.machine.program, self.machine.shared_end);
                        let at = match mapped {
                            Some(_) => address & u64::from(u32::MAX >> (32 - RANK)),
                            None => address,
                        };
                        let (nearest, is_generic) =
                            outside_shared_memory(at, u64::from(bytes), program, end);
                        (nearest, None, is_generic)
                    }
                    Space::Local => {
                        let nearest = format!("outside the thread's {local} bytes of local memory");
                        (nearest, None, false)
                    }
                    Space::Const | Space::Param => {
                        let nearest = "outside the bank, or a write to read-only memory";
                        (nearest.into(), None, false)
                    }
                };
                let kind = FindingKind::OutOfBounds {
                    access,
                    nearest,
                    after,
                    other_window,
                };
                self.report(kind, site);
                Err(Fatal)
            }
        }
    }

    pub fn get(&mut self, warp: &Warp, place: &Target, out: &mut [u8]) {
        let len = out.len();
        match *place {
            Target::Global(allocation, offset) => {
                self.writes
                    .read(self.machine.memory, allocation, offset, out)
            }
            Target::Shared(_) | Target::Remote(..) => {
                if let Some((rank, address)) = place.in_cluster(self.rank)
                    && let Some(block) = self.block_of(rank)
                {
                    for (i, byte) in out.iter_mut().enumerate() {
                        *byte = shared_read(&block.shared, address + i as u32, 1) as u8;
                    }
                }
            }
            Target::Local(at) => out.copy_from_slice(&warp.local[at..at + len]),
            Target::Const(at) => out.copy_from_slice(&self.machine.constants[at..at + len]),
            Target::Param(at) => out.copy_from_slice(&self.machine.params[at..at + len]),
        }
    }

    pub fn put(&mut self, warp: &mut Warp, place: &Target, bytes: &[u8]) {
        match *place {
            Target::Global(allocation, offset) => {
                self.writes
                    .write(self.machine.memory, allocation, offset, bytes)
            }
            Target::Shared(address) => {
                for (i, &byte) in bytes.iter().enumerate() {
                    shared_write(&mut self.block.shared, address + i as u32, 1, byte.into());
                }
            }
            Target::Remote(rank, address) => {
                if let Some(block) = self.block_of(rank) {
                    for (i, &byte) in bytes.iter().enumerate() {
                        shared_write(&mut block.shared, address + i as u32, 1, byte.into());
                    }
                    block.activity += 1;
                }
            }
            Target::Local(at) => warp.local[at..at + bytes.len()].copy_from_slice(bytes),
            Target::Const(_) | Target::Param(_) => {}
        }
    }

    /// Reports a checked access to the sanitizer; for a write, `new` is the new value.
    pub fn show(&mut self, does: Does, place: &Target, touch: &LaneAccess, new: Option<&[u8]>) {
        let &LaneAccess {
            bytes, order, site, ..
        } = touch;
        if !self.machine.options.sanitize {
            return;
        }
        let how = match (does, order.strong) {
            (Does::Read, None) => AccessMode::Read,
            (Does::Read, Some(_)) if order.volatile => AccessMode::VolatileRead,
            (Does::Read, Some(_)) => AccessMode::StrongRead,
            (Does::Write, None) => AccessMode::Write,
            (Does::Write, Some(_)) => AccessMode::StrongWrite,
            (Does::Atomic, _) => AccessMode::Atomic,
        };
        let flag = match *place {
            Target::Shared(at) => {
                if matches!(does, Does::Read) {
                    self.note_own(at, bytes, site);
                }
                self.check(how, at, bytes, site);
                Flag::Shared(self.rank, at)
            }
            Target::Remote(rank, at) => {
                self.check_remote(how, (rank, at), bytes, site);
                Flag::Shared(rank, at)
            }
            Target::Global(allocation, offset) => {
                self.check_global(does, order, (allocation, offset), bytes, new, site);
                Flag::Global(allocation, offset)
            }
            Target::Local(_) | Target::Const(_) | Target::Param(_) => return,
        };
        if order.strong.is_some() {
            self.use_flag(does, order, flag, site);
        }
    }

    /// A strong access releases to its location, and acquires what others have released there.
    fn use_flag(&mut self, does: Does, order: Order, flag: Flag, site: Site) {
        let lane = (site.warp, 1 << site.lane, u32::MAX);
        let mut known = match (flag, &mut self.writes.accesses) {
            (Flag::Shared(rank, at), _) => self.common.flags.remove(&(rank, at)),
            (Flag::Global(allocation, offset), Some(shadow)) => {
                shadow.flags.remove(&(allocation, offset))
            }
            (Flag::Global(..), None) => return,
        };
        if let (Does::Read | Does::Atomic, Some(known)) = (does, &known) {
            self.order.observe(lane, order, known);
        }
        if let Does::Write | Does::Atomic = does
            && (known.is_some() || order.release || self.order.has_released(lane))
        {
            let rmw = matches!(does, Does::Atomic);
            let to = known.get_or_insert_default();
            self.order.publish(lane, order, rmw, to);
        }
        let Some(known) = known else { return };
        match (flag, &mut self.writes.accesses) {
            (Flag::Shared(rank, at), _) => drop(self.common.flags.insert((rank, at), known)),
            (Flag::Global(allocation, offset), Some(shadow)) => {
                drop(shadow.flags.insert((allocation, offset), known));
            }
            (Flag::Global(..), None) => {}
        }
    }

    pub fn read(&mut self, warp: &Warp, touch: &LaneAccess, out: &mut [u8]) -> Result<()> {
        let place = self.locate(touch, AccessKind::Read)?;
        self.show(Does::Read, &place, touch, None);
        self.get(warp, &place, out);
        Ok(())
    }

    pub fn write(&mut self, warp: &mut Warp, touch: &LaneAccess, bytes: &[u8]) -> Result<()> {
        let place = self.locate(touch, AccessKind::Write)?;
        self.show(Does::Write, &place, touch, Some(bytes));
        self.put(warp, &place, bytes);
        Ok(())
    }
}
