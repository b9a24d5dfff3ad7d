//! Selected entries of a tree, as sorted ranges.

use std::ops::Range;

/// Ranges of entries, sorted and disjoint, and the number of entries before each.
#[derive(Debug, Clone)]
pub struct EntryRanges {
    ranges: Vec<Range<u64>>,
    before: Vec<u64>,
}

impl EntryRanges {
    /// The part of `ranges` below `entries`; without ranges, all entries.
    pub fn new(ranges: Option<&[Range<u64>]>, entries: u64) -> EntryRanges {
        let all = 0..entries;
        let mut kept: Vec<Range<u64>> = Vec::new();
        for range in ranges.unwrap_or(std::slice::from_ref(&all)) {
            let start = range.start.max(kept.last().map_or(0, |last| last.end));
            let range = start..range.end.min(entries);
            match kept.last_mut() {
                _ if range.start >= range.end => {}
                Some(last) if last.end == range.start => last.end = range.end,
                _ => kept.push(range),
            }
        }
        let before = kept
            .iter()
            .scan(0, |sum, range| {
                let before = *sum;
                *sum += range.end - range.start;
                Some(before)
            })
            .collect();
        EntryRanges { ranges: kept, before }
    }

    /// The part of `ranges` from `first` on, relative to `first`; without ranges, all entries.
    pub fn counted_from(ranges: Option<&[Range<u64>]>, first: u64, entries: u64) -> EntryRanges {
        let own = ranges.map(|ranges| {
            let own = ranges.iter().filter(|range| range.end > first);
            let own = own.map(|range| range.start.saturating_sub(first)..range.end - first);
            own.take_while(|range| range.start < entries).collect::<Vec<_>>()
        });
        EntryRanges::new(own.as_deref(), entries)
    }

    /// Number of entries.
    pub fn total(&self) -> u64 {
        let last = self.ranges.last().zip(self.before.last());
        last.map_or(0, |(range, before)| before + range.end - range.start)
    }

    /// Number of selected entries before an entry.
    pub fn rank(&self, entry: u64) -> u64 {
        let next = self.ranges.partition_point(|range| range.start < entry);
        let last = next.checked_sub(1).and_then(|last| self.ranges.get(last).zip(self.before.get(last)));
        last.map_or(0, |(range, before)| before + entry.min(range.end) - range.start)
    }

    /// The selected entries within a range.
    pub fn within(&self, entries: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let from = self.ranges.partition_point(|range| range.end <= entries.start);
        let ranges = self.ranges.get(from..).unwrap_or_default().iter();
        let end = entries.end;
        ranges
            .take_while(move |range| range.start < end)
            .map(move |range| range.start.max(entries.start)..range.end.min(entries.end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_counted_and_found() {
        let ranges = EntryRanges::new(Some(&[2..4, 4..5, 8..20, 3..9]), 10);
        assert_eq!(ranges.ranges, [2..5, 8..10]);
        assert_eq!(ranges.total(), 5);
        assert_eq!([0, 3, 5, 7, 9, 99].map(|entry| ranges.rank(entry)), [0, 1, 3, 3, 4, 5]);
        assert_eq!(ranges.within(4..9).collect::<Vec<_>>(), [4..5, 8..9]);
        assert_eq!(ranges.within(5..8).count(), 0);
        assert_eq!(EntryRanges::new(None, 7).ranges.first(), Some(&(0..7)));
        assert_eq!(EntryRanges::new(None, 0).total(), 0);
    }
}
