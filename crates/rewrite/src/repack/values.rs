//! Reads the chosen entries of a table to write them elsewhere, piece by piece.

use super::inputs::Inputs;
use super::options::RepackOptions;
use super::output::OutputFile;
use super::plan::TreePlan;
use crate::new_table::NewTable;
use sapwood_core::{Call, Column, Error, Form, Result};
use sapwood_table::pool::{compute, computing};
use sapwood_table::write::ColumnView;
use sapwood_table::{ColumnContent, ColumnSchema, EntryRead, Scan, Table, read};
use std::ops::Range;
use std::sync::Arc;

/// Entries that are read to learn how large an entry is.
const SAMPLE: u64 = 1000;
/// Bytes of arrays that are read at once.
const STEP: u64 = 64_000_000;

/// What is done with the columns of a piece, and its number of entries.
pub(super) type UseColumns<'u> = dyn FnMut(&[Column], usize, &mut Call<'_>) -> Result<()> + 'u;

/// Entries that are read at once: sorted ranges.
type Piece = Vec<Range<u64>>;

/// What takes the columns of a new table.
pub(super) type TakeViews<'t> = dyn FnMut(&[ColumnView<'_>]) -> Result<()> + 't;

/// Hands over the columns of a new table that those of another one make.
pub(super) type Views<'v> = dyn Fn(&[Column], &mut TakeViews<'_>) -> Result<()> + 'v;

/// Writes the chosen entries of all inputs of a table in another format; the number of entries. The columns that are read
/// have these names and forms, and `views` makes those of the `target`.
pub(super) fn convert(
    tree: &TreePlan,
    (columns, views): (&[(String, Form)], &Views<'_>),
    mut target: NewTable,
    inputs: &mut Inputs<'_>,
    output: &mut OutputFile,
    options: &RepackOptions,
    call: &mut Call<'_>,
) -> Result<u64> {
    let selection = options.selections.iter().find(|selection| selection.tree == tree.path);
    let ranges = selection.and_then(|selection| selection.entries.as_ref());
    let pool = computing(options.threads)?;
    for position in 0..tree.inputs.len() {
        let (table, entries) = tree.table(position, inputs, call)?;
        let table = table.table();
        let chosen: Vec<Range<u64>> = tree.chosen(position, ranges).within(0..entries).collect();
        let mut write = |columns: &[Column], entries: usize, call: &mut Call<'_>| {
            views(columns, &mut |views| {
                target.check(views, entries)?;
                let (file, sink) = output.both();
                compute(&pool, call, |cancelled| target.extend(views, entries, cancelled, file, sink))
            })
        };
        columns_of(&table, columns)
            .and_then(|columns| for_each_piece(&table, &columns, &chosen, options.threads, call, &mut write))
            .map_err(|error| error.url(table.url()))?;
    }
    let (file, sink) = output.both();
    compute(&pool, call, |_| target.end(file, sink))?;
    Ok(target.entries())
}

/// The wanted columns of a table, by their indices.
pub(super) fn schemas<'t>(table: &'t dyn Table, wanted: &[bool]) -> Vec<(usize, ColumnSchema<'t>)> {
    let is_wanted = |column: &usize| wanted.get(*column).copied().unwrap_or(true);
    let columns = (0..table.column_count()).filter(is_wanted);
    columns.filter_map(|column| Some((column, table.schema(column)?))).collect()
}

/// The columns of a table with these names, which must have these forms.
///
/// # Errors
/// `Unsupported` if one has another form.
fn columns_of(table: &Arc<dyn Table>, wanted: &[(String, Form)]) -> Result<Vec<usize>> {
    let find = |(name, form): &(String, Form)| {
        let mut columns =
            (0..table.column_count()).filter_map(|column| Some((column, table.schema(column)?)));
        let found = columns.find(|(_, schema)| schema.name == name);
        match found.map(|(column, schema)| (column, schema.content)) {
            Some((column, ColumnContent::Values(own))) if own == form => Ok(column),
            _ => Err(Error::unsupported("it has another type in other files").branch(name)),
        }
    };
    wanted.iter().map(find).collect()
}

/// Reads the `chosen` entries of columns in pieces, and hands over each; the next one is read in the background.
///
/// # Errors
/// Those of reading, and of `work`.
pub(super) fn for_each_piece(
    table: &Arc<dyn Table>,
    columns: &[usize],
    chosen: &[Range<u64>],
    threads: Option<usize>,
    call: &mut Call<'_>,
    work: &mut UseColumns<'_>,
) -> Result<()> {
    let Some(first) = chosen.first() else { return Ok(()) };
    let sample = first.start..first.end.min(first.start + SAMPLE);
    let sampled = read(table, columns, sample.clone(), threads, call)?;
    let bytes: usize = sampled.iter().map(Column::byte_count).sum();
    let step = (STEP * (sample.end - sample.start) / bytes.max(1) as u64).max(1);
    drop(sampled);
    let pieces = pieces(chosen, step);
    let whole: Option<Vec<Range<u64>>> = pieces.iter().map(only).collect();
    if let Some(ranges) = whole {
        let mut scan = Scan::new(Arc::clone(table), columns, ranges.clone(), threads, call)?;
        for range in ranges {
            let found = scan.next(call).unwrap_or_else(|| Ok(Vec::new()))?;
            work(&found, entries(&[range]), call)?;
        }
        return Ok(());
    }
    let start = |piece: &Piece, call: &mut Call<'_>| {
        let list: Vec<u64> = piece.iter().cloned().flatten().collect();
        let within = piece.first().map_or(0, |first| first.start)..piece.last().map_or(0, |last| last.end);
        EntryRead::start(Arc::clone(table), columns, &list, within, threads, call)
    };
    let mut next = pieces.first().map(|piece| start(piece, call)).transpose()?;
    for (number, piece) in pieces.iter().enumerate() {
        let Some(now) = next.take() else { break };
        next = pieces.get(number + 1).map(|piece| start(piece, call)).transpose()?;
        work(&now.finish(call)?, entries(piece), call)?;
    }
    Ok(())
}

/// The ranges in pieces of at most `step` entries.
fn pieces(chosen: &[Range<u64>], step: u64) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut room = 0;
    for range in chosen {
        let mut start = range.start;
        while start < range.end {
            if room == 0 {
                pieces.push(Vec::new());
                room = step;
            }
            let end = range.end.min(start.saturating_add(room));
            if let Some(piece) = pieces.last_mut() {
                piece.push(start..end);
            }
            room -= end - start;
            start = end;
        }
    }
    pieces
}

fn only(piece: &Piece) -> Option<Range<u64>> {
    match piece.as_slice() {
        [range] => Some(range.clone()),
        _ => None,
    }
}

fn entries(piece: &[Range<u64>]) -> usize {
    let entries: u64 = piece.iter().map(|range| range.end - range.start).sum();
    usize::try_from(entries).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_divided_and_joined_to_pieces() {
        let found = pieces(&[0..2, 4..10, 20..21, 30..31], 3);
        assert_eq!(format!("{found:?}"), "[[0..2, 4..5], [5..8], [8..10, 20..21], [30..31]]");
        assert_eq!(pieces(&[0..2, 4..10], u64::MAX), [[0..2, 4..10]]);
        assert!(pieces(&[], 3).is_empty());
    }
}
