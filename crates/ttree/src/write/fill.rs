//! Fills the baskets of a branch with entries of a column.

use super::columns::counts;
use super::room;
use super::schema::{BranchSpec, MAX_ENTRY, Storage, VectorItem, item_size};
use super::split::SplitBranch;
use bytes::Bytes;
use sapwood_codec::{Compression, Encoder, Search, with_encoder};
use sapwood_core::{Error, Primitive, Result};
use sapwood_streamer::StoredNumber;
use sapwood_table::write::ColumnView;
use sapwood_tfile::BYTE_COUNT_MASK;
use std::ops::Range;

/// The version that ROOT writes before collections, and before strings that are members.
const COLLECTION_VERSION: u16 = 10;

/// How the entries of a branch become bytes.
#[derive(Debug, Clone)]
enum Encoding {
    /// No bytes: the branches of members have the data.
    Nothing,
    /// The same number of numbers in every entry.
    Numbers { primitive: Primitive, dims: Vec<usize> },
    /// The same with an offset table: arrays that are members, and numbers of objects in vectors.
    Arrays { primitive: Primitive, dims: Vec<usize> },
    /// As many numbers as another branch counts.
    Counted { primitive: Primitive, dims: Vec<usize> },
    /// A string without a header.
    Text,
    /// A string with a header.
    StdString,
    /// Collections: a header, the number of items, the items.
    Vector(VectorItem),
    /// A member that is a vector, of all objects of an entry: one header, then each vector (ReadingEntries
    /// §5.3).
    VectorOfEach(VectorItem),
}

impl Encoding {
    fn of(part: &SplitBranch<'_>) -> Encoding {
        let (member, of_each) = (part.above.is_some(), part.counter.is_some());
        match part.content.clone() {
            Storage::Numbers { primitive, dims } if of_each => Encoding::Counted { primitive, dims },
            Storage::Numbers { primitive, dims } if part.entry_size().is_none() => {
                Encoding::Arrays { primitive, dims }
            }
            Storage::Numbers { primitive, dims } => Encoding::Numbers { primitive, dims },
            Storage::Objects(_) => Encoding::Arrays { primitive: Primitive::I32, dims: vec![] },
            Storage::Counted { primitive, dims, .. } => Encoding::Counted { primitive, dims },
            Storage::StdString if member => Encoding::StdString,
            Storage::Text | Storage::StdString => Encoding::Text,
            Storage::Vector(item) if of_each => Encoding::VectorOfEach(item),
            Storage::Vector(item) => Encoding::Vector(item),
            Storage::Object(_) | Storage::Member { .. } => Encoding::Nothing,
        }
    }
}

/// The open basket of a branch.
#[derive(Debug)]
pub(super) struct Filler {
    content: Encoding,
    /// Size of each entry, if there is no offset table.
    entry_size: Option<usize>,
    compression: Compression,
    /// Bytes of the key before each basket: offsets count from there.
    key_len: usize,
    basket_size: usize,
    data: Vec<u8>,
    /// The start of each entry in the data, if entries differ in size.
    starts: Vec<u32>,
    entries: u32,
    first_entry: u64,
    /// The largest count so far, or the length of the longest string plus 1.
    pub(super) maximum: u64,
    counts: bool,
}

/// A full basket before compression.
#[derive(Debug)]
pub(super) struct FullBasket {
    first_entry: u64,
    entries: u32,
    /// `fNevBufSize`: size of an entry, or capacity of the offset table (root-io-spec WritingTrees §5.1).
    per_entry: u32,
    data_len: usize,
    /// The entries and the offset table.
    content: Vec<u8>,
}

/// A basket as stored in the file, without its key.
#[derive(Debug)]
pub(super) struct CompressedBasket {
    pub(super) first_entry: u64,
    pub(super) entries: u32,
    pub(super) per_entry: u32,
    pub(super) data_len: usize,
    pub(super) object_len: usize,
    pub(super) payload: Bytes,
}

impl FullBasket {
    /// Compresses it. `ends` means that its cluster ends, so that it is written soon.
    pub(super) fn compress(
        self,
        compression: Compression,
        search: Search,
        ends: bool,
    ) -> Result<CompressedBasket> {
        let data_len = self.data_len;
        let (compressed, _) = self.compressed(ends, |encoder, content, room| {
            Ok((encoder.compress_basket(search, content, data_len, compression, room)?, search))
        })?;
        Ok(compressed)
    }

    /// Compresses it, and learns the search for the following ones.
    pub(super) fn compress_and_learn(
        self,
        compression: Compression,
        ends: bool,
    ) -> Result<(CompressedBasket, Search)> {
        let data_len = self.data_len;
        self.compressed(ends, |encoder, content, room| encoder.learn(content, data_len, compression, room))
    }

    fn compressed(
        self,
        ends: bool,
        compress: impl FnOnce(&mut Encoder, &[u8], &mut Vec<u8>) -> Result<(bool, Search)>,
    ) -> Result<(CompressedBasket, Search)> {
        let FullBasket { first_entry, entries, per_entry, data_len, content } = self;
        let object_len = content.len();
        let mut room = room::after();
        let (smaller, search) = with_encoder(|encoder| compress(encoder, &content, &mut room))?;
        let payload = room::hold(if smaller { &room } else { &content }, ends);
        room::give_after(room);
        room::give_before(content);
        Ok((CompressedBasket { first_entry, entries, per_entry, data_len, object_len, payload }, search))
    }
}

impl Filler {
    /// An empty open basket; `counts` if the branch counts the items of others.
    pub(super) fn new(branch: &BranchSpec, part: &SplitBranch<'_>, key_len: usize, counts: bool) -> Filler {
        Filler {
            content: Encoding::of(part),
            entry_size: part.entry_size(),
            compression: branch.compression,
            key_len,
            basket_size: branch.basket_size as usize,
            data: Vec::new(),
            starts: Vec::new(),
            entries: 0,
            first_entry: 0,
            maximum: 0,
            counts,
        }
    }

    /// Resumes after entries in the file.
    pub(super) fn resume_at(&mut self, first_entry: u64, maximum: u64) {
        self.first_entry = first_entry;
        self.maximum = maximum;
    }

    pub(super) fn compression(&self) -> Compression {
        self.compression
    }

    /// Bytes of the entries in the open basket.
    pub(super) fn open_bytes(&self) -> usize {
        self.data.len()
    }

    /// Reuses the memory of another basket of this thread. Call it before a fill that is followed by
    /// [`end`](Self::end).
    pub(super) fn borrow_room(&mut self) {
        if self.data.capacity() == 0 {
            self.data = room::before();
        }
    }

    /// Adds entries of a checked column; appends full baskets to `full`.
    pub(super) fn fill(
        &mut self,
        column: &ColumnView<'_>,
        entries: Range<usize>,
        full: &mut Vec<FullBasket>,
    ) -> Result<()> {
        let lists = |entries: Range<usize>| entries.map(|entry| column.offsets(0).range(entry));
        match self.content.clone() {
            Encoding::Nothing => {}
            Encoding::Numbers { primitive, dims } => self.fixed(primitive, &dims, column, entries, full),
            Encoding::Arrays { primitive, dims } => self.arrays(primitive, &dims, column, entries, full)?,
            Encoding::Counted { primitive, dims } => self.counted(primitive, &dims, column, entries, full)?,
            Encoding::Text => {
                for range in lists(entries) {
                    self.maximum = self.maximum.max(range.len() as u64 + 1);
                    // ROOT writes no bytes for an empty string (WritingTrees §4.5), but also reads one of
                    // length 0; uproot reads only the latter.
                    self.entry(full, |data| put_text(data, column, 0, range))?;
                }
            }
            Encoding::StdString => {
                for range in lists(entries) {
                    self.entry(full, |data| headed(data, |data| put_text(data, column, 0, range)))?;
                }
            }
            Encoding::Vector(item) => {
                for range in lists(entries) {
                    self.entry(full, |data| headed(data, |data| put_list(data, &item, column, 1, range)))?;
                }
            }
            Encoding::VectorOfEach(item) => {
                let item = VectorItem::Vector(Box::new(item));
                for range in lists(entries) {
                    self.entry(full, |data| headed(data, |data| put_items(data, &item, column, 1, range)))?;
                }
            }
        }
        Ok(())
    }

    /// Closes the open basket, if it has entries, at the end of a cluster, and frees its memory.
    pub(super) fn end(&mut self, full: &mut Vec<FullBasket>) {
        self.close(full, 0);
        self.starts = Vec::new();
        // Memory that was reused for a branch without bytes, such as that of an object.
        room::give_before(std::mem::take(&mut self.data));
    }

    /// Closes the open basket, if it has entries, and reserves `room` bytes for the next one.
    fn close(&mut self, full: &mut Vec<FullBasket>, room: usize) {
        if self.entries == 0 {
            return;
        }
        let data_len = self.data.len();
        let next = Vec::with_capacity(room);
        let mut content = std::mem::replace(&mut self.data, next);
        let mut per_entry = self.entries + 1;
        match self.entry_size {
            Some(size) => per_entry = size as u32,
            None => {
                // The table: its length, an offset per entry, and one without meaning (WritingTrees §5.2).
                content.reserve(4 * (self.starts.len() + 2));
                content.extend((self.entries + 1).to_be_bytes());
                content.extend(
                    self.starts.drain(..).flat_map(|start| (start + self.key_len as u32).to_be_bytes()),
                );
                content.extend([0; 4]);
            }
        }
        let (first_entry, entries) = (self.first_entry, self.entries);
        full.push(FullBasket { first_entry, entries, per_entry, data_len, content });
        self.first_entry += u64::from(entries);
        self.entries = 0;
    }

    /// ROOT's rule: true if another entry as long as the last one might not fit.
    fn is_full(&self, data_len: usize, last: usize) -> bool {
        self.key_len + data_len + 2 * 4 * self.starts.len() + last >= self.basket_size
    }

    /// Adds one entry of any size.
    fn entry(
        &mut self,
        full: &mut Vec<FullBasket>,
        write: impl FnOnce(&mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        let start = self.data.len();
        write(&mut self.data)?;
        let len = self.data.len() - start;
        check_size(len)?;
        self.starts.push(start as u32);
        self.entries += 1;
        if self.is_full(self.data.len(), len) {
            self.close(full, self.data.len());
        }
        Ok(())
    }

    fn fixed(
        &mut self,
        primitive: Primitive,
        dims: &[usize],
        column: &ColumnView<'_>,
        entries: Range<usize>,
        full: &mut Vec<FullBasket>,
    ) {
        let size = item_size(primitive, dims);
        let values = column.buffer(0);
        self.count(column, &entries);
        let mut from = entries.start;
        while from < entries.end {
            let room = self.basket_size.saturating_sub(self.key_len + self.data.len() + size);
            let fitting = room.div_ceil(size).max(1);
            let to = entries.end.min(from + fitting);
            put(&mut self.data, values.get(from * size..to * size).unwrap_or_default(), primitive);
            self.entries += (to - from) as u32;
            if to - from == fitting {
                self.close(full, self.data.len());
            }
            from = to;
        }
    }

    /// Adds numbers with an offset table although all entries have one size.
    fn arrays(
        &mut self,
        primitive: Primitive,
        dims: &[usize],
        column: &ColumnView<'_>,
        entries: Range<usize>,
        full: &mut Vec<FullBasket>,
    ) -> Result<()> {
        let size = item_size(primitive, dims);
        self.count(column, &entries);
        for entry in entries {
            let bytes = column.buffer(0).get(entry * size..(entry + 1) * size).unwrap_or_default();
            self.entry(full, |data| {
                put(data, bytes, primitive);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Updates the maximum of a count branch.
    fn count(&mut self, column: &ColumnView<'_>, entries: &Range<usize>) {
        if self.counts {
            let counts = counts(column).take(entries.end).skip(entries.start);
            self.maximum = counts.max().map_or(0, u64::from).max(self.maximum);
        }
    }

    fn counted(
        &mut self,
        primitive: Primitive,
        dims: &[usize],
        column: &ColumnView<'_>,
        entries: Range<usize>,
        full: &mut Vec<FullBasket>,
    ) -> Result<()> {
        let (offsets, size) = (column.offsets(0), item_size(primitive, dims));
        self.starts.reserve_exact(entries.len().min(self.basket_size / 8));
        let mut entry = entries.start;
        while entry < entries.end {
            let first = offsets.get(entry);
            let mut len = self.data.len();
            let mut ends = false;
            while entry < entries.end && !ends {
                let last = offsets.range(entry).len().saturating_mul(size);
                check_size(last)?;
                self.starts.push(len as u32);
                len += last;
                entry += 1;
                self.entries += 1;
                ends = self.is_full(len, last);
            }
            let items = first * size..offsets.get(entry) * size;
            put(&mut self.data, column.buffer(1).get(items).unwrap_or_default(), primitive);
            if ends {
                self.close(full, self.data.len());
            }
        }
        Ok(())
    }
}

fn check_size(len: usize) -> Result<()> {
    if len <= MAX_ENTRY {
        return Ok(());
    }
    Err(Error::usage(format!("an entry of {len} bytes was given, and ROOT reads at most 1 GB")))
}

/// Appends a string: its length in one byte, or 255 and four bytes, then its bytes (root-io-spec Buffer §7).
fn put_text(data: &mut Vec<u8>, column: &ColumnView<'_>, place: usize, range: Range<usize>) -> Result<()> {
    check_size(range.len())?;
    match range.len() {
        len @ 0..=254 => data.push(len as u8),
        len => {
            data.push(255);
            data.extend((len as u32).to_be_bytes());
        }
    }
    data.extend_from_slice(column.buffer(place + 1).get(range).unwrap_or_default());
    Ok(())
}

/// Appends a byte count, a version, and the bytes that `write` appends.
fn headed(data: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Result<()> {
    let start = data.len();
    data.extend([0; 4]);
    data.extend(COLLECTION_VERSION.to_be_bytes());
    write(data)?;
    let len = data.len() - start - 4;
    check_size(len)?;
    if let Some(place) = data.get_mut(start..start + 4) {
        place.copy_from_slice(&(len as u32 | BYTE_COUNT_MASK).to_be_bytes());
    }
    Ok(())
}

/// Appends a list: the number of its items, and the items, whose first buffer is at `place`.
fn put_list(
    data: &mut Vec<u8>,
    item: &VectorItem,
    column: &ColumnView<'_>,
    place: usize,
    range: Range<usize>,
) -> Result<()> {
    check_size(range.len())?;
    data.extend((range.len() as u32).to_be_bytes());
    put_items(data, item, column, place, range)
}

/// Appends items.
fn put_items(
    data: &mut Vec<u8>,
    item: &VectorItem,
    column: &ColumnView<'_>,
    place: usize,
    range: Range<usize>,
) -> Result<()> {
    match item {
        VectorItem::Number(primitive) => {
            let size = primitive.size();
            let bytes = column.buffer(place).get(range.start * size..range.end * size);
            put(data, bytes.unwrap_or_default(), *primitive);
        }
        VectorItem::String => {
            let offsets = column.offsets(place);
            for string in range {
                put_text(data, column, place, offsets.range(string))?;
            }
        }
        VectorItem::Vector(item) => {
            let offsets = column.offsets(place);
            for list in range {
                put_list(data, item, column, place + 1, offsets.range(list))?;
            }
        }
    }
    Ok(())
}

/// Appends numbers in the byte order of files: swapping bytes is the same both ways.
pub(crate) fn put(data: &mut Vec<u8>, values: &[u8], primitive: Primitive) {
    if primitive.size() == 1 {
        return data.extend_from_slice(values);
    }
    let start = data.len();
    data.resize(start + values.len(), 0);
    StoredNumber::Plain(primitive).decode(values, data.get_mut(start..).unwrap_or_default());
}
