//! Reading a list of entries. Only the chunks that hold one of them are fetched.

use crate::carried::CarriedChunks;
use crate::chunk_reader::{ChunkReader, FileRanges};
use crate::plan::{
    ColumnAccount, Plan, check_range, fetch_index_now, fetch_missing_now, first_chunks, plan, stored,
};
use crate::queries::{Queries, column_name};
use crate::selection::{Query, Selection};
use crate::table::{Chunk, ChunkBytes, ChunkId, ColumnPlan, Table};
use crate::{pool, recording};
use rayon::ThreadPool;
use rayon::prelude::*;
use sapwood_core::{Buffer, Call, Column, Deadline, Error, Form, Result};
use sapwood_fetch::{Ahead, windows};
use sapwood_source::record::ReadRecording;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Most compressed bytes of a distant source to fetch together, within a quarter of the budget for read-ahead.
const WINDOW: u64 = 32 << 20;
/// Windows to fetch ahead of the one that is decoded.
const AHEAD: usize = 2;
/// Compressed bytes of one column to decode before the wanted entries are picked out.
const RUN: u64 = 4 << 20;

/// A [started](EntryRead::start) read of a list of entries: the bytes of a distant source are in flight.
pub struct EntryRead {
    list: EntryList,
    threads: Option<usize>,
    /// None for a source that never waits.
    chunks: Option<ChunkReader>,
    recorded: Option<ReadRecording>,
}

/// Which entries of which columns.
struct EntryList {
    table: Arc<dyn Table>,
    queries: Queries,
    /// The wanted entries, each once, in order.
    entries: Vec<u64>,
    /// The position in `entries` of each requested entry, unless the request has the same order.
    order: Option<Vec<usize>>,
    /// The entries that are fetched together, and their chunks.
    windows: Vec<(Range<usize>, FileRanges)>,
}

/// Consecutive chunks of a column, and the wanted entries in them.
struct Run<'t, 'e> {
    selection: &'t Selection,
    plan: Plan<'t>,
    /// The chunks of the plan that are needed, once its index chunks are known.
    narrowed: Option<Vec<Chunk>>,
    /// The first entry that is decoded.
    first: u64,
    entries: &'e [u64],
}

impl Run<'_, '_> {
    fn needed(&self) -> &[Chunk] {
        self.narrowed.as_deref().unwrap_or(self.plan.chunks())
    }
}

impl EntryRead {
    /// Starts to read some entries of columns, or of members of the objects in them, in the requested order; entries may
    /// repeat. Only chunks that hold one of the entries are fetched and decompressed. Returns once the bytes of a distant
    /// source are requested.
    ///
    /// `within` is the range that would have been read without the list: the counter `skipped_bytes` adds up the bytes of
    /// its chunks that are not fetched.
    ///
    /// # Errors
    /// As [`read`](crate::read()); `Usage` for an entry outside `within`, or beyond the end of a column.
    /// [`finish`](EntryRead::finish) returns those of fetching and decoding.
    pub fn start<Q: Into<Query> + Clone>(
        table: Arc<dyn Table>,
        queries: &[Q],
        entries: &[u64],
        within: Range<u64>,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<EntryRead> {
        check_range(&*table, &within)?;
        if let Some(outside) = entries.iter().find(|entry| !within.contains(entry)) {
            let message = format!("entry {outside} is not among the entries {within:?}");
            return Err(Error::usage(message).url(table.url()));
        }
        let columns = Queries::new(&*table, queries);
        table.locate(&columns.selections, call)?;
        let recorded = recording::begin("entries", &*table, queries);
        let (entries, order) = in_order(entries);
        let windows = vec![(0..entries.len(), Vec::new())];
        let mut list = EntryList { table, queries: columns, entries, order, windows };
        let chunks = list.start(&within, recorded.as_ref()).map_err(|error| error.url(list.table.url()))?;
        Ok(EntryRead { list, threads, chunks, recorded })
    }

    /// The columns.
    ///
    /// # Errors
    /// Those of the source and of decoding; `Timeout` after the deadline.
    pub fn finish(mut self, call: &mut Call<'_>) -> Result<Vec<Column>> {
        let list = &self.list;
        pool::computing(self.threads)
            .and_then(|pool| {
                let fetcher = list.table.fetcher(0);
                let columns = || list.columns(self.chunks.as_mut(), &pool, call);
                ReadRecording::deliver(self.recorded.as_ref(), fetcher.counters(), columns)
            })
            .and_then(|columns| list.queries.split(&*list.table, &columns))
            .map_err(|error| error.url(list.table.url()))
    }
}

impl EntryList {
    /// Counts the bytes that are skipped, and starts to fetch from a distant source.
    fn start(&mut self, within: &Range<u64>, read: Option<&ReadRecording>) -> Result<Option<ChunkReader>> {
        let table = &*self.table;
        let all_stored = |plans: &mut dyn Iterator<Item = &dyn ColumnPlan>| {
            needed(plans.flat_map(|plan| plan.chunks().iter().filter(|chunk| chunk.is_stored())))
        };
        let all = plan(table, &self.queries.selections, within)?;
        let all = all_stored(&mut all.iter().map(|plan| &**plan));
        let runs = self.runs(&(0..self.entries.len()))?;
        let wanted = all_stored(&mut runs.iter().flatten().map(|run| &*run.plan));
        let span =
            self.entries.first().map_or(0..0, |first| *first..self.entries.last().map_or(0, |last| last + 1));
        recording::range(read, table, runs.iter().flatten().map(|run| &*run.plan), &span);
        let bytes = |needed: &FileRanges| needed.iter().map(|(_, range)| range.len).sum::<u64>();
        let skipped = bytes(&all).saturating_sub(bytes(&wanted));
        let fetcher = table.fetcher(0);
        fetcher.counters().skipped_bytes.add(skipped);
        if fetcher.source().cost_model().immediate {
            return Ok(None);
        }
        let most = WINDOW.min(fetcher.budget().most() / 4).max(1);
        let windows = self.cut(&runs, most)?;
        drop(runs);
        self.windows = windows;
        let ahead = Ahead { jobs: AHEAD, bytes: most.saturating_mul(AHEAD as u64) };
        let batches = self.windows.iter().map(|(_, needed)| needed.clone()).collect();
        let table = Arc::clone(&self.table);
        ChunkReader::new(batches, move |file| table.fetcher(file), ahead).map(Some)
    }

    /// The runs of each column for a part of the entries.
    fn runs(&self, part: &Range<usize>) -> Result<Vec<Vec<Run<'_, '_>>>> {
        let entries = self.entries.get(part.clone()).unwrap_or_default();
        self.queries.selections.iter().map(|selection| runs(&*self.table, selection, entries)).collect()
    }

    /// Windows of whole clusters whose needed chunks have at most `most` bytes.
    fn cut(&self, runs: &[Vec<Run<'_, '_>>], most: u64) -> Result<Vec<(Range<usize>, FileRanges)>> {
        let starts = self.table.cluster_starts();
        let mut bytes = vec![0u64; starts.len().max(1)];
        for chunk in runs.iter().flatten().flat_map(|run| run.plan.chunks()) {
            let cluster = starts.partition_point(|start| *start <= chunk.entries.start).saturating_sub(1);
            bytes[cluster] += chunk.range.len;
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
                let runs = self.runs(&part)?;
                let plans = runs.iter().flatten().map(|run| &*run.plan);
                let wanted = |entries: &Range<u64>| (place(entries.end) - place(entries.start)) as u64;
                let needed = needed(plans.flat_map(|plan| first_chunks(&*self.table, plan, &wanted)));
                Ok((part, needed))
            })
            .collect()
    }

    fn columns(
        &self,
        mut chunks: Option<&mut ChunkReader>,
        pool: &ThreadPool,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        let mut parts: Vec<Vec<Column>> = self.queries.selections.iter().map(|_| Vec::new()).collect();
        let (table, deadline) = (&*self.table, call.deadline());
        // Columns with the same offsets have the same index chunks.
        let indexes = CarriedChunks::default();
        for (window, _) in &self.windows {
            let again = chunks.as_mut().map(|chunks| chunks.next(call)).transpose()?;
            let mut runs = self.runs(window)?;
            if let Some(chunks) = chunks.as_deref_mut() {
                let fetched = chunks.fetched();
                let narrowed = runs.into_iter().map(|runs| narrowed(table, runs, &|id| fetched.get(id)));
                runs = narrowed.collect::<Result<_>>()?;
                let plans = runs.iter().flatten().map(|run| &*run.plan);
                let first = runs.iter().flatten().map(|run| run.first).min().unwrap_or(0);
                let end = runs.iter().flatten().map(|run| run.plan.entries().end).max().unwrap_or(0);
                chunks.fetch_rest(plans, &(first..end), call)?;
            }
            let fetched = chunks.as_deref().map(ChunkReader::fetched);
            let decoded = pool::compute(pool, call, |cancelled| {
                let decode = |run: Run<'_, '_>| match fetched {
                    Some(chunks) => {
                        let is_held = |id| chunks.is_held(id);
                        Ok(vec![self.decode(&run, &|id| chunks.get(id), is_held, cancelled)?])
                    }
                    None => self.decode_now(run, &indexes, deadline, cancelled),
                };
                let column = |runs: Vec<Run<'_, '_>>| {
                    let columns = runs.into_par_iter().map(decode).collect::<Result<Vec<Vec<Column>>>>()?;
                    Ok(columns.into_iter().flatten().collect())
                };
                runs.into_par_iter().map(column).collect::<Result<Vec<Vec<Column>>>>()
            })?;
            parts.iter_mut().zip(decoded).for_each(|(part, columns)| part.extend(columns));
            if let Some((chunks, again)) = chunks.as_mut().zip(again) {
                chunks.release(&again);
            }
        }
        pool::compute(pool, call, |_| {
            let mut columns = parts.into_par_iter().map(Column::concat).collect::<Result<Vec<_>>>()?;
            self.share_offsets(&mut columns);
            let Some(order) = &self.order else { return Ok(columns) };
            columns.par_iter().map(|column| column.take(order.iter().copied())).collect()
        })
    }

    /// The columns of the parts of a run, from sources that never wait.
    fn decode_now(
        &self,
        run: Run<'_, '_>,
        indexes: &CarriedChunks,
        deadline: Deadline,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Column>> {
        let table = &*self.table;
        let own = fetch_index_now(table, &*run.plan, &|id| indexes.get(id), deadline)?;
        for chunk in run.plan.chunks() {
            if let Some(bytes) = own.get(&chunk.id()) {
                indexes.add(table, chunk, bytes, table.fetcher(0).counters());
            }
        }
        let index = |id: ChunkId| indexes.get(id).or_else(|| stored(&own, id));
        let decode = |run: Run<'_, '_>| {
            let fetched = fetch_missing_now(table, run.needed(), &index, deadline)?;
            let is_held = |id| !fetched.contains_key(&id) && !own.contains_key(&id);
            self.decode(&run, &|id| index(id).or_else(|| stored(&fetched, id)), is_held, cancelled)
        };
        narrowed(table, vec![run], &index)?.into_iter().map(decode).collect()
    }

    fn decode(
        &self,
        run: &Run<'_, '_>,
        chunks: ChunkBytes<'_>,
        is_held: impl Fn(ChunkId) -> bool,
        cancelled: &AtomicBool,
    ) -> Result<Column> {
        if cancelled.load(Ordering::Relaxed) {
            return Err(Call::interrupted());
        }
        let fetcher = self.table.fetcher(0);
        let column = ColumnAccount::of(&run.plan, fetcher.counters()).decode(chunks, is_held, None)?;
        if run.entries.len() == column.length {
            return Ok(column);
        }
        let index = |entry: &u64| usize::try_from(entry.saturating_sub(run.first)).unwrap_or(usize::MAX);
        column.take(run.entries.iter().map(index))
    }

    /// Columns with the same count column share one buffer of offsets if theirs are equal.
    fn share_offsets(&self, columns: &mut [Column]) {
        let mut of_count: HashMap<usize, Arc<Buffer>> = HashMap::new();
        for (column, selection) in columns.iter_mut().zip(&self.queries.selections) {
            let count = self.table.schema(selection.column).and_then(|schema| schema.count_column);
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
            .field("table", &self.list.table.path())
            .field("entries", &self.list.entries.len())
            .finish_non_exhaustive()
    }
}

/// The entries in order, each once; and the position of each original entry among them, unless the order is the same.
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

/// The positions of some chunks, in order, each once.
fn needed<'p>(chunks: impl Iterator<Item = &'p Chunk>) -> FileRanges {
    let mut needed: FileRanges = chunks.map(|chunk| (chunk.file, chunk.range)).collect();
    needed.sort_unstable();
    needed.dedup();
    needed
}

/// The chunks of a column that hold some of `entries`, which are in order.
fn runs<'t, 'e>(
    table: &'t dyn Table,
    selection: &'t Selection,
    entries: &'e [u64],
) -> Result<Vec<Run<'t, 'e>>> {
    let run = |range: Range<u64>, entries| {
        let (first, plan) = (range.start, Plan::new(table, selection, &range)?);
        Ok(Run { selection, plan, narrowed: None, first, entries })
    };
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return Ok(vec![run(0..0, entries)?]);
    };
    let all = table.plan(selection, &(*first..last + 1))?;
    if all.entries().end <= *last {
        let message = format!("entry {last} is wanted of a column that has {}", all.entries().end);
        return Err(Error::usage(message).branch(column_name(table, selection.column)));
    }
    let chunks: Vec<&Chunk> = all.chunks().iter().filter(|chunk| !chunk.index).collect();
    let mut runs = Vec::new();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let from = chunks.partition_point(|chunk| chunk.entries.end <= *first);
        // Entries behind the last chunk are in no chunk: a cache holds them.
        let (mut count, mut bytes) = (if from < chunks.len() { 0 } else { rest.len() }, 0);
        // The entries of all chunks of the run.
        let mut whole = *first..first + 1;
        for chunk in chunks.get(from..).unwrap_or_default() {
            let left = rest.get(count..).unwrap_or_default();
            // Entries before a column was added are in no chunk, as are those that a cache holds.
            let unstored = left.partition_point(|entry| *entry < chunk.entries.start);
            if unstored > 0 {
                count += if count == 0 { unstored } else { 0 };
                break;
            }
            let here = left.partition_point(|entry| *entry < chunk.entries.end);
            if here == 0 || (count > 0 && bytes + chunk.range.len > RUN) {
                break;
            }
            whole = whole.start.min(chunk.entries.start)..chunk.entries.end;
            (count, bytes) = (count + here, bytes + chunk.range.len);
        }
        // Decoding reports an entry that no chunk holds.
        let (here, behind) = rest.split_at(count.max(1));
        let last = here.last().unwrap_or(first);
        let wanted = *first..last + 1;
        let whole = whole.start..whole.end.max(wanted.end);
        // If a run covered a part of a chunk only, the chunk would be decompressed again for the next run.
        let run = run(if all.decodes_whole_chunks() { whole } else { wanted }, here)?;
        if run.plan.can_narrow() {
            let chunks = run.plan.chunks().to_vec();
            runs.extend(split(table, run, &chunks)?);
        } else {
            runs.push(run);
        }
        rest = behind;
    }
    Ok(runs)
}

/// Splits a run at chunks that none of its entries needs.
fn split<'t, 'e>(table: &'t dyn Table, run: Run<'t, 'e>, chunks: &[Chunk]) -> Result<Vec<Run<'t, 'e>>> {
    let unneeded = chunks.iter().filter_map(|chunk| {
        let before = run.entries.partition_point(|entry| *entry < chunk.entries.start);
        run.entries.get(before).is_none_or(|entry| *entry >= chunk.entries.end).then_some(before)
    });
    let mut cuts: BTreeSet<usize> = unneeded.collect();
    cuts.extend([0, run.entries.len()]);
    if cuts.len() <= 2 {
        return Ok(vec![run]);
    }
    let parts = cuts.iter().zip(cuts.iter().skip(1)).map(|(from, to)| {
        let entries = run.entries.get(*from..*to).unwrap_or_default();
        let first = entries.first().copied().unwrap_or_default();
        let end = entries.last().map_or(first, |last| last + 1);
        Ok(Run {
            selection: run.selection,
            plan: Plan::new(table, run.selection, &(first..end))?,
            narrowed: None,
            first,
            entries,
        })
    });
    parts.collect()
}

/// Splits runs at chunks that the index shows to be unneeded.
fn narrowed<'t, 'e>(
    table: &'t dyn Table,
    runs: Vec<Run<'t, 'e>>,
    index: ChunkBytes<'_>,
) -> Result<Vec<Run<'t, 'e>>> {
    let mut parts = Vec::with_capacity(runs.len());
    for run in runs {
        match if run.plan.can_narrow() { run.plan.narrow(index, None)? } else { None } {
            Some(chunks) => parts.extend(split(table, run, &chunks)?.into_iter().map(|part| {
                let here = part.plan.entries();
                let is_here =
                    |chunk: &&Chunk| chunk.entries.start < here.end && here.start < chunk.entries.end;
                Run { narrowed: Some(chunks.iter().filter(is_here).cloned().collect()), ..part }
            })),
            None => parts.push(run),
        }
    }
    Ok(parts)
}
