//! The parameters of a read with a cut: columns, entries, and when a second stage pays off.

use crate::selection::Query;
use crate::table::Table;
use std::ops::Range;
use std::sync::Arc;

/// The columns of a read with a cut.
#[derive(Debug, Clone)]
pub struct CutQuery {
    /// Tables over the same entries. The first one defines their number; the others may have fewer.
    pub tables: Vec<Arc<dyn Table>>,
    /// The columns to read, each once: the index of its table, and the query.
    pub columns: Vec<(usize, Query)>,
    /// The columns that the cut needs, by their index in `columns`.
    pub cut: Vec<usize>,
    /// The columns that may be read for passing entries only, by their index in `columns`. All columns of a group are
    /// delivered for the same entries: they wait for the mask together or not at all.
    pub groups: Vec<Vec<usize>>,
}

/// Options of a read with a cut.
#[derive(Debug, Clone, Default)]
pub struct CutOptions {
    /// Number of computing threads. Default: the environment variable `SAPWOOD_THREADS`, or else all processors.
    pub threads: Option<usize>,
    /// Entries that cannot pass, for instance according to statistics, as ranges in order that do not overlap. They are
    /// not read, unless a column is shorter than the steps or its form depends on all of its entries.
    pub excluded: Vec<Range<u64>>,
    /// When a second stage pays off.
    pub costs: CutCosts,
}

/// When a second stage pays off.
#[derive(Debug, Clone, Copy)]
pub struct CutCosts {
    /// Stored bytes of the columns of a second stage below which it is not worth a round trip. Default: 1 MiB, and at
    /// least the bytes in flight on a full link: fewer bytes arrive within the time of the round trip.
    pub least_bytes: u64,
    /// If at least this percentage of the entries pass, and some in every cluster, all entries are read, because masking
    /// is then faster than picking out the passing ones. Default: 5.
    pub many_percent: u64,
}

impl Default for CutCosts {
    fn default() -> Self {
        CutCosts { least_bytes: 1 << 20, many_percent: 5 }
    }
}

/// The entries of a step: a range, or some entries of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntrySelection {
    /// The range.
    pub within: Range<u64>,
    /// The entries of the range to deliver, in this order; `None` for all of them.
    pub chosen: Option<Vec<u64>>,
}

impl From<Range<u64>> for EntrySelection {
    fn from(within: Range<u64>) -> Self {
        EntrySelection { within, chosen: None }
    }
}

impl EntrySelection {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match &self.chosen {
            Some(chosen) => chosen.len(),
            None => usize::try_from(self.within.end.saturating_sub(self.within.start)).unwrap_or(usize::MAX),
        }
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The numbers of the entries for which a mask, with one value per entry, is true.
    pub fn passing(&self, mask: &[bool]) -> Vec<u64> {
        match &self.chosen {
            Some(chosen) => pick(chosen.iter().copied(), mask),
            None => pick(self.within.clone(), mask),
        }
    }

    /// The numbers of the entries.
    pub(super) fn numbers(&self) -> Vec<u64> {
        self.chosen.clone().unwrap_or_else(|| self.within.clone().collect())
    }

    /// The entries without those of some ranges in order that do not overlap.
    pub(super) fn without(self, excluded: &[Range<u64>]) -> EntrySelection {
        let next = |entry: u64| excluded.partition_point(|range| range.end <= entry);
        let is_excluded = |entry: u64| excluded.get(next(entry)).is_some_and(|range| range.start <= entry);
        let within = self.within;
        let touched = excluded.get(next(within.start)).is_some_and(|range| range.start < within.end);
        let chosen = match self.chosen {
            None if !touched => None,
            None => Some(within.clone().filter(|entry| !is_excluded(*entry)).collect()),
            Some(chosen) => Some(chosen.into_iter().filter(|entry| !is_excluded(*entry)).collect()),
        };
        EntrySelection { within, chosen }
    }
}

fn pick(entries: impl Iterator<Item = u64>, mask: &[bool]) -> Vec<u64> {
    entries.zip(mask).filter(|(_, passes)| **passes).map(|(entry, _)| entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excluding_entries_leaves_a_list_of_the_others() {
        let excluded = [2..4, 6..9];
        let without = |entries: EntrySelection| entries.without(&excluded).chosen;
        assert_eq!(without((0..10).into()), Some(vec![0, 1, 4, 5, 9]));
        assert_eq!(without((4..6).into()), None);
        assert_eq!(without((2..4).into()), Some(vec![]));
        let chosen = Some(vec![9, 8, 9, 1, 3]);
        assert_eq!(without(EntrySelection { within: 0..10, chosen }), Some(vec![9, 9, 1]));
    }

    #[test]
    fn a_mask_picks_from_a_range_and_from_a_list() {
        let mask = [true, false, true];
        assert_eq!(EntrySelection::from(7..10).passing(&mask), [7, 9]);
        let list = EntrySelection { within: 0..10, chosen: Some(vec![5, 4, 3]) };
        assert_eq!((list.passing(&mask), list.len(), list.is_empty()), (vec![5, 3], 3, false));
    }
}
