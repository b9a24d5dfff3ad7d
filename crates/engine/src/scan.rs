//! Reading range by range, with the next range on its way while one is worked on.

use crate::kept::Kept;
use crate::plan::{check_range, plan, prepare};
use crate::read::{Here, ReadOptions, read_here};
use crate::request::{Request, Requests};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool, recorded};
use sapwood_core::{Column, Deadline, Result};
use sapwood_source::record::Read;
use std::ops::Range;
use std::time::Duration;

/// The columns of a tree, range by range.
#[derive(Debug)]
pub struct Scan {
    tree: Tree,
    requests: Requests,
    reader: Reader,
    threads: Option<usize>,
    patience: Duration,
    recorded: Option<Read>,
}

#[derive(Debug)]
enum Reader {
    /// Of a source that never waits.
    Here(std::vec::IntoIter<Range<u64>>, Kept),
    /// Of a distant source.
    Ahead(Box<Windows>),
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
        let reader = if tree.file().0.fetcher.source().physics().immediate {
            Reader::Here(ranges.into_iter(), Kept::default())
        } else {
            Reader::Ahead(Box::new(Windows::new(tree.clone(), &requests.wanted, ranges, recorded.as_ref())?))
        };
        Ok(Scan { tree, requests, reader, threads: options.threads, patience, recorded })
    }

    /// The columns of the next range; `None` after the last.
    ///
    /// # Errors
    /// As [`Tree::read`]. An error ends the scan.
    pub fn next(&mut self, interrupt: Interrupt<'_>) -> Option<Result<Vec<Column>>> {
        let pool = match pool::computing(self.threads) {
            Ok(pool) => pool,
            Err(error) => return Some(Err(error)),
        };
        let deadline = Deadline::after(self.patience);
        let Scan { tree, requests, reader, recorded, .. } = self;
        let read = recorded.as_ref();
        let columns = Read::deliver(read, tree.file().counters(), || {
            let columns = match reader {
                Reader::Ahead(windows) => windows.next(&pool, deadline, interrupt),
                Reader::Here(ranges, kept) => ranges.next().map(|range| {
                    kept.forget_before(range.start);
                    let next = ranges.as_slice().first().map_or(u64::MAX, |next| next.start);
                    let here = Here { pool: &pool, deadline, read, kept: Some((&*kept, next)) };
                    read_here(tree, &requests.wanted, &range, &here, interrupt)
                        .inspect_err(|_| *ranges = Vec::new().into_iter())
                }),
            };
            columns.transpose()
        });
        Some(columns.transpose()?.and_then(|columns| self.requests.split(&self.tree, &columns)))
    }
}
