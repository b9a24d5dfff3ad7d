//! The window of one direction of a connection, as TCP has it: what may be in flight, and how losses reduce it.

use std::collections::VecDeque;
use std::time::Duration;
use tokio::time::Instant;

/// Payload of a packet.
const PACKET: f64 = 1460.0;

/// The mean window in packets, times the root of the share of losses: a sawtooth between w/2 and w takes 3/8 w² packets
/// for each loss (Mathis et al. 1997).
const SAWTOOTH: f64 = 1.22;

/// Differs between connections, so that they do not all lose their packets at the same time.
const SPREAD: f64 = 0.618_034;

/// Bytes in flight on one connection in one direction.
///
/// A byte is in flight from when it is sent until a round trip later. At most a window of them is, so that a connection
/// carries no more than a window in each round trip.
///
/// **Losses** are a model with tokens: every 1 / `loss` packets, one is lost. Each halves the window; each round trip
/// without one adds a packet to it, as TCP's congestion avoidance does (RFC 5681, section 3.1). It begins at the mean
/// that this leads to. The lost packets themselves are not delayed.
#[derive(Debug)]
pub(crate) struct Flow {
    most: f64,
    window: f64,
    /// Bytes until the next loss, and between losses.
    to_loss: Option<(f64, f64)>,
    in_flight: VecDeque<(usize, Instant)>,
    bytes: usize,
}

impl Flow {
    /// For the `number`th connection. `None` if nothing limits the bytes in flight.
    pub(crate) fn new(window: Option<u64>, loss: f64, number: u64) -> Option<Flow> {
        if window.is_none() && loss <= 0.0 {
            return None;
        }
        let most = window.map_or(f64::INFINITY, |window| window as f64).max(PACKET);
        // Without losses, this is infinite.
        let mean = SAWTOOTH * PACKET / loss.sqrt();
        let between = PACKET / loss;
        let first = between * ((number as f64 + 1.0) * SPREAD).fract();
        let to_loss = (loss > 0.0).then_some((first, between));
        Some(Flow { most, window: most.min(mean), to_loss, in_flight: VecDeque::new(), bytes: 0 })
    }

    /// Most bytes to pass on at once.
    pub(crate) fn chunk(&self) -> usize {
        (self.window / 8.0).max(PACKET) as usize
    }

    /// The earliest time at which this many more bytes may be sent.
    pub(crate) fn admit(&mut self, bytes: usize, now: Instant) -> Instant {
        let mut moment = now;
        while let Some(&(len, acknowledged)) = self.in_flight.front() {
            if acknowledged > moment {
                if (self.bytes + bytes) as f64 <= self.window {
                    break;
                }
                moment = acknowledged;
            }
            self.bytes -= len;
            self.in_flight.pop_front();
        }
        moment
    }

    /// Bytes that are sent, to arrive at a moment.
    pub(crate) fn sent(&mut self, bytes: usize, arrival: Instant, round_trip: Duration) {
        self.in_flight.push_back((bytes, arrival + round_trip / 2));
        self.bytes += bytes;
        self.window = (self.window + PACKET * bytes as f64 / self.window).min(self.most);
        let Some((left, between)) = &mut self.to_loss else { return };
        *left -= bytes as f64;
        while *left <= 0.0 {
            *left += *between;
            self.window = (self.window / 2.0).max(2.0 * PACKET);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIP: Duration = Duration::from_millis(100);

    /// Bytes per round trip that a flow carries.
    fn carried(mut flow: Flow, total: usize) -> f64 {
        let begin = Instant::now();
        let (mut now, mut sent) = (begin, 0);
        while sent < total {
            let bytes = flow.chunk();
            now = flow.admit(bytes, now);
            flow.sent(bytes, now + TRIP / 2, TRIP);
            sent += bytes;
        }
        sent as f64 / (now - begin).div_duration_f64(TRIP)
    }

    #[test]
    fn a_window_passes_in_each_round_trip() {
        let carried = carried(Flow::new(Some(64_000), 0.0, 0).unwrap(), 10_000_000);
        assert!((60_000.0..=70_000.0).contains(&carried), "{carried}");
    }

    #[test]
    fn losses_halve_the_window() {
        let carried = carried(Flow::new(None, 1e-4, 0).unwrap(), 200_000_000);
        let expected = SAWTOOTH * PACKET / 1e-4_f64.sqrt();
        assert!((0.8..1.3).contains(&(carried / expected)), "{carried} {expected}");
    }

    #[test]
    fn nothing_limits_a_link_without_window_or_loss() {
        assert!(Flow::new(None, 0.0, 0).is_none());
    }
}
