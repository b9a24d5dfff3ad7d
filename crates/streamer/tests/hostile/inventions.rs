//! Many generated objects: the cases that the fuzz target `invention` continues without end.

use crate::invent::read_something;
use crate::meter::{Taken, measure};
use std::time::{Duration, Instant};

/// Small, quick, good enough to choose bytes: xorshift.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice((seed + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 32).to_le_bytes()[0]
    }

    pub(crate) fn below(&mut self, sides: usize) -> usize {
        usize::from_le_bytes([0; 8].map(|_: u8| self.byte())) % sides.max(1)
    }
}

#[test]
fn inventions_cost_what_their_bytes_justify() {
    let patience = Duration::from_secs(5);
    let start = Instant::now();
    let mut sound = 0;
    for seed in 0..20_000 {
        if start.elapsed() > patience {
            break;
        }
        let mut dice = Dice::new(seed);
        let bytes: Vec<u8> = (0..1000).map(|_| dice.byte()).collect();
        let Taken { memory, time, answer: (size, read) } = measure(move || read_something(&bytes));
        assert!(memory <= (32 << 20) + 1024 * size, "{memory} bytes for {size}, seed {seed}");
        assert!(time < Duration::from_secs(5), "{time:?} for {size} bytes, seed {seed}");
        sound += read;
    }
    assert!(sound > 100, "only {sound} runs went well: inventions are too wild to test anything");
}
