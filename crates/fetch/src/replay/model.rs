//! A model of a file at high latency: all its bytes are zero, but they take their time to arrive.

use super::policy::LinkModel;
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::{CostModel, Identity, Source};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// Bytes that are transferred as one unit: requests in flight together take turns.
const CHUNK: u64 = 256 << 10;

/// Most bytes in the answer to one request: answers share this memory.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// The modeled link to one server, which all requests to it share.
#[derive(Debug)]
pub(super) struct ModelLink {
    pub(super) model: LinkModel,
    /// When the last byte in flight will have arrived.
    free: Mutex<Option<Instant>>,
    places: Semaphore,
}

impl ModelLink {
    pub(super) fn new(model: LinkModel) -> Arc<ModelLink> {
        let places = Semaphore::new(model.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Arc::new(ModelLink { model, free: Mutex::default(), places })
    }

    /// Waits as long as a request for this many bytes takes, the first of which arrive after `round_trips`.
    pub(super) async fn pass(&self, round_trips: f64, bytes: u64) {
        // It is never closed.
        let _place = self.places.acquire().await;
        let begin = Instant::now();
        let mut moment = begin + self.model.round_trip.mul_f64(round_trips) + self.model.request_cost;
        sleep_until(moment).await;
        let mut left = bytes;
        while left > 0 {
            let chunk = left.min(CHUNK);
            left -= chunk;
            moment = self.reserve(moment, chunk);
            sleep_until(moment).await;
        }
    }

    /// When this many bytes have arrived, if their transfer can begin at `from`.
    fn reserve(&self, from: Instant, bytes: u64) -> Instant {
        let time = u128::from(bytes) * 1_000_000_000 / u128::from(self.model.bandwidth.max(1));
        let time = Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX));
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let end = free.map_or(from, |free| free.max(from)) + time;
        *free = Some(end);
        end
    }
}

/// A file on a modeled server.
#[derive(Debug)]
pub(super) struct ModelFile {
    pub(super) identity: Identity,
    pub(super) cost_model: CostModel,
    pub(super) link: Arc<ModelLink>,
    pub(super) nought: Bytes,
    /// The name of its server, if it tells several replicas apart.
    pub(super) server: Option<String>,
}

impl Source for ModelFile {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        self.cost_model
    }

    /// None for a single replica: measurements of a model belong to no real server.
    fn server(&self) -> Option<String> {
        self.server.clone()
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.link.model.round_trip)
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        _deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let bytes = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.len));
            self.link.pass(1.0, bytes).await;
            let answer = |range: &ByteRange| {
                let len = usize::try_from(range.len).ok().filter(|len| *len <= self.nought.len());
                let too_long = || Error::new(ErrorKind::Limit, "a request of the model is too large");
                Ok(self.nought.slice(..len.ok_or_else(too_long)?))
            };
            ranges.iter().map(answer).collect()
        })
    }
}

/// The cost model that replaces that of a local file: a web server that answers several ranges at once.
pub(super) const FAR: CostModel = CostModel {
    gap: 4 << 10,
    largest_request: 16 << 20,
    ranges_per_request: 100,
    concurrency: 16,
    immediate: false,
    tied: false,
    deals_out: false,
};
