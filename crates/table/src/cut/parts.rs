//! The columns of a stage, by table.

use super::query::{CutQuery, EntrySelection};
use crate::entries::EntryRead;
use crate::scan::Scan;
use crate::selection::Query;
use crate::table::Table;
use sapwood_core::{Call, Result};
use std::ops::Range;
use std::sync::Arc;

/// The columns of a stage, by table.
#[derive(Debug)]
pub(super) struct StageColumns(Vec<TableColumns>);

/// The columns of a stage from one table.
#[derive(Debug)]
struct TableColumns {
    table: Arc<dyn Table>,
    queries: Vec<Query>,
    /// The indices of these columns in the query.
    columns: Vec<usize>,
}

impl StageColumns {
    pub(super) fn new(query: &CutQuery, columns: &[usize]) -> StageColumns {
        let part = |(number, table): (usize, &Arc<dyn Table>)| {
            let of_table = |column: &usize| query.columns.get(*column).is_some_and(|(of, _)| *of == number);
            let columns: Vec<usize> = columns.iter().copied().filter(of_table).collect();
            let queries = columns.iter().filter_map(|column| query.columns.get(*column));
            let queries = queries.map(|(_, query)| query.clone()).collect();
            TableColumns { table: Arc::clone(table), queries, columns }
        };
        let parts = query.tables.iter().enumerate().map(part);
        StageColumns(parts.filter(|part| !part.columns.is_empty()).collect())
    }

    /// The columns by their index in the query, in the order of delivery.
    pub(super) fn columns(&self) -> Vec<usize> {
        self.0.iter().flat_map(|part| part.columns.iter().copied()).collect()
    }

    /// Locates the chunks of the columns.
    pub(super) fn locate(&self, call: &mut Call<'_>) -> Result<()> {
        for part in &self.0 {
            let selections = crate::queries::Queries::new(&*part.table, &part.queries).selections;
            part.table.locate(&selections, call)?;
        }
        Ok(())
    }

    pub(super) fn scans(
        &self,
        ranges: &[Range<u64>],
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Vec<Scan>> {
        let kind = if ranges.len() == 1 { "read" } else { "scan" };
        let scan = |part: &TableColumns| {
            let ranges = ranges.iter().map(|range| part.inside(range)).collect();
            Scan::recorded_as(kind, Arc::clone(&part.table), &part.queries, ranges, threads, call)
        };
        self.0.iter().map(scan).collect()
    }

    pub(super) fn start(
        &self,
        entries: &EntrySelection,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Vec<EntryRead>> {
        let numbers = entries.numbers();
        let start = |part: &TableColumns| {
            let (table, within) = (Arc::clone(&part.table), part.inside(&entries.within));
            EntryRead::start(table, &part.queries, &numbers, within, threads, call)
        };
        self.0.iter().map(start).collect()
    }
}

impl TableColumns {
    /// The part of a range inside this table, which may be shorter than the first one.
    fn inside(&self, range: &Range<u64>) -> Range<u64> {
        let entries = self.table.entries();
        range.start.min(entries)..range.end.min(entries)
    }
}
