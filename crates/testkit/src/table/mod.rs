//! What every format must do: the contract of `sapwood_table::Table`, checked by reading in all ways.
//!
//! [`check`] reads a table through sources that are near, distant, damaged, truncated and hanging, and compares with whole
//! columns that are known to be right. [`PagedTable`] is a made format to test the readers with.

mod cached;
mod costs;
mod cuts;
mod expect;
mod faults;
mod made;
mod page;
mod paged;
mod probe;
mod statistics;
mod subject;
mod values;

pub use cached::check_cached;
pub use made::PagedFiles;
pub use paged::PagedTable;
pub use subject::{Decorate, Subject};

use expect::{THREADS, assert_same, call, part, unwrapped};
use sapwood_table::Query;

/// Checks that a table keeps the contract.
///
/// # Panics
/// If it does not.
pub fn check(subject: &Subject) {
    check_values(subject);
    costs::the_next_window_is_announced(subject);
    costs::chunks_are_fetched_once(subject);
    costs::index_chunks_of_several_columns_are_fetched_once(subject);
    costs::chunks_are_decompressed_once(subject);
    costs::only_needed_chunks_are_fetched(subject);
    costs::only_passing_chunks_are_fetched(subject);
    faults::damaged_chunks(subject);
    faults::truncated_files(subject);
    faults::sources_that_hang(subject);
    faults::interrupted_reads(subject);
}

/// Checks that a table gives the same values however it is read, whatever is fetched for them.
///
/// # Panics
/// If it does not.
pub fn check_values(subject: &Subject) {
    locate(subject);
    values::whole_columns(subject);
    values::entry_ranges(subject);
    values::members(subject);
    values::entry_lists(subject);
    values::scans(subject);
    values::lazy_readers(subject);
    values::lazy_windows_side_by_side(subject);
    cuts::cuts(subject);
    statistics::contain_the_values(subject);
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
