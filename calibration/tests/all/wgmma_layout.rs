//! The byte of shared memory from which each element of a `wgmma` operand is read: executed, and compared with the
//! recording and with a second formulation of the PTX ISA's layouts.
use calibration::instructions::wgmma_layout::{Case, Major, cases};
use calibration::instructions::{Experiment, Recorded, Row, compare, rows};
use emulator::{Card, Options};

fn run(experiment: &Experiment) -> Vec<u8> {
    let options = Options {
        sanitize: true,
        ..Options::default()
    };
    let observed = experiment.on_emulator(&options);
    observed.unwrap_or_else(|error| panic!("{error}")).output
}

/// The canonical layouts in CuTe's notation, swizzled as absolute addresses.
fn expected(case: &Case, mn: u32, k: u32) -> u32 {
    let (lbo, sbo) = (case.leading, case.stride);
    let plain = match (case.major, case.swizzle) {
        // ((8,m),(T,2k)):((1T,SBO),(1,LBO))
        (Major::K, 0) => mn % 8 * 16 + mn / 8 * sbo + k % 8 * 2 + k / 8 * lbo,
        (Major::K, w) => mn % 8 * w + mn / 8 * sbo + k * 2,
        // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        (Major::Mn, 0) => mn % 8 * 2 + mn / 8 * sbo + k % 8 * 16 + k / 8 * lbo,
        // ((T,W,m),(8,k)):((1,T,LBO),(W T,SBO))
        (Major::Mn, w) => mn % (w / 2) * 2 + mn / (w / 2) * lbo + k % 8 * w + k / 8 * sbo,
    };
    let address = case.start + plain;
    let row = (address / 128 + 8 - case.base_offset) % 8;
    match case.swizzle {
        0 => address,
        w => address ^ (row % (w / 16) * 16),
    }
}

#[test]
fn every_element_comes_from_where_the_layout_says() {
    let cases = cases();
    assert!(cases.len() > 300);
    for case in cases {
        let experiments = case.experiments().expect("two digits");
        let outputs: Vec<Vec<u8>> = experiments.iter().map(run).collect();
        let bytes = case
            .measured(&outputs)
            .unwrap_or_else(|error| panic!("{error}"));
        for (i, &byte) in (0..).zip(&bytes) {
            let (mn, k) = (i / 16, i % 16);
            assert_eq!(byte, expected(&case, mn, k), "{case}: ({mn}, {k})");
        }
    }
}

/// A recording with one wrong byte, and malformed recordings.
#[test]
fn a_recording_is_read_and_compared() {
    let plain = |case: &Case| (case.swizzle, case.base_offset, case.stride) == (64, 0, 512);
    let case = cases().into_iter().find(plain).expect("a case");
    let mut row = Recorded {
        line: 2,
        case,
        measured: case.on_emulator(Card::H100).expect("a layout"),
    };
    let file = |row: &Recorded<Case>| {
        let fields = row.case.fields(&row.measured);
        format!("{}\n{},{}\n", Case::HEADER, row.case, fields[0])
    };
    let compared =
        |text: &str| compare("wgmma_layout_2.csv", text.as_bytes(), Card::H100).expect("known");
    let whole = file(&row);
    let read = |text: &str| rows::<Case>(text.as_bytes()).expect("rows");
    assert_eq!(read(&whole), [row.clone()]);
    let comparison = compared(&whole).expect("a comparison");
    assert_eq!((comparison.equal(), comparison.all), (1, 1));
    row.measured[37] += 2;
    assert_eq!(read(&file(&row)), [row.clone()]);
    let comparison = compared(&file(&row)).expect("a comparison");
    let difference = &comparison.differences[0];
    assert!(
        difference.what.contains("element (2, 5), the first of 1"),
        "{difference:?}"
    );
    for (from, to, why) in [
        ("A,K", "C,K", "A or B is needed"),
        ("A,K", "A,N", "K or MN is needed"),
        (",64,", ",65,", "swizzle is 0, 32, 64 or 128"),
        (",512,", ",513,", "stride is 513: a multiple of 16"),
        (" 16 ", " 16 16 ", "too many bytes"),
        (" 16 ", " ", "too few bytes"),
        (" 16 ", " 1+2 ", "neither one byte nor eight"),
        (" 16 ", " x ", "expected an integer"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert_ne!(whole, broken, "{from}");
        let error = compared(&broken).expect_err(&broken).to_string();
        assert!(
            error.starts_with("line 2: ") && error.contains(why),
            "{error}"
        );
    }
}
