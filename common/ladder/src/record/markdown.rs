//! bench.md: the provenance, the tables for people, and the plots.
use super::{CUBLAS, DERIVED, Record, Regime, Run};
use harness::CUBLAS_LT;
use harness::ceilings::Ceilings;
use harness::table::{head, markdown_table, percent};

/// Includes these plots, each with its name.
pub fn markdown(record: &Record, plots: &[(&str, String)]) -> String {
    let Some((_, run)) = record.runs().next() else {
        return String::new();
    };
    let gpu = &run.provenance.gpu;
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or("unknown".into());
    let watts = gpu.power_limit_watts.map(|watts| format!("{watts:.0} W"));
    let mut text = format!(
        "# {}\n\nDriver {}, CUDA {}, cuBLAS {}, power limit {}; commit {}, {}. Clocks, power and every sample\n\
         are in bench.json.\n\nTFLOP/s at the median, and the kernel's speed beside each baseline, interleaved in one process.\n\
         Where a clock has a fraction of the tensor cores beside it, the SMs counted it while the kernel ran. Elsewhere it is the\n\
         median of a sensor's readings, which are up to an eighth too high and, in the cool regime, mostly of an idle GPU.\n",
        gpu.name,
        or_unknown(&gpu.driver),
        gpu.cuda,
        or_unknown(&gpu.cublas),
        or_unknown(&watts),
        record.commits(),
        record.dates(),
    );
    let [_, _, rungs, sizes] = DERIVED;
    let plot = |file: &str, what: &str| match plots.iter().any(|(name, _)| *name == file) {
        true => format!("\n![{what}]({file})\n"),
        false => String::new(),
    };
    if let Some(size) = record.common_size() {
        let table = table(record, Regime::Sustained, |_, run| run.size == size);
        text += &format!("\n## By rung\n\n{table}");
        text += &plot(rungs, &format!("The rungs at {size}"));
    }
    let predictions = predicted(record);
    if !predictions.is_empty() {
        text += &format!(
            "\n## Predicted\n\nWhat was written down before the first measurement, beside this one. That of 11_specialized was made for its\n\
             tile of 128x256, which was to be a rung of its own. 12_multicast has none: it was measured before it became a\n\
             rung (results/attempts.md, 32).\n\n{predictions}"
        );
    }
    if let Some(last) = record.last_rung() {
        let table = table(record, Regime::Sustained, |rung, _| rung == last);
        text += &format!("\n## By size\n\n{table}");
        text += &plot(sizes, &format!("{last} by size"));
        let kernels = kernels(record, last);
        if !kernels.is_empty() {
            text += &format!("\n## What cuBLAS and cuBLASLt launch\n\n{kernels}");
        }
    }
    if let Some(last) = record.last_rung() {
        let clocks = clocks(record, last);
        if !clocks.is_empty() {
            text += &format!(
                "\n## Clocks and power\n\nThe speed of {last} relative to the better of cuBLAS and cuBLASLt, as a product: it needs fewer or more clocks,\n\
                 and runs at a higher or lower frequency. In the sustained regime all contestants run at nearly one frequency. In the cool regime each\n\
                 has the one that its own power leaves within a sample, so the second factor is below 100% if it draws more in each clock.\n\n{clocks}"
            );
        }
    }
    text += &format!(
        "\n## Every timing\n\n{}",
        table(record, Regime::Sustained, |_, _| true)
    );
    let is_cool = |run: &Run| run.figures(Regime::Cool).is_some();
    if record.runs().any(|(_, run)| is_cool(run)) {
        let table = table(record, Regime::Cool, |_, run| is_cool(run));
        text += &format!(
            "\n## Cool\n\nThe same with idle time between the samples, so that the card is cool and below its power limit when each\n\
             begins. Watts are a sensor's and include idle time.\n\n{table}"
        );
    }
    text
}

/// One line for each size of each rung that is `wanted`, by the rung's name and its run.
pub fn table(record: &Record, regime: Regime, wanted: impl Fn(&str, &Run) -> bool) -> String {
    let mut runs: Vec<_> = record.runs().collect();
    runs.retain(|(label, run)| wanted(Record::name_of(label), run));
    let baselines = baselines(&runs);
    let mut rows = vec![head(["rung", "size", "TFLOP/s"])];
    rows[0].extend(baselines.iter().map(|name| format!("of {name}")));
    let has_lt = baselines.contains(&CUBLAS_LT);
    rows[0].extend(has_lt.then(|| "of the better".to_owned()));
    rows[0].extend(head(["of the tensor cores", "SM MHz", "W"]));
    for (rung, run) in runs {
        let mut row = vec![rung.to_owned(), run.size.to_string()];
        let Some(these) = run.figures(regime) else {
            row.push("WRONG".into());
            row.resize(rows[0].len(), String::new());
            rows.push(row);
            continue;
        };
        let named = |name: &str| these.contestants.iter().find(|one| one.name == name);
        let tflops = these.contestants.first();
        row.push(tflops.map_or(String::new(), |kernel| format!("{:.1}", kernel.tflops)));
        let of = |name: &&str| named(name).map_or(String::new(), |one| percent(one.kernel_speed));
        row.extend(baselines.iter().map(of));
        let of_better = these.of_better().map_or(String::new(), percent);
        row.extend(has_lt.then_some(of_better));
        let gpu = Ceilings::of(&run.provenance.gpu.name).ok().flatten();
        let of_tensor_cores = gpu.and_then(|gpu| these.of_tensor_cores(gpu.multiprocessors));
        row.push(of_tensor_cores.map_or(String::new(), percent));
        let median =
            |sensor: Option<[f64; 3]>| sensor.map_or(String::new(), |of| format!("{:.0}", of[1]));
        let mhz = these.kernel_mhz();
        row.push(mhz.map_or(String::new(), |mhz| format!("{mhz:.0}")));
        row.push(median(these.power_watts));
        rows.push(row);
    }
    markdown_table(&rows)
}

/// The speed of a rung relative to the better library as clocks times frequency, in both regimes; empty if the record does not have the
/// contestants' clocks.
fn clocks(record: &Record, rung: &str) -> String {
    let mut rows = vec![head([
        "size",
        "of the better",
        "by clocks",
        "by frequency",
        "cool",
        "cool by clocks",
        "cool by frequency",
        "cool MHz",
        "the better's MHz",
    ])];
    for (label, run) in record.runs() {
        if Record::name_of(label) != rung {
            continue;
        }
        let of = |regime| {
            let these = run.figures(regime)?;
            Some((these.of_better()?, these.clocks()?))
        };
        let (Some(sustained), Some(cool)) = (of(Regime::Sustained), of(Regime::Cool)) else {
            continue;
        };
        let factors = |(speed, [own, other]): (f64, [f64; 2])| {
            let frequency = own / other;
            [speed, speed / frequency, frequency].map(percent)
        };
        let mut row = vec![run.size.to_string()];
        row.extend(factors(sustained));
        row.extend(factors(cool));
        row.extend(cool.1.map(|mhz| format!("{mhz:.0}")));
        rows.push(row);
    }
    match rows.len() {
        1 => String::new(),
        _ => markdown_table(&rows),
    }
}

/// The libraries' kernels at each size of a rung, in the sustained regime; empty if the record has no names.
fn kernels(record: &Record, rung: &str) -> String {
    let mut rows = vec![head(["size", CUBLAS, CUBLAS_LT])];
    for (label, run) in record.runs() {
        let of = |name| run.contest(name)?.kernel.clone();
        let names = [CUBLAS, CUBLAS_LT].map(of);
        if Record::name_of(label) != rung || names.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![run.size.to_string()];
        row.extend(names.map(Option::unwrap_or_default));
        rows.push(row);
    }
    match rows.len() {
        1 => String::new(),
        _ => markdown_table(&rows),
    }
}

/// The predictions made for each rung before it was measured: the size, its fraction of cuBLAS's speed there or its
/// speedup over the previous rung, and the counter that it should change. The figures of results/predictions.csv are
/// not changed afterwards.
const PREDICTIONS: &str = include_str!("../../../../results/predictions.csv");

/// The rungs of the record that have a prediction, with it; empty if none has.
fn predicted(record: &Record) -> String {
    let mut rows = vec![head([
        "rung",
        "size",
        "it should move",
        "predicted, of cuBLAS f16",
        "measured",
    ])];
    let mut predictions = csv::Reader::from_reader(PREDICTIONS.as_bytes());
    let predictions: Vec<[String; 4]> = predictions.deserialize().flatten().collect();
    for (index, [rung, size, of_cublas, moves]) in predictions.iter().enumerate() {
        let run = |rung: &String| record.run(rung, size.parse().ok()?);
        let Some(own) = run(rung) else { continue };
        // A speedup is over the previous rung.
        let mut before = predictions[..index].iter().map(|[rung, ..]| rung);
        let base = before.rfind(|name| *name != rung).and_then(run);
        let measured = match (own.of_cublas(), base.and_then(Run::of_cublas)) {
            (None, _) => "WRONG".into(),
            (Some(own), Some(base)) if of_cublas.starts_with('+') => {
                format!("{:+.1}%", 100.0 * (own / base - 1.0))
            }
            (Some(own), _) => percent(own),
        };
        let size = own.size.to_string();
        rows.push(vec![
            rung.clone(),
            size,
            moves.clone(),
            of_cublas.clone(),
            measured,
        ]);
    }
    match rows.len() {
        1 => String::new(),
        _ => markdown_table(&rows),
    }
}

/// Every baseline's name, in the order of first appearance.
fn baselines<'a>(runs: &[(&str, &'a Run)]) -> Vec<&'a str> {
    let mut names = Vec::new();
    for time in runs.iter().filter_map(|(_, run)| run.time.as_ref()) {
        for contest in time.contestants.iter().skip(1) {
            if !names.contains(&contest.name.as_str()) {
                names.push(&contest.name);
            }
        }
    }
    names
}
