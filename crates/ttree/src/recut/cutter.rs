//! New baskets out of entries.

use super::Entries;
use sapwood_core::{Error, Result};
use std::ops::Range;

/// `TBasket`'s class version (root-io-spec TBasket §2).
const VERSION: i16 = 3;
/// Bytes of the basket's own fields in its key.
const FIELDS: u32 = 19;
/// What begins the first object of any class in an entry: without it, an entry has no references (Buffer §5).
const NEW_CLASS: [u8; 4] = [0xff; 4];

/// A basket that was cut, before compression.
#[derive(Debug, Clone)]
pub struct Cut {
    /// First entry in the new tree.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// What stands in the key behind its strings.
    pub fields: Vec<u8>,
    /// Entries and tables.
    pub content: Vec<u8>,
    /// Bytes of the entries.
    pub data_len: usize,
}

/// Makes baskets of one branch, entry by entry.
#[derive(Debug)]
pub struct Cutter {
    /// A basket is closed before it has more bytes.
    limit: usize,
    /// Bytes of the key in front, without the basket's own fields.
    key_len: u32,
    /// `fEntryOffsetLen`; 0 if all entries have one size, and no table tells where they begin.
    offset_len: i32,
    /// True if entries of this branch can have references inside.
    has_references: bool,
    first_entry: u64,
    data: Vec<u8>,
    starts: Vec<u32>,
    origins: Vec<u32>,
    /// True if one of the entries came from a basket that was cut anew before.
    displaced: bool,
}

impl Cutter {
    /// Cuts baskets of at most `limit` bytes (or one entry), with a key of `key_len` bytes before the basket's own
    /// fields. `offset_len` is the branch's `fEntryOffsetLen`; `has_references` is false if its entries are known to be
    /// numbers.
    pub fn new(limit: usize, key_len: u32, offset_len: i32, has_references: bool) -> Cutter {
        Cutter {
            limit: limit.max(1),
            key_len: key_len.saturating_add(FIELDS),
            offset_len,
            has_references,
            first_entry: 0,
            data: Vec::new(),
            starts: Vec::new(),
            origins: Vec::new(),
            displaced: false,
        }
    }

    /// Adds consecutive entries of a basket. Those that become full are put in `out`.
    ///
    /// # Errors
    /// `Unsupported` if the entries differ in size and the branch has no tables.
    pub fn add(&mut self, entries: &Entries, range: Range<usize>, out: &mut Vec<Cut>) -> Result<()> {
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

    /// How many of some entries still go in.
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
        let base = self.data.len();
        let begin = entries.starts_from(range.start).first().copied().unwrap_or(0) as usize;
        let starts = entries.starts_from(range.start).iter().take(range.len());
        for &start in starts {
            let start = u32::try_from(base + start as usize - begin).map_err(|_| too_long())?;
            self.starts.push(start);
        }
        self.data.extend_from_slice(bytes);
        self.origins.extend_from_slice(entries.origins(range));
        self.displaced |= entries.displaced();
        Ok(())
    }

    /// Bytes that are held.
    pub fn held(&self) -> usize {
        self.data.len() + 8 * self.starts.len()
    }

    /// The basket of the entries that wait, if there are any: the next entry begins another one.
    ///
    /// # Errors
    /// `Unsupported` if the entries differ in size and the branch has no tables.
    pub fn close(&mut self) -> Result<Option<Cut>> {
        let entries = self.starts.len();
        if entries == 0 {
            return Ok(None);
        }
        let last = u32::try_from(self.data.len()).ok().and_then(|len| len.checked_add(self.key_len));
        let last = last.and_then(|last| i32::try_from(last).ok()).ok_or_else(too_long)?;
        let count = i32::try_from(entries).map_err(|_| too_long())?;
        let entry_size = self.entry_size()?;
        let mut content = std::mem::take(&mut self.data);
        let data_len = content.len();
        if self.offset_len != 0 {
            let starts = self.starts.iter().map(|start| start + self.key_len);
            let moved = self.has_references
                && starts.clone().ne(self.origins.iter().copied())
                && (self.displaced || content.windows(4).any(|word| word == NEW_CLASS));
            table(&mut content, count, starts);
            if moved {
                table(&mut content, count, self.origins.iter().copied());
            }
        }
        let mut fields = Vec::with_capacity(FIELDS as usize);
        fields.extend(VERSION.to_be_bytes());
        for word in [last, entry_size, count, last] {
            fields.extend(word.to_be_bytes());
        }
        fields.push(0);
        let first_entry = self.first_entry;
        self.first_entry += entries as u64;
        self.starts.clear();
        self.origins.clear();
        self.displaced = false;
        Ok(Some(Cut { first_entry, entries: entries as u64, fields, content, data_len }))
    }

    /// `fNevBufSize`: the size of each entry or, with a table, the room that its writer had for it (TBasket §2.1).
    fn entry_size(&self) -> Result<i32> {
        let entries = self.starts.len();
        if self.offset_len != 0 {
            return i32::try_from(entries + 1).map(|room| room.max(self.offset_len)).map_err(|_| too_long());
        }
        let size = self.data.len() / entries.max(1);
        let even = self.starts.iter().enumerate().all(|(index, &start)| start as usize == index * size);
        match i32::try_from(size) {
            Ok(size) if even => Ok(size),
            _ => Err(Error::unsupported(
                "the entries of a branch differ in size, and it has no tables that tell them",
            )
            .hint("such baskets can be copied whole: give no basket or cluster size and no entries")),
        }
    }
}

/// Appends a table: its length, one word per entry, and one more without a meaning (TBasket §5.1).
fn table(content: &mut Vec<u8>, count: i32, words: impl Iterator<Item = u32>) {
    content.extend(count.saturating_add(1).to_be_bytes());
    words.for_each(|word| content.extend(word.to_be_bytes()));
    content.extend([0; 4]);
}

fn too_long() -> Error {
    Error::unsupported("an entry is too long for a basket")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record of a cut with a key without strings.
    fn record(cut: &Cut) -> Vec<u8> {
        let key_len = 34 + 3 + cut.fields.len();
        let mut bytes = i32::try_from(key_len + cut.content.len()).unwrap().to_be_bytes().to_vec();
        bytes.extend(1004_u16.to_be_bytes());
        bytes.extend(i32::try_from(cut.content.len()).unwrap().to_be_bytes());
        bytes.extend([0; 4]);
        bytes.extend(u16::try_from(key_len).unwrap().to_be_bytes());
        bytes.extend([0; 2 + 16 + 3]);
        bytes.extend(&cut.fields);
        bytes.extend(&cut.content);
        bytes
    }

    fn all(cutter: &mut Cutter, entries: &Entries, sizes: &[usize]) -> Vec<Cut> {
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
            entries = Entries::parse(&record(&cut), false).unwrap();
        }
        entries
    }

    #[test]
    fn entries_stay_the_same_whatever_the_cut() {
        let entries = rising(20);
        assert_eq!(entries.len(), 20);
        for limit in [1, 10, 50, 1000] {
            let cuts = all(&mut Cutter::new(limit, 37, 1000, true), &entries, &[20]);
            let again: Vec<_> = cuts.iter().map(|cut| Entries::parse(&record(cut), false).unwrap()).collect();
            assert_eq!(bytes(&again), bytes(std::slice::from_ref(&entries)), "{limit}");
            assert_eq!(cuts.iter().map(|cut| cut.entries).sum::<u64>(), 20);
            assert!(cuts.iter().all(|cut| cut.entries == 1 || cut.content.len() <= limit + 8), "{limit}");
        }
    }

    #[test]
    fn an_entry_with_references_says_where_it_stood() {
        let mut cutter = Cutter::new(usize::MAX, 37, 1000, true);
        cutter.data.extend([1, 2, 3, 0xff, 0xff, 0xff, 0xff, 9]);
        cutter.starts.extend([0, 3]);
        cutter.origins.extend([56, 59]);
        let first = Entries::parse(&record(&cutter.close().unwrap().unwrap()), false).unwrap();
        assert!(!first.displaced());
        let cut = |cutter: &mut Cutter, from: &Entries, range| {
            let mut out = Vec::new();
            cutter.add(from, range, &mut out).unwrap();
            Entries::parse(&record(&cutter.close().unwrap().unwrap()), false).unwrap()
        };
        let moved = cut(&mut Cutter::new(usize::MAX, 37, 1000, true), &first, 1..2);
        assert_eq!((moved.displaced(), moved.origins(0..1)), (true, &[59][..]));
        // And so it does when it is moved again.
        let mut cutter = Cutter::new(usize::MAX, 37, 1000, true);
        cutter.add(&first, 0..2, &mut Vec::new()).unwrap();
        let again = cut(&mut cutter, &moved, 0..1);
        assert_eq!((again.displaced(), again.origins(0..3)), (true, &[56, 59, 59][..]));
        let numbers = cut(&mut Cutter::new(usize::MAX, 37, 1000, false), &first, 1..2);
        assert!(!numbers.displaced());
    }

    #[test]
    fn entries_of_one_size_need_no_table() {
        let mut cutter = Cutter::new(12, 37, 0, false);
        cutter.data.extend([0; 40]);
        cutter.starts.extend((0..10).map(|i| i * 4));
        cutter.origins.extend([0; 10]);
        let entries = Entries::parse(&record(&cutter.close().unwrap().unwrap()), false).unwrap();
        let cuts = all(&mut Cutter::new(12, 37, 0, false), &entries, &[10]);
        assert_eq!(cuts.iter().map(|cut| cut.entries).collect::<Vec<_>>(), [3, 3, 3, 1]);
        let uneven = rising(3);
        let mut out = Vec::new();
        let mut cutter = Cutter::new(100, 37, 0, false);
        cutter.add(&uneven, 0..3, &mut out).unwrap();
        assert!(cutter.close().is_err());
    }
}
