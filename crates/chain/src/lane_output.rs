//! The result of a lane for one batch, and the interface of the outputs that take it.

use super::events::EventColumns;
use super::flat_block::PackedBlock;
use sapwood_core::{Call, Column, Result};
use sapwood_dataset::CutBasket;
use sapwood_rewrite::repack::baskets::BasketEncoding;

/// The form in which the stages deliver a batch.
pub(super) enum Pack {
    /// Baskets: for each column the entries of a stripe; the columns with event numbers, if known; the intended readers.
    Baskets { stripes: Vec<u64>, events: Option<EventColumns>, encoding: BasketEncoding },
    /// A block of events.
    Flat,
}

/// The result of a lane for one batch.
pub(super) enum LaneOutput {
    Nothing,
    Baskets(Baskets),
    Block(PackedBlock),
}

/// The baskets of a batch.
pub(super) struct Baskets {
    /// For each column, the basket of each stripe.
    pub(super) columns: Vec<Vec<CutBasket>>,
    /// Run, luminosity block and event numbers.
    pub(super) events: Option<Vec<Column>>,
}

/// An open output. Batches come in order.
pub(super) trait Output: Send {
    fn put(&mut self, first: u64, entries: u64, made: LaneOutput, call: &mut Call<'_>) -> Result<()>;

    /// Completes the output. Returns its bytes and objects.
    fn finish(self: Box<Self>, call: &mut Call<'_>) -> Result<(u64, u64)>;
}
