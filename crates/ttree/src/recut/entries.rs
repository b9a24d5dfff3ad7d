//! Splits a basket into its entries.

use super::References;
use super::references::Tags;
use crate::BasketHeader;
use crate::basket::{Bounds, Content};
use bytes::Bytes;
use sapwood_core::{Error, Result};
use std::ops::Range;

/// The entries of a basket.
#[derive(Debug, Clone, Default)]
pub struct Entries {
    pub(super) data: Bytes,
    /// The start of each in `data`, and the end of the last.
    pub(super) starts: Vec<u32>,
    /// The offset of each in the buffer that it was first written to, counted from the start of the key.
    pub(super) origins: Vec<u32>,
    /// The words in `data` that are relative to the origins.
    pub(super) tags: Tags,
}

impl Entries {
    /// Splits a basket, either a record or a basket embedded in a tree's record. `references` are those of
    /// its branch. The entries of an uncompressed record share its memory.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated` or `Checksum` if it is damaged; `Unsupported` if it does not store the offsets
    /// of its entries.
    pub fn parse(bytes: &Bytes, embedded: bool, references: &References) -> Result<Entries> {
        let header = BasketHeader::parse(bytes)?;
        let mut scratch = Vec::new();
        let content = if embedded {
            Content::of_embedded(&header, bytes)?
        } else {
            header.check_record(bytes)?;
            Content::of_record(&header, bytes, &mut scratch)?
        };
        let starts = starts(&header, &content)?;
        let key_len = u32::try_from(header.key_len).map_err(|_| too_long())?;
        let origins: Vec<u32> = match content.origins {
            Some(words) => words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word)).collect(),
            None => starts.iter().take(header.entries).map(|start| start.wrapping_add(key_len)).collect(),
        };
        let tags = references.find(content.data, places(&starts, &origins));
        let len = content.data.len();
        // The scratch memory stays empty where nothing is compressed.
        let data = if embedded {
            Bytes::copy_from_slice(content.data)
        } else if scratch.is_empty() {
            bytes.slice(header.key_len..header.key_len + len)
        } else {
            scratch.truncate(len);
            scratch.into()
        };
        Ok(Entries { data, starts, origins, tags })
    }

    /// Entries from another source: their concatenated bytes, the start of each and the end of the last, and
    /// the offset of each in the buffer that it was first written to. `references` are those of the branch.
    ///
    /// # Errors
    /// `Corrupt` if these are inconsistent.
    pub fn new(
        data: Vec<u8>,
        starts: Vec<u32>,
        origins: Vec<u32>,
        references: &References,
    ) -> Result<Entries> {
        let ends = starts.last().is_some_and(|&end| end as usize == data.len());
        if !ends || !starts.is_sorted() || starts.len() != origins.len() + 1 {
            return Err(Error::corrupt("the starts of entries do not match their data"));
        }
        let tags = references.find(&data, places(&starts, &origins));
        Ok(Entries { data: data.into(), starts, origins, tags })
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.origins.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.origins.is_empty()
    }

    /// Why the entries cannot move, if they have references that cannot be found.
    pub fn immovable(&self) -> Option<&str> {
        match &self.tags {
            Tags::At(_) => None,
            Tags::Unknown(why) => Some(why),
        }
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        self.data.len() + 8 * self.starts.len()
    }

    /// The bytes of an entry; none beyond the last.
    pub fn entry(&self, index: usize) -> &[u8] {
        self.range(index..index + 1)
    }

    /// The bytes of consecutive entries.
    pub fn range(&self, entries: Range<usize>) -> &[u8] {
        let bound = |index: usize| self.starts.get(index).map(|&start| start as usize);
        let range = bound(entries.start).zip(bound(entries.end));
        range.and_then(|(from, to)| self.data.get(from..to)).unwrap_or_default()
    }

    /// The starts of the entries from `from` on.
    pub(super) fn starts_from(&self, from: usize) -> &[u32] {
        self.starts.get(from..).unwrap_or_default()
    }

    /// The original offsets of some entries.
    pub fn origins(&self, entries: Range<usize>) -> &[u32] {
        self.origins.get(entries).unwrap_or_default()
    }
}

/// The start of each entry in the data, and the end of the last.
fn starts(header: &BasketHeader, content: &Content<'_>) -> Result<Vec<u32>> {
    let entries = header.entries;
    let bounds = match content.bounds {
        Bounds::Every(size) => Bounds::Every(size_of_each(size, entries, content.data.len())?),
        Bounds::FromCounts => {
            return Err(Error::unsupported("a basket does not store the offsets of its entries").hint(
                "such baskets can only be copied whole: pass no basket size, cluster size or entry range",
            ));
        }
        stored => stored,
    };
    let mut starts = Vec::new();
    Content { bounds, ..*content }.boundaries(0..entries, &mut starts)?;
    starts.into_iter().map(|start| u32::try_from(start).map_err(|_| too_long())).collect()
}

/// The size of each entry if all have the same: that in the header, if it matches the data.
fn size_of_each(size: usize, entries: usize, len: usize) -> Result<usize> {
    if size.checked_mul(entries) == Some(len) {
        return Ok(size);
    }
    match len.checked_div(entries) {
        Some(each) if each * entries == len => Ok(each),
        None => Ok(0),
        Some(_) => Err(Error::unsupported(format!(
            "a basket holds {entries} entries in {len} bytes without their offsets"
        ))
        .hint("such baskets can only be copied whole: pass no basket size, cluster size or entry range")),
    }
}

/// The range of each entry in the data, and its origin.
pub(super) fn places<'e>(
    starts: &'e [u32],
    origins: &'e [u32],
) -> impl Iterator<Item = (Range<usize>, u32)> + 'e {
    let ranges = starts.iter().zip(starts.iter().skip(1)).map(|(from, to)| *from as usize..*to as usize);
    ranges.zip(origins.iter().copied())
}

fn too_long() -> Error {
    Error::corrupt("a basket is too long for its offsets")
}
