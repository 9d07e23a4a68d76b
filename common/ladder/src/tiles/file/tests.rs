use super::*;
use crate::record::Record;
use crate::record::for_tests::{bench, right, wrong};

/// A tile at a size, with its fraction of cuBLAS.
pub fn row(size: &str, tile: &str, of_cublas: f64) -> TileTiming {
    let run = if of_cublas > 0.0 {
        right(size, tile, [100.0, 100.0 * of_cublas])
    } else {
        wrong(size)
    };
    let record = Record::new(vec![bench("06_pipeline", vec![run])]).expect("a record");
    let (rung, run) = record.runs().next().expect("one");
    let choices = serde_json::json!({
        "arch": "sm_90a",
        "multiprocessors": 132,
        "choices": [{ "size": size, "tile": "128x256" }],
    });
    let choices = serde_json::from_value(choices).expect("as a rung says it");
    TileTiming::new(rung, tile, run, &choices)
}

#[test]
fn invalid_speeds_are_refused() {
    let of = |change: fn(&mut TileTiming)| {
        let mut row = row("512x512x512", "64x128", 0.9);
        change(&mut row);
        let mut table = csv::Writer::from_writer(Vec::new());
        table.serialize(row).expect("plain");
        parse(&table.into_inner().expect("memory")[..])
    };
    assert!(of(|_| ()).is_ok());
    let bad: [fn(&mut TileTiming); 4] = [
        |row| row.of_cublas_f16 = Some(f64::NAN),
        |row| row.of_cublas_f16 = Some(-1.0),
        |row| row.tflops = Some(f64::INFINITY),
        |row| row.multiprocessors = 0,
    ];
    for change in bad {
        let error = of(change).expect_err("not usable").to_string();
        assert!(error.contains("64x128 at 512x512x512"), "{error}");
    }
}

#[test]
fn a_part_replaces_its_own_rows_only() {
    let old = ["512x512x512", "1024x1024x1024"].map(|size| row(size, "64x128", 0.8));
    let new = vec![
        row("512x512x512", "64x128", 0.9),
        row("512x512x512", "64x64", 0.95),
    ];
    let found = over(old.to_vec(), new.clone());
    assert_eq!(found, [&old[1..], &new[..]].concat());
    let other = TileTiming {
        rung: "01_naive".into(),
        ..old[0].clone()
    };
    let found = over(vec![old[0].clone(), other.clone()], new.clone());
    assert_eq!(found, [&[other], &new[..]].concat());
}

#[test]
fn what_was_written_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join(FILE);
    let rows = [
        row("512x512x512", "64x128", 0.9),
        row("512x512x512", "128x256", 0.0),
    ];
    write(&file, &rows).expect("writable");
    assert_eq!(read(&file).expect("what was written"), rows);
    let text = std::fs::read_to_string(&file).expect("it was written");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date"
    );
    assert_eq!(
        lines[2],
        "06_pipeline,sm_90a,512x512x512,128x256,,,yes,,NVIDIA H100 80GB HBM3,132,1400.0,,abc1234,2026-11-21T09:30:00Z"
    );
}

#[test]
fn an_invalid_file_is_named_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join(FILE);
    let head = "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date";
    let bad_size = format!("{head}\n06,sm_90a,5x5,64x64,1,1,yes,30,H100,132,,,,\n");
    let bad_number = format!("{head}\n06,sm_90a,5x5x5,64x64,fast,1,yes,30,H100,132,,,,\n");
    for text in [
        None,
        Some(""),
        Some("rung\n06\n"),
        Some(&bad_size),
        Some(&bad_number),
    ] {
        if let Some(text) = text {
            std::fs::write(&file, text).expect("writable");
        }
        let error = format!("{:#}", read(&file).expect_err("an error"));
        assert!(
            error.contains(FILE) && error.contains("cargo ladder tiles"),
            "{error}"
        );
    }
}

#[test]
fn the_table_shows_what_is_lost_to_the_best() {
    let rows = [
        row("8x8x8", "128x256", 0.9),
        row("8x8x8", "64x128", 1.0),
        row("9x9x9", "64x128", 0.0),
    ];
    assert_eq!(
        table(&rows),
        "| rung               | size  |    tile | TFLOP/s | of cuBLAS f16 | of the best | taken |\n\
         | ------------------ | ----- | ------: | ------: | ------------: | ----------: | ----: |\n\
         | 06_pipeline sm_90a | 8x8x8 | 128x256 |     0.0 |         90.0% |       90.0% |     * |\n\
         | 06_pipeline sm_90a | 8x8x8 |  64x128 |     0.0 |        100.0% |      100.0% |       |\n\
         | 06_pipeline sm_90a | 9x9x9 |  64x128 |   WRONG |               |             |       |\n"
    );
}
