//! Random bits that are the same on every machine, so that a recording can be made again.

/// SplitMix64 (Steele, Lea and Flood 2014), one step.
pub(super) fn random(state: &mut u64) -> u64 {
    let drawn = harness::splitmix64(*state);
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    drawn
}
