//! The pages of a [`PagedTable`](super::PagedTable): their bytes are stored as they are, or as pairs of a count and a byte,
//! with a checksum behind.

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use std::ops::Range;

/// Where a page is.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) range: ByteRange,
    /// Its elements, counted from the first of the cluster.
    pub(super) elements: Range<u64>,
}

/// The stored bytes of a page.
pub(super) fn compressed(page: &[u8]) -> Vec<u8> {
    let mut pairs: Vec<[u8; 2]> = Vec::new();
    for byte in page {
        match pairs.last_mut() {
            Some([count, last]) if last == byte && *count < u8::MAX => *count += 1,
            _ => pairs.push([1, *byte]),
        }
    }
    let pairs = pairs.concat();
    let mut bytes = if pairs.len() < page.len() { pairs } else { page.to_vec() };
    bytes.extend(fnv(&bytes).to_le_bytes());
    bytes
}

/// The bytes of a page, which are `len`.
pub(super) fn uncompressed(stored: &Bytes, len: u64) -> Result<Bytes> {
    let Some((payload, checksum)) = stored.split_last_chunk::<8>() else {
        return Err(Error::new(ErrorKind::Truncated, "a page is too short"));
    };
    if fnv(payload) != u64::from_le_bytes(*checksum) {
        return Err(Error::new(ErrorKind::Checksum, "the checksum of a page does not match"));
    }
    let bytes = match payload.len() as u64 == len {
        true => stored.slice(..payload.len()),
        false => payload.chunks_exact(2).flat_map(|pair| [pair[1]].repeat(pair[0].into())).collect(),
    };
    match bytes.len() as u64 == len {
        true => Ok(bytes),
        false => Err(Error::corrupt("a page has another length than its list says")),
    }
}

/// FNV-1a, which sees every change of a single byte.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
