//! What is checked: a table, and the values that it must hold.

use sapwood_core::Column;
use sapwood_table::Table;
use std::ops::Range;
use std::sync::Arc;

/// Puts a decorator around a table.
pub type Decorate = Box<dyn Fn(Arc<dyn Table>) -> Arc<dyn Table> + Send + Sync>;

/// A table to be checked, and what it must hold.
pub struct Subject {
    /// What it is called when a check fails.
    pub name: String,
    /// The table. It is read through its own fetchers: what these answer is delayed, damaged or withheld.
    pub table: Arc<dyn Table>,
    /// Columns, by their indices in the table, and all of their values.
    pub columns: Vec<(usize, Column)>,
    /// True if every change of a byte of a chunk is noticed; else damage may change values.
    pub checksums: bool,
    /// Puts a new decorator around the table for each source that a check reads from, to check both. Default: none.
    pub decorate: Option<Decorate>,
}

impl Subject {
    /// The indices of the columns.
    pub(super) fn indices(&self) -> Vec<usize> {
        self.columns.iter().map(|(column, _)| *column).collect()
    }

    /// The table in a new decorator.
    pub(super) fn decorated(&self) -> Arc<dyn Table> {
        let table = Arc::clone(&self.table);
        match &self.decorate {
            Some(decorate) => decorate(table),
            None => table,
        }
    }

    pub(super) fn entries(&self) -> Range<u64> {
        0..self.table.entries()
    }

    /// The columns that have a value for every entry.
    pub(super) fn complete(&self) -> Vec<(usize, &Column)> {
        let columns = self.columns.iter().map(|(index, column)| (*index, column));
        columns.filter(|(_, column)| column.length as u64 == self.table.entries()).collect()
    }
}
