//! A decorator that remembers what was asked for and when.

use crate::{BoxFuture, Identity, Physics, Source};
use bytes::Bytes;
use sapwood_core::{ByteRange, Deadline, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One range that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceRecord {
    /// When it was asked for, after the trace began.
    pub asked: Duration,
    /// When it was answered, after the trace began; `None` if it failed or is still under way.
    pub answered: Option<Duration>,
    /// The range.
    pub range: ByteRange,
}

/// The records of a [`TracedSource`]; clones share them.
#[derive(Debug, Clone)]
pub struct Trace {
    begin: Instant,
    records: Arc<Mutex<Vec<TraceRecord>>>,
}

impl Trace {
    fn new() -> Self {
        Trace { begin: Instant::now(), records: Arc::default() }
    }

    /// What was asked for so far, in the order asked.
    pub fn records(&self) -> Vec<TraceRecord> {
        self.lock().clone()
    }

    fn asked(&self, ranges: &[ByteRange]) -> usize {
        let asked = self.begin.elapsed();
        let mut records = self.lock();
        let first = records.len();
        records.extend(ranges.iter().map(|&range| TraceRecord { asked, answered: None, range }));
        first
    }

    fn answered(&self, first: usize, count: usize) {
        let answered = Some(self.begin.elapsed());
        for record in self.lock().iter_mut().skip(first).take(count) {
            record.answered = answered;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<TraceRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Remembers every range that is read through it, with the times of question and answer.
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
}

impl<S: Source> TracedSource<S> {
    /// Traces what is read from `inner`. The trace begins now.
    pub fn new(inner: S) -> Self {
        TracedSource { inner, trace: Trace::new() }
    }

    /// The trace, to be looked at now or later.
    pub fn trace(&self) -> Trace {
        self.trace.clone()
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Source> Source for TracedSource<S> {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn physics(&self) -> Physics {
        self.inner.physics()
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            let first = self.trace.asked(ranges);
            let answers = self.inner.read_ranges(ranges, deadline).await?;
            self.trace.answered(first, ranges.len());
            Ok(answers)
        })
    }
}
