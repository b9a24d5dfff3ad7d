//! Pages that get another compression, and stay encoded as they are.

use crate::blob::check;
use bytes::Bytes;
use sapwood_codec::{Algorithm, Compression, Search, with_decoder, with_encoder};
use sapwood_core::Result;
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a page from which the search is learned, and the slices that they are taken from.
const SAMPLE: usize = 24_000;
const SLICES: usize = 8;

/// A page of `len` bytes before compression, compressed otherwise, with a checksum.
///
/// # Errors
/// `Corrupt` if the page is damaged; `Limit` if there is not enough memory for the compressor.
pub(super) fn recompressed(stored: &[u8], len: u64, compression: Compression) -> Result<Bytes> {
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let decompressed;
    let page = if stored.len() == len {
        stored
    } else {
        // Memory is taken once it is known that the blocks can fill it.
        check(stored, len)?;
        decompressed = with_decoder(|decoder| decoder.decode_to_vec(stored, len))?;
        &decompressed
    };
    let mut compressed = Vec::new();
    let is_smaller = with_encoder(|encoder| {
        let search = match Search::of_pages(compression) {
            Some(search) => search,
            None if compression.algorithm() == Algorithm::Zstd => {
                encoder.search_for(&sample(page), compression)?
            }
            // To learn it for a single page takes longer than a faster search saves.
            None => Search::default(),
        };
        encoder.compress_basket(search, page, page.len(), compression, &mut compressed)
    })?;
    let mut written = if is_smaller { compressed } else { page.to_vec() };
    written.extend(xxh3_64(&written).to_le_bytes());
    Ok(written.into())
}

/// A part of a page that is like the whole: in most encodings, a page begins with one byte of each of its elements.
fn sample(page: &[u8]) -> Cow<'_, [u8]> {
    if page.len() <= SAMPLE {
        return page.into();
    }
    let slices = page.chunks(page.len().div_ceil(SLICES));
    slices.flat_map(|slice| slice.iter().take(SAMPLE / SLICES)).copied().collect::<Vec<u8>>().into()
}
