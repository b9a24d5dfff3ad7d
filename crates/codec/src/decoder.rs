//! Decompresses payloads to objects.

use crate::Algorithm;
use crate::block::{Block, BlockEncoding, blocks, uncompressed_len};
use crate::{lz4, lzma, planes, steps, table};
use libdeflater::Decompressor;
use sapwood_core::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::fmt;
use zstd_safe::DCtx;

/// Decompresses payloads; reuses the contexts of the libraries.
///
/// A new decoder is free: contexts are created when first needed. A decoder is for one thread at a time;
/// [`with_decoder`] keeps one per thread.
///
/// ```
/// use sapwood_codec::Decoder;
/// // As writers before 5.11 stored it: raw deflate behind the tag CS.
/// let payload = b"CS\x08\x0a\x00\x00\x64\x00\x00\x0b\xf2\xf7\x0f\x51\x08\xa2\x2d\x01\x00";
/// let mut object = [0; 100];
/// Decoder::default().decode(payload, &mut object)?;
/// assert_eq!(object, *b"ROOT ".repeat(20));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Default)]
pub struct Decoder {
    deflate: Option<Decompressor>,
    zstd: Option<DCtx<'static>>,
    /// Scratch memory for planes.
    room: Vec<u8>,
}

/// Most bytes of planes for which memory is kept: more than in blocks that sapwood writes.
const KEPT: usize = 1 << 20;

impl Decoder {
    /// Decompresses `payload`, one block or several, into `out`, whose length is that of the object (fObjlen).
    ///
    /// Bytes after the block that fills `out` are ignored, as ROOT does. Offsets in errors count from the start
    /// of the payload.
    ///
    /// # Errors
    /// `Corrupt` if a block is damaged or implausible, or the blocks yield more or less than `out` holds;
    /// `Checksum` if an LZ4 or Zstandard block does not match its checksum; `Limit` if an LZMA stream
    /// requests more than 128 MiB of memory. The contents of `out` are then meaningless.
    pub fn decode(&mut self, payload: &[u8], out: &mut [u8]) -> Result<()> {
        let mut rest = out;
        for block in blocks(payload, rest.len()) {
            let block = block?;
            // The iteration yields no block that is longer than the missing part.
            let (target, after) =
                std::mem::take(&mut rest).split_at_mut_checked(block.header.uncompressed).ok_or_else(
                    || Error::corrupt("a compression block is too long").at(block.offset as u64),
                )?;
            self.decode_block(block, target)?;
            rest = after;
        }
        Ok(())
    }

    /// As [`decode`](Decoder::decode), for the beginning of an object whose remaining blocks must hold
    /// `rest`, which the caller knows. Returns whether their checksums confirm that; if not, nothing is
    /// decompressed.
    ///
    /// This works for baskets of [`Encoder::compress_basket`](crate::Encoder::compress_basket) with
    /// Zstandard: branches with the same counter have offset tables that follow from each other.
    ///
    /// # Errors
    /// As [`Decoder::decode`].
    pub fn decode_before(&mut self, rest: &[u8], payload: &[u8], out: &mut [u8]) -> Result<bool> {
        let (mut entries, mut rest) = (out.len(), rest);
        for block in blocks(payload, out.len() + rest.len()) {
            let block = block?;
            let len = block.header.uncompressed;
            if let Some(left) = entries.checked_sub(len) {
                entries = left;
                continue;
            }
            let known = if entries == 0 { rest.split_at_checked(len) } else { None };
            match known {
                Some((known, after)) if is_known(&block, known) => rest = after,
                _ => return Ok(false),
            }
        }
        self.decode(payload, out)?;
        Ok(true)
    }

    /// Decompresses `payload` into new memory of `object_len` bytes.
    ///
    /// Memory is allocated only after a check that the blocks can yield that length.
    ///
    /// # Errors
    /// As [`Decoder::decode`]; `Limit` if there is not enough memory.
    pub fn decode_to_vec(&mut self, payload: &[u8], object_len: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.decode_over(payload, object_len, &mut out)?;
        Ok(out)
    }

    /// As [`decode_to_vec`](Decoder::decode_to_vec), over the first bytes of `out`, whose memory is used again. `out`
    /// grows block by block where it is shorter, so that a damaged block ends it early. Returns the object's length.
    ///
    /// # Errors
    /// As [`decode_to_vec`](Decoder::decode_to_vec).
    pub fn decode_over(&mut self, payload: &[u8], object_len: usize, out: &mut Vec<u8>) -> Result<usize> {
        let len = uncompressed_len(payload, object_len)?;
        out.try_reserve_exact(len.saturating_sub(out.len())).map_err(|error| {
            Error::new(ErrorKind::Limit, format!("not enough memory for an object of {object_len} bytes"))
                .caused_by(error)
        })?;
        let mut start = 0;
        for block in blocks(payload, object_len) {
            let block = block?;
            let end = start + block.header.uncompressed;
            out.resize(end.max(out.len()), 0);
            self.decode_block(block, out.get_mut(start..end).unwrap_or_default())?;
            start = end;
        }
        Ok(len)
    }

    /// Decompresses one block; `out` has the length that its header states.
    fn decode_block(&mut self, block: Block<'_>, out: &mut [u8]) -> Result<()> {
        let algorithm = block.header.algorithm;
        let written = match algorithm {
            Algorithm::Zlib => self.deflate().zlib_decompress(block.data, out).map_err(deflate_error),
            Algorithm::OldZlib => self.deflate().deflate_decompress(block.data, out).map_err(deflate_error),
            Algorithm::Lzma => lzma::decompress(block.data, out),
            Algorithm::Lz4 => lz4::decompress(block.data, out),
            Algorithm::Zstd => match block.header.form {
                BlockEncoding::Bytes => self.zstd()?.decompress(out, block.data).map_err(zstd_error),
                BlockEncoding::Planes(width) => self.decompress_planes(block.data, width, out),
                BlockEncoding::Steps => self.decompress_steps(block.data, out),
            },
        };
        match written {
            Ok(written) if written == out.len() => Ok(()),
            Ok(written) => Err(Error::corrupt(format!(
                "a block of {algorithm} has {written} bytes; its header states {}",
                out.len()
            ))),
            Err(error) => Err(error),
        }
        .map_err(|error| error.at(block.offset as u64))
    }

    /// Decompresses numbers stored as planes; returns how many bytes the planes have.
    fn decompress_planes(&mut self, frames: &[u8], width: usize, out: &mut [u8]) -> Result<usize> {
        let mut room = std::mem::take(&mut self.room);
        if room.len() < out.len() {
            room.resize(out.len(), 0);
        }
        let planes = room.get_mut(..out.len()).unwrap_or_default();
        let written = self.zstd()?.decompress(planes, frames).map_err(zstd_error)?;
        if written == out.len() {
            planes::join(planes, width, out);
        }
        if room.len() <= KEPT {
            self.room = room;
        }
        Ok(written)
    }

    /// Decompresses an offset table stored as steps; returns how many bytes the steps have.
    fn decompress_steps(&mut self, block: &[u8], out: &mut [u8]) -> Result<usize> {
        let written = self.decompress_planes(steps::frames(block)?, steps::WIDTH, out)?;
        if written == out.len() {
            steps::add_up(block, out)?;
        }
        Ok(written)
    }

    fn deflate(&mut self) -> &mut Decompressor {
        self.deflate.get_or_insert_with(Decompressor::new)
    }

    /// The context. A frame is decompressed directly into its target, so its window takes no memory, however
    /// large it claims to be.
    fn zstd(&mut self) -> Result<&mut DCtx<'static>> {
        if self.zstd.is_none() {
            self.zstd = DCtx::try_create();
        }
        self.zstd.as_mut().ok_or_else(|| Error::new(ErrorKind::Limit, "not enough memory for Zstandard"))
    }
}

impl fmt::Debug for Decoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoder").finish_non_exhaustive()
    }
}

/// True if the checksum of a block confirms that it holds these bytes.
fn is_known(block: &Block<'_>, bytes: &[u8]) -> bool {
    match (block.header.algorithm, block.header.form) {
        (Algorithm::Zstd, BlockEncoding::Bytes) => table::holds(block.data, bytes),
        (Algorithm::Zstd, BlockEncoding::Steps) => steps::holds(block.data, bytes),
        _ => false,
    }
}

fn deflate_error(error: libdeflater::DecompressionError) -> Error {
    Error::corrupt(match error {
        libdeflater::DecompressionError::BadData => "a deflate stream is damaged",
        libdeflater::DecompressionError::InsufficientSpace => {
            "a deflate stream has more bytes than its block's header states"
        }
    })
}

fn zstd_error(code: zstd_safe::ErrorCode) -> Error {
    /// `ZSTD_error_checksum_wrong`, as the library's functions return it.
    const CHECKSUM_WRONG: zstd_safe::ErrorCode = 22_usize.wrapping_neg();
    if code == CHECKSUM_WRONG {
        return Error::new(
            ErrorKind::Checksum,
            "the checksum of a Zstandard frame does not agree with its data",
        );
    }
    Error::corrupt(format!("a Zstandard frame is damaged: {}", zstd_safe::get_error_name(code)))
}

/// Calls `work` with the decoder of this thread.
///
/// ```
/// # let (payload, mut object) = (b"CS\x08\x0a\x00\x00\x64\x00\x00\x0b\xf2\xf7\x0f\x51\x08\xa2\x2d\x01\x00", [0; 100]);
/// sapwood_codec::with_decoder(|decoder| decoder.decode(payload, &mut object))?;
/// # Ok::<(), sapwood_core::Error>(())
/// ```
pub fn with_decoder<R>(work: impl FnOnce(&mut Decoder) -> R) -> R {
    thread_local! {
        static DECODER: RefCell<Decoder> = RefCell::default();
    }
    DECODER.with(|decoder| match decoder.try_borrow_mut() {
        Ok(mut decoder) => work(&mut decoder),
        // Only if `work` itself calls this function.
        Err(_) => work(&mut Decoder::default()),
    })
}
