//! An uncompressed basket that is made entry by entry, without a copy.

use super::cutter::{fields, table, too_long};
use super::entries::places;
use super::{Cutter, Entries, References};
use crate::basket::FIELDS_LEN;
use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_tfile::write::NewKey;

/// The record of an uncompressed basket, with room for its key.
#[derive(Debug)]
pub struct BasketRecord {
    record: Vec<u8>,
    /// Bytes of the key, with the basket's own fields.
    key_len: u32,
    /// The start of each entry behind the key.
    starts: Vec<u32>,
    /// The original offset of each entry.
    origins: Vec<u32>,
}

impl BasketRecord {
    /// A basket without entries, and room for the starts of as many as are `expected`.
    pub fn new(key: &NewKey, expected: usize) -> BasketRecord {
        let key_len = key.len().saturating_add(FIELDS_LEN);
        let room = || Vec::with_capacity(expected.saturating_add(1));
        BasketRecord { record: vec![0; key_len as usize], key_len, starts: room(), origins: room() }
    }

    /// Adds an entry. `origin` is its offset in the buffer that it was first written to, counted from the start
    /// of the key; by default, it was first written here.
    ///
    /// # Errors
    /// `Unsupported` if the basket is too long.
    pub fn add(&mut self, entry: &[u8], origin: Option<u32>) -> Result<()> {
        let (start, here) = self.end()?;
        self.starts.push(start);
        self.origins.push(origin.unwrap_or(here));
        self.record.extend_from_slice(entry);
        Ok(())
    }

    /// Bytes of the entries.
    pub fn entry_bytes(&self) -> usize {
        self.record.len() - self.key_len as usize
    }

    /// Makes room for more bytes of entries.
    pub fn reserve(&mut self, bytes: usize) {
        self.record.reserve(bytes);
    }

    /// Where the next entry starts, behind the key and in the record.
    fn end(&self) -> Result<(u32, u32)> {
        let end = u32::try_from(self.record.len()).map_err(|_| too_long())?;
        Ok((end - self.key_len, end))
    }

    /// The record, and its entries. `key` is that of the beginning, `offset_len` the branch's `fEntryOffsetLen`,
    /// and `references` are those of the branch. Only entries with references are copied: they name positions.
    ///
    /// # Errors
    /// `Unsupported` if the entries differ in size and the branch has no tables; `Limit` if the record is too
    /// long; `Corrupt` if there are no entries.
    pub fn finish(self, key: &NewKey, offset_len: i32, references: &References) -> Result<(Bytes, Entries)> {
        let (data_len, _) = self.end()?;
        let BasketRecord { mut record, key_len, mut starts, origins } = self;
        if starts.is_empty() {
            return Err(Error::corrupt("a basket has no entries"));
        }
        let fields = fields(&starts, data_len as usize, key_len, offset_len)?;
        starts.push(data_len);
        let data = key_len as usize..record.len();
        let tags = references.find(record.get(data.clone()).unwrap_or_default(), places(&starts, &origins));
        if !tags.is_empty() {
            let entries = Entries { data: Bytes::from(record).slice(data), starts, origins, tags };
            return Ok((moved(&entries, key, offset_len)?, entries));
        }
        if offset_len != 0 {
            table(&mut record, starts.iter().take(origins.len()).map(|start| start + key_len));
        }
        let content = record.len() - data.start;
        let before = key.before(&fields, content, content)?;
        match record.get_mut(..data.start) {
            Some(place) if place.len() == before.len() => place.copy_from_slice(&before),
            _ => return Err(Error::corrupt("a basket has another key than it was begun with")),
        }
        let record = Bytes::from(record);
        let data = record.slice(data);
        Ok((record, Entries { data, starts, origins, tags }))
    }
}

/// The record of entries with references, which name positions in it.
fn moved(entries: &Entries, key: &NewKey, offset_len: i32) -> Result<Bytes> {
    let mut cutter = Cutter::new(usize::MAX, key.len(), offset_len, true);
    cutter.add(entries, 0..entries.len(), &mut Vec::new())?;
    let cut = cutter.close()?.ok_or_else(|| Error::corrupt("a basket has no entries"))?;
    Ok(key.record(&cut.fields, &cut.content, cut.content.len())?.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::ErrorKind;

    fn made(
        entries: &[(&[u8], Option<u32>)],
        offset_len: i32,
        references: &References,
    ) -> Result<(Bytes, Entries)> {
        let key = NewKey::new("TBasket", "b", "t", true);
        let mut record = BasketRecord::new(&key, entries.len());
        entries.iter().for_each(|(entry, origin)| record.add(entry, *origin).unwrap());
        record.finish(&key, offset_len, references)
    }

    fn bytes(entries: &Entries) -> Vec<&[u8]> {
        (0..entries.len()).map(|index| entries.entry(index)).collect()
    }

    #[test]
    fn the_record_holds_the_entries_with_a_table_of_offsets() {
        let entries: [(&[u8], _); 3] = [(b"abc", None), (b"", None), (b"de", Some(4000))];
        let (record, own) = made(&entries, 1000, &References::Undescribed).unwrap();
        let again = Entries::parse(&record, false, &References::None).unwrap();
        for found in [&own, &again] {
            assert_eq!(bytes(found), [&b"abc"[..], b"", b"de"]);
        }
        // Without references, nothing depends on where an entry was first written.
        assert_eq!(own.origins(2..3), [4000]);
        assert_ne!(again.origins(2..3), [4000]);
        assert_eq!(own.origins(0..2), again.origins(0..2));
    }

    #[test]
    fn entries_of_one_size_need_no_table() {
        let (record, own) = made(&[(b"ab", None), (b"cd", None)], 0, &References::None).unwrap();
        assert!(record.ends_with(b"abcd"));
        assert_eq!(bytes(&Entries::parse(&record, false, &References::None).unwrap()), bytes(&own));
        let uneven = made(&[(b"ab", None), (b"c", None)], 0, &References::None).unwrap_err();
        assert_eq!(uneven.kind(), ErrorKind::Unsupported);
        assert_eq!(made(&[], 0, &References::None).unwrap_err().kind(), ErrorKind::Corrupt);
    }

    #[test]
    fn entries_with_references_keep_their_original_offsets() {
        let entries: [(&[u8], _); 2] = [(b"\xff\xff\xff\xffTNamed\0", Some(700)), (b"x", Some(90))];
        let (record, own) = made(&entries, 1000, &References::Undescribed).unwrap();
        let again = Entries::parse(&record, false, &References::Undescribed).unwrap();
        for found in [&own, &again] {
            assert!(found.immovable().is_some());
            assert_eq!((bytes(found)[1], found.origins(0..2)), (&b"x"[..], &[700, 90][..]));
        }
    }
}
