//! The outline of a record: the positions of byte counts, class tags and references in it, so that it can be
//! rewritten with parts replaced or dropped.
//!
//! Everything that depends on positions is known here; all other bytes are copied unchanged, even if their
//! meaning is unknown.

use crate::cursor::{CLASS_MASK, MAP_OFFSET, NEW_CLASS_TAG};
use crate::{Cursor, ObjectHeader};
use sapwood_core::{Error, ErrorKind, Result};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Marks a word as a byte count (root-io-spec Buffer §1).
const BYTE_COUNT_MASK: u32 = 0x4000_0000;
/// Objects nested deeper than this are not real.
const MAX_DEPTH: usize = 200;
/// The value of references to the record's own object (Buffer §6.2).
const SELF: u64 = 1;

/// The position-dependent parts of a record.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// In ascending order of positions; parts inside another one follow it.
    marks: Vec<Mark>,
    /// Indices in `marks` of the objects that references can name, by position.
    objects: HashMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
enum Mark {
    /// A byte count, and where the object ends.
    Count { at: usize, end: usize },
    /// A pointer.
    Slot(PointerSlot),
}

/// A pointer in a record.
#[derive(Debug, Clone, Copy)]
pub struct PointerSlot {
    /// Position of its first byte, which references to its object name.
    pub at: usize,
    /// Position of its end, including the object.
    pub end: usize,
    /// True if it begins with a byte count.
    pub framed: bool,
    /// Its target.
    pub target: PointerTarget,
}

/// The target of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerTarget {
    /// Null.
    Null,
    /// The record's own object.
    Own,
    /// The object whose pointer begins at this position.
    Reference(usize),
    /// An object stored in the pointer.
    Object {
        /// Position of the tag that first named its class.
        class_at: usize,
        /// Position of the object's version header.
        body: usize,
    },
}

impl Mark {
    fn at(&self) -> usize {
        match self {
            Mark::Count { at, .. } | Mark::Slot(PointerSlot { at, .. }) => *at,
        }
    }
}

/// Walks through a record and builds its [`Outline`].
///
/// The caller reads members with [`cursor`](Marker::cursor), and enters objects and pointers with the methods here.
#[derive(Debug)]
pub struct Marker<'a> {
    /// The current position of the walk.
    pub cursor: Cursor<'a>,
    payload: &'a [u8],
    key_len: u64,
    outline: Outline,
    depth: usize,
}

impl<'a> Marker<'a> {
    /// A walk through the decompressed payload of a record, with a key of `key_len` bytes before it.
    pub fn new(payload: &'a [u8], key_len: u32) -> Self {
        Marker {
            cursor: Cursor::new(payload, key_len),
            payload,
            key_len: u64::from(key_len),
            outline: Outline::default(),
            depth: 0,
        }
    }

    /// The current position in the payload.
    pub fn position(&self) -> usize {
        self.cursor.position()
    }

    /// Enters an object: marks its byte count and reads its version.
    ///
    /// # Errors
    /// `Corrupt` if the byte count is wrong or objects are nested too deep.
    pub fn open(&mut self) -> Result<ObjectHeader> {
        self.deeper()?;
        let at = self.position();
        let header = self.cursor.read_header()?;
        if let Some(end) = header.end {
            self.outline.marks.push(Mark::Count { at, end });
        }
        Ok(header)
    }

    /// Leaves an object of the class `class` that was entered.
    ///
    /// # Errors
    /// `Unsupported` if bytes of it are left: their meaning is unknown, and so is whether they depend on
    /// positions.
    pub fn close(&mut self, header: &ObjectHeader, class: &str) -> Result<()> {
        self.depth = self.depth.saturating_sub(1);
        match header.end {
            Some(end) if end != self.position() => Err(unknown(class, self.position())),
            _ => Ok(()),
        }
    }

    /// Walks through an object with `walk` or, if its contents are unknown, skips it, provided that none of
    /// its bytes can be a pointer: then it does not depend on its position.
    ///
    /// # Errors
    /// Those of `walk`.
    pub fn try_walk(&mut self, walk: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (position, depth, marks) = (self.position(), self.depth, self.outline.marks.len());
        let Err(error) = walk(self) else { return Ok(()) };
        if error.kind() != ErrorKind::Unsupported {
            return Err(error);
        }
        self.cursor.seek(position)?;
        self.depth = depth;
        self.outline.marks.truncate(marks);
        self.outline.objects.retain(|_, mark| *mark < marks);
        let Some((_, end)) = self.cursor.byte_count()? else { return Err(error) };
        let object = self.payload.get(self.position()..end).unwrap_or_default();
        if object.windows(4).filter_map(|word| word.first_chunk()).any(|word| self.may_point(*word)) {
            return Err(error);
        }
        self.cursor.seek(end)
    }

    /// True if a word can be the tag of a pointer that depends on its position.
    fn may_point(&self, word: [u8; 4]) -> bool {
        let tag = u32::from_be_bytes(word);
        let place = self.place(u64::from(tag & !CLASS_MASK));
        match tag {
            NEW_CLASS_TAG => true,
            _ if tag & CLASS_MASK != 0 => place.is_some_and(|place| {
                self.payload.get(place..place + 4) == Some(&NEW_CLASS_TAG.to_be_bytes())
            }),
            _ => place.is_some_and(|place| self.outline.objects.contains_key(&place)),
        }
    }

    /// Skips an object that contains neither pointers nor anything else that depends on positions.
    ///
    /// # Errors
    /// `Corrupt` if it has no byte count.
    pub fn pass(&mut self) -> Result<()> {
        self.cursor.skip_object()
    }

    /// Reads a pointer. If it is an object, the caller reads its body next and then calls
    /// [`leave`](Marker::leave).
    ///
    /// # Errors
    /// `Corrupt` if a tag is invalid; `Unsupported` if a reference names an object that was not met.
    pub fn slot(&mut self) -> Result<(PointerSlot, &'a str)> {
        let at = self.position();
        let end = self.cursor.byte_count()?.map(|(_, end)| end);
        let tag_at = self.position();
        let tag = self.cursor.u32()?;
        let framed = end.is_some();
        let mut class_name = "";
        let target = if tag == 0 {
            PointerTarget::Null
        } else if tag & CLASS_MASK == 0 {
            self.referred(u64::from(tag), tag_at)?
        } else {
            let class_at = if tag == NEW_CLASS_TAG {
                class_name = self.cursor.class_name()?;
                tag_at
            } else {
                let reference = tag & !CLASS_MASK;
                class_name = self.cursor.class_at(reference, tag_at)?;
                self.place(u64::from(reference)).ok_or_else(|| unknown("a class tag", tag_at))?
            };
            self.deeper()?;
            PointerTarget::Object { class_at, body: self.position() }
        };
        let slot = PointerSlot { at, end: end.unwrap_or(self.position()), framed, target };
        if let PointerTarget::Object { .. } = target {
            self.outline.objects.insert(at, self.outline.marks.len());
        } else if slot.end != self.position() {
            return Err(unknown("a reference", at));
        }
        self.outline.marks.push(Mark::Slot(slot));
        Ok((slot, class_name))
    }

    /// Leaves the object of a pointer.
    ///
    /// # Errors
    /// `Unsupported` if bytes of it are left.
    pub fn leave(&mut self, slot: &PointerSlot, class: &str) -> Result<PointerSlot> {
        self.depth = self.depth.saturating_sub(1);
        let position = self.position();
        if slot.framed && slot.end != position {
            return Err(unknown(class, position));
        }
        let mark = self.outline.objects.get(&slot.at).and_then(|&mark| self.outline.marks.get_mut(mark));
        if let Some(Mark::Slot(slot)) = mark {
            slot.end = position;
        }
        Ok(PointerSlot { end: position, ..*slot })
    }

    /// The outline, once the whole record was walked through.
    ///
    /// # Errors
    /// `Unsupported` if bytes are left.
    pub fn finish(self, class: &str) -> Result<Outline> {
        if self.cursor.is_at_end() { Ok(self.outline) } else { Err(unknown(class, self.position())) }
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.corrupt("objects are nested too deep"));
        }
        Ok(())
    }

    fn referred(&self, id: u64, at: usize) -> Result<PointerTarget> {
        if id == SELF {
            return Ok(PointerTarget::Own);
        }
        let place = self.place(id).filter(|place| self.outline.objects.contains_key(place));
        place.map(PointerTarget::Reference).ok_or_else(|| unknown("a reference", at))
    }

    /// The position that a reference names.
    fn place(&self, id: u64) -> Option<usize> {
        let place = usize::try_from(id.checked_sub(self.key_len + MAP_OFFSET)?).ok()?;
        (place < self.payload.len()).then_some(place)
    }
}

fn unknown(class: &str, at: usize) -> Error {
    let message = format!("unknown contents of {class}, {at} bytes into the object");
    Error::unsupported(message).hint("trees with such objects can be read, but not rewritten")
}

/// Replacements for parts of a record.
#[derive(Debug, Default, Clone)]
pub struct Edits {
    /// By position: the edit that begins there.
    parts: BTreeMap<usize, Edit>,
}

/// The replacement for a range.
#[derive(Debug, Clone)]
struct Edit {
    /// The end of the range.
    end: usize,
    bytes: Vec<u8>,
    /// Ranges of the record that follow the bytes.
    ranges: Vec<Range<usize>>,
}

impl Edits {
    /// Replaces a range by `bytes`. Of two overlapping edits, the first one applies; of two that begin at the
    /// same position, the one added last.
    pub fn replace(&mut self, range: Range<usize>, bytes: impl Into<Vec<u8>>) {
        self.splice(range, bytes, Vec::new());
    }

    /// Replaces a range by `bytes`, followed by other ranges of the record, which are written as in their own
    /// place, including edits.
    pub fn splice(&mut self, range: Range<usize>, bytes: impl Into<Vec<u8>>, ranges: Vec<Range<usize>>) {
        self.parts.insert(range.start, Edit { end: range.end, bytes: bytes.into(), ranges });
    }

    /// Drops a range.
    pub fn remove(&mut self, range: Range<usize>) {
        self.replace(range, Vec::new());
    }
}

impl Outline {
    /// All pointers in the record, in ascending order of positions.
    pub fn slots(&self) -> impl Iterator<Item = &PointerSlot> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Slot(slot) => Some(slot),
            Mark::Count { .. } => None,
        })
    }

    /// Appends the outline of bytes that follow the record: [`Edits::splice`] can insert parts of them into
    /// the record.
    pub fn append(&mut self, behind: Outline) {
        let before = self.marks.len();
        self.marks.extend(behind.marks);
        self.objects.extend(behind.objects.into_iter().map(|(at, mark)| (at, mark + before)));
    }

    /// Rewrites the first `len` bytes of the record, as [`emit`](Outline::emit) does with all of it.
    ///
    /// # Errors
    /// As `emit`.
    pub fn emit_first(&self, len: usize, payload: &[u8], key_len: u32, edits: &Edits) -> Result<Vec<u8>> {
        let mut emitter = Emitter {
            outline: self,
            payload,
            edits,
            key_len: u64::from(key_len),
            out: Vec::with_capacity(payload.len()),
            placed: HashMap::new(),
            classes: HashMap::new(),
            depth: 0,
        };
        emitter.range(0..len)?;
        Ok(emitter.out)
    }

    /// Rewrites the record for a key of `key_len` bytes, with `edits`. Byte counts, tags and references are
    /// corrected; a dropped object that is still referenced is written at the first reference.
    ///
    /// # Errors
    /// `Unsupported` if the result is too long for a record.
    pub fn emit(&self, payload: &[u8], key_len: u32, edits: &Edits) -> Result<Vec<u8>> {
        self.emit_first(payload.len(), payload, key_len, edits)
    }
}

struct Emitter<'a> {
    outline: &'a Outline,
    payload: &'a [u8],
    edits: &'a Edits,
    key_len: u64,
    out: Vec<u8>,
    /// The new position of each object.
    placed: HashMap<usize, usize>,
    /// The new position of the tag of each class.
    classes: HashMap<&'a [u8], usize>,
    depth: usize,
}

impl<'a> Emitter<'a> {
    fn range(&mut self, range: Range<usize>) -> Result<()> {
        let mut at = range.start;
        let outline = self.outline;
        let mut next = outline.marks.partition_point(|mark| mark.at() < at);
        while at < range.end {
            while outline.marks.get(next).is_some_and(|mark| mark.at() < at) {
                next += 1;
            }
            let mark = outline.marks.get(next).filter(|mark| mark.at() < range.end);
            let edits = self.edits;
            let edit = edits.parts.range(at..range.end).next();
            let mark_at = mark.map_or(range.end, Mark::at);
            match edit {
                Some((&from, edit)) if from <= mark_at => {
                    // An empty range, dropped or inserted, would be met again.
                    if edit.end <= from || edit.ranges.iter().any(|range| range.contains(&from)) {
                        return Err(Error::corrupt("an edit replaces nothing"));
                    }
                    self.copy(at..from)?;
                    self.out.extend(&edit.bytes);
                    edit.ranges.iter().try_for_each(|range| self.range(range.clone()))?;
                    at = edit.end;
                }
                _ => {
                    self.copy(at..mark_at)?;
                    at = match mark {
                        Some(mark) => self.mark(mark)?,
                        None => range.end,
                    };
                }
            }
        }
        Ok(())
    }

    fn copy(&mut self, range: Range<usize>) -> Result<()> {
        let bytes =
            self.payload.get(range).ok_or_else(|| Error::corrupt("an outline is not of this record"))?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the part at a mark; returns where it ends in the old record.
    fn mark(&mut self, mark: &Mark) -> Result<usize> {
        match mark {
            Mark::Count { at, end } => {
                let place = self.begin_count();
                self.range(*at + 4..*end)?;
                self.end_count(place)?;
                Ok(*end)
            }
            Mark::Slot(slot) => {
                self.slot(slot)?;
                Ok(slot.end)
            }
        }
    }

    fn slot(&mut self, slot: &PointerSlot) -> Result<()> {
        let target = match slot.target {
            PointerTarget::Null | PointerTarget::Own => return self.copy(slot.at..slot.end),
            PointerTarget::Reference(target) => target,
            PointerTarget::Object { .. } => slot.at,
        };
        if let Some(&place) = self.placed.get(&target) {
            let reference = self.id(place)?;
            if slot.framed && matches!(slot.target, PointerTarget::Reference(_)) {
                self.out.extend((BYTE_COUNT_MASK | 4).to_be_bytes());
            }
            self.out.extend(reference.to_be_bytes());
            return Ok(());
        }
        let outline = self.outline;
        match outline.objects.get(&target).and_then(|&mark| outline.marks.get(mark)) {
            Some(Mark::Slot(object)) => self.object(object),
            _ => Err(Error::corrupt("an outline refers to nothing")),
        }
    }

    fn object(&mut self, slot: &PointerSlot) -> Result<()> {
        let PointerTarget::Object { class_at, body } = slot.target else {
            return Err(Error::corrupt("an outline refers to what is no object"));
        };
        // A reference to an object that contains the reference can only recurse forever if both were moved.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::corrupt("objects are nested too deep"));
        }
        self.placed.insert(slot.at, self.out.len());
        let place = slot.framed.then(|| self.begin_count());
        let name = self.class_name(class_at)?;
        let own_tag = if slot.framed { slot.at + 4 } else { slot.at };
        match self.classes.get(name).copied() {
            // A class that was named again is named again.
            Some(tag) if own_tag != class_at => {
                let reference = self.id(tag)?;
                self.out.extend((CLASS_MASK | reference).to_be_bytes());
            }
            _ => {
                self.classes.insert(name, self.out.len());
                self.out.extend(NEW_CLASS_TAG.to_be_bytes());
                self.out.extend_from_slice(name);
                self.out.push(0);
            }
        }
        self.range(body..slot.end)?;
        if let Some(place) = place {
            self.end_count(place)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The class name at the tag at a position.
    fn class_name(&self, tag_at: usize) -> Result<&'a [u8]> {
        let name = self.payload.get(tag_at + 4..).unwrap_or_default();
        let len = name.iter().position(|&byte| byte == 0);
        len.and_then(|len| name.get(..len)).ok_or_else(|| Error::corrupt("an outline is not of this record"))
    }

    fn begin_count(&mut self) -> usize {
        self.out.extend([0; 4]);
        self.out.len()
    }

    fn end_count(&mut self, place: usize) -> Result<()> {
        let count =
            u32::try_from(self.out.len() - place).ok().filter(|count| count & !BYTE_COUNT_MASK == *count);
        let count = count.filter(|count| *count < BYTE_COUNT_MASK).ok_or_else(too_long)?;
        if let Some(word) = place.checked_sub(4).and_then(|start| self.out.get_mut(start..place)) {
            word.copy_from_slice(&(BYTE_COUNT_MASK | count).to_be_bytes());
        }
        Ok(())
    }

    /// The value of references to a position.
    fn id(&self, place: usize) -> Result<u32> {
        let id = u32::try_from(place as u64 + self.key_len + MAP_OFFSET).ok();
        id.filter(|id| *id < BYTE_COUNT_MASK).ok_or_else(too_long)
    }
}

fn too_long() -> Error {
    Error::unsupported("an object is longer than 1 GiB, which ROOT cannot store in one record")
}
