//! Ends clusters after a number of entries that is given or learned from the first cluster.

use sapwood_table::write::ClusterSize;

/// Most uncompressed bytes that are filled at once.
const STEP: u64 = 64_000_000;
/// Steps of the first cluster, in which the number of entries is learned.
const LEARNING_STEPS: u64 = 8;

/// The clusters of a tree that is being written.
#[derive(Debug)]
pub(super) struct Clusters {
    size: ClusterSize,
    /// Entries of a cluster, once known.
    entries: Option<u64>,
    /// Entries in the open cluster.
    open: u64,
}

impl Clusters {
    pub(super) fn new(size: ClusterSize) -> Clusters {
        let entries = match size {
            ClusterSize::Entries(entries) => Some(entries.max(1)),
            ClusterSize::Bytes(_) => None,
        };
        Clusters { size, entries, open: 0 }
    }

    /// Resumes a cluster with entries.
    pub(super) fn resume_at(&mut self, open: u64) {
        self.open = open;
    }

    /// Entries of a cluster, once known.
    pub(super) fn entries(&self) -> Option<u64> {
        self.entries
    }

    /// How many of `entries` with `bytes` bytes can be filled next. At the end of a cluster, branches are
    /// filled and compressed one after the other, and only `at_once` bytes are in memory.
    pub(super) fn step(&self, entries: u64, bytes: u64, at_once: u64) -> u64 {
        let (room, limit) = match (self.entries, self.size) {
            (Some(cluster), _) => (cluster - self.open, STEP),
            (None, ClusterSize::Bytes(size)) => (entries, (size / LEARNING_STEPS).clamp(1, STEP)),
            (None, ClusterSize::Entries(_)) => (entries, STEP),
        };
        let fitting = |bytes: u64| {
            let most = u128::from(entries) * u128::from(limit) / u128::from(bytes.max(1));
            u64::try_from(most).unwrap_or(u64::MAX).max(1).min(room).min(entries)
        };
        let ending = fitting(at_once);
        if self.ends_with(ending) { ending } else { fitting(bytes) }
    }

    /// Counts filled entries; `bytes` is the size of the open cluster after compression.
    pub(super) fn filled(&mut self, entries: u64, bytes: u64) {
        self.open += entries;
        if let (None, ClusterSize::Bytes(size)) = (self.entries, self.size)
            && bytes >= size
        {
            self.entries = Some(self.open);
        }
    }

    /// True if the open cluster is complete with this many more entries.
    pub(super) fn ends_with(&self, entries: u64) -> bool {
        self.entries.is_some_and(|all| self.open + entries >= all)
    }

    /// Entries of the open cluster.
    pub(super) fn open(&self) -> u64 {
        self.open
    }

    pub(super) fn is_full(&self) -> bool {
        self.entries.is_some_and(|entries| self.open >= entries)
    }

    pub(super) fn end(&mut self) {
        self.open = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cluster_teaches_the_others() {
        let mut clusters = Clusters::new(ClusterSize::Bytes(1000));
        assert_eq!(clusters.step(100, 1250, 0), 10); // 125 bytes at once
        clusters.filled(40, 600);
        assert!(!clusters.is_full());
        clusters.filled(20, 1100);
        assert!(clusters.is_full());
        clusters.end();
        assert_eq!((clusters.entries(), clusters.step(1000, 1000, 1000)), (Some(60), 60));
        clusters.filled(50, 100_000);
        assert!(!clusters.is_full());
        assert_eq!(clusters.step(1000, 1000, 1000), 10);
    }

    #[test]
    fn large_entries_are_filled_one_by_one() {
        let clusters = Clusters::new(ClusterSize::Entries(10));
        assert_eq!(clusters.step(5, 1 << 40, 1 << 40), 1);
        assert_eq!(clusters.step(5, 0, 0), 5);
        assert_eq!(clusters.step(20, 20, 20), 10);
    }

    #[test]
    fn where_a_cluster_ends_branches_go_one_after_the_other() {
        let clusters = Clusters::new(ClusterSize::Entries(10));
        assert_eq!(clusters.step(20, 8 * STEP, STEP), 10);
        // Even then, ten do not fit: as many as fit from all branches.
        assert_eq!(clusters.step(20, 8 * STEP, 4 * STEP), 2);
        // The cluster does not end with these entries.
        assert_eq!(clusters.step(9, 3 * STEP, 0), 3);
    }
}
