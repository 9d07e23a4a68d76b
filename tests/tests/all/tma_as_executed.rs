//! Where TMA stores a tile, by the swizzles of `layout`: against execution, and against an H100's `tma_layout.csv`.
use calibration::instructions::tma_layout::{Case, Found, cases};
use calibration::instructions::{Row, rows};
use emulator::Card;
use ladder_tests::workspace::root;
use layout::descriptor::Mode;

/// The tile row by row, each 16 bytes at their swizzled address; zeros outside the tensor.
fn check(case: &Case, found: &[Found]) {
    let mode = Mode::of_bytes(case.swizzle).expect("a mode");
    let swizzle = mode.swizzle().expect("a swizzle");
    let ([width, height], [columns, rows]) = (case.tile, case.tensor.map(i64::from));
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |c| (row, c))) {
        // With a swizzle, each row starts a line of the swizzle's width.
        let pitch = match case.swizzle {
            0 => 2 * width,
            wide => wide,
        };
        let address = swizzle.apply(case.start + row * pitch + 2 * column);
        let x = i64::from(case.at[0]) + i64::from(column);
        let y = i64::from(case.at[1]) + i64::from(row);
        let inside = (0..columns).contains(&x) && (0..rows).contains(&y);
        let expected = match inside {
            true => Found::Element((y * columns + x) as u16),
            false => Found::Zero,
        };
        let at = ((address - case.start) / 2) as usize;
        assert_eq!(found.get(at), Some(&expected), "{case}: ({row}, {column})");
    }
}

#[test]
fn tma_swizzles_as_the_tables_say() {
    for case in cases() {
        let found = case.on_emulator(Card::H100);
        check(&case, &found.unwrap_or_else(|error| panic!("{error}")));
    }
    let recorded = root().join("calibration/h100/tma_layout.csv");
    let bytes = std::fs::read(recorded).expect("the recording");
    for row in rows(&bytes).unwrap_or_else(|error| panic!("{error}")) {
        check(&row.case, &row.measured);
    }
}
