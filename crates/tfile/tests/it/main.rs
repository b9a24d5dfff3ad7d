//! Tests of the container through its public interface: handmade, real and damaged files.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod allocation;
mod corpus;
mod damage;
mod directories;
mod handmade;
mod opening;
mod streamers;
mod update;
mod write;

use bytes::Bytes;
use sapwood_core::{ByteRange, ParseStep, Result, Segments};

/// A file in memory, and what of it a parser has asked for.
struct Fetched {
    data: Bytes,
    known: Segments,
    /// The ranges of each round trip.
    round_trips: Vec<Vec<ByteRange>>,
}

impl Fetched {
    fn new(data: impl Into<Bytes>) -> Self {
        Fetched { data: data.into(), known: Segments::default(), round_trips: Vec::new() }
    }

    /// Makes the first and the last bytes known, as an opener does.
    fn with_head_and_tail(mut self, head: u64, tail: u64) -> Self {
        let size = self.size();
        self.add(ByteRange { start: 0, len: head.min(size) });
        self.add(ByteRange { start: size.saturating_sub(tail), len: tail.min(size) });
        self
    }

    fn size(&self) -> u64 {
        self.data.len() as u64
    }

    fn add(&mut self, range: ByteRange) {
        let (start, end) = (usize::try_from(range.start).unwrap(), usize::try_from(range.end()).unwrap());
        self.known.insert(range.start, self.data.slice(start..end));
    }

    /// Calls a parser until it is done, and gives it what it asks for: only what it has not, and never
    /// beyond the end.
    fn drive<T>(&mut self, parse: impl Fn(&Segments) -> Result<ParseStep<T>>) -> Result<T> {
        loop {
            match parse(&self.known)? {
                ParseStep::Done(value) => return Ok(value),
                ParseStep::Need(ranges) => {
                    assert!(!ranges.is_empty(), "waits for nothing");
                    for &range in &ranges {
                        assert_eq!(self.known.get(range), None, "asks for {range} again");
                        assert!(range.end() <= self.size(), "asks for {range} of {}", self.size());
                    }
                    for &range in &ranges {
                        self.add(range);
                    }
                    self.round_trips.push(ranges);
                }
            }
        }
    }
}
