//! A decorator that records what was requested, and when.

use crate::{Source, forward_source, record};
use bytes::Bytes;
use sapwood_core::{BoxFuture, ByteRange, Deadline, Result, Segments};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// One range that was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it was requested, after the trace began.
    pub asked: Duration,
    /// When it was answered, after the trace began; `None` if it failed or is still in flight.
    pub answered: Option<Duration>,
    /// The range.
    pub range: ByteRange,
    /// Number of the call that requested it; ranges of one call share it.
    pub request: u64,
    /// The server that answered, as `host:port`; `None` if there is none, or no answer came.
    pub server: Option<Arc<str>>,
}

/// The records of a [`TracedSource`]; clones share them.
#[derive(Debug, Clone)]
pub struct Trace {
    begin: Instant,
    log: Arc<Mutex<Log>>,
    /// The number of the file in the recording of the job, if there is one.
    file: Arc<OnceLock<u64>>,
}

#[derive(Debug, Default)]
struct Log {
    records: Vec<TraceRecord>,
    requests: u64,
}

impl Trace {
    /// A trace without records; times count from `begin`.
    pub fn new(begin: Instant) -> Self {
        Trace { begin, log: Arc::default(), file: Arc::default() }
    }

    /// The moment from which times count.
    pub fn begin(&self) -> Instant {
        self.begin
    }

    /// The ranges requested so far, in order.
    pub fn records(&self) -> Vec<TraceRecord> {
        self.lock().records.clone()
    }

    /// From now on, requests are also [recorded](record), for the file with this number.
    pub fn record_as(&self, file: Option<u64>) {
        if let Some(file) = file {
            // Set once: the file is opened once.
            let _ = self.file.set(file);
        }
    }

    /// The number of the file in the recording, if there is one.
    pub fn recorded(&self) -> Option<u64> {
        self.file.get().copied()
    }

    /// Adds records; returns their indices and the number of the request.
    fn asked(&self, asked: Duration, ranges: impl IntoIterator<Item = ByteRange>) -> (Range<usize>, u64) {
        let mut log = self.lock();
        let (first, request) = (log.records.len(), log.requests);
        log.requests += 1;
        let record = |range| TraceRecord { asked, answered: None, range, request, server: None };
        log.records.extend(ranges.into_iter().map(record));
        (first..log.records.len(), request)
    }

    fn answered(&self, asked: Range<usize>, server: Option<&Arc<str>>) {
        let answered = Some(self.begin.elapsed());
        let mut log = self.lock();
        for record in log.records.get_mut(asked).into_iter().flatten() {
            (record.answered, record.server) = (answered, server.cloned());
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records every range that is read through it, with the times of request and answer.
///
/// ```
/// # use sapwood_core::{ByteRange, Deadline};
/// # use sapwood_source::{MemorySource, Source, TracedSource};
/// let source = TracedSource::new(MemorySource::new("abcdef"));
/// let trace = source.trace();
/// let ranges = [ByteRange { start: 0, len: 2 }, ByteRange { start: 4, len: 1 }];
/// futures::executor::block_on(source.read_ranges(&ranges, Deadline::default()))?;
/// let records = trace.records();
/// assert_eq!(records[1].range, ranges[1]);
/// assert!(records[1].answered >= Some(records[1].asked));
/// # Ok::<(), sapwood_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TracedSource<S> {
    inner: S,
    trace: Trace,
    /// The server that answered last.
    server: Mutex<Option<Arc<str>>>,
}

impl<S: Source> TracedSource<S> {
    /// Traces reads of `inner`. The trace begins now.
    pub fn new(inner: S) -> Self {
        TracedSource::within(inner, Trace::new(Instant::now()))
    }

    /// Traces reads of `inner` in a trace that other sources may share.
    pub fn within(inner: S, trace: Trace) -> Self {
        TracedSource { inner, trace, server: Mutex::default() }
    }

    /// Traces reads of `inner`, whose opening began at `begin` and read the bytes in `known`: the first request,
    /// which took as long as opening.
    pub fn opened(inner: S, begin: Instant, known: &Segments) -> Self {
        TracedSource::within(inner, Trace::new(begin)).with_opening(begin, known)
    }

    /// Adds the opening, which began at `began` and read the bytes in `known`, to the trace as one request.
    #[must_use]
    pub fn with_opening(self, began: Instant, known: &Segments) -> Self {
        let (asked, _) = self.trace.asked(began.saturating_duration_since(self.trace.begin), known.ranges());
        self.trace.answered(asked, self.answering().as_ref());
        self
    }

    /// The server of the latest answer.
    fn answering(&self) -> Option<Arc<str>> {
        let server = self.inner.server();
        let mut last = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        // A source that does not know its server just now still reads from the same one.
        if server.is_some() && server.as_deref() != last.as_deref() {
            *last = server.map(Arc::from);
        }
        last.clone()
    }

    /// The trace, which continues to grow.
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for TracedSource<S> {
    forward_source!(self => self.inner; identity, cost_model, server, round_trip, is_cold, announce, checksums);

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let (asked, request) = self.trace.asked(self.trace.begin.elapsed(), ranges.iter().copied());
            record::asked(self.trace.recorded(), request, ranges);
            let answers = self.inner.read_ranges(ranges, deadline).await;
            let server = self.answering();
            record::answered(self.trace.recorded(), request, server.as_deref(), answers.as_ref().err());
            let answers = answers?;
            self.trace.answered(asked, server.as_ref());
            Ok(answers)
        })
    }
}
