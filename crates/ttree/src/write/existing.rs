//! The record of a tree by another writer, kept except for the values that change with new entries.

use super::record::TreeState;
use crate::{BranchChange, ClusterChange, TTree, TreeChange, TreeOutline};
use sapwood_core::Result;
use std::collections::BTreeSet;

/// A record, and its original values.
#[derive(Debug)]
pub(super) struct ExistingRecord {
    outline: TreeOutline,
    /// `fCompress` of each branch.
    compression: Vec<i32>,
    /// Number of entries of each cluster.
    clusters: Vec<u64>,
}

impl ExistingRecord {
    pub(super) fn new(tree: &TTree, outline: TreeOutline) -> ExistingRecord {
        let compression = tree.branches.iter().map(|branch| branch.compression).collect();
        ExistingRecord { outline, compression, clusters: clusters(tree) }
    }

    pub(super) fn end_cluster(&mut self, entries: u64) {
        self.clusters.extend(Some(entries).filter(|&entries| entries > 0));
    }

    /// The record for the current state of the tree, for a key of `key_len` bytes.
    pub(super) fn record(&self, key_len: u32, tree: &TreeState<'_>) -> Result<Vec<u8>> {
        let parts = tree.branches.iter().zip(&self.outline.branches).zip(&self.compression);
        let branches = parts.map(|((branch, outline), &compression)| {
            let maxima = outline.maxima.iter().map(|maximum| {
                let holds_text = branch.shape.leaf.as_ref().is_some_and(|leaf| leaf.len.is_none());
                if branch.counts || holds_text {
                    maximum.value.max(branch.maximum as i64)
                } else {
                    maximum.value
                }
            });
            Some(BranchChange {
                compression,
                basket_size: branch.shape.basket_size as i32,
                first_entry: 0,
                entry_number: tree.entries,
                total_bytes: branch.total_bytes,
                zip_bytes: branch.zip_bytes,
                maxima: maxima.collect(),
                baskets: branch.baskets.iter().map(|b| (b.first_entry, b.offset, b.bytes)).collect(),
                keeps_baskets: false,
            })
        });
        let change = TreeChange {
            entries: tree.entries,
            clusters: Some(ClusterChange::of_sizes(self.clusters.iter().copied())),
            branches: branches.collect(),
            // The old index would not find new entries.
            drop_index: true,
        };
        self.outline.emit(key_len, &change)
    }
}

/// The sizes of clusters according to the record, or derived from the entries at which all branches begin a
/// basket.
fn clusters(tree: &TTree) -> Vec<u64> {
    let mut starts = tree.cluster_starts.clone();
    if starts.is_empty() {
        let begun = |branch: &crate::Branch| -> BTreeSet<u64> {
            branch.baskets.iter().map(|basket| basket.first_entry).collect()
        };
        let common = tree.branches.iter().map(begun).reduce(|one, other| &one & &other);
        starts = common.unwrap_or_default().into_iter().chain([tree.entries]).collect();
    }
    starts.iter().zip(starts.iter().skip(1)).map(|(start, end)| end.saturating_sub(*start)).collect()
}
