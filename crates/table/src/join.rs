//! Joins the columns of windows to those of a range.

use rayon::prelude::*;
use sapwood_core::{Buffer, Column, Form, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The number of a column, and its parts.
type ColumnParts = (usize, Vec<Column>);

/// Joins the columns of consecutive windows on all threads of the current pool. Columns that share their offsets in every
/// window share them in the result. Where a form depends on the data, it may differ between windows.
pub(crate) fn join(mut parts: Vec<Vec<Column>>) -> Result<Vec<Column>> {
    if parts.len() == 1 {
        return Ok(parts.pop().unwrap_or_default());
    }
    let groups = by_offsets(parts).into_par_iter().map(|mut group| {
        let others = group.split_off(1.min(group.len()));
        let mut joined =
            group.into_iter().map(|parts| join_parts(parts, None)).collect::<Result<Vec<_>>>()?;
        let offsets = joined.first().and_then(|(_, column)| offsets(column).cloned());
        let others = others.into_par_iter().map(|parts| join_parts(parts, offsets.as_ref()));
        joined.extend(others.collect::<Result<Vec<_>>>()?);
        Ok(joined)
    });
    let groups = groups.collect::<Result<Vec<_>>>()?;
    let mut joined: Vec<_> = groups.into_iter().flatten().collect();
    joined.sort_unstable_by_key(|(number, _)| *number);
    Ok(joined.into_iter().map(|(_, column)| column).collect())
}

/// The parts of each column, grouped by columns that share their offsets in every part.
fn by_offsets(parts: Vec<Vec<Column>>) -> Vec<Vec<ColumnParts>> {
    let count = parts.first().map_or(0, Vec::len);
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut groups: Vec<Vec<ColumnParts>> = Vec::new();
    let mut group_of: HashMap<Vec<*const Buffer>, usize> = HashMap::new();
    for number in 0..count {
        let columns: Vec<Column> = parts.iter_mut().filter_map(Iterator::next).collect();
        let heads = columns.iter().filter_map(offsets).map(Arc::as_ptr).collect::<Vec<_>>();
        match heads.len() == columns.len() {
            true => {
                let place = *group_of.entry(heads).or_insert(groups.len());
                if place == groups.len() {
                    groups.push(Vec::new());
                }
                groups[place].push((number, columns));
            }
            false => groups.push(vec![(number, columns)]),
        }
    }
    groups
}

/// Joins the parts of a column. It gets the `shared` offsets, if any, in place of its own.
fn join_parts((number, parts): ColumnParts, shared: Option<&Arc<Buffer>>) -> Result<(usize, Column)> {
    let mut column = Column::concat(parts)?;
    if let (Some(shared), Some(_)) = (shared, offsets(&column)) {
        column.buffers[0] = Arc::clone(shared);
    }
    Ok((number, column))
}

fn offsets(column: &Column) -> Option<&Arc<Buffer>> {
    column.buffers.first().filter(|_| matches!(column.form, Form::List(_)))
}
