//! One basket: its header, which is never compressed, and its content.

use bytes::Bytes;
use sapwood_codec::{begins_block, is_compressed, uncompressed_len, with_decoder};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_tfile::Cursor;
use std::ops::Range;

/// What a basket's key and header say, readable without decompressing anything (root-io-spec TBasket §1-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketHeader {
    /// Bytes of the record, key included (`fNbytes`).
    pub record_len: usize,
    /// Bytes of the content after decompression (`fObjlen`).
    pub object_len: usize,
    /// Bytes of key and basket header (`fKeylen`); offsets inside the basket count from the key's start.
    pub key_len: usize,
    /// Entries (`fNevBuf`).
    pub entries: usize,
    /// Bytes of one entry if there is no table of offsets (`fNevBufSize`).
    pub entry_size: usize,
    /// Bytes of entry data: the rest of the content is the table of offsets (`fLast` - `fKeylen`).
    pub data_len: usize,
    /// The table holds the entries' sizes instead of their offsets (TBasket §5.2).
    holds_sizes: bool,
    /// How the parts of an embedded basket follow (TBasket §4).
    flag: u8,
    /// Offset just after the header.
    end: usize,
}

/// `kGenerateOffsetMap`, the only feature bit that ROOT defines (TBasket §2.2).
const GENERATE_OFFSETS: u8 = 1;

/// `TBasket`'s class version (TBasket §2).
const VERSION: i16 = 3;
/// Bytes of a basket's own fields, which end its key.
pub(crate) const FIELDS_LEN: u32 = 19;

/// A basket's own fields: `fBufferSize`, `fNevBufSize`, `fNevBuf` and `fLast`, between the version and the flag
/// (root-io-spec WritingTrees §5).
pub(crate) fn basket_fields(numbers: [u32; 4]) -> Vec<u8> {
    let numbers = numbers.into_iter().flat_map(u32::to_be_bytes);
    VERSION.to_be_bytes().into_iter().chain(numbers).chain([0]).collect()
}

impl BasketHeader {
    /// Parses the beginning of a basket's record; `record` may end anywhere after the header.
    ///
    /// # Errors
    /// `Truncated` if the header is not whole, `Corrupt` if it contradicts itself, `Unsupported` if it
    /// asks for a feature that this version does not know. Offsets count from the record's start.
    pub fn parse(record: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(record, 0);
        let record_len = length(&mut cursor, "the record")?;
        let version = cursor.i16()?;
        let object_len = length(&mut cursor, "the content")?;
        cursor.skip(4)?;
        let key_len = usize::from(cursor.u16()?);
        cursor.skip(2 + if version > 1000 { 16 } else { 8 })?;
        for _ in 0..3 {
            cursor.tstring_bytes()?;
        }
        cursor.skip(2 + 4)?;
        let mut entry_size = cursor.i32()?;
        let mut holds_sizes = false;
        if entry_size < 0 {
            entry_size = entry_size.saturating_neg();
            let features = cursor.u8()?;
            if features != GENERATE_OFFSETS {
                return Err(Error::unsupported(format!(
                    "a basket asks for unknown features {features:#04x}"
                ))
                .hint("it was written by a newer ROOT"));
            }
            holds_sizes = true;
        }
        let entries = length(&mut cursor, "the entries")?;
        let last = length(&mut cursor, "the entry data")?;
        let flag = cursor.u8()?;
        let Some(data_len) = last.checked_sub(key_len) else {
            return Err(Error::corrupt(format!(
                "a basket's data end at {last}, inside its key of {key_len} bytes"
            )));
        };
        Ok(BasketHeader {
            record_len,
            object_len,
            key_len,
            entries,
            entry_size: usize::try_from(entry_size).unwrap_or_default(),
            data_len,
            holds_sizes,
            flag,
            end: cursor.position(),
        })
    }

    /// True if entries differ in size, so that the content ends with a table of offsets.
    /// Only for a basket that is a record of its own.
    pub fn has_table(&self) -> bool {
        self.object_len > self.data_len
    }

    /// Checks what the header announces against the record, so that memory can be taken for it:
    /// the blocks of a compressed payload bound its size by their own headers.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated` if they contradict each other.
    pub fn check_record(&self, record: &[u8]) -> Result<()> {
        if self.record_len > record.len() || self.key_len > self.record_len || self.end != self.key_len {
            return Err(Error::corrupt(format!(
                "a basket's header of {} bytes contradicts its key ({} of {} bytes) in a record of {}",
                self.end,
                self.key_len,
                self.record_len,
                record.len()
            )));
        }
        let payload = record.get(self.key_len..self.record_len).unwrap_or_default();
        let available = if is_compressed(self.object_len, payload.len()) {
            uncompressed_len(payload, self.object_len)?
        } else {
            payload.len()
        };
        if self.object_len > available || self.data_len > self.object_len {
            return Err(Error::corrupt(format!(
                "a basket announces {} bytes of entries and {} of content; its payload holds {available}",
                self.data_len, self.object_len
            )));
        }
        Ok(())
    }

    /// True if the table of offsets of a basket that is a record of its own is compressed apart from its entries.
    pub(crate) fn has_table_apart(&self, record: &[u8]) -> bool {
        let payload = record.get(self.key_len..self.record_len).unwrap_or_default();
        self.has_table()
            && !self.holds_sizes
            && is_compressed(self.object_len, payload.len())
            && begins_block(payload, self.object_len, self.data_len)
    }

    /// The entries of a basket whose table is compressed apart, into `place`, which has `data_len` bytes, if it is certain
    /// that the table is this one. Answers whether it is.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Checksum` if it is damaged.
    pub(crate) fn decompress_before(&self, table: &[u8], record: &[u8], place: &mut [u8]) -> Result<bool> {
        let payload = record.get(self.key_len..self.record_len).unwrap_or_default();
        if self.object_len != place.len() + table.len() {
            return Ok(false);
        }
        with_decoder(|decoder| decoder.decode_before(table, payload, place))
    }

    /// The content of a basket that is a record of its own, into `place`, which has `object_len` bytes.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Checksum` if it is damaged.
    pub fn decompress_into(&self, record: &[u8], place: &mut [u8]) -> Result<()> {
        let payload = record.get(self.key_len..self.record_len).ok_or_else(|| {
            Error::corrupt(format!("a basket of {} bytes has a key of {}", self.record_len, self.key_len))
        })?;
        if is_compressed(self.object_len, payload.len()) {
            return with_decoder(|decoder| decoder.decode(payload, place));
        }
        match payload.get(..place.len()) {
            Some(stored) => {
                place.copy_from_slice(stored);
                Ok(())
            }
            None => Err(Error::new(
                ErrorKind::Truncated,
                format!("a basket stores {} bytes and announces {}", payload.len(), place.len()),
            )),
        }
    }
}

/// The same basket as a record whose content is not compressed, so that it can be read several times for the price of one.
///
/// # Errors
/// Those of [`BasketHeader::parse`] and [`BasketHeader::check_record`], and of decompression.
pub fn uncompressed_record(record: &Bytes) -> Result<Bytes> {
    let header = BasketHeader::parse(record)?;
    header.check_record(record)?;
    let len = header.key_len + header.object_len;
    let announced = i32::try_from(len)
        .ok()
        .filter(|_| is_compressed(header.object_len, header.record_len - header.key_len));
    let (Some(announced), Some(key)) = (announced, record.get(4..header.key_len)) else {
        return Ok(record.clone());
    };
    let mut plain = Vec::with_capacity(len);
    plain.extend_from_slice(&announced.to_be_bytes());
    plain.extend_from_slice(key);
    plain.resize(len, 0);
    header.decompress_into(record, &mut plain[header.key_len..])?;
    Ok(plain.into())
}

/// The decompressed content of a basket.
#[derive(Debug)]
pub(crate) struct Content<'a> {
    /// The entries, one after the other.
    pub(crate) data: &'a [u8],
    /// Where each begins.
    pub(crate) bounds: Bounds<'a>,
    /// Of a basket that was cut anew, one big-endian word per entry: where the entry began, counted from the key's
    /// start, in the basket that it was written to. References inside the entry count from there.
    pub(crate) origins: Option<&'a [u8]>,
}

/// Where the entries of a basket begin.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bounds<'a> {
    /// All have this size.
    Every(usize),
    /// A table of one big-endian word per entry: its offset from the key's start.
    Table {
        /// Four bytes per entry.
        words: &'a [u8],
        /// `fKeylen`.
        key_len: u32,
        /// What of each word is the offset.
        mask: u32,
    },
    /// A table of one big-endian word per entry: the size of the entry before it.
    Sizes(&'a [u8]),
    /// Not stored: to be made from the counts of another branch (TBasket §5.2).
    FromCounts,
}

impl<'a> Content<'a> {
    /// The content of a basket that is a record of its own; `scratch` holds what must be decompressed.
    pub(crate) fn of_record(
        header: &BasketHeader,
        record: &'a [u8],
        scratch: &'a mut Vec<u8>,
    ) -> Result<Self> {
        let payload = record.get(header.key_len..header.record_len).unwrap_or_default();
        let plain = if !is_compressed(header.object_len, payload.len()) && payload.len() >= header.object_len
        {
            &payload[..header.object_len]
        } else {
            if header.object_len > scratch.len() {
                scratch.resize(header.object_len, 0);
            }
            header.decompress_into(record, &mut scratch[..header.object_len])?;
            &scratch[..header.object_len]
        };
        let (data, table) = plain.split_at_checked(header.data_len).ok_or_else(|| {
            Error::corrupt(format!(
                "a basket announces {} bytes of entries in {} bytes of content",
                header.data_len, header.object_len
            ))
        })?;
        let mut origins = None;
        let bounds = if table.is_empty() {
            if header.flag >= 80 { Bounds::FromCounts } else { Bounds::Every(header.entry_size) }
        } else {
            let mask = if (21..40).contains(&(header.flag % 80)) { 0x00ff_ffff } else { u32::MAX };
            let (bounds, rest) = bounds_of_table(header, table, mask)?;
            // Some writers leave slack behind the table.
            origins = counted_words(header, rest).map(|(words, _)| words);
            bounds
        };
        Ok(Content { data, bounds, origins })
    }

    /// The content of a basket that is stored inside the tree's record (TBasket §4).
    pub(crate) fn of_embedded(header: &BasketHeader, stored: &'a [u8]) -> Result<Self> {
        let mut flag = header.flag;
        let mut bounds = Bounds::Every(header.entry_size);
        if flag >= 80 {
            flag -= 80;
            bounds = Bounds::FromCounts;
        }
        let mut rest = stored.get(header.end..).unwrap_or_default();
        if flag == 0 {
            rest = &[];
        } else if flag % 10 != 2 && matches!(bounds, Bounds::Every(_)) {
            let mask = if (21..40).contains(&flag) { 0x00ff_ffff } else { u32::MAX };
            (bounds, rest) = bounds_of_table(header, rest, mask)?;
        }
        let mut origins = None;
        if flag > 40 {
            let (words, after) = counted_words(header, rest).ok_or_else(|| damaged_table(header))?;
            (origins, rest) = (Some(words), after);
        }
        let data = match rest.get(header.key_len..header.key_len + header.data_len) {
            Some(data) => data,
            None if header.entries == 0 || header.data_len == 0 => &[],
            None => {
                return Err(Error::new(
                    ErrorKind::Truncated,
                    format!("an embedded basket announces {} bytes and has {}", header.data_len, rest.len()),
                ));
            }
        };
        Ok(Content { data, bounds, origins })
    }

    /// Where the wanted entries begin and, last, end: `wanted.len() + 1` offsets into the data.
    pub(crate) fn boundaries(&self, wanted: Range<usize>, out: &mut Vec<usize>) -> Result<()> {
        out.clear();
        match self.bounds {
            Bounds::Every(size) => {
                out.extend((wanted.start..=wanted.end).map(|entry| entry.saturating_mul(size)));
            }
            Bounds::Table { words, key_len, mask } => {
                let words = words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word) & mask);
                let starts = words.map(|word| word.wrapping_sub(key_len) as usize);
                let all = starts.chain([self.data.len()]);
                out.extend(all.skip(wanted.start).take(wanted.len() + 1));
            }
            Bounds::Sizes(words) => {
                let sizes = words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word) as usize);
                let starts = sizes.scan(0, |sum: &mut usize, size| {
                    *sum = sum.saturating_add(size);
                    Some(*sum)
                });
                let all = starts.chain([self.data.len()]);
                out.extend(all.skip(wanted.start).take(wanted.len() + 1));
            }
            Bounds::FromCounts => {
                return Err(Error::unsupported(
                    "a basket does not store the offsets of its entries, and they do not follow from a count",
                ));
            }
        }
        if out.is_sorted() && out.last().is_some_and(|end| *end <= self.data.len()) {
            return Ok(());
        }
        Err(Error::corrupt("the offsets of a basket's entries go backwards or beyond its end"))
    }
}

/// The words of a counted table for `entries` entries, and what follows the table.
fn bounds_of_table<'a>(header: &BasketHeader, table: &'a [u8], mask: u32) -> Result<(Bounds<'a>, &'a [u8])> {
    let (words, rest) = counted_words(header, table).ok_or_else(|| damaged_table(header))?;
    let bounds = if header.holds_sizes {
        Bounds::Sizes(words)
    } else {
        Bounds::Table { words, key_len: u32::try_from(header.key_len).unwrap_or(u32::MAX), mask }
    };
    Ok((bounds, rest))
}

/// One word per entry of a counted table, and what follows the table; `None` if it is not whole.
fn counted_words<'a>(header: &BasketHeader, table: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
    let (count, words) = table.split_first_chunk::<4>()?;
    let len = (u32::from_be_bytes(*count) as usize).checked_mul(4)?;
    let (words, rest) = words.split_at_checked(len)?;
    Some((words.get(..header.entries.checked_mul(4)?)?, rest))
}

fn damaged_table(header: &BasketHeader) -> Error {
    Error::corrupt(format!("the table of offsets of {} entries is damaged", header.entries))
}

/// Reads a number of bytes or entries.
fn length(cursor: &mut Cursor<'_>, what: &str) -> Result<usize> {
    let at = cursor.position();
    let value = cursor.i32()?;
    usize::try_from(value)
        .map_err(|_| cursor.corrupt_at(at, format!("a basket announces {value} for {what}")))
}
