//! The input of decoding a column: baskets, and the values that count its items.

use crate::meta::BasketRef;
use bytes::Bytes;
use std::ops::Range;

/// A basket and its bytes: the record of the basket, or what the tree's record embeds.
#[derive(Debug, Clone)]
pub struct BasketBytes<'a> {
    /// Its position in the branch.
    pub basket: &'a BasketRef,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The values of a count branch for consecutive entries.
#[derive(Debug, Clone, Copy)]
pub struct Counts<'a> {
    /// The first entry.
    pub first_entry: u64,
    /// The start of the values of each entry and the end of the last, if entries have several values.
    pub offsets: Option<&'a [i64]>,
    /// One value per entry, or as many as `offsets` states.
    pub values: &'a [i64],
}

impl<'a> Counts<'a> {
    pub(super) fn of(self, entries: Range<u64>) -> Option<&'a [i64]> {
        if self.offsets.is_some() {
            return None;
        }
        let from = usize::try_from(entries.start.checked_sub(self.first_entry)?).ok()?;
        let len = usize::try_from(entries.end.checked_sub(entries.start)?).ok()?;
        self.values.get(from..from.checked_add(len)?)
    }

    /// The values of the objects of one entry; of a single object if there are no offsets.
    pub(super) fn of_objects(self, entry: u64) -> Option<&'a [i64]> {
        let index = usize::try_from(entry.checked_sub(self.first_entry)?).ok()?;
        let Some(offsets) = self.offsets else { return self.values.get(index..=index) };
        let [from, to] = offsets.get(index..)?.first_chunk()?;
        self.values.get(usize::try_from(*from).ok()?..usize::try_from(*to).ok()?)
    }
}
