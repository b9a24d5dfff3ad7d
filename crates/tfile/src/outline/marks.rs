//! The parts of a record that depend on positions: byte counts and pointers.

use std::collections::HashMap;

/// The positions of byte counts and pointers in a record.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// In ascending order of position; nested marks follow the enclosing one.
    pub(super) marks: Vec<Mark>,
    /// Indices in `marks` of the objects that references can name, by position.
    pub(super) objects: HashMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    /// A byte count and the end of its object.
    Count { at: usize, end: usize },
    /// A pointer.
    Pointer(Pointer),
}

/// A pointer in a record.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    /// Position of its first byte. References to its object name this position.
    pub at: usize,
    /// Position after it, object included; while an object without a byte count is being read, its start.
    pub end: usize,
    /// True if it begins with a byte count.
    pub framed: bool,
    /// Its target.
    pub target: PointerTarget,
}

/// The target of a pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerTarget {
    /// Nothing.
    Null,
    /// The record's own object.
    Own,
    /// The object whose pointer begins at this position; `usize::MAX` if the reference points outside the
    /// record.
    Reference(usize),
    /// An object that follows the pointer's tag.
    Object {
        /// Position of the tag that first names its class.
        class_at: usize,
        /// Position of the object's version header.
        body: usize,
    },
}

impl Mark {
    pub(super) fn at(&self) -> usize {
        match self {
            Mark::Count { at, .. } | Mark::Pointer(Pointer { at, .. }) => *at,
        }
    }
}

impl Pointer {
    /// The position by which references name its target.
    pub fn object_at(&self) -> Option<usize> {
        match self.target {
            PointerTarget::Object { .. } => Some(self.at),
            PointerTarget::Reference(at) => Some(at),
            PointerTarget::Null | PointerTarget::Own => None,
        }
    }
}

impl Outline {
    /// All pointers in the record, in ascending order of position.
    pub fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Pointer(pointer) => Some(pointer),
            Mark::Count { .. } => None,
        })
    }

    /// Appends the outline of a second record that follows in the same bytes:
    /// [`Edits::splice`](crate::Edits::splice) can insert parts of it into the first.
    pub fn append(&mut self, behind: Outline) {
        let before = self.marks.len();
        self.marks.extend(behind.marks);
        self.objects.extend(behind.objects.into_iter().map(|(at, mark)| (at, mark + before)));
    }

    /// Adds a pointer; returns its index.
    pub(super) fn add(&mut self, pointer: Pointer) -> usize {
        let index = self.marks.len();
        if let PointerTarget::Object { .. } = pointer.target {
            self.objects.insert(pointer.at, index);
        }
        self.marks.push(Mark::Pointer(pointer));
        index
    }

    /// Removes all marks from an index on.
    pub(super) fn truncate(&mut self, marks: usize) {
        self.marks.truncate(marks);
        self.objects.retain(|_, mark| *mark < marks);
    }
}
