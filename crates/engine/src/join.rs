//! Joining the columns of windows to those of a range.

use sapwood_core::{Buffer, Column, Form, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// The columns of consecutive windows, joined. Columns that share their offsets in every window share them
/// in the whole; what only the data tell of a form may differ from window to window.
pub(crate) fn join(mut parts: Vec<Vec<Column>>) -> Result<Vec<Column>> {
    if parts.len() == 1 {
        return Ok(parts.pop().unwrap_or_default());
    }
    let count = parts.first().map_or(0, Vec::len);
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut offsets: HashMap<Vec<*const Buffer>, Arc<Buffer>> = HashMap::new();
    let mut joined = Vec::with_capacity(count);
    // Kept until the end, so that no address is used twice.
    let mut used = Vec::with_capacity(count);
    for _ in 0..count {
        let columns: Vec<Column> = parts.iter_mut().filter_map(Iterator::next).collect();
        let heads: Vec<Arc<Buffer>> =
            columns.iter().filter_map(|column| column.buffers.first()).cloned().collect();
        let mut column = Column::concat(columns)?;
        if let (Form::List(_), Some(own)) = (&column.form, column.buffers.first_mut()) {
            let shared = offsets.entry(heads.iter().map(Arc::as_ptr).collect());
            *own = Arc::clone(shared.or_insert_with(|| Arc::clone(own)));
            used.extend(heads);
        }
        joined.push(column);
    }
    Ok(joined)
}
