//! Reading range by range, with the next range on its way while one is worked on.

use crate::plan::{check_range, plan, prepare};
use crate::read::{ReadOptions, read_here};
use crate::request::{Request, Requests};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool};
use sapwood_core::{Column, Deadline, Result};
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
}

#[derive(Debug)]
enum Reader {
    /// Of a source that never waits.
    Here(std::vec::IntoIter<Range<u64>>),
    /// Of a distant source.
    Ahead(Box<Windows>),
}

impl Scan {
    pub(crate) fn new<R: Into<Request> + Clone>(
        tree: Tree,
        requests: &[R],
        ranges: Vec<Range<u64>>,
        options: ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Scan> {
        for range in &ranges {
            check_range(&tree, range)?;
        }
        let requests = Requests::new(&tree, requests);
        prepare(&tree, &requests.wanted, options.deadline, interrupt)?;
        // What can be said against a request is said before anything is read.
        plan(&tree, &requests.wanted, &(0..0))?;
        let patience = options.deadline.remaining();
        let reader = if tree.file().0.fetcher.source().physics().immediate {
            Reader::Here(ranges.into_iter())
        } else {
            Reader::Ahead(Box::new(Windows::new(tree.clone(), &requests.wanted, ranges)?))
        };
        Ok(Scan { tree, requests, reader, threads: options.threads, patience })
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
        let columns = match &mut self.reader {
            Reader::Ahead(windows) => windows.next(&pool, deadline, interrupt)?,
            Reader::Here(ranges) => {
                let range = ranges.next()?;
                let columns =
                    read_here(&self.tree, &self.requests.wanted, &range, &pool, deadline, interrupt);
                if columns.is_err() {
                    *ranges = Vec::new().into_iter();
                }
                columns
            }
        };
        Some(columns.and_then(|columns| self.requests.split(&self.tree, &columns)))
    }
}
