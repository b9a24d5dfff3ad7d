//! The entries of a column in one batch, as the stages pass them on.

use super::column::Plain;
use sapwood_ttree::Entries;
use std::ops::Range;
use std::sync::Arc;

/// Entries of a batch that lie in one basket.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) plain: Arc<Plain>,
    /// Counted from the first of the basket.
    pub(super) range: Range<usize>,
}

/// Entries that lie in one basket, or what they were serialised to.
pub(super) struct Run {
    pub(super) piece: Piece,
    pub(super) serialised: Option<Entries>,
}

impl Run {
    pub(super) fn entries(&self) -> (&Entries, Range<usize>) {
        match &self.serialised {
            Some(entries) => (entries, 0..entries.len()),
            None => (&self.piece.plain.entries, self.piece.range.clone()),
        }
    }
}
