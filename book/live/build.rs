//! Generates a module for each rung, which is its `main.rs`, from the only list of rungs, their folder.
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo says where this is");
    let rungs = Path::new(&here).join("../../rungs");
    println!("cargo::rerun-if-changed={}", rungs.display());
    let folders = fs::read_dir(&rungs).expect("the folder of rungs").flatten();
    let mut names: Vec<String> = folders
        .filter(|folder| folder.path().join("src/main.rs").is_file())
        .filter_map(|folder| folder.file_name().into_string().ok())
        .collect();
    names.sort();
    let (mut modules, mut list) = (String::new(), String::new());
    for name in names {
        let main = rungs.join(&name).join("src/main.rs");
        let main = main.canonicalize().expect("a path");
        let _ = writeln!(
            modules,
            "#[allow(dead_code)]\n#[path = {main:?}]\nmod rung{name};"
        );
        let _ = writeln!(list, "    &rung{name}::RUNG,");
    }
    let text = format!(
        "{modules}\n/// All rungs, in their order.\npub const RUNGS: &[&harness::Rung] = &[\n{list}];\n"
    );
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("rungs.rs"), text).expect("a folder to write to");
}
