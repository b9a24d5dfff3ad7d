//! What formats of pages have in common: parts of clusters, and the entries whose values are in a page.

use sapwood_core::{Error, Result};
use std::ops::Range;

/// Some elements of a column in a cluster.
#[derive(Debug, Clone)]
pub struct ClusterPart {
    /// The number of the cluster.
    pub cluster: usize,
    /// The elements, counted from its first.
    pub range: Range<u64>,
}

impl ClusterPart {
    /// The parts of clusters that make up some entries. `starts` is as in
    /// [`cluster_starts`](crate::Table::cluster_starts).
    pub fn of_entries(starts: &[u64], entries: &Range<u64>) -> Vec<ClusterPart> {
        let first = starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
        let clusters = starts.windows(2).enumerate().skip(first);
        let here = clusters.take_while(|(_, bounds)| bounds[0] < entries.end).map(|(cluster, bounds)| {
            let (start, end) = (entries.start.max(bounds[0]), entries.end.min(bounds[1]));
            ClusterPart { cluster, range: start.saturating_sub(bounds[0])..end.saturating_sub(bounds[0]) }
        });
        here.filter(|part| !part.range.is_empty()).collect()
    }

    /// Number of elements.
    pub fn len(&self) -> u64 {
        self.range.end - self.range.start
    }

    /// True if it has no elements.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The items of arrays of this size.
    ///
    /// # Errors
    /// `Corrupt` if there are more than a number can count.
    pub fn scaled(&self, size: u64) -> Result<ClusterPart> {
        let (start, end) = (self.range.start.checked_mul(size), self.range.end.checked_mul(size));
        let range = start.zip(end).map(|(start, end)| start..end);
        let range = range.ok_or_else(|| Error::corrupt("an array has more items than can be"))?;
        Ok(ClusterPart { cluster: self.cluster, range })
    }
}

/// The entries with elements in a page. The elements of the n-th of some entries, the first of which is `first`, are those
/// from `bounds[n]` to `bounds[n + 1]`. Any entry of the `cluster` beyond these may have elements in the page, too.
pub fn entries_of_page(page: &Range<u64>, bounds: &[u64], first: u64, cluster: Range<u64>) -> Range<u64> {
    let entry = |index: usize| first + index as u64;
    let start = match bounds.first() {
        Some(least) if *least <= page.start => {
            entry(bounds.partition_point(|bound| *bound <= page.start)).saturating_sub(1)
        }
        _ => cluster.start,
    };
    let end = match bounds.last() {
        Some(most) if page.end <= *most => entry(bounds.partition_point(|bound| *bound < page.end)),
        _ => cluster.end,
    };
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_divided_at_the_borders_of_clusters() {
        let parts = ClusterPart::of_entries(&[0, 7, 7, 40], &(5..9));
        let parts: Vec<_> = parts.into_iter().map(|part| (part.cluster, part.range)).collect();
        assert_eq!(parts, [(0, 5..7), (2, 0..2)]);
        assert!(ClusterPart::of_entries(&[], &(0..3)).is_empty());
    }

    #[test]
    fn entries_beyond_those_that_are_known_may_have_items_in_a_page() {
        // Entries 12 and 13 have the items 3 to 5, and 5 to 9.
        let of_page = |page| entries_of_page(&page, &[3, 5, 9], 12, 10..20);
        assert_eq!([of_page(3..5), of_page(4..6), of_page(5..9)], [12..13, 12..14, 13..14]);
        assert_eq!([of_page(0..4), of_page(8..11)], [10..13, 13..20]);
    }
}
