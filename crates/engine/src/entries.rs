//! Reading chosen entries: only the baskets that hold one of them.

use crate::elsewhere::{FileIndex, Located};
use crate::plan::{ColumnPlan, check_range, counted, interpretation, plan, prepare};
use crate::request::{Request, Requests, Wanted};
use crate::{Interrupt, ReadOptions, Tree, pool, recorded};
use bytes::Bytes;
use rayon::ThreadPool;
use rayon::prelude::*;
use sapwood_core::{Buffer, ByteRange, Column, Deadline, Error, Form, Result};
use sapwood_fetch::{Ahead, Job, ReadAhead, windows};
use sapwood_source::record::RecordedRead;
use sapwood_ttree::Layout;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most compressed bytes of a distant source that are fetched together; not more than a quarter of what may be
/// fetched ahead.
const WINDOW: u64 = 32 << 20;
/// Windows that are fetched ahead of the one that is decoded.
const AHEAD: usize = 2;
/// Compressed bytes of one column that are decoded before the entries wanted of them are picked out.
const RUN: u64 = 4 << 20;

/// Baskets and their bytes, by file and offset.
type Baskets = HashMap<(FileIndex, u64), Bytes>;
/// The baskets of a window, in order, each once.
type Needed = Vec<(FileIndex, ByteRange)>;
/// What is fetched from each file, window by window.
type OnTheirWay = Vec<(FileIndex, ReadAhead<Vec<ByteRange>>)>;

/// A read of chosen entries that was [started](Tree::start_entries): of a distant source, the bytes are on
/// their way.
pub struct EntryRead {
    chosen: Chosen,
    threads: Option<usize>,
    /// Nothing of a source that never waits.
    ahead: Option<OnTheirWay>,
    recorded: Option<RecordedRead>,
}

/// Which entries of what.
struct Chosen {
    tree: Tree,
    requests: Requests,
    /// The wanted entries, each once, in order.
    entries: Vec<u64>,
    /// Where in these the entries asked for are, if they were asked for in another order, or several times.
    order: Option<Vec<usize>>,
    /// Which of them are fetched together, and what is fetched for them.
    windows: Vec<(Range<usize>, Needed)>,
}

/// Consecutive baskets of a column, and the wanted entries in them.
struct Run<'t, 'e> {
    plan: ColumnPlan<'t>,
    /// The first entry that is decoded.
    first: u64,
    entries: &'e [u64],
}

impl Tree {
    /// Some entries of branches, or of members of the objects in them, in the order asked for; an entry may be
    /// asked for several times. Only baskets that hold one of the entries are fetched and decompressed.
    ///
    /// `within` is what would have been read without the choice: the baskets of it that are passed over are
    /// added up in the counter `skipped_bytes`.
    ///
    /// # Errors
    /// As [`Tree::read`]; `Usage` for an entry that is not `within`, or beyond the end of a branch.
    pub fn read_entries<R: Into<Request> + Clone>(
        &self,
        requests: &[R],
        entries: &[u64],
        within: Range<u64>,
        options: &ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        self.start_entries(requests, entries, within, options, interrupt)?.finish(options.deadline, interrupt)
    }

    /// As [`Tree::read_entries`], but returns as soon as the bytes of a distant source are asked for.
    ///
    /// # Errors
    /// As [`Tree::read_entries`]; those of fetching and decoding come when it is [finished](EntryRead::finish).
    pub fn start_entries<R: Into<Request> + Clone>(
        &self,
        asked: &[R],
        entries: &[u64],
        within: Range<u64>,
        options: &ReadOptions,
        interrupt: Interrupt<'_>,
    ) -> Result<EntryRead> {
        check_range(self, &within)?;
        if let Some(outside) = entries.iter().find(|entry| !within.contains(entry)) {
            let message = format!("entry {outside} is not among the entries {within:?}");
            return Err(Error::usage(message).url(self.file().url()));
        }
        let requests = Requests::new(self, asked);
        prepare(self, &requests.wanted, options.deadline, interrupt)?;
        let (entries, order) = in_order(entries);
        let windows = vec![(0..entries.len(), Vec::new())];
        let mut chosen = Chosen { tree: self.clone(), requests, entries, order, windows };
        let recorded = recorded::begin("entries", self, asked);
        let ahead = chosen.start(&within, recorded.as_ref()).map_err(|error| error.url(self.file().url()))?;
        Ok(EntryRead { chosen, threads: options.threads, ahead, recorded })
    }
}

impl EntryRead {
    /// The columns.
    ///
    /// # Errors
    /// Those of the source and of decoding; `Timeout` after the deadline.
    pub fn finish(mut self, deadline: Deadline, interrupt: Interrupt<'_>) -> Result<Vec<Column>> {
        let chosen = &self.chosen;
        pool::computing(self.threads)
            .and_then(|pool| {
                let columns = || chosen.columns(&mut self.ahead, &pool, deadline, interrupt);
                RecordedRead::deliver(self.recorded.as_ref(), chosen.tree.file().counters(), columns)
            })
            .and_then(|columns| chosen.requests.split(&chosen.tree, &columns))
            .map_err(|error| error.url(chosen.tree.file().url()))
    }
}

impl Chosen {
    /// Counts what is passed over, and starts to fetch from a source that has to be waited for.
    fn start(&mut self, within: &Range<u64>, read: Option<&RecordedRead>) -> Result<Option<OnTheirWay>> {
        let all = needed(plan(&self.tree, &self.requests.wanted, within)?.iter());
        let runs = self.runs(&(0..self.entries.len()))?;
        let wanted = needed(runs.iter().flatten().map(|run| &run.plan));
        let span =
            self.entries.first().map_or(0..0, |first| *first..self.entries.last().map_or(0, |last| last + 1));
        recorded::range(read, &self.tree, runs.iter().flatten().map(|run| &run.plan), &span);
        let bytes = |needed: &Needed| needed.iter().map(|(_, range)| range.len).sum::<u64>();
        let skipped = bytes(&all).saturating_sub(bytes(&wanted));
        self.tree.file().counters().skipped_bytes.add(skipped);
        if self.tree.file().0.fetcher.source().cost_model().immediate {
            return Ok(None);
        }
        let most = WINDOW.min(self.tree.file().0.fetcher.budget().most() / 4).max(1);
        let windows = self.cut(&runs, most)?;
        drop(runs);
        self.windows = windows;
        let mut files: Vec<FileIndex> = wanted.iter().map(|(file, _)| *file).collect();
        files.dedup();
        let handle = pool::runtime()?;
        let depth = Ahead { jobs: AHEAD, bytes: most.saturating_mul(AHEAD as u64) };
        let ahead = files.into_iter().map(|file| {
            let fetcher = self.tree.fetcher_at(file);
            (file, ReadAhead::new(self.jobs(file), fetcher, handle.clone(), depth))
        });
        Ok(Some(ahead.collect()))
    }

    /// The runs of each column for some of the entries.
    fn runs(&self, part: &Range<usize>) -> Result<Vec<Vec<Run<'_, '_>>>> {
        let entries = self.entries.get(part.clone()).unwrap_or_default();
        self.requests.wanted.iter().map(|wanted| runs(&self.tree, wanted, entries)).collect()
    }

    /// Windows of whole clusters whose needed baskets stay under the budget.
    fn cut(&self, runs: &[Vec<Run<'_, '_>>], most: u64) -> Result<Vec<(Range<usize>, Needed)>> {
        let starts = &self.tree.metadata().cluster_starts;
        let mut bytes = vec![0u64; starts.len().max(1)];
        for basket in runs.iter().flatten().flat_map(|run| run.plan.baskets()).map(|located| located.basket) {
            let cluster = starts.partition_point(|start| *start <= basket.first_entry).saturating_sub(1);
            bytes[cluster] += basket.len;
        }
        let (Some(first), Some(last)) = (self.entries.first(), self.entries.last()) else {
            return Ok(vec![(0..0, Vec::new())]);
        };
        let of_cluster = |cluster: usize| bytes.get(cluster).copied().unwrap_or_default();
        let place = |entry: u64| self.entries.partition_point(|known| *known < entry);
        let parts = windows(starts, of_cluster, most, *first..last + 1);
        let parts = parts.into_iter().map(|part| place(part.start)..place(part.end));
        parts
            .filter(|part| !part.is_empty())
            .map(|part| {
                let needed = needed(self.runs(&part)?.iter().flatten().map(|run| &run.plan));
                Ok((part, needed))
            })
            .collect()
    }

    /// What to fetch from a file for each window: a basket that the window before needed, too, is kept.
    fn jobs(&self, file: FileIndex) -> Vec<Job<Vec<ByteRange>>> {
        let before = [Vec::new()];
        let before = before.iter().chain(self.windows.iter().map(|(_, needed)| needed));
        let pairs = before.zip(&self.windows).map(|(before, (_, needed))| {
            let new = needed.iter().filter(|place| place.0 == file && before.binary_search(place).is_err());
            let wanted: Vec<ByteRange> = new.map(|(_, range)| *range).collect();
            Job { tag: wanted.clone(), wanted }
        });
        pairs.collect()
    }

    fn columns(
        &self,
        ahead: &mut Option<OnTheirWay>,
        pool: &ThreadPool,
        deadline: Deadline,
        interrupt: Interrupt<'_>,
    ) -> Result<Vec<Column>> {
        let mut here = ahead.as_ref().map(|_| Baskets::new());
        let mut parts: Vec<Vec<Column>> = self.requests.wanted.iter().map(|_| Vec::new()).collect();
        for (number, (window, _)) in self.windows.iter().enumerate() {
            for (file, ahead) in ahead.iter_mut().flatten() {
                let Some(answer) = ahead.next(deadline, interrupt) else { continue };
                let (ranges, bytes) = answer?;
                let places = ranges.iter().map(|range| (*file, range.start));
                here.get_or_insert_default().extend(places.zip(bytes));
            }
            let runs = self.runs(window)?;
            let decoded = pool::compute(pool, interrupt, |cancelled| {
                let decode = |run: &Run<'_, '_>| self.decode(run, here.as_ref(), deadline, cancelled);
                let column = |runs: &Vec<Run<'_, '_>>| runs.par_iter().map(decode).collect();
                runs.par_iter().map(column).collect::<Result<Vec<Vec<Column>>>>()
            })?;
            parts.iter_mut().zip(decoded).for_each(|(part, columns)| part.extend(columns));
            let next = self.windows.get(number + 1).map(|(_, needed)| needed.as_slice()).unwrap_or_default();
            if let Some(here) = &mut here {
                let key = |(file, range): &(FileIndex, ByteRange)| (*file, range.start);
                here.retain(|place, _| next.binary_search_by_key(place, key).is_ok());
            }
        }
        pool::compute(pool, interrupt, |_| {
            let mut columns = parts.into_par_iter().map(Column::concat).collect::<Result<Vec<_>>>()?;
            self.share_offsets(&mut columns);
            let Some(order) = &self.order else { return Ok(columns) };
            columns.par_iter().map(|column| column.take(order)).collect()
        })
    }

    fn decode(
        &self,
        run: &Run<'_, '_>,
        here: Option<&Baskets>,
        deadline: Deadline,
        cancelled: &AtomicBool,
    ) -> Result<Column> {
        if cancelled.load(Ordering::Relaxed) {
            return Err(pool::interrupted());
        }
        let mut fetched = Baskets::new();
        if here.is_none() {
            for file in run.plan.files() {
                let ranges: Vec<_> = run.plan.ranges(file).collect();
                let bytes = self.tree.fetcher_at(file).fetch_now(&ranges, deadline)?;
                fetched.extend(ranges.iter().map(|range| (file, range.start)).zip(bytes));
            }
        }
        let here = here.unwrap_or(&fetched);
        let bytes = |located: Located<'_>| here.get(&(located.file, located.basket.offset)).cloned();
        let counters = self.tree.file().counters();
        let column = counted(counters, &run.plan, || run.plan.decode(bytes, None, counters))?;
        if run.entries.len() == column.length {
            return Ok(column);
        }
        let index = |entry: &u64| usize::try_from(entry.saturating_sub(run.first)).unwrap_or(usize::MAX);
        column.take(&run.entries.iter().map(index).collect::<Vec<_>>())
    }

    /// Columns that one branch counts have the same offsets: one buffer is enough.
    fn share_offsets(&self, columns: &mut [Column]) {
        let mut of_count: HashMap<usize, Arc<Buffer>> = HashMap::new();
        for (column, wanted) in columns.iter_mut().zip(&self.requests.wanted) {
            let count = interpretation(&self.tree, wanted.branch, None).ok().and_then(|one| one.count_branch);
            if let (Some(count), Form::List(_), Some(own)) = (count, &column.form, column.buffers.first_mut())
            {
                let shared = of_count.entry(count).or_insert_with(|| Arc::clone(own));
                if **shared == **own {
                    *own = Arc::clone(shared);
                }
            }
        }
    }
}

impl std::fmt::Debug for EntryRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EntryRead")
            .field("tree", &self.chosen.tree.path())
            .field("entries", &self.chosen.entries.len())
            .finish_non_exhaustive()
    }
}

/// The entries in order, each once; and, unless they were so before, where each of them went.
fn in_order(entries: &[u64]) -> (Vec<u64>, Option<Vec<usize>>) {
    let mut sorted = entries.to_vec();
    if entries.is_sorted_by(|one, next| one < next) {
        return (sorted, None);
    }
    sorted.sort_unstable();
    sorted.dedup();
    let order = entries.iter().map(|entry| sorted.partition_point(|known| known < entry)).collect();
    (sorted, Some(order))
}

/// The baskets of some plans that lie in files.
fn needed<'p, 't: 'p>(plans: impl Iterator<Item = &'p ColumnPlan<'t>>) -> Needed {
    let located = plans.flat_map(|plan| plan.baskets());
    let mut needed: Needed = located.map(|located| (located.file, located.range())).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// The baskets of a column that hold some of `entries`, which are in order.
fn runs<'t, 'e>(tree: &'t Tree, wanted: &'t Wanted, entries: &'e [u64]) -> Result<Vec<Run<'t, 'e>>> {
    let layout = &interpretation(tree, wanted.branch, wanted.selected.as_deref())?.layout;
    let branch = &tree.branches()[wanted.branch];
    let end = branch.first_entry.saturating_add(branch.entries);
    if let Some(beyond) = entries.last().filter(|last| **last >= end) {
        let message = format!("entry {beyond} is wanted of a branch that has {end}");
        return Err(Error::usage(message).branch(&branch.path));
    }
    let run = |entries: Range<u64>, wanted_entries| {
        let first = entries.start;
        let plan = plan(tree, std::slice::from_ref(wanted), &entries)?.pop();
        let plan = plan.ok_or_else(|| Error::usage("a column was not planned"))?;
        Ok(Run { plan, first, entries: wanted_entries })
    };
    let mut runs = Vec::new();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let after = |basket: &sapwood_ttree::BasketRef| basket.end();
        let from = branch.baskets.partition_point(|basket| after(basket) <= *first);
        let (mut count, mut bytes) = (0, 0);
        // The entries from the begin of the first basket to the end of the last.
        let mut whole = *first..first + 1;
        for basket in branch.baskets.get(from..).unwrap_or_default() {
            let left = rest.get(count..).unwrap_or_default();
            let here = left.partition_point(|entry| *entry < after(basket));
            if here == 0 || (count > 0 && bytes + basket.len > RUN) {
                break;
            }
            whole = whole.start.min(basket.first_entry)..after(basket);
            (count, bytes) = (count + here, bytes + basket.len);
        }
        // An entry that no basket holds is left to be found missing when it is decoded.
        let (here, behind) = rest.split_at(count.max(1));
        let last = here.last().unwrap_or(first);
        // A jagged basket that is cut would be decompressed twice.
        let cut = !matches!(layout, Layout::Jagged { .. });
        let decoded =
            if cut { *first..last + 1 } else { whole.start.max(branch.first_entry)..whole.end.min(end) };
        runs.push(run(decoded, here)?);
        rest = behind;
    }
    if runs.is_empty() {
        runs.push(run(0..0, entries)?);
    }
    Ok(runs)
}
