//! From raw baskets to a column: each basket is decompressed and decoded straight into its place in the output.

mod fixed;
mod input;
mod jagged;
mod layout;
mod slice;
mod streamed;

pub use input::{BasketBytes, Counts};
pub use layout::{Interpretation, Layout};

use sapwood_core::{Buffer, Column, Counters, Result};
use slice::BasketSlice;
use std::ops::Range;
use std::sync::Arc;

/// Decodes the entries `entries` of a branch, on the threads of the current pool.
///
/// `baskets` are the baskets that hold these entries, in order; together they must hold all of them. `likely`
/// are the offsets of another column that is expected to have lists of the same lengths, because the same
/// branch counts them: if that is the case, the column shares them. The time spent is added to `counters`.
///
/// # Errors
/// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the byte offset in the file.
pub fn decode(
    interpretation: &Interpretation,
    baskets: &[BasketBytes<'_>],
    entries: Range<u64>,
    counts: Option<Counts<'_>>,
    likely: Option<&Arc<Buffer>>,
    counters: &Counters,
) -> Result<Column> {
    let first = entries.start;
    let slices = BasketSlice::cut(baskets, entries, counts, counters)?;
    let length = slices.iter().map(BasketSlice::len).sum();
    let buffers = match &interpretation.layout {
        Layout::Fixed { number, values } => vec![Arc::new(fixed::decode(*number, *values, &slices)?)],
        Layout::Jagged { number, values, header } => {
            jagged::decode(jagged::ItemLayout::new(*number, *values, *header), &slices, likely)?
        }
        Layout::Program(program) => return streamed::decode(program, &slices, first, counts, counters),
    };
    Ok(Column { form: interpretation.form.clone(), length, buffers })
}
