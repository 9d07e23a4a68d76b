//! The examples run: each checks its own result, and panics if it is wrong.
#[path = "../../examples/reduction.rs"]
mod reduction;
#[path = "../../examples/tma_copy.rs"]
mod tma_copy;
#[path = "../../examples/vector_add.rs"]
mod vector_add;

type Example = fn() -> Result<(), emulator::Error>;

/// All of them, by their file names.
const EXAMPLES: [(&str, Example); 3] = [
    ("reduction", reduction::main),
    ("tma_copy", tma_copy::main),
    ("vector_add", vector_add::main),
];

#[test]
fn every_example_runs() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the examples")
        .filter_map(|entry| {
            let name = entry.expect("an entry").file_name().into_string();
            let name = name.expect("ASCII");
            name.strip_suffix(".rs").map(str::to_owned)
        })
        .collect();
    found.sort();
    assert_eq!(found, EXAMPLES.map(|(name, _)| name));
    for (name, example) in EXAMPLES {
        example().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}
