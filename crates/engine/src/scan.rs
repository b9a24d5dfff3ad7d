//! Reading range by range, with the next range on its way while one is worked on.

use crate::plan::{check_range, plan};
use crate::read::{ReadOptions, read_here};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool};
use sapwood_core::{Column, Deadline, Result};
use std::ops::Range;
use std::time::Duration;

/// The columns of a tree, range by range.
#[derive(Debug)]
pub struct Scan {
    reader: Reader,
    threads: Option<usize>,
    patience: Duration,
}

#[derive(Debug)]
enum Reader {
    /// Of a source that never waits.
    Here { tree: Tree, branches: Vec<usize>, ranges: std::vec::IntoIter<Range<u64>> },
    /// Of a distant source.
    Ahead(Box<Windows>),
}

impl Scan {
    pub(crate) fn new(
        tree: Tree,
        branches: &[usize],
        ranges: Vec<Range<u64>>,
        options: ReadOptions,
    ) -> Result<Scan> {
        for range in &ranges {
            check_range(&tree, range)?;
        }
        plan(&tree, branches, &(0..0))?;
        let patience = options.deadline.remaining();
        let reader = if tree.file().0.fetcher.source().physics().immediate {
            Reader::Here { tree, branches: branches.to_vec(), ranges: ranges.into_iter() }
        } else {
            Reader::Ahead(Box::new(Windows::new(tree, branches, ranges)?))
        };
        Ok(Scan { reader, threads: options.threads, patience })
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
        match &mut self.reader {
            Reader::Ahead(windows) => windows.next(&pool, deadline, interrupt),
            Reader::Here { tree, branches, ranges } => {
                let range = ranges.next()?;
                let columns = read_here(tree, branches, &range, &pool, deadline, interrupt);
                if columns.is_err() {
                    *ranges = Vec::new().into_iter();
                }
                Some(columns)
            }
        }
    }
}
