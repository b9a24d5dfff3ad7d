//! Ranges of bytes in an object.

use crate::{Error, ErrorKind, Result};
use std::fmt;

/// A half-open range of bytes, `[start, start + len)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub start: u64,
    /// Number of bytes.
    pub len: u64,
}

impl ByteRange {
    /// The range of `len` bytes at `start`.
    ///
    /// # Errors
    /// `Corrupt` if the end would not fit in 63 bits: such a range can only come from a damaged file.
    pub fn new(start: u64, len: u64) -> Result<Self> {
        match start.checked_add(len) {
            Some(end) if end <= i64::MAX as u64 => Ok(ByteRange { start, len }),
            _ => {
                Err(Error::corrupt(format!("a range of {len} bytes at {start} lies beyond any file"))
                    .at(start))
            }
        }
    }

    /// Offset just after the last byte.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// The error for this range of an object that has only `size` bytes.
    pub fn beyond(self, size: u64) -> Error {
        let message = format!("the object has {size} bytes, too few for {self}");
        Error::new(ErrorKind::Truncated, message).at(self.start)
    }

    /// True if `other` lies wholly inside this range.
    pub fn contains(self, other: ByteRange) -> bool {
        self.start <= other.start && other.end() <= self.end()
    }
}

impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {}..{}", self.start, self.end())
    }
}
