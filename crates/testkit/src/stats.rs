//! The counts of a server or proxy.

use sapwood_source::RoundTrips;
use std::sync::atomic::{AtomicU64, Ordering};

/// The live counts of a server or proxy.
#[derive(Debug, Default)]
pub struct Stats {
    pub(crate) requests: AtomicU64,
    pub(crate) ranges: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) bytes_received: AtomicU64,
    pub(crate) bytes_sent: AtomicU64,
    pub(crate) round_trips: RoundTrips,
}

/// A snapshot of [`Stats`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsSnapshot {
    /// Requests (0 for a proxy, which does not parse them).
    pub requests: u64,
    /// Byte ranges in those requests (0 for a proxy).
    pub ranges: u64,
    /// Connections that clients opened.
    pub connections: u64,
    /// Sequential round trips, as defined by [`RoundTrips`].
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

    /// Sets all counts to zero. No request should be in flight.
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
