//! The counterpart of [`Cursor`](crate::Cursor): big-endian values, and ROOT's object framing, into the bytes of one record.

use crate::{BYTE_COUNT_MASK, CLASS_MASK, MAP_OFFSET, NEW_CLASS_TAG};
use sapwood_core::{Error, ErrorKind, Result};
use std::collections::HashMap;

/// The longest object that a byte count can frame, and ROOT's limit of a record (root-io-spec Record §5).
const OBJECT_MAX: usize = 0x3FFF_FFFE;

/// Writes the payload of a record.
///
/// Nothing fails before the end: [`finish`](RecordBuffer::finish) reports a record that is too long.
///
/// ```
/// use sapwood_tfile::Cursor;
/// use sapwood_tfile::write::RecordBuffer;
/// let mut buffer = RecordBuffer::new(66);
/// buffer.object(1, |buffer| {
///     buffer.tobject(0);
///     buffer.tstring("hello");
/// });
/// let bytes = buffer.finish()?;
/// let mut cursor = Cursor::new(&bytes, 66);
/// let (header, mut body) = cursor.read_object()?;
/// body.tobject()?;
/// assert_eq!((header.version, body.tstring()?.as_str()), (1, "hello"));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RecordBuffer {
    bytes: Vec<u8>,
    key_len: u32,
    classes: HashMap<String, u32>,
    too_long: bool,
}

macro_rules! numbers {
    ($($name:ident),+) => {
        $(
            #[doc = concat!("Writes one big-endian `", stringify!($name), "`.")]
            #[inline]
            pub fn $name(&mut self, value: $name) {
                self.bytes.extend_from_slice(&value.to_be_bytes());
            }
        )+
    };
}

impl RecordBuffer {
    /// An empty payload after a key of `key_len` bytes; references count from the start of the key (Buffer
    /// §1).
    pub fn new(key_len: u32) -> Self {
        RecordBuffer { key_len, ..RecordBuffer::default() }
    }

    numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

    /// Writes one byte, 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }

    /// Writes a file offset: 8 bytes if it is `wide`, else 4.
    pub(crate) fn file_offset(&mut self, offset: u64, wide: bool) {
        if wide { self.u64(offset) } else { self.u32(u32::try_from(offset).unwrap_or_default()) }
    }

    /// Writes bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes a count of items.
    pub fn count(&mut self, count: usize) {
        self.too_long |= i32::try_from(count).is_err();
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Bytes written so far.
    pub fn position(&self) -> usize {
        self.bytes.len()
    }

    /// The length of the key before the payload.
    pub fn key_len(&self) -> u32 {
        self.key_len
    }

    /// The payload.
    ///
    /// # Errors
    /// `Limit` if it, or an object or string in it, exceeds the limit of ROOT's format, 1 GiB.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.too_long || self.bytes.len() > OBJECT_MAX {
            let message = format!("an object of {} bytes is too long for a ROOT file", self.bytes.len());
            return Err(Error::new(ErrorKind::Limit, message).hint("no object can have more than 1 GiB"));
        }
        Ok(self.bytes)
    }
}

/// Strings.
impl RecordBuffer {
    /// Writes a `TString`: a length byte, or 255 and a length of four bytes, then the characters.
    pub fn tstring(&mut self, text: &str) {
        self.tstring_bytes(text.as_bytes());
    }

    /// Writes a `TString` of any bytes.
    pub fn tstring_bytes(&mut self, text: &[u8]) {
        match u8::try_from(text.len()) {
            Ok(len) if len < 255 => self.u8(len),
            _ => {
                self.u8(255);
                self.count(text.len());
            }
        }
        self.bytes(text);
    }

    /// Writes a string that ends with a zero byte.
    pub fn cstring(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.u8(0);
    }
}

/// Objects.
impl RecordBuffer {
    /// Writes an object: its byte count, its class version, and the members that `members` writes.
    pub fn object(&mut self, version: i16, members: impl FnOnce(&mut RecordBuffer)) {
        self.counted(|buffer| {
            buffer.i16(version);
            members(buffer);
        });
    }

    /// Writes a pointer followed by its object, which `object` writes, byte count included. Returns the ID
    /// for [`reference`](RecordBuffer::reference).
    pub fn slot(&mut self, class_name: &str, object: impl FnOnce(&mut RecordBuffer)) -> u32 {
        self.slot_known_as(class_name, |buffer, _| object(buffer))
    }

    /// As [`slot`](RecordBuffer::slot); `object` receives the ID, for references from within.
    pub fn slot_known_as(&mut self, class_name: &str, object: impl FnOnce(&mut RecordBuffer, u32)) -> u32 {
        let id = self.mapped();
        self.counted(|buffer| {
            match buffer.classes.get(class_name) {
                Some(&class) => buffer.u32(CLASS_MASK | class),
                None => {
                    let class = buffer.mapped();
                    buffer.classes.insert(class_name.to_owned(), class);
                    buffer.u32(NEW_CLASS_TAG);
                    buffer.cstring(class_name);
                }
            }
            object(buffer, id);
        });
        id
    }

    /// Writes a pointer to an object elsewhere in the record.
    pub fn reference(&mut self, id: u32) {
        self.u32(id);
    }

    /// Writes a null pointer.
    pub fn null(&mut self) {
        self.u32(0);
    }

    /// Writes the base class `TObject`: a version without a byte count (Buffer §7).
    pub fn tobject(&mut self, bits: u32) {
        self.i16(1);
        self.u32(0);
        self.u32(bits);
    }

    /// Writes the base class `TNamed`.
    pub fn tnamed(&mut self, name: &str, title: &str, bits: u32) {
        self.object(1, |buffer| {
            buffer.tobject(bits);
            buffer.tstring(name);
            buffer.tstring(title);
        });
    }

    /// Writes a `TObjArray`: its head and `count` pointers, which `slots` writes.
    pub fn tobjarray(&mut self, count: usize, slots: impl FnOnce(&mut RecordBuffer)) {
        self.object(3, |buffer| {
            buffer.tobject(0);
            buffer.tstring("");
            buffer.count(count);
            buffer.i32(0); // fLowerBound
            slots(buffer);
        });
    }

    /// Writes a `TList`: its head and `count` pointers with their options, which `slots` writes.
    pub fn tlist(&mut self, name: &str, count: usize, slots: impl FnOnce(&mut RecordBuffer)) {
        self.object(5, |buffer| {
            buffer.tobject(0);
            buffer.tstring(name);
            buffer.count(count);
            slots(buffer);
        });
    }

    /// Writes a byte count, and the bytes of `inner` that it counts.
    fn counted(&mut self, inner: impl FnOnce(&mut RecordBuffer)) {
        let start = self.bytes.len();
        self.u32(0);
        inner(self);
        let len = self.bytes.len() - start - 4;
        self.too_long |= len > OBJECT_MAX;
        let word = BYTE_COUNT_MASK | u32::try_from(len).unwrap_or_default();
        if let Some(slot) = self.bytes.get_mut(start..start + 4) {
            slot.copy_from_slice(&word.to_be_bytes());
        }
    }

    /// The current position, as references count it.
    fn mapped(&mut self) -> u32 {
        let position =
            u32::try_from(self.bytes.len()).ok().and_then(|p| p.checked_add(self.key_len + MAP_OFFSET));
        self.too_long |= position.is_none();
        position.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cursor, ObjectSlot};

    #[test]
    fn strings_of_every_length() {
        for len in [0, 1, 254, 255, 300] {
            let mut buffer = RecordBuffer::new(0);
            let text = "x".repeat(len);
            buffer.tstring(&text);
            let bytes = buffer.finish().unwrap();
            assert_eq!(bytes.len(), len + if len < 255 { 1 } else { 5 });
            assert_eq!(Cursor::new(&bytes, 0).tstring().unwrap(), text);
        }
    }

    #[test]
    fn a_class_is_named_once_and_objects_can_be_referred_to() {
        let mut buffer = RecordBuffer::new(55);
        let first = buffer.slot("TX", |buffer| buffer.object(1, |_| ()));
        let second = buffer.slot("TX", |buffer| buffer.object(2, |_| ()));
        buffer.reference(first);
        buffer.null();
        let bytes = buffer.finish().unwrap();
        assert_eq!((first, second), (57, 74));
        let mut cursor = Cursor::new(&bytes, 55);
        for (id, version) in [(first, 1), (second, 2)] {
            let ObjectSlot::Object { class_name, id: read, mut body, .. } = cursor.read_object_any().unwrap()
            else {
                panic!("not an object")
            };
            assert_eq!((class_name, read), ("TX", u64::from(id)));
            assert_eq!(body.read_header().unwrap().version, version);
        }
        assert!(matches!(cursor.read_object_any().unwrap(), ObjectSlot::Reference(57)));
        assert!(matches!(cursor.read_object_any().unwrap(), ObjectSlot::Null));
        assert!(cursor.is_at_end());
    }

    #[test]
    fn an_array_of_pointers() {
        let mut buffer = RecordBuffer::new(0);
        buffer.tobjarray(1, RecordBuffer::null);
        let bytes = buffer.finish().unwrap();
        let (header, mut body) = Cursor::new(&bytes, 0).read_object().unwrap();
        assert_eq!(header.version, 3);
        body.tobject().unwrap();
        assert_eq!(body.tstring().unwrap(), "");
        assert_eq!((body.i32().unwrap(), body.i32().unwrap(), body.i32().unwrap()), (1, 0, 0));
        assert!(body.is_at_end());
    }
}
