//! Reading an entry range at once.

use crate::elsewhere::Located;
use crate::plan::{check_range, counted, in_parallel, plan, prepare};
use crate::request::{Request, Requests, Wanted};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool};
use rayon::ThreadPool;
use sapwood_core::{Buffer, Column, Deadline, Form, Result};
use sapwood_fetch::windows;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// How to read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Number of computing threads. Default: the environment variable `SAPWOOD_THREADS`, else all processors.
    pub threads: Option<usize>,
    /// When to give up. Default: in one hour. A scan applies the time that is left at its start to each range.
    pub deadline: Deadline,
}

/// Compressed bytes that are fetched together from a distant source. Larger reads are cut into windows of
/// whole clusters, so that one is decoded while the next is on its way.
const WINDOW: u64 = 32 << 20;

pub(crate) fn read<R: Into<Request> + Clone>(
    tree: &Tree,
    requests: &[R],
    entries: Range<u64>,
    options: &ReadOptions,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    check_range(tree, &entries)?;
    let requests = Requests::new(tree, requests);
    prepare(tree, &requests.wanted, options.deadline, interrupt)?;
    let columns = read_wanted(tree, &requests.wanted, entries, options, interrupt)?;
    requests.split(tree, &columns)
}

fn read_wanted(
    tree: &Tree,
    wanted: &[Wanted],
    entries: Range<u64>,
    options: &ReadOptions,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let pool = pool::computing(options.threads)?;
    if tree.file().0.fetcher.source().physics().immediate {
        return read_here(tree, wanted, &entries, &pool, options.deadline, interrupt);
    }
    let ranges = cut(tree, wanted, &entries)?;
    let mut parts = Vec::with_capacity(ranges.len());
    let mut ahead = Windows::new(tree.clone(), wanted, ranges)?;
    while let Some(columns) = ahead.next(&pool, options.deadline, interrupt) {
        parts.push(columns?);
    }
    join(parts)
}

/// Reads from a source that never waits: each column's baskets are read where they are decoded, while they
/// are still in the processor's cache.
pub(crate) fn read_here(
    tree: &Tree,
    wanted: &[Wanted],
    entries: &Range<u64>,
    pool: &ThreadPool,
    deadline: Deadline,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let plans = plan(tree, wanted, entries)?;
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

/// Windows of whole clusters whose baskets stay under the budget.
fn cut(tree: &Tree, wanted: &[Wanted], entries: &Range<u64>) -> Result<Vec<Range<u64>>> {
    let plans = plan(tree, wanted, entries)?;
    let baskets = || plans.iter().flat_map(|plan| plan.baskets()).map(|located| located.basket);
    let total: u64 = baskets().map(|basket| basket.len).sum();
    let starts = &tree.metadata().cluster_starts;
    if total <= WINDOW || starts.len() < 3 {
        return Ok(vec![entries.clone()]);
    }
    let mut bytes = vec![0u64; starts.len()];
    for basket in baskets() {
        let cluster = starts.partition_point(|start| *start <= basket.first_entry).saturating_sub(1);
        bytes[cluster] += basket.len;
    }
    Ok(windows(starts, |cluster| bytes.get(cluster).copied().unwrap_or_default(), WINDOW, entries.clone()))
}

/// The columns of consecutive windows, joined. Columns that share their offsets in every window share them
/// in the whole; what only the data tell of a form may differ from window to window.
fn join(mut parts: Vec<Vec<Column>>) -> Result<Vec<Column>> {
    if parts.len() == 1 {
        return Ok(parts.pop().unwrap_or_default());
    }
    let count = parts.first().map_or(0, Vec::len);
    let mut parts: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
    let mut offsets: HashMap<Vec<*const Buffer>, Arc<Buffer>> = HashMap::new();
    let mut joined = Vec::with_capacity(count);
    // Kept until the end, so that no address is used twice.
    let mut used = Vec::with_capacity(count);
    for _ in 0..count {
        let columns: Vec<Column> = parts.iter_mut().filter_map(Iterator::next).collect();
        let heads: Vec<Arc<Buffer>> =
            columns.iter().filter_map(|column| column.buffers.first()).cloned().collect();
        let mut column = Column::concat(columns)?;
        if let (Form::List(_), Some(own)) = (&column.form, column.buffers.first_mut()) {
            let shared = offsets.entry(heads.iter().map(Arc::as_ptr).collect());
            *own = Arc::clone(shared.or_insert_with(|| Arc::clone(own)));
            used.extend(heads);
        }
        joined.push(column);
    }
    Ok(joined)
}
