//! The source that a fetcher exposes: reads on it bypass the planner and are counted.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Result};
use sapwood_source::{Source, forward_source};
use std::sync::Arc;

/// A source that adds to `unplanned_reads` whenever it is read.
#[derive(Debug)]
pub(crate) struct UnplannedReads {
    pub(crate) inner: Arc<dyn Source>,
    pub(crate) counters: Arc<Counters>,
}

#[deny(clippy::missing_trait_methods)]
impl Source for UnplannedReads {
    forward_source!(self => self.inner; identity, cost_model, server, round_trip, is_cold, announce, checksums);

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        self.counters.unplanned_reads.add(1);
        self.inner.read_ranges(ranges, deadline)
    }
}
