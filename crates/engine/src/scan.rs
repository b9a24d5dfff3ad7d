//! Reading range by range, with the next range being read while one is worked on.

use crate::kept::Kept;
use crate::meanwhile::Meanwhile;
use crate::plan::{check_range, plan, prepare};
use crate::read::{Here, ReadOptions, read_here};
use crate::request::{Request, Requests};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool, recorded};
use sapwood_core::{Column, Deadline, Result};
use sapwood_source::record::RecordedRead;
use std::mem;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The columns of a tree, range by range.
///
/// With more than one computing thread, the next range is read while the caller works on the last one. It is read when it
/// is asked for where nothing is to be read ahead, where the source is tied to its user, and while the read is recorded.
#[derive(Debug)]
pub struct Scan(State);

#[derive(Debug)]
enum State {
    /// The next range is read when it is asked for.
    Waiting(Box<Steps>),
    /// The next range is being read.
    Begun {
        task: Meanwhile<Done>,
        tree: Tree,
        patience: Duration,
    },
    Over,
}

impl Scan {
    pub(crate) fn new<R: Into<Request> + Clone>(
        tree: Tree,
        asked: &[R],
        ranges: Vec<Range<u64>>,
        options: ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Scan> {
        for range in &ranges {
            check_range(&tree, range)?;
        }
        let requests = Requests::new(&tree, asked);
        prepare(&tree, &requests.wanted, options.deadline, interrupt)?;
        // What can be said against a request is said before anything is read.
        plan(&tree, &requests.wanted, &(0..0))?;
        let patience = options.deadline.remaining();
        let recorded = recorded::begin("scan", &tree, asked);
        let reader = if tree.file().0.fetcher.source().cost_model().immediate {
            Reader::Here(ranges.into_iter(), Kept::default())
        } else {
            Reader::Ahead(Box::new(Windows::new(tree.clone(), &requests.wanted, ranges, recorded.as_ref())?))
        };
        let threads = options.threads;
        Ok(Scan(State::Waiting(Box::new(Steps { tree, requests, reader, threads, patience, recorded }))))
    }

    /// The columns of the next range; `None` after the last.
    ///
    /// # Errors
    /// As [`Tree::read`]; `Usage` in a fork of the process that scans. An error ends the scan.
    pub fn next(&mut self, interrupt: Interrupt<'_>) -> Option<Result<Vec<Column>>> {
        let done = match mem::replace(&mut self.0, State::Over) {
            State::Waiting(mut steps) => {
                let columns = steps.next(interrupt);
                Ok((steps, columns))
            }
            State::Begun { task, tree, patience } => task
                .finish(Deadline::after(patience), interrupt)
                .map_err(|error| error.url(tree.file().url())),
            State::Over => return None,
        };
        let columns = done.and_then(|(steps, columns)| {
            if let Some(Ok(_)) = columns {
                self.0 = steps.go_on()?;
            }
            columns.transpose()
        });
        columns.transpose()
    }
}

/// The ranges that are still to be read.
#[derive(Debug)]
struct Steps {
    tree: Tree,
    requests: Requests,
    reader: Reader,
    threads: Option<usize>,
    patience: Duration,
    recorded: Option<RecordedRead>,
}

#[derive(Debug)]
enum Reader {
    /// Of a source that never waits.
    Here(std::vec::IntoIter<Range<u64>>, Kept),
    /// Of a distant source.
    Ahead(Box<Windows>),
}

impl Steps {
    fn next(&mut self, interrupt: Interrupt<'_>) -> Option<Result<Vec<Column>>> {
        let pool = match pool::computing(self.threads) {
            Ok(pool) => pool,
            Err(error) => return Some(Err(error)),
        };
        let deadline = Deadline::after(self.patience);
        let Steps { tree, requests, reader, recorded, .. } = self;
        let read = recorded.as_ref();
        let columns = RecordedRead::deliver(read, tree.file().counters(), || {
            let columns = match reader {
                Reader::Ahead(windows) => windows.next(&pool, deadline, interrupt),
                Reader::Here(ranges, kept) => ranges.next().map(|range| {
                    kept.forget_before(range.start);
                    let next = ranges.as_slice().first().map_or(u64::MAX, |next| next.start);
                    let here = Here { pool: &pool, deadline, read, kept: Some((&*kept, next)) };
                    read_here(tree, &requests.wanted, &range, &here, interrupt)
                }),
            };
            columns.transpose()
        });
        Some(columns.transpose()?.and_then(|columns| self.requests.split(&self.tree, &columns)))
    }

    /// Begins to read the next range, if that can be done beside the caller's work.
    fn go_on(mut self: Box<Self>) -> Result<State> {
        if !self.may_go_on()? {
            return Ok(State::Waiting(self));
        }
        let (tree, patience) = (self.tree.clone(), self.patience);
        let task = Meanwhile::begin(move |cancelled| {
            let columns = self.next(&mut || cancelled.load(Ordering::Relaxed));
            (self, columns)
        })?;
        Ok(State::Begun { task, tree, patience })
    }

    fn may_go_on(&self) -> Result<bool> {
        let is_over = match &self.reader {
            Reader::Here(ranges, _) => ranges.as_slice().is_empty(),
            Reader::Ahead(windows) => windows.is_over(),
        };
        let tied = self.tree.file().0.fetcher.source().cost_model().tied;
        // What is recorded is what each range takes, and what its user takes between two of them.
        if is_over || tied || self.recorded.is_some() {
            return Ok(false);
        }
        Ok(pool::computing(self.threads)?.current_num_threads() > 1 && pool::budget()?.most() > 0)
    }
}

/// What is to be read after a range, and its columns.
type Done = (Box<Steps>, Option<Result<Vec<Column>>>);
