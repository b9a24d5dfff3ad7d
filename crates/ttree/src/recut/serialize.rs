//! Values to entries: the inverse of decoding a column.

use super::Entries;
use super::references::Tags;
use crate::decode::Layout;
use crate::write::put_numbers;
use sapwood_core::{Column, Primitive};
use sapwood_streamer::StoredNumber;
use sapwood_tfile::BYTE_COUNT_MASK;
use std::ops::Range;

/// Bytes before the items of a vector: byte count, version, number of items.
const VECTOR_HEADER: usize = 10;

/// The entries of a column as bytes. `like` are the baskets that it was decoded from, with the ranges of its
/// entries: they provide the frames of the values (flags, versions) and the original offsets.
///
/// `None` if this layout cannot be written: only numbers with the same type on file and in memory can, any
/// number of them per entry.
///
/// ```
/// use sapwood_core::{Buffer, Column, Form, Primitive};
/// use sapwood_ttree::{Layout, serialized};
/// let column = Column { form: Form::Primitive(Primitive::I16), length: 0, buffers: vec![Buffer::zeroed(0).into()] };
/// let layout = Layout::Fixed { number: sapwood_streamer::StoredNumber::Plain(Primitive::I16), values: 1 };
/// assert!(serialized(&layout, &column, &[]).is_some_and(|entries| entries.is_empty()));
/// ```
pub fn serialized(layout: &Layout, column: &Column, like: &[(&Entries, Range<usize>)]) -> Option<Entries> {
    let origins: Vec<u32> =
        like.iter().flat_map(|(entries, range)| entries.origins(range.clone())).copied().collect();
    if origins.len() != column.length {
        return None;
    }
    let (mut data, mut starts) = (Vec::new(), Vec::new());
    match layout {
        Layout::Fixed { number: StoredNumber::Plain(primitive), values } => {
            let size = u32::try_from(primitive.size().checked_mul(*values)?).ok()?;
            put_numbers(&mut data, column.buffers.first()?.as_bytes(), *primitive);
            let entries = u32::try_from(column.length).ok()?;
            starts.extend((0..=entries).map(|entry| entry.saturating_mul(size)));
        }
        Layout::Jagged { number: StoredNumber::Plain(primitive), values, header } => {
            put_lists((&mut data, &mut starts), (*primitive, *values), *header, column, like)?;
        }
        _ => return None,
    }
    let whole = starts.last().is_some_and(|&end| end as usize == data.len());
    whole.then(|| Entries { data: data.into(), starts, origins, tags: Tags::default() })
}

/// Appends entries that consist of a header and items.
fn put_lists(
    (data, starts): (&mut Vec<u8>, &mut Vec<u32>),
    (primitive, values): (Primitive, usize),
    header: usize,
    column: &Column,
    like: &[(&Entries, Range<usize>)],
) -> Option<()> {
    let [offsets, items] = column.buffers.as_slice() else { return None };
    let (offsets, items) = (offsets.view::<i64>(), items.as_bytes());
    let size = primitive.size().checked_mul(values)?;
    let frames = like.iter().flat_map(|(entries, range)| range.clone().map(|index| entries.entry(index)));
    for (frame, bounds) in frames.zip(offsets.windows(2)) {
        let &[from, to] = bounds else { return None };
        let start = data.len();
        starts.push(u32::try_from(start).ok()?);
        // An entry without items may lack a header.
        data.extend_from_slice(frame.get(..header.min(frame.len()))?);
        let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
        put_numbers(data, items.get(from.checked_mul(size)?..to.checked_mul(size)?)?, primitive);
        if header == VECTOR_HEADER && frame.len() >= header {
            let count = u32::try_from(to.checked_sub(from)?).ok()?;
            let len = u32::try_from(data.len() - start - 4).ok()?;
            data.get_mut(start..start + 4)?.copy_from_slice(&(len | BYTE_COUNT_MASK).to_be_bytes());
            data.get_mut(start + 6..start + VECTOR_HEADER)?.copy_from_slice(&count.to_be_bytes());
        }
    }
    starts.push(u32::try_from(data.len()).ok()?);
    Some(())
}
