//! New contents for the arrays in a tree's record.

use super::change::BranchChange;
use crate::record::{BranchOutline, PointerArray, TableLayout};
use sapwood_core::{Error, Result};
use sapwood_tfile::Edits;
use std::collections::HashSet;

impl PointerArray {
    /// Removes the pointers to `objects`.
    pub(super) fn without(&self, objects: &HashSet<usize>, edits: &mut Edits) {
        let mut left = 0_i32;
        for pointer in &self.pointers {
            if pointer.object_at().is_some_and(|at| objects.contains(&at)) {
                edits.remove(pointer.at..pointer.end);
            } else {
                left = left.saturating_add(1);
            }
        }
        if usize::try_from(left) != Ok(self.pointers.len()) {
            edits.replace(self.count_at..self.count_at + 4, left.to_be_bytes());
        }
    }

    /// Replaces all pointers with `count` null pointers.
    pub(super) fn empty(&self, count: usize, edits: &mut Edits) -> Result<()> {
        let behind = self.count_at + 4;
        let end = self.pointers.last().map_or(behind + 4, |last| last.end);
        let number = i32::try_from(count).map_err(|_| too_many("baskets"))?;
        edits.replace(self.count_at..behind, number.to_be_bytes());
        // The lower bound, which is 0, is between them.
        edits.replace(behind..end, vec![0; 4 + 4 * count]);
        Ok(())
    }

    /// Replaces the pointers with those of `all` arrays, without pointers to `dropped` objects.
    pub(super) fn join<'p>(
        &self,
        all: impl Iterator<Item = &'p PointerArray>,
        dropped: &HashSet<usize>,
        edits: &mut Edits,
    ) -> Result<()> {
        let left = all.flat_map(|array| &array.pointers);
        let left = left.filter(|pointer| pointer.object_at().is_none_or(|at| !dropped.contains(&at)));
        let ranges: Vec<_> = left.map(|pointer| pointer.at..pointer.end).collect();
        // The lower bound is between the number of pointers and the first of them.
        let end = self.pointers.last().map_or(self.count_at + 8, |last| last.end);
        let count = i32::try_from(ranges.len()).map_err(|_| too_many("branches"))?;
        edits.splice(self.count_at..end, [count.to_be_bytes(), [0; 4]].concat(), ranges);
        Ok(())
    }
}

/// `fBasketBytes`, `fBasketEntry` and `fBasketSeek`, with spare slots (root-io-spec TBranch §4, §13).
pub(super) fn tables(outline: &BranchOutline, change: &BranchChange, room: usize) -> Result<Vec<u8>> {
    let padded = |mut values: Vec<u64>| {
        values.resize(room, 0);
        values
    };
    let bytes = padded(change.baskets.iter().map(|(_, _, len)| u64::from(*len)).collect());
    let entries = change.baskets.iter().map(|(entry, ..)| *entry).chain([change.entry_number]);
    let entries = padded(entries.collect());
    let seeks = padded(change.baskets.iter().map(|(_, offset, _)| *offset).collect());
    let mut out = Vec::with_capacity(room * 20 + 16);
    match outline.table_layout {
        TableLayout::None => {}
        TableLayout::Long => {
            out.push(1);
            narrow(&mut out, &bytes)?;
            out.push(1);
            wide(&mut out, &entries);
            out.push(1);
            wide(&mut out, &seeks);
        }
        TableLayout::Int => {
            out.push(1);
            narrow(&mut out, &bytes)?;
            out.push(1);
            narrow(&mut out, &entries)?;
            if seeks.iter().all(|&seek| i32::try_from(seek).is_ok()) {
                out.push(1);
                narrow(&mut out, &seeks)?;
            } else {
                out.push(2);
                wide(&mut out, &seeks);
            }
        }
        TableLayout::First { bytes: has_bytes, seek } => {
            let count = u32::try_from(room).map_err(|_| too_many("baskets"))?;
            out.extend(count.to_be_bytes());
            narrow(&mut out, &entries)?;
            if has_bytes {
                out.extend(count.to_be_bytes());
                narrow(&mut out, &bytes)?;
            }
            if seek {
                out.extend(count.to_be_bytes());
                narrow(&mut out, &seeks)?;
            }
        }
    }
    Ok(out)
}

fn narrow(out: &mut Vec<u8>, values: &[u64]) -> Result<()> {
    for &value in values {
        let value = i32::try_from(value).map_err(|_| {
            Error::unsupported("the tree is of a version of ROOT that cannot address baskets beyond 2 GiB")
                .hint("write fewer entries or branches, so that the file stays below 2 GiB")
        })?;
        out.extend(value.to_be_bytes());
    }
    Ok(())
}

fn wide(out: &mut Vec<u8>, values: &[u64]) {
    out.extend(values.iter().flat_map(|value| value.to_be_bytes()));
}

/// `fClusterRangeEnd` and `fClusterSize`: a byte shows whether each is there (TTree §6.1).
pub(super) fn cluster_arrays(clusters: &[(u64, u64)]) -> Vec<u8> {
    let mut out = Vec::new();
    for values in [clusters.iter().map(|c| c.0).collect::<Vec<_>>(), clusters.iter().map(|c| c.1).collect()] {
        out.push(u8::from(!values.is_empty()));
        wide(&mut out, &values);
    }
    out
}

pub(super) fn too_many(what: &str) -> Error {
    Error::unsupported(format!("there are too many {what} for ROOT"))
}
