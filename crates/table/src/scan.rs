//! Reading range by range: while the caller works on one range, the next is read.

use crate::background::Background;
use crate::carried::CarriedChunks;
use crate::plan::{check_range, plan};
use crate::queries::Queries;
use crate::read::{LocalRead, is_at_hand};
use crate::selection::Query;
use crate::table::Table;
use crate::windows::Windows;
use crate::{pool, recording};
use sapwood_core::{Call, Column, Deadline, Result};
use sapwood_source::record::ReadRecording;
use std::mem;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The columns of a table, range by range.
///
/// With more than one computing thread, the next range is read in the background while the caller works on the current
/// one. There is no background reading if read-ahead is off, if the source is tied to its user, or while the read is
/// recorded.
#[derive(Debug)]
pub struct Scan(ScanState);

#[derive(Debug)]
enum ScanState {
    /// The next range is read on request.
    Idle(Box<RemainingRanges>),
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

    /// [`Scan::new`] with another name in the recording of a job.
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
        let columns = Queries::new(&*table, queries);
        table.locate(&columns.selections, call)?;
        // Errors of the queries come before anything is fetched.
        plan(&*table, &columns.selections, &(0..0))?;
        let recorded = recording::begin(kind, &*table, queries);
        let first = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let all = first..ranges.iter().map(|range| range.end).max().unwrap_or(first);
        let reader = if is_at_hand(&*table, &columns.selections, &all)? {
            Reader::Local(ranges.into_iter(), CarriedChunks::default())
        } else {
            let windows = Windows::new(Arc::clone(&table), &columns.selections, ranges, recorded.as_ref())?;
            Reader::Ahead(Box::new(windows))
        };
        Ok(Scan(ScanState::Idle(Box::new(RemainingRanges {
            table,
            queries: columns,
            reader,
            threads,
            recorded,
        }))))
    }

    /// The columns of the next range; `None` after the last. The background read of the range
    /// after it may take as long as this call.
    ///
    /// # Errors
    /// As [`read`](crate::read()); `Usage` in a fork of the process that scans. An error ends the scan.
    pub fn next(&mut self, call: &mut Call<'_>) -> Option<Result<Vec<Column>>> {
        let patience = call.deadline().remaining();
        let done = match mem::replace(&mut self.0, ScanState::Over) {
            ScanState::Idle(mut steps) => {
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

/// The ranges not yet read, and what reads them.
#[derive(Debug)]
struct RemainingRanges {
    table: Arc<dyn Table>,
    queries: Queries,
    reader: Reader,
    threads: Option<usize>,
    recorded: Option<ReadRecording>,
}

#[derive(Debug)]
enum Reader {
    /// For a source that never waits.
    Local(std::vec::IntoIter<Range<u64>>, CarriedChunks),
    /// For a distant source.
    Ahead(Box<Windows>),
}

impl RemainingRanges {
    fn next(&mut self, call: &mut Call<'_>) -> Option<Result<Vec<Column>>> {
        let pool = match pool::computing(self.threads) {
            Ok(pool) => pool,
            Err(error) => return Some(Err(error)),
        };
        let RemainingRanges { table, queries, reader, recorded, .. } = self;
        let recorded = recorded.as_ref();
        let columns = ReadRecording::deliver(recorded, table.fetcher(0).counters(), || {
            let columns = match reader {
                Reader::Ahead(windows) => windows.next(&pool, call),
                Reader::Local(ranges, carried) => ranges.next().map(|range| {
                    carried.forget_before(range.start);
                    let next = ranges.as_slice().first().map_or(u64::MAX, |next| next.start);
                    let carried = Some((&*carried, next));
                    let local = LocalRead { pool: &pool, recorded, carried, together: false, next: None };
                    local.read(&**table, &queries.selections, &range, call)
                }),
            };
            columns.transpose()
        });
        Some(columns.transpose()?.and_then(|columns| self.queries.split(&*self.table, &columns)))
    }

    /// Begins to read the next range in the background, if that is allowed.
    fn go_on(mut self: Box<Self>, patience: Duration) -> Result<ScanState> {
        if !self.may_go_on()? {
            return Ok(ScanState::Idle(self));
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
        // A recording measures the time of each range, and the user's time between two ranges.
        if is_over || tied || self.recorded.is_some() {
            return Ok(false);
        }
        Ok(pool::computing(self.threads)?.current_num_threads() > 1 && pool::budget()?.most() > 0)
    }
}

/// What is left after a range, and the columns of the range.
type Delivery = (Box<RemainingRanges>, Option<Result<Vec<Column>>>);
