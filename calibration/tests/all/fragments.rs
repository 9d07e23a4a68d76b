//! Products of matrices in every format, as an H200 computed them (driver 580.159.04, CUDA 13.0).
use calibration::instructions::compare;
use emulator::Card;

const NAME: &str = "mma_fragments.csv";

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/h200/");
    std::fs::read_to_string(format!("{folder}{name}")).expect("a recording")
}

#[test]
fn every_wmma_fragment_of_an_h200_is_reproduced() {
    let name = "wmma_layout.csv";
    let found = compare(name, recorded(name).as_bytes(), Card::H100).expect("a known name");
    let found = found.expect("a recording");
    assert_eq!(found.differences, []);
    assert_eq!(found.all, 44);
}

#[test]
fn every_product_of_an_h200_is_reproduced() {
    let found = compare(NAME, recorded(NAME).as_bytes(), Card::H100).expect("a known name");
    let found = found.expect("a recording");
    assert_eq!(found.differences, []);
    assert_eq!((found.all, found.unit), (88, "rows"));
}

#[test]
fn a_changed_digest_is_found() {
    let changed = recorded(NAME).replace("501fe1d54d9d7216", "501fe1d54d9d7217");
    let found = compare(NAME, changed.as_bytes(), Card::H100).expect("a known name");
    let differences = found.expect("a recording").differences;
    assert_eq!(differences.len(), 1);
    let what = &differences[0].what;
    assert!(
        what.starts_with("m16n8k16.row.col.f16.f16.f16.f16, small"),
        "{what}"
    );
}
