//! Descriptions of classes, objects that mostly fit them, and what of them is wanted, all invented from the input.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sapwood_fuzz::read_something(data));
