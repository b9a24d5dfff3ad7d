//! From the bytes of an object to a compressed payload.

use crate::block::HEADER_LEN;
use crate::{Algorithm, Compression, lz4, lzma};
use libdeflater::{CompressionLvl, Compressor};
use sapwood_core::{Error, ErrorKind, Result};
use std::cell::RefCell;
use std::fmt;
use zstd_safe::{CCtx, CParameter, ResetDirective, Strategy};

/// Bytes of an object that go into one block, at most: what 24 bits can say (root-io-spec Compression §7).
pub const BLOCK_MAX: usize = 0xFF_FFFF;

/// Compresses payloads; reuses the libraries' contexts from one to the next.
///
/// A new encoder costs nothing: contexts are made when first needed. One encoder serves one thread at a time;
/// [`with_encoder`] keeps one for each.
///
/// ```
/// use sapwood_codec::{Compression, Decoder, Encoder};
/// let object = b"ROOT ".repeat(100);
/// let mut payload = Vec::new();
/// assert!(Encoder::default().compress(&object, Compression::default(), &mut payload)?);
/// assert!(payload.len() < object.len());
/// assert_eq!(Decoder::default().decode_to_vec(&payload, object.len())?, object);
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Default)]
pub struct Encoder {
    deflate: Option<(i32, Compressor)>,
    zstd: Option<CCtx<'static>>,
}

impl Encoder {
    /// Appends `object` to `payload` as compressed blocks; true if that made it smaller. If not, nothing is
    /// appended, and the object is to be stored as it is: that is how ROOT's files say "not compressed".
    ///
    /// # Errors
    /// `Limit` if there is no memory for the compressor.
    pub fn compress(
        &mut self,
        object: &[u8],
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = payload.len();
        if compression.is_none() {
            return Ok(false);
        }
        // What comes out must be smaller than what goes in, so there is no need for more room.
        payload.resize(start + object.len().saturating_sub(1), 0);
        let mut end = start;
        for block in object.chunks(BLOCK_MAX) {
            let target = payload.get_mut(end..).unwrap_or_default();
            let target_len = target.len().min(HEADER_LEN + BLOCK_MAX);
            let target = target.get_mut(..target_len).unwrap_or_default();
            match self.block(block, compression, target)? {
                Some(written) => end += written,
                None => {
                    payload.truncate(start);
                    return Ok(false);
                }
            }
        }
        payload.truncate(end);
        Ok(end > start)
    }

    /// Compresses one block with its header; `None` if it does not fit in `target`.
    fn block(&mut self, block: &[u8], compression: Compression, target: &mut [u8]) -> Result<Option<usize>> {
        let Some((header, stream)) = target.split_first_chunk_mut::<HEADER_LEN>() else { return Ok(None) };
        let level = compression.level();
        let algorithm = compression.algorithm();
        let written = match algorithm {
            Algorithm::Zlib => self.deflate(level).zlib_compress(block, stream).ok(),
            Algorithm::OldZlib => self.deflate(level).deflate_compress(block, stream).ok(),
            Algorithm::Lzma => lzma::compress(block, level, stream)?,
            Algorithm::Lz4 => lz4::compress(block, level, stream),
            Algorithm::Zstd => zstd_compress(self.zstd()?, block, level, stream),
        };
        let Some(written) = written.filter(|&written| written <= BLOCK_MAX) else { return Ok(None) };
        let [t0, t1] = algorithm.tag_bytes();
        let ([c0, c1, c2], [u0, u1, u2]) = (size_bytes(written), size_bytes(block.len()));
        *header = [t0, t1, algorithm.method(), c0, c1, c2, u0, u1, u2];
        Ok(Some(HEADER_LEN + written))
    }

    fn deflate(&mut self, level: u8) -> &mut Compressor {
        // The library's first level makes blocks 3 % longer than ROOT's zlib does with its own; the second 0.4 %, in half
        // of zlib's time. Above, blocks are shorter than ROOT's.
        let level = i32::from(level.max(2));
        let fits = self.deflate.take().filter(|(of, _)| *of == level);
        let compressor = fits.unwrap_or_else(|| {
            let level = CompressionLvl::new(level).unwrap_or_default();
            (i32::from(level), Compressor::new(level))
        });
        &mut self.deflate.insert(compressor).1
    }

    fn zstd(&mut self) -> Result<&mut CCtx<'static>> {
        if self.zstd.is_none() {
            self.zstd = CCtx::try_create();
        }
        self.zstd
            .as_mut()
            .ok_or_else(|| Error::new(ErrorKind::Limit, "there is no memory left for Zstandard"))
    }
}

/// The longest block that the library has other ways for, which are of more use there than ours.
const SHORT_BLOCK: usize = 16_384;

/// Compresses a block at one of ROOT's levels; the bytes of the stream, `None` if it does not fit.
///
/// ROOT takes twice its own level for that of the library. Of its levels 4 and 5, the library's 8 and 10, blocks become
/// smaller by 0.6 % than this way, in twice the time: physics data repeat themselves too little for long searches, and
/// hardly ever in fewer than 5 bytes, as what repeats is numbers.
fn zstd_compress(context: &mut CCtx<'static>, block: &[u8], level: u8, stream: &mut [u8]) -> Option<usize> {
    context.reset(ResetDirective::SessionAndParameters).ok()?;
    let level = match level {
        4 | 5 if block.len() <= SHORT_BLOCK => 7,
        4 | 5 => {
            context.set_parameter(CParameter::MinMatch(5)).ok()?;
            context.set_parameter(CParameter::SearchLog(4)).ok()?;
            context.set_parameter(CParameter::Strategy(Strategy::ZSTD_lazy)).ok()?;
            7
        }
        _ => 2 * i32::from(level),
    };
    context.set_parameter(CParameter::CompressionLevel(level)).ok()?;
    context.compress2(stream, block).ok()
}

/// A 24-bit little-endian size (root-io-spec Compression §4).
fn size_bytes(size: usize) -> [u8; 3] {
    let [low, middle, high, ..] = size.to_le_bytes();
    [low, middle, high]
}

impl fmt::Debug for Encoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoder").finish_non_exhaustive()
    }
}

/// Calls `work` with the encoder of this thread.
///
/// ```
/// use sapwood_codec::{Compression, with_encoder};
/// let mut payload = Vec::new();
/// let smaller = with_encoder(|e| e.compress(&[0; 1000], Compression::default(), &mut payload))?;
/// assert!(smaller && payload.starts_with(b"ZS"));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
pub fn with_encoder<R>(work: impl FnOnce(&mut Encoder) -> R) -> R {
    thread_local! {
        static ENCODER: RefCell<Encoder> = RefCell::default();
    }
    ENCODER.with(|encoder| match encoder.try_borrow_mut() {
        Ok(mut encoder) => work(&mut encoder),
        // Only if `work` itself calls this function.
        Err(_) => work(&mut Encoder::default()),
    })
}
