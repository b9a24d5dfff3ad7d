//! Reading an entry range at once.

use crate::elsewhere::Located;
use crate::kept::Kept;
use crate::plan::{check_range, counted, in_parallel, plan, prepare};
use crate::request::{Request, Requests, Wanted};
use crate::windows::Windows;
use crate::{Interrupt, Tree, pool, recorded};
use rayon::ThreadPool;
use sapwood_core::{Column, Deadline, Result};
use sapwood_source::record::RecordedRead;
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
    let columns = RecordedRead::deliver(read.as_ref(), tree.file().counters(), || {
        read_wanted(tree, &requests.wanted, entries, options, read.as_ref(), interrupt)
    })?;
    requests.split(tree, &columns)
}

fn read_wanted(
    tree: &Tree,
    wanted: &[Wanted],
    entries: Range<u64>,
    options: &ReadOptions,
    read: Option<&RecordedRead>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let pool = pool::computing(options.threads)?;
    if tree.file().0.fetcher.source().cost_model().immediate {
        let here = Here { pool: &pool, deadline: options.deadline, read, kept: None };
        return read_here(tree, wanted, &entries, &here, interrupt);
    }
    let mut windows = Windows::new(tree.clone(), wanted, vec![entries], read)?;
    windows.next(&pool, options.deadline, interrupt).unwrap_or_else(|| Ok(Vec::new()))
}

/// How a source that never waits is read.
pub(crate) struct Here<'a> {
    pub(crate) pool: &'a ThreadPool,
    pub(crate) deadline: Deadline,
    pub(crate) read: Option<&'a RecordedRead>,
    /// What is held of the ranges before, and the first entry of the next.
    pub(crate) kept: Option<(&'a Kept, u64)>,
}

/// Reads from a source that never waits: each column's baskets are read where they are decoded, while they
/// are still in the processor's cache.
pub(crate) fn read_here(
    tree: &Tree,
    wanted: &[Wanted],
    entries: &Range<u64>,
    here: &Here<'_>,
    interrupt: Interrupt<'_>,
) -> Result<Vec<Column>> {
    let plans = plan(tree, wanted, entries)?;
    recorded::range(here.read, tree, &plans, entries);
    pool::compute(here.pool, interrupt, |cancelled| {
        in_parallel(&plans, cancelled, |plan, likely| {
            let held = |located: Located<'_>| here.kept.and_then(|(kept, _)| kept.get(located));
            let counters = tree.file().counters();
            let mut fetched = HashMap::new();
            for file in plan.files() {
                let of_file = plan.baskets().filter(|located| located.file == file);
                let missing: Vec<_> = of_file.filter(|located| held(*located).is_none()).collect();
                let ranges: Vec<_> = missing.iter().map(Located::range).collect();
                let records = tree.fetcher_at(file).fetch_now(&ranges, here.deadline)?;
                for (located, record) in missing.into_iter().zip(records) {
                    if let Some((kept, _)) = here.kept.filter(|(_, next)| located.basket.end() > *next) {
                        kept.keep(located, &record, counters);
                    }
                    fetched.insert(located.place(), record);
                }
            }
            counted(counters, plan, || {
                let bytes =
                    |located: Located<'_>| held(located).or_else(|| fetched.get(&located.place()).cloned());
                plan.decode(bytes, likely, counters)
            })
        })
    })
    .map_err(|error| error.url(tree.file().url()))
}
