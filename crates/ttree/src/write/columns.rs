//! Checks that columns fit the branches of a tree.

use super::schema::{BranchSpec, Storage};
use super::split::split_branch;
use sapwood_core::{Error, Result};
use sapwood_table::write::ColumnView;

/// Checks that all columns fit the branches: their number, lengths and buffers, and that the lengths of lists
/// match the counts. Checked columns can be written.
///
/// # Errors
/// `Usage`, with the branch.
pub(super) fn check(branches: &[BranchSpec], columns: &[ColumnView<'_>], entries: usize) -> Result<()> {
    if branches.len() != columns.len() {
        return Err(Error::usage(format!(
            "{} columns were given for {} branches",
            columns.len(),
            branches.len()
        )));
    }
    for (place, (branch, column)) in branches.iter().zip(columns).enumerate() {
        let form = split_branch(branches, place).form();
        column.check(&form, entries).map_err(|error| error.branch(&branch.name))?;
    }
    for (place, (branch, column)) in branches.iter().zip(columns).enumerate() {
        let counter = match branch.storage {
            Storage::Counted { counter, .. } => Some(counter),
            _ => split_branch(branches, place).counter,
        };
        if let Some(counter) = counter
            && let (Some(counter), Some(counts)) = (branches.get(counter), columns.get(counter))
        {
            check_counts(counter, counts, column, entries).map_err(|error| error.branch(&branch.name))?;
        }
    }
    Ok(())
}

fn check_counts(
    counter: &BranchSpec,
    counts: &ColumnView<'_>,
    column: &ColumnView<'_>,
    entries: usize,
) -> Result<()> {
    let offsets = column.offsets(0);
    for (entry, count) in (0..entries).zip(self::counts(counts)) {
        let items = offsets.range(entry).len();
        if count as usize != items {
            return Err(Error::usage(format!(
                "entry {entry} has {items} items, but '{}' counts {count}",
                counter.name
            ))
            .hint("branches that share a counter must have lists of the same lengths"));
        }
    }
    Ok(())
}

/// The values of a count column; a negative one is larger than any list.
pub(super) fn counts<'a>(column: &ColumnView<'a>) -> impl Iterator<Item = u32> + use<'a> {
    column.buffer(0).as_chunks().0.iter().map(|count| u32::from_ne_bytes(*count))
}
