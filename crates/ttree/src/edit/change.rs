//! Changes of a tree's record.

/// New values for the members of a tree.
#[derive(Debug, Clone, Default)]
pub struct TreeChange {
    /// `fEntries`.
    pub entries: u64,
    /// The clusters; `None` keeps those of the record.
    pub clusters: Option<ClusterChange>,
    /// One per branch of [`TreeOutline::branches`](crate::TreeOutline::branches); `None` drops the branch and its
    /// sub-branches.
    pub branches: Vec<Option<BranchChange>>,
    /// Drops `fTreeIndex`, which no longer fits the entries.
    pub drop_index: bool,
}

/// New clusters of a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterChange {
    /// `fAutoFlush`: entries of the clusters after the last of `ranges`; 0 or less if unknown.
    pub auto_flush: i64,
    /// `fClusterRangeEnd` and `fClusterSize`: the last entry of each range, and the size of its clusters.
    pub ranges: Vec<(u64, u64)>,
}

impl ClusterChange {
    /// Consecutive clusters with these numbers of entries. A range of clusters of one size may end with a smaller one
    /// (root-io-spec TTree §6.1).
    pub fn of_sizes(sizes: impl IntoIterator<Item = u64>) -> ClusterChange {
        let (mut ranges, mut end) = (Vec::new(), 0_u64);
        let mut open: Option<u64> = None;
        for size in sizes.into_iter().filter(|&size| size > 0) {
            if let Some(of) = open.filter(|&of| size > of) {
                ranges.push((end - 1, of));
                open = None;
            }
            end += size;
            match open {
                Some(of) if size < of => {
                    ranges.push((end - 1, of));
                    open = None;
                }
                _ => open = Some(size),
            }
        }
        let last = open.or_else(|| ranges.pop().map(|(_, size)| size));
        ClusterChange { auto_flush: last.and_then(|size| i64::try_from(size).ok()).unwrap_or(0), ranges }
    }
}

/// New values for the members of a branch.
#[derive(Debug, Clone, Default)]
pub struct BranchChange {
    /// `fCompress`.
    pub compression: i32,
    /// `fBasketSize`.
    pub basket_size: i32,
    /// `fFirstEntry`.
    pub first_entry: u64,
    /// `fEntryNumber`: one past the last entry.
    pub entry_number: u64,
    /// `fTotBytes`: of all baskets, keys and contents before compression.
    pub total_bytes: u64,
    /// `fZipBytes`: of all baskets, keys and contents as stored.
    pub zip_bytes: u64,
    /// New values for [`BranchOutline::maxima`](crate::BranchOutline::maxima); empty to keep them.
    pub maxima: Vec<i64>,
    /// First entry, offset and length of each basket's record, in order.
    pub baskets: Vec<(u64, u64, u32)>,
    /// Ignores the other fields: the branch keeps its baskets, in the file that it names or in the tree's
    /// record.
    pub keeps_baskets: bool,
}
