//! From raw baskets to a column: each basket is decompressed and decoded straight into its place in the output.

mod fixed;
mod jagged;
mod piece;
mod streamed;

use crate::BasketRef;
use bytes::Bytes;
use piece::Piece;
use sapwood_core::{Buffer, Column, Counters, Form, Result};
use sapwood_streamer::{Number, Program};
use std::ops::Range;
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

/// A basket and its bytes: the record of the basket, or what the tree's record embeds.
#[derive(Debug, Clone)]
pub struct BasketBytes<'a> {
    /// Where it belongs.
    pub basket: &'a BasketRef,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The values of a count branch for consecutive entries.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'a> {
    /// The first entry.
    pub first_entry: u64,
    /// Where the values of each entry begin, and the last end, if an entry has any number of them.
    pub offsets: Option<&'a [i64]>,
    /// One value per entry, or what `offsets` says.
    pub values: &'a [i64],
}

impl<'a> Counts<'a> {
    fn of(self, entries: Range<u64>) -> Option<&'a [i64]> {
        if self.offsets.is_some() {
            return None;
        }
        let from = usize::try_from(entries.start.checked_sub(self.first_entry)?).ok()?;
        let len = usize::try_from(entries.end.checked_sub(entries.start)?).ok()?;
        self.values.get(from..from.checked_add(len)?)
    }

    /// The values of the objects of one entry, or of the one object that it is.
    fn of_objects(self, entry: u64) -> Option<&'a [i64]> {
        let index = usize::try_from(entry.checked_sub(self.first_entry)?).ok()?;
        let Some(offsets) = self.offsets else { return self.values.get(index..=index) };
        let [from, to] = offsets.get(index..)?.first_chunk()?;
        self.values.get(usize::try_from(*from).ok()?..usize::try_from(*to).ok()?)
    }
}

/// Decodes the entries `entries` of a branch, on the threads of the current pool.
///
/// `baskets` are the baskets that hold these entries, in order; together they must hold all of them.
/// `likely` are the offsets of another column that is expected to have lists of the same lengths, because
/// the same branch counts them: if that proves true, the column shares them. The time that it takes is added to
/// `counters`.
///
/// # Errors
/// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the byte offset in the file.
pub fn decode(
    interpretation: &Interpretation,
    baskets: &[BasketBytes<'_>],
    entries: Range<u64>,
    counts: Option<Counts<'_>>,
    likely: Option<&Arc<Buffer>>,
    counters: &Counters,
) -> Result<Column> {
    let first = entries.start;
    let pieces = Piece::cut(baskets, entries, counts, counters)?;
    let length = pieces.iter().map(Piece::len).sum();
    let buffers = match &interpretation.layout {
        Layout::Fixed { number, values } => vec![Arc::new(fixed::decode(*number, *values, &pieces)?)],
        Layout::Jagged { number, values, header } => {
            jagged::decode(jagged::Item::new(*number, *values, *header), &pieces, likely)?
        }
        Layout::Program(program) => return streamed::decode(program, &pieces, first, counts, counters),
    };
    Ok(Column { form: interpretation.form.clone(), length, buffers })
}
