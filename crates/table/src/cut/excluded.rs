//! Counts the entries that a cut excludes without reading them.

use crate::table::Table;
use std::ops::Range;

/// Entries that cannot pass a cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcludedEntries {
    /// Their number.
    pub entries: u64,
    /// The number of clusters in which no entry can pass.
    pub clusters: u64,
}

/// Counts the entries of ranges, which are in order, and the whole clusters in them.
pub fn count_excluded(table: &dyn Table, excluded: &[Range<u64>]) -> ExcludedEntries {
    let starts = table.cluster_starts();
    let ends = starts.iter().skip(1).copied().chain([table.entries()]);
    let inside = |start: u64, end: u64| {
        let next = excluded.partition_point(|range| range.end < end);
        start < end && excluded.get(next).is_some_and(|range| range.start <= start)
    };
    let clusters = starts.iter().zip(ends).filter(|(start, end)| inside(**start, *end)).count() as u64;
    let entries = excluded.iter().map(|range| range.end.saturating_sub(range.start)).sum();
    ExcludedEntries { entries, clusters }
}

/// The parts of the ranges inside `within`.
pub(super) fn clipped(excluded: &[Range<u64>], within: &Range<u64>) -> Vec<Range<u64>> {
    let clipped = excluded.iter().map(|range| range.start.max(within.start)..range.end.min(within.end));
    clipped.filter(|range| range.start < range.end).collect()
}
