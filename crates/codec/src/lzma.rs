//! xz streams, through liblzma.

use liblzma_sys::{
    LZMA_BUF_ERROR, LZMA_CHECK_CRC32, LZMA_DICT_SIZE_MIN, LZMA_FILTER_LZMA2, LZMA_FORMAT_ERROR,
    LZMA_MEM_ERROR, LZMA_MEMLIMIT_ERROR, LZMA_OK, LZMA_VLI_UNKNOWN, lzma_filter, lzma_lzma_preset,
    lzma_options_lzma, lzma_stream_buffer_decode, lzma_stream_buffer_encode,
};
use sapwood_core::{Error, ErrorKind, Result};
use std::mem::MaybeUninit;
use std::ptr;

/// Memory that one stream may request: twice what the largest preset, with its window of 64 MiB, needs.
const MEMORY_LIMIT: u64 = 128 << 20;

/// Decompresses the stream after the header of an `XZ` block; returns the number of bytes written.
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
            format!("an LZMA stream requires {memory_limit} bytes of memory; the limit is {MEMORY_LIMIT}"),
        )),
        LZMA_MEM_ERROR => Err(Error::new(ErrorKind::Limit, "not enough memory for an LZMA stream")),
        LZMA_FORMAT_ERROR => Err(Error::corrupt("an LZMA block does not hold an xz stream")),
        _ => Err(Error::corrupt("an xz stream is damaged")),
    }
}

/// Compresses to the stream after the header of an `XZ` block: an xz stream with a CRC-32; `None` if it does
/// not fit.
///
/// Like ROOT: liblzma's preset for the level, but with a window of at most a quarter of the object.
#[expect(unsafe_code, reason = "there is no safe encoder of LZMA2 with these settings")]
pub(crate) fn compress(object: &[u8], level: u8, out: &mut [u8]) -> Result<Option<usize>> {
    let mut options = MaybeUninit::<lzma_options_lzma>::zeroed();
    // SAFETY: the pointer is valid; all fields of the structure may be zero, and the call sets those of use.
    let (refused, mut options) =
        unsafe { (lzma_lzma_preset(options.as_mut_ptr(), u32::from(level)), options.assume_init()) };
    if refused != 0 {
        return Err(Error::unsupported(format!("unknown level of liblzma: {level}")));
    }
    let window = u32::try_from(object.len() / 4).unwrap_or(u32::MAX);
    options.dict_size = options.dict_size.min(window.max(LZMA_DICT_SIZE_MIN));
    let mut filters = [
        lzma_filter { id: LZMA_FILTER_LZMA2, options: (&raw mut options).cast() },
        lzma_filter { id: LZMA_VLI_UNKNOWN, options: ptr::null_mut() },
    ];
    let mut written = 0;
    // SAFETY: the filters end with the unknown one, and the options live until the call returns; both buffers
    // are valid for the lengths given with them; a null allocator means malloc and free; nothing is kept.
    let status = unsafe {
        lzma_stream_buffer_encode(
            filters.as_mut_ptr(),
            LZMA_CHECK_CRC32,
            ptr::null(),
            object.as_ptr(),
            object.len(),
            out.as_mut_ptr(),
            &raw mut written,
            out.len(),
        )
    };
    match status {
        LZMA_OK => Ok(Some(written)),
        LZMA_BUF_ERROR => Ok(None),
        LZMA_MEM_ERROR => Err(Error::new(ErrorKind::Limit, "not enough memory for LZMA")),
        status => Err(Error::unsupported(format!("liblzma failed to compress with code {status}"))),
    }
}
