//! The part of a basket within the wanted entries.

use super::input::{BasketBytes, Counts};
use crate::basket::{BasketHeader, Content};
use sapwood_core::{Counters, Error, Result};
use std::cell::RefCell;
use std::ops::Range;
use std::time::Instant;

/// A basket, cut to the wanted entries.
#[derive(Debug)]
pub(super) struct BasketSlice<'a> {
    pub(super) header: BasketHeader,
    bytes: &'a [u8],
    embedded: bool,
    offset: u64,
    /// Wanted entries, counted from the basket's first.
    pub(super) wanted: Range<usize>,
    counts: Option<&'a [i64]>,
    counters: &'a Counters,
}

impl<'a> BasketSlice<'a> {
    /// The slices of `baskets` that hold `entries`.
    pub(super) fn cut(
        baskets: &'a [BasketBytes<'_>],
        entries: Range<u64>,
        counts: Option<Counts<'a>>,
        counters: &'a Counters,
    ) -> Result<Vec<BasketSlice<'a>>> {
        let mut next = entries.start;
        let mut slices = Vec::with_capacity(baskets.len());
        for BasketBytes { basket, bytes } in baskets {
            let end = basket.end().min(entries.end);
            if end <= next {
                continue;
            }
            if basket.first_entry > next {
                break;
            }
            let (offset, embedded) = (basket.offset, basket.embedded.is_some());
            let slice = BasketSlice::open(offset, bytes, embedded, basket.entries, counters)
                .map_err(|error| error.inside(basket.offset))?;
            let counts = counts.and_then(|counts| counts.of(basket.first_entry..basket.end()));
            let index = |entry: u64| usize::try_from(entry - basket.first_entry).unwrap_or(usize::MAX);
            slices.push(BasketSlice { wanted: index(next)..index(end), counts, ..slice });
            next = end;
        }
        if next < entries.end {
            return Err(Error::corrupt(format!("no basket holds the entries {next} to {}", entries.end)));
        }
        Ok(slices)
    }

    fn open(
        offset: u64,
        bytes: &'a [u8],
        embedded: bool,
        entries: u64,
        counters: &'a Counters,
    ) -> Result<BasketSlice<'a>> {
        let header = BasketHeader::parse(bytes)?;
        if !embedded {
            header.check_record(bytes)?;
        }
        if header.entries as u64 != entries {
            return Err(Error::corrupt(format!(
                "a basket holds {} entries, the branch announces {entries}",
                header.entries
            )));
        }
        Ok(BasketSlice { header, bytes, embedded, offset, wanted: 0..0, counts: None, counters })
    }

    /// Number of wanted entries.
    pub(super) fn len(&self) -> usize {
        self.wanted.len()
    }

    /// True if all entries are wanted.
    pub(super) fn is_whole(&self) -> bool {
        self.wanted == (0..self.header.entries)
    }

    /// If values are laid out as on file, decompresses into `place` and decodes there with `decode`. Returns
    /// whether it did.
    pub(super) fn decompress_whole(&self, place: &mut [u8], decode: impl FnOnce(&mut [u8])) -> Result<bool> {
        if self.embedded
            || self.header.has_table()
            || !self.is_whole()
            || place.len() != self.header.object_len
        {
            return Ok(false);
        }
        let start = Instant::now();
        self.header.decompress_into(self.bytes, place).map_err(|error| self.placed(error))?;
        self.timed(start, || decode(place));
        Ok(true)
    }

    /// True if the offset table is compressed separately from the entries.
    pub(super) fn has_table_apart(&self) -> bool {
        !self.embedded && self.header.has_table_apart(self.bytes)
    }

    /// If a checksum confirms that the [separate](Self::has_table_apart) offset table is `table`,
    /// decompresses only the entries into `place` and decodes them there with `decode`. Returns whether it
    /// did.
    pub(super) fn decompress_before(
        &self,
        table: &[u8],
        place: &mut [u8],
        decode: impl FnOnce(&mut [u8]),
    ) -> Result<bool> {
        let start = Instant::now();
        let known = self.header.decompress_before(table, self.bytes, place);
        let known = known.map_err(|error| self.placed(error))?;
        if known {
            self.timed(start, || decode(place));
        }
        Ok(known)
    }

    /// Decompresses the basket and calls `work` with its content.
    pub(super) fn with_content<R>(&self, work: impl FnOnce(Content<'_>) -> Result<R>) -> Result<R> {
        let start = Instant::now();
        let work = |content: Content<'_>| self.timed(start, || work(content));
        let result = if self.embedded {
            Content::of_embedded(&self.header, self.bytes).and_then(work)
        } else {
            SCRATCH.with(|scratch| {
                let mut scratch = scratch.borrow_mut();
                let result = Content::of_record(&self.header, self.bytes, &mut scratch).and_then(work);
                if scratch.len() > LARGEST_SCRATCH {
                    *scratch = Vec::new();
                }
                result
            })
        };
        result.map_err(|error| self.placed(error))
    }

    /// Decodes bytes whose decompression began at `start`, and counts the time of both.
    fn timed<R>(&self, start: Instant, decode: impl FnOnce() -> R) -> R {
        let decompressed = Instant::now();
        let result = decode();
        self.counters.decompress_ns.add_time(decompressed - start);
        self.counters.decode_ns.add_time(decompressed.elapsed());
        result
    }

    /// The start of each wanted entry and the end of the last: `len() + 1` offsets into the content's data.
    pub(super) fn boundaries(&self, content: &Content<'_>, out: &mut Vec<usize>) -> Result<()> {
        content.boundaries(self.wanted.clone(), out)
    }

    /// The counts of all entries of the basket.
    pub(super) fn counts(&self) -> Result<&'a [i64]> {
        self.counts.ok_or_else(|| {
            Error::corrupt(
                "a basket stores no offsets of its entries, and the branch that counts them is unknown",
            )
        })
    }

    /// The error with its offset in the file.
    pub(super) fn placed(&self, error: Error) -> Error {
        error.inside(self.offset)
    }
}

/// Larger scratch memory is freed after use.
const LARGEST_SCRATCH: usize = 16 << 20;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
