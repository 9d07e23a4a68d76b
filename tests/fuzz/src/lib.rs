//! Connects libFuzzer, which mutates bytes, with mutations of lines of PTX.
use std::sync::OnceLock;

use ladder_tests::hostile::mutate::{self, Random};

/// Mutates PTX in a buffer in which `size` of at most `most` bytes are used; the first `head` bytes select how it is
/// run. Half of the time it uses libFuzzer's own mutations, and occasionally it starts again from a rung's PTX.
pub fn mutate_ptx(head: usize, bytes: &mut [u8], size: usize, most: usize, seed: u32) -> usize {
    static RUNGS: OnceLock<Vec<String>> = OnceLock::new();
    let rungs = RUNGS.get_or_init(mutate::rungs);
    let mut random = Random(seed.into());
    let fresh = random.below(200) == 0 || size <= head;
    if !fresh && random.below(4) == 0 {
        return libfuzzer_sys::fuzzer_mutate(bytes, size, most);
    }
    let text = match fresh {
        true => rungs
            .get(random.below(rungs.len()))
            .cloned()
            .unwrap_or_default(),
        false => String::from_utf8_lossy(&bytes[head..size]).into_owned(),
    };
    let mutated = mutate::mutate(&text, rungs, &mut random);
    for byte in bytes.iter_mut().take(head) {
        if fresh || random.below(8) == 0 {
            *byte = random.below(256) as u8;
        }
    }
    let most = most.min(bytes.len());
    let used = mutated.len().min(most.saturating_sub(head));
    bytes[head..head + used].copy_from_slice(&mutated.as_bytes()[..used]);
    head + used
}
