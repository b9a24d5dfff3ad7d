//! Reads elements of columns: each page is verified, decompressed and decoded straight to its place, on all threads.

use crate::blob::check;
use crate::elements::{Number, PageBytes};
use crate::encoding::{Encoding, Kind};
use crate::node::Representations;
use crate::pages::{PagePart, Pages};
use crate::wire::CHECKSUM;
use bytes::BytesMut;
use rayon::prelude::*;
use sapwood_codec::with_decoder;
use sapwood_core::{Buffer, ByteRange, Counters, Error, ErrorKind, Primitive, Result};
use sapwood_table::{ChunkBytes, ChunkContent, ChunkId, ClusterPart, chunk_content};
use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

/// What is needed to decode: the table and the bytes of its chunks.
pub(crate) struct Reader<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) chunks: ChunkBytes<'a>,
    /// Where the time is counted.
    pub(crate) counters: Option<&'a Counters>,
}

/// A page with its bytes, which are plausible, but not verified yet.
struct Piece<'a> {
    part: PagePart<'a>,
    content: ChunkContent,
    /// Uncompressed bytes.
    len: usize,
}

impl Piece<'_> {
    /// The stored bytes of the page without its checksum, which is verified.
    fn verified<'s>(&self, stored: &'s [u8]) -> Result<&'s [u8]> {
        if self.part.page.has_checksum { verified(stored) } else { Ok(stored) }
    }

    fn located(&self, error: Error) -> Error {
        error.inside(self.part.page.range.map_or(0, |range| range.start))
    }
}

/// The elements of some parts.
struct Elements<'a> {
    pieces: Vec<Piece<'a>>,
    total: usize,
    /// How many of them are not stored, but zero.
    zeros: u64,
}

impl<'a> Reader<'a> {
    /// The numbers of a field.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset of the page.
    pub(crate) fn numbers(
        &self,
        columns: &Representations,
        primitive: Primitive,
        parts: &[ClusterPart],
    ) -> Result<Buffer> {
        let elements = self.elements(columns, parts)?;
        let mut buffer = zeroed(elements.total, primitive.size(), elements.zeros)?;
        macro_rules! fill {
            ($($variant:ident $type:ty),*) => { match primitive {
                $(Primitive::$variant => self.fill::<$type>(
                    elements,
                    buffer.view_mut(),
                    |encoding| encoding.is_memory_of(primitive),
                    |page, wanted, out| page.numbers(wanted, out),
                ),)*
                Primitive::Bool => self.fill::<u8>(
                    elements,
                    buffer.view_mut(),
                    |_| false,
                    |page, wanted, out| page.bools(wanted, out),
                ),
            } };
        }
        fill!(I8 i8, U8 u8, I16 i16, U16 u16, I32 i32, U32 u32, I64 i64, U64 u64, F32 f32, F64 f64)?;
        Ok(buffer)
    }

    /// The bytes of texts or objects.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub(crate) fn bytes(&self, columns: &Representations, parts: &[ClusterPart]) -> Result<Buffer> {
        let elements = self.elements(columns, parts)?;
        let mut buffer = zeroed(elements.total, 1, elements.zeros)?;
        let is_byte = |encoding: Encoding| matches!(encoding.kind, Kind::Plain { .. }) && encoding.bits == 8;
        self.fill::<u8>(elements, buffer.view_mut(), is_byte, |page, wanted, out| {
            match page.bytes.get(wanted) {
                Some(bytes) if is_byte(page.encoding) => {
                    out.copy_from_slice(bytes);
                    Ok(())
                }
                _ => Err(Error::corrupt("a page of bytes has another type")),
            }
        })?;
        Ok(buffer)
    }

    /// Offsets of lists from all parts, and the parts of their items. The `likely` offsets are those of the same lists,
    /// read before.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub(crate) fn lists(
        &self,
        ends: &Representations,
        parts: &[ClusterPart],
        likely: Option<&Arc<Buffer>>,
    ) -> Result<(Arc<Buffer>, Vec<ClusterPart>)> {
        if let Some(offsets) = likely {
            let mut items = Vec::with_capacity(parts.len());
            let mut at = 0;
            for part in parts.iter().filter(|part| !part.range.is_empty()) {
                let next = at + usize::try_from(part.len()).unwrap_or(usize::MAX);
                items.push(self.items(
                    ends,
                    part,
                    offsets.view::<i64>().get(at..=next).unwrap_or_default(),
                )?);
                at = next;
            }
            return Ok((Arc::clone(offsets), items));
        }
        let elements = self.elements(ends, parts)?;
        let mut buffer = zeroed(elements.total + 1, size_of::<i64>(), elements.zeros)?;
        let starts: Vec<usize> = elements.pieces.iter().map(|piece| piece.part.at).collect();
        let mut starts = starts.into_iter().peekable();
        let offsets = buffer.view_mut::<i64>().get_mut(1..).unwrap_or_default();
        self.fill::<i64>(elements, offsets, |_| false, |page, wanted, out| page.ends(wanted, out))?;
        let (mut items, mut base, mut at) = (Vec::with_capacity(parts.len()), 0_i64, 0);
        for part in parts.iter().filter(|part| !part.range.is_empty()) {
            let end = at + usize::try_from(part.len()).unwrap_or(usize::MAX);
            let first = self.begin(ends, part)?;
            let mut in_order = true;
            while let Some(start) = starts.next_if(|start| *start < end) {
                // The lists of a page are in order.
                let before = if start == at { first } else { offsets[start - 1] };
                in_order &= before <= offsets[start];
            }
            let here = offsets.get_mut(at..end).unwrap_or_default();
            let last = here.last().copied().unwrap_or(first);
            let next = last.checked_sub(first).filter(|_| in_order).and_then(|len| base.checked_add(len));
            let next = next.ok_or_else(|| Error::corrupt("a list ends before it begins"))?;
            if base != first {
                here.iter_mut().for_each(|offset| *offset += base - first);
            }
            let range = first.cast_unsigned()..last.cast_unsigned();
            items.push(ClusterPart { cluster: part.cluster, range });
            (base, at) = (next, end);
        }
        Ok((Arc::new(buffer), items))
    }

    /// The items of the lists of a part with these offsets.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub(crate) fn items(
        &self,
        ends: &Representations,
        part: &ClusterPart,
        offsets: &[i64],
    ) -> Result<ClusterPart> {
        let first = self.begin(ends, part)?.cast_unsigned();
        let len =
            offsets.first().zip(offsets.last()).and_then(|(first, last)| u64::try_from(last - first).ok());
        let end = len.and_then(|len| first.checked_add(len));
        let end = end.ok_or_else(|| Error::corrupt("a list has more items than can be"))?;
        Ok(ClusterPart { cluster: part.cluster, range: first..end })
    }

    /// Where the first list of a part begins in its cluster.
    fn begin(&self, ends: &Representations, part: &ClusterPart) -> Result<i64> {
        let Some(before) = part.range.start.checked_sub(1) else { return Ok(0) };
        let before = ClusterPart { cluster: part.cluster, range: before..part.range.start };
        let mut begin = [0];
        let elements = self.elements(ends, &[before])?;
        self.fill(elements, &mut begin, |_| false, |page, wanted, out| page.ends(wanted, out))?;
        Ok(begin[0])
    }

    /// The positions and tags of variants.
    ///
    /// # Errors
    /// As [`numbers`](Self::numbers).
    pub(crate) fn switches(&self, switch: &Representations, part: &ClusterPart) -> Result<Vec<(u64, u32)>> {
        let elements = self.elements(switch, std::slice::from_ref(part))?;
        let mut found = Vec::new();
        found.try_reserve_exact(elements.total).map_err(|_| no_memory(elements.total))?;
        for piece in &elements.pieces {
            found.resize(piece.part.at, (0, 0));
            self.with_page(piece, |page| page.switches(piece.part.wanted.clone(), &mut found))?;
        }
        found.resize(elements.total, (0, 0));
        Ok(found)
    }

    fn elements(&self, columns: &Representations, parts: &[ClusterPart]) -> Result<Elements<'a>> {
        let mut found = Elements { pieces: Vec::new(), total: 0, zeros: 0 };
        for part in parts {
            let (zeros, pages) = self.pages.of_part(columns, part)?;
            found.zeros += zeros;
            for page in pages {
                found.pieces.push(self.piece(PagePart { at: found.total + page.at, ..page })?);
            }
            let total = usize::try_from(part.len()).ok().and_then(|len| found.total.checked_add(len));
            found.total = total.ok_or_else(|| Error::new(ErrorKind::Limit, "a column is too long"))?;
        }
        Ok(found)
    }

    /// A page with its bytes. Memory is taken once it is known that they can fill it.
    fn piece(&self, part: PagePart<'a>) -> Result<Piece<'a>> {
        let len = usize::try_from(part.encoding.bytes(part.page.elements)).unwrap_or(usize::MAX);
        let range = part.page.stored()?;
        let content = self.content(range)?;
        match &content {
            ChunkContent::Uncompressed(bytes) if bytes.len() != len => {
                return Err(Error::corrupt("a page is used with different lengths").at(range.start));
            }
            ChunkContent::Stored(stored) => {
                let checksum = if part.page.has_checksum { CHECKSUM } else { 0 };
                let stored = stored.get(..stored.len().saturating_sub(checksum)).unwrap_or_default();
                if stored.len() != len {
                    check(stored, len).map_err(|error| error.inside(range.start))?;
                }
            }
            ChunkContent::Uncompressed(_) => {}
        }
        Ok(Piece { part, content, len })
    }

    fn content(&self, range: ByteRange) -> Result<ChunkContent> {
        let content = |offset: u64| chunk_content(self.chunks, ChunkId { file: 0, offset });
        let Some(parts) = self.pages.parts(range)? else { return content(range.start) };
        let mut joined = BytesMut::new();
        for part in parts {
            match content(part.start)? {
                ChunkContent::Stored(bytes) | ChunkContent::Uncompressed(bytes) => {
                    joined.extend_from_slice(&bytes);
                }
            }
        }
        Ok(ChunkContent::Stored(joined.freeze()))
    }

    /// Fills `out` with the elements that are stored, in parallel. Pages that are `as_in_memory` are not decoded.
    fn fill<T: Number>(
        &self,
        elements: Elements<'a>,
        mut out: &mut [T],
        as_in_memory: impl Fn(Encoding) -> bool + Sync,
        decode: impl Fn(PageBytes<'_>, Range<usize>, &mut [T]) -> Result<()> + Sync,
    ) -> Result<()> {
        let mut places = Vec::with_capacity(elements.pieces.len());
        let mut next = 0;
        for piece in elements.pieces {
            let (at, len) = (piece.part.at, piece.part.wanted.len());
            let place = std::mem::take(&mut out).split_at_mut_checked(at - next).map(|(_, rest)| rest);
            let place = place.and_then(|rest| rest.split_at_mut_checked(len));
            let (place, rest) =
                place.ok_or_else(|| Error::corrupt("a page has more elements than its column"))?;
            places.push((piece, place));
            (out, next) = (rest, at + len);
        }
        let one = |(piece, place): (Piece<'_>, &mut [T])| {
            let whole = piece.part.wanted.len() as u64 == piece.part.page.elements;
            if whole && as_in_memory(piece.part.encoding) {
                return self.copy_page(&piece, bytemuck::cast_slice_mut(place));
            }
            self.with_page(&piece, |page| decode(page, piece.part.wanted.clone(), place))
        };
        match places.len() {
            0 | 1 => places.into_iter().try_for_each(one),
            _ => places.into_par_iter().try_for_each(one),
        }
    }

    /// Decompresses a page to its place.
    fn copy_page(&self, piece: &Piece<'_>, place: &mut [u8]) -> Result<()> {
        let start = Instant::now();
        let mut copy = || match &piece.content {
            ChunkContent::Uncompressed(bytes) => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            ChunkContent::Stored(stored) => match piece.verified(stored)? {
                stored if stored.len() == piece.len => {
                    place.copy_from_slice(stored);
                    Ok(())
                }
                stored => with_decoder(|decoder| decoder.decode(stored, place)),
            },
        };
        let result = copy().map_err(|error| piece.located(error));
        if let Some(counters) = self.counters {
            counters.decompress_ns.add_time(start.elapsed());
        }
        result
    }

    /// Calls `work` with a page, uncompressed.
    fn with_page<R>(&self, piece: &Piece<'_>, work: impl FnOnce(PageBytes<'_>) -> Result<R>) -> Result<R> {
        let start = Instant::now();
        let count = usize::try_from(piece.part.page.elements).unwrap_or(usize::MAX);
        let work = |bytes: &[u8]| {
            let decompressed = Instant::now();
            let result = work(PageBytes { encoding: piece.part.encoding, count, bytes });
            if let Some(counters) = self.counters {
                counters.decompress_ns.add_time(decompressed - start);
                counters.decode_ns.add_time(decompressed.elapsed());
            }
            result
        };
        let result = match &piece.content {
            ChunkContent::Uncompressed(bytes) => work(bytes),
            ChunkContent::Stored(stored) => match piece.verified(stored) {
                Ok(stored) if stored.len() == piece.len => work(stored),
                Ok(stored) => with_scratch(piece.len, |scratch| {
                    with_decoder(|decoder| decoder.decode(stored, scratch))?;
                    work(scratch)
                }),
                Err(error) => Err(error),
            },
        };
        result.map_err(|error| piece.located(error))
    }
}

/// The stored bytes of a page before its checksum, which is verified.
///
/// # Errors
/// `Checksum` or `Truncated`.
pub(crate) fn verified(stored: &[u8]) -> Result<&[u8]> {
    match stored.split_last_chunk::<CHECKSUM>() {
        Some((page, checksum)) if xxh3_64(page).to_le_bytes() == *checksum => Ok(page),
        Some(_) => Err(Error::new(ErrorKind::Checksum, "a page does not match its checksum")),
        None => Err(Error::new(ErrorKind::Truncated, "a page is shorter than its checksum")),
    }
}

fn no_memory(values: usize) -> Error {
    Error::new(ErrorKind::Limit, format!("not enough memory for {values} values"))
}

/// Zeros for `total` items of `size` bytes, of which `unstored` remain zero.
fn zeroed(total: usize, size: usize, unstored: u64) -> Result<Buffer> {
    let bytes = total.checked_mul(size).ok_or_else(|| no_memory(total))?;
    // Pages cannot hold more than their bytes allow; values that are not stored are asked for first, as no memory for
    // zeros ends the process.
    if unstored > 0 {
        Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| no_memory(total))?;
    }
    Ok(Buffer::zeroed(bytes))
}

/// Larger scratch memory is freed after use.
const LARGEST_SCRATCH: usize = 16 << 20;

/// Calls `work` with `len` bytes of memory of this thread.
fn with_scratch<R>(len: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with(|scratch| match scratch.try_borrow_mut() {
        Ok(mut scratch) => {
            if scratch.len() < len {
                scratch.resize(len, 0);
            }
            let result = work(&mut scratch[..len]);
            if scratch.len() > LARGEST_SCRATCH {
                *scratch = Vec::new();
            }
            result
        }
        // Only if `work` itself calls this function.
        Err(_) => work(&mut vec![0; len]),
    })
}
