//! Inventions, many of them: the same that the fuzz target `object` tries without end.

use crate::invent::read_something;
use crate::meter::{Taken, measure};
use std::time::{Duration, Instant};

/// Small, quick, good enough to choose bytes: xorshift.
fn bytes(mut seed: u64, count: usize) -> Vec<u8> {
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 32).to_le_bytes()[0]
    };
    (0..count).map(|_| next()).collect()
}

#[test]
fn inventions_cost_what_their_bytes_justify() {
    let patience = Duration::from_secs(5);
    let start = Instant::now();
    let mut sound = 0;
    for seed in 1..20_000_u64 {
        if start.elapsed() > patience {
            break;
        }
        let bytes = bytes(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15), 1000);
        let Taken { memory, time, answer: (size, read) } = measure(move || read_something(&bytes));
        assert!(memory <= (32 << 20) + 1024 * size, "{memory} bytes for {size}, seed {seed}");
        assert!(time < Duration::from_secs(5), "{time:?} for {size} bytes, seed {seed}");
        sound += read;
    }
    assert!(sound > 100, "only {sound} runs went well: inventions are too wild to test anything");
}
