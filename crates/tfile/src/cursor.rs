//! A bounds-checked reader over the bytes of one record: numbers and strings.

mod objects;

pub use objects::{
    BYTE_COUNT_MASK, CLASS_MASK, IS_REFERENCED, MAP_OFFSET, NEW_CLASS_TAG, ObjectBase, ObjectHeader,
    ObjectSlot, TNamed,
};

use sapwood_core::{Error, ErrorKind, Result};

/// A reader of big-endian values that cannot leave its bytes.
///
/// A cursor sees a whole record, but reads only up to its [`end`](Cursor::end): nested objects are read by
/// [nested](Cursor::nested) cursors, which stop at the end given by the object's byte count, but can still
/// follow references to other parts of the record.
///
/// ```
/// use sapwood_tfile::Cursor;
/// let mut cursor = Cursor::new(&[0, 0, 1, 2, 3, b'a', b'b', b'c'], 0);
/// assert_eq!(cursor.u32()?, 258);
/// assert_eq!(cursor.tstring()?, "abc");
/// assert!(cursor.u8().is_err());
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    record: &'a [u8],
    position: usize,
    end: usize,
    key_len: u64,
    offset: u64,
    depth: u32,
}

macro_rules! numbers {
    ($($name:ident),+) => {
        $(
            #[doc = concat!("Reads one big-endian `", stringify!($name), "`.")]
            ///
            /// # Errors
            /// `Truncated` or `Corrupt` if the bytes run out.
            #[inline]
            pub fn $name(&mut self) -> Result<$name> {
                self.array().map($name::from_be_bytes)
            }
        )+
    };
}

impl<'a> Cursor<'a> {
    /// A cursor over the payload of a record, decompressed.
    ///
    /// `key_len` is the length of the key before the payload, because references count from the key
    /// (Buffer §1). Use 0 where no references are expected.
    pub fn new(payload: &'a [u8], key_len: u32) -> Self {
        let end = payload.len();
        Cursor { record: payload, position: 0, end, key_len: u64::from(key_len), offset: 0, depth: 0 }
    }

    /// Sets the file offset of the first byte, from which errors count. The default is 0.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

    /// Reads a file offset: 8 bytes if it is `wide`, else 4.
    pub(crate) fn file_offset(&mut self, wide: bool) -> Result<u64> {
        if wide { self.u64() } else { self.u32().map(u64::from) }
    }

    /// Reads one byte as a boolean: anything but 0 is true.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    pub fn bool(&mut self) -> Result<bool> {
        Ok(self.u8()? != 0)
    }

    /// Reads `N` bytes.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.record.get(self.position..self.end).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => Err(self.runs_out(N)),
        }
    }

    /// Reads `n` bytes, without a copy.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    #[inline]
    pub fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.record.get(self.position..self.end).and_then(|rest| rest.get(..n)) {
            Some(bytes) => {
                self.position += n;
                Ok(bytes)
            }
            None => Err(self.runs_out(n)),
        }
    }

    /// Skips `n` bytes.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        self.bytes(n).map(drop)
    }

    /// Bytes read so far, counted from the start of the record's payload.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Position at which this cursor stops.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Bytes left.
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// True if no bytes are left.
    pub fn is_at_end(&self) -> bool {
        self.remaining() == 0
    }

    /// All bytes of the record's payload.
    pub(crate) fn payload(&self) -> &'a [u8] {
        self.record
    }

    /// The bytes left, not consumed.
    pub fn rest(&self) -> &'a [u8] {
        self.record.get(self.position..self.end).unwrap_or_default()
    }

    /// Moves to a position, at most the end.
    ///
    /// # Errors
    /// `Corrupt` if it is beyond the end.
    pub fn seek(&mut self, position: usize) -> Result<()> {
        if position > self.end {
            return Err(self.corrupt(format!("position {position} is beyond the end, {}", self.end)));
        }
        self.position = position;
        Ok(())
    }

    /// Reads a count (`i32`) of items of at least `item_size` bytes each, and checks it against the bytes
    /// left.
    ///
    /// # Errors
    /// `Corrupt` if the count is negative or too large for the bytes left.
    pub fn count(&mut self, item_size: usize) -> Result<usize> {
        let at = self.position;
        let count = self.i32()?;
        match usize::try_from(count) {
            Ok(n) if n.checked_mul(item_size).is_some_and(|size| size <= self.remaining()) => Ok(n),
            _ => {
                let left = self.remaining();
                Err(self.corrupt_at(at, format!("a count of {count} does not fit in the {left} bytes left")))
            }
        }
    }

    /// An error at the current position.
    pub fn corrupt(&self, message: impl Into<String>) -> Error {
        self.corrupt_at(self.position, message)
    }

    /// An error at a position.
    pub fn corrupt_at(&self, position: usize, message: impl Into<String>) -> Error {
        Error::corrupt(message).at(self.offset_of(position))
    }

    /// The file offset of a position, as in errors.
    pub fn offset_of(&self, position: usize) -> u64 {
        self.offset.saturating_add(position as u64)
    }

    #[cold]
    fn runs_out(&self, wanted: usize) -> Error {
        let message = format!("{wanted} bytes are needed, {} are left", self.remaining());
        let kind = if self.end == self.record.len() { ErrorKind::Truncated } else { ErrorKind::Corrupt };
        Error::new(kind, message).at(self.offset_of(self.position))
    }
}

/// Strings.
impl<'a> Cursor<'a> {
    /// Reads the bytes of a `TString`: a length byte, or 255 and a length of four bytes, then the characters.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    #[inline]
    pub fn tstring_bytes(&mut self) -> Result<&'a [u8]> {
        let len = match self.u8()? {
            255 => self.u32()? as usize,
            short => usize::from(short),
        };
        self.bytes(len)
    }

    /// Reads a `TString`. Bytes that are not UTF-8 become the replacement character.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    pub fn tstring(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.tstring_bytes()?).into_owned())
    }

    /// Reads the bytes of a string that ends with a zero byte, without that byte.
    ///
    /// # Errors
    /// `Corrupt` if there is no zero byte.
    pub fn cstring_bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.rest().iter().position(|&b| b == 0);
        let len = len.ok_or_else(|| self.corrupt("a string does not end"))?;
        let bytes = self.bytes(len)?;
        self.skip(1)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_every_length() {
        let mut long = vec![255, 0, 0, 1, 44];
        long.extend([b'x'; 300]);
        long.extend([0, 2, b'h', b'i', b'c', 0]);
        let mut cursor = Cursor::new(&long, 0);
        assert_eq!(cursor.tstring().unwrap().len(), 300);
        assert_eq!(cursor.tstring().unwrap(), "");
        assert_eq!(cursor.tstring().unwrap(), "hi");
        assert_eq!(cursor.cstring_bytes().unwrap(), b"c");
        assert!(cursor.is_at_end());
    }

    #[test]
    fn errors_tell_the_offset() {
        let error = Cursor::new(&[0, 1], 0).at_offset(100).u32().unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(100)));
        let error = Cursor::new(&[0x7f, 0xff, 0xff, 0xff], 0).count(1).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Corrupt, Some(0)));
    }
}
