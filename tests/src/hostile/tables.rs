//! Recordings and tables.
use anyhow::Result;
use calibration::instructions::{self, Experiment, Recorder};
use emulator::Card;

/// A recording: executed, compared, and recorded again on a GPU that answers with zeros.
pub(super) fn recordings(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (name, bytes) = bytes.split_at(end.unwrap_or(bytes.len()));
    let name = String::from_utf8_lossy(name);
    let bytes = bytes.get(1..).unwrap_or_default();
    // Every row is a launch: a few suffice.
    let rows = bytes.iter().filter(|&&byte| byte == b'\n').count();
    // A row of approximate instructions has millions of inputs.
    let most = if name.starts_with("approximate") {
        2
    } else {
        64
    };
    if rows > most || bytes.len() > 1 << 16 {
        return;
    }
    for card in Card::ALL {
        match instructions::compare(&name, bytes, card) {
            Some(Err(error)) => drop(error.to_string()),
            Some(Ok(comparison)) => drop(comparison.equal()),
            None => return,
        }
    }
    drop(instructions::experiments(&name, bytes));
    if let Some(Err(error)) = instructions::record(&name, bytes, &mut Zeros) {
        drop(error.to_string());
    }
}

/// A GPU whose results are all zero.
struct Zeros;

impl Recorder for Zeros {
    fn output(&mut self, experiment: &Experiment) -> Result<Vec<u8>> {
        Ok(vec![0; experiment.output_bytes])
    }
    fn counters(&mut self, metrics: &[[String; 2]]) -> Result<Vec<[u64; 2]>> {
        Ok(vec![[0; 2]; metrics.len()])
    }
}

/// A file of `results/`, or a user's own table.
pub(super) fn tables(bytes: &[u8]) {
    let Some((&which, text)) = bytes.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(text);
    let failed = match which % 3 {
        0 => ladder::untrusted::record(&text).err(),
        1 => ladder::untrusted::tiles(text.as_bytes()).err(),
        _ => ladder::untrusted::banks(&text).err(),
    };
    failed.iter().for_each(|error| drop(format!("{error:#}")));
}

/// A student's answers.
pub(super) fn answers(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let points = grader::points_of_answers(&text).expect("the exam is ours");
    assert!((0.0..100.0 + 1e-6).contains(&points), "{points} points");
}
