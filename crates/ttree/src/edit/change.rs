//! Changes of a tree's record.

/// What a tree's record is to say instead.
#[derive(Debug, Clone, Default)]
pub struct TreeChange {
    /// `fEntries`.
    pub entries: u64,
    /// Where clusters end; `None` leaves what the record says.
    pub clusters: Option<ClusterChange>,
    /// By the places of [`TreeOutline::branches`]; `None` leaves the branch out, with what is below it.
    pub branches: Vec<Option<BranchChange>>,
    /// Leaves out `fTreeIndex`: what it says of entries holds no longer.
    pub drop_index: bool,
}

/// What a tree's record is to say of its clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterChange {
    /// `fAutoFlush`: entries of the clusters behind the last of `ranges`; 0 or less if that is not known.
    pub auto_flush: i64,
    /// `fClusterRangeEnd` and `fClusterSize`: the last entry of each range, and the size of its clusters.
    pub ranges: Vec<(u64, u64)>,
}

impl ClusterChange {
    /// For clusters of so many entries each, one after the other. A range of clusters of one size may end with a
    /// smaller one (root-io-spec TTree §6.1).
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

/// What a branch is to say instead.
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
    /// `fTotBytes`: of all baskets, key and content before compression.
    pub total_bytes: u64,
    /// `fZipBytes`: of all baskets, key and content as stored.
    pub zip_bytes: u64,
    /// What is to stand for [`BranchOutline::maxima`]; nothing to leave them.
    pub maxima: Vec<i64>,
    /// First entry, offset and length of each basket's record, in order.
    pub baskets: Vec<(u64, u64, u32)>,
    /// Nothing of the above: the branch keeps its baskets, in the file that it names or in the record of the tree.
    pub keeps_baskets: bool,
}
