//! A source with configurable cost model and behavior, which records its requests.

use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Counters, Deadline, Error, ErrorKind, Result};
use sapwood_fetch::Fetcher;
use sapwood_source::{CostModel, Identity, Source};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What the source does when asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Answers at once.
    Prompt,
    /// Answers after a while.
    Slow(Duration),
    /// Never answers, and does not look at the deadline either.
    Silent,
    /// Leaves out the last byte of each answer.
    Short,
    /// Leaves out the last answer.
    Few,
    /// Fails for ranges that start at or after this offset.
    FailsFrom(u64),
}

/// Bytes that count up, so that each offset is recognized.
#[derive(Debug)]
pub(crate) struct TestSource {
    identity: Identity,
    bytes: Bytes,
    cost_model: CostModel,
    behaviour: Behaviour,
    pub(crate) requests: Mutex<Vec<Vec<ByteRange>>>,
    in_flight: AtomicUsize,
    pub(crate) most_in_flight: AtomicUsize,
}

/// CostModel like those of a web server that is kind to tests.
pub(crate) const WEB: CostModel = CostModel {
    gap: 8,
    largest_request: 100,
    ranges_per_request: 4,
    concurrency: 3,
    immediate: false,
    tied: false,
    deals_out: false,
};

/// The content of every test source: a pattern without a short period.
pub(crate) fn content(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

impl TestSource {
    pub(crate) fn new(size: usize, cost_model: CostModel, behaviour: Behaviour) -> Arc<Self> {
        Arc::new(TestSource {
            identity: Identity { url: "test://host/f.root".into(), size: size as u64, version: None },
            bytes: content(size).into(),
            cost_model,
            behaviour,
            requests: Mutex::default(),
            in_flight: AtomicUsize::new(0),
            most_in_flight: AtomicUsize::new(0),
        })
    }

    fn answer(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        if let Behaviour::FailsFrom(offset) = self.behaviour
            && let Some(range) = ranges.iter().find(|range| range.start >= offset)
        {
            return Err(Error::new(ErrorKind::Server, "the server refuses").at(range.start));
        }
        let cut = u64::from(self.behaviour == Behaviour::Short);
        let slice = |r: &ByteRange| self.bytes.slice(r.start as usize..(r.end() - cut) as usize);
        let mut answers: Vec<_> = ranges.iter().map(slice).collect();
        if self.behaviour == Behaviour::Few {
            answers.pop();
        }
        Ok(answers)
    }
}

/// Counts down also when the future is dropped.
struct InFlight<'a>(&'a AtomicUsize);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Source for TestSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        self.cost_model
    }

    /// None: what the tests measure of the way to a server is not to be mixed.
    fn server(&self) -> Option<String> {
        None
    }

    fn read_ranges<'a>(&'a self, ranges: &'a [ByteRange], _: Deadline) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            self.requests.lock().unwrap().push(ranges.to_vec());
            let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
            let _in_flight = InFlight(&self.in_flight);
            self.most_in_flight.fetch_max(now, Ordering::SeqCst);
            match self.behaviour {
                Behaviour::Silent => std::future::pending().await,
                Behaviour::Slow(time) => tokio::time::sleep(time).await,
                _ => {}
            }
            self.answer(ranges)
        })
    }
}

impl TestSource {
    /// Number of requests that were sent and neither answered nor dropped.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::SeqCst)
    }

    pub(crate) fn request_count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

/// A fetcher of `source` with counters of its own.
pub(crate) fn fetcher(source: &Arc<TestSource>) -> Fetcher {
    Fetcher::new(Arc::clone(source) as Arc<dyn Source>, Arc::new(Counters::default()))
}

pub(crate) fn range(start: u64, len: u64) -> ByteRange {
    ByteRange { start, len }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build().unwrap()
}
