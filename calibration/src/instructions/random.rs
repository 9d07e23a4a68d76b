//! Random bits that are the same on every machine, so that a recording can be repeated.

/// SplitMix64 (Steele, Lea and Flood 2014), one step.
pub(super) fn random(state: &mut u64) -> u64 {
    let drawn = harness::splitmix64(*state);
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    drawn
}

/// A hash of two numbers: a multiplicative hash, with its high bits XORed over the low ones.
#[inline(always)]
pub(super) fn mix(x: u32, y: u32) -> u64 {
    let z = (u64::from(x) << 32 | u64::from(y)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ z >> 32
}
