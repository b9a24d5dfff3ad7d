//! What every format must do: the contract of `sapwood_table::Table`, checked by reading in all ways.
//!
//! [`check`] reads a table through sources that are near, distant, damaged, truncated and hanging, and compares with whole
//! columns that are known to be right. [`PagedTable`] is a made format to test the readers with.

mod costs;
mod faults;
mod made;
mod paged;
mod probe;
mod statistics;
mod values;

pub use made::PagedFiles;
pub use paged::PagedTable;

use sapwood_core::{Call, Column, Deadline, Interrupt, Result};
use sapwood_table::{Query, Table};
use std::ops::Range;
use std::sync::Arc;

/// A table to be checked, and what it must hold.
#[derive(Debug)]
pub struct Subject {
    /// What it is called when a check fails.
    pub name: String,
    /// The table. It is read through its own fetchers: what these answer is delayed, damaged or withheld.
    pub table: Arc<dyn Table>,
    /// Columns, by their indices in the table, and all of their values.
    pub columns: Vec<(usize, Column)>,
    /// True if every change of a byte of a chunk is noticed; else damage may change values.
    pub checksums: bool,
}

impl Subject {
    /// The indices of the columns.
    fn indices(&self) -> Vec<usize> {
        self.columns.iter().map(|(column, _)| *column).collect()
    }

    fn entries(&self) -> Range<u64> {
        0..self.table.entries()
    }

    /// The columns that have a value for every entry.
    fn complete(&self) -> Vec<(usize, &Column)> {
        let columns = self.columns.iter().map(|(index, column)| (*index, column));
        columns.filter(|(_, column)| column.length as u64 == self.table.entries()).collect()
    }
}

/// Checks that a table keeps the contract.
///
/// # Panics
/// If it does not.
pub fn check(subject: &Subject) {
    locate(subject);
    values::whole_columns(subject);
    values::entry_ranges(subject);
    values::members(subject);
    values::entry_lists(subject);
    values::scans(subject);
    values::lazy_readers(subject);
    statistics::contain_the_values(subject);
    costs::chunks_are_fetched_once(subject);
    costs::only_needed_chunks_are_fetched(subject);
    faults::damaged_chunks(subject);
    faults::truncated_files(subject);
    faults::sources_that_hang(subject);
    faults::interrupted_reads(subject);
}

/// Located once, the table is planned for any entries.
fn locate(subject: &Subject) {
    let queries: Vec<Query> = subject.indices().into_iter().map(Query::from).collect();
    // A read of no entries locates the columns and plans them.
    let read = sapwood_table::read(&subject.table, &queries, 0..0, THREADS, &mut call(&mut || false));
    let read = unwrapped(read, &format!("{}: no entries", subject.name));
    for (column, (index, whole)) in read.iter().zip(&subject.columns) {
        let part = part(whole, &(0..0));
        assert_same(column, &part, &format!("{}: no entries of column {index}", subject.name));
    }
}

/// Enough that work is shared, and the same on any machine.
const THREADS: Option<usize> = Some(2);

/// A call with much time.
fn call(interrupt: Interrupt<'_>) -> Call<'_> {
    Call::new(Deadline::default(), interrupt)
}

/// Some entries of a whole column; fewer where it has fewer.
fn part(whole: &Column, entries: &Range<u64>) -> Column {
    let length = whole.length as u64;
    taken(whole, entries.start.min(length)..entries.end.min(length))
}

fn taken(whole: &Column, entries: impl IntoIterator<Item = u64>) -> Column {
    let indices: Vec<usize> = entries.into_iter().map(|entry| entry as usize).collect();
    unwrapped(whole.take(&indices), "the expected column")
}

/// What must not fail.
#[expect(clippy::panic, reason = "so a check fails")]
fn unwrapped<T>(outcome: Result<T>, what: &str) -> T {
    outcome.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

/// What only the data show of a form may be less where there are fewer of them.
fn is_same(read: &Column, expected: &Column) -> bool {
    let form = expected.take(&[]).and_then(|form| Column::concat(vec![form, read.clone()]));
    form.is_ok_and(|read| read == *expected)
}

fn assert_same(read: &Column, expected: &Column, what: &str) {
    assert!(is_same(read, expected), "{what}: {read:?} was read, not {expected:?}");
}
