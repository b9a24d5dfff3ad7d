//! The bytes that a program reads: one entry or object, within the buffer whose positions references name.

use sapwood_core::{Error, ErrorKind, Result};
use sapwood_tfile::{BYTE_COUNT_MASK, CLASS_MASK, MAP_OFFSET, NEW_CLASS_TAG};
use std::ops::Range;

/// Longer class names are not real; this bounds the search for a name's end.
const LONGEST_NAME: usize = 16 * 1024;

/// A cursor over the bytes of one entry or object. It cannot leave them, but sees the buffer around them, in
/// which references are positions.
#[derive(Debug, Clone)]
pub struct StreamInput<'a> {
    /// All bytes behind the key.
    record: &'a [u8],
    /// Where the entry begins in it: no reference goes further back.
    begin: usize,
    /// Length of the key: positions are relative to its start.
    key_len: usize,
    rest: &'a [u8],
}

/// A pointer as it is streamed (Buffer §6).
#[derive(Debug)]
pub(crate) enum PointerValue<'a> {
    Null,
    /// An object that is stored here.
    Object {
        class: &'a str,
        /// The position of the pointer, which references to the object name.
        at: usize,
        /// The object, if a byte count gives its end; otherwise, it comes next in the outer input.
        body: Option<StreamInput<'a>>,
    },
    /// The number of an object that is stored elsewhere.
    Reference(u32),
}

impl<'a> StreamInput<'a> {
    /// The entry that lies at `entry` in `record`: the bytes behind a key of `key_len` bytes, decompressed.
    ///
    /// # Errors
    /// `Corrupt` if the record has no such bytes.
    pub fn new(record: &'a [u8], entry: Range<usize>, key_len: usize) -> Result<Self> {
        let begin = entry.start;
        match record.get(entry) {
            Some(rest) => Ok(StreamInput { record, begin, key_len, rest }),
            None => Err(Error::corrupt("an entry lies outside of its basket")),
        }
    }

    /// The position of the next byte in the record.
    pub(crate) fn position(&self) -> usize {
        self.rest.as_ptr().addr() - self.record.as_ptr().addr()
    }

    #[cold]
    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::corrupt(format!("{}, at byte {} of the content", message.into(), self.position()))
    }

    #[cold]
    fn runs_out(&self, len: usize) -> Error {
        self.error(format!("{len} bytes are needed, {} are left", self.remaining()))
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(len) {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(taken)
            }
            None => Err(self.runs_out(len)),
        }
    }

    pub(crate) fn take_rest(&mut self) -> &'a [u8] {
        let (taken, end) = self.rest.split_at(self.rest.len());
        self.rest = end;
        taken
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.rest.split_first_chunk() {
            Some((taken, rest)) => {
                self.rest = rest;
                Ok(*taken)
            }
            None => Err(self.runs_out(N)),
        }
    }

    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn i16(&mut self) -> Result<i16> {
        self.array().map(i16::from_be_bytes)
    }

    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// The next word, without consuming it.
    pub(crate) fn peek_u32(&self) -> Option<u32> {
        self.rest.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// The 16 bits `at` bytes ahead, without consuming them.
    pub(crate) fn peek_u16(&self, at: usize) -> Option<u16> {
        self.rest.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// A count of items of at least `smallest` bytes each, checked against the bytes that are left.
    #[inline]
    pub(crate) fn count(&mut self, smallest: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        if count > self.remaining() / smallest.max(1) {
            return Err(self.error(format!("a count of {count} items is too large for the bytes left")));
        }
        Ok(count)
    }

    /// The characters of a counted string: a byte of length, or 255 and four of them (Conventions §5.1).
    #[inline]
    pub(crate) fn text(&mut self) -> Result<&'a [u8]> {
        let len = match self.u8()? {
            255 => self.u32()? as usize,
            short => usize::from(short),
        };
        self.take(len)
    }

    /// The bytes that a byte count spans, if there is one; without one, nothing is read (Buffer §3).
    #[inline]
    pub(crate) fn frame(&mut self) -> Result<Option<StreamInput<'a>>> {
        match self.peek_u32() {
            Some(word) if word & (BYTE_COUNT_MASK | CLASS_MASK) == BYTE_COUNT_MASK => {
                self.take(4)?;
                let len = (word & !BYTE_COUNT_MASK) as usize;
                Ok(Some(StreamInput { rest: self.take(len)?, ..*self }))
            }
            _ => Ok(None),
        }
    }

    /// True if an object follows, not a pointer: behind the byte count is a version, not the tag of a class
    /// (Buffer §3 and §5).
    pub(crate) fn holds_object(&self) -> bool {
        let is_count = |word: u32| word & (BYTE_COUNT_MASK | CLASS_MASK) == BYTE_COUNT_MASK;
        self.peek_u32().is_some_and(is_count) && self.peek_u16(4).is_some_and(|version| version & 0x8000 == 0)
    }

    /// As [`frame`](StreamInput::frame), where a byte count is required.
    #[inline]
    pub(crate) fn must_frame(&mut self) -> Result<StreamInput<'a>> {
        match self.frame()? {
            Some(body) => Ok(body),
            None => Err(self.error("a byte count was expected")),
        }
    }

    /// A pointer, and the position of its tag. An object without a byte count remains to be read.
    pub(crate) fn slot(&mut self) -> Result<(PointerValue<'a>, usize)> {
        let at = self.position();
        let mut body = self.frame()?;
        let inner = body.as_mut().unwrap_or(self);
        let tag_at = inner.position();
        let class = match inner.u32()? {
            NEW_CLASS_TAG => inner.class_name()?,
            tag if tag & CLASS_MASK != 0 => inner.class_at(tag & !CLASS_MASK, tag_at)?,
            0 => return Ok((PointerValue::Null, tag_at)),
            tag => return Ok((PointerValue::Reference(tag), tag_at)),
        };
        Ok((PointerValue::Object { class, at, body }, tag_at))
    }

    /// True if the tag is a position: that of a class name, or of an object. Null (0) and the object at the
    /// beginning of the buffer (1) are not positions.
    pub(crate) fn names_position(&self, tag_at: usize) -> bool {
        let tag = self.record.get(tag_at..).and_then(|bytes| bytes.first_chunk());
        tag.is_some_and(|tag| !matches!(u32::from_be_bytes(*tag), 0 | 1 | NEW_CLASS_TAG))
    }

    fn class_name(&mut self) -> Result<&'a str> {
        let search = &self.rest[..self.rest.len().min(LONGEST_NAME)];
        let name = search.iter().position(|&byte| byte == 0).and_then(|len| search.get(..len));
        let name = name.and_then(|name| std::str::from_utf8(name).ok()).filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| self.error("a class name was expected"))?;
        self.take(name.len() + 1)?;
        Ok(name)
    }

    /// The class that was named at a position. The name is read there, so that it is found even in bytes that
    /// were skipped (Buffer §6.1).
    fn class_at(&self, reference: u32, tag_at: usize) -> Result<&'a str> {
        let wrong = || self.error(format!("no class is named at position {reference}"));
        let named_at = self.place(reference).filter(|&at| at < tag_at).ok_or_else(wrong)?;
        let mut earlier = StreamInput { rest: &self.record[named_at..tag_at], ..*self };
        if earlier.u32().ok() != Some(NEW_CLASS_TAG) {
            return Err(wrong());
        }
        earlier.class_name().map_err(|_| wrong())
    }

    fn place(&self, reference: u32) -> Option<usize> {
        let place = (reference as usize).checked_sub(self.key_len + MAP_OFFSET as usize)?;
        (place >= self.begin && place < self.record.len()).then_some(place)
    }

    /// The object that a reference names, which must be earlier in the same entry.
    pub(crate) fn earlier(&self, reference: u32) -> Result<StreamInput<'a>> {
        match self.place(reference).and_then(|place| self.record.get(place..self.position())) {
            Some(rest) if !rest.is_empty() => Ok(StreamInput { rest, ..*self }),
            _ => {
                Err(self.error(format!("a pointer refers to position {reference}, where there is no object")))
            }
        }
    }

    /// Where in the record a reference points.
    pub(crate) fn referred(&self, reference: u32) -> Option<usize> {
        self.place(reference)
    }

    /// An entry or object ends where its last member does (Buffer §9).
    ///
    /// # Errors
    /// `Unsupported` if bytes are left over: they do not match the description.
    pub fn finish(&self, what: &str) -> Result<()> {
        if self.is_at_end() {
            return Ok(());
        }
        let message = format!(
            "{what} has {} bytes more than its description says, at byte {} of the content",
            self.remaining(),
            self.position()
        );
        Err(Error::new(ErrorKind::Unsupported, message).hint("its streamer may be written by hand"))
    }
}
