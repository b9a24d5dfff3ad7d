//! What the process remembers about each server, so that it never asks twice for what a server cannot do.

use super::limits::LARGEST_REQUEST;
use crate::cost_model::WINDOWS_LIMIT_FROM;
use reqwest::Url;
use sapwood_core::RecentBest;
use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Ranges in one request, until a server refuses that many. Apache's own limit is 200.
const RANGES: usize = 200;

/// Bytes of a `Range` header, until a server refuses that many. Common limits on all headers are 8 kB
/// and more.
const HEADER_BYTES: usize = 7 << 10;

/// The limit never falls below this: one range always fits.
const LEAST_HEADER_BYTES: usize = 64;

/// Unused connections are kept for longer than this.
const SPARES_LAST: Duration = Duration::from_secs(60);

/// Round trips that a request may take on one connection, which rests for one of them before the next request. The round
/// trip that is known is a lower bound.
const ROUND_TRIPS: u32 = 16;

/// The smallest request: the work for smaller ones would cost more than they gain.
const SMALLEST_REQUEST: u64 = 256 << 10;

/// Fewer bytes do not measure the rate of a connection: the first of them arrive together with the headers.
const MEASURING_BYTES: usize = 128 << 10;

static SERVERS: Mutex<Option<HashMap<String, Arc<Server>>>> = Mutex::new(None);

/// How many ranges fit in one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Number of ranges; 1 if the server does not answer several.
    pub(super) ranges: usize,
    /// Bytes of the header's value.
    pub(super) header_bytes: usize,
}

/// The memory of one server. Limits only ever shrink.
#[derive(Debug)]
pub(super) struct Server {
    ranges: AtomicUsize,
    header_bytes: AtomicUsize,
    several: AtomicBool,
    doubted: AtomicBool,
    suffix: AtomicBool,
    /// The shortest measured, in microseconds; 0 if none was.
    round_trip: AtomicU64,
    /// Bytes per second of one answer.
    rate: Mutex<RecentBest<u64>>,
    /// The connections that were last made ahead of need.
    spares: Mutex<Option<Spares>>,
}

/// Connections that are made ahead of need.
#[derive(Debug, Clone)]
struct Spares {
    since: Instant,
    /// One permit for each connection that is there and was not claimed; closed when no more will come.
    there: Arc<Semaphore>,
}

/// Makes connections ahead of need. When the last clone is dropped, no more will come.
#[derive(Debug)]
pub(super) struct SpareMaker(Arc<Semaphore>);

impl SpareMaker {
    /// Makes a connection by running a request that leaves one behind.
    pub(super) fn make(self: Arc<Self>, knock: impl Future<Output = ()> + Send + 'static) {
        // It ends by itself, at the latest after the read timeout, even if nothing waits for it.
        drop(tokio::spawn(async move {
            knock.await;
            self.0.add_permits(1);
        }));
    }
}

impl Drop for SpareMaker {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Server {
    fn new() -> Self {
        Server {
            ranges: AtomicUsize::new(RANGES),
            header_bytes: AtomicUsize::new(HEADER_BYTES),
            several: AtomicBool::new(false),
            doubted: AtomicBool::new(false),
            suffix: AtomicBool::new(true),
            round_trip: AtomicU64::new(0),
            rate: Mutex::default(),
            spares: Mutex::new(None),
        }
    }

    /// The memory of the server in a URL.
    pub(super) fn of(url: &Url) -> Arc<Server> {
        let origin = url.origin().ascii_serialization();
        let mut servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        let server = servers.get_or_insert_default().entry(origin).or_insert_with(|| Arc::new(Self::new()));
        Arc::clone(server)
    }

    /// True if it is known whether the server answers several ranges.
    pub(super) fn is_known(&self) -> bool {
        self.several.load(Ordering::Relaxed) || self.limits().ranges < 2
    }

    pub(super) fn limits(&self) -> Limits {
        Limits {
            ranges: self.ranges.load(Ordering::Relaxed),
            header_bytes: self.header_bytes.load(Ordering::Relaxed),
        }
    }

    /// True unless the server refused a range of the form "the last n bytes".
    pub(super) fn has_suffix(&self) -> bool {
        self.suffix.load(Ordering::Relaxed)
    }

    /// A lower bound on the round trip; zero if unknown.
    pub(super) fn round_trip(&self) -> Duration {
        Duration::from_micros(self.round_trip.load(Ordering::Relaxed))
    }

    /// Bytes of a request that one connection answers within a few round trips. Larger requests would leave the other
    /// connections without work where each carries little, because of its window or lost packets.
    pub(super) fn request_bytes(&self) -> u64 {
        let (round_trip, rate) = (self.round_trip(), self.rate().get(u64::max));
        let Some(rate) = rate.filter(|_| round_trip >= WINDOWS_LIMIT_FROM) else { return LARGEST_REQUEST };
        let bytes = u128::from(rate) * (round_trip * ROUND_TRIPS).as_micros() / 1_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX).clamp(SMALLEST_REQUEST, LARGEST_REQUEST)
    }

    fn rate(&self) -> MutexGuard<'_, RecentBest<u64>> {
        self.rate.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What makes connections ahead of need, if now is the time; then not again for a minute.
    pub(super) fn wants_spares(&self) -> Option<Arc<SpareMaker>> {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.as_ref().is_some_and(|spares| spares.since.elapsed() <= SPARES_LAST) {
            return None;
        }
        let there = Arc::new(Semaphore::new(0));
        *spares = Some(Spares { since: Instant::now(), there: Arc::clone(&there) });
        Some(Arc::new(SpareMaker(there)))
    }

    /// Waits for one of the connections that were made ahead of need at first contact, at most until so long after
    /// that.
    pub(super) async fn spare_made(&self, after: Duration) {
        let spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(Spares { since, there }) = spares else { return };
        let Some(left) = after.checked_sub(since.elapsed()) else { return };
        // A connection that comes too late is of no use, but does no harm.
        if let Ok(Ok(permit)) = timeout(left, there.acquire()).await {
            permit.forget();
        }
    }

    /// The server answered in this time.
    pub(super) fn learn_round_trip(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
        let shorter = |known| if known == 0 { Some(time) } else { Some(time.min(known)) };
        // It never fails: the closure always has an answer.
        let _ = self.round_trip.fetch_update(Ordering::Relaxed, Ordering::Relaxed, shorter);
    }

    /// The body of an answer, of so many bytes, arrived in this time.
    pub(super) fn learn_rate(&self, bytes: usize, time: Duration) {
        if bytes >= MEASURING_BYTES {
            let rate = bytes as u128 * 1_000_000 / time.as_micros().max(1);
            self.rate().add(u64::try_from(rate).unwrap_or(u64::MAX), u64::max, Instant::now());
        }
    }

    /// The server answers one range only.
    pub(super) fn learn_single(&self) {
        self.learn_most(1);
    }

    /// The server answered several ranges at once.
    pub(super) fn learn_several(&self) {
        self.several.store(true, Ordering::Relaxed);
        self.doubted.store(false, Ordering::Relaxed);
    }

    /// A request for several ranges failed in a way that may mean that the server refuses this many.
    pub(super) fn doubt(&self) {
        self.doubted.store(true, Ordering::Relaxed);
    }

    /// True if the latest request for several ranges left that doubt.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// The server answered this number of ranges when more were requested.
    pub(super) fn learn_most(&self, ranges: usize) {
        self.ranges.fetch_min(ranges.max(1), Ordering::Relaxed);
    }

    /// The server refused this number of ranges, perhaps because they are too many.
    pub(super) fn learn_too_many(&self, ranges: usize) {
        self.learn_most(ranges / 4);
    }

    /// The server refused this number of ranges in the way of servers that answer only one.
    pub(super) fn learn_not_several(&self, ranges: usize) {
        match self.several.load(Ordering::Relaxed) {
            true => self.learn_too_many(ranges),
            false => self.learn_single(),
        }
    }

    /// The server refused a header of this length.
    pub(super) fn learn_too_long(&self, header_bytes: usize) {
        self.header_bytes.fetch_min((header_bytes / 2).max(LEAST_HEADER_BYTES), Ordering::Relaxed);
    }

    /// The server does not answer "the last n bytes".
    pub(super) fn learn_no_suffix(&self) {
        self.suffix.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_memory_per_scheme_host_and_port() {
        let of = |url: &str| Server::of(&url.parse().unwrap());
        of("http://memory.test:81/a").learn_single();
        assert_eq!(of("http://memory.test:81/b?x").limits().ranges, 1);
        assert_eq!(of("http://memory.test/a").limits().ranges, RANGES);
        assert_eq!(of("https://memory.test:81/a").limits().ranges, RANGES);
    }

    #[test]
    fn the_shortest_round_trip_counts() {
        let server = Server::new();
        assert_eq!(server.round_trip(), Duration::ZERO);
        for millis in [240, 80, 160] {
            server.learn_round_trip(Duration::from_millis(millis));
        }
        assert_eq!(server.round_trip(), Duration::from_millis(80));
    }

    #[test]
    fn requests_are_as_large_as_a_connection_carries_in_a_few_round_trips() {
        let server = Server::new();
        server.learn_round_trip(Duration::from_millis(100));
        assert_eq!(server.request_bytes(), LARGEST_REQUEST);
        server.learn_rate(1000, Duration::from_secs(1));
        assert_eq!(server.request_bytes(), LARGEST_REQUEST, "1 kB measures nothing");
        // 64 kB in each round trip.
        server.learn_rate(640_000, Duration::from_secs(1));
        assert_eq!(server.request_bytes(), 1_024_000);
        server.learn_rate(1_000_000, Duration::from_secs(100));
        assert_eq!(server.request_bytes(), 1_024_000, "the best one counts");
        server.learn_rate(12_500_000, Duration::from_millis(100));
        assert_eq!(server.request_bytes(), LARGEST_REQUEST);
        server.learn_round_trip(Duration::from_millis(1));
        assert_eq!(server.request_bytes(), LARGEST_REQUEST);
    }

    #[test]
    fn limits_shrink_to_one_range() {
        let server = Server::new();
        for _ in 0..20 {
            let Limits { ranges, header_bytes } = server.limits();
            server.learn_too_many(ranges);
            server.learn_too_long(header_bytes);
        }
        assert_eq!(server.limits(), Limits { ranges: 1, header_bytes: LEAST_HEADER_BYTES });
    }
}
