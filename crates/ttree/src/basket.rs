//! One basket: its header, which is never compressed, and its content.

use bytes::Bytes;
use sapwood_codec::{begins_block, is_compressed, uncompressed_len, with_decoder};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_tfile::Cursor;
use std::ops::Range;

/// The key and the header of a basket, which are never compressed (root-io-spec TBasket §1-4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasketHeader {
    /// Bytes of the record, key included (`fNbytes`).
    pub record_len: usize,
    /// Bytes of the content after decompression (`fObjlen`).
    pub object_len: usize,
    /// Bytes of key and basket header (`fKeylen`); offsets inside the basket count from the start of the key.
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
    /// `Truncated` if the header is incomplete, `Corrupt` if it is inconsistent, `Unsupported` if it requires
    /// an unknown feature. Offsets count from the start of the record.
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
                    "a basket requires unknown features {features:#04x}"
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

    /// True if entries differ in size, so that the content ends with a table of offsets. Only for a basket
    /// with its own record.
    pub fn has_table(&self) -> bool {
        self.object_len > self.data_len
    }

    /// Checks the lengths in the header against the record before memory is allocated for them: the block
    /// headers of a compressed payload bound its size.
    ///
    /// # Errors
    /// `Corrupt` or `Truncated` if they are inconsistent.
    pub fn check_record(&self, record: &[u8]) -> Result<()> {
        if self.record_len > record.len() || self.key_len > self.record_len || self.end != self.key_len {
            return Err(Error::corrupt(format!(
                "a basket's header of {} bytes does not match its key ({} of {} bytes) in a record of {}",
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
                "a basket's header states {} bytes of entries and {} of content; its payload holds {available}",
                self.data_len, self.object_len
            )));
        }
        Ok(())
    }

    /// True if the offset table of a basket with its own record is compressed separately from its entries.
    pub(crate) fn has_table_apart(&self, record: &[u8]) -> bool {
        let payload = record.get(self.key_len..self.record_len).unwrap_or_default();
        self.has_table()
            && !self.holds_sizes
            && is_compressed(self.object_len, payload.len())
            && begins_block(payload, self.object_len, self.data_len)
    }

    /// Decompresses the entries of a basket whose offset table is compressed separately into `place`, of
    /// `data_len` bytes, if a checksum confirms that the table is `table`. Returns whether it does.
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

    /// Decompresses the content of a basket with its own record into `place`, of `object_len` bytes.
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
                format!("a basket stores {} bytes; its header states {}", payload.len(), place.len()),
            )),
        }
    }
}

/// The same basket as an uncompressed record, so that reading it repeatedly costs one decompression.
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
    /// The bytes of all entries.
    pub(crate) data: &'a [u8],
    /// The bounds of each entry.
    pub(crate) bounds: Bounds<'a>,
    /// For a re-split basket, one big-endian word per entry: the offset of the entry, counted from the start
    /// of the key, in the basket that it was first written to. References inside the entry count from there.
    pub(crate) origins: Option<&'a [u8]>,
}

/// The bounds of the entries of a basket.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Bounds<'a> {
    /// All entries have this size.
    Every(usize),
    /// A table of one big-endian word per entry: its offset from the start of the key.
    Table {
        /// Four bytes per entry.
        words: &'a [u8],
        /// `fKeylen`.
        key_len: u32,
        /// The bits of each word that hold the offset.
        mask: u32,
    },
    /// A table of one big-endian word per entry: the size of the entry before it.
    Sizes(&'a [u8]),
    /// Not stored; computed from the counts of another branch (TBasket §5.2).
    FromCounts,
}

impl<'a> Content<'a> {
    /// The content of a basket with its own record; `scratch` holds the bytes if they are compressed.
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
                "a basket's header states {} bytes of entries in {} bytes of content",
                header.data_len, header.object_len
            ))
        })?;
        let mut origins = None;
        let bounds = if table.is_empty() {
            if header.flag >= 80 { Bounds::FromCounts } else { Bounds::Every(header.entry_size) }
        } else {
            let mask = if (21..40).contains(&(header.flag % 80)) { 0x00ff_ffff } else { u32::MAX };
            let (bounds, rest) = bounds_of_table(header, table, mask)?;
            // Some writers leave unused bytes after the table.
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
                    format!(
                        "the header of an embedded basket states {} bytes; it has {}",
                        header.data_len,
                        rest.len()
                    ),
                ));
            }
        };
        Ok(Content { data, bounds, origins })
    }

    /// The start of each wanted entry and the end of the last: `wanted.len() + 1` offsets into the data.
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

/// The bounds in a counted table, and the bytes after the table.
fn bounds_of_table<'a>(header: &BasketHeader, table: &'a [u8], mask: u32) -> Result<(Bounds<'a>, &'a [u8])> {
    let (words, rest) = counted_words(header, table).ok_or_else(|| damaged_table(header))?;
    let bounds = if header.holds_sizes {
        Bounds::Sizes(words)
    } else {
        Bounds::Table { words, key_len: u32::try_from(header.key_len).unwrap_or(u32::MAX), mask }
    };
    Ok((bounds, rest))
}

/// One word per entry of a counted table, and the bytes after the table; `None` if it is incomplete.
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
        .map_err(|_| cursor.corrupt_at(at, format!("a basket's header states {value} for {what}")))
}
