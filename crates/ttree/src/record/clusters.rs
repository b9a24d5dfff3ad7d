//! Clusters: ranges of entries whose baskets were written together (root-io-spec TTree §6).

/// The members of a tree that define its clusters.
#[derive(Debug, Default)]
pub(super) struct Clusters {
    /// For each range of entries with clusters of one size: its last entry and that size.
    pub(super) ranges: Vec<(i64, i64)>,
    /// `fAutoFlush`: the size of the clusters after the last range, if positive.
    pub(super) auto_flush: i64,
}

impl Clusters {
    /// First entries of all clusters, then `entries`; empty if a size is not recorded, the ranges are
    /// invalid, or there are more than `limit` clusters: only boundaries between baskets are useful.
    pub(super) fn starts(&self, entries: u64, limit: usize) -> Vec<u64> {
        self.try_starts(entries, limit).unwrap_or_default()
    }

    fn try_starts(&self, entries: u64, limit: usize) -> Option<Vec<u64>> {
        let mut starts = Vec::new();
        let mut from = 0;
        let last = (i64::try_from(entries).ok()?.checked_sub(1)?, self.auto_flush);
        for &(range_end, size) in self.ranges.iter().chain([&last]) {
            let end = u64::try_from(range_end.checked_add(1)?).ok()?.min(entries);
            if end <= from {
                continue;
            }
            let size = usize::try_from(size).ok().filter(|&size| size > 0)?;
            let clusters = (end - from).div_ceil(size as u64);
            if clusters > limit.saturating_sub(starts.len()) as u64 {
                return None;
            }
            starts.extend((from..end).step_by(size));
            from = end;
        }
        starts.push(entries);
        (starts.len() > 1).then_some(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_changed() {
        // The worked example of root-io-spec TTree §6.1.
        let clusters = Clusters { ranges: vec![(7, 4), (13, 3)], auto_flush: 5 };
        assert_eq!(clusters.starts(19, 100), [0, 4, 8, 11, 14, 19]);
        assert_eq!(clusters.starts(16, 100), [0, 4, 8, 11, 14, 16]);
    }

    #[test]
    fn nothing_recorded() {
        assert_eq!(Clusters { ranges: vec![], auto_flush: -30_000_000 }.starts(19, 100), [0; 0]);
        assert_eq!(Clusters { ranges: vec![(7, 0)], auto_flush: 5 }.starts(19, 100), [0; 0]);
        assert_eq!(Clusters { ranges: vec![], auto_flush: 5 }.starts(0, 100), [0; 0]);
    }

    #[test]
    fn one_cluster_larger_than_the_tree() {
        assert_eq!(Clusters { ranges: vec![], auto_flush: 1000 }.starts(19, 100), [0, 19]);
    }

    #[test]
    fn nonsense_does_not_take_memory() {
        assert_eq!(Clusters { ranges: vec![], auto_flush: 1 }.starts(u64::MAX / 4, 100), [0; 0]);
        assert_eq!(Clusters { ranges: vec![(i64::MAX, 1)], auto_flush: 1 }.starts(10, 100), [0; 0]);
    }
}
