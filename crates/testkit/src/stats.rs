//! What a server or proxy counted.

use sapwood_source::RoundTrips;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a server or a proxy, while it runs.
#[derive(Debug, Default)]
pub struct Stats {
    pub(crate) requests: AtomicU64,
    pub(crate) ranges: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) bytes_received: AtomicU64,
    pub(crate) bytes_sent: AtomicU64,
    pub(crate) round_trips: RoundTrips,
}

/// The counts of [`Stats`] at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    /// Requests (0 for a proxy, which does not look inside).
    pub requests: u64,
    /// Byte ranges in those requests (0 for a proxy).
    pub ranges: u64,
    /// Connections that clients opened.
    pub connections: u64,
    /// Waits of one round trip in sequence, as [`RoundTrips`] defines them.
    pub round_trips: u64,
    /// Bytes from clients (0 for a server).
    pub bytes_received: u64,
    /// Bytes to clients: bodies for a server, everything for a proxy.
    pub bytes_sent: u64,
}

impl Stats {
    /// The counts now.
    pub fn snapshot(&self) -> StatsSnapshot {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        StatsSnapshot {
            requests: get(&self.requests),
            ranges: get(&self.ranges),
            connections: get(&self.connections),
            round_trips: self.round_trips.count(),
            bytes_received: get(&self.bytes_received),
            bytes_sent: get(&self.bytes_sent),
        }
    }

    /// Sets all counts to zero. No request should be under way.
    pub fn reset(&self) {
        let counters =
            [&self.requests, &self.ranges, &self.connections, &self.bytes_received, &self.bytes_sent];
        for counter in counters {
            counter.store(0, Ordering::Relaxed);
        }
        self.round_trips.reset();
    }
}

pub(crate) fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Ordering::Relaxed);
}
