//! Direct calls of the libraries, with reused contexts.

use crate::Result;
use std::ptr;

pub struct Decompressor {
    deflate: libdeflater::Decompressor,
    zstd: zstd_safe::DCtx<'static>,
}

impl Default for Decompressor {
    fn default() -> Self {
        Decompressor { deflate: libdeflater::Decompressor::new(), zstd: zstd_safe::DCtx::create() }
    }
}

impl Decompressor {
    /// Decompresses the blocks of `payload`, which fill `out`.
    pub fn decompress(&mut self, mut payload: &[u8], mut out: &mut [u8]) -> Result<()> {
        while !out.is_empty() {
            let size =
                |at: usize| u32::from_le_bytes([payload[at], payload[at + 1], payload[at + 2], 0]) as usize;
            let (tag, compressed, uncompressed) = (&payload[..2], size(3), size(6));
            let (block, after) = payload[9..].split_at(compressed);
            let (target, rest) = out.split_at_mut(uncompressed);
            let written = match tag {
                b"ZL" => self.deflate.zlib_decompress(block, target)?,
                b"ZS" => self.zstd.decompress(target, block).map_err(zstd_safe::get_error_name)?,
                b"L4" => lz4(&block[8..], target),
                b"XZ" => lzma(block, target),
                _ => return Err("an unknown tag".into()),
            };
            if written != uncompressed {
                return Err("a block has another length than it says".into());
            }
            (payload, out) = (after, rest);
        }
        Ok(())
    }
}

fn lz4(block: &[u8], out: &mut [u8]) -> usize {
    // SAFETY: both pointers are valid for the lengths given with them, which are below 16 MiB.
    let written = unsafe {
        lz4_sys::LZ4_decompress_safe(
            block.as_ptr().cast(),
            out.as_mut_ptr().cast(),
            block.len() as i32,
            out.len() as i32,
        )
    };
    usize::try_from(written).unwrap_or(0)
}

fn lzma(block: &[u8], out: &mut [u8]) -> usize {
    let mut memory_limit = u64::MAX;
    let (mut read, mut written) = (0, 0);
    // SAFETY: both buffers are valid for the lengths given with them, the positions start at 0.
    unsafe {
        liblzma_sys::lzma_stream_buffer_decode(
            &raw mut memory_limit,
            liblzma_sys::LZMA_IGNORE_CHECK,
            ptr::null(),
            block.as_ptr(),
            &raw mut read,
            block.len(),
            out.as_mut_ptr(),
            &raw mut written,
            out.len(),
        );
    }
    written
}
