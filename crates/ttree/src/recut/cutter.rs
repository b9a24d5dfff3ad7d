//! New baskets out of entries.

use super::Entries;
use super::references::{Tags, shift};
use crate::basket::{FIELDS_LEN, basket_fields};
use sapwood_core::{Error, Result};
use std::ops::Range;

/// A re-split basket before compression.
#[derive(Debug, Clone)]
pub struct NewBasket {
    /// First entry in the new tree.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// The basket's own fields, after the strings of the key.
    pub fields: Vec<u8>,
    /// Entries and tables.
    pub content: Vec<u8>,
    /// Bytes of the entries.
    pub data_len: usize,
}

/// Makes baskets of one branch, entry by entry.
#[derive(Debug)]
pub struct Cutter {
    /// Maximum size of a basket.
    limit: usize,
    /// Length of the key, with the basket's own fields.
    key_len: u32,
    /// `fEntryOffsetLen`; 0 if all entries have one size and there is no offset table.
    offset_len: i32,
    /// True if baskets may record the original offsets of their entries, which ROOT cannot read for all
    /// objects.
    may_displace: bool,
    first_entry: u64,
    data: Vec<u8>,
    starts: Vec<u32>,
    /// The offset from which references in each entry count.
    origins: Vec<u32>,
    /// Why some entries have references that could not be adjusted.
    immovable: Option<String>,
}

impl Cutter {
    /// Makes baskets of at most `limit` bytes (or one entry), with a key of `key_len` bytes before the
    /// basket's own fields. `offset_len` is the branch's `fEntryOffsetLen`. With `may_displace`, entries
    /// whose references cannot be found are also moved, and their basket records their original offsets:
    /// sapwood reads these; ROOT also adds the distance to null pointers, and then crashes.
    pub fn new(limit: usize, key_len: u32, offset_len: i32, may_displace: bool) -> Cutter {
        Cutter {
            limit: limit.max(1),
            key_len: key_len.saturating_add(FIELDS_LEN),
            offset_len,
            may_displace,
            first_entry: 0,
            data: Vec::new(),
            starts: Vec::new(),
            origins: Vec::new(),
            immovable: None,
        }
    }

    /// Skips entries whose basket is copied whole. No entries may be pending.
    pub fn pass(&mut self, entries: u64) {
        self.first_entry += entries;
    }

    /// True if all entries of a basket would keep their offsets as the first entries of a new basket.
    pub fn fits(&self, entries: &Entries) -> bool {
        let starts = entries.starts.iter().map(|start| start + self.key_len);
        starts.take(entries.len()).eq(entries.origins.iter().copied())
    }

    /// Adds consecutive entries of a basket; appends full baskets to `out`.
    ///
    /// # Errors
    /// `Unsupported` if the entries differ in size and the branch has no tables, or if they hold references that cannot
    /// be found.
    pub fn add(&mut self, entries: &Entries, range: Range<usize>, out: &mut Vec<NewBasket>) -> Result<()> {
        let mut next = range.start;
        while next < range.end {
            let fit = self.fit(entries, next..range.end);
            if fit == 0 {
                out.extend(self.close()?);
                continue;
            }
            self.push(entries, next..next + fit)?;
            next += fit;
        }
        Ok(())
    }

    /// How many of the entries fit in the open basket.
    fn fit(&self, entries: &Entries, range: Range<usize>) -> usize {
        let begin = entries.starts_from(range.start).first().copied().unwrap_or(0) as usize;
        let ends = entries.starts_from(range.start + 1).iter().take(range.len());
        let table = if self.offset_len == 0 { 0 } else { 4 };
        let room = self.limit.saturating_sub(self.data.len() + table * self.starts.len());
        let fits = ends
            .enumerate()
            .take_while(|(i, end)| (**end as usize - begin) + table * (i + 1) <= room)
            .count();
        if fits == 0 && self.starts.is_empty() { 1 } else { fits }
    }

    fn push(&mut self, entries: &Entries, range: Range<usize>) -> Result<()> {
        let bytes = entries.range(range.clone());
        let (base, first) = (self.data.len(), self.starts.len());
        let begin = entries.starts_from(range.start).first().copied().unwrap_or(0) as usize;
        let starts = entries.starts_from(range.start).iter().take(range.len());
        for &start in starts {
            let start = u32::try_from(base + start as usize - begin).map_err(|_| too_long())?;
            self.starts.push(start);
        }
        self.data.extend_from_slice(bytes);
        let new = self.starts.get(first..).unwrap_or_default().iter().map(|start| start + self.key_len);
        match &entries.tags {
            Tags::At(tags) => {
                self.origins.extend(new);
                let last = begin + bytes.len();
                let from = tags.partition_point(|&tag| (tag as usize) < begin);
                for tag in tags.iter().skip(from).map(|&tag| tag as usize).take_while(|&tag| tag < last) {
                    self.shift(entries, tag, base + tag - begin)?;
                }
            }
            Tags::Unknown(why) => {
                self.origins.extend_from_slice(entries.origins(range));
                self.immovable.get_or_insert_with(|| why.clone());
            }
        }
        Ok(())
    }

    /// Adjusts a tag that moves from the position `old` in the bytes of `entries` to `new`, so that it names
    /// the same object.
    fn shift(&mut self, entries: &Entries, old: usize, new: usize) -> Result<()> {
        let index = entries.starts.partition_point(|&start| start as usize <= old).saturating_sub(1);
        let (Some(&start), Some(&origin)) = (entries.starts.get(index), entries.origins.get(index)) else {
            return Err(Error::corrupt("a reference is outside of all entries"));
        };
        let position = self.key_len as usize + new - (old - start as usize);
        let word = self.data.get_mut(new..).unwrap_or_default();
        shift(word, position as i64 - i64::from(origin)).ok_or_else(too_long)
    }

    /// Bytes of memory in use.
    pub fn held(&self) -> usize {
        self.data.len() + 8 * self.starts.len()
    }

    /// Closes the open basket and returns it, if it has entries.
    ///
    /// # Errors
    /// `Unsupported` if the entries differ in size and the branch has no tables.
    pub fn close(&mut self) -> Result<Option<NewBasket>> {
        let entries = self.starts.len();
        if entries == 0 {
            return Ok(None);
        }
        let fields = fields(&self.starts, self.data.len(), self.key_len, self.offset_len)?;
        let mut content = std::mem::take(&mut self.data);
        let data_len = content.len();
        let starts = || self.starts.iter().map(|start| start + self.key_len);
        let displaced = self.immovable.take().filter(|_| starts().ne(self.origins.iter().copied()));
        if let Some(why) = displaced.as_ref().filter(|_| !self.may_displace || self.offset_len == 0) {
            return Err(immovable(why));
        }
        if self.offset_len != 0 {
            table(&mut content, starts());
            if displaced.is_some() {
                table(&mut content, self.origins.iter().copied());
            }
        }
        let first_entry = self.first_entry;
        self.first_entry += entries as u64;
        self.starts.clear();
        self.origins.clear();
        Ok(Some(NewBasket { first_entry, entries: entries as u64, fields, content, data_len }))
    }
}

/// The own fields of a basket with entries at these starts in `data_len` bytes, and a key of `key_len` bytes.
///
/// # Errors
/// `Unsupported` if the entries differ in size and the branch has no tables.
pub(super) fn fields(starts: &[u32], data_len: usize, key_len: u32, offset_len: i32) -> Result<Vec<u8>> {
    let last = u32::try_from(data_len).ok().and_then(|len| len.checked_add(key_len));
    let last = last.and_then(|last| i32::try_from(last).ok()).ok_or_else(too_long)?;
    let count = i32::try_from(starts.len()).map_err(|_| too_long())?;
    let entry_size = entry_size(starts, data_len, offset_len)?;
    Ok(basket_fields([last, entry_size, count, last].map(i32::cast_unsigned)))
}

/// `fNevBufSize`: the size of each entry or, with a table, the capacity of that table (TBasket §2.1).
fn entry_size(starts: &[u32], data_len: usize, offset_len: i32) -> Result<i32> {
    let entries = starts.len();
    if offset_len != 0 {
        return i32::try_from(entries + 1).map(|room| room.max(offset_len)).map_err(|_| too_long());
    }
    let size = data_len / entries.max(1);
    let even = starts.iter().enumerate().all(|(index, &start)| start as usize == index * size);
    match i32::try_from(size) {
        Ok(size) if even => Ok(size),
        _ => Err(Error::unsupported("the entries of a branch differ in size, and it has no offset tables")
            .hint("such baskets can only be copied whole: pass no basket size, cluster size or entry range")),
    }
}

/// Appends a table: its length, one word per entry, and one word without meaning (TBasket §5.1).
pub(super) fn table(content: &mut Vec<u8>, words: impl ExactSizeIterator<Item = u32>) {
    let count = i32::try_from(words.len()).unwrap_or(i32::MAX);
    content.reserve(4 * words.len() + 8);
    content.extend(count.saturating_add(1).to_be_bytes());
    words.for_each(|word| content.extend(word.to_be_bytes()));
    content.extend([0; 4]);
}

fn immovable(why: &str) -> Error {
    Error::unsupported(format!("the entries of a branch cannot be moved: {why}"))
        .hint("drop the branch, or copy all of its entries")
}

pub(super) fn too_long() -> Error {
    Error::unsupported("an entry is too long for a basket")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recut::References;
    use bytes::Bytes;
    use sapwood_streamer::Compiler;
    use sapwood_tfile::StreamerInfos;
    use std::sync::Arc;

    /// The record of a cut with a key without strings.
    fn record(cut: &NewBasket) -> Bytes {
        let key_len = 34 + 3 + cut.fields.len();
        let mut bytes = i32::try_from(key_len + cut.content.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(1004_u16.to_be_bytes());
        bytes.extend(i32::try_from(cut.content.len()).unwrap().to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(u16::try_from(key_len).unwrap().to_be_bytes());
        bytes.extend([0; 2 + 16 + 3]);
        bytes.extend(&cut.fields);
        bytes.extend(&cut.content);
        bytes.into()
    }

    fn all(cutter: &mut Cutter, entries: &Entries, sizes: &[usize]) -> Vec<NewBasket> {
        let (mut out, mut next) = (Vec::new(), 0);
        for size in sizes {
            cutter.add(entries, next..next + size, &mut out).unwrap();
            next += size;
        }
        out.extend(cutter.close().unwrap());
        out
    }

    fn bytes(baskets: &[Entries]) -> Vec<Vec<u8>> {
        baskets.iter().flat_map(|one| (0..one.len()).map(|i| one.entry(i).to_vec())).collect()
    }

    /// Entries of 0, 1, 2, … bytes.
    fn rising(count: usize) -> Entries {
        let mut entries = Entries::default();
        let mut cutter = Cutter::new(usize::MAX, 37, 1000, true);
        for index in 0..count {
            cutter.data.extend(vec![u8::try_from(index).unwrap(); index]);
            cutter.starts.push(u32::try_from(cutter.data.len() - index).unwrap());
            cutter.origins.push(0);
        }
        if let Some(cut) = cutter.close().unwrap() {
            entries = Entries::parse(&record(&cut), false, &References::None).unwrap();
        }
        entries
    }

    #[test]
    fn entries_stay_the_same_whatever_the_cut() {
        let entries = rising(20);
        assert_eq!(entries.len(), 20);
        for limit in [1, 10, 50, 1000] {
            let cuts = all(&mut Cutter::new(limit, 37, 1000, true), &entries, &[20]);
            let again: Vec<_> = cuts
                .iter()
                .map(|cut| Entries::parse(&record(cut), false, &References::None).unwrap())
                .collect();
            assert_eq!(bytes(&again), bytes(std::slice::from_ref(&entries)), "{limit}");
            assert_eq!(cuts.iter().map(|cut| cut.entries).sum::<u64>(), 20);
            assert!(cuts.iter().all(|cut| cut.entries == 1 || cut.content.len() <= limit + 8), "{limit}");
        }
    }

    /// A `TList` as ROOT streams it at a position of its buffer: a text, another text whose class is named by
    /// position, the first text again, by position, and nothing.
    fn list(at: u32) -> Vec<u8> {
        let text = |class: &[u8], text: &[u8]| {
            let object =
                [&[0x40, 0, 0, 16, 0, 1, 0, 1][..], &[0; 8], &[u8::try_from(text.len()).unwrap()], text];
            let object: Vec<u8> = object.concat();
            let count = 0x4000_0000_u32 | u32::try_from(class.len() + object.len()).unwrap();
            [&count.to_be_bytes()[..], class, &object].concat()
        };
        // A byte count, a version, a TObject, a name and a number of items stand before the first object.
        let first = at + 4 + 2 + 10 + 1 + 4;
        let mut items = text(b"\xff\xff\xff\xffTObjString\0", b"abc");
        items.push(0);
        items.extend(text(&(0x8000_0000 | (first + 4 + 2)).to_be_bytes(), b"xyz"));
        items.push(0);
        items.extend((first + 2).to_be_bytes());
        items.push(0);
        items.extend([0; 5]);
        let head = [&[0, 5, 0, 1][..], &[0; 8], &[0], &[0, 0, 0, 4]].concat();
        let count = 0x4000_0000_u32 | u32::try_from(head.len() + items.len()).unwrap();
        [&count.to_be_bytes()[..], &head, &items].concat()
    }

    fn lists(positions: &[u32]) -> (Vec<u8>, Vec<u32>) {
        let (mut data, mut starts) = (Vec::new(), vec![0]);
        for position in positions {
            data.extend(list(*position));
            starts.push(u32::try_from(data.len()).unwrap());
        }
        (data, starts)
    }

    fn described() -> References {
        let program = Compiler::new(StreamerInfos::default()).object("TList", &[]).unwrap();
        References::Described(Arc::new(program))
    }

    fn cut(cutter: &mut Cutter, from: &Entries, range: Range<usize>) -> Result<NewBasket> {
        let mut out = Vec::new();
        cutter.add(from, range, &mut out).unwrap();
        cutter.close().map(Option::unwrap)
    }

    #[test]
    fn references_name_the_same_things_wherever_an_entry_moves() {
        let key_len = 37 + FIELDS_LEN;
        for origins in [[key_len, key_len + 80, key_len + 200], [1000, 2000, 70]] {
            let (data, starts) = lists(&origins);
            let entries = Entries::new(data, starts, origins.to_vec(), &described()).unwrap();
            assert_eq!(entries.immovable(), None);
            for range in [0..3, 1..3, 2..3] {
                let cut =
                    cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &entries, range.clone()).unwrap();
                let len = u32::try_from(list(0).len()).unwrap();
                let places: Vec<u32> = (0..).map(|i| key_len + i * len).take(range.len()).collect();
                assert_eq!(cut.content[..cut.data_len], lists(&places).0, "{range:?}");
                // And nothing says that they ever stood elsewhere.
                assert_eq!(cut.content.len(), cut.data_len + 4 * (range.len() + 2));
            }
        }
    }

    #[test]
    fn entries_whose_references_cannot_be_found_stay_where_they_were() {
        let key_len = 37 + FIELDS_LEN;
        let len = u32::try_from(list(0).len()).unwrap();
        let origins = [key_len, key_len + len];
        let (data, starts) = lists(&origins);
        let entries = Entries::new(data, starts, origins.to_vec(), &References::Undescribed).unwrap();
        assert!(entries.immovable().is_some());
        assert!(cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &entries, 0..2).is_ok());
        let error = cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &entries, 1..2).unwrap_err();
        assert_eq!(error.kind(), sapwood_core::ErrorKind::Unsupported);
        // What only sapwood reads may say where they stood.
        let moved = cut(&mut Cutter::new(usize::MAX, 37, 1000, true), &entries, 1..2).unwrap();
        let moved = Entries::parse(&record(&moved), false, &described()).unwrap();
        assert_eq!((moved.immovable(), moved.origins(0..1)), (None, &origins[1..]));
        let back = cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &moved, 0..1).unwrap();
        assert_eq!(back.content[..back.data_len], list(key_len));
    }

    #[test]
    fn entries_without_class_names_have_no_references() {
        let entries =
            Entries::new(vec![1, 2, 3], vec![0, 1, 3], vec![500, 9], &References::Undescribed).unwrap();
        assert_eq!(entries.immovable(), None);
        let cut = cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &entries, 0..2).unwrap();
        assert_eq!(cut.content.len(), 3 + 4 * 4);
    }

    #[test]
    fn entries_of_one_size_need_no_table() {
        let mut cutter = Cutter::new(12, 37, 0, false);
        cutter.data.extend([0; 40]);
        cutter.starts.extend((0..10).map(|i| i * 4));
        cutter.origins.extend([0; 10]);
        let entries =
            Entries::parse(&record(&cutter.close().unwrap().unwrap()), false, &References::None).unwrap();
        let cuts = all(&mut Cutter::new(12, 37, 0, false), &entries, &[10]);
        assert_eq!(cuts.iter().map(|cut| cut.entries).collect::<Vec<_>>(), [3, 3, 3, 1]);
        let uneven = rising(3);
        let mut out = Vec::new();
        let mut cutter = Cutter::new(100, 37, 0, false);
        cutter.add(&uneven, 0..3, &mut out).unwrap();
        assert!(cutter.close().is_err());
    }
}
