//! A bounds-checked reader over the bytes of one record, and ROOT's object framing: byte counts, versions, class tags.

use sapwood_core::{Error, ErrorKind, Result};

/// Marks a word as a byte count (root-io-spec Buffer §1).
const BYTE_COUNT_MASK: u32 = 0x4000_0000;
/// Tag: a class name follows.
pub(crate) const NEW_CLASS_TAG: u32 = 0xFFFF_FFFF;
/// Tag: the class was named earlier in the record.
pub(crate) const CLASS_MASK: u32 = 0x8000_0000;
/// Added to positions in the object map, as 0 and 1 have meanings of their own (Buffer §6.2).
pub(crate) const MAP_OFFSET: u64 = 2;
/// Bit of a version word: the collection is streamed member by member (Buffer §3.1).
const MEMBER_WISE: i16 = 0x4000;
/// `TObject::kIsReferenced`: a process id follows the bits (Buffer §7).
const IS_REFERENCED: u32 = 0x10;
/// Objects nested deeper than this are not real.
const MAX_DEPTH: u32 = 200;
/// Longer class names are not real; this bounds the search for a name's end.
const MAX_CLASS_NAME: usize = 16 * 1024;

/// A reader of big-endian values that cannot leave its bytes.
///
/// A cursor sees a whole record, but reads only up to its [`end`](Cursor::end): nested objects are read by
/// [nested](Cursor::nested) cursors, which stop where the object's byte count says and still can follow
/// references to other parts of the record.
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

/// What stands before an object's members: its byte count, if any, and the version of its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectHeader {
    /// Class version, without the member-wise bit. If it is 0 or less and the class is foreign (without
    /// `ClassDef`), a checksum of four bytes follows, which the caller reads (Buffer §4).
    pub version: i16,
    /// True if a collection is streamed member by member.
    pub member_wise: bool,
    /// The byte count: bytes after the byte count's own word.
    pub byte_count: Option<u32>,
    /// Position where the object ends, if it has a byte count.
    pub end: Option<usize>,
}

/// The base class `TObject`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectBase {
    /// `fUniqueID`.
    pub unique_id: u32,
    /// `fBits`, as on file.
    pub bits: u32,
    /// Index of the process id, present if `kIsReferenced` is set in the bits.
    pub process_id: Option<u16>,
}

/// The base class `TNamed`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// `fName`.
    pub name: String,
    /// `fTitle`.
    pub title: String,
    /// The `TObject` below it.
    pub object: ObjectBase,
}

/// A pointer as it is streamed: nothing, an object, or an object met elsewhere in the record.
#[derive(Debug, Clone)]
pub enum ObjectSlot<'a> {
    /// A null pointer.
    Null,
    /// An object that stands here.
    Object {
        /// Its class.
        class_name: &'a str,
        /// What references to this object name.
        id: u64,
        /// Reads the object, from its version header on. The outer cursor has passed the object if `bounded`.
        body: Cursor<'a>,
        /// True if the object has a byte count. If not, `body` ends where the outer cursor does, and the
        /// outer cursor must be moved to where `body` stopped.
        bounded: bool,
    },
    /// A reference to the object with this `id`; 1 is the record's top-level object.
    Reference(u64),
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

    /// Makes errors count from `offset`: the place of the first byte in the file. Without it they count
    /// from the first byte.
    #[must_use]
    pub fn at_offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }

    numbers!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

    /// Reads one byte as a truth value: anything but 0 is true.
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

    /// Passes over `n` bytes.
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

    /// The bytes left, not consumed.
    pub fn rest(&self) -> &'a [u8] {
        self.record.get(self.position..self.end).unwrap_or_default()
    }

    /// Goes to a position, at most the end.
    ///
    /// # Errors
    /// `Corrupt` if it lies behind the end.
    pub fn seek(&mut self, position: usize) -> Result<()> {
        if position > self.end {
            return Err(self.corrupt(format!("position {position} lies behind the end, {}", self.end)));
        }
        self.position = position;
        Ok(())
    }

    /// Reads a count of things (`i32`) of at least `item_size` bytes each, so that no more are announced
    /// than can be there.
    ///
    /// # Errors
    /// `Corrupt` if the count is negative or larger than what is left can hold.
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

    /// The offset by which errors name a position.
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

    /// Reads a string that ends with a zero byte.
    ///
    /// # Errors
    /// `Corrupt` if there is no zero byte.
    pub fn cstring(&mut self) -> Result<String> {
        Ok(String::from_utf8_lossy(self.cstring_bytes()?).into_owned())
    }

    /// Reads a `std::string` that is a member of its own: version header, then as a `TString`.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out or the byte count is wrong.
    pub fn std_string(&mut self) -> Result<String> {
        let header = self.read_header()?;
        let string = self.tstring()?;
        self.check_end(&header)?;
        Ok(string)
    }
}

/// Objects.
impl<'a> Cursor<'a> {
    /// Reads what stands before an object's members: a byte count, if there is one, and the class version.
    ///
    /// # Errors
    /// `Corrupt` if the byte count reaches beyond what encloses the object.
    pub fn read_header(&mut self) -> Result<ObjectHeader> {
        let (byte_count, end) = match self.byte_count()? {
            Some((count, end)) => (Some(count), Some(end)),
            None => (None, None),
        };
        let word = self.i16()?;
        let member_wise = word > 0 && word & MEMBER_WISE != 0;
        let version = if member_wise { word & !MEMBER_WISE } else { word };
        if end.is_some_and(|end| end < self.position) {
            return Err(self.corrupt("a byte count is too small for a version"));
        }
        Ok(ObjectHeader { version, member_wise, byte_count, end })
    }

    /// Reads a byte count and where it ends; if there is none, the cursor stays.
    pub(crate) fn byte_count(&mut self) -> Result<Option<(u32, usize)>> {
        let start = self.position;
        let word = match self.rest().first_chunk() {
            Some(bytes) => u32::from_be_bytes(*bytes),
            None => return Ok(None),
        };
        // The tag 0xFFFFFFFF has the bit as well (Buffer §5); a version never has (Buffer §2).
        if word & BYTE_COUNT_MASK == 0 || word & CLASS_MASK != 0 {
            return Ok(None);
        }
        self.skip(4)?;
        let count = word & !BYTE_COUNT_MASK;
        match self.position.checked_add(count as usize) {
            Some(end) if end <= self.end => Ok(Some((count, end))),
            _ => {
                let left = self.remaining();
                Err(self
                    .corrupt_at(start, format!("an object of {count} bytes does not fit in the {left} left")))
            }
        }
    }

    /// A cursor for what stands between the current position and `end` (or the end of this cursor).
    ///
    /// # Errors
    /// `Corrupt` if objects are nested too deep, or `end` does not lie ahead.
    pub fn nested(&self, end: Option<usize>) -> Result<Cursor<'a>> {
        let end = end.unwrap_or(self.end);
        if end < self.position || end > self.end {
            return Err(self.corrupt(format!("an object's end, {end}, lies outside of what encloses it")));
        }
        if self.depth >= MAX_DEPTH {
            return Err(self.corrupt("objects are nested too deep"));
        }
        Ok(Cursor { end, depth: self.depth + 1, ..self.clone() })
    }

    /// Reads a header and a cursor for the members behind it, and passes over the object. An object without
    /// a byte count is not passed: [seek](Cursor::seek) to where the inner cursor stopped.
    ///
    /// # Errors
    /// `Corrupt` if the byte count reaches beyond what encloses the object, or objects are nested too deep.
    pub fn read_object(&mut self) -> Result<(ObjectHeader, Cursor<'a>)> {
        let header = self.read_header()?;
        let body = self.nested(header.end)?;
        if let Some(end) = header.end {
            self.position = end;
        }
        Ok((header, body))
    }

    /// Passes over an object of any class by its byte count.
    ///
    /// # Errors
    /// `Corrupt` if it has none.
    pub fn skip_object(&mut self) -> Result<()> {
        let header = self.read_header()?;
        let end =
            header.end.ok_or_else(|| self.corrupt("an object without a byte count cannot be passed over"))?;
        self.seek(end)
    }

    /// Checks that the object ends here, as its byte count says.
    ///
    /// # Errors
    /// `Corrupt` if it does not.
    pub fn check_end(&self, header: &ObjectHeader) -> Result<()> {
        match header.end {
            Some(end) if end != self.position => {
                let position = self.position;
                Err(self.corrupt(format!(
                    "an object ends at {position} and not at {end}, as its byte count says"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Goes to where the object's byte count says that it ends: members of later versions are passed over.
    ///
    /// # Errors
    /// `Corrupt` if more was read than the object holds.
    pub fn finish(&mut self, header: &ObjectHeader) -> Result<()> {
        match header.end {
            Some(end) if end < self.position => self.check_end(header),
            Some(end) => self.seek(end),
            None => Ok(()),
        }
    }

    /// Reads the base class `TObject` (Buffer §7).
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out.
    pub fn tobject(&mut self) -> Result<ObjectBase> {
        self.read_header()?;
        let unique_id = self.u32()?;
        let bits = self.u32()?;
        let process_id = if bits & IS_REFERENCED == 0 { None } else { Some(self.u16()?) };
        Ok(ObjectBase { unique_id, bits, process_id })
    }

    /// Reads the base class `TNamed`.
    ///
    /// # Errors
    /// `Truncated` or `Corrupt` if the bytes run out or the byte count is wrong.
    pub fn tnamed(&mut self) -> Result<Named> {
        let header = self.read_header()?;
        let object = self.tobject()?;
        let name = self.tstring()?;
        let title = self.tstring()?;
        self.finish(&header)?;
        Ok(Named { name, title, object })
    }

    /// Reads a pointer: nothing, an object with its class, or a reference (Buffer §6).
    ///
    /// # Errors
    /// `Corrupt` if a tag or byte count makes no sense, or objects are nested too deep.
    pub fn read_object_any(&mut self) -> Result<ObjectSlot<'a>> {
        let id = self.id_of(self.position);
        let end = self.byte_count()?.map(|(_, end)| end);
        let tag_at = self.position;
        let tag = self.u32()?;
        if end.is_some_and(|end| end < self.position) {
            return Err(self.corrupt_at(tag_at, "a byte count is too small for a class tag"));
        }
        let class_name = if tag == NEW_CLASS_TAG {
            let mut body = self.nested(end)?;
            let name = body.class_name()?;
            self.position = body.position;
            name
        } else if tag & CLASS_MASK != 0 {
            self.class_at(tag & !CLASS_MASK, tag_at)?
        } else {
            if let Some(end) = end {
                self.position = end;
            }
            return Ok(if tag == 0 { ObjectSlot::Null } else { ObjectSlot::Reference(u64::from(tag)) });
        };
        let body = self.nested(end)?;
        if let Some(end) = end {
            self.position = end;
        }
        Ok(ObjectSlot::Object { class_name, id, body, bounded: end.is_some() })
    }

    /// Reads a class name.
    pub(crate) fn class_name(&mut self) -> Result<&'a str> {
        let at = self.position;
        let mut ahead = Cursor { end: self.end.min(at + MAX_CLASS_NAME), ..self.clone() };
        let name = std::str::from_utf8(ahead.cstring_bytes()?).ok().filter(|name| !name.is_empty());
        self.position = ahead.position;
        name.ok_or_else(|| self.corrupt_at(at, "a class name is not text"))
    }

    /// The class named at a position of the object map. The name is read where it stands, so that it is
    /// found even if what holds it was passed over (Buffer §6.1).
    pub(crate) fn class_at(&self, reference: u32, tag_at: usize) -> Result<&'a str> {
        let wrong = || {
            self.corrupt_at(tag_at, format!("a class tag refers to position {reference}, where no class is"))
        };
        let tag = self.position_of(u64::from(reference)).filter(|&p| p < tag_at).ok_or_else(wrong)?;
        let mut earlier = Cursor { position: tag, end: tag_at, ..self.clone() };
        if earlier.u32().map_err(|_| wrong())? != NEW_CLASS_TAG {
            return Err(wrong());
        }
        earlier.class_name().map_err(|_| wrong())
    }

    /// What references call an object whose byte count stands at `position`.
    fn id_of(&self, position: usize) -> u64 {
        position as u64 + self.key_len + MAP_OFFSET
    }

    /// Where in the payload the thing stands that a reference means.
    fn position_of(&self, id: u64) -> Option<usize> {
        usize::try_from(id.checked_sub(self.key_len + MAP_OFFSET)?).ok().filter(|&p| p < self.record.len())
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
        assert_eq!(cursor.cstring().unwrap(), "c");
        assert!(cursor.is_at_end());
    }

    #[test]
    fn errors_tell_the_offset() {
        let error = Cursor::new(&[0, 1], 0).at_offset(100).u32().unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Truncated, Some(100)));
        let error = Cursor::new(&[0x7f, 0xff, 0xff, 0xff], 0).count(1).unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::Corrupt, Some(0)));
    }

    #[test]
    fn a_version_with_and_without_byte_count() {
        let mut cursor = Cursor::new(&[0x40, 0, 0, 3, 0x40, 9, 7, 0, 5], 0);
        let header = cursor.read_header().unwrap();
        assert_eq!((header.version, header.member_wise, header.end), (9, true, Some(7)));
        assert!(cursor.check_end(&header).is_err());
        cursor.finish(&header).unwrap();
        let header = cursor.read_header().unwrap();
        assert_eq!((header.version, header.byte_count), (5, None));
    }

    #[test]
    fn a_byte_count_stays_inside_what_encloses_it() {
        assert!(Cursor::new(&[0x40, 0, 0, 9, 0, 1], 0).read_header().is_err());
        assert!(Cursor::new(&[0x40, 0, 0, 1, 0, 1], 0).read_header().is_err());
    }

    #[test]
    fn a_referenced_object_has_a_process_id() {
        let mut cursor = Cursor::new(&[0, 1, 0, 0, 0, 8, 3, 0, 0, 0x10, 0, 2, 0xEE], 0);
        let base = cursor.tobject().unwrap();
        assert_eq!((base.unique_id, base.process_id), (8, Some(2)));
        assert_eq!(cursor.remaining(), 1);
    }

    /// Two objects of one class, a reference to the first, a reference with a byte count, and a null pointer;
    /// the key before them has 55 bytes.
    fn tagged() -> Vec<u8> {
        let mut bytes = vec![0x40, 0, 0, 9, 0xff, 0xff, 0xff, 0xff];
        bytes.extend(b"TX\0");
        bytes.extend([0, 1]);
        bytes.extend([0x40, 0, 0, 6, 0x80, 0, 0, 55 + 4 + 2, 0, 2]);
        bytes.extend([0, 0, 0, 57]);
        bytes.extend([0x40, 0, 0, 4, 0, 0, 0, 57]);
        bytes.extend([0; 4]);
        bytes
    }

    #[test]
    fn tags_name_classes_and_objects() {
        let bytes = tagged();
        let mut cursor = Cursor::new(&bytes, 55);
        for (version, at) in [(1, 57), (2, 55 + 13 + 2)] {
            let ObjectSlot::Object { class_name, id, mut body, bounded } = cursor.read_object_any().unwrap()
            else {
                panic!("not an object")
            };
            assert_eq!((class_name, id, bounded), ("TX", at, true));
            assert_eq!(body.read_header().unwrap().version, version);
            assert!(body.is_at_end());
        }
        assert!(matches!(cursor.read_object_any().unwrap(), ObjectSlot::Reference(57)));
        assert!(matches!(cursor.read_object_any().unwrap(), ObjectSlot::Reference(57)));
        assert!(matches!(cursor.read_object_any().unwrap(), ObjectSlot::Null));
        assert!(cursor.is_at_end());
    }

    #[test]
    fn a_class_reference_to_nowhere_is_an_error() {
        for position in [0, 1, 56, 58, 61, 70, 200] {
            let mut bytes = tagged();
            bytes[20] = position;
            let mut cursor = Cursor::new(&bytes, 55);
            cursor.read_object_any().unwrap();
            assert_eq!(cursor.read_object_any().is_ok(), position == 61, "{position}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        let mut cursor = Cursor::new(&[0; 4], 0);
        let depth = std::iter::from_fn(|| {
            cursor = cursor.nested(None).ok()?;
            Some(())
        });
        assert_eq!(depth.count(), MAX_DEPTH as usize);
    }
}
