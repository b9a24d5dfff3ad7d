//! The result of a lane for one batch, and the interface of the outputs that take it.

use super::events::EventColumns;
use super::flat_block::Packed;
use sapwood_core::{Call, Column, Result};
use sapwood_dataset::CutBasket;
use sapwood_rewrite::repack::baskets::BasketEncoding;

/// What the stages are to make of a batch.
pub(super) enum Pack {
    /// Baskets: of stripes of so many entries for each column; which events they are, if it is known what says it; who is to
    /// read them.
    Baskets { stripes: Vec<u64>, events: Option<EventColumns>, encoding: BasketEncoding },
    /// A block of events.
    Flat,
}

/// What a lane made of a batch.
pub(super) enum LaneOutput {
    Nothing,
    Baskets(Baskets),
    Block(Packed),
}

/// The baskets of a batch.
pub(super) struct Baskets {
    /// For each column, the basket of each stripe.
    pub(super) columns: Vec<Vec<CutBasket>>,
    /// The numbers that say which events they are.
    pub(super) events: Option<Vec<Column>>,
}

/// An output that is open. Batches come in their order.
pub(super) trait Output: Send {
    fn put(&mut self, first: u64, entries: u64, made: LaneOutput, call: &mut Call<'_>) -> Result<()>;

    /// Puts it in its place; bytes, and objects.
    fn finish(self: Box<Self>, call: &mut Call<'_>) -> Result<(u64, u64)>;
}
