//! Lazy download: a file in large blocks, each fetched when it is touched first, kept on the local disk, and read
//! from there after that. Scattered reads of a distant file so become few large ones.
//!
//! Blocks are kept in a temporary file, or in a directory that processes share and that outlives them, as the
//! [`BlockOptions`](sapwood_source::BlockOptions) say. In either case reading goes on without them when the disk is full.

mod cache;
mod claims;
mod grid;
mod opening;
mod origin;
mod reading;
mod scratch;
mod store;
mod trouble;

pub use cache::{Cache, Kept, Verified, make_private};
pub use opening::{name_of, open};
pub use origin::Reopen;

use claims::Claims;
use grid::Grid;
use origin::Origin;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Result};
use sapwood_source::{CostModel, Identity, Source};
use std::sync::Arc;
use store::Store;

/// A source that reads another one in blocks, and keeps these.
///
/// A range that lies in blocks that are kept costs nothing; of others, all missing blocks are fetched, neighbours
/// together, several at a time. A block is fetched once, however many want it. When the file is complete, the source
/// is let go. The requests are counted by that source; what is answered from blocks that were there, in `block_bytes`.
#[derive(Debug)]
pub struct Blocks(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    origin: Origin,
    grid: Grid,
    store: Box<dyn Store>,
    claims: Claims,
    counters: Arc<Counters>,
    /// Bytes that one fetch brings at most, if a block is not larger.
    batch: u64,
}

impl Blocks {
    fn new(origin: Origin, block: u64, store: Box<dyn Store>, counters: Arc<Counters>) -> Self {
        let grid = Grid::new(origin.identity().size, block);
        let claims = Claims::default();
        Blocks(Arc::new(Inner { origin, grid, store, claims, counters, batch: reading::BATCH }))
    }
}

impl Source for Blocks {
    fn identity(&self) -> &Identity {
        self.0.origin.identity()
    }

    /// Any ranges, all at once: which blocks they need is seen here, and how these are asked for is planned below.
    fn cost_model(&self) -> CostModel {
        CostModel { immediate: false, ..CostModel::MEMORY }
    }

    /// None: an answer is as quick as the disk or as the server.
    fn server(&self) -> Option<String> {
        None
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<bytes::Bytes>>> {
        Box::pin(self.0.read(ranges, deadline))
    }
}
