//! A descriptor explained, and the canonical layouts drawn.
use crate::canonical::{Canonical, CanonicalError, Major};
use crate::descriptor::{Descriptor, DescriptorError, Mode, unused_bits};
use crate::show::{Basis, Cell, Grid, Sheet};

const FORMAT: &str =
    "PTX ISA, \"Asynchronous Warpgroup Level Matrix Instructions\", \"Matrix Descriptor Format\"";
const LAYOUTS: &str =
    "PTX ISA, \"Asynchronous Warpgroup Level Matrix Instructions\", \"Canonical Layouts\"";

/// What 64 bits mean to `wgmma`, field by field.
pub fn descriptor(bits: u64) -> Sheet {
    let found = Descriptor::decode(bits);
    let mut grid = Grid::new("fields", ["bits", "value", "meaning"]);
    let base_offset = (found.base_offset, found.base_offset.to_string());
    let swizzle = (found.mode.code(), found.mode.to_string());
    let bytes = |bytes: u32| (bytes >> 4, format!("{bytes} bytes"));
    for (field, at, (raw, meaning)) in [
        ("start address", "13-0", bytes(found.start)),
        ("leading offset", "29-16", bytes(found.leading)),
        ("stride offset", "45-32", bytes(found.stride)),
        ("base offset", "51-49", base_offset),
        ("swizzle", "63-62", swizzle),
    ] {
        let cells = [at.to_string(), format!("{raw:#x}"), meaning];
        grid = grid.row(field, cells.map(Cell::plain));
    }
    let title = format!("Shared memory matrix descriptor {bits:#018x}");
    let sheet = Sheet::new(title, Basis::Documented)
        .fact("start address", found.start)
        .fact("leading dimension byte offset", found.leading)
        .fact("stride dimension byte offset", found.stride)
        .fact("base offset", found.base_offset)
        .fact("swizzle", found.mode.to_string())
        .grid(grid);
    let remarks = remarks(&found, bits).into_iter();
    remarks.fold(sheet, Sheet::note).source(FORMAT)
}

fn remarks(found: &Descriptor, bits: u64) -> Vec<String> {
    let mut remarks = Vec::new();
    let pattern = found.mode.pattern_bytes();
    let unused = unused_bits(bits);
    if unused != 0 {
        remarks.push(format!(
            "Bits that belong to no field are set: {unused:#x}. They should be 0."
        ));
    }
    if found.mode != Mode::None {
        remarks.push(format!(
            "The swizzle's pattern repeats every {pattern} bytes. TMA calls the same swizzle {}, \
             its enumeration runs the other way.",
            found.mode.tma_code()
        ));
        let into = found.start % pattern;
        if into != 0 && found.base_offset == 0 {
            remarks.push(format!(
                "The start is {into} bytes into the pattern: right for a step along K within a \
                 tile \
                 that begins at a multiple of {pattern}."
            ));
            let own = Descriptor::base_offset_of(found.start);
            if found.start.is_multiple_of(128) && own != 0 {
                remarks.push(format!(
                    "A tile that itself begins there needs base offset {own}."
                ));
            }
        }
        remarks.push("If the operand is K-major, the leading offset is not used.".into());
    } else if found.base_offset != 0 {
        remarks.push("The base offset has no meaning without a swizzle.".into());
    }
    remarks
}

/// The descriptor of a packed operand and the place of each of its elements.
///
/// # Errors
/// If there is no such layout, or the start is not a multiple of its pattern.
pub fn canonical(layout: &Canonical, start: u32) -> Result<Sheet, CanonicalSheetError> {
    let layout = layout.checked()?;
    let pattern = layout.mode.pattern_bytes();
    if layout.mode != Mode::None && !start.is_multiple_of(pattern) {
        return Err(CanonicalSheetError::Start { start, pattern });
    }
    let bits = layout.descriptor(start).encode()?;
    let (leading, stride) = layout.offsets();
    let (mn, k) = layout.atom();
    let (name, used) = match (layout.major, layout.mode) {
        (Major::K, Mode::None) => ("K-major", ""),
        (Major::K, _) => ("K-major", " (not used)"),
        (Major::Mn, _) => ("MN-major", ""),
    };
    let bytes = layout.element_bytes;
    let size = format!("{} x {} of {bytes} bytes (MN x K)", layout.mn, layout.k);
    let title = format!("Canonical layout: {name}, {}", layout.mode);
    Ok(Sheet::new(title, Basis::Documented)
        .fact("operand", size)
        .fact("atom", format!("{mn} x {k} (MN x K)"))
        .fact("leading dimension byte offset", format!("{leading}{used}"))
        .fact("stride dimension byte offset", stride)
        .fact("descriptor", format!("{bits:#018x}"))
        .fact("layout in CuTe", layout.cute())
        .grid(places(&layout))
        .source(FORMAT)
        .source(LAYOUTS)
        .source("CuTe, include/cute/atom/mma_traits_sm90_gmma.hpp"))
}

/// Why a canonical layout cannot be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CanonicalSheetError {
    /// There is no such layout.
    #[error(transparent)]
    Layout(#[from] CanonicalError),
    /// It does not fit a descriptor.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The tile is not aligned to the swizzle.
    #[error(
        "the tile starts at {start}; align it to {pattern} bytes, 8 rows of the swizzle, so that \
         its base offset is 0"
    )]
    Start {
        /// Where it starts.
        start: u32,
        /// What it should be a multiple of.
        pattern: u32,
    },
}

/// The element with which each 16 bytes begin, in the first 1024 bytes.
fn places(layout: &Canonical) -> Grid {
    let mut first = std::collections::HashMap::new();
    for mn in 0..layout.mn {
        for k in 0..layout.k {
            let offset = layout.offset(mn, k);
            if offset.is_multiple_of(16) {
                first.insert(offset, (mn, k));
            }
        }
    }
    let last = first.keys().max().map_or(0, |offset| offset / 128);
    let cell = |line: u32, unit: u32| match first.get(&(line * 128 + unit * 16)) {
        Some(&(mn, k)) => {
            let contiguous = match layout.major {
                Major::K => k,
                Major::Mn => mn,
            };
            Cell::of(format!("{mn},{k}"), contiguous / layout.per_unit())
        }
        None => Cell::plain("."),
    };
    let title = "mn,k of the element with which each 16 bytes begin (the first 1024 bytes)";
    let units = (0..8).map(|unit| unit * 16);
    Grid::by_cell(title, units, "128 B line", last.min(7) + 1, cell)
}
