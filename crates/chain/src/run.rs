//! The entries of a column in one batch, as the stages pass them on.

use super::column::PlainBasket;
use sapwood_ttree::Entries;
use std::ops::Range;
use std::sync::Arc;

/// The entries of a batch in one basket.
#[derive(Debug)]
pub(super) struct BasketEntries {
    pub(super) plain: Arc<PlainBasket>,
    /// Their indices in the basket.
    pub(super) range: Range<usize>,
}

/// The entries of a batch in one basket, and what they were serialized to.
pub(super) struct Run {
    pub(super) piece: BasketEntries,
    pub(super) serialized: Option<Entries>,
}

impl Run {
    pub(super) fn entries(&self) -> (&Entries, Range<usize>) {
        match &self.serialized {
            Some(entries) => (entries, 0..entries.len()),
            None => (&self.piece.plain.entries, self.piece.range.clone()),
        }
    }
}
