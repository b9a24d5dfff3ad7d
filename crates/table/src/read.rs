//! Reading an entry range at once.

use crate::carried::CarriedChunks;
use crate::plan::{
    ColumnAccount, FetchedChunks, Plan, check_range, fetch_all_now, fetch_now, in_parallel, narrow_all_now,
    plan, stored,
};
use crate::pool;
use crate::queries::Queries;
use crate::recording;
use crate::selection::{Query, Selection};
use crate::table::{Chunk, ChunkBytes, ChunkContent, ChunkId, Table};
use crate::windows::Windows;
use rayon::ThreadPool;
use sapwood_core::{ByteRange, Call, Column, Deadline, Result};
use sapwood_source::record::ReadRecording;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The entries `entries` of columns, or of members of the objects in them; plain numbers are indices of columns.
///
/// A column with fewer entries than the table is returned shorter. The chunks of a column are read once, however many of
/// its members are requested. `threads` is the number of computing threads; the default is the environment variable
/// `SAPWOOD_THREADS`, or else the number of processors.
///
/// # Errors
/// `Usage` for an entry range or index beyond the table; `Missing` for a member that does not exist; `Unsupported` for
/// a column that cannot be read; those of the source and of decoding, with column, offset and URL.
pub fn read<Q: Into<Query> + Clone>(
    table: &Arc<dyn Table>,
    queries: &[Q],
    entries: Range<u64>,
    threads: Option<usize>,
    call: &mut Call<'_>,
) -> Result<Vec<Column>> {
    check_range(&**table, &entries)?;
    let columns = Queries::new(&**table, queries);
    table.locate(&columns.selections, call)?;
    let read = recording::begin("read", &**table, queries);
    let fetcher = table.fetcher(0);
    let selected = ReadRecording::deliver(read.as_ref(), fetcher.counters(), || {
        let pool = pool::computing(threads)?;
        if is_at_hand(&**table, &columns.selections, &entries)? {
            let local = LocalRead {
                pool: &pool,
                recorded: read.as_ref(),
                carried: None,
                together: false,
                next: None,
            };
            return local.read(&**table, &columns.selections, &entries, call);
        }
        let mut windows = Windows::new(Arc::clone(table), &columns.selections, vec![entries], read.as_ref())?;
        windows.next(&pool, call).unwrap_or_else(|| Ok(Vec::new()))
    })?;
    columns.split(&**table, &selected)
}

/// True if a source never waits, and does not have to get most of these entries from a disk first.
pub(crate) fn is_at_hand(table: &dyn Table, selections: &[Selection], entries: &Range<u64>) -> Result<bool> {
    let source = table.fetcher(0);
    let source = source.source();
    Ok(source.cost_model().immediate && !source.is_cold(&sample(table, selections, entries)?))
}

/// True if some of these entries have to come from a disk first.
pub(crate) fn is_partly_cold(
    table: &dyn Table,
    selections: &[Selection],
    entries: &Range<u64>,
) -> Result<bool> {
    let fetcher = table.fetcher(0);
    let is_cold = |range| fetcher.source().is_cold(&[range]);
    Ok(sample(table, selections, entries)?.into_iter().any(is_cold))
}

/// Some of the chunks of these entries.
fn sample(table: &dyn Table, selections: &[Selection], entries: &Range<u64>) -> Result<Vec<ByteRange>> {
    let some = [selections.first(), selections.get(selections.len() / 2), selections.last()];
    let mut some: Vec<Selection> = some.into_iter().flatten().cloned().collect();
    some.dedup();
    let mut sample = Vec::with_capacity(2 * some.len());
    for plan in plan(table, &some, entries)? {
        let stored: Vec<&Chunk> =
            plan.chunks().iter().filter(|chunk| chunk.is_stored() && chunk.file == 0).collect();
        let two = [stored.first(), stored.get(stored.len() / 2)];
        sample.extend(two.into_iter().flatten().map(|chunk| chunk.range));
    }
    // To look makes the kernel read: at the second look, a range is no longer cold.
    sample.sort_unstable();
    sample.dedup();
    Ok(sample)
}

/// Reads a source that never waits: each column's chunks are read where they are decoded, so that they are still in the
/// processor's cache.
pub(crate) struct LocalRead<'a> {
    pub(crate) pool: &'a ThreadPool,
    pub(crate) recorded: Option<&'a ReadRecording>,
    /// The chunks held from the ranges before, and the first entry of the next range.
    pub(crate) carried: Option<(&'a CarriedChunks, u64)>,
    /// True to read the chunks of all columns first, in the order of the file: a disk is faster at that.
    pub(crate) together: bool,
    /// Entries that are read afterwards, if a disk can begin with them while these are decoded.
    pub(crate) next: Option<&'a Range<u64>>,
}

impl LocalRead<'_> {
    pub(crate) fn read(
        &self,
        table: &dyn Table,
        selections: &[Selection],
        entries: &Range<u64>,
        call: &mut Call<'_>,
    ) -> Result<Vec<Column>> {
        let begin = Instant::now();
        let plans = plan(table, selections, entries)?;
        recording::range(self.recorded, table, plans.iter().map(|plan| &**plan), entries);
        let deadline = call.deadline();
        pool::compute(self.pool, call, |cancelled| {
            let all = self.together.then(|| fetch_all_now(table, &plans, &|id| self.held(id), deadline));
            let all = all.transpose()?;
            if let Some(next) = self.next {
                let known = |id: ChunkId| self.held(id).or_else(|| stored(all.as_ref()?, id));
                // Errors are left to whoever reads what was announced.
                self.announce(table, selections, next, &known, deadline).unwrap_or_default();
            }
            let columns = self.decode(table, &plans, all.as_ref(), deadline, cancelled)?;
            Ok(table.decoded(selections, entries, columns, begin.elapsed()))
        })
        .map_err(|error| error.url(table.url()))
    }

    /// Decodes the columns. Fetches their chunks, except those of `all`.
    fn decode(
        &self,
        table: &dyn Table,
        plans: &[Plan<'_>],
        all: Option<&FetchedChunks>,
        deadline: Deadline,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Column>> {
        let fetcher = table.fetcher(0);
        let held =
            self.carried.map(|(carried, _)| carried.among(plans.iter().flat_map(|plan| plan.chunks())));
        let held = held.unwrap_or_default();
        // Columns with the same offsets have the same index chunks.
        let indexes = Mutex::new(HashMap::new());
        let held = |id: ChunkId| held.get(&id).cloned().or_else(|| lock(&indexes).get(&id).cloned());
        in_parallel(plans, cancelled, |plan, likely| {
            let fetched = match all {
                Some(all) => Cow::Borrowed(all),
                None => Cow::Owned(fetch_now(table, &**plan, &held, likely, deadline)?),
            };
            let account = ColumnAccount::of(plan, fetcher.counters());
            if let Some((carried, next)) = self.carried {
                for chunk in plan.chunks().iter().filter(|chunk| chunk.entries.end > next) {
                    if let Some(bytes) = fetched.get(&chunk.id()) {
                        carried.add(table, chunk, bytes, account.counters());
                    }
                }
            }
            // What has just been decompressed for the next range serves this one, too.
            let own = |id: ChunkId| self.held(id).or_else(|| stored(&fetched, id));
            if likely.is_none() && plan.offsets_key().is_some() {
                let index = plan.chunks().iter().filter(|chunk| chunk.index).map(Chunk::id);
                lock(&indexes).extend(index.filter_map(|id| Some((id, own(id)?))));
            }
            let bytes = |id: ChunkId| held(id).or_else(|| own(id));
            account.decode(&bytes, |id| !fetched.contains_key(&id), likely)
        })
    }

    /// Says that the chunks of some entries will be read soon. Where others say which these are, it reads those first, and
    /// holds them.
    fn announce(
        &self,
        table: &dyn Table,
        selections: &[Selection],
        entries: &Range<u64>,
        known: ChunkBytes<'_>,
        deadline: Deadline,
    ) -> Result<()> {
        let plans = plan(table, selections, entries)?;
        let (mut fetched, needed) = narrow_all_now(table, &plans, known, deadline)?;
        let of_file = needed.iter().filter(|chunk| chunk.is_stored() && chunk.file == 0);
        let mut ranges: Vec<ByteRange> = of_file.map(|chunk| chunk.range).collect();
        ranges.sort_unstable();
        // Columns share index chunks.
        ranges.dedup();
        let fetcher = table.fetcher(0);
        fetcher.source().announce(&ranges);
        let Some((carried, _)) = self.carried else { return Ok(()) };
        for plan in &plans {
            let mut account = ColumnAccount::of(plan, fetcher.counters());
            for chunk in plan.chunks() {
                if let Some(bytes) = fetched.remove(&chunk.id()) {
                    account.add_fetched(chunk);
                    carried.add(table, chunk, &bytes, account.counters());
                }
            }
        }
        Ok(())
    }

    fn held(&self, id: ChunkId) -> Option<ChunkContent> {
        self.carried.and_then(|(carried, _)| carried.get(id))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
