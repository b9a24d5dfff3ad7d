//! The header of an RNTuple, without its envelope: whatever it describes is read.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sapwood_fuzz::rntuple::header(data));
