#![no_main]
use ladder_tests::hostile::target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target("machine_code")(bytes));
