//! Splits a file, which comes in windows in file order, into records.

use super::index::IndexItem;
use bytes::{Bytes, BytesMut};
use sapwood_core::ByteRange;
use sapwood_tfile::Key;
use std::ops::Range;

/// Largest record without references that is checked; no reader uses these.
const LARGEST_UNOWNED: u64 = 64 << 20;
/// Bytes of a key up to and including its length.
const KEY_START: usize = 18;
/// Most bytes that a key can have (`fKeylen` is a 16-bit number).
const LARGEST_KEY: usize = 1 << 15;

/// A part of the file that the walk met.
#[derive(Debug)]
pub(super) enum WalkEvent {
    /// A record. `items` are those that the index has at its offset; empty if nothing refers to it.
    Record {
        /// Offset of its first byte.
        offset: u64,
        /// All of its bytes.
        bytes: Bytes,
        /// Indices of items.
        items: Range<usize>,
    },
    /// Bytes that are neither a record nor free.
    Hole(ByteRange),
    /// An item that begins inside the record before it.
    Overlapped(usize),
}

/// What begins at the current offset.
enum WalkStep {
    /// Not known without this many bytes.
    Unknown(usize),
    /// A record of this many bytes, and its items.
    Record(u64, Range<usize>),
    /// Unused bytes up to this offset.
    Skip(u64),
    /// No record up to this offset.
    Hole(u64),
}

/// The state of the walk.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    items: &'a [IndexItem],
    free: &'a [ByteRange],
    /// The first item that the walk has not reached.
    next_item: usize,
    next_free: usize,
    /// Offset of the next record.
    at: u64,
    /// End of the last record.
    end: u64,
    /// Bytes from `at` on, from earlier windows.
    pending: BytesMut,
    /// Start of the hole that the walk is in.
    hole: Option<u64>,
}

impl<'a> Walk<'a> {
    /// A walk from `begin` to `end`. Items are sorted by offset, free segments do not overlap.
    pub(super) fn new(items: &'a [IndexItem], free: &'a [ByteRange], begin: u64, end: u64) -> Walk<'a> {
        let (pending, hole) = (BytesMut::new(), None);
        Walk { items, free, next_item: 0, next_free: 0, at: begin, end, pending, hole }
    }

    /// Takes the next window, and adds what is complete to `events`.
    pub(super) fn feed(&mut self, start: u64, window: &Bytes, events: &mut Vec<WalkEvent>) {
        let window_end = start + window.len() as u64;
        loop {
            if self.at >= self.end {
                self.close_hole(self.end, events);
                return;
            }
            if self.pending.is_empty() {
                if self.at >= window_end {
                    return;
                }
                let rest = window.slice(within(self.at.saturating_sub(start), window.len())..);
                match self.next(&rest, events) {
                    WalkStep::Record(len, items) if len <= rest.len() as u64 => {
                        let bytes = rest.slice(..within(len, rest.len()));
                        self.record(bytes, items, events);
                    }
                    WalkStep::Unknown(_) | WalkStep::Record(..) => {
                        self.pending.extend_from_slice(&rest);
                        return;
                    }
                    WalkStep::Skip(to) => self.skip(to, events),
                    WalkStep::Hole(to) => self.enter_hole(to),
                }
                continue;
            }
            let have = self.at + self.pending.len() as u64;
            let rest = window.get(within(have.saturating_sub(start), window.len())..).unwrap_or_default();
            let mut pending = std::mem::take(&mut self.pending);
            let wanted = match self.next(&pending, events) {
                WalkStep::Unknown(wanted) => wanted as u64,
                WalkStep::Record(len, items) if len <= pending.len() as u64 => {
                    pending.truncate(within(len, pending.len()));
                    self.record(pending.freeze(), items, events);
                    continue;
                }
                WalkStep::Record(len, _) => len,
                WalkStep::Skip(to) => {
                    self.skip(to, events);
                    continue;
                }
                WalkStep::Hole(to) => {
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

    /// Adds what is left after the last window.
    pub(super) fn finish(mut self, events: &mut Vec<WalkEvent>) {
        if self.at < self.end {
            self.hole.get_or_insert(self.at);
        }
        self.close_hole(self.end, events);
        events.extend((self.next_item..self.items.len()).map(WalkEvent::Overlapped));
    }

    /// What begins at `at`, according to the index or else to its own key; `head` are the bytes from there on.
    fn next(&mut self, head: &[u8], events: &mut Vec<WalkEvent>) -> WalkStep {
        while self.items.get(self.next_item).is_some_and(|item| item.offset < self.at) {
            events.push(WalkEvent::Overlapped(self.next_item));
            self.next_item += 1;
        }
        if let Some(item) = self.items.get(self.next_item).filter(|item| item.offset == self.at) {
            let same = self.items.get(self.next_item..).unwrap_or_default();
            let same = same.iter().take_while(|other| other.offset == item.offset).count();
            let items = self.next_item..self.next_item + same;
            let lens = self.items.get(items.clone()).unwrap_or_default().iter().map(|item| item.len);
            return WalkStep::Record(lens.max().unwrap_or(1).max(1), items);
        }
        let limit = self.items.get(self.next_item).map_or(self.end, |item| item.offset.min(self.end));
        while self.free.get(self.next_free).is_some_and(|segment| segment.end() <= self.at) {
            self.next_free += 1;
        }
        if let Some(segment) = self.free.get(self.next_free).filter(|segment| segment.start <= self.at) {
            return WalkStep::Skip(segment.end().min(limit));
        }
        let limit = self.free.get(self.next_free).map_or(limit, |segment| segment.start.min(limit));
        self.unowned(head, limit)
    }

    /// A record that nothing refers to, according to its own key.
    fn unowned(&self, head: &[u8], limit: u64) -> WalkStep {
        let room = limit - self.at;
        let Some(length) = head.first_chunk::<4>().map(|word| i32::from_be_bytes(*word)) else {
            return if room < 4 { WalkStep::Hole(limit) } else { WalkStep::Unknown(4) };
        };
        if length < 0 {
            let to = self.at.saturating_add(u64::from(length.unsigned_abs()));
            return WalkStep::Skip(to.min(limit));
        }
        let len = u64::from(length.unsigned_abs());
        if len < KEY_START as u64 {
            return WalkStep::Hole(limit);
        }
        let key_len = head.get(14..16).and_then(|bytes| bytes.first_chunk::<2>());
        let Some(key_len) = key_len.map(|word| usize::from(u16::from_be_bytes(*word))) else {
            return WalkStep::Unknown(KEY_START);
        };
        if key_len as u64 > len.min(room) || key_len > LARGEST_KEY {
            return WalkStep::Hole(limit);
        }
        if head.len() < key_len {
            return WalkStep::Unknown(key_len);
        }
        match Key::parse_at(head, self.at) {
            Err(_) => WalkStep::Hole(limit),
            // Pages of RNTuples fill such a record.
            Ok(key) if key.class_name == "RBlob" && len > room => WalkStep::Skip(self.at + key_len as u64),
            Ok(_) if len > room => WalkStep::Hole(limit),
            Ok(_) if len > LARGEST_UNOWNED => WalkStep::Skip(self.at + len),
            Ok(_) => WalkStep::Record(len, self.next_item..self.next_item),
        }
    }

    fn record(&mut self, bytes: Bytes, items: Range<usize>, events: &mut Vec<WalkEvent>) {
        self.close_hole(self.at, events);
        let offset = self.at;
        self.at += bytes.len() as u64;
        self.next_item = self.next_item.max(items.end);
        events.push(WalkEvent::Record { offset, bytes, items });
    }

    fn skip(&mut self, to: u64, events: &mut Vec<WalkEvent>) {
        self.close_hole(self.at, events);
        self.at = to.max(self.at + 1);
    }

    fn enter_hole(&mut self, to: u64) {
        self.hole.get_or_insert(self.at);
        self.at = to.max(self.at + 1);
    }

    fn close_hole(&mut self, end: u64, events: &mut Vec<WalkEvent>) {
        if let Some(start) = self.hole.take() {
            events.push(WalkEvent::Hole(ByteRange { start, len: end.saturating_sub(start) }));
        }
    }
}

/// A length, limited to `most`.
fn within(len: u64, most: usize) -> usize {
    usize::try_from(len).unwrap_or(usize::MAX).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::index::ItemKind;

    /// A record of no class at an offset, with this many bytes behind its key.
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

    /// The events of a walk with windows of a size, in words.
    fn walked(content: &[u8], items: &[IndexItem], free: &[ByteRange], window: usize) -> Vec<String> {
        let mut walk = Walk::new(items, free, 10, content.len() as u64);
        let mut events = Vec::new();
        for (number, part) in content.chunks(window).enumerate() {
            walk.feed((number * window) as u64, &Bytes::copy_from_slice(part), &mut events);
        }
        walk.finish(&mut events);
        let words = events.iter().map(|events| match events {
            WalkEvent::Record { offset, bytes, items } => {
                let start = usize::try_from(*offset).unwrap();
                assert_eq!(bytes, &content[start..start + bytes.len()]);
                format!("record {offset}+{} of {}", bytes.len(), items.len())
            }
            WalkEvent::Hole(range) => format!("hole {}+{}", range.start, range.len),
            WalkEvent::Overlapped(item) => format!("overlapped {item}"),
        });
        words.collect()
    }

    #[test]
    fn the_size_of_windows_does_not_matter() {
        let mut content = vec![0; 10];
        content.extend(record(10, 40)); // 10..79, nothing refers to it
        content.extend([7; 50]); // 79..129, an item whose key is no key
        content.extend((-30_i32).to_be_bytes()); // 129..159, a gap
        content.extend([9; 26]);
        content.extend([0x55; 20]); // 159..179, neither
        content.extend([5; 15]); // 179..194, two items, and one inside of them
        content.extend([0; 6]); // 194..200, free
        content.extend(record(200, 3)); // 200..232
        let item = |offset, len| IndexItem { offset, len, kind: ItemKind::Bookkeeping("x") };
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
    fn a_truncated_record_is_a_hole() {
        let mut content = vec![0; 10];
        content.extend(record(10, 40));
        content.truncate(60);
        for window in [1, 13, 1000] {
            assert_eq!(walked(&content, &[], &[], window), ["hole 10+50"]);
        }
    }
}
