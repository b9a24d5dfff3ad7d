//! What the entries of a branch look like on file, and the column that they become.

use sapwood_core::Form;
use sapwood_streamer::{Number, Program};
use std::sync::Arc;

/// How the bytes of a branch become values.
#[derive(Debug, Clone, PartialEq)]
pub struct Interpretation {
    /// The shape and type of the column.
    pub form: Form,
    /// What an entry looks like on file.
    pub layout: Layout,
    /// Index of the branch whose values say how many items each entry has. Its values are needed only
    /// for baskets that do not store the offsets of their entries; but where they are said for
    /// [each object](Interpretation::counts_objects) of an entry, always.
    pub count_branch: Option<usize>,
    /// Members that cannot be read and are left out of the objects: path and reason.
    pub skipped: Vec<(String, String)>,
}

impl Interpretation {
    /// True if the branch's values cannot be found without those of the [count branch](Self::count_branch):
    /// one for the object of an entry or, in lists, one for each.
    pub fn counts_objects(&self) -> bool {
        matches!(&self.layout, Layout::Program(program) if program.counter.is_some())
    }
}

/// What an entry looks like on file.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Every entry holds `values` numbers.
    Fixed {
        /// The numbers.
        number: Number,
        /// How many.
        values: usize,
    },
    /// Every entry holds any number of items of `values` numbers each, up to its end, after `header` bytes:
    /// 0 for a counted leaf, 1 (a flag) for a counted pointer, 10 (byte count, version, count) for a vector.
    Jagged {
        /// The numbers.
        number: Number,
        /// How many make an item.
        values: usize,
        /// Bytes in front of the items of each entry.
        header: usize,
    },
    /// A program is run for every entry.
    Program(Arc<Program>),
}
