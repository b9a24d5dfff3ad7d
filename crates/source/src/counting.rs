//! A decorator that counts requests, for sources that do not count them.

use crate::accounting::RequestAccounting;
use crate::{Source, forward_source};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Result};
use std::sync::Arc;

/// Adds reads through it to [`Counters`]: each call of `read_ranges` is one request, and a round trip unless the source is
/// [immediate](crate::CostModel::immediate).
///
/// Meant for memory and local files. The HTTP source counts itself, since only it knows how many messages a call
/// needs.
///
/// ```
/// # use sapwood_core::{ByteRange, Counters, Deadline};
/// # use sapwood_source::{CountingSource, MemorySource, Source};
/// # use std::sync::Arc;
/// let counters = Arc::new(Counters::default());
/// let source = CountingSource::new(MemorySource::new("abcdef"), Arc::clone(&counters));
/// let ranges = [ByteRange { start: 0, len: 2 }, ByteRange { start: 4, len: 1 }];
/// futures::executor::block_on(source.read_ranges(&ranges, Deadline::default()))?;
/// let now = counters.snapshot();
/// assert_eq!((now.requests, now.ranges, now.fetched_bytes, now.round_trips), (1, 2, 3, 0));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct CountingSource<S> {
    inner: S,
    accounting: RequestAccounting,
}

impl<S: Source> CountingSource<S> {
    /// Counts reads of `inner`.
    pub fn new(inner: S, counters: Arc<Counters>) -> Self {
        let accounting = RequestAccounting::new(counters, inner.server());
        CountingSource { inner, accounting }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for CountingSource<S> {
    forward_source!(self => self.inner; identity, cost_model, server, round_trip, is_cold, announce, checksums);

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let answers = if self.inner.cost_model().immediate {
                self.accounting.read(ranges.len());
                self.inner.read_ranges(ranges, deadline).await
            } else {
                let wait = self.accounting.request(ranges.len());
                let answers = self.inner.read_ranges(ranges, deadline).await;
                self.accounting.answered(wait);
                answers
            };
            let answers = answers?;
            self.accounting.received(answers.iter().map(Bytes::len).sum());
            Ok(answers)
        })
    }
}
