//! Extracts from results/h200/bench.csv the few numbers that predictions are compared with: the fewest clocks of
//! cuBLAS's f16 GEMM at each size. The whole record would be a twentieth of what a reader of the book's pages
//! downloads.
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

const RECORD: &str = "../../results/h200/bench.csv";

fn main() {
    println!("cargo::rerun-if-changed={RECORD}");
    let record = fs::read_to_string(RECORD).expect("the record of the card that the clock models");
    let mut lines = record.lines();
    let head: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| {
        let found = head.iter().position(|&head| head == name);
        found.unwrap_or_else(|| panic!("{RECORD} has no column {name}"))
    };
    let [size, regime, contestant, ms, mhz] =
        ["size", "regime", "contestant", "median_ms", "sm_mhz_median"].map(column);
    let mut fewest = BTreeMap::<&str, f64>::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        // harness::contest::CUBLAS
        if (cells[contestant], cells[regime]) != ("cuBLAS f16", "sustained") {
            continue;
        }
        if let (Ok(ms), Ok(mhz)) = (cells[ms].parse::<f64>(), cells[mhz].parse::<f64>()) {
            let clocks = fewest.entry(cells[size]).or_insert(f64::INFINITY);
            *clocks = clocks.min(ms * mhz * 1e3);
        }
    }
    let rows = fewest.iter();
    let rows: String = rows
        .map(|(size, clocks)| format!("{size},{clocks}\n"))
        .collect();
    let folder = env::var_os("OUT_DIR").expect("cargo says where to write");
    let text = format!("size,clocks\n{rows}");
    fs::write(Path::new(&folder).join("cublas_clocks.csv"), text).expect("a folder to write to");
}
