//! ROOT's object framing: byte counts, versions, class tags, references.

use super::Cursor;
use sapwood_core::Result;

/// Marks a word as a byte count (root-io-spec Buffer §1).
pub const BYTE_COUNT_MASK: u32 = 0x4000_0000;
/// Tag: a class name follows.
pub const NEW_CLASS_TAG: u32 = 0xFFFF_FFFF;
/// Tag: the class was named earlier in the record.
pub const CLASS_MASK: u32 = 0x8000_0000;
/// Added to positions in the object map, because 0 and 1 have special meanings (Buffer §6.2).
pub const MAP_OFFSET: u32 = 2;
/// Bit of a version word: the collection is streamed member by member (Buffer §3.1).
const MEMBER_WISE: i16 = 0x4000;
/// `TObject::kIsReferenced`: a process id follows the bits (Buffer §7).
pub const IS_REFERENCED: u32 = 0x10;
/// Objects nested deeper than this come from a damaged file.
const MAX_DEPTH: u32 = 200;
/// Longer class names come from a damaged file; this bounds the search for the end of a name.
const MAX_CLASS_NAME: usize = 16 * 1024;

/// The header of an object: its byte count, if any, and the version of its class.
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
pub struct TNamed {
    /// `fName`.
    pub name: String,
    /// `fTitle`.
    pub title: String,
    /// The `TObject` below it.
    pub object: ObjectBase,
}

/// A streamed pointer: null, an object, or a reference to an object elsewhere in the record.
#[derive(Debug, Clone)]
pub enum ObjectSlot<'a> {
    /// A null pointer.
    Null,
    /// An object that is stored here.
    Object {
        /// Its class.
        class_name: &'a str,
        /// Position of the tag that first names its class.
        class_at: usize,
        /// The ID by which references name this object.
        id: u64,
        /// A cursor over the object, starting at its version header. If `bounded`, the outer cursor is
        /// already past the object.
        body: Cursor<'a>,
        /// True if the object has a byte count. If not, `body` has the end of the outer cursor, which the
        /// caller must move to where `body` stopped.
        bounded: bool,
    },
    /// A reference to the object with this `id`; 1 is the record's top-level object.
    Reference(u64),
}

impl<'a> Cursor<'a> {
    /// Reads the header of an object: a byte count, if there is one, and the class version.
    ///
    /// # Errors
    /// `Corrupt` if the byte count exceeds the enclosing object.
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

    /// Reads a byte count; returns it and the end of the object. Without one, the cursor does not move.
    pub(crate) fn byte_count(&mut self) -> Result<Option<(u32, usize)>> {
        let start = self.position;
        let word = match self.rest().first_chunk() {
            Some(bytes) => u32::from_be_bytes(*bytes),
            None => return Ok(None),
        };
        // The tag 0xFFFFFFFF also has this bit (Buffer §5); a version never has it (Buffer §2).
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

    /// A cursor for the bytes between the current position and `end` (or the end of this cursor).
    ///
    /// # Errors
    /// `Corrupt` if objects are nested too deep, or `end` is not ahead of the position.
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

    /// Reads a header, returns it with a cursor over the members, and skips the object. An object without a
    /// byte count is not skipped: [seek](Cursor::seek) to where the inner cursor stopped.
    ///
    /// # Errors
    /// `Corrupt` if the byte count exceeds the enclosing object, or objects are nested too deep.
    pub fn read_object(&mut self) -> Result<(ObjectHeader, Cursor<'a>)> {
        let header = self.read_header()?;
        let body = self.nested(header.end)?;
        if let Some(end) = header.end {
            self.position = end;
        }
        Ok((header, body))
    }

    /// Skips an object of any class by its byte count.
    ///
    /// # Errors
    /// `Corrupt` if it has none.
    pub fn skip_object(&mut self) -> Result<()> {
        let header = self.read_header()?;
        let end =
            header.end.ok_or_else(|| self.corrupt("an object without a byte count cannot be skipped"))?;
        self.seek(end)
    }

    /// Checks that the object ends here, according to its byte count.
    ///
    /// # Errors
    /// `Corrupt` if it does not.
    pub fn check_end(&self, header: &ObjectHeader) -> Result<()> {
        match header.end {
            Some(end) if end != self.position => {
                let position = self.position;
                Err(self.corrupt(format!("an object ends at {position}, but its byte count gives {end}")))
            }
            _ => Ok(()),
        }
    }

    /// Moves to the end of the object according to its byte count, so that members of later versions are
    /// skipped.
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
    pub fn tnamed(&mut self) -> Result<TNamed> {
        let header = self.read_header()?;
        let object = self.tobject()?;
        let name = self.tstring()?;
        let title = self.tstring()?;
        self.finish(&header)?;
        Ok(TNamed { name, title, object })
    }

    /// Skips a null pointer without a byte count; returns false if something else follows.
    #[inline]
    pub(crate) fn skip_null_pointer(&mut self) -> bool {
        let is_null = self.rest().first_chunk() == Some(&[0; 4]);
        if is_null {
            self.position += 4;
        }
        is_null
    }

    /// Reads a pointer: null, an object with its class, or a reference (Buffer §6).
    ///
    /// # Errors
    /// `Corrupt` if a tag or byte count is invalid, or objects are nested too deep.
    pub fn read_object_any(&mut self) -> Result<ObjectSlot<'a>> {
        let id = self.id_of(self.position);
        let end = self.byte_count()?.map(|(_, end)| end);
        let tag_at = self.position;
        let tag = self.u32()?;
        if end.is_some_and(|end| end < self.position) {
            return Err(self.corrupt_at(tag_at, "a byte count is too small for a class tag"));
        }
        let (class_name, class_at) = if tag == NEW_CLASS_TAG {
            let mut body = self.nested(end)?;
            let name = body.class_name()?;
            self.position = body.position;
            (name, tag_at)
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
        Ok(ObjectSlot::Object { class_name, class_at, id, body, bounded: end.is_some() })
    }

    /// Reads a class name.
    fn class_name(&mut self) -> Result<&'a str> {
        let at = self.position;
        let mut ahead = Cursor { end: self.end.min(at + MAX_CLASS_NAME), ..self.clone() };
        let name = std::str::from_utf8(ahead.cstring_bytes()?).ok().filter(|name| !name.is_empty());
        self.position = ahead.position;
        name.ok_or_else(|| self.corrupt_at(at, "a class name is not text"))
    }

    /// The class named at a position of the object map, and the position of its tag in the payload. The name
    /// is read from there, so that it is found even if the object that contains it was skipped (Buffer §6.1).
    fn class_at(&self, reference: u32, tag_at: usize) -> Result<(&'a str, usize)> {
        let wrong = || {
            self.corrupt_at(tag_at, format!("a class tag refers to position {reference}, where no class is"))
        };
        let tag = self.position_of(u64::from(reference)).filter(|&p| p < tag_at).ok_or_else(wrong)?;
        let mut earlier = Cursor { position: tag, end: tag_at, ..self.clone() };
        if earlier.u32().map_err(|_| wrong())? != NEW_CLASS_TAG {
            return Err(wrong());
        }
        Ok((earlier.class_name().map_err(|_| wrong())?, tag))
    }

    /// The ID by which references name an object whose byte count is at `position`.
    fn id_of(&self, position: usize) -> u64 {
        position as u64 + self.key_len + u64::from(MAP_OFFSET)
    }

    /// The position in the payload that a reference names.
    pub(crate) fn position_of(&self, id: u64) -> Option<usize> {
        usize::try_from(id.checked_sub(self.key_len + u64::from(MAP_OFFSET))?)
            .ok()
            .filter(|&p| p < self.record.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let ObjectSlot::Object { class_name, id, mut body, bounded, .. } =
                cursor.read_object_any().unwrap()
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
