//! A model of a distant file: its bytes are nought, but they take their time.

use super::policy::Line;
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Error, ErrorKind, Result};
use sapwood_source::{CostModel, Identity, Source};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until};

/// Bytes that pass as one: requests in flight together take turns.
const CHUNK: u64 = 256 << 10;

/// What one request answers at most: answers share these bytes.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// The way to one server, which all that is asked of it shares.
#[derive(Debug)]
pub(super) struct Way {
    pub(super) line: Line,
    /// When the last byte that is under way will have come.
    free: Mutex<Option<Instant>>,
    places: Semaphore,
}

impl Way {
    pub(super) fn new(line: Line) -> Arc<Way> {
        let places = Semaphore::new(line.concurrency.clamp(1, Semaphore::MAX_PERMITS));
        Arc::new(Way { line, free: Mutex::default(), places })
    }

    /// Waits as long as a request for so many bytes takes, of which the first comes after so many round trips.
    pub(super) async fn pass(&self, round_trips: f64, bytes: u64) {
        // Nobody closes it.
        let _place = self.places.acquire().await;
        let begin = Instant::now();
        let mut moment = begin + self.line.round_trip.mul_f64(round_trips) + self.line.request_cost;
        sleep_until(moment).await;
        let mut left = bytes;
        while left > 0 {
            let chunk = left.min(CHUNK);
            left -= chunk;
            moment = self.reserve(moment, chunk);
            sleep_until(moment).await;
        }
    }

    /// When so many bytes have come that could begin at `from`.
    fn reserve(&self, from: Instant, bytes: u64) -> Instant {
        let time = u128::from(bytes) * 1_000_000_000 / u128::from(self.line.bandwidth.max(1));
        let time = Duration::from_nanos(u64::try_from(time).unwrap_or(u64::MAX));
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let end = free.map_or(from, |free| free.max(from)) + time;
        *free = Some(end);
        end
    }
}

/// A file at the end of a way.
#[derive(Debug)]
pub(super) struct Modelled {
    pub(super) identity: Identity,
    pub(super) cost_model: CostModel,
    pub(super) way: Arc<Way>,
    pub(super) nought: Bytes,
    /// Its name, if there are several places that are told apart by it.
    pub(super) server: Option<String>,
}

impl Source for Modelled {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        self.cost_model
    }

    /// None, of a single place: what is measured of a model belongs to no server that there is.
    fn server(&self) -> Option<String> {
        self.server.clone()
    }

    fn round_trip(&self) -> Option<Duration> {
        Some(self.way.line.round_trip)
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        _deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let bytes = ranges.iter().fold(0_u64, |sum, range| sum.saturating_add(range.len));
            self.way.pass(1.0, bytes).await;
            let answer = |range: &ByteRange| {
                let len = usize::try_from(range.len).ok().filter(|len| *len <= self.nought.len());
                let too_long = || Error::new(ErrorKind::Limit, "a request of the model is too large");
                Ok(self.nought.slice(..len.ok_or_else(too_long)?))
            };
            ranges.iter().map(answer).collect()
        })
    }
}

/// The cost model of a distant file, where a job that read a local one is replayed: those of a web server that answers
/// several ranges at once.
pub(super) const FAR: CostModel = CostModel {
    gap: 4 << 10,
    largest_request: 16 << 20,
    ranges_per_request: 100,
    concurrency: 16,
    immediate: false,
    tied: false,
};
