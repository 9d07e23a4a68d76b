//! Replays every input that a fuzzer found against the parser that it was found with, and mutations of the rungs'
//! PTX. A panic fails here; so does an input that takes too long.
use std::time::{Duration, Instant};

use emulator::{Context, Options};
use ladder_tests::hostile::mutate::{Random, mutate, rungs};
use ladder_tests::hostile::{TARGETS, target};
use ladder_tests::workspace::{entries, read, root};

/// The time limit of an input: a hundred times what the slowest of them takes.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs the target and checks the time.
fn feed(name: &str, what: &str, bytes: &[u8]) {
    let started = Instant::now();
    target(name)(bytes);
    let took = started.elapsed();
    assert!(took < LONGEST, "{what} takes {name} {took:?}");
}

#[test]
fn every_input_of_the_corpus_terminates() {
    for (name, _) in TARGETS {
        let files = entries(&root().join("tests/fuzz/corpus").join(name));
        assert!(files.len() >= 20, "{name} has {} inputs", files.len());
        for file in files {
            let bytes = std::fs::read(&file).expect("a file of the corpus");
            feed(name, &file.display().to_string(), &bytes);
        }
    }
}

#[test]
fn mutated_rungs_terminate_and_many_still_run() {
    let rungs = rungs();
    let mut random = Random(1);
    let (mut parsed, mut lowered) = (0, 0);
    for i in 0..ROUNDS {
        let text = mutate(&rungs[i % rungs.len()], &rungs, &mut random);
        let module = Context::new(Options::default()).load_module(&text);
        parsed += u32::from(module.is_ok());
        lowered += u32::from(module.is_ok_and(|module| module.function("gemm").is_ok()));
        let setup = random.below(256) as u8;
        let bytes = [&[setup], text.as_bytes()].concat();
        feed("ptx", &format!("mutation {i}"), text.as_bytes());
        feed("emulate", &format!("mutation {i}"), &bytes);
    }
    // Without this they would be noise, which the parser refuses at once.
    assert!(
        parsed > 100 && lowered > 60,
        "{parsed} parsed, {lowered} lowered"
    );
    assert!(lowered < ROUNDS as u32, "nothing is broken");
}

/// Number of mutated kernels.
const ROUNDS: usize = 400;

#[test]
fn every_target_can_be_fuzzed() {
    let manifest = read(&root().join("tests/fuzz/Cargo.toml"));
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    let readme = read(&root().join("tests/fuzz/README.md"));
    for (name, _) in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
        let text = read(&root().join(format!("tests/fuzz/fuzz_targets/{name}.rs")));
        assert!(text.contains(&format!("target(\"{name}\")")), "{name}");
        assert!(readme.contains(&format!("| `{name}` |")), "{name}");
    }
}
