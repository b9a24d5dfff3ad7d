//! Which bytes to fetch together: windows of the whole file, or only the records of some items.

use super::index::IndexItem;
use sapwood_core::{ByteRange, Segments};
use sapwood_fetch::Job;
use std::ops::Range;

/// Bytes that are fetched and checked together.
pub(super) const WINDOW: u64 = 8 << 20;

/// The records of items, each with the indices of its items.
pub(super) fn records(items: &[IndexItem]) -> Vec<Job<Vec<Range<usize>>>> {
    let mut jobs: Vec<Job<Vec<Range<usize>>>> = Vec::new();
    let mut bytes = u64::MAX;
    let mut from = 0;
    for group in items.chunk_by(|one, other| one.offset == other.offset) {
        let places = from..from + group.len();
        from = places.end;
        let start = group.first().map_or(0, |item| item.offset);
        let len = group.iter().map(|item| item.len).max().unwrap_or(0);
        if bytes.saturating_add(len) > WINDOW {
            jobs.push(Job { wanted: Vec::new(), tag: Vec::new() });
            bytes = 0;
        }
        bytes += len;
        if let Some(job) = jobs.last_mut() {
            job.wanted.push((0, ByteRange { start, len }));
            job.tag.push(places);
        }
    }
    jobs
}

/// The windows of a file, each in pieces that are entirely known or unknown.
pub(super) fn windows(size: u64, known: &Segments) -> Vec<Job<Vec<ByteRange>>> {
    let mut borders: Vec<u64> = known.ranges().flat_map(|range| [range.start, range.end()]).collect();
    borders.extend((0..size.div_ceil(WINDOW)).map(|window| window * WINDOW));
    borders.push(size);
    borders.retain(|border| *border <= size);
    borders.sort_unstable();
    borders.dedup();
    let mut jobs: Vec<Job<Vec<ByteRange>>> = Vec::new();
    for (start, end) in borders.iter().zip(borders.iter().skip(1)) {
        let piece = ByteRange { start: *start, len: end - start };
        match jobs.last_mut() {
            Some(job) if job.tag.first().is_some_and(|first| first.start / WINDOW == start / WINDOW) => {
                job.wanted.push((0, piece));
                job.tag.push(piece);
            }
            _ => jobs.push(Job { wanted: vec![(0, piece)], tag: vec![piece] }),
        }
    }
    jobs
}
