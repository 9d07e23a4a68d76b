//! Copies and fills of rows of bytes, in device and host memory.
use crate::error::{Answer, Fault, INVALID_VALUE};
use crate::host;
use crate::state::State;

/// The source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A host address of the client.
    Host(u64),
    /// A device address.
    Device(u64),
    /// Either: device addresses and host addresses do not overlap.
    Unified(u64),
}

impl Place {
    /// The address, in CUDA's unified address space.
    pub fn address(self) -> u64 {
        match self {
            Self::Host(at) | Self::Device(at) | Self::Unified(at) => at,
        }
    }
}

/// Bytes per row, rows per slice, number of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    pub width: u64,
    pub rows: u64,
    pub slices: u64,
}

/// One side of a copy: its first byte, and the pitches of rows and of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    pub place: Place,
    pub pitch: u64,
    pub slice: u64,
}

impl Side {
    /// Contiguous bytes.
    pub fn flat(place: Place) -> Self {
        Self {
            place,
            pitch: 0,
            slice: 0,
        }
    }
    /// The place this many bytes later.
    fn moved(self, bytes: u64) -> Option<Place> {
        Some(match self.place {
            Place::Host(at) => Place::Host(at.checked_add(bytes)?),
            Place::Device(at) => Place::Device(at.checked_add(bytes)?),
            Place::Unified(at) => Place::Unified(at.checked_add(bytes)?),
        })
    }
}

/// A copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    pub from: Side,
    pub to: Side,
    pub shape: Shape,
}

/// A fill: a pattern of 1, 2 or 4 bytes, repeated in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    pub to: u64,
    pub pitch: u64,
    pub value: u32,
    pub element: u8,
    /// Elements per row.
    pub width: u64,
    pub rows: u64,
}

/// Addresses that belong to the device, allocated or not: from the emulator's first buffer to its last variable.
const DEVICE: std::ops::Range<u64> = 1 << 40..5 << 44;

impl State {
    /// Resolves a place to the device or the host. Between launches, memory that both sides share lives on the host.
    ///
    /// # Errors
    /// If the bytes run past the end of shared memory.
    fn settled(&self, place: Place, bytes: u64) -> Result<Place, Fault> {
        let at = match place {
            Place::Unified(at) | Place::Host(at) if !DEVICE.contains(&at) => {
                return Ok(Place::Host(at));
            }
            // A device address is one however the client declares it.
            Place::Unified(at) | Place::Host(at) | Place::Device(at) => at,
        };
        match self.on_host(at) {
            Some((_, room)) if bytes > room => Err(outside(at)),
            Some((host, _)) => Ok(Place::Host(host)),
            None => Ok(Place::Device(at)),
        }
    }

    /// The bytes from a device address on, if they are in one allocation.
    pub fn device_bytes(&self, at: u64, bytes: u64) -> Result<&[u8], Fault> {
        let (buffer, offset) = self.gpu.find(at).ok_or(outside(at))?;
        let held = self.gpu.bytes(&buffer)?;
        let end = offset.checked_add(bytes as usize).ok_or(outside(at))?;
        held.get(offset..end).ok_or(outside(at))
    }

    /// The same, mutable.
    pub fn device_bytes_mut(&mut self, at: u64, bytes: u64) -> Result<&mut [u8], Fault> {
        let (buffer, offset) = self.gpu.find(at).ok_or(outside(at))?;
        let held = self.gpu.bytes_mut(&buffer)?;
        let end = offset.checked_add(bytes as usize).ok_or(outside(at))?;
        held.get_mut(offset..end).ok_or(outside(at))
    }

    /// Performs a copy.
    pub fn copy(&mut self, copy: &Copy) -> Answer {
        let Shape {
            width,
            rows,
            slices,
        } = copy.shape;
        if width == 0 || rows == 0 || slices == 0 {
            return Ok(());
        }
        let flat = rows == 1 && slices == 1;
        let narrow = |side: &Side| !flat && rows > 1 && side.pitch < width;
        // Slices with fewer rows than are copied would overlap: CUDA requires the height to be at least that.
        let low =
            |side: &Side| slices > 1 && side.slice < width.max(side.pitch.saturating_mul(rows));
        let wrong = |side: &Side| narrow(side) || low(side);
        if wrong(&copy.from) || wrong(&copy.to) {
            return Err(Fault::silent(INVALID_VALUE));
        }
        let at = |side: &Side, row: u64, slice: u64| {
            let bytes = row
                .checked_mul(side.pitch)?
                .checked_add(slice.checked_mul(side.slice)?)?;
            side.moved(bytes)
        };
        for slice in 0..slices {
            for row in 0..rows {
                let from = at(&copy.from, row, slice).ok_or(Fault::silent(INVALID_VALUE))?;
                let to = at(&copy.to, row, slice).ok_or(Fault::silent(INVALID_VALUE))?;
                self.copy_row(self.settled(from, width)?, self.settled(to, width)?, width)?;
            }
        }
        Ok(())
    }

    fn copy_row(&mut self, from: Place, to: Place, bytes: u64) -> Answer {
        match (from, to) {
            (Place::Host(from), Place::Device(to)) => {
                host::read(from, self.device_bytes_mut(to, bytes)?)
            }
            (Place::Device(from), Place::Host(to)) => {
                host::write(to, self.device_bytes(from, bytes)?)
            }
            (Place::Device(from), Place::Device(to)) => {
                let read = self.device_bytes(from, bytes)?.to_vec();
                self.device_bytes_mut(to, bytes)?.copy_from_slice(&read);
                Ok(())
            }
            (Place::Host(from), Place::Host(to)) => host::copy(from, to, bytes),
            // Resolved above.
            (Place::Unified(_), _) | (_, Place::Unified(_)) => Err(Fault::silent(INVALID_VALUE)),
        }
    }

    /// Performs a fill.
    pub fn fill(&mut self, fill: &Fill) -> Answer {
        let element = u64::from(fill.element);
        let wrong = Fault::silent(INVALID_VALUE);
        let width = fill.width.checked_mul(element).ok_or(wrong.clone())?;
        if width == 0 || fill.rows == 0 {
            return Ok(());
        }
        if !fill.to.is_multiple_of(element) || (fill.rows > 1 && fill.pitch < width) {
            return Err(wrong);
        }
        let pattern = fill.value.to_le_bytes();
        for row in 0..fill.rows {
            let offset = row.checked_mul(fill.pitch).ok_or(wrong.clone())?;
            let to = fill.to.checked_add(offset).ok_or(wrong.clone())?;
            let pattern = &pattern[..fill.element.into()];
            if let Place::Host(host) = self.settled(Place::Device(to), width)? {
                host::write(host, &pattern.repeat(fill.width as usize))?;
                continue;
            }
            let bytes = self.device_bytes_mut(to, width)?;
            for one in bytes.chunks_exact_mut(pattern.len()) {
                one.copy_from_slice(pattern);
            }
        }
        Ok(())
    }
}

fn outside(at: u64) -> Fault {
    Fault::of(
        INVALID_VALUE,
        format!("device address 0x{at:x}: the bytes are not in one allocation"),
    )
}
