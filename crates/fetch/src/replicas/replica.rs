//! One source of a file: its state, its requests in flight, its measured quality.

use super::divide::Worker;
use super::quality::Quality;
use super::{ReplicaReadOptions, ReplicaStanding};
use sapwood_core::Error;
use sapwood_source::CostModel;
use std::time::{Duration, Instant};

/// No request counts as late before this time, however soon its answer was expected.
const SOONEST: f64 = 0.5;

/// How much longer than expected a request may take in any case; but at most this many read timeouts, however
/// slow the source is expected to be: others may have improved.
const PATIENCE: (f64, f64) = (1.5, 4.0);

/// Seconds of transfer per request, so that there are several to distribute and none is large.
const PIECE: f64 = 0.25;

/// Bytes of a request to a source that was not measured yet; at most two of these are sent before the first
/// answer.
const FIRST_BYTES: u64 = 512 << 10;

/// Seconds of transfer in flight, beyond two round trips.
const IN_FLIGHT: f64 = 0.5;

/// Bytes of the smallest and the largest request that work is cut into.
const PIECE_BYTES: (f64, f64) = ((128 << 10) as f64, (8 << 20) as f64);

/// The state of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplicaState {
    /// It is read from.
    Active,
    /// It is available; if it is `trusted`, it has answered since its last failure.
    Idle { trusted: bool },
    /// It is not used; if it was `silent`, it may still answer.
    Resting { until: Instant, silent: bool },
    /// It has a different file.
    Refused,
}

/// A request that is in flight.
#[derive(Debug, Clone, Copy)]
struct Flight {
    number: u64,
    bytes: u64,
    sent: Instant,
    /// Whether nothing else was in flight when it was sent.
    alone: bool,
}

/// A source.
#[derive(Debug)]
pub(crate) struct Replica {
    /// Its server, or its URL.
    pub(crate) name: String,
    pub(crate) state: ReplicaState,
    pub(crate) quality: Quality,
    /// The reason for its last failure.
    pub(crate) error: Option<Error>,
    /// Errors without an answer between them.
    pub(crate) failures: u32,
    /// When it last failed.
    pub(crate) left: Option<Instant>,
    /// Bytes of its answers.
    pub(crate) bytes: u64,
    flights: Vec<Flight>,
    answered: Option<Instant>,
}

impl Replica {
    pub(crate) fn new(name: String, quality: Quality) -> Self {
        let (state, flights) = (ReplicaState::Idle { trusted: true }, Vec::new());
        let (error, left, answered) = (None, None, None);
        Replica { name, state, quality, error, failures: 0, left, bytes: 0, flights, answered }
    }

    pub(crate) fn standing(&self) -> ReplicaStanding {
        match self.state {
            ReplicaState::Active => ReplicaStanding::Active,
            ReplicaState::Idle { .. } => ReplicaStanding::Idle,
            ReplicaState::Resting { .. } => ReplicaStanding::Resting,
            ReplicaState::Refused => ReplicaStanding::Refused,
        }
    }

    /// A request for this many bytes is sent. Returns after which time it is late.
    pub(crate) fn sent(
        &mut self,
        number: u64,
        bytes: u64,
        options: &ReplicaReadOptions,
        now: Instant,
    ) -> Duration {
        let limit = self.limit(self.queued() + bytes, options);
        let alone = self.flights.is_empty();
        self.flights.push(Flight { number, bytes, sent: now, alone });
        limit
    }

    /// A request was answered.
    pub(crate) fn answered(&mut self, number: u64, now: Instant) {
        let Some(flight) = self.take(number) else { return };
        self.quality.answered(flight.bytes, flight.sent, flight.alone, now);
        self.bytes = self.bytes.saturating_add(flight.bytes);
        self.answered = Some(now);
        self.failures = self.failures.saturating_sub(1);
    }

    /// A request was cancelled because another source answered first.
    pub(crate) fn late(&mut self, number: u64, now: Instant) {
        if let Some(flight) = self.take(number) {
            self.quality.late(flight.sent, now);
        }
    }

    /// A request failed. True if it was sent before the source last failed.
    pub(crate) fn failed(&mut self, number: u64) -> bool {
        self.take(number).is_some_and(|flight| self.left.is_some_and(|left| flight.sent <= left))
    }

    /// A request is no longer needed.
    pub(crate) fn dropped(&mut self, number: u64) {
        self.take(number);
    }

    fn take(&mut self, number: u64) -> Option<Flight> {
        let at = self.flights.iter().position(|flight| flight.number == number)?;
        Some(self.flights.swap_remove(at))
    }

    /// Bytes that were requested and have not arrived.
    fn queued(&self) -> u64 {
        self.flights.iter().map(|flight| flight.bytes).sum()
    }

    /// Its expected performance from now on.
    pub(crate) fn worker(&self) -> Worker {
        let begin = self.quality.seconds_for(self.queued());
        Worker { begin, latency: self.quality.latency(), bandwidth: self.quality.bandwidth() }
    }

    /// Bytes per request for this source.
    pub(crate) fn piece_bytes(&self) -> u64 {
        match self.quality.measured() {
            Some(bandwidth) => (bandwidth * PIECE).clamp(PIECE_BYTES.0, PIECE_BYTES.1) as u64,
            None => FIRST_BYTES,
        }
    }

    /// Whether one more request pays: enough are in flight to fill the link, and no more, so that the rest
    /// can go elsewhere.
    pub(crate) fn has_room(&self, cost_model: &CostModel) -> bool {
        let known = self.quality.measured().unwrap_or_default();
        let useful = known * (2.0 * self.quality.latency() + IN_FLIGHT);
        let useful = (useful as u64).max(2 * self.piece_bytes());
        self.flights.is_empty() || (self.flights.len() < cost_model.concurrency && self.queued() < useful)
    }

    /// When it will have been silent for too long, if nothing arrives before.
    pub(crate) fn silent_at(&self, options: &ReplicaReadOptions) -> Option<Instant> {
        let oldest = self.flights.iter().map(|flight| flight.sent).min()?;
        let since = self.answered.map_or(oldest, |answered| answered.max(oldest));
        Some(since + self.limit(self.queued(), options))
    }

    /// How long to wait for this many bytes in total before they are late.
    fn limit(&self, bytes: u64, options: &ReplicaReadOptions) -> Duration {
        if self.quality.measured().is_none() {
            return options.read_timeout;
        }
        let expected = self.quality.seconds_for(bytes);
        let read_timeout = options.read_timeout.as_secs_f64();
        let most = (PATIENCE.0 * expected).clamp(read_timeout, PATIENCE.1 * read_timeout);
        let seconds = (options.straggler * expected).max(SOONEST).min(most);
        Duration::try_from_secs_f64(seconds).unwrap_or(options.read_timeout)
    }
}
