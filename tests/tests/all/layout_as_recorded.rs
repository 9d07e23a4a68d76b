//! The canonical layouts of `wgmma` operands against an H100's recorded reads: `wgmma_layout.csv`.
use calibration::instructions::wgmma_layout::{Case, Major};
use calibration::instructions::{Recorded, rows};
use ladder_tests::workspace::root;
use layout::canonical::{self, Canonical};
use layout::descriptor::{Descriptor, Mode};

fn recorded() -> Vec<Recorded<Case>> {
    let path = root().join("calibration/h100/wgmma_layout.csv");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    rows(&bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// The packed layout of a case, if it is one, with `k` elements along K.
fn packed(case: &Case, k: u32) -> Option<Canonical> {
    let layout = Canonical {
        major: match case.major {
            Major::K => canonical::Major::K,
            Major::Mn => canonical::Major::Mn,
        },
        mode: Mode::of_bytes(case.swizzle)?,
        element_bytes: 2,
        mn: case.mn(),
        k,
    };
    let layout = layout.checked().ok()?;
    let (leading, stride) = layout.offsets();
    let unused = case.major == Major::K && case.swizzle != 0;
    (stride == case.stride && (unused || leading == case.leading)).then_some(layout)
}

#[test]
fn every_packed_layout_is_what_an_h100_read() {
    let mut checked = 0;
    for row in recorded() {
        let (case, bytes) = (row.case, row.measured);
        // A pattern that starts at the base offset's line, or at 1024 bytes with steps along K inside its rows.
        let (start, step) = match case.major {
            Major::K if case.swizzle != 0 => (case.start / 128 * 128, case.start % 128 / 2),
            _ => (case.start, 0),
        };
        let matches = match case.swizzle {
            0 => case.base_offset == 0,
            _ => case.base_offset == Descriptor::base_offset_of(start),
        };
        let Some(layout) = packed(&case, 16 + step).filter(|_| matches) else {
            continue;
        };
        for (i, &byte) in (0..).zip(&bytes) {
            let (mn, k) = (i / 16, i % 16);
            assert_eq!(
                byte,
                start + layout.offset(mn, k + step),
                "{case}: ({mn}, {k})"
            );
        }
        checked += 1;
    }
    // 12 swizzled layouts at 8 starts, those along K twice, since the leading offset is ignored, and their steps; 4
    // without a swizzle at 3 starts.
    assert!(checked >= 136, "only {checked} rows are packed layouts");
}
