//! Records what a job does: every logical operation (which columns of which entries, and their chunks), every
//! physical one (each request to a source, and when it was answered), new files, and CPU time, in a file that several
//! processes share.
//!
//! Recording is off by default; each hook then only reads one number. `docs/specs/trace.md` describes the file.
//!
//! ```text
//! hooks ─▶ events ─▶ recorder: one per process ─▶ frames, every quarter of a second ─▶ file ─▶ Recording
//! ```

mod event;
mod frame;
mod recorder;
mod recording;
mod spent;
mod wire;

pub use event::RecordedEvent;
pub use frame::ProcessId;
pub use recorder::{TRACE_VARIABLE, flush, is_on, record, start, stop};
pub use recording::Recording;
pub use wire::RecordedChunk;

use crate::Source;
use recorder::{number, record_named, thread};
use sapwood_core::{ByteRange, Counters, Error, Result, Segments};
use spent::micros;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Records that a file was opened, which began at `began`, and returns the number of the file from now on. `None` if
/// recording is off.
pub fn opened(source: &dyn Source, began: Instant, known: &Segments, counters: &Counters) -> Option<u64> {
    is_on().then(|| {
        let (file, identity, cost_model) = (number(), source.identity(), source.cost_model());
        let words = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let cost = counters.snapshot();
        record(|| RecordedEvent::Opened {
            file,
            thread: thread(),
            took: micros(began.elapsed()),
            url: identity.url.clone(),
            size: identity.size,
            server: source.server().unwrap_or_default(),
            requests: cost.requests,
            round_trips: cost.round_trips,
            cost_model: vec![
                cost_model.gap,
                cost_model.largest_request,
                words(cost_model.ranges_per_request),
                words(cost_model.concurrency),
                cost_model.immediate.into(),
            ],
            known: known.ranges().collect(),
        });
        file
    })
}

/// Records that a new file was completed, whose writer took so long.
pub fn wrote(url: &str, size: u64, entries: u64, took: Duration) {
    record(|| RecordedEvent::Wrote {
        thread: thread(),
        took: micros(took),
        url: url.to_owned(),
        size,
        entries,
    });
}

/// Records which ranges of a recorded file are in memory.
pub fn known(file: Option<u64>, known: &Segments) {
    if let Some(file) = file {
        record(|| RecordedEvent::Known { file, known: known.ranges().collect() });
    }
}

/// Records a request to the source of a file.
pub(crate) fn asked(file: Option<u64>, request: u64, ranges: &[ByteRange]) {
    if let Some(file) = file {
        record(|| RecordedEvent::Asked { file, request, ranges: ranges.to_vec() });
    }
}

/// Records the answer to a request, or its failure.
pub(crate) fn answered(file: Option<u64>, request: u64, server: Option<&str>, error: Option<&Error>) {
    if let Some(file) = file {
        let server = server.unwrap_or_default().to_owned();
        record(|| RecordedEvent::Answered { file, request, server, error: code(error) });
    }
}

/// Runs a read of a part of the structure of a file, and records it.
///
/// # Errors
/// Those of the read.
pub async fn structure<T>(
    file: Option<u64>,
    ranges: &[ByteRange],
    work: impl Future<Output = Result<T>>,
) -> Result<T> {
    let Some(file) = file else { return work.await };
    let began = Instant::now();
    let result = work.await;
    let (took, error) = (micros(began.elapsed()), code(result.as_ref().err()));
    record(|| RecordedEvent::Structure { file, thread: thread(), took, ranges: ranges.to_vec(), error });
    result
}

/// A recorded read of a tree. Dropping this ends the read.
#[derive(Debug)]
pub struct ReadRecording(u64);

impl ReadRecording {
    /// Records that a read begins. `None` if recording is off.
    pub fn begin(
        kind: &str,
        file: Option<u64>,
        tree: &str,
        columns: impl IntoIterator<Item = String>,
    ) -> Option<ReadRecording> {
        let file = file.filter(|_| is_on())?;
        let read = number();
        record_named(|name| {
            let columns = columns.into_iter().map(|column| name(&column)).collect();
            let (kind, tree) = (kind.to_owned(), tree.to_owned());
            RecordedEvent::Read { read, thread: thread(), kind, file, tree, columns }
        });
        Some(ReadRecording(read))
    }

    /// Records a planned entry range of a tree with these cluster boundaries, where it may be split.
    pub fn range(&self, entries: &Range<u64>, cluster_starts: &[u64], chunks: Vec<RecordedChunk>) {
        let from = cluster_starts.partition_point(|start| *start <= entries.start).saturating_sub(1);
        let to = cluster_starts.partition_point(|start| *start < entries.end).saturating_add(1);
        let clusters = cluster_starts.get(from..to.min(cluster_starts.len())).unwrap_or_default().to_vec();
        let (start, stop) = (entries.start, entries.end);
        record(|| RecordedEvent::Range { read: self.0, start, stop, clusters, chunks });
    }

    /// Runs the delivery of the next range, or of the whole read, and records how long it takes.
    ///
    /// # Errors
    /// Those of the delivery.
    pub fn deliver<T>(
        this: Option<&Self>,
        counters: &Counters,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(ReadRecording(read)) = this else { return work() };
        let (read, thread, waited) = (*read, thread(), counters.wait_ns.get());
        record(|| RecordedEvent::Next { read, thread });
        let result = work();
        let (waited, error) = (waited_since(waited, counters), code(result.as_ref().err()));
        record(|| RecordedEvent::Delivered { read, thread, waited, error });
        result
    }

    /// Runs the answer to a touch of columns in a window, and records how long it takes.
    ///
    /// # Errors
    /// Those of the answer.
    pub fn touch<T>(
        this: Option<&Self>,
        columns: &[usize],
        window: usize,
        counters: &Counters,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let Some(ReadRecording(read)) = this else { return work() };
        let (read, thread, waited) = (*read, thread(), counters.wait_ns.get());
        let (window, columns) = (window as u64, numbers(columns));
        record(|| RecordedEvent::Touch { read, thread, window, columns });
        let result = work();
        let (waited, error) = (waited_since(waited, counters), code(result.as_ref().err()));
        record(|| RecordedEvent::Touched { read, thread, waited, error });
        result
    }

    /// Records that a lazy reader fetches.
    pub fn fetch(&self, kind: &str, columns: &[usize], window: usize, chunks: Vec<RecordedChunk>) {
        let (kind, window, columns) = (kind.to_owned(), window as u64, numbers(columns));
        record(|| RecordedEvent::Fetch { read: self.0, thread: thread(), kind, window, columns, chunks });
    }
}

impl Drop for ReadRecording {
    fn drop(&mut self) {
        record(|| RecordedEvent::Ended { read: self.0 });
    }
}

fn numbers(columns: &[usize]) -> Vec<u64> {
    columns.iter().map(|column| *column as u64).collect()
}

/// Microseconds that the counters add to their waits since they had the value `before`.
fn waited_since(before: u64, counters: &Counters) -> u64 {
    counters.wait_ns.get().saturating_sub(before) / 1000
}

fn code(error: Option<&Error>) -> String {
    error.map(|error| error.kind().code().to_owned()).unwrap_or_default()
}
