//! A decorator that makes a source behave like a distant server.

use crate::{CostModel, Source, check, forward_source};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result};
use std::time::Duration;
use tokio::time::sleep_until;

/// Makes each call of `read_ranges` take one round trip, and the transfer time of its bytes.
///
/// Calls that overlap in time do not wait for each other: each has the full bandwidth.
///
/// ```
/// # use sapwood_core::{ByteRange, Deadline};
/// # use sapwood_source::{DelayedSource, MemorySource, Source};
/// # use std::time::{Duration, Instant};
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
/// let source = DelayedSource::new(MemorySource::new("abcdef"), Duration::from_millis(20), None);
/// let begin = Instant::now();
/// let ranges = [ByteRange { start: 0, len: 2 }];
/// runtime.block_on(source.read_ranges(&ranges, Deadline::default()))?;
/// assert!(begin.elapsed() >= Duration::from_millis(20));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DelayedSource<S> {
    inner: S,
    round_trip: Duration,
    bytes_per_second: Option<u64>,
}

impl<S: Source> DelayedSource<S> {
    /// Delays reads of `inner`; without `bytes_per_second`, only by the round trip.
    pub fn new(inner: S, round_trip: Duration, bytes_per_second: Option<u64>) -> Self {
        DelayedSource { inner, round_trip, bytes_per_second }
    }

    fn delay(&self, ranges: &[ByteRange]) -> Duration {
        let bytes: u64 = ranges.iter().map(|range| range.len).sum();
        let transfer = self.bytes_per_second.map(|rate| bytes as f64 / rate.max(1) as f64);
        self.round_trip + Duration::from_secs_f64(transfer.unwrap_or(0.0))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for DelayedSource<S> {
    forward_source!(self => self.inner; identity, server, is_cold, announce, checksums);

    fn cost_model(&self) -> CostModel {
        CostModel {
            immediate: false,
            concurrency: self.inner.cost_model().concurrency.max(8),
            ..self.inner.cost_model()
        }
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.round_trip + self.inner.round_trip().unwrap_or_default())
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            check::request(self.identity(), ranges, deadline)?;
            let ready = Deadline::after(self.delay(ranges));
            sleep_until(ready.min(deadline).instant().into()).await;
            if deadline < ready {
                return Err(check::timeout(self.identity()));
            }
            self.inner.read_ranges(ranges, deadline).await
        })
    }
}
