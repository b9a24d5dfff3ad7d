//! Entry ranges of a distant source: each is fetched ahead, and decoded when its bytes are there.

use crate::plan::{ColumnPlan, in_parallel, plan, timed};
use crate::request::Wanted;
use crate::{Interrupt, Tree, pool};
use bytes::Bytes;
use rayon::ThreadPool;
use sapwood_core::{ByteRange, Column, Deadline, Result};
use sapwood_fetch::{Ahead, Job, ReadAhead};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Bytes that are fetched ahead of the range that is worked on.
const AHEAD: Ahead = Ahead { jobs: 2, bytes: 64 << 20 };

/// Entry ranges of a distant source, fetched ahead. A basket that reaches from one range into the next is
/// fetched once.
#[derive(Debug)]
pub(crate) struct Windows {
    tree: Tree,
    wanted: Vec<Wanted>,
    ahead: ReadAhead<Window>,
    /// Baskets of the last range that the next may need, by their offset.
    carried: HashMap<u64, Bytes>,
}

/// What is remembered of a range while its bytes are fetched.
#[derive(Debug, Clone)]
struct Window {
    entries: Range<u64>,
    fetched: Vec<ByteRange>,
    /// Offsets of the baskets that the next range needs again.
    keep: HashSet<u64>,
}

impl Windows {
    pub(crate) fn new(tree: Tree, wanted: &[Wanted], ranges: Vec<Range<u64>>) -> Result<Windows> {
        let mut before = HashSet::new();
        let mut jobs: Vec<Job<Window>> = Vec::with_capacity(ranges.len());
        for entries in ranges {
            let plans = plan(&tree, wanted, &entries)?;
            let mut wanted: Vec<ByteRange> = plans.iter().flat_map(ColumnPlan::ranges).collect();
            wanted.sort_unstable();
            wanted.dedup();
            let here: HashSet<u64> = wanted.iter().map(|range| range.start).collect();
            if let Some(last) = jobs.last_mut() {
                last.tag.keep = here.intersection(&before).copied().collect();
            }
            wanted.retain(|range| !before.contains(&range.start));
            before = here;
            let window = Window { entries, fetched: wanted.clone(), keep: HashSet::new() };
            jobs.push(Job { tag: window, wanted });
        }
        let fetcher = tree.file().0.fetcher.clone();
        let ahead = ReadAhead::new(jobs, fetcher, pool::runtime()?, AHEAD);
        Ok(Windows { tree, wanted: wanted.to_vec(), ahead, carried: HashMap::new() })
    }

    pub(crate) fn next(
        &mut self,
        pool: &ThreadPool,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Option<Result<Vec<Column>>> {
        let url = self.tree.file().url().to_owned();
        let columns = match self.ahead.next(deadline, interrupt)? {
            Ok((window, bytes)) => self.decode(&window, bytes, pool, interrupt),
            Err(error) => Err(error),
        };
        Some(columns.map_err(|error| error.url(url)))
    }

    fn decode(
        &mut self,
        window: &Window,
        bytes: Vec<Bytes>,
        pool: &ThreadPool,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        self.carried.extend(window.fetched.iter().map(|range| range.start).zip(bytes));
        let plans = plan(&self.tree, &self.wanted, &window.entries)?;
        let counters = self.tree.file().counters();
        let carried = &self.carried;
        let columns = pool::compute(pool, interrupt, |cancelled| {
            in_parallel(&plans, cancelled, |plan, likely| {
                timed(counters, plan, || plan.decode(|basket| carried.get(&basket.offset).cloned(), likely))
            })
        })?;
        self.carried.retain(|offset, _| window.keep.contains(offset));
        Ok(columns)
    }
}
