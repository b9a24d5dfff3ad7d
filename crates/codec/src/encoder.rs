//! Compresses objects to payloads.

use crate::block::{BlockEncoding, HEADER_LEN};
use crate::table::{self, TableEncoder};
use crate::{Algorithm, Compression, Search, lz4, lzma, planes, steps, zstd};
use libdeflater::{CompressionLvl, Compressor};
use sapwood_core::{Error, ErrorKind, Result, WORK};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;
use zstd_safe::CCtx;

/// Most bytes of an object in one block: the maximum of 24 bits (root-io-spec Compression §7).
pub const BLOCK_MAX: usize = 0xFF_FFFF;

/// Bytes of an object that [`Encoder::learn`] examines.
const SAMPLE: usize = 24_000;
/// How much larger an object may be with a faster search than with `Search::Far`.
const MORE_PER_MILLE: usize = 14;
/// The same for pages, which have no offset tables that are smaller than ROOT's.
const MORE_PER_MILLE_OF_PAGES: usize = 5;
const MORE_BYTES: usize = 8;
/// The faster searches; and by how much, in 1/1000, the entries of a basket may be larger with each, as long
/// as that is less than the separately compressed offset table saves.
const QUICKER: [(Search, usize); 3] = [(Search::First, 50), (Search::Double, 200), (Search::Few, 200)];
/// The share of its bytes that a separately compressed table saves.
const PART_SAVED: usize = 5;

/// Compresses payloads; reuses the contexts of the libraries.
///
/// A new encoder is free: contexts are created when first needed. An encoder is for one thread at a time;
/// [`with_encoder`] keeps one per thread.
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
    /// By the library's level.
    deflate: BTreeMap<i32, Compressor>,
    zstd: Option<CCtx<'static>>,
    table: Option<TableEncoder>,
    /// Scratch memory for planes.
    room: Vec<u8>,
}

/// How a block is compressed, where its algorithm leaves a choice.
#[derive(Clone, Copy)]
enum CompressionScheme {
    By(Search),
    /// As planes of numbers of this many bytes.
    Planes(usize),
    /// As an offset table, in the format that ROOT reads.
    Table,
    /// As an offset table, in steps.
    Steps,
}

impl CompressionScheme {
    /// Most bytes in a block.
    fn block_max(self) -> usize {
        match self {
            CompressionScheme::By(_) => BLOCK_MAX,
            CompressionScheme::Planes(_) => planes::BLOCK,
            CompressionScheme::Table | CompressionScheme::Steps => table::BLOCK,
        }
    }

    fn form(self) -> BlockEncoding {
        match self {
            CompressionScheme::By(_) | CompressionScheme::Table => BlockEncoding::Bytes,
            CompressionScheme::Planes(width) => BlockEncoding::Planes(width),
            CompressionScheme::Steps => BlockEncoding::Steps,
        }
    }
}

impl Encoder {
    /// Appends `object`, such as the record of a tree, to `payload` as compressed blocks; true if that made it
    /// smaller. If not, nothing is appended, and the object must be stored uncompressed, which ROOT recognizes
    /// by the length.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn compress(
        &mut self,
        object: &[u8],
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        self.compress_basket(Search::Farthest, object, object.len(), compression, payload)
    }

    /// As [`compress`](Encoder::compress), for the content of a basket: entries, `data_len` bytes, followed
    /// by their offset tables; with the search that is sufficient for such entries.
    ///
    /// With deflate and Zstandard, tables that are not short become blocks of their own, because their
    /// statistics differ from those of entries.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn compress_basket(
        &mut self,
        search: Search,
        content: &[u8],
        data_len: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        self.compress_by(
            (&[CompressionScheme::By(search)], CompressionScheme::Table),
            content,
            data_len,
            compression,
            payload,
        )
    }

    /// As [`compress_basket`](Encoder::compress_basket), for the basket of a stripe, which ROOT need not
    /// read: with Zstandard, entries become planes of numbers where that makes them smaller, and offset
    /// tables become steps. For long baskets, that choice and the search are learned from their first
    /// entries, as with [`learn`](Encoder::learn); short ones are compressed both ways.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn compress_stripe(
        &mut self,
        content: &[u8],
        data_len: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        if compression.algorithm() != Algorithm::Zstd || compression.is_none() {
            return self.compress_basket(Search::default(), content, data_len, compression, payload);
        }
        let sample = Sample::of(content, data_len, compression);
        let planes = CompressionScheme::Planes(planes::likely_width(sample.entries));
        let ways = if sample.entries.len() == apart(content, data_len, compression).0.len() {
            vec![CompressionScheme::By(Search::Far), planes]
        } else {
            let (search, size) = self.enough(&sample, compression, MORE_PER_MILLE)?;
            let smaller = self.size(planes, &sample, compression)? < size;
            vec![if smaller { planes } else { CompressionScheme::By(search) }]
        };
        self.compress_by((&ways, CompressionScheme::Steps), content, data_len, compression, payload)
    }

    /// Compresses entries with the best of several schemes, and their tables with another one.
    fn compress_by(
        &mut self,
        (entries_ways, table_way): (&[CompressionScheme], CompressionScheme),
        content: &[u8],
        data_len: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = payload.len();
        // The output must be smaller than the input, so no more space is needed.
        let most = start + content.len().saturating_sub(1);
        let (entries, table) = apart(content, data_len, compression);
        let done = !compression.is_none()
            && self.append_smallest(entries_ways, entries, most, compression, payload)?
            && self.append(table_way, table, most, compression, payload)?;
        payload.truncate(if done { payload.len() } else { start });
        Ok(done && payload.len() > start)
    }

    /// As [`append`](Encoder::append), with the scheme that needs the fewest bytes; the first one if others
    /// are equal.
    fn append_smallest(
        &mut self,
        ways: &[CompressionScheme],
        bytes: &[u8],
        most: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let Some((first, others)) = ways.split_first() else { return Ok(false) };
        let start = payload.len();
        let mut done = self.append(*first, bytes, most, compression, payload)?;
        for way in others {
            let most = if done { payload.len().saturating_sub(1) } else { most }.saturating_sub(start);
            let mut other = Vec::new();
            if self.append(*way, bytes, most, compression, &mut other)? {
                payload.truncate(start);
                payload.extend_from_slice(&other);
                done = true;
            }
        }
        Ok(done)
    }

    /// Appends `bytes` as blocks if `payload` then has at most this many bytes; otherwise leaves it unchanged
    /// and returns false.
    fn append(
        &mut self,
        way: CompressionScheme,
        bytes: &[u8],
        most: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<bool> {
        let start = payload.len();
        payload.resize(most.max(start), 0);
        let mut end = start;
        for block in bytes.chunks(way.block_max()) {
            let target = payload.get_mut(end..).unwrap_or_default();
            let target_len = target.len().min(HEADER_LEN + BLOCK_MAX);
            let target = target.get_mut(..target_len).unwrap_or_default();
            match self.block(way, block, compression, target)? {
                Some(written) => end += written,
                None => {
                    payload.truncate(start);
                    return Ok(false);
                }
            }
        }
        payload.truncate(end);
        Ok(true)
    }

    /// As [`compress_basket`](Encoder::compress_basket); also returns the fastest search that is sufficient
    /// for entries like these, with which they were compressed: the fastest one that makes them at most 1.4 %
    /// larger than any other; up to 5 % with the fastest search, and 20 % with the next, as far as a
    /// separately compressed table saves that many bytes.
    ///
    /// The result depends only on the bytes of the basket, so it is reproducible.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn learn(
        &mut self,
        content: &[u8],
        data_len: usize,
        compression: Compression,
        payload: &mut Vec<u8>,
    ) -> Result<(bool, Search)> {
        let mut found = Search::default();
        if Search::has_choice(compression) {
            let sample = Sample::of(content, data_len, compression);
            (found, _) = self.enough(&sample, compression, MORE_PER_MILLE)?;
        }
        Ok((self.compress_basket(found, content, data_len, compression, payload)?, found))
    }

    /// The fastest search that is sufficient for pages like a sample: with which it is at most 0.5 % larger than with
    /// any other.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn search_for(&mut self, sample: &[u8], compression: Compression) -> Result<Search> {
        if let Some(search) = Search::of_pages(compression) {
            return Ok(search);
        }
        let sample = Sample { entries: sample, saved: 0 };
        Ok(self.enough(&sample, compression, MORE_PER_MILLE_OF_PAGES)?.0)
    }

    /// The fastest search that is sufficient for a sample, and how many bytes the sample then has.
    fn enough(
        &mut self,
        sample: &Sample<'_>,
        compression: Compression,
        more_per_mille: usize,
    ) -> Result<(Search, usize)> {
        let far = self.size(CompressionScheme::By(Search::Far), sample, compression)?;
        let mut least = far;
        let quicker = if Search::has_choice(compression) { &QUICKER[..] } else { &[] };
        for &(search, most) in quicker {
            let size = self.size(CompressionScheme::By(search), sample, compression)?;
            least = least.min(size);
            let more = sample.saved.min(least * most / 1000).max(least * more_per_mille / 1000);
            if size <= least + more + MORE_BYTES {
                return Ok((search, size));
            }
        }
        Ok((Search::Far, far))
    }

    /// How many bytes a sample has after compression.
    fn size(
        &mut self,
        way: CompressionScheme,
        sample: &Sample<'_>,
        compression: Compression,
    ) -> Result<usize> {
        let (entries, mut tried) = (sample.entries, Vec::new());
        let smaller = self.compress_by(
            (&[way], CompressionScheme::Table),
            entries,
            entries.len(),
            compression,
            &mut tried,
        )?;
        Ok(if smaller { tried.len() } else { entries.len() })
    }

    /// Compresses one block with its header; `None` if it does not fit in `target`.
    fn block(
        &mut self,
        way: CompressionScheme,
        block: &[u8],
        compression: Compression,
        target: &mut [u8],
    ) -> Result<Option<usize>> {
        let Some((header, stream)) = target.split_first_chunk_mut::<HEADER_LEN>() else { return Ok(None) };
        let level = compression.level();
        let algorithm = compression.algorithm();
        let search = match way {
            CompressionScheme::By(search) if Search::has_choice(compression) => search,
            _ => Search::default(),
        };
        let written = match algorithm {
            Algorithm::Zlib => self.deflate(level, search).zlib_compress(block, stream).ok(),
            Algorithm::OldZlib => self.deflate(level, search).deflate_compress(block, stream).ok(),
            Algorithm::Lzma => lzma::compress(block, level, stream)?,
            Algorithm::Lz4 => lz4::compress(block, level, stream),
            Algorithm::Zstd => match way {
                CompressionScheme::By(_) => zstd::compress(self.zstd()?, block, level, search, stream),
                CompressionScheme::Planes(_) | CompressionScheme::Steps => {
                    let mut room = std::mem::take(&mut self.room);
                    let written = match way {
                        CompressionScheme::Planes(width) => {
                            planes::compress(self.zstd()?, block, width, &mut room, stream)
                        }
                        _ => steps::compress(self.zstd()?, block, &mut room, stream),
                    };
                    self.room = room;
                    written
                }
                CompressionScheme::Table => self.table()?.compress(block, stream),
            },
        };
        let Some(written) = written.filter(|&written| written <= BLOCK_MAX) else { return Ok(None) };
        let [t0, t1, method] = way.form().tag_of(algorithm);
        let ([c0, c1, c2], [u0, u1, u2]) = (size_bytes(written), size_bytes(block.len()));
        *header = [t0, t1, method, c0, c1, c2, u0, u1, u2];
        Ok(Some(HEADER_LEN + written))
    }

    fn deflate(&mut self, level: u8, search: Search) -> &mut Compressor {
        // The library's first level makes blocks 3 % longer than ROOT's zlib at its own; the second 0.4 %, in
        // half of zlib's time. At higher levels, blocks are shorter than ROOT's.
        let far = i32::from(level.max(2));
        let level = match search {
            Search::First => 1,
            Search::Double => 2,
            Search::Few => far.min(4),
            Search::Far | Search::Farthest => far,
        };
        let compressor = || Compressor::new(CompressionLvl::new(level).unwrap_or_default());
        self.deflate.entry(level).or_insert_with(compressor)
    }

    fn zstd(&mut self) -> Result<&mut CCtx<'static>> {
        if self.zstd.is_none() {
            self.zstd = CCtx::try_create();
        }
        self.zstd.as_mut().ok_or_else(no_memory)
    }

    fn table(&mut self) -> Result<&mut TableEncoder> {
        if self.table.is_none() {
            self.table = TableEncoder::new();
        }
        self.table.as_mut().ok_or_else(no_memory)
    }
}

/// Entries of a basket that are typical of the others.
struct Sample<'a> {
    entries: &'a [u8],
    /// Bytes that are saved next to them, because their table is compressed separately.
    saved: usize,
}

impl<'a> Sample<'a> {
    fn of(content: &'a [u8], data_len: usize, compression: Compression) -> Sample<'a> {
        let (entries, table) = apart(content, data_len, compression);
        let sample = entries.get(..SAMPLE).unwrap_or(entries);
        let saved = table.len() / PART_SAVED * sample.len() / entries.len().max(1);
        Sample { entries: sample, saved }
    }
}

fn no_memory() -> Error {
    Error::new(ErrorKind::Limit, "not enough memory for Zstandard")
}

/// The entries of a basket, and their offset tables if these are compressed separately.
fn apart(content: &[u8], data_len: usize, compression: Compression) -> (&[u8], &[u8]) {
    let gains = matches!(compression.algorithm(), Algorithm::Zlib | Algorithm::OldZlib | Algorithm::Zstd);
    match content.split_at_checked(data_len) {
        Some((entries, table)) if gains && table.len() >= table::LEAST => (entries, table),
        _ => (content, &[]),
    }
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
    let start = Instant::now();
    let result = ENCODER.with(|encoder| match encoder.try_borrow_mut() {
        Ok(mut encoder) => work(&mut encoder),
        // Only if `work` itself calls this function.
        Err(_) => work(&mut Encoder::default()),
    });
    WORK.compress.add_time(start.elapsed());
    result
}
