//! Rewrites a record with some parts replaced.

use super::marks::{Mark, Outline, Pointer, PointerTarget};
use crate::cursor::{BYTE_COUNT_MASK, CLASS_MASK, MAP_OFFSET, NEW_CLASS_TAG};
use sapwood_core::{Error, Result};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Objects nested deeper than this are not real.
const MAX_DEPTH: usize = 200;

/// Replacements for parts of a record.
#[derive(Debug, Default, Clone)]
pub struct Edits {
    /// By the position where each begins.
    parts: BTreeMap<usize, Edit>,
}

/// The replacement for a range.
#[derive(Debug, Clone)]
struct Edit {
    /// End of the range.
    end: usize,
    bytes: Vec<u8>,
    /// Ranges of the record that follow the bytes.
    ranges: Vec<Range<usize>>,
}

impl Edits {
    /// Replaces a range with `bytes`. If two edits overlap, the one with the lower start wins; if they start
    /// at the same position, the later call.
    pub fn replace(&mut self, range: Range<usize>, bytes: impl Into<Vec<u8>>) {
        self.splice(range, bytes, Vec::new());
    }

    /// Replaces a range with `bytes`, followed by other ranges of the record, with the edits that apply to
    /// them.
    pub fn splice(&mut self, range: Range<usize>, bytes: impl Into<Vec<u8>>, ranges: Vec<Range<usize>>) {
        self.parts.insert(range.start, Edit { end: range.end, bytes: bytes.into(), ranges });
    }

    /// Removes a range.
    pub fn remove(&mut self, range: Range<usize>) {
        self.replace(range, Vec::new());
    }
}

impl Outline {
    /// Rewrites the first `len` bytes of the record, for a key of `key_len` bytes and with `edits`. Byte
    /// counts, tags and references are adjusted; if a removed object is still referenced, it is written in
    /// place of the first reference.
    ///
    /// # Errors
    /// `Unsupported` if the result is too long for a record.
    pub fn emit(&self, len: usize, payload: &[u8], key_len: u32, edits: &Edits) -> Result<Vec<u8>> {
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
}

struct Emitter<'a> {
    outline: &'a Outline,
    payload: &'a [u8],
    edits: &'a Edits,
    key_len: u64,
    out: Vec<u8>,
    /// New position of each object.
    placed: HashMap<usize, usize>,
    /// New position of the tag of each class.
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
                    // An empty edit, or one that inserts itself, would be found again.
                    if edit.end <= from || edit.ranges.iter().any(|range| range.contains(&from)) {
                        return Err(Error::corrupt("an edit is empty or inserts itself"));
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
            self.payload.get(range).ok_or_else(|| Error::corrupt("the outline belongs to another record"))?;
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Writes the item at a mark; returns its end in the old record.
    fn mark(&mut self, mark: &Mark) -> Result<usize> {
        match mark {
            Mark::Count { at, end } => {
                let place = self.begin_count();
                self.range(*at + 4..*end)?;
                self.end_count(place)?;
                Ok(*end)
            }
            Mark::Pointer(pointer) => {
                self.pointer(pointer)?;
                Ok(pointer.end)
            }
        }
    }

    fn pointer(&mut self, pointer: &Pointer) -> Result<()> {
        let target = match pointer.target {
            PointerTarget::Null | PointerTarget::Own => return self.copy(pointer.at..pointer.end),
            PointerTarget::Reference(target) => target,
            PointerTarget::Object { .. } => pointer.at,
        };
        if let Some(&place) = self.placed.get(&target) {
            let reference = self.id(place)?;
            if pointer.framed && matches!(pointer.target, PointerTarget::Reference(_)) {
                self.out.extend((BYTE_COUNT_MASK | 4).to_be_bytes());
            }
            self.out.extend(reference.to_be_bytes());
            return Ok(());
        }
        let outline = self.outline;
        match outline.objects.get(&target).and_then(|&mark| outline.marks.get(mark)) {
            Some(Mark::Pointer(object)) => self.object(object),
            _ => Err(Error::corrupt("an outline refers to nothing")),
        }
    }

    fn object(&mut self, pointer: &Pointer) -> Result<()> {
        let PointerTarget::Object { class_at, body } = pointer.target else {
            return Err(Error::corrupt("an outline refers to a position without an object"));
        };
        // An object that contains a reference to itself recurses without end if both were moved.
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::corrupt("objects are nested too deep"));
        }
        self.placed.insert(pointer.at, self.out.len());
        let place = pointer.framed.then(|| self.begin_count());
        let name = self.class_name(class_at)?;
        let own_tag = if pointer.framed { pointer.at + 4 } else { pointer.at };
        match self.classes.get(name).copied() {
            // If the original repeats the class name, the copy does, too.
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
        self.range(body..pointer.end)?;
        if let Some(place) = place {
            self.end_count(place)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// The class name after the tag at a position.
    fn class_name(&self, tag_at: usize) -> Result<&'a [u8]> {
        let name = self.payload.get(tag_at + 4..).unwrap_or_default();
        let len = name.iter().position(|&byte| byte == 0);
        len.and_then(|len| name.get(..len))
            .ok_or_else(|| Error::corrupt("the outline belongs to another record"))
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

    /// The ID by which references name a position.
    fn id(&self, place: usize) -> Result<u32> {
        let id = u32::try_from(place as u64 + self.key_len + u64::from(MAP_OFFSET)).ok();
        id.filter(|id| *id < BYTE_COUNT_MASK).ok_or_else(too_long)
    }
}

fn too_long() -> Error {
    Error::unsupported("an object is longer than 1 GiB, which ROOT cannot store in one record")
}
