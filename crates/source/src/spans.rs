//! Ranges in the form that servers prefer.

use sapwood_core::ByteRange;

/// Sorts ranges and joins those that overlap or touch; drops empty ones.
///
/// If ranges overlap or run backwards, servers may answer with the whole object, or refuse; XRootD's client fails if
/// a range comes twice.
pub(crate) fn spans(ranges: &[ByteRange]) -> Vec<ByteRange> {
    let mut sorted: Vec<ByteRange> = ranges.iter().copied().filter(|range| range.len > 0).collect();
    sorted.sort_unstable();
    let mut spans: Vec<ByteRange> = Vec::with_capacity(sorted.len());
    for range in sorted {
        match spans.last_mut() {
            Some(last) if range.start <= last.end() => {
                last.len = range.end().max(last.end()) - last.start;
            }
            _ => spans.push(range),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, len: u64) -> ByteRange {
        ByteRange { start, len }
    }

    #[test]
    fn spans_are_sorted_and_apart() {
        let ranges = [range(50, 10), range(0, 10), range(5, 10), range(15, 5), range(3, 0)];
        assert_eq!(spans(&ranges), [range(0, 20), range(50, 10)]);
    }
}
