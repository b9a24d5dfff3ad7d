//! Parsing without I/O: a parser gets the known segments of a file, and asks for more.

use crate::ByteRange;
use bytes::Bytes;
use std::collections::BTreeMap;

/// The answer of a parser: its value, or the byte ranges that it needs next.
///
/// A parser that returns [`ParseStep::Need`] is called again, from its start, once the ranges are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseStep<T> {
    /// All of these ranges are needed; they are fetched together, in one round trip.
    Need(Vec<ByteRange>),
    /// The value.
    Done(T),
}

impl<T> ParseStep<T> {
    /// The same step, with its value converted.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> ParseStep<U> {
        match self {
            ParseStep::Need(ranges) => ParseStep::Need(ranges),
            ParseStep::Done(value) => ParseStep::Done(convert(value)),
        }
    }
}

/// The parts of a file that are in memory.
///
/// ```
/// use bytes::Bytes;
/// use sapwood_core::{ByteRange, Segments};
/// let mut known = Segments::default();
/// known.insert(100, Bytes::from_static(b"abcdef"));
/// let range = ByteRange { start: 102, len: 3 };
/// assert_eq!(known.get(range).as_deref(), Some(&b"cde"[..]));
/// assert_eq!(known.get(ByteRange { start: 102, len: 30 }), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Segments {
    by_start: BTreeMap<u64, Bytes>,
}

impl Segments {
    /// Adds the bytes at `start`. If two segments have the same start, the longer is kept.
    pub fn insert(&mut self, start: u64, bytes: Bytes) {
        let slot = self.by_start.entry(start).or_default();
        if slot.len() < bytes.len() {
            *slot = bytes;
        }
    }

    /// The bytes of `range`, if a single segment holds all of them. Shares memory with the segment.
    pub fn get(&self, range: ByteRange) -> Option<Bytes> {
        self.by_start.range(..=range.start).rev().find_map(|(&start, bytes)| {
            let from = usize::try_from(range.start - start).ok()?;
            let to = from.checked_add(usize::try_from(range.len).ok()?)?;
            (to <= bytes.len()).then(|| bytes.slice(from..to))
        })
    }

    /// All known bytes from `start` to the end of the segment that holds most of them (may be empty).
    pub fn get_from(&self, start: u64) -> Bytes {
        self.by_start
            .range(..=start)
            .filter_map(|(&begin, bytes)| {
                let from = usize::try_from(start - begin).ok()?;
                (from < bytes.len()).then(|| bytes.slice(from..))
            })
            .max_by_key(Bytes::len)
            .unwrap_or_default()
    }

    /// The ranges of the segments, in order of their starts.
    pub fn ranges(&self) -> impl Iterator<Item = ByteRange> {
        self.by_start.iter().map(|(&start, bytes)| ByteRange { start, len: bytes.len() as u64 })
    }

    /// Number of bytes held.
    pub fn byte_count(&self) -> usize {
        self.by_start.values().map(Bytes::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_segment_is_found_behind_a_short_one() {
        let mut known = Segments::default();
        known.insert(0, Bytes::from(vec![7; 100]));
        known.insert(10, Bytes::from_static(b"ab"));
        assert_eq!(known.get(ByteRange { start: 11, len: 5 }).map(|b| b.len()), Some(5));
        assert_eq!(known.get_from(11).len(), 89);
    }
}
