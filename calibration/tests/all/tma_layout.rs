//! Where a bulk tensor load stores the elements of a tile: executed, and compared with a second formulation of the
//! rule.
use calibration::instructions::tma_layout::{Case, Found, cases};
use calibration::instructions::{Row, compare};
use emulator::Card;

/// Row by row, swizzled as absolute addresses; zeros where the tile extends beyond the tensor.
fn expected(case: &Case) -> Vec<Found> {
    let ([width, height], [columns, rows]) = (case.tile, case.tensor.map(|n| n as i32));
    let mut window = vec![Found::Untouched; 2048];
    for (row, column) in (0..height).flat_map(|row| (0..width).map(move |c| (row, c))) {
        // With a swizzle, each row starts a line of the swizzle's width.
        let pitch = match case.swizzle {
            0 => 2 * width,
            wide => wide,
        };
        let address = case.start + row * pitch + 2 * column;
        let address = match case.swizzle {
            0 => address,
            w => address ^ (address / 128 % (w / 16) * 16),
        };
        let (x, y) = (case.at[0] + column as i32, case.at[1] + row as i32);
        let inside = (0..columns).contains(&x) && (0..rows).contains(&y);
        window[address as usize / 2] = match inside {
            true => Found::Element((y * columns + x) as u16),
            false => Found::Zero,
        };
    }
    window.drain(..case.start as usize / 2);
    window
}

#[test]
fn every_element_goes_where_the_swizzle_says() {
    let cases = cases();
    assert!(cases.len() > 80);
    for case in cases {
        let found = case
            .on_emulator(Card::H100)
            .unwrap_or_else(|error| panic!("{case}: {error}"));
        let mut expected = expected(&case);
        assert!(
            expected[found.len()..]
                .iter()
                .all(|&e| e == Found::Untouched)
        );
        expected.truncate(found.len());
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn a_recording_is_read_and_compared() {
    let case = cases()[0];
    let found = case.on_emulator(Card::H100).expect("a tile");
    let row = format!("{case},{}", case.fields(&found)[0]);
    let compared = |row: &str| {
        let text = format!("{}\n{row}\n", Case::HEADER);
        compare("tma_layout.csv", text.as_bytes(), Card::H100).expect("known")
    };
    assert_eq!(compared(&row).expect("a comparison").equal(), 1);
    // The first 16 bytes hold elements 616 to 623.
    let moved = row.replacen(",616 ", ",617 ", 1);
    let comparison = compared(&moved).expect("a comparison");
    let difference = &comparison.differences[0];
    assert!(
        difference
            .what
            .contains("byte 0 of the tile, the first of 8"),
        "{difference:?}"
    );
    assert_eq!((&*difference.expected, &*difference.found), ("617", "616"));
    for (from, to, why) in [
        ("0,0,64,", "0,64,64,", "start a multiple of 128"),
        ("0,0,64,", "0,0,600,", "sides of tile and tensor"),
        (",616 ", ",a ", "is neither an element"),
        (",616 ", ",1+2 ", "neither one element nor eight"),
    ] {
        let error = compared(&row.replacen(from, to, 1))
            .expect_err(from)
            .to_string();
        assert!(
            error.starts_with("line 2: ") && error.contains(why),
            "{error}"
        );
    }
}
