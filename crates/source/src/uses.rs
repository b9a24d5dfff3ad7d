//! What each server sent for a file: sums over its trace.

use crate::TraceRecord;
use std::sync::Arc;
use std::time::Duration;

/// What one server sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerUse {
    /// The server, as `host:port`; `None` for bytes that came from none.
    pub server: Option<Arc<str>>,
    /// Reads of one range.
    pub single: ServerReads,
    /// Reads of several ranges.
    pub vector: ServerReads,
    /// Time in which at least one request was in flight.
    pub busy: Duration,
}

/// Sums over requests, and sums of squares, which give the spread. Sums saturate instead of overflowing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerReads {
    /// Reads: opening is one, and one may take several messages.
    pub requests: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Squares of the bytes of each.
    pub byte_squares: u64,
    /// Ranges in them.
    pub ranges: u64,
    /// Squares of the ranges of each.
    pub range_squares: u64,
}

impl ServerReads {
    fn add(&mut self, ranges: u64, bytes: u64) {
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        self.byte_squares = self.byte_squares.saturating_add(bytes.saturating_mul(bytes));
        self.ranges += ranges;
        self.range_squares = self.range_squares.saturating_add(ranges.saturating_mul(ranges));
    }
}

impl ServerUse {
    /// The sums over all answers, for each server, in the order of their first answers.
    pub fn of(records: &[TraceRecord]) -> Vec<ServerUse> {
        let mut uses: Vec<(ServerUse, Vec<(Duration, Duration)>)> = Vec::new();
        for request in records.chunk_by(|one, other| one.request == other.request) {
            let Some((first, answered)) = request.first().and_then(|one| Some((one, one.answered?))) else {
                continue;
            };
            let known = uses.iter().position(|(found, _)| found.server == first.server);
            let index = known.unwrap_or(uses.len());
            if known.is_none() {
                uses.push((ServerUse { server: first.server.clone(), ..ServerUse::default() }, Vec::new()));
            }
            let Some((found, spans)) = uses.get_mut(index) else { continue };
            let reads = if request.len() == 1 { &mut found.single } else { &mut found.vector };
            reads.add(request.len() as u64, request.iter().map(|one| one.range.len).sum());
            spans.push((first.asked, answered));
        }
        let sums = uses.into_iter();
        sums.map(|(found, spans)| ServerUse { busy: covered(spans), ..found }).collect()
    }
}

/// The time that spans cover together.
fn covered(mut spans: Vec<(Duration, Duration)>) -> Duration {
    spans.sort_unstable();
    let (mut total, mut until) = (Duration::ZERO, Duration::ZERO);
    for (start, stop) in spans {
        total += stop.saturating_sub(start.max(until));
        until = until.max(stop);
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::ByteRange;

    fn record(request: u64, server: &str, seconds: (u64, Option<u64>), len: u64) -> TraceRecord {
        TraceRecord {
            asked: Duration::from_secs(seconds.0),
            answered: seconds.1.map(Duration::from_secs),
            range: ByteRange { start: 0, len },
            request,
            server: Some(Arc::from(server)),
        }
    }

    #[test]
    fn sums_by_server_and_kind() {
        let records = [
            record(0, "a", (0, Some(2)), 3),
            record(0, "a", (0, Some(2)), 4),
            record(1, "b", (1, Some(9)), 10),
            record(2, "a", (1, Some(3)), 5),
            record(3, "a", (2, None), 100),
            record(4, "a", (7, Some(8)), 2),
        ];
        let [a, b] = &ServerUse::of(&records)[..] else { panic!("two servers") };
        let vector = ServerReads { requests: 1, bytes: 7, byte_squares: 49, ranges: 2, range_squares: 4 };
        let single = ServerReads { requests: 2, bytes: 7, byte_squares: 29, ranges: 2, range_squares: 2 };
        assert_eq!((a.vector, a.single, a.busy), (vector, single, Duration::from_secs(4)));
        assert_eq!((b.single.bytes, b.busy), (10, Duration::from_secs(8)));
    }

    #[test]
    fn spans_cover_what_they_share_once() {
        let spans = [(5, 6), (0, 7), (8, 9), (8, 8)];
        let spans = spans.map(|(start, stop)| (Duration::from_secs(start), Duration::from_secs(stop)));
        assert_eq!(covered(spans.to_vec()), Duration::from_secs(8));
    }
}
