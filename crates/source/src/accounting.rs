//! Counts the messages, ranges, bytes and round trips of one source while they happen.

use sapwood_core::Counters;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts round trips in sequence.
///
/// A request that starts after `n` sequential round trips were answered is number `n + 1`. The count is the longest
/// such chain: requests that were all sent before any was answered count once, however many they are, and a request
/// that could only be sent after an answer came adds one.
///
/// ```
/// let round_trips = sapwood_source::RoundTrips::default();
/// let (a, b) = (round_trips.asked(), round_trips.asked());
/// round_trips.answered(a);
/// round_trips.answered(b);
/// assert_eq!(round_trips.count(), 1);
/// round_trips.asked();
/// assert_eq!(round_trips.count(), 2);
/// ```
#[derive(Debug, Default)]
pub struct RoundTrips {
    asked: AtomicU64,
    answered: AtomicU64,
}

/// The position of a request in the chain of round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDepth(u64);

impl RoundTrips {
    /// A request starts.
    pub fn asked(&self) -> RequestDepth {
        self.ask().0
    }

    /// The first byte of the answer to a request came.
    pub fn answered(&self, wait: RequestDepth) {
        self.answered.fetch_max(wait.0, Ordering::AcqRel);
    }

    /// The longest chain so far.
    pub fn count(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    /// Resets all counts.
    pub fn reset(&self) {
        self.asked.store(0, Ordering::Release);
        self.answered.store(0, Ordering::Release);
    }

    /// Starts a request, and returns whether it made the chain longer.
    fn ask(&self) -> (RequestDepth, bool) {
        let depth = self.answered.load(Ordering::Acquire) + 1;
        let longest = self.asked.fetch_max(depth, Ordering::AcqRel);
        (RequestDepth(depth), longest < depth)
    }
}

/// Adds what one source does to the counters of a file.
#[derive(Debug)]
pub struct RequestAccounting {
    counters: Arc<Counters>,
    server: Option<String>,
    round_trips: RoundTrips,
}

impl RequestAccounting {
    /// Counts what one source does, and adds it to `counters`: to those of its `server`, `host:port`, or of none.
    pub fn new(counters: Arc<Counters>, server: Option<String>) -> Self {
        RequestAccounting { counters, server, round_trips: RoundTrips::default() }
    }

    /// A message with `ranges` ranges goes out.
    pub fn request(&self, ranges: usize) -> RequestDepth {
        self.request_to(self.server.as_deref(), ranges)
    }

    /// A message with `ranges` ranges goes out to some server.
    pub fn request_to(&self, server: Option<&str>, ranges: usize) -> RequestDepth {
        let (wait, longer) = self.round_trips.ask();
        self.counters.asked(server, 1, ranges as u64);
        self.counters.round_trips.add(u64::from(longer));
        wait
    }

    /// The disk or memory is read: a request, for which nothing waits for a server.
    pub fn read(&self, ranges: usize) {
        self.counters.asked(self.server.as_deref(), 1, ranges as u64);
    }

    /// The answer to a message begins to arrive, or is known not to come.
    pub fn answered(&self, wait: RequestDepth) {
        self.round_trips.answered(wait);
    }

    /// The counters that it adds to.
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// Bytes arrived.
    pub fn received(&self, bytes: usize) {
        self.counters.fetched_bytes.add(bytes as u64);
    }
}
