//! xz streams, through liblzma.

use liblzma_sys::{
    LZMA_FORMAT_ERROR, LZMA_MEM_ERROR, LZMA_MEMLIMIT_ERROR, LZMA_OK, lzma_stream_buffer_decode,
};
use sapwood_core::{Error, ErrorKind, Result};
use std::ptr;

/// Memory that one stream may ask for: twice what the largest preset, with its window of 64 MiB, needs.
const MEMORY_LIMIT: u64 = 128 << 20;

/// Decompresses what follows the header of an `XZ` block; returns the number of bytes written.
///
/// The stream's own check (ROOT writes a CRC-32) is verified.
#[expect(unsafe_code, reason = "the C library decodes 1.4 times faster than the best safe one")]
pub(crate) fn decompress(data: &[u8], out: &mut [u8]) -> Result<usize> {
    let mut memory_limit = MEMORY_LIMIT;
    let (mut read, mut written) = (0, 0);
    // SAFETY: both buffers are valid for the lengths given with them; the positions start at 0 and stay
    // within those lengths; a null allocator means malloc and free; nothing is kept after the call.
    let status = unsafe {
        lzma_stream_buffer_decode(
            &raw mut memory_limit,
            0,
            ptr::null(),
            data.as_ptr(),
            &raw mut read,
            data.len(),
            out.as_mut_ptr(),
            &raw mut written,
            out.len(),
        )
    };
    match status {
        LZMA_OK => Ok(written),
        LZMA_MEMLIMIT_ERROR => Err(Error::new(
            ErrorKind::Limit,
            format!("an LZMA stream asks for {memory_limit} bytes of memory, {MEMORY_LIMIT} are allowed"),
        )),
        LZMA_MEM_ERROR => Err(Error::new(ErrorKind::Limit, "there is no memory left for an LZMA stream")),
        LZMA_FORMAT_ERROR => Err(Error::corrupt("an LZMA block does not hold an xz stream")),
        _ => Err(Error::corrupt("an xz stream is damaged")),
    }
}
