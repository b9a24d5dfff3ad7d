//! Walks over a record, object by object, and can build its outline.

use super::marks::{Mark, Outline, Pointer, PointerTarget};
use crate::cursor::{CLASS_MASK, NEW_CLASS_TAG};
use crate::{Cursor, ObjectHeader, ObjectSlot};
use sapwood_core::{Error, ErrorKind, Result};

/// The ID of the record's own object in references (Buffer §6.2).
const OWN: u64 = 1;

/// Walks over a record, and builds its [`Outline`] on request.
///
/// The caller reads members with [`cursor`](Walker::cursor), and objects and pointers with the methods here.
/// An outline must account for every byte; without one, members of later versions are skipped.
#[derive(Debug)]
pub struct Walker<'a> {
    /// The current position.
    pub cursor: Cursor<'a>,
    outline: Option<Outline>,
}

impl<'a> Walker<'a> {
    /// A walk over the payload of a record, decompressed, with a key of `key_len` bytes before it.
    pub fn new(payload: &'a [u8], key_len: u32) -> Self {
        Walker { cursor: Cursor::new(payload, key_len), outline: None }
    }

    /// Builds the outline.
    #[must_use]
    pub fn outlining(self) -> Self {
        Walker { outline: Some(Outline::default()), ..self }
    }

    /// True if the walk builds an outline.
    pub fn is_outlining(&self) -> bool {
        self.outline.is_some()
    }

    /// The current position in the payload.
    pub fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Enters an object: reads its byte count and version.
    ///
    /// # Errors
    /// `Corrupt` if the byte count is wrong.
    pub fn open(&mut self) -> Result<ObjectHeader> {
        let at = self.position();
        let header = self.cursor.read_header()?;
        if let (Some(outline), Some(end)) = (&mut self.outline, header.end) {
            outline.marks.push(Mark::Count { at, end });
        }
        Ok(header)
    }

    /// Leaves an object of the class `class` that was entered. Without an outline, the rest of it is skipped.
    ///
    /// # Errors
    /// `Corrupt` if more was read than the object holds; for an outline, `Unsupported` if unknown bytes are
    /// left, which may depend on positions.
    pub fn close(&mut self, header: &ObjectHeader, class: &str) -> Result<()> {
        match (&self.outline, header.end) {
            (Some(_), Some(end)) if end != self.position() => Err(unknown(class, self.position())),
            _ => self.cursor.finish(header),
        }
    }

    /// Reads a pointer. If an object follows, `read` reads it from its version header on, given the pointer
    /// and the class name. Without an outline, `read` may leave the rest of an object with a byte count.
    ///
    /// # Errors
    /// Those of `read`; `Corrupt` if a tag is invalid or objects are nested too deep; for an outline,
    /// `Unsupported` if bytes of the object are left, or a reference names an unknown object.
    #[inline]
    pub fn pointer(
        &mut self,
        read: impl FnOnce(&mut Self, &Pointer, &'a str) -> Result<()>,
    ) -> Result<Pointer> {
        let at = self.position();
        // Most pointers of a tree's record are null: a branch has one for each basket on file.
        if self.outline.is_none() && self.cursor.skip_null_pointer() {
            let end = self.position();
            return Ok(Pointer { at, end, framed: false, target: PointerTarget::Null });
        }
        match self.cursor.read_object_any()? {
            ObjectSlot::Null => self.without_object(at, PointerTarget::Null),
            ObjectSlot::Reference(OWN) => self.without_object(at, PointerTarget::Own),
            ObjectSlot::Reference(id) => {
                let target = self.cursor.position_of(id).unwrap_or(usize::MAX);
                self.without_object(at, PointerTarget::Reference(target))
            }
            ObjectSlot::Object { class_name, class_at, body, bounded, .. } => {
                let target = PointerTarget::Object { class_at, body: body.position() };
                let end = if bounded { body.end() } else { body.position() };
                let mut pointer = Pointer { at, end, framed: bounded, target };
                let mark = self.outline.as_mut().map(|outline| outline.add(pointer));
                let outer = std::mem::replace(&mut self.cursor, body);
                let result = read(self, &pointer, class_name);
                pointer.end = std::mem::replace(&mut self.cursor, outer).position();
                result?;
                self.leave(&mut pointer, mark, class_name)?;
                Ok(pointer)
            }
        }
    }

    /// Ends the pointer to an object that was read up to its `end`.
    fn leave(&mut self, pointer: &mut Pointer, mark: Option<usize>, class: &str) -> Result<()> {
        if !pointer.framed {
            self.cursor.seek(pointer.end)?;
        } else if mark.is_none() {
            pointer.end = self.position();
        } else if pointer.end != self.position() {
            return Err(unknown(class, pointer.end));
        }
        let mark = mark.and_then(|mark| self.outline.as_mut()?.marks.get_mut(mark));
        if let Some(mark) = mark {
            *mark = Mark::Pointer(*pointer);
        }
        Ok(())
    }

    fn without_object(&mut self, at: usize, target: PointerTarget) -> Result<Pointer> {
        let end = self.position();
        let pointer = Pointer { at, end, framed: end - at > 4, target };
        if let Some(outline) = &mut self.outline {
            let is_met = match target {
                PointerTarget::Reference(target) => outline.objects.contains_key(&target),
                _ => true,
            };
            if !is_met || end - at > 8 {
                return Err(unknown("a reference", at));
            }
            outline.add(pointer);
        }
        Ok(pointer)
    }

    /// Walks over an object with `walk`. If its contents are unknown, it is skipped, provided that none of
    /// its bytes can be a pointer: then they do not depend on its position.
    ///
    /// # Errors
    /// Those of `walk`.
    pub fn walk_or_pass(&mut self, walk: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let marks = self.outline.as_ref().map_or(0, |outline| outline.marks.len());
        let mut ahead = self.cursor.clone();
        let Err(error) = walk(self) else { return Ok(()) };
        if error.kind() != ErrorKind::Unsupported {
            return Err(error);
        }
        if let Some(outline) = &mut self.outline {
            outline.truncate(marks);
        }
        let Some((_, end)) = ahead.byte_count()? else { return Err(error) };
        let object = ahead.rest().get(..end - ahead.position()).unwrap_or_default();
        if object.windows(4).filter_map(|word| word.first_chunk()).any(|word| self.may_point(*word)) {
            return Err(error);
        }
        self.cursor = ahead;
        self.cursor.seek(end)
    }

    /// True if a word can be the tag of a pointer that depends on its position.
    fn may_point(&self, word: [u8; 4]) -> bool {
        let tag = u32::from_be_bytes(word);
        if tag == NEW_CLASS_TAG {
            return true;
        }
        let Some(at) = self.cursor.position_of(u64::from(tag & !CLASS_MASK)) else { return false };
        if tag & CLASS_MASK == 0 {
            return self.outline.as_ref().is_some_and(|outline| outline.objects.contains_key(&at));
        }
        self.cursor.payload().get(at..at + 4) == Some(&NEW_CLASS_TAG.to_be_bytes())
    }

    /// Ends the walk at the end of the record; returns the outline, if one was built.
    ///
    /// # Errors
    /// `Unsupported` if bytes are left.
    pub fn finish(self, class: &str) -> Result<Option<Outline>> {
        match self.outline {
            Some(_) if !self.cursor.is_at_end() => Err(unknown(class, self.cursor.position())),
            outline => Ok(outline),
        }
    }
}

fn unknown(class: &str, at: usize) -> Error {
    let message = format!("unknown contents of {class}, {at} bytes into the object");
    Error::unsupported(message).hint("trees with such objects can be read, but not rewritten")
}
