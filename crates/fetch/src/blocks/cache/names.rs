//! The names of the files in the cache.

use super::span_file::SpanLabel;
use sapwood_core::ByteRange;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh64::xxh64;

/// The suffixes of blocks, of the bytes that came with opening, of spans of columns, and of files being written.
pub(super) const BLOCK: &str = "block";
pub(super) const KNOWN: &str = "known";
pub(super) const COLUMN: &str = "column";
pub(super) const PART: &str = "part";

/// 32 characters that stand for a text.
pub(super) fn hashed(text: &str) -> String {
    let half = |seed| xxh64(text.as_bytes(), seed);
    format!("{:016x}{:016x}", half(0), half(1))
}

/// The range that the name of a file with this end says.
pub(super) fn range_of(path: &Path, end: &str) -> Option<ByteRange> {
    let name = path.file_name()?.to_str()?.strip_suffix(end)?.strip_suffix('.')?;
    let (start, len) = name.split_once('-')?;
    ByteRange::new(u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(len, 16).ok()?).ok()
}

/// Where a file is written before it gets its name.
pub(super) fn part_of(path: &Path) -> PathBuf {
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{PART}"));
    PathBuf::from(part)
}

/// What the name of a file with a span of a column says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpanName {
    pub(super) column: u128,
    pub(super) entries: Range<u64>,
    /// The binary logarithm of the nanoseconds that it took to make a kilobyte: coarse, so that the spans that two processes
    /// make have the same name.
    pub(super) cost: u32,
}

impl SpanName {
    /// A span of this many bytes, and what it cost to make it.
    pub(super) fn new(column: u128, entries: Range<u64>, bytes: u64, cost: Duration) -> SpanName {
        let cost = cost.as_nanos() * 1000 / u128::from(bytes.max(1));
        SpanName { column, entries, cost: cost.max(1).ilog2().min(63) }
    }

    pub(super) fn of(path: &Path) -> Option<SpanName> {
        let name = path.file_name()?.to_str()?.strip_suffix(COLUMN)?.strip_suffix('.')?;
        let mut parts = name.split('-');
        let column = u128::from_str_radix(parts.next()?, 16).ok()?;
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (start, end, cost) = (number()?, number()?, number()?);
        let cost = u32::try_from(cost).ok().filter(|cost| *cost < 64)?;
        (start <= end && parts.next().is_none()).then_some(SpanName { column, entries: start..end, cost })
    }

    pub(super) fn file(&self) -> String {
        let SpanName { column, entries: Range { start, end }, cost } = self;
        format!("{column:032x}-{start:x}-{end:x}-{cost:x}.{COLUMN}")
    }

    pub(super) fn label(&self) -> SpanLabel {
        SpanLabel { column: self.column, entries: self.entries.clone() }
    }
}
