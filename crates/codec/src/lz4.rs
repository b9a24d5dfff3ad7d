//! LZ4 blocks and the checksum before them, through the C library.

use sapwood_core::{Error, ErrorKind, Result};
use std::ffi::c_int;
use xxhash_rust::xxh64::xxh64;

/// Decompresses the stream after the header of an `L4` block; returns the number of bytes written.
///
/// The first 8 bytes are the big-endian XXH64, seed 0, of the others (root-io-spec Compression §5).
pub(crate) fn decompress(data: &[u8], out: &mut [u8]) -> Result<usize> {
    let Some((checksum, stream)) = data.split_first_chunk::<8>() else {
        return Err(Error::corrupt("an LZ4 block is shorter than its checksum"));
    };
    if xxh64(stream, 0) != u64::from_be_bytes(*checksum) {
        return Err(Error::new(
            ErrorKind::Checksum,
            "the checksum of an LZ4 block does not agree with its data",
        ));
    }
    raw(stream, out).ok_or_else(|| Error::corrupt("an LZ4 stream is damaged"))
}

#[expect(unsafe_code, reason = "the C library decodes 1.5 times faster than the best safe one")]
fn raw(stream: &[u8], out: &mut [u8]) -> Option<usize> {
    let stream_len = c_int::try_from(stream.len()).ok()?;
    let out_len = c_int::try_from(out.len()).ok()?;
    // SAFETY: both pointers are valid for the lengths given with them, which the function neither reads nor
    // writes beyond, whatever the stream holds.
    let written = unsafe {
        lz4_sys::LZ4_decompress_safe(stream.as_ptr().cast(), out.as_mut_ptr().cast(), stream_len, out_len)
    };
    usize::try_from(written).ok()
}

/// Compresses to the stream after the header of an `L4` block, including the checksum; `None` if it does not
/// fit.
///
/// Like ROOT: levels below 4 use the fast compressor, higher ones the thorough one.
pub(crate) fn compress(object: &[u8], level: u8, out: &mut [u8]) -> Option<usize> {
    let (checksum, stream) = out.split_first_chunk_mut::<8>()?;
    let written = raw_compress(object, level, stream)?;
    *checksum = xxh64(stream.get(..written)?, 0).to_be_bytes();
    Some(checksum.len() + written)
}

#[expect(unsafe_code, reason = "the thorough compressor is only in the C library")]
fn raw_compress(object: &[u8], level: u8, out: &mut [u8]) -> Option<usize> {
    let object_len = c_int::try_from(object.len()).ok()?;
    let out_len = c_int::try_from(out.len()).ok()?;
    let (from, to) = (object.as_ptr().cast(), out.as_mut_ptr().cast());
    // SAFETY: both pointers are valid for the lengths given with them, which the functions neither read nor
    // write beyond; they answer 0 if the result does not fit.
    let written = unsafe {
        if level < 4 {
            lz4_sys::LZ4_compress_default(from, to, object_len, out_len)
        } else {
            lz4_sys::LZ4_compress_HC(from, to, object_len, out_len, c_int::from(level))
        }
    };
    usize::try_from(written).ok().filter(|&written| written > 0)
}
