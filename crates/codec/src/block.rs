//! Blocks: the nine-byte header of each compressed stream, and iteration over the blocks of a payload.

use crate::{Algorithm, planes, steps};
use sapwood_core::{Error, Result};

/// Bytes of a block's header.
pub const HEADER_LEN: usize = 9;

/// How the bytes of a block were transformed before compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlockEncoding {
    /// Not at all, as in all blocks that ROOT writes and reads.
    Bytes,
    /// Numbers of this many bytes (2, 4 or 8) were split into as many planes: tag `ZP`, followed by this
    /// number. Only in stripes of datasets.
    Planes(usize),
    /// Offsets were stored as differences: tag `ZT`. Only in stripes of datasets.
    Steps,
}

impl BlockEncoding {
    /// The encoding for a tag and the byte after it, if it is one of those that occur only with Zstandard,
    /// and only in stripes.
    fn of(tag: [u8; 2], width: u8) -> Option<BlockEncoding> {
        match (&tag, usize::from(width)) {
            (b"ZP", width) if planes::WIDTHS.contains(&width) => Some(BlockEncoding::Planes(width)),
            (b"ZT", steps::WIDTH) => Some(BlockEncoding::Steps),
            _ => None,
        }
    }

    /// The tag of a block, and the byte after it.
    pub(crate) fn tag_of(self, algorithm: Algorithm) -> [u8; 3] {
        match self {
            BlockEncoding::Bytes => algorithm.tag_bytes(),
            // A width is at most 8.
            BlockEncoding::Planes(width) => [b'Z', b'P', width as u8],
            BlockEncoding::Steps => [b'Z', b'T', steps::WIDTH as u8],
        }
    }
}

/// A block's header.
///
/// ```
/// use sapwood_codec::{Algorithm, BlockHeader, BlockEncoding};
/// let header = BlockHeader::parse(b"ZS\x01\x10\x00\x00\x00\x01\x00")?;
/// assert_eq!((header.algorithm, header.form), (Algorithm::Zstd, BlockEncoding::Bytes));
/// assert_eq!((header.compressed, header.uncompressed), (16, 256));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockHeader {
    /// How the block is compressed.
    pub algorithm: Algorithm,
    /// How the bytes were transformed before.
    pub form: BlockEncoding,
    /// Bytes that follow the header (LZ4: with its checksum), below 16 MiB.
    pub compressed: usize,
    /// Bytes after decompression, below 16 MiB.
    pub uncompressed: usize,
}

impl BlockHeader {
    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// `Corrupt` if there are fewer than [`HEADER_LEN`] bytes, the tag is unknown, or the block claims more
    /// data than its algorithm can produce from its compressed bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Some(&[t0, t1, method, c0, c1, c2, u0, u1, u2]) = bytes.first_chunk::<HEADER_LEN>() else {
            return Err(Error::corrupt(format!(
                "{} bytes are left where a compression block must begin with {HEADER_LEN} bytes of header",
                bytes.len()
            )));
        };
        let tag = [t0, t1];
        let of_stripes = BlockEncoding::of(tag, method).map(|form| (Algorithm::Zstd, form));
        let of_root = || Algorithm::of(tag, method).map(|algorithm| (algorithm, BlockEncoding::Bytes));
        let Some((algorithm, form)) = of_stripes.or_else(of_root) else {
            return Err(Error::corrupt(format!(
                "a compression block begins with the unknown tag '{}', method {method}",
                tag.escape_ascii()
            )));
        };
        let header = BlockHeader {
            algorithm,
            form,
            compressed: size_from([c0, c1, c2]),
            uncompressed: size_from([u0, u1, u2]),
        };
        if header.uncompressed > header.compressed.saturating_mul(algorithm.max_ratio()) {
            return Err(Error::corrupt(format!(
                "a compression block claims {} bytes, more than {} bytes of {algorithm} can hold",
                header.uncompressed, header.compressed
            )));
        }
        Ok(header)
    }
}

/// A 24-bit little-endian size (root-io-spec Compression §4).
fn size_from(bytes: [u8; 3]) -> usize {
    let [low, middle, high] = bytes.map(usize::from);
    low | middle << 8 | high << 16
}

/// One block of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<'a> {
    /// Its header.
    pub header: BlockHeader,
    /// Offset of its header in the payload.
    pub offset: usize,
    /// The bytes after the header.
    pub data: &'a [u8],
}

impl Block<'_> {
    /// True if the block carries a checksum of its data or content.
    pub fn has_checksum(&self) -> bool {
        self.header.form == BlockEncoding::Bytes && self.header.algorithm.has_checksum(self.data)
    }
}

/// The blocks of a payload that holds `object_len` bytes when decompressed.
///
/// Like ROOT, it stops when the blocks reach that length, whatever follows. Each item is a block, or an error
/// with its offset in the payload; after an error there are no more items.
pub fn blocks(payload: &[u8], object_len: usize) -> BlockIter<'_> {
    BlockIter { payload, offset: 0, missing: object_len }
}

/// The iterator that [`blocks`] returns.
#[derive(Debug, Clone)]
pub struct BlockIter<'a> {
    payload: &'a [u8],
    offset: usize,
    missing: usize,
}

impl<'a> BlockIter<'a> {
    fn next_block(&self) -> Result<Block<'a>> {
        let rest = self.payload.get(self.offset..).unwrap_or_default();
        let header = BlockHeader::parse(rest)?;
        let data = rest.get(HEADER_LEN..HEADER_LEN + header.compressed).ok_or_else(|| {
            Error::corrupt(format!(
                "a compression block of {} bytes runs over the end of its record, {} bytes further",
                header.compressed,
                rest.len() - HEADER_LEN
            ))
        })?;
        if header.uncompressed > self.missing {
            return Err(Error::corrupt(format!(
                "a compression block holds {} bytes where the object has room for {}",
                header.uncompressed, self.missing
            )));
        }
        Ok(Block { header, offset: self.offset, data })
    }
}

impl<'a> Iterator for BlockIter<'a> {
    type Item = Result<Block<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.missing == 0 {
            return None;
        }
        let block = self.next_block().map_err(|error| error.at(self.offset as u64));
        match &block {
            Ok(block) => {
                self.offset += HEADER_LEN + block.data.len();
                self.missing -= block.header.uncompressed;
            }
            Err(_) => self.missing = 0,
        }
        Some(block)
    }
}

/// True if a block of a payload that holds `object_len` bytes begins at byte `at` of the object.
pub fn begins_block(payload: &[u8], object_len: usize, at: usize) -> bool {
    let mut ends = blocks(payload, object_len).scan(0, |end, block| {
        *end += block.ok()?.header.uncompressed;
        Some(*end)
    });
    at == 0 || ends.any(|end| end == at)
}

/// True if a payload that holds `object_len` bytes has a block with an encoding of stripes, which ROOT does
/// not read.
pub fn is_of_stripes(payload: &[u8], object_len: usize) -> bool {
    is_compressed(object_len, payload.len())
        && blocks(payload, object_len)
            .any(|block| block.is_ok_and(|block| block.header.form != BlockEncoding::Bytes))
}

/// Bytes of a payload that are covered by a checksum, so that any change of them is detected: blocks of zlib
/// and LZ4, xz streams with a check, and Zstandard frames with a checksum. An uncompressed payload is not
/// covered.
pub fn checksummed_len(payload: &[u8], object_len: usize) -> usize {
    if !is_compressed(object_len, payload.len()) {
        return 0;
    }
    let covered = blocks(payload, object_len).filter_map(Result::ok).filter(|block| block.has_checksum());
    covered.map(|block| block.data.len()).sum()
}

/// Checks, without decompressing, that the blocks of `payload` add up to `object_len` bytes.
///
/// For callers that allocate memory for a length that a file states: after this check, a payload cannot claim
/// more than its algorithms can produce from its bytes.
///
/// # Errors
/// `Corrupt` if the blocks are damaged, implausible, or add up to another length.
pub fn uncompressed_len(payload: &[u8], object_len: usize) -> Result<usize> {
    blocks(payload, object_len).try_fold(0, |sum, block| Ok(sum + block?.header.uncompressed))
}

/// Whether a record's payload of `payload_len` bytes (fNbytes - fKeylen) is compressed, if the object has
/// `object_len` bytes (fObjlen).
///
/// The rule is an inequality: a payload that is longer than its object is stored uncompressed, and the bytes
/// after the object are meaningless (root-io-spec Compression §1.1).
pub fn is_compressed(object_len: usize, payload_len: usize) -> bool {
    object_len > payload_len
}
