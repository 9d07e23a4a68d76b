//! Matrix products in every format, and instructions added after `h100/`, as an H200 computed them (driver
//! 580.159.04, CUDA 13.0).
use calibration::instructions::compare;
use emulator::Card;

const NAME: &str = "mma_fragments.csv";

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/h200/");
    std::fs::read_to_string(format!("{folder}{name}")).expect("a recording")
}

#[test]
fn every_table_of_an_h200_is_reproduced() {
    for (name, rows) in [
        (NAME, 88),
        ("mma_fragments_more.csv", 64),
        ("wmma_layout.csv", 44),
        ("wmma_layout_more.csv", 16),
        ("arithmetic_more.csv", 50),
        ("arithmetic_modes.csv", 235),
    ] {
        let found = compare(name, recorded(name).as_bytes(), Card::H100).expect("a known name");
        let found = found.expect("a recording");
        assert_eq!(found.differences, [], "{name}");
        assert_eq!((found.all, found.unit), (rows, "rows"), "{name}");
    }
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
