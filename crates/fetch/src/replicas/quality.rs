//! Measures a source: its latency and its bandwidth, separately.

use crate::Link;
use std::time::{Duration, Instant};

/// Answers of at most this many bytes measure the latency.
const SMALL: u64 = 64 << 10;

/// The assumed time to an answer until it is known.
const USUAL_LATENCY: f64 = 0.05;

/// The assumed bandwidth, in bytes per second, until it is known.
const USUAL_BANDWIDTH: f64 = 10e6;

/// Seconds of transfer after which the weight of an observation is a third.
const AGE: f64 = 3.0;

/// Seconds without any transfer after which the weight of an observation is a third.
const IDLE_AGE: f64 = 60.0;

/// Seconds that figures from before count for.
const SEED: f64 = 0.25;

/// Weight of the newest observation of the latency.
const NEWEST: f64 = 0.3;

/// Measurements of one source; older ones have less weight.
#[derive(Debug, Clone, Default)]
pub(crate) struct Quality {
    /// Seconds to an answer.
    latency: Option<f64>,
    /// Bytes that arrived, and the seconds that they took; both aged.
    bytes: f64,
    seconds: f64,
    /// When the last observation was made.
    last: Option<Instant>,
}

impl Quality {
    /// The quality of a source with these known figures.
    pub(crate) fn seeded(link: Link, round_trip: Option<Duration>) -> Self {
        let latency = link.round_trip.or(round_trip).map(|time| time.as_secs_f64());
        let known = link.bandwidth.map_or((0.0, 0.0), |rate| (rate as f64 * SEED, SEED));
        Quality { latency, bytes: known.0, seconds: known.1, last: None }
    }

    /// Seconds to an answer, without its transfer.
    pub(crate) fn latency(&self) -> f64 {
        self.latency.unwrap_or(USUAL_LATENCY)
    }

    /// Bytes per second; a typical value if unknown.
    pub(crate) fn bandwidth(&self) -> f64 {
        self.measured().unwrap_or(USUAL_BANDWIDTH)
    }

    /// Bytes per second, if known.
    pub(crate) fn measured(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| (self.bytes / self.seconds).max(1.0))
    }

    /// Seconds until this many bytes have arrived, the first of which are requested now.
    pub(crate) fn seconds_for(&self, bytes: u64) -> f64 {
        self.latency() + bytes as f64 / self.bandwidth()
    }

    /// All bytes of a request arrived; `alone` if nothing else was in flight at the source when it was sent.
    pub(crate) fn answered(&mut self, bytes: u64, sent: Instant, alone: bool, now: Instant) {
        let took = seconds(sent, now);
        match self.latency {
            Some(latency) if bytes <= SMALL && alone => {
                self.latency = Some(latency + NEWEST * (took - latency));
            }
            None if bytes <= SMALL && alone => self.latency = Some(took),
            Some(latency) => self.latency = Some(latency.min(took)),
            None => {}
        }
        let idle_until = self.last.filter(|&last| last > sent);
        let transfer = match idle_until {
            Some(last) => seconds(last, now),
            // An overestimated latency must not leave almost no time for the transfer.
            None => (took - self.latency()).max(took / 4.0),
        };
        if bytes > SMALL || idle_until.is_some() {
            self.observe(bytes as f64, transfer, now);
        }
        self.last = Some(now);
    }

    /// A request that was sent at that time has not been answered until now.
    pub(crate) fn late(&mut self, sent: Instant, now: Instant) {
        let since = self.last.map_or(sent, |last| last.max(sent));
        self.observe(0.0, seconds(since, now), now);
        self.last = Some(now);
    }

    fn observe(&mut self, bytes: f64, seconds_taken: f64, now: Instant) {
        let idle = self.last.map_or(0.0, |last| (seconds(last, now) - seconds_taken).max(0.0));
        let keep = (-seconds_taken / AGE - idle / IDLE_AGE).exp();
        self.bytes = self.bytes * keep + bytes;
        self.seconds = self.seconds * keep + seconds_taken;
    }
}

fn seconds(from: Instant, to: Instant) -> f64 {
    to.saturating_duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn latency_and_bandwidth_are_distinguished() {
        let (mut quality, mut now) = (Quality::default(), Instant::now());
        for _ in 0..10 {
            quality.answered(1000, now, true, now + 100 * MS);
            now += 200 * MS;
        }
        assert!((quality.latency() - 0.1).abs() < 0.01, "{quality:?}");
        assert_eq!(quality.measured(), None);
        quality.answered(10_000_000, now, true, now + 300 * MS);
        assert!((quality.bandwidth() / 50e6 - 1.0).abs() < 0.1, "{quality:?}");
    }

    #[test]
    fn requests_that_share_the_link_are_measured_together() {
        let (mut quality, now) = (Quality::seeded(Link::default(), Some(100 * MS)), Instant::now());
        for i in 0..8 {
            quality.answered(1_000_000, now, i == 0, now + 900 * MS);
        }
        assert!((quality.bandwidth() / 10e6 - 1.0).abs() < 0.1, "{quality:?}");
    }

    #[test]
    fn a_source_that_slows_down_is_noticed_within_seconds() {
        let fast = Link { round_trip: Some(10 * MS), bandwidth: Some(100_000_000) };
        let (mut quality, mut now) = (Quality::seeded(fast, None), Instant::now());
        for _ in 0..6 {
            quality.answered(1_000_000, now, true, now + 1010 * MS);
            now += 1010 * MS;
        }
        assert!(quality.bandwidth() < 6e6, "{quality:?}");
        quality.late(now, now + 3000 * MS);
        assert!(quality.bandwidth() < 1e6, "{quality:?}");
    }
}
