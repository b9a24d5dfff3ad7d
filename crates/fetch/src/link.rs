//! Measures the link to a server: its round trip and its bandwidth.
//!
//! The requests that are sent anyway are measured, per server and for the whole process, so that the next
//! file on that server starts with known figures.

use sapwood_core::RecentBest;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Answers of at most this many bytes measure the round trip: on all but the slowest links, their transfer
/// takes no time in comparison.
const SMALL: u64 = 64 << 10;

/// Fewer bytes do not measure the bandwidth.
const ENOUGH: u64 = 256 << 10;

/// How long the transfers last from which the bandwidth is taken, while the link is never idle.
const PERIOD: Duration = Duration::from_secs(1);

/// The measured link to a server; initially unknown.
///
/// ```
/// use sapwood_fetch::Link;
/// use std::time::Duration;
/// let link = Link { round_trip: Some(Duration::from_millis(100)), bandwidth: Some(125_000_000) };
/// assert_eq!(link.bytes_in_flight(), Some(12_500_000));
/// assert_eq!(Link::default().bytes_in_flight(), None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Link {
    /// Time from a small request to its answer: the shortest recent one.
    pub round_trip: Option<Duration>,
    /// Bytes per second of all requests together: the highest recent value.
    pub bandwidth: Option<u64>,
}

impl Link {
    /// Bytes in flight on a full link: bandwidth × round trip. `None` while either is unknown.
    pub fn bytes_in_flight(&self) -> Option<u64> {
        let bytes = u128::from(self.bandwidth?) * self.round_trip?.as_nanos() / 1_000_000_000;
        Some(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

/// Measures the requests to one server.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<MeterState>);

#[derive(Debug, Default)]
struct MeterState {
    round_trip: RecentBest<Duration>,
    bandwidth: RecentBest<u64>,
    in_flight: usize,
    busy: Option<Busy>,
}

/// A period in which a request was always in flight.
#[derive(Debug, Clone, Copy)]
struct Busy {
    since: Instant,
    bytes: u64,
    /// Whether it began on an idle link, so that nothing arrived in the first round trip.
    from_idle: bool,
}

/// The meters of this process.
static METERS: Mutex<Option<Meters>> = Mutex::new(None);

struct Meters {
    /// The process that they measured for: after a fork, the requests in flight belong to the parent.
    process: u32,
    by_server: HashMap<String, Arc<Meter>>,
}

impl Meter {
    /// The meter of a server.
    pub(crate) fn of(server: &str) -> Arc<Meter> {
        let process = std::process::id();
        let mut meters = METERS.lock().unwrap_or_else(PoisonError::into_inner);
        if meters.as_ref().is_none_or(|meters| meters.process != process) {
            *meters = None;
        }
        let meters = meters.get_or_insert_with(|| Meters { process, by_server: HashMap::new() });
        if let Some(meter) = meters.by_server.get(server) {
            return Arc::clone(meter);
        }
        Arc::clone(meters.by_server.entry(server.to_owned()).or_default())
    }

    /// The current measurement.
    pub(crate) fn link(&self) -> Link {
        let state = self.lock();
        Link { round_trip: state.round_trip.get(Duration::min), bandwidth: state.bandwidth.get(u64::max) }
    }

    /// Sets figures that were measured elsewhere, as if they had been measured now.
    pub(crate) fn seed(&self, link: Link, now: Instant) {
        let mut state = self.lock();
        if let Some(round_trip) = link.round_trip {
            state.round_trip.add(round_trip, Duration::min, now);
        }
        if let Some(bandwidth) = link.bandwidth {
            state.bandwidth.add(bandwidth, u64::max, now);
        }
    }

    /// Starts to time a request; it ends when the returned value is dropped.
    pub(crate) fn asked(self: Arc<Self>, now: Instant) -> RequestTimer {
        let mut state = self.lock();
        if state.in_flight == 0 {
            state.busy = Some(Busy { since: now, bytes: 0, from_idle: true });
        }
        state.in_flight += 1;
        drop(state);
        RequestTimer { meter: self, at: now }
    }

    fn lock(&self) -> MutexGuard<'_, MeterState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is in flight.
#[derive(Debug)]
pub(crate) struct RequestTimer {
    meter: Arc<Meter>,
    at: Instant,
}

impl RequestTimer {
    /// The whole answer arrived, this many bytes.
    pub(crate) fn answered(self, bytes: u64, now: Instant) {
        self.meter.lock().answered(self.at, bytes, now);
    }
}

impl Drop for RequestTimer {
    fn drop(&mut self) {
        let mut state = self.meter.lock();
        state.in_flight = state.in_flight.saturating_sub(1);
    }
}

impl MeterState {
    fn answered(&mut self, asked: Instant, bytes: u64, now: Instant) {
        let took = now.saturating_duration_since(asked);
        if bytes <= SMALL {
            self.round_trip.add(took, Duration::min, now);
        }
        let Some(mut busy) = self.busy else { return };
        // For a request that was in flight before, only a part of the bytes arrived since.
        let inside = now.saturating_duration_since(asked.max(busy.since));
        let part = inside.as_nanos().max(1) * u128::from(bytes) / took.as_nanos().max(1);
        busy.bytes = busy.bytes.saturating_add(u64::try_from(part).unwrap_or(bytes).min(bytes));
        let length = now.saturating_duration_since(busy.since);
        let idle = self.round_trip.get(Duration::min).filter(|_| busy.from_idle).unwrap_or_default();
        // An overestimated round trip must not leave almost no time for the transfer.
        let transfer = length.saturating_sub(idle).max(length / 4).max(Duration::from_micros(100));
        if busy.bytes >= ENOUGH {
            let rate = u128::from(busy.bytes) * 1_000_000_000 / transfer.as_nanos();
            self.bandwidth.add(u64::try_from(rate).unwrap_or(u64::MAX), u64::max, now);
        }
        if length > PERIOD {
            busy = Busy { since: now, bytes: 0, from_idle: false };
        }
        self.busy = Some(busy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(100);
    const MB: u64 = 1_000_000;

    /// When an answer has come over a link of 100 MB/s that is free.
    fn arrival(asked: Instant, bytes: u64) -> Instant {
        asked + ROUND_TRIP + Duration::from_nanos(bytes * 10)
    }

    fn near(bandwidth: Option<u64>, expected: u64) -> bool {
        bandwidth.is_some_and(|found| found.abs_diff(expected) < expected / 5)
    }

    #[test]
    fn small_answers_measure_the_round_trip_and_large_ones_the_bandwidth() {
        let (meter, begin) = (Arc::new(Meter::default()), Instant::now());
        assert_eq!(meter.link(), Link::default());
        let late = begin + 2 * ROUND_TRIP;
        Arc::clone(&meter).asked(begin).answered(100, late);
        Arc::clone(&meter).asked(late).answered(100, late + ROUND_TRIP);
        assert_eq!(meter.link(), Link { round_trip: Some(ROUND_TRIP), bandwidth: None });
        let asked = begin + 10 * ROUND_TRIP;
        Arc::clone(&meter).asked(asked).answered(10 * MB, arrival(asked, 10 * MB));
        assert!(near(meter.link().bandwidth, 100 * MB), "{:?}", meter.link());
    }

    #[test]
    fn the_bandwidth_is_that_of_all_requests_together() {
        let (meter, begin) = (Arc::new(Meter::default()), Instant::now());
        Arc::clone(&meter).asked(begin).answered(100, begin + ROUND_TRIP);
        let asked = begin + 2 * ROUND_TRIP;
        let requests: Vec<_> = (0..4).map(|_| Arc::clone(&meter).asked(asked)).collect();
        for (i, request) in (1..).zip(requests) {
            request.answered(5 * MB, arrival(asked, i * 5 * MB));
        }
        assert!(near(meter.link().bandwidth, 100 * MB), "{:?}", meter.link());
    }

    #[test]
    fn busy_links_are_measured_too() {
        let (meter, begin) = (Arc::new(Meter::default()), Instant::now());
        // Ten in flight, one answered every 10 ms: 100 MB/s.
        let moment = |i: u32| begin + Duration::from_millis(10) * i;
        let mut in_flight = std::collections::VecDeque::new();
        for i in 0..1000 {
            in_flight.push_back(Arc::clone(&meter).asked(moment(i)));
            if in_flight.len() > 10 {
                in_flight.pop_front().unwrap().answered(MB, moment(i));
            }
        }
        assert!(near(meter.link().bandwidth, 100 * MB), "{:?}", meter.link());
    }

    #[test]
    fn abandoned_requests_are_not_measured() {
        let (meter, begin) = (Arc::new(Meter::default()), Instant::now());
        drop(Arc::clone(&meter).asked(begin));
        assert_eq!((meter.link(), meter.lock().in_flight), (Link::default(), 0));
    }

    #[test]
    fn a_server_has_one_meter() {
        assert!(Arc::ptr_eq(&Meter::of("a.example:1"), &Meter::of("a.example:1")));
        assert!(!Arc::ptr_eq(&Meter::of("a.example:1"), &Meter::of("b.example:1")));
    }
}
