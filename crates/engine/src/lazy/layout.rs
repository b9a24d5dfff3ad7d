//! Where the baskets of a lazy reader's columns lie, window by window, and how they become columns.

use crate::plan::{counted, in_parallel, interpretation, plan};
use crate::read::{Here, read_here};
use crate::request::{Requests, Wanted};
use crate::{Interrupt, Request, Tree, pool, recorded};
use bytes::Bytes;
use sapwood_core::{Column, Deadline, Error, Result};
use sapwood_fetch::Fetcher;
use sapwood_fetch::learn::{Fetched, Layout, Piece};
use sapwood_source::record::RecordedRead;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// The columns and windows of a lazy reader: a column is one request.
#[derive(Debug)]
pub(super) struct Baskets {
    pub(super) tree: Tree,
    pub(super) windows: Vec<Range<u64>>,
    requests: Vec<One>,
    recorded: Option<RecordedRead>,
}

/// One request, on its own.
#[derive(Debug)]
struct One {
    requests: Requests,
    /// Other requests read the same baskets, or some of them.
    shares: bool,
}

impl Baskets {
    pub(super) fn new(tree: Tree, requests: Vec<Request>, windows: Vec<Range<u64>>) -> Baskets {
        let (mut once, mut often) = (HashSet::new(), HashSet::new());
        for request in &requests {
            if !once.insert(request.branch) {
                often.insert(request.branch);
            }
        }
        let counted = |branch| {
            let known = interpretation(&tree, branch, None).ok();
            known.is_some_and(|known| known.count_branch.is_some())
                && tree.branches().get(branch).is_some_and(|branch| branch.io_bits != 0)
                || known.is_some_and(|known| known.counts_objects())
        };
        let recorded = recorded::begin("lazy", &tree, &requests);
        let one = |request: Request| {
            let shares = often.contains(&request.branch) || counted(request.branch);
            One { requests: Requests::new(&tree, std::slice::from_ref(&request)), shares }
        };
        let requests = requests.into_iter().map(one).collect();
        Baskets { tree, windows, requests, recorded }
    }

    /// The columns that were fetched, decoded on all threads, and the bytes of each.
    pub(super) fn decode(
        &self,
        fetched: &[Fetched],
        window: usize,
        threads: Option<usize>,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<(Column, u64)>> {
        let tree = &self.tree;
        let entries = self.windows.get(window).cloned().unwrap_or_default();
        let requests = || fetched.iter().filter_map(|fetched| self.requests.get(fetched.column));
        let wanted: Vec<Wanted> = requests().flat_map(|one| one.requests.wanted.iter().cloned()).collect();
        let pool = pool::computing(threads)?;
        let columns = if tree.file().0.fetcher.source().cost_model().immediate {
            read_here(
                tree,
                &wanted,
                &entries,
                &Here { pool: &pool, deadline, read: None, kept: None },
                interrupt,
            )?
        } else {
            let pieces = fetched.iter().flat_map(|fetched| &fetched.pieces);
            let bytes: HashMap<(usize, u64), &Bytes> =
                pieces.map(|((file, range), bytes)| ((*file, range.start), bytes)).collect();
            let plans = plan(tree, &wanted, &entries)?;
            let counters = tree.file().counters();
            let decoded = pool::compute(&pool, interrupt, |cancelled| {
                in_parallel(&plans, cancelled, |plan, likely| {
                    counted(counters, plan, || {
                        let basket = |file, offset| bytes.get(&(file, offset)).map(|bytes| (*bytes).clone());
                        plan.decode(|located| basket(located.file, located.basket.offset), likely, counters)
                    })
                })
            });
            decoded.map_err(|error| error.url(tree.file().url()))?
        };
        let split = |(one, column): (&One, Column)| {
            let mut columns = one.requests.split(tree, &[column])?;
            let column = columns.pop().ok_or_else(|| Error::usage("a column was not read"))?;
            let bytes = column.byte_count() as u64;
            Ok((column, bytes))
        };
        requests().zip(columns).map(split).collect()
    }
}

impl Layout for Baskets {
    fn columns(&self) -> usize {
        self.requests.len()
    }

    fn windows(&self) -> usize {
        self.windows.len()
    }

    /// A column that cannot be planned has no pieces: whoever touches it is told why when it is decoded.
    fn pieces(&self, column: usize, window: usize) -> Vec<Piece> {
        let (Some(one), Some(entries)) = (self.requests.get(column), self.windows.get(window)) else {
            return Vec::new();
        };
        let plans = plan(&self.tree, &one.requests.wanted, entries).unwrap_or_default();
        let pieces = plans.iter().flat_map(|plan| plan.baskets()).map(|located| {
            let basket = located.basket;
            let inside = entries.start <= basket.first_entry && basket.end() <= entries.end;
            Piece { object: located.file, range: located.range(), shared: one.shares || !inside }
        });
        pieces.collect()
    }

    fn fetcher(&self, object: usize) -> Fetcher {
        self.tree.fetcher_at(object)
    }

    fn recorded(&self) -> Option<&RecordedRead> {
        self.recorded.as_ref()
    }
}
