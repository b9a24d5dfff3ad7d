//! A request as one row of bytes, whatever its ranges: parts of the row become requests, and their answers
//! ranges again.

use bytes::{Bytes, BytesMut};
use sapwood_core::ByteRange;

/// A part is not cut inside a range smaller than this: its halves would have to be copied together.
const WHOLE: u64 = 256 << 10;

/// The ranges of a request, one after the other. A *place* is the number of bytes before it.
#[derive(Debug)]
pub(crate) struct ByteRow<'a> {
    ranges: &'a [ByteRange],
    /// The place of each range.
    starts: Vec<u64>,
    len: u64,
}

impl<'a> ByteRow<'a> {
    pub(crate) fn new(ranges: &'a [ByteRange]) -> Self {
        let mut len = 0_u64;
        let starts = ranges.iter().map(|range| {
            let start = len;
            len = len.saturating_add(range.len);
            start
        });
        let starts = starts.collect();
        ByteRow { ranges, starts, len }
    }

    /// Bytes in all.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The end of a part that begins at `from`: at most this many bytes and ranges later, and not after `to`.
    pub(crate) fn advance(&self, from: u64, to: u64, most_bytes: u64, most_ranges: usize) -> u64 {
        let first = self.range_at(from);
        let last = first.saturating_add(most_ranges.max(1));
        let end = self.starts.get(last).map_or(to, |&end| end.min(to));
        let want = from.saturating_add(most_bytes.max(1));
        if want >= end {
            return end;
        }
        let cut = self.near(want);
        if cut > from { cut } else { self.end_of(first).min(end) }
    }

    /// A nearby place where a part may end: not inside a small range.
    pub(crate) fn near(&self, place: u64) -> u64 {
        let at = self.range_at(place);
        let (Some(range), Some(&start)) = (self.ranges.get(at), self.starts.get(at)) else { return place };
        if range.len >= WHOLE { place } else { start }
    }

    /// The ranges of the part from one place to another.
    pub(crate) fn cut(&self, from: u64, to: u64) -> Vec<ByteRange> {
        let mut cut = Vec::new();
        for (range, &start) in self.ranges.iter().zip(&self.starts).skip(self.range_at(from)) {
            if start >= to {
                break;
            }
            let (first, last) = (from.max(start), to.min(start + range.len));
            if first < last {
                cut.push(ByteRange { start: range.start + (first - start), len: last - first });
            }
        }
        cut
    }

    /// The bytes of the ranges, assembled from all parts: the place of each, and the answers to the ranges
    /// that were cut there.
    pub(crate) fn join(&self, mut parts: Vec<(u64, Vec<Bytes>)>) -> Vec<Bytes> {
        parts.sort_unstable_by_key(|&(from, _)| from);
        let mut pieces = parts.into_iter().flat_map(|(_, answers)| answers).filter(|piece| !piece.is_empty());
        self.ranges.iter().map(|range| take(range.len, &mut pieces)).collect()
    }

    /// The index of the range in which a place lies.
    fn range_at(&self, place: u64) -> usize {
        self.starts.partition_point(|&start| start <= place).saturating_sub(1)
    }

    fn end_of(&self, range: usize) -> u64 {
        self.starts.get(range + 1).copied().unwrap_or(self.len)
    }
}

/// The next `len` bytes; copied together if they come in more than one piece.
fn take(len: u64, pieces: &mut impl Iterator<Item = Bytes>) -> Bytes {
    if len == 0 {
        return Bytes::new();
    }
    let first = pieces.next().unwrap_or_default();
    if first.len() as u64 >= len {
        return first;
    }
    let mut joined = BytesMut::from(&*first);
    while (joined.len() as u64) < len
        && let Some(piece) = pieces.next()
    {
        joined.extend_from_slice(&piece);
    }
    joined.freeze()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    #[test]
    fn parts_are_cut_between_small_ranges_and_inside_large_ones() {
        let ranges = [range(0, 100), range(500, 100), range(1000, 1 << 20)];
        let row = ByteRow::new(&ranges);
        assert_eq!(row.advance(0, row.len(), 150, 9), 100);
        assert_eq!(row.advance(0, row.len(), 50, 9), 100, "a small range is not cut");
        assert_eq!(row.advance(0, row.len(), 5000, 9), 5000);
        assert_eq!(row.advance(0, row.len(), 5000, 2), 200);
        assert_eq!(row.advance(0, 100, 5000, 9), 100);
        assert_eq!(row.cut(100, 5000), [range(500, 100), range(1000, 4800)]);
    }

    proptest! {
        #[test]
        fn split_ranges_are_rejoined(
            lens in prop::collection::vec(prop_oneof![0..2000_u64, 300_000..600_000_u64], 1..8),
            bytes in 1..700_000_u64,
            count in 1..4_usize,
        ) {
            let ranges: Vec<_> = lens.iter().scan(0, |at, &len| {
                let range = range(*at, len);
                *at += len + 10;
                Some(range)
            }).collect();
            let content: Bytes = (0..4_900_000_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            let slice = |r: &ByteRange| content.slice(r.start as usize..r.end() as usize);
            let row = ByteRow::new(&ranges);
            let (mut parts, mut at) = (Vec::new(), 0);
            while at < row.len() {
                let end = row.advance(at, row.len(), bytes, count);
                prop_assert!(end > at && end <= row.len());
                let cut = row.cut(at, end);
                prop_assert!(cut.len() <= count);
                prop_assert_eq!(cut.iter().map(|range| range.len).sum::<u64>(), end - at);
                parts.push((at, cut.iter().map(slice).collect()));
                at = end;
            }
            parts.reverse();
            prop_assert_eq!(row.join(parts), ranges.iter().map(slice).collect::<Vec<_>>());
        }
    }
}
