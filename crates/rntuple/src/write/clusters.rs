//! Ends clusters after a number of entries, or by their size so far.

use sapwood_table::write::ClusterSize;
use std::ops::Range;

/// Most bytes that are filled at once.
const STEP: u64 = 64_000_000;
/// A cluster is filled in steps of at least this part of it.
const LEAST_STEP: u64 = 64;
/// A cluster that compresses better than this ends early, as its readers need memory for it.
const MOST_RATIO: u64 = 10;
/// Bytes in open pages beyond which large ones end early, where clusters are not ended by their size.
const MOST_OPEN: u64 = 256 << 20;

/// The clusters of an RNTuple that is being written.
#[derive(Debug)]
pub(super) struct Clusters {
    size: ClusterSize,
    columns: u64,
    entries: u64,
    first_entry: u64,
    /// Bytes of the open cluster: in all pages before compression, and after it, as far as that is known.
    before: u64,
    after: u64,
    /// Bytes of sealed pages of all clusters before: elements, and as stored.
    sealed: (u64, u64),
    /// The same of the open cluster.
    sealed_here: (u64, u64),
}

impl Clusters {
    pub(super) fn new(size: ClusterSize, columns: usize) -> Clusters {
        let columns = columns.max(1) as u64;
        let (sealed, sealed_here) = ((0, 0), (0, 0));
        Clusters { size, columns, entries: 0, first_entry: 0, before: 0, after: 0, sealed, sealed_here }
    }

    /// Counts columns that were added.
    pub(super) fn add_columns(&mut self, more: usize) {
        self.columns += more as u64;
    }

    pub(super) fn entries(&self) -> u64 {
        self.entries
    }

    /// How many of `entries` with `bytes` bytes can be filled next.
    pub(super) fn step(&self, entries: u64, bytes: u64) -> u64 {
        let fitting = |room: u64| {
            let most = u128::from(entries) * u128::from(room) / u128::from(bytes.max(1));
            u64::try_from(most).unwrap_or(u64::MAX).clamp(1, entries.max(1))
        };
        match self.size {
            ClusterSize::Entries(all) => {
                let open = self.entries - self.first_entry;
                fitting(STEP).min(all.saturating_sub(open)).max(1)
            }
            ClusterSize::Bytes(size) => {
                let room = size.saturating_sub(self.after).max(size / LEAST_STEP);
                let (before, after) = self.ratio();
                let room = u128::from(room) * u128::from(before) / u128::from(after);
                fitting(u64::try_from(room).unwrap_or(u64::MAX).min(STEP))
            }
        }
    }

    /// Bytes before and after compression; before anything is compressed, two to one, as ROOT assumes.
    fn ratio(&self) -> (u64, u64) {
        let (before, after) = (self.sealed.0 + self.sealed_here.0, self.sealed.1 + self.sealed_here.1);
        if before == 0 || after == 0 { (2, 1) } else { (before, after) }
    }

    /// The most bytes that may stay open of a column, if `open` bytes in open pages are too many.
    pub(super) fn most_open(&self, open: u64) -> Option<u64> {
        let most = match self.size {
            ClusterSize::Entries(_) => MOST_OPEN,
            ClusterSize::Bytes(size) => size.saturating_mul(2),
        };
        (open > most).then_some(most / self.columns)
    }

    /// Counts filled entries. `sizes` are the bytes of each column: in open pages, then in sealed ones of the cluster
    /// before and after compression.
    pub(super) fn filled(&mut self, entries: u64, sizes: impl Iterator<Item = (u64, (u64, u64))>) {
        self.entries += entries;
        let (mut open, mut sealed) = (0_u64, (0_u64, 0_u64));
        for (own, (before, after)) in sizes {
            open += own;
            sealed = (sealed.0 + before, sealed.1 + after);
        }
        self.sealed_here = sealed;
        let (before, after) = self.ratio();
        let open_after = u128::from(open) * u128::from(after) / u128::from(before);
        self.before = sealed.0 + open;
        self.after = sealed.1 + u64::try_from(open_after).unwrap_or(u64::MAX);
    }

    /// Adds a whole cluster behind the last; its entries.
    pub(super) fn add(&mut self, entries: u64) -> Range<u64> {
        let start = self.entries;
        self.entries += entries;
        self.first_entry = self.entries;
        start..self.entries
    }

    pub(super) fn is_full(&self) -> bool {
        match self.size {
            ClusterSize::Entries(entries) => self.entries - self.first_entry >= entries.max(1),
            ClusterSize::Bytes(size) => self.after >= size || self.before / MOST_RATIO >= size,
        }
    }

    /// Ends the open cluster; its entries, if there are any.
    pub(super) fn end(&mut self) -> Option<Range<u64>> {
        let entries = self.first_entry..self.entries;
        self.sealed = (self.sealed.0 + self.sealed_here.0, self.sealed.1 + self.sealed_here.1);
        (self.before, self.after, self.sealed_here) = (0, 0, (0, 0));
        self.first_entry = self.entries;
        (!entries.is_empty()).then_some(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_end_by_their_size_after_compression() {
        let mut clusters = Clusters::new(ClusterSize::Bytes(1000), 2);
        assert_eq!(clusters.step(1000, 100_000), 20);
        clusters.filled(20, [(1000, (0, 0)), (1000, (0, 0))].into_iter());
        assert!(clusters.is_full());
        // It compressed better than was assumed.
        clusters.filled(0, [(0, (1000, 100)), (0, (1000, 100))].into_iter());
        assert!(!clusters.is_full());
        assert_eq!(clusters.step(1000, 100_000), 80);
        assert_eq!(clusters.end(), Some(0..20));
        assert_eq!(clusters.end(), None);
        clusters.filled(1, [(10_000, (0, 0)), (0, (0, 0))].into_iter());
        assert!(clusters.is_full());
    }

    #[test]
    fn large_pages_end_where_all_together_need_too_much_memory() {
        let clusters = Clusters::new(ClusterSize::Bytes(1000), 4);
        assert_eq!((clusters.most_open(2000), clusters.most_open(2001)), (None, Some(500)));
    }
}
