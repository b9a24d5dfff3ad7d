//! Entries of one size: a number, or a fixed array of numbers.

use super::slice::BasketSlice;
use rayon::prelude::*;
use sapwood_core::{Buffer, Error, Result};
use sapwood_streamer::StoredNumber;

/// The values of all slices, one buffer.
pub(super) fn decode(number: StoredNumber, values: usize, slices: &[BasketSlice<'_>]) -> Result<Buffer> {
    let stride = number.size_on_file().saturating_mul(values);
    for slice in slices {
        check(slice, stride)?;
    }
    let place_len = |slice: &BasketSlice<'_>| slice.len() * values * number.size();
    let mut buffer = Buffer::zeroed(slices.iter().map(place_len).sum());
    let mut work = Vec::with_capacity(slices.len());
    let mut rest = buffer.as_bytes_mut();
    for slice in slices {
        let (place, after) = rest.split_at_mut(place_len(slice));
        work.push((slice, place));
        rest = after;
    }
    work.into_par_iter().try_for_each(|(slice, place)| decode_slice(number, stride, slice, place))?;
    Ok(buffer)
}

/// Entries may have a redundant offset table (some writers other than ROOT write one), but must have the size
/// of the type. This is checked before memory is allocated.
fn check(slice: &BasketSlice<'_>, stride: usize) -> Result<()> {
    let header = &slice.header;
    if header.entries.checked_mul(stride) == Some(header.data_len) {
        return Ok(());
    }
    Err(slice.placed(Error::corrupt(format!(
        "a basket has {} bytes for {} entries of {stride} bytes",
        header.data_len, header.entries
    ))))
}

fn decode_slice(
    number: StoredNumber,
    stride: usize,
    slice: &BasketSlice<'_>,
    place: &mut [u8],
) -> Result<()> {
    if number.keeps_size() && slice.decompress_whole(place, |place| number.decode_in_place(place))? {
        return Ok(());
    }
    slice.with_content(|content| {
        let bytes = content
            .data
            .get(slice.wanted.start * stride..slice.wanted.end * stride)
            .ok_or_else(|| Error::corrupt("a basket has fewer entries than its header states"))?;
        number.decode(bytes, place);
        Ok(())
    })
}
