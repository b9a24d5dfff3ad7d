//! What in a record depends on positions: byte counts and pointers.

use std::collections::HashMap;

/// Where the things stand in a record that depend on positions.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// By rising position; what stands inside of another thing follows it.
    pub(super) marks: Vec<Mark>,
    /// Indices in `marks` of the objects that references can name, by position.
    pub(super) objects: HashMap<usize, usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Mark {
    /// A byte count, and where the object ends.
    Count { at: usize, end: usize },
    /// A pointer.
    Pointer(Pointer),
}

/// A pointer, as it stands in a record.
#[derive(Debug, Clone, Copy)]
pub struct Pointer {
    /// Position of its first byte. References to its object mean this position.
    pub at: usize,
    /// Position behind it, object included. While the object is read and has no byte count: where it begins.
    pub end: usize,
    /// True if it begins with a byte count.
    pub framed: bool,
    /// What it points at.
    pub target: PointerTarget,
}

/// What a pointer points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PointerTarget {
    /// Nothing.
    Null,
    /// The record's own object.
    Own,
    /// The object whose pointer begins at this position; `usize::MAX` if the reference leads out of the record.
    Reference(usize),
    /// An object that follows the pointer's tag.
    Object {
        /// Position of the tag by which its class was named first.
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
    /// The position by which references name the object that it points at.
    pub fn object_at(&self) -> Option<usize> {
        match self.target {
            PointerTarget::Object { .. } => Some(self.at),
            PointerTarget::Reference(at) => Some(at),
            PointerTarget::Null | PointerTarget::Own => None,
        }
    }
}

impl Outline {
    /// All pointers in the record, by rising position.
    pub fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        self.marks.iter().filter_map(|mark| match mark {
            Mark::Pointer(pointer) => Some(pointer),
            Mark::Count { .. } => None,
        })
    }

    /// Appends the outline of what stands behind the record, in the same bytes:
    /// [`Edits::splice`](crate::Edits::splice) can put parts of it into the record.
    pub fn append(&mut self, behind: Outline) {
        let before = self.marks.len();
        self.marks.extend(behind.marks);
        self.objects.extend(behind.objects.into_iter().map(|(at, mark)| (at, mark + before)));
    }

    /// Adds a pointer; gives its index.
    pub(super) fn add(&mut self, pointer: Pointer) -> usize {
        let index = self.marks.len();
        if let PointerTarget::Object { .. } = pointer.target {
            self.objects.insert(pointer.at, index);
        }
        self.marks.push(Mark::Pointer(pointer));
        index
    }

    /// Forgets all marks from an index on.
    pub(super) fn truncate(&mut self, marks: usize) {
        self.marks.truncate(marks);
        self.objects.retain(|_, mark| *mark < marks);
    }
}
