//! Scratch.
use calibration::instructions::{experiments, planned};
fn main() {
    let mut seen = std::collections::BTreeSet::new();
    std::fs::create_dir_all("/tmp/w19x/p").unwrap();
    for (name, text) in planned() {
        if name.contains("patterns") || name == "tensor.csv" {
            continue;
        }
        for e in experiments(name, text.as_bytes()).unwrap().unwrap() {
            if seen.insert(e.ptx.clone()) {
                std::fs::write(format!("/tmp/w19x/p/{name}_{}.ptx", seen.len()), e.ptx).unwrap();
            }
        }
    }
    println!("{}", seen.len());
}
