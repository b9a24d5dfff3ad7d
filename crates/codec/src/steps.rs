//! Offset tables as differences: the lengths of the entries are stored.
//!
//! Most lengths are small, and few are distinct: a code of their own suits them, and they take half the bytes
//! of [`crate::table`], whose frames ROOT must be able to read. These are for stripes of datasets
//! (docs/specs/stripe.md, "Baskets").

use crate::planes;
use sapwood_core::{Error, ErrorKind, Result};
use xxhash_rust::xxh64::xxh64;
use zstd_safe::CCtx;

/// Bytes of an offset.
pub(crate) const WIDTH: usize = 4;
/// Bytes of the checksum before the frames: the lower half of the XXH64, seed 0, of the table.
const CHECKSUM_LEN: usize = 4;

/// Compresses a table, or a part of one; returns the length of the block, `None` if it does not fit.
pub(crate) fn compress(
    context: &mut CCtx<'static>,
    table: &[u8],
    room: &mut Vec<u8>,
    stream: &mut [u8],
) -> Option<usize> {
    let (words, left) = table.as_chunks::<WIDTH>();
    let mut before = 0;
    let mut steps = Vec::with_capacity(table.len());
    for word in words {
        let offset = u32::from_be_bytes(*word);
        steps.extend(offset.wrapping_sub(before).to_be_bytes());
        before = offset;
    }
    steps.extend_from_slice(left);
    let (sum, frames) = stream.split_first_chunk_mut::<CHECKSUM_LEN>()?;
    *sum = checksum(table);
    Some(CHECKSUM_LEN + planes::compress(context, &steps, WIDTH, room, frames)?)
}

/// The frames of a block, behind its checksum.
pub(crate) fn frames(block: &[u8]) -> Result<&[u8]> {
    let frames = block.get(CHECKSUM_LEN..);
    frames.ok_or_else(|| Error::corrupt("a table of offsets ends within its checksum"))
}

/// Reconstructs offsets from the steps in the frames of a block.
///
/// # Errors
/// `Checksum` if they are not the offsets that were compressed.
pub(crate) fn add_up(block: &[u8], steps: &mut [u8]) -> Result<()> {
    let mut offset = 0_u32;
    for step in steps.as_chunks_mut::<WIDTH>().0 {
        offset = offset.wrapping_add(u32::from_be_bytes(*step));
        *step = offset.to_be_bytes();
    }
    if holds(block, steps) {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Checksum, "a table of offsets does not match its checksum"))
}

/// True if the checksum of a block confirms that it holds this table.
pub(crate) fn holds(block: &[u8], table: &[u8]) -> bool {
    block.first_chunk() == Some(&checksum(table))
}

fn checksum(table: &[u8]) -> [u8; CHECKSUM_LEN] {
    let [c0, c1, c2, c3, ..] = xxh64(table, 0).to_le_bytes();
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_takes_what_lengths_take() {
        let lengths = (0..5000_u32).map(|n| n.wrapping_mul(2_654_435_761) >> 8).map(|n| (n & n >> 8) % 4 * 4);
        let offsets = lengths.scan(90_u32, |offset, length| {
            *offset += length;
            Some(*offset)
        });
        let table: Vec<u8> =
            [5001].into_iter().chain(offsets).chain([0]).flat_map(u32::to_be_bytes).collect();
        let (mut context, mut room, mut block) = (CCtx::create(), Vec::new(), vec![0; table.len()]);
        let len = compress(&mut context, &table, &mut room, &mut block).unwrap();
        // Two bits per entry, and little more.
        assert!(len < 1500, "{len}");
        let block = &block[..len];
        assert!(holds(block, &table) && !holds(block, &table[4..]) && !holds(&[], &table));
        frames(&block[..3]).unwrap_err();
        let mut steps: Vec<u8> = table.clone();
        assert_eq!(add_up(block, &mut steps).unwrap_err().kind(), ErrorKind::Checksum);
    }
}
