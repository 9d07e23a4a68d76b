use super::*;
use crate::record::for_tests::{bench, right, wrong};
use calibration::Counts;

fn line(rung: &str, predicted: f64, measured: Option<f64>) -> Line {
    Line {
        rung: rung.into(),
        kernel: [rung, "sm_80", "128x128"].map(String::from),
        size: "64x64x64".into(),
        limited_by: "L1 data pipe".into(),
        predicted: (predicted, predicted / 1000.0),
        measured: measured.map(|tflops| (tflops, tflops / 800.0)),
    }
}

#[test]
fn measurements_are_found_by_rung_and_size() {
    let sizes = vec![right("64x64x64", "", [2.0, 0.25]), wrong("32x32x32")];
    let record = Record::new(vec![bench("04_mma", sizes)]).expect("a record");
    let of = |rung, size| measured(&record, rung, size);
    assert_eq!(of("04_mma", "64x64x64"), Some((0.262144, 0.125)));
    assert_eq!(of("04_mma", "32x32x32"), None);
    assert_eq!(of("05_swizzle", "64x64x64"), None);
}

#[test]
fn the_table_has_counters_beside_bound_and_time() {
    let counts = |wavefronts, sectors| Counts {
        wavefronts,
        sectors,
        ..Counts::default()
    };
    let lines = [
        line("04_mma", 125.0, Some(100.0)),
        line("06_pipeline", 800.0, None),
    ];
    let counted = [Some([counts(35072, 4096), counts(35073, 4096)]), None];
    assert_eq!(
        counters::table(&lines, &counted),
        "| rung        | limited by   | TFLOP/s at most | measured | time | shared wavefronts, emulated | on the H200 | global sectors, emulated | on the H200 |\n\
         | ----------- | ------------ | --------------: | -------: | ---: | --------------------------: | ----------: | -----------------------: | ----------: |\n\
         | 04_mma      | L1 data pipe |           125.0 |    100.0 | 5 ns |                      35,072 |      35,073 |                    4,096 |       4,096 |\n\
         | 06_pipeline | L1 data pipe |           800.0 |          |      |                             |             |                          |             |\n"
    );
}

#[test]
fn the_table_compares_measured_with_predicted() {
    let lines = [
        line("04_mma", 125.0, Some(100.0)),
        line("05_swizzle", 500.0, Some(300.0)),
        line("06_pipeline", 800.0, None),
    ];
    assert_eq!(
        table(&lines),
        "| rung        | limited by   | TFLOP/s at most | of cuBLAS |  step | measured | of cuBLAS |  step | of the bound |\n\
         | ----------- | ------------ | --------------: | --------: | ----: | -------: | --------: | ----: | -----------: |\n\
         | 04_mma      | L1 data pipe |           125.0 |     12.5% |       |    100.0 |     12.5% |       |        80.0% |\n\
         | 05_swizzle  | L1 data pipe |           500.0 |     50.0% | 4.00x |    300.0 |     37.5% | 3.00x |        60.0% |\n\
         | 06_pipeline | L1 data pipe |           800.0 |     80.0% | 1.60x |          |           |       |              |\n"
    );
    assert!(lines.iter().all(|line| !line.is_beaten()));
    assert!(line("04_mma", 125.0, Some(126.0)).is_beaten());
}
