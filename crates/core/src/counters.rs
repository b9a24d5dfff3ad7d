//! Counters of what a read cost: every layer adds to them, and every report shows them.

use crate::{ColumnCosts, Error, ErrorKind, EventLog, ServerMessages};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident),+ $(,)?) => {
        /// Counters of one file, shared by all layers that work for it.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[doc = $doc])+ pub $name: Counter,)+
            /// What was read of each column.
            pub columns: ColumnCosts,
            /// Which servers the requests went to.
            pub servers: ServerMessages,
            /// The events at the sources.
            pub events: EventLog,
            last_failure: Mutex<Option<(Instant, String)>>,
        }

        /// The values of [`Counters`] at one moment.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct CounterValues { $($(#[doc = $doc])+ pub $name: u64,)+ }

        impl Counters {
            /// The values now.
            pub fn snapshot(&self) -> CounterValues {
                CounterValues { $($name: self.$name.get(),)+ }
            }

            /// Adds what was counted apart from these.
            pub fn add(&self, counted: &CounterValues) {
                $(if counted.$name > 0 {
                    self.$name.add(counted.$name);
                })+
            }
        }

        impl CounterValues {
            /// Names and values, in a fixed order.
            pub fn entries(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name),)+]
            }
        }
    };
}

counters! {
    /// Messages sent to the server (or reads of the local file).
    requests,
    /// Byte ranges in those messages.
    ranges,
    /// Requests that failed and were repeated.
    retries,
    /// Waits for a server in sequence: requests that overlap in time count once, reads of local files do not count.
    round_trips,
    /// Bytes that the layers above requested.
    wanted_bytes,
    /// Bytes that came from the source.
    fetched_bytes,
    /// Bytes answered from blocks on the local disk: lazy download, or a cache.
    block_bytes,
    /// Columns, or parts of them, that came decoded from the column cache.
    cached_columns,
    /// Bytes of these.
    cached_column_bytes,
    /// Bytes fetched but not requested: the price of merging neighbors.
    overread_bytes,
    /// Bytes requested from one source because another was slow with them.
    duplicated_bytes,
    /// Unused bytes, read only to find out what a source can do.
    probe_bytes,
    /// Reads that bypassed the planner; always 0.
    unplanned_reads,
    /// Bytes of baskets that were skipped, because they hold no wanted entry.
    skipped_bytes,
    /// Entries that were not read because none of their values can pass a cut.
    excluded_entries,
    /// Whole clusters (of datasets: batches) of such entries.
    excluded_clusters,
    /// Baskets decoded.
    baskets,
    /// Bytes of the decoded columns; offsets that columns share count for each of them.
    decompressed_bytes,
    /// Nanoseconds spent waiting for bytes.
    wait_ns,
    /// Nanoseconds that threads decompressed baskets, summed over all threads.
    decompress_ns,
    /// Nanoseconds spent decoding decompressed bytes, summed over threads.
    decode_ns,
}

impl Counters {
    /// Counts requests to a server, and the ranges in them; `None` for local files. Requests are counted nowhere else,
    /// so the sums over all servers are the totals.
    pub fn asked(&self, server: Option<&str>, requests: u64, ranges: u64) {
        self.requests.add(requests);
        self.ranges.add(ranges);
        self.servers.add(server, requests, ranges);
    }

    /// Counts a failure that is followed by a retry, and remembers its message.
    pub fn retry(&self, failure: &Error) {
        self.retries.add(1);
        let failure = Some((Instant::now(), failure.message().to_owned()));
        *self.last_failure.lock().unwrap_or_else(PoisonError::into_inner) = failure;
    }

    /// The error with the events at the sources; if it is a `Timeout`, also with what may be its cause: the last failure,
    /// and why servers are not read from.
    pub fn explain(&self, error: Error) -> Error {
        let error = error.with_events(&self.events);
        if error.kind() != ErrorKind::Timeout {
            return error;
        }
        let mut message = error.message().to_owned();
        let last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((when, failure)) = last {
            message += &format!("; {:.1} s before: {failure}", when.elapsed().as_secs_f32());
        }
        for (server, text) in self.events.complaints() {
            if !message.contains(&text) && !message.contains(&format!("{server}: ")) {
                message += &format!("; {server}: {text}");
            }
        }
        error.with_message(message)
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Zero.
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Adds a time, in nanoseconds.
    pub fn add_time(&self, time: Duration) {
        self.add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// The value now.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SourceEvent;

    #[test]
    fn the_last_failure_explains_a_timeout() {
        let counters = Counters::default();
        let late = || Error::new(ErrorKind::Timeout, "too late").at(7);
        assert_eq!(counters.explain(late()).message(), "too late");
        counters.retry(&Error::new(ErrorKind::Server, "busy"));
        assert_eq!(counters.explain(late()).message(), "too late; 0.0 s before: busy");
        assert_eq!(counters.explain(late()).offset(), Some(7));
        assert_eq!(counters.explain(Error::corrupt("x")).message(), "x");
        assert_eq!(counters.snapshot().retries, 1);
    }

    #[test]
    fn a_timeout_says_once_why_servers_are_not_read_from() {
        let counters = Counters::default();
        counters.events.log(Some("a:1"), SourceEvent::Left, "network: reset");
        counters.events.log(Some("b:2"), SourceEvent::Refused, "a different file");
        let late = Error::new(ErrorKind::Timeout, "too late");
        let explained = counters.explain(counters.explain(late));
        assert_eq!(explained.message(), "too late; a:1: network: reset; b:2: a different file");
        let known = Error::new(ErrorKind::Timeout, "too late; a:1: reset; b:2: a different file");
        assert_eq!(counters.explain(known.copy()).message(), known.message());
    }

    #[test]
    fn the_requests_to_all_servers_are_the_total() {
        let counters = Counters::default();
        for (server, requests, ranges) in [(Some("a:1"), 1, 3), (None, 1, 1), (Some("a:1"), 2, 2)] {
            counters.asked(server, requests, ranges);
        }
        let [a, local] = &counters.servers.entries()[..] else { panic!("two servers") };
        assert_eq!((a.server.as_deref(), a.requests, a.ranges), (Some("a:1"), 3, 5));
        assert_eq!((local.server.as_deref(), local.requests, local.ranges), (None, 1, 1));
        let all = counters.snapshot();
        assert_eq!((all.requests, all.ranges), (4, 6));
    }

    #[test]
    fn what_is_counted_apart_is_added() {
        let (all, own) = (Counters::default(), Counters::default());
        all.baskets.add(1);
        own.baskets.add(2);
        own.decode_ns.add(5);
        all.add(&own.snapshot());
        assert_eq!(all.snapshot(), CounterValues { baskets: 3, decode_ns: 5, ..CounterValues::default() });
    }
}
