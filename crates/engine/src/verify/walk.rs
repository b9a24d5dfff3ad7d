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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::index::What;

    /// A record of no class at an offset, with so many bytes behind its key.
    fn record(offset: u32, payload: u32) -> Vec<u8> {
        let mut bytes = (29 + payload).to_be_bytes().to_vec();
        bytes.extend(4_u16.to_be_bytes());
        bytes.extend(payload.to_be_bytes());
        bytes.extend(0_u32.to_be_bytes());
        bytes.extend(29_u16.to_be_bytes());
        bytes.extend(1_u16.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend([0; 7]);
        bytes.extend(vec![1; payload as usize]);
        bytes
    }

    /// What a walk meets in windows of a size, in words.
    fn walked(content: &[u8], items: &[Item], free: &[ByteRange], window: usize) -> Vec<String> {
        let mut walk = Walk::new(items, free, 10, content.len() as u64);
        let mut met = Vec::new();
        for (number, part) in content.chunks(window).enumerate() {
            walk.feed((number * window) as u64, &Bytes::copy_from_slice(part), &mut met);
        }
        walk.finish(&mut met);
        let words = met.iter().map(|met| match met {
            Met::Record { offset, bytes, items } => {
                let start = usize::try_from(*offset).unwrap();
                assert_eq!(bytes, &content[start..start + bytes.len()]);
                format!("record {offset}+{} of {}", bytes.len(), items.len())
            }
            Met::Hole(range) => format!("hole {}+{}", range.start, range.len),
            Met::Overlapped(item) => format!("overlapped {item}"),
        });
        words.collect()
    }

    #[test]
    fn the_same_is_met_whatever_the_size_of_the_windows() {
        let mut content = vec![0; 10];
        content.extend(record(10, 40)); // 10..79, nothing refers to it
        content.extend([7; 50]); // 79..129, an item whose key is no key
        content.extend((-30_i32).to_be_bytes()); // 129..159, a gap
        content.extend([9; 26]);
        content.extend([0x55; 20]); // 159..179, neither
        content.extend([5; 15]); // 179..194, two items, and one inside of them
        content.extend([0; 6]); // 194..200, free
        content.extend(record(200, 3)); // 200..232
        let item = |offset, len| Item { offset, len, what: What::Bookkeeping("x") };
        let items = [item(79, 50), item(179, 15), item(179, 10), item(181, 2)];
        let free = [ByteRange { start: 194, len: 6 }];
        let expected = [
            "record 10+69 of 0",
            "record 79+50 of 1",
            "hole 159+20",
            "record 179+15 of 2",
            "overlapped 3",
            "record 200+32 of 0",
        ];
        for window in [1, 2, 7, 64, 100, 1000] {
            assert_eq!(walked(&content, &items, &free, window), expected, "windows of {window}");
        }
    }

    #[test]
    fn what_is_cut_off_is_a_hole() {
        let mut content = vec![0; 10];
        content.extend(record(10, 40));
        content.truncate(60);
        for window in [1, 13, 1000] {
            assert_eq!(walked(&content, &[], &[], window), ["hole 10+50"]);
        }
    }
}
