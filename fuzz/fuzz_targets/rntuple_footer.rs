//! The footer of an RNTuple, without its envelope.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sapwood_fuzz::rntuple::footer(data));
