#![no_main]
use ladder_tests::hostile::target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target("ptx")(bytes));
libfuzzer_sys::fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    fuzz::mutate_ptx(0, bytes, size, most, seed)
});
