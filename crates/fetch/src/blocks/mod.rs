//! Lazy download: a file in large blocks, each fetched when it is first touched, kept on the local disk, and
//! read from there afterwards. Scattered reads at high latency become few large ones.
//!
//! Blocks are kept in a temporary file, or in a directory that processes share and that outlives them, as
//! [`BlockOptions`] says. In both cases, reading continues without them when
//! the disk is full.

mod cache;
mod claims;
mod grid;
mod opening;
mod options;
mod origin;
mod reading;
mod scratch;
mod store;
mod trouble;

pub use cache::{Cache, CacheCheck, CachedFile, ColumnShelf, Span, make_private};
pub use opening::{name_of, open};
pub use options::{BlockOptions, CacheOptions};
pub use origin::Reopen;

use origin::Origin;
use reading::BlockReader;
use sapwood_core::BoxFuture;
use sapwood_core::{ByteRange, Counters, Deadline, Result};
use sapwood_source::{CostModel, Identity, Source};
use std::sync::Arc;
use store::BlockStore;

/// A source that reads another source in blocks, and keeps these.
///
/// A range in blocks that are kept costs nothing. For other ranges, all missing blocks are fetched,
/// neighbors together, several at a time. A block is fetched once, however many readers want it. When the
/// file is complete, the source is closed. That source counts the requests; `block_bytes` counts what is
/// answered from existing blocks.
#[derive(Debug)]
pub struct Blocks(Arc<BlockReader>);

impl Blocks {
    fn new(origin: Origin, block: u64, store: Box<dyn BlockStore>, counters: Arc<Counters>) -> Self {
        Blocks(Arc::new(BlockReader::new(origin, block, store, counters)))
    }
}

impl Source for Blocks {
    fn identity(&self) -> &Identity {
        self.0.identity()
    }

    /// Any ranges, all at once: this source sees which blocks they need, and plans their requests below.
    fn cost_model(&self) -> CostModel {
        CostModel { immediate: false, ..CostModel::MEMORY }
    }

    /// None: an answer comes from the disk or from the server.
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
