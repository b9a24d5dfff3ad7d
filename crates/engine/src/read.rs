//! Reading an entry range at once.

use crate::elsewhere::Located;
use crate::plan::{check_range, counted, in_parallel, plan, prepare};
use crate::request::{Request, Requests, Wanted};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool, recorded};
use rayon::ThreadPool;
use sapwood_core::{Column, Deadline, Result};
use sapwood_source::record::Read;
use std::collections::HashMap;
use std::ops::Range;

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Number of computing threads. Default: the environment variable `SAPWOOD_THREADS`, else all processors.
    pub threads: Option<usize>,
    /// When to give up. Default: in one hour. A scan applies the time that is left at its start to each range.
    pub deadline: Deadline,
}

pub(crate) fn read<R: Into<Request> + Clone>(
    tree: &Tree,
    asked: &[R],
    entries: Range<u64>,
    options: &ReadOptions,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    check_range(tree, &entries)?;
    let requests = Requests::new(tree, asked);
    prepare(tree, &requests.wanted, options.deadline, interrupt)?;
    let read = recorded::begin("read", tree, asked);
    let columns = Read::deliver(read.as_ref(), tree.file().counters(), || {
        read_wanted(tree, &requests.wanted, entries, options, read.as_ref(), interrupt)
    })?;
    requests.split(tree, &columns)
}

fn read_wanted(
    tree: &Tree,
    wanted: &[Wanted],
    entries: Range<u64>,
    options: &ReadOptions,
    read: Option<&Read>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let pool = pool::computing(options.threads)?;
    if tree.file().0.fetcher.source().physics().immediate {
        return read_here(tree, wanted, &entries, &pool, options.deadline, read, interrupt);
    }
    let mut windows = Windows::new(tree.clone(), wanted, vec![entries], read)?;
    windows.next(&pool, options.deadline, interrupt).unwrap_or_else(|| Ok(Vec::new()))
}

/// Reads from a source that never waits: each column's baskets are read where they are decoded, while they
/// are still in the processor's cache.
pub(crate) fn read_here(
    tree: &Tree,
    wanted: &[Wanted],
    entries: &Range<u64>,
    pool: &ThreadPool,
    deadline: Deadline,
    read: Option<&Read>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let plans = plan(tree, wanted, entries)?;
    recorded::range(read, tree, &plans, entries);
    pool::compute(pool, interrupt, |cancelled| {
        in_parallel(&plans, cancelled, |plan, likely| {
            let mut fetched = HashMap::new();
            for file in plan.files() {
                let ranges: Vec<_> = plan.ranges(file).collect();
                let bytes = tree.fetcher_at(file).fetch_now(&ranges, deadline)?;
                fetched.extend(ranges.iter().map(|range| (file, range.start)).zip(bytes));
            }
            let counters = tree.file().counters();
            counted(counters, plan, || {
                let bytes =
                    |located: Located<'_>| fetched.get(&(located.file, located.basket.offset)).cloned();
                plan.decode(bytes, likely, counters)
            })
        })
    })
    .map_err(|error| error.url(tree.file().url()))
}
