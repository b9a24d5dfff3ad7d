//! Requests byte ranges: known bytes are returned, missing ranges are collected and requested together.

use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, ParseStep, Result, Segments};

/// Returns ranges of a file and collects those that are missing.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    known: &'a Segments,
    extent: Extent,
    missing: Vec<ByteRange>,
}

/// The size of the file, and its end according to the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Size in bytes.
    pub(crate) size: u64,
    /// `fEND`.
    pub(crate) announced: u64,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(known: &'a Segments, extent: Extent) -> Self {
        Reader { known, extent, missing: Vec::new() }
    }

    /// The bytes of a range, or `None` if they must be fetched first; `what` names them in errors.
    pub(crate) fn get(&mut self, start: u64, len: u64, what: &str) -> Result<Option<Bytes>> {
        let range = self.extent.range(start, len, what)?;
        let bytes = self.known.get(range);
        if bytes.is_none() {
            self.missing.push(range);
        }
        Ok(bytes)
    }

    /// As [`get`](Reader::get), but truncates a range that goes beyond the end.
    pub(crate) fn get_up_to(&mut self, start: u64, len: u64, what: &str) -> Result<Option<Bytes>> {
        self.get(start, len.min(self.extent.size.saturating_sub(start)), what)
    }

    /// Requests a range that will be needed soon; an invalid range is ignored.
    pub(crate) fn ask_ahead(&mut self, start: u64, len: u64) {
        if let Ok(range) = self.extent.range(start, len, "")
            && len > 0
            && self.known.get(range).is_none()
        {
            self.missing.push(range);
        }
    }

    /// True if ranges are missing.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.missing.is_empty()
    }

    /// Size of the file.
    pub(crate) fn size(&self) -> u64 {
        self.extent.size
    }

    /// The value, if there is one, or all missing ranges.
    pub(crate) fn finish<T>(self, value: Option<T>) -> ParseStep<T> {
        match value {
            Some(value) => ParseStep::Done(value),
            None => ParseStep::Need(self.missing),
        }
    }
}

impl Extent {
    /// The range, if it lies inside the file.
    ///
    /// Truncation is reported here, because a file that is shorter than its header states may still contain
    /// everything that is needed.
    pub(crate) fn range(self, start: u64, len: u64, what: &str) -> Result<ByteRange> {
        let range = ByteRange::new(start, len)?;
        let Extent { size, announced } = self;
        if range.end() <= size {
            Ok(range)
        } else if announced > size {
            let message = format!(
                "{what} would be at {range}, but the file ends at {size}; its header states {announced}"
            );
            Err(Error::new(ErrorKind::Truncated, message)
                .at(start)
                .hint("the file was cut off, or its writer did not finish: copy or write it again"))
        } else {
            Err(Error::corrupt(format!("{what} would be at {range}, but the file ends at {size}")).at(start))
        }
    }
}
