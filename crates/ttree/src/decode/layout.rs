//! The layout of the entries of a branch on file, and the form of the column.

use sapwood_core::Form;
use sapwood_streamer::{Program, StoredNumber};
use std::sync::Arc;

/// How to decode the bytes of a branch.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// The shape and type of the column.
    pub form: Form,
    /// The layout of an entry on file.
    pub layout: Layout,
    /// Index of the branch that counts the items of each entry. Its values are needed only for baskets
    /// without an offset table, but always if it counts for [each object](Interpretation::counts_objects) of
    /// an entry.
    pub count_branch: Option<usize>,
    /// Members that cannot be read and are omitted: path and reason.
    pub skipped: Vec<(String, String)>,
}

impl Interpretation {
    /// True if the branch cannot be decoded without the values of the [count branch](Self::count_branch): one
    /// for the object of an entry or, in lists, one for each object.
    pub fn counts_objects(&self) -> bool {
        matches!(&self.layout, Layout::Program(program) if program.counter.is_some())
    }
}

/// The layout of an entry on file.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Every entry holds `values` numbers.
    Fixed {
        /// The numbers.
        number: StoredNumber,
        /// How many.
        values: usize,
    },
    /// Every entry holds any number of items of `values` numbers each, until the end of the entry, after
    /// `header` bytes: 0 for a counted leaf, 1 (a flag) for a counted pointer, 10 (byte count, version,
    /// count) for a vector.
    Jagged {
        /// The numbers.
        number: StoredNumber,
        /// How many make an item.
        values: usize,
        /// Bytes in front of the items of each entry.
        header: usize,
    },
    /// A program decodes every entry.
    Program(Arc<Program>),
}
