//! Writes a tree's record with changes.

use super::arrays::{cluster_arrays, tables, too_many};
use super::change::{BranchChange, TreeChange};
use crate::record::{BranchOutline, NumberPosition, TableLayout, TreeOutline};
use sapwood_core::{Error, Result};
use sapwood_tfile::{Edits, Pointer, PointerTarget};
use std::collections::HashSet;

/// ROOT never stores fewer slots for baskets (root-io-spec TBranch §4).
const FEWEST_BASKETS: usize = 10;

impl TreeOutline {
    /// The unchanged record.
    ///
    /// # Errors
    /// Those of [`Outline::emit`](sapwood_tfile::Outline::emit).
    pub fn unchanged(&self, key_len: u32) -> Result<Vec<u8>> {
        self.outline.emit(self.len, &self.payload, key_len, &Edits::default())
    }

    /// The record with changes, for a key of `key_len` bytes. Baskets inside the record are removed, because
    /// they now have their own records.
    ///
    /// # Errors
    /// `Unsupported` if the tree's version cannot store a value; `Corrupt` if the change is for another tree.
    pub fn emit(&self, key_len: u32, change: &TreeChange) -> Result<Vec<u8>> {
        if change.branches.len() != self.branches.len() {
            return Err(Error::corrupt("a change is for another tree"));
        }
        let mut edits = Edits::default();
        self.drop_branches(change, &mut edits)?;
        let (mut total, mut zip) = (0, 0);
        for (branch, change) in self.branches.iter().zip(&change.branches) {
            if let Some(change) = change {
                if let Some(offset_len) = branch.offset_len {
                    let at = branch.basket_size + 4;
                    edits.replace(at..at + 4, offset_len.to_be_bytes());
                }
                if !change.keeps_baskets {
                    edit_branch(branch, change, &mut edits)?;
                }
                total += change.total_bytes;
                zip += change.zip_bytes;
            }
        }
        let at = &self.tree;
        let mut numbers = vec![
            (at.entries, change.entries),
            (at.total_bytes, total),
            (at.zip_bytes, zip),
            (at.saved_bytes, zip),
            (at.flushed_bytes, zip),
        ];
        if let Some(clusters) = &change.clusters {
            numbers.push((at.auto_flush, u64::from_ne_bytes(clusters.auto_flush.to_ne_bytes())));
        }
        for (position, value) in numbers {
            put(&mut edits, position, value)?;
        }
        if let (Some((count_at, range)), Some(clusters)) = (&at.clusters, &change.clusters) {
            let count = i32::try_from(clusters.ranges.len()).map_err(|_| too_many("clusters"))?;
            edits.replace(*count_at..*count_at + 4, count.to_be_bytes());
            edits.replace(range.clone(), cluster_arrays(&clusters.ranges));
        }
        if let Some(index) = at.index.filter(|_| change.drop_index) {
            edits.replace(index.at..index.end, [0; 4]);
        }
        self.outline.emit(self.len, &self.payload, key_len, &edits)
    }

    /// Removes dropped branches and their leaves from their arrays, and adds the grafted ones.
    fn drop_branches(&self, change: &TreeChange, edits: &mut Edits) -> Result<()> {
        let dropped = || self.branches.iter().zip(&change.branches).filter(|(_, change)| change.is_none());
        let branches: HashSet<usize> = dropped().map(|(branch, _)| branch.at).collect();
        let leaves = dropped().flat_map(|(branch, _)| &branch.leaves.pointers);
        let leaves: HashSet<usize> = leaves.filter_map(Pointer::object_at).collect();
        if !self.grafted.is_empty() {
            let all = || [&self.tree].into_iter().chain(&self.grafted);
            self.tree.branches.join(all().map(|tree| &tree.branches), &branches, edits)?;
            self.tree.leaves.join(all().map(|tree| &tree.leaves), &leaves, edits)?;
        }
        if branches.is_empty() {
            return Ok(());
        }
        // Other references to them, such as those in a table of references, become null.
        for pointer in self.outline.pointers() {
            if let PointerTarget::Reference(at) = pointer.target
                && (branches.contains(&at) || leaves.contains(&at))
            {
                edits.replace(pointer.at..pointer.end, [0; 4]);
            }
        }
        if self.grafted.is_empty() {
            self.tree.branches.without(&branches, edits);
            self.tree.leaves.without(&leaves, edits);
        }
        for branch in &self.branches {
            branch.children.without(&branches, edits);
        }
        if let Some(pointer) = self.tree.branch_ref
            && branches.contains(&pointer.at)
        {
            edits.replace(pointer.at..pointer.end, [0; 4]);
        }
        Ok(())
    }
}

fn edit_branch(at: &BranchOutline, change: &BranchChange, edits: &mut Edits) -> Result<()> {
    let entries = change.entry_number - change.first_entry.min(change.entry_number);
    let numbers = [
        (at.entry_number, change.entry_number),
        (at.entries, entries),
        (at.first_entry, change.first_entry),
        (at.total_bytes, change.total_bytes),
        (at.zip_bytes, change.zip_bytes),
    ];
    for (position, value) in numbers {
        put(edits, position, value)?;
    }
    edits.replace(at.compression..at.compression + 4, change.compression.to_be_bytes());
    edits.replace(at.basket_size..at.basket_size + 4, change.basket_size.to_be_bytes());
    for (maximum, value) in at.maxima.iter().zip(&change.maxima) {
        // Big-endian: the last bytes are those of the value.
        let bytes = value.to_be_bytes();
        let bytes = bytes.get(8 - maximum.width..).unwrap_or_default();
        edits.replace(maximum.at..maximum.at + maximum.width, bytes);
    }
    if !at.holds_baskets() {
        return Ok(());
    }
    if !at.file_name.is_empty() {
        edits.replace(at.file_name.clone(), [0]);
    }
    let count = change.baskets.len();
    // For a class version below 10, ROOT takes the last basket from this array without checking its size:
    // beyond 16, it accesses foreign memory.
    at.baskets.empty(if at.table_layout == TableLayout::Long { 0 } else { count + 1 }, edits)?;
    let room = FEWEST_BASKETS.max(count + 1);
    let word = |value: usize| i32::try_from(value).map(i32::to_be_bytes).map_err(|_| too_many("baskets"));
    edits.replace(at.write_basket..at.write_basket + 4, word(count)?);
    edits.replace(at.max_baskets..at.max_baskets + 4, word(room)?);
    edits.replace(at.tables.clone(), tables(at, change, room)?);
    Ok(())
}

fn put(edits: &mut Edits, position: Option<NumberPosition>, value: u64) -> Result<()> {
    match position {
        None => {}
        Some(NumberPosition::I32(at)) => {
            let value = i32::try_from(value).map_err(|_| too_many("entries"))?;
            edits.replace(at..at + 4, value.to_be_bytes());
        }
        Some(NumberPosition::I64(at)) => edits.replace(at..at + 8, value.to_be_bytes()),
        #[expect(clippy::cast_precision_loss, reason = "ROOT stored these numbers as a double")]
        Some(NumberPosition::F64(at)) => edits.replace(at..at + 8, (value as f64).to_be_bytes()),
    }
    Ok(())
}
