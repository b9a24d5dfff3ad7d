//! The records of a file, one behind the other, out of windows of bytes that come in the order of the file.

use super::index::Item;
use bytes::{Bytes, BytesMut};
use sapwood_core::ByteRange;
use sapwood_tfile::Key;
use std::ops::Range;

/// Records that nothing refers to are looked into up to this size; nobody reads them.
const LARGEST_UNOWNED: u64 = 64 << 20;
/// Bytes of a key that say how long it is.
const KEY_START: usize = 18;
/// Most bytes that a key can have (`fKeylen` is a 16-bit number).
const LARGEST_KEY: usize = 1 << 15;

/// Something that the walk met.
#[derive(Debug)]
pub(super) enum Met {
    /// A record. `items` are the things that the index has at its place, none if nothing refers to it.
    Record {
        /// Where it begins.
        offset: u64,
        /// All of its bytes.
        bytes: Bytes,
        /// Places in the index.
        items: Range<usize>,
    },
    /// Bytes that are neither a record nor free.
    Hole(ByteRange),
    /// An item that begins inside of the record before it.
    Overlapped(usize),
}

/// What begins at a place.
enum Next {
    /// More bytes are needed to say so.
    Unknown(usize),
    /// A record of so many bytes.
    Record(u64, Range<usize>),
    /// Nothing up to there.
    Skip(u64),
    /// No record, up to there.
    Hole(u64),
}

/// The state of the walk.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    items: &'a [Item],
    free: &'a [ByteRange],
    /// The first item that the walk has not passed.
    next_item: usize,
    next_free: usize,
    /// Where the next record begins.
    at: u64,
    /// Where the last record ends.
    end: u64,
    /// The bytes from `at` on that came with earlier windows.
    pending: BytesMut,
    /// Where a hole began that the walk is still in.
    hole: Option<u64>,
}

impl<'a> Walk<'a> {
    /// A walk from `begin` to `end`. Items are sorted by offset, free segments do not overlap.
    pub(super) fn new(items: &'a [Item], free: &'a [ByteRange], begin: u64, end: u64) -> Walk<'a> {
        let (pending, hole) = (BytesMut::new(), None);
        Walk { items, free, next_item: 0, next_free: 0, at: begin, end, pending, hole }
    }

    /// Takes the bytes that follow those of the call before, and adds what is complete to `met`.
    pub(super) fn feed(&mut self, start: u64, window: &Bytes, met: &mut Vec<Met>) {
        let window_end = start + window.len() as u64;
        loop {
            if self.at >= self.end {
                self.close_hole(self.end, met);
                return;
            }
            if self.pending.is_empty() {
                if self.at >= window_end {
                    return;
                }
                let rest = window.slice(within(self.at.saturating_sub(start), window.len())..);
                match self.next(&rest, met) {
                    Next::Record(len, items) if len <= rest.len() as u64 => {
                        let bytes = rest.slice(..within(len, rest.len()));
                        self.record(bytes, items, met);
                    }
                    Next::Unknown(_) | Next::Record(..) => {
                        self.pending.extend_from_slice(&rest);
                        return;
                    }
                    Next::Skip(to) => self.skip(to, met),
                    Next::Hole(to) => self.enter_hole(to),
                }
                continue;
            }
            let have = self.at + self.pending.len() as u64;
            let rest = window.get(within(have.saturating_sub(start), window.len())..).unwrap_or_default();
            let mut pending = std::mem::take(&mut self.pending);
            let wanted = match self.next(&pending, met) {
                Next::Unknown(wanted) => wanted as u64,
                Next::Record(len, items) if len <= pending.len() as u64 => {
                    pending.truncate(within(len, pending.len()));
                    self.record(pending.freeze(), items, met);
                    continue;
                }
                Next::Record(len, _) => len,
                Next::Skip(to) => {
                    self.skip(to, met);
                    continue;
                }
                Next::Hole(to) => {
                    self.enter_hole(to);
                    continue;
                }
            };
            let more = within(wanted.saturating_sub(pending.len() as u64), rest.len());
            pending.extend_from_slice(rest.get(..more).unwrap_or_default());
            self.pending = pending;
            if more == 0 {
                return;
            }
        }
    }

    /// Says what is left when all bytes came.
    pub(super) fn finish(mut self, met: &mut Vec<Met>) {
        if self.at < self.end {
            self.hole.get_or_insert(self.at);
        }
        self.close_hole(self.end, met);
        met.extend((self.next_item..self.items.len()).map(Met::Overlapped));
    }

    /// What begins at `at`, by the index or else by its own key; `head` are the bytes from there on.
    fn next(&mut self, head: &[u8], met: &mut Vec<Met>) -> Next {
        while self.items.get(self.next_item).is_some_and(|item| item.offset < self.at) {
            met.push(Met::Overlapped(self.next_item));
            self.next_item += 1;
        }
        if let Some(item) = self.items.get(self.next_item).filter(|item| item.offset == self.at) {
            let same = self.items.get(self.next_item..).unwrap_or_default();
            let same = same.iter().take_while(|other| other.offset == item.offset).count();
            let items = self.next_item..self.next_item + same;
            let lens = self.items.get(items.clone()).unwrap_or_default().iter().map(|item| item.len);
            return Next::Record(lens.max().unwrap_or(1).max(1), items);
        }
        let limit = self.items.get(self.next_item).map_or(self.end, |item| item.offset.min(self.end));
        while self.free.get(self.next_free).is_some_and(|segment| segment.end() <= self.at) {
            self.next_free += 1;
        }
        if let Some(segment) = self.free.get(self.next_free).filter(|segment| segment.start <= self.at) {
            return Next::Skip(segment.end().min(limit));
        }
        let limit = self.free.get(self.next_free).map_or(limit, |segment| segment.start.min(limit));
        self.unowned(head, limit)
    }

    /// What the key of a record says that nothing refers to.
    fn unowned(&self, head: &[u8], limit: u64) -> Next {
        let room = limit - self.at;
        let Some(length) = head.first_chunk::<4>().map(|word| i32::from_be_bytes(*word)) else {
            return if room < 4 { Next::Hole(limit) } else { Next::Unknown(4) };
        };
        if length < 0 {
            let to = self.at.saturating_add(u64::from(length.unsigned_abs()));
            return Next::Skip(to.min(limit));
        }
        let len = u64::from(length.unsigned_abs());
        if len > room || len < KEY_START as u64 {
            return Next::Hole(limit);
        }
        let key_len = head.get(14..16).and_then(|bytes| bytes.first_chunk::<2>());
        let Some(key_len) = key_len.map(|word| usize::from(u16::from_be_bytes(*word))) else {
            return Next::Unknown(KEY_START);
        };
        if key_len as u64 > len || key_len > LARGEST_KEY {
            return Next::Hole(limit);
        }
        if head.len() < key_len {
            return Next::Unknown(key_len);
        }
        match Key::parse_at(head, self.at) {
            Err(_) => Next::Hole(limit),
            Ok(_) if len > LARGEST_UNOWNED => Next::Skip(self.at + len),
            Ok(_) => Next::Record(len, self.next_item..self.next_item),
        }
    }

    fn record(&mut self, bytes: Bytes, items: Range<usize>, met: &mut Vec<Met>) {
        self.close_hole(self.at, met);
        let offset = self.at;
        self.at += bytes.len() as u64;
        self.next_item = self.next_item.max(items.end);
        met.push(Met::Record { offset, bytes, items });
    }

    fn skip(&mut self, to: u64, met: &mut Vec<Met>) {
        self.close_hole(self.at, met);
        self.at = to.max(self.at + 1);
    }

    fn enter_hole(&mut self, to: u64) {
        self.hole.get_or_insert(self.at);
        self.at = to.max(self.at + 1);
    }

    fn close_hole(&mut self, end: u64, met: &mut Vec<Met>) {
        if let Some(start) = self.hole.take() {
            met.push(Met::Hole(ByteRange { start, len: end.saturating_sub(start) }));
        }
    }
}

/// A length as one of at most `most`.
fn within(len: u64, most: usize) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX).min(most)
}
