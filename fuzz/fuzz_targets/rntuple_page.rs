//! A page of an RNTuple: four bytes choose the types of its column and field, and how many elements it has.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sapwood_fuzz::rntuple::page(data));
