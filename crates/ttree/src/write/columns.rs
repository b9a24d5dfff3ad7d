//! The writer's input columns: borrowed buffers, checked against the form of a branch.

use super::schema::{BranchSpec, Storage};
use super::split::split_branch;
use sapwood_core::{Error, Form, Result};
use std::ops::Range;

/// A column of `length` entries in borrowed buffers: one per node of its form with a buffer, as in
/// [`Column`](sapwood_core::Column). Offsets are 64-bit and may start anywhere.
#[derive(Debug, Clone)]
pub struct ColumnView<'a> {
    /// Number of entries.
    pub length: usize,
    /// The buffers, depth first, in the byte order of the machine.
    pub buffers: Vec<&'a [u8]>,
}

impl<'a> ColumnView<'a> {
    /// The buffer at `place`; empty if there is none.
    pub(super) fn buffer(&self, place: usize) -> &'a [u8] {
        self.buffers.get(place).copied().unwrap_or_default()
    }

    /// Bytes of all buffers.
    pub fn byte_count(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len()).sum()
    }

    /// The offsets in the buffer at `place`.
    pub(super) fn offsets(&self, place: usize) -> Offsets<'a> {
        Offsets(self.buffer(place).as_chunks().0)
    }
}

/// Offsets of lists or strings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offsets<'a>(&'a [[u8; 8]]);

impl Offsets<'_> {
    /// The offset at `place`; 0 if there is none.
    #[inline]
    pub(super) fn get(self, place: usize) -> usize {
        self.0.get(place).map_or(0, |bytes| i64::from_ne_bytes(*bytes) as usize)
    }

    /// The range of the items of a list.
    #[inline]
    pub(super) fn range(self, list: usize) -> Range<usize> {
        self.get(list)..self.get(list + 1)
    }

    /// Number of lists.
    fn lists(self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

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
        check_column(&form, column, entries).map_err(|error| error.branch(&branch.name))?;
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

fn check_column(form: &Form, column: &ColumnView<'_>, entries: usize) -> Result<()> {
    if column.length != entries {
        return Err(Error::usage(format!("it has {} entries; others have {entries}", column.length)));
    }
    if column.buffers.len() != form.buffer_count() {
        return Err(Error::usage(format!("{} buffers were given for {form:?}", column.buffers.len())));
    }
    check_form(form, column, 0, 0..entries)
}

/// Checks the items `items` of a form whose first buffer is at `place`.
fn check_form(form: &Form, column: &ColumnView<'_>, place: usize, items: Range<usize>) -> Result<()> {
    let enough = |have: usize, need: usize| {
        if have >= need {
            return Ok(());
        }
        Err(Error::usage(format!("a buffer holds {have} items where {need} are needed")))
    };
    match form {
        Form::Empty => Ok(()),
        Form::Primitive(primitive) => enough(column.buffer(place).len() / primitive.size(), items.end),
        Form::Fixed { size, content } => check_form(
            content,
            column,
            place,
            items.start.saturating_mul(*size)..items.end.saturating_mul(*size),
        ),
        Form::List(_) | Form::String => {
            let offsets = column.offsets(place);
            enough(offsets.lists(), items.end)?;
            let range = offsets.0.get(items.start..=items.end).unwrap_or_default();
            let values = || range.iter().map(|bytes| i64::from_ne_bytes(*bytes));
            if values().zip(values().skip(1)).any(|(one, next)| one > next)
                || values().next().is_some_and(i64::is_negative)
            {
                return Err(Error::usage("its offsets do not grow"));
            }
            let inner = offsets.get(items.start)..offsets.get(items.end);
            match form {
                Form::List(content) => check_form(content, column, place + 1, inner),
                _ => enough(column.buffer(place + 1).len(), inner.end),
            }
        }
        _ => Err(Error::unsupported(format!("columns of the form {form:?} cannot be written"))),
    }
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
