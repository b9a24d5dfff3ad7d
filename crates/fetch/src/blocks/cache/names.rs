//! The names of the files in the cache.

use sapwood_core::ByteRange;
use std::path::Path;
use xxhash_rust::xxh64::xxh64;

/// The suffixes of blocks, of the bytes that came with opening, and of blocks being fetched.
pub(super) const BLOCK: &str = "block";
pub(super) const KNOWN: &str = "known";
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
