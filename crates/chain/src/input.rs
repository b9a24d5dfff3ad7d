//! What is known of an open source before it is read.

use super::column::Column;
use super::events::EventColumns;
use sapwood_dataset::Template;

/// An open source.
pub(super) struct ChainInput {
    /// The products of the tree; none if the source has no columns.
    pub(super) template: Option<Template>,
    /// The branches of all products.
    pub(super) columns: Vec<Column>,
    /// Compressed bytes of each column per entry, as far as known.
    pub(super) sizes: Vec<f64>,
    pub(super) entries: u64,
    /// The columns with event numbers.
    pub(super) events: Option<EventColumns>,
}
