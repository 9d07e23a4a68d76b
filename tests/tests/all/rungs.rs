//! Every rung on the emulator, as a reader runs it.
use ladder_tests::workspace::{program, run, rungs};
use rayon::prelude::*;
use serde_json::Value;

const SIZES: &[&str] = &["1", "17x33x65", "128", "200x136x72", "1x300x500", "300x1x7"];

fn json(rung: &std::path::Path, arguments: &[&str]) -> Value {
    let output = run(rung, &[&["--json"], arguments].concat());
    assert!(
        output.status.success(),
        "{rung:?} {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// The arguments that select each of the rung's kernels.
fn choices(rung: &std::path::Path) -> Vec<Vec<String>> {
    let object = json(rung, &["--size", "1"]);
    let kernels = object["kernels"].as_array().expect("a list").iter();
    let flags = kernels.map(|kernel| {
        let flag = |key: &str| Some([format!("--{key}"), kernel[key].as_str()?.to_owned()]);
        ["arch", "tile"]
            .into_iter()
            .filter_map(flag)
            .flatten()
            .collect()
    });
    flags.collect()
}

#[test]
fn verified_at_every_size() {
    for rung in rungs() {
        for (choice, size) in choices(&rung)
            .iter()
            .flat_map(|choice| SIZES.iter().map(move |size| (choice, size)))
        {
            let mut arguments: Vec<&str> = choice.iter().map(String::as_str).collect();
            arguments.extend(["--size", size]);
            let object = json(&rung, &arguments);
            assert_eq!(object["verify"]["ok"], true, "{rung:?} {arguments:?}");
            assert_eq!(
                object["verify"]["first_wrong"].as_array().map(Vec::len),
                Some(0)
            );
        }
    }
}

/// From rung 13 on, all clusters synchronize every four waves. Here a wave is 66 tiles of 256x256, and there are two
/// barriers.
#[test]
fn verified_beyond_a_grid_barrier() {
    for rung in rungs() {
        let name = rung.file_name().and_then(|name| name.to_str());
        if name >= Some("13") {
            assert_eq!(json(&rung, &["--size", "6912x5632x16"])["tile"], "128x256");
        }
    }
}

#[test]
fn sanitize_finds_nothing_in_any_kernel() {
    for rung in rungs() {
        for kernel in choices(&rung) {
            sound(&rung, &kernel, "200x136x72", "3");
        }
    }
}

#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn sanitize_finds_nothing_in_any_kernel_and_order() {
    let is_whole = std::env::var_os("GEMM_WHOLE_SUITE").is_some();
    rungs().par_iter().for_each(|rung| {
        for (number, kernel) in choices(rung).into_iter().enumerate() {
            // The third size uses every ring of stages more than once.
            for size in ["1", "200x136x72", "64x64x600"] {
                sound(rung, &kernel, size, "11");
            }
            // The persistent blocks of a kernel compute several tiles; 136 tiles are more than an H100 holds.
            let tile = kernel.iter().find_map(|word| {
                let (m, n) = word.split_once('x')?;
                Some((m.parse::<u32>().ok()?, n.parse::<u32>().ok()?))
            });
            // In three steps half of a tile is stored, and the rest at the end. Without `GEMM_WHOLE_SUITE=1`, tiles take turns.
            let depths = match is_whole {
                true => &[8, 136][..],
                false => &[8, 136][number % 2..][..1],
            };
            for (k, (m, n)) in depths.iter().flat_map(|k| tile.map(|tile| (k, tile))) {
                sound(rung, &kernel, &format!("{}x{}x{k}", 17 * m, 8 * n), "1");
            }
        }
    });
}

/// Launches in several orders: no finding in any, and the same bits.
fn sound(rung: &std::path::Path, kernel: &[String], size: &str, runs: &str) {
    let mut arguments = vec!["sanitize", "--size", size, "--runs", runs];
    arguments.extend(kernel.iter().map(String::as_str));
    let output = run(rung, &arguments);
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("ERROR SUMMARY: 0 errors"),
        "{rung:?} {arguments:?}: {text}"
    );
}

#[test]
fn the_same_bits_and_counters_in_every_order_of_warps() {
    for rung in rungs() {
        let first = json(&rung, &["--size", "200x136x72"]);
        for schedule in 1..=10 {
            let other = json(
                &rung,
                &["--size", "200x136x72", "--schedule", &schedule.to_string()],
            );
            assert_eq!(
                first["c_sha256"], other["c_sha256"],
                "{rung:?}, schedule {schedule}"
            );
            assert_eq!(
                first["counters"], other["counters"],
                "{rung:?}, schedule {schedule}"
            );
        }
    }
}

#[test]
fn another_seed_is_another_problem() {
    for rung in rungs() {
        let [a, b] = ["0", "1"].map(|seed| json(&rung, &["--size", "64", "--seed", seed]));
        assert_ne!(a["c_sha256"], b["c_sha256"]);
    }
}

#[test]
fn a_kernel_that_is_stopped_says_which_flag_lets_it_go_on() {
    for rung in rungs() {
        let output = run(&rung, &["--max-instructions", "10"]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && text.contains("--max-instructions"),
            "{rung:?}: {text}"
        );
    }
}

/// The lessons, as counters: what each rung's header promises.
#[test]
fn each_rung_moves_its_counter() {
    let counters = |name: &str, arguments: &[&str]| {
        let rung = rungs()
            .into_iter()
            .find(|rung| rung.ends_with(name))
            .expect("a rung");
        json(&rung, arguments)["counters"].clone()
    };
    let number = |counters: &Value, key: &str| counters[key].as_u64().expect("a number");
    let coalesced = counters("01_naive", &["--size", "256"]);
    let uncoalesced = counters("01_naive", &["--size", "256", "--uncoalesced"]);
    let smem = counters("02_smem", &["--size", "256"]);
    let padded = counters("03_padded", &["--size", "256"]);
    assert_eq!(
        number(&coalesced, "global_requests"),
        number(&uncoalesced, "global_requests")
    );
    assert!(number(&uncoalesced, "global_sectors") > 5 * number(&coalesced, "global_sectors"));
    assert!(number(&coalesced, "global_sectors") > 20 * number(&smem, "global_sectors"));
    assert!(number(&smem, "bank_conflicts") > 0);
    assert_eq!(number(&padded, "bank_conflicts"), 0);
    assert_eq!(
        number(&padded, "shared_wavefronts"),
        number(&padded, "shared_wavefronts_ideal")
    );
    let mma = counters("04_mma", &["--size", "256"]);
    let swizzle = counters("05_swizzle", &["--size", "256"]);
    let lines = |counters: &Value| counters["lines"].as_array().cloned().expect("lines");
    let ways = |line: &Value| {
        number(line, "shared_wavefronts") as f64
            / number(line, "shared_wavefronts_ideal").max(1) as f64
    };
    let worst = |counters: &Value| lines(counters).iter().map(ways).fold(0.0, f64::max);
    // The two lines with the most wavefronts are the `ldmatrix` of A and of B.
    let mut busiest = lines(&mma);
    busiest.sort_by_key(|line| number(line, "shared_wavefronts"));
    let ldmatrix: Vec<f64> = busiest.iter().rev().take(2).map(ways).collect();
    assert_eq!(
        ldmatrix,
        [8.0, 8.0],
        "every `ldmatrix` is an 8-way conflict"
    );
    assert_eq!(worst(&swizzle), 1.0, "wavefronts are ideal on every line");
    assert_eq!(number(&swizzle, "bank_conflicts"), 0);
    assert_eq!(
        number(&mma, "global_sectors"),
        number(&swizzle, "global_sectors")
    );
    for later in rungs().iter().skip(5) {
        assert_eq!(
            worst(&json(later, &["--size", "256"])["counters"]),
            1.0,
            "{later:?}"
        );
    }
    // A launch's demand on a resource of an SM. No rung pads K = 384.
    let asked = |name: &str, resource: &str| {
        let rung = rungs().into_iter().find(|rung| rung.ends_with(name));
        let profile = json(&rung.expect("a rung"), &["profile", "--size", "384"]);
        let resources = profile["bound"]["resources"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let it = resources.iter().find(|one| one["resource"] == resource);
        it.and_then(|one| one["amount"].as_f64())
            .unwrap_or_else(|| panic!("{name}: {profile}"))
    };
    let issued = |name| asked(name, "issue slots");
    assert!(
        1.5 * issued("07_registers") < issued("06_pipeline"),
        "addresses are computed once"
    );
    assert!(
        1.5 * issued("09_tma") < issued("06_pipeline"),
        "no thread computes the address of a copy"
    );
    assert!(
        3.0 * issued("10_wgmma") < issued("09_tma"),
        "no fragment is loaded"
    );
    let moved = |name| asked(name, "L1 data pipe");
    assert!(
        moved("08_warp_tile") < moved("07_registers"),
        "a larger tile of a warp is read less often"
    );
    let sectors = |name| number(&counters(name, &["--size", "512"]), "global_sectors");
    assert!(
        sectors("11_specialized") < sectors("10_wgmma"),
        "a larger tile of a block is, too"
    );
    assert!(
        sectors("12_multicast") < sectors("11_specialized"),
        "what L2 sends once arrives in both blocks of a cluster"
    );
}

/// The log's instructions are among the kernel's own: they change no bit, and the log has every consumer's steps.
#[test]
fn every_rung_from_06_on_has_a_clock_log() {
    for rung in rungs().iter().skip(5) {
        let name = rung.file_name().unwrap_or_default().to_string_lossy();
        let output = program("ladder")
            .args([
                "clocks",
                &name,
                "--device",
                "emulator",
                "--size",
                "256x256x512",
            ])
            .output()
            .expect("the ladder");
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        let first = said
            .lines()
            .find(|line| line.starts_with("0 "))
            .unwrap_or_default();
        let steps = first
            .split_whitespace()
            .nth(2)
            .and_then(|cell| cell.parse::<u32>().ok());
        assert!(
            steps.is_some_and(|steps| (8..=18).contains(&steps)),
            "{name}: {said}"
        );
    }
}

/// From rung 04 on, sums are computed in the same order: one k16 step after the other.
#[test]
fn tensor_cores_give_the_same_bits_however_they_are_fed() {
    let mut seen = Vec::new();
    for rung in rungs().iter().filter(|rung| !rung.ends_with("01_naive")) {
        for choice in choices(rung) {
            let mut arguments: Vec<&str> = choice.iter().map(String::as_str).collect();
            arguments.extend(["--size", "200x136x72"]);
            seen.push((rung.clone(), json(rung, &arguments)["c_sha256"].clone()));
        }
    }
    let (cuda_cores, tensor_cores): (Vec<_>, Vec<_>) = seen
        .into_iter()
        .partition(|(rung, _)| rung.ends_with("02_smem") || rung.ends_with("03_padded"));
    for group in [cuda_cores, tensor_cores] {
        assert!(
            group.len() >= 2 && group.iter().all(|(_, bits)| *bits == group[0].1),
            "{group:?}"
        );
    }
}

#[test]
fn bad_input_is_named_and_never_a_panic() {
    let cases: &[(&[&str], &str)] = &[
        (&["--size", "0"], "0"),
        (&["--size", "12x"], "size"),
        (&["--size", "99999999999"], "size"),
        (&["--size", "100000x100000x100000"], "elements"),
        (&["--device", "tpu"], "device"),
        (&["--kernel", "nowhere.ptx"], "nowhere.ptx"),
        (&["--kernel", "Cargo.toml"], "Cargo.toml"),
        (&["--max-memory", "1K"], "--max-memory"),
    ];
    for rung in rungs() {
        for (arguments, named) in cases {
            let output = run(&rung, arguments);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
            assert!(
                text.contains(named) && !text.contains("panicked"),
                "{arguments:?}: {text}"
            );
        }
    }
}

/// A pipeline of one step never frees a stage: `sanitize` reports the code that was never executed, and a size that
/// executes it. At that size it reports nothing.
#[test]
fn what_was_never_executed_is_named_with_a_size_that_executes_it() {
    let rung = rungs()
        .into_iter()
        .find(|path| path.ends_with("13_persistent"))
        .expect("rung 13");
    let object = json(&rung, &["sanitize", "--size", "128x256x64"]);
    assert_eq!(object["findings"], serde_json::json!([]));
    let remark = &object["remarks"][0];
    assert_eq!(remark["severity"], "note");
    let text = remark["text"].as_str().unwrap_or_default();
    assert!(
        text.starts_with("Never executed in this launch: an operation on an mbarrier\n"),
        "{text}"
    );
    let (_, by) = text.split_once("a launch with --size ").expect("a size");
    let (size, _) = by.split_once(" executes it").expect("a size");
    let object = json(&rung, &["sanitize", "--size", size]);
    assert_eq!(object["remarks"], Value::Null, "{size}");
}
