//! Entry ranges of a distant source, cut into windows that are fetched ahead and decoded as they arrive.

use crate::carried::CarriedChunks;
use crate::chunk_reader::{ChunkReader, FileRanges};
use crate::join::join;
use crate::plan::{ColumnAccount, Plan, first_chunks, in_parallel, plan};
use crate::selection::Selection;
use crate::table::{Chunk, ChunkId, Table};
use crate::{pool, recording};
use rayon::ThreadPool;
use sapwood_core::{Call, Column, Result};
use sapwood_fetch::{Ahead, cut_windows, near_window_bytes, window_bytes};
use sapwood_source::record::ReadRecording;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Entry ranges of a distant source, fetched ahead. A chunk that reaches from one window into the next is fetched once.
#[derive(Debug)]
pub(crate) struct Windows {
    table: Arc<dyn Table>,
    selections: Vec<Selection>,
    /// The windows of each range.
    ranges: std::vec::IntoIter<Vec<Range<u64>>>,
    chunks: ChunkReader,
    carried: CarriedChunks,
}

impl Windows {
    /// Starts to fetch the first window.
    pub(crate) fn new(
        table: Arc<dyn Table>,
        selections: &[Selection],
        ranges: Vec<Range<u64>>,
        read: Option<&ReadRecording>,
    ) -> Result<Windows> {
        // Errors of the queries come before anything is fetched.
        plan(&*table, selections, &(0..0))?;
        let fetcher = table.fetcher(0);
        let most = window_bytes(&fetcher.link(), fetcher.budget().most());
        let wanted = joined(&ranges);
        let wanted = |entries: &Range<u64>| count(&wanted, entries);
        let batch = |plans: &[Plan<'_>]| -> FileRanges {
            let chunks = plans.iter().flat_map(|plan| first_chunks(&*table, &**plan, &wanted));
            chunks.map(|chunk| (chunk.file, chunk.range)).collect()
        };
        // A step is decoded while the next one is in flight; a read in one step is cut into windows to allow that.
        // Joining windows costs almost as much as decoding them, so a step little larger than a window stays whole.
        let (near, largest) = if ranges.len() == 1 { (fetcher.round_trip(), most) } else { (None, 2 * most) };
        let mut batches = Vec::with_capacity(ranges.len());
        let mut cut_ranges = Vec::with_capacity(ranges.len());
        for entries in ranges {
            let plans = plan(&*table, selections, &entries)?;
            recording::range(read, &*table, plans.iter().map(|plan| &**plan), &entries);
            let windows = cut(&*table, &plans, entries, largest, near);
            match windows.as_slice() {
                // A batch without chunks would drop those that the ranges around it share.
                [window] if window.is_empty() => {}
                [_] => batches.push(batch(&plans)),
                windows => {
                    for window in windows {
                        batches.push(batch(&plan(&*table, selections, window)?));
                    }
                }
            }
            cut_ranges.push(windows);
        }
        let ahead = Ahead::of_windows(most, fetcher.round_trip());
        let of_chunks = Arc::clone(&table);
        let chunks = ChunkReader::new(batches, move |file| of_chunks.fetcher(file), ahead)?;
        let (ranges, carried) = (cut_ranges.into_iter(), CarriedChunks::default());
        Ok(Windows { table, selections: selections.to_vec(), ranges, chunks, carried })
    }

    /// True if there is no further range.
    pub(crate) fn is_over(&self) -> bool {
        self.ranges.as_slice().is_empty()
    }

    /// The columns of the next range. Must not be called after an error.
    pub(crate) fn next(&mut self, pool: &ThreadPool, call: &mut Call<'_>) -> Option<Result<Vec<Column>>> {
        let windows = self.ranges.next()?;
        let begin = Instant::now();
        let parts = windows.iter().map(|window| self.columns(window, pool, call));
        let columns = parts.collect::<Result<_>>().and_then(|parts| {
            let entries =
                windows.first().map_or(0, |first| first.start)..windows.last().map_or(0, |last| last.end);
            pool.install(|| {
                let columns = join(parts)?;
                Ok(self.table.decoded(&self.selections, &entries, columns, begin.elapsed()))
            })
        });
        Some(columns.map_err(|error| error.url(self.table.url())))
    }

    fn columns(
        &mut self,
        entries: &Range<u64>,
        pool: &ThreadPool,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        let again = if entries.is_empty() { None } else { Some(self.chunks.next(call)?) };
        let table = &*self.table;
        let plans = plan(table, &self.selections, entries)?;
        if !entries.is_empty() {
            let plans = plans.iter().map(|plan| &**plan);
            self.chunks.fetch_rest(plans, entries, call)?;
        }
        let (chunks, carried) = (self.chunks.fetched(), &self.carried);
        let fetcher = table.fetcher(0);
        let counters = fetcher.counters();
        carried.forget_before(entries.start);
        let columns = pool::compute(pool, call, |cancelled| {
            in_parallel(&plans, cancelled, |plan, likely| {
                let account = ColumnAccount::of(plan, counters);
                let again = |chunk: &&Chunk| again.as_ref().is_some_and(|again| again.contains(&chunk.id()));
                for chunk in plan.chunks().iter().filter(again) {
                    if let Some(bytes) = chunks.stored(chunk.id()) {
                        carried.add(table, chunk, bytes, account.counters());
                    }
                }
                let bytes = |id: ChunkId| carried.get(id).or_else(|| chunks.get(id));
                account.decode(&bytes, |id| chunks.is_held(id), likely)
            })
        })?;
        if let Some(again) = again {
            self.chunks.release(&again);
        }
        Ok(columns)
    }
}

/// The ranges in order, with touching ones merged.
fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<&Range<u64>> = ranges.iter().filter(|range| !range.is_empty()).collect();
    sorted.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range.clone()),
        }
    }
    joined
}

/// How many of the entries lie in the ranges, which are in order.
fn count(ranges: &[Range<u64>], entries: &Range<u64>) -> u64 {
    let first = ranges.partition_point(|range| range.end <= entries.start);
    let here = ranges.iter().skip(first).take_while(|range| range.start < entries.end);
    here.map(|range| range.end.min(entries.end) - range.start.max(entries.start)).sum()
}

/// Windows of whole clusters whose chunks have at most `most` bytes, or fewer if the round trip `near` is short.
fn cut(
    table: &dyn Table,
    plans: &[Plan<'_>],
    entries: Range<u64>,
    most: u64,
    near: Option<Duration>,
) -> Vec<Range<u64>> {
    let chunks = || plans.iter().flat_map(|plan| plan.chunks()).filter(|chunk: &&Chunk| chunk.is_stored());
    let most = near_window_bytes(chunks().map(|chunk| chunk.range.len).sum(), near).min(most);
    let costs = chunks().map(|chunk| (chunk.entries.start, chunk.range.len));
    cut_windows(table.cluster_starts(), costs, most, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_count_once_however_ranges_overlap() {
        let ranges = joined(&[20..30, 0..5, 7..7, 5..10, 25..27]);
        assert_eq!(ranges, [0..10, 20..30]);
        assert_eq!(count(&ranges, &(4..22)), 8);
        assert_eq!([count(&ranges, &(10..20)), count(&ranges, &(30..40)), count(&[], &(0..9))], [0, 0, 0]);
    }
}
