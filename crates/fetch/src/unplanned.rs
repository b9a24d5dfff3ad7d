//! What a fetcher shows of its source: reads that are made on it are counted, for they go around the planner.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Result};
use sapwood_source::{Checksum, CostModel, Identity, Source};
use std::sync::Arc;
use std::time::Duration;

/// A source that adds to `unplanned_reads` whenever it is read.
#[derive(Debug)]
pub(crate) struct Unplanned {
    pub(crate) inner: Arc<dyn Source>,
    pub(crate) counters: Arc<Counters>,
}

#[deny(clippy::missing_trait_methods)]
impl Source for Unplanned {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn cost_model(&self) -> CostModel {
        self.inner.cost_model()
    }

    fn server(&self) -> Option<String> {
        self.inner.server()
    }

    fn round_trip(&self) -> Option<Duration> {
        self.inner.round_trip()
    }

    fn checksums(&self, deadline: Deadline) -> BoxFuture<'_, Vec<Checksum>> {
        self.inner.checksums(deadline)
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        self.counters.unplanned_reads.add(1);
        self.inner.read_ranges(ranges, deadline)
    }
}
