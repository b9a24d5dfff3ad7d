//! Reading range by range, with the next range being read while one is worked on.

use crate::background::Background;
use crate::carried::CarriedChunks;
use crate::plan::{check_range, plan};
use crate::queries::Queries;
use crate::read::LocalRead;
use crate::selection::Query;
use crate::table::Table;
use crate::windows::Windows;
use crate::{pool, recording};
use sapwood_core::{Call, Column, Deadline, Result};
use sapwood_source::record::RecordedRead;
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The columns of a table, range by range.
///
/// With more than one computing thread, the next range is read in the background, while the caller works on the last one.
/// It is read when it is asked for where read-ahead is off, where the source is tied to its user, and while the read is
/// recorded.
#[derive(Debug)]
pub struct Scan(ScanState);

#[derive(Debug)]
enum ScanState {
    /// The next range is read when it is asked for.
    Waiting(Box<Steps>),
    /// The next range is being read.
    Begun {
        task: Background<Delivery>,
        table: Arc<dyn Table>,
    },
    Over,
}

impl Scan {
    /// A scan of columns, or of members of the objects in them, over some ranges of entries.
    ///
    /// # Errors
    /// As [`read`](crate::read()).
    pub fn new<Q: Into<Query> + Clone>(
        table: Arc<dyn Table>,
        queries: &[Q],
        ranges: Vec<Range<u64>>,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Scan> {
        Scan::recorded_as("scan", table, queries, ranges, threads, call)
    }

    /// As [`Scan::new`], by another name in the recording of a job.
    pub(crate) fn recorded_as<Q: Into<Query> + Clone>(
        kind: &str,
        table: Arc<dyn Table>,
        queries: &[Q],
        ranges: Vec<Range<u64>>,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Scan> {
        for range in &ranges {
            check_range(&*table, range)?;
        }
        let columns = Queries::new(queries);
        table.locate(&columns.selections, call)?;
        // What can be said against a query is said before anything is fetched.
        plan(&*table, &columns.selections, &(0..0))?;
        let recorded = recording::begin(kind, &*table, queries);
        let reader = if table.fetcher(0).source().cost_model().immediate {
            Reader::Local(ranges.into_iter(), CarriedChunks::default())
        } else {
            let windows = Windows::new(Arc::clone(&table), &columns.selections, ranges, recorded.as_ref())?;
            Reader::Ahead(Box::new(windows))
        };
        Ok(Scan(ScanState::Waiting(Box::new(Steps { table, queries: columns, reader, threads, recorded }))))
    }

    /// The columns of the next range; `None` after the last. The range after it, which is read in the background, may
    /// take as long as the call that waits for this one.
    ///
    /// # Errors
    /// As [`read`](crate::read()); `Usage` in a fork of the process that scans. An error ends the scan.
    pub fn next(&mut self, call: &mut Call<'_>) -> Option<Result<Vec<Column>>> {
        let patience = call.deadline().remaining();
        let done = match mem::replace(&mut self.0, ScanState::Over) {
            ScanState::Waiting(mut steps) => {
                let columns = steps.next(call);
                Ok((steps, columns))
            }
            ScanState::Begun { task, table } => task.finish(call).map_err(|error| error.url(table.url())),
            ScanState::Over => return None,
        };
        let columns = done.and_then(|(steps, columns)| {
            if let Some(Ok(_)) = columns {
                self.0 = steps.go_on(patience)?;
            }
            columns.transpose()
        });
        columns.transpose()
    }
}

/// The ranges that are still to be read.
#[derive(Debug)]
struct Steps {
    table: Arc<dyn Table>,
    queries: Queries,
    reader: Reader,
    threads: Option<usize>,
    recorded: Option<RecordedRead>,
}

#[derive(Debug)]
enum Reader {
    /// For a source that never waits.
    Local(std::vec::IntoIter<Range<u64>>, CarriedChunks),
    /// For a distant source.
    Ahead(Box<Windows>),
}

impl Steps {
    fn next(&mut self, call: &mut Call<'_>) -> Option<Result<Vec<Column>>> {
        let pool = match pool::computing(self.threads) {
            Ok(pool) => pool,
            Err(error) => return Some(Err(error)),
        };
        let Steps { table, queries, reader, recorded, .. } = self;
        let recorded = recorded.as_ref();
        let columns = RecordedRead::deliver(recorded, table.fetcher(0).counters(), || {
            let columns = match reader {
                Reader::Ahead(windows) => windows.next(&pool, call),
                Reader::Local(ranges, carried) => ranges.next().map(|range| {
                    carried.forget_before(range.start);
                    let next = ranges.as_slice().first().map_or(u64::MAX, |next| next.start);
                    let local = LocalRead { pool: &pool, recorded, carried: Some((&*carried, next)) };
                    local.read(&**table, &queries.selections, &range, call)
                }),
            };
            columns.transpose()
        });
        Some(columns.transpose()?.and_then(|columns| self.queries.split(&*self.table, &columns)))
    }

    /// Begins to read the next range, if that can be done beside the caller's work.
    fn go_on(mut self: Box<Self>, patience: Duration) -> Result<ScanState> {
        if !self.may_go_on()? {
            return Ok(ScanState::Waiting(self));
        }
        let table = Arc::clone(&self.table);
        let task = Background::begin(move |cancelled| {
            let mut interrupt = || cancelled.load(Ordering::Relaxed);
            let columns = self.next(&mut Call::new(Deadline::after(patience), &mut interrupt));
            (self, columns)
        })?;
        Ok(ScanState::Begun { task, table })
    }

    fn may_go_on(&self) -> Result<bool> {
        let is_over = match &self.reader {
            Reader::Local(ranges, _) => ranges.as_slice().is_empty(),
            Reader::Ahead(windows) => windows.is_over(),
        };
        let tied = self.table.fetcher(0).source().cost_model().tied;
        // What is recorded is what each range takes, and what its user takes between two of them.
        if is_over || tied || self.recorded.is_some() {
            return Ok(false);
        }
        Ok(pool::computing(self.threads)?.current_num_threads() > 1 && pool::budget()?.most() > 0)
    }
}

/// What is to be read after a range, and its columns.
type Delivery = (Box<Steps>, Option<Result<Vec<Column>>>);
