//! The plans of a read: which chunks its columns need, which of them are fetched first, and parallel decoding.

use crate::pool::largest_first;
use crate::queries::column_name;
use crate::selection::Selection;
use crate::table::{Chunk, ChunkBytes, ChunkContent, ChunkId, ColumnPlan, Table};
use bytes::Bytes;
use rayon::prelude::*;
use sapwood_core::{Buffer, ByteRange, Call, Column, ColumnCost, Counters, Deadline, Error, Result, WORK};
use sapwood_fetch::FileIndex;
use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How to read some entries of a column, and which column it is.
pub(crate) struct Plan<'t> {
    plan: Box<dyn ColumnPlan + 't>,
    table: &'t str,
    column: &'t str,
}

impl<'t> Plan<'t> {
    pub(crate) fn new(table: &'t dyn Table, selection: &Selection, entries: &Range<u64>) -> Result<Plan<'t>> {
        let plan = table.plan(selection, entries)?;
        Ok(Plan { plan, table: table.path(), column: column_name(table, selection.column) })
    }
}

impl<'t> Deref for Plan<'t> {
    type Target = dyn ColumnPlan + 't;

    fn deref(&self) -> &Self::Target {
        &*self.plan
    }
}

/// Counts what decoding a column costs: for the file, and for the column. Both get it when this is dropped.
pub(crate) struct ColumnAccount<'a> {
    plan: &'a Plan<'a>,
    all: &'a Counters,
    own: Counters,
    cost: ColumnCost,
}

impl<'a> ColumnAccount<'a> {
    pub(crate) fn of(plan: &'a Plan<'a>, counters: &'a Counters) -> ColumnAccount<'a> {
        ColumnAccount { plan, all: counters, own: Counters::default(), cost: ColumnCost::default() }
    }

    /// The counters of this column alone.
    pub(crate) fn counters(&self) -> &Counters {
        &self.own
    }

    /// Counts a chunk that was fetched for entries that are decoded later.
    pub(crate) fn add_fetched(&mut self, chunk: &Chunk) {
        self.cost.fetched_bytes += chunk.range.len;
    }

    /// Decodes the column. `is_held` is true for chunks that were fetched with the entries before.
    pub(crate) fn decode(
        mut self,
        chunks: ChunkBytes<'_>,
        is_held: impl Fn(ChunkId) -> bool,
        likely: Option<&Arc<Buffer>>,
    ) -> Result<Column> {
        let column = decode(&**self.plan, chunks, likely, &self.own)?;
        for chunk in
            self.plan.chunks().iter().filter(|chunk| chunk.is_stored() && chunks(chunk.id()).is_some())
        {
            self.cost.wanted_bytes += chunk.range.len;
            if !is_held(chunk.id()) {
                self.cost.fetched_bytes += chunk.range.len;
            }
        }
        Ok(column)
    }
}

impl Drop for ColumnAccount<'_> {
    fn drop(&mut self) {
        let counted = self.own.snapshot();
        let cost = ColumnCost {
            baskets: counted.baskets,
            decompressed_bytes: counted.decompressed_bytes,
            decompress_ns: counted.decompress_ns,
            decode_ns: counted.decode_ns,
            ..self.cost
        };
        self.all.add(&counted);
        WORK.decompress.add(counted.decompress_ns);
        WORK.decode.add(counted.decode_ns);
        self.all.columns.add(self.plan.table, self.plan.column, &cost);
    }
}

/// Chunks and their bytes.
pub(crate) type FetchedChunks = HashMap<ChunkId, Bytes>;

/// Checks that an entry range lies in the table.
pub(crate) fn check_range(table: &dyn Table, entries: &Range<u64>) -> Result<()> {
    if entries.start <= entries.end && entries.end <= table.entries() {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the entries {} to {} are not in the tree, which has {}",
        entries.start,
        entries.end,
        table.entries()
    ))
    .url(table.url()))
}

/// The plans of columns for the entries `entries`.
pub(crate) fn plan<'t>(
    table: &'t dyn Table,
    selections: &[Selection],
    entries: &Range<u64>,
) -> Result<Vec<Plan<'t>>> {
    let plans = selections.iter().map(|selection| Plan::new(table, selection, entries));
    plans.collect::<Result<_>>().map_err(|error| error.url(table.url()))
}

/// Decodes a column and counts its bytes.
pub(crate) fn decode(
    plan: &dyn ColumnPlan,
    chunks: ChunkBytes<'_>,
    likely: Option<&Arc<Buffer>>,
    counters: &Counters,
) -> Result<Column> {
    let column = plan.decode(chunks, likely, counters)?;
    if !plan.counts_bytes() {
        counters.decompressed_bytes.add(column.byte_count() as u64);
    }
    Ok(column)
}

/// Counts how many entries of a range a read wants.
pub(crate) type CountWanted<'a> = &'a dyn Fn(&Range<u64>) -> u64;

/// The chunks to fetch first for a plan: all of them, or only the index chunks, if fetching unneeded chunks could take
/// longer than another round trip.
pub(crate) fn first_chunks<'p>(
    table: &dyn Table,
    plan: &'p dyn ColumnPlan,
    wanted: CountWanted<'_>,
) -> impl Iterator<Item = &'p Chunk> + use<'p> {
    let narrows = narrows(table, plan, wanted);
    plan.chunks().iter().filter(move |chunk| chunk.is_stored() && (chunk.index || !narrows))
}

fn narrows(table: &dyn Table, plan: &dyn ColumnPlan, wanted: CountWanted<'_>) -> bool {
    if !plan.can_narrow() {
        return false;
    }
    let mut waste = 0_u64;
    for chunk in plan.chunks().iter().filter(|chunk| !chunk.index && chunk.is_stored()) {
        let all = (chunk.entries.end - chunk.entries.start).max(1);
        let unwanted = u128::from(chunk.range.len) * u128::from(all - wanted(&chunk.entries).min(all));
        waste = waste.saturating_add(u64::try_from(unwanted / u128::from(all)).unwrap_or(u64::MAX));
    }
    let fetcher = table.fetcher(0);
    let worth_a_round_trip =
        fetcher.link().bytes_in_flight().unwrap_or(0).max(fetcher.source().cost_model().gap);
    waste > worth_a_round_trip
}

/// Fetches the chunks of a plan from sources that never wait, except those that are `held`. The `likely` offsets are those
/// of [`narrow`](ColumnPlan::narrow).
pub(crate) fn fetch_now(
    table: &dyn Table,
    plan: &dyn ColumnPlan,
    held: ChunkBytes<'_>,
    likely: Option<&Arc<Buffer>>,
    deadline: Deadline,
) -> Result<FetchedChunks> {
    let mut fetched = fetch_index_now(table, plan, held, deadline)?;
    let known = |id: ChunkId| held(id).or_else(|| stored(&fetched, id));
    let needed = needed(plan, &known, likely)?;
    let rest = fetch_missing_now(table, &*needed, &known, deadline)?;
    fetched.extend(rest);
    Ok(fetched)
}

/// Fetches the chunks that several plans need, together, except those that are `held`.
pub(crate) fn fetch_all_now(
    table: &dyn Table,
    plans: &[Plan<'_>],
    held: ChunkBytes<'_>,
    deadline: Deadline,
) -> Result<FetchedChunks> {
    let (mut fetched, needed) = narrow_all_now(table, plans, held, deadline)?;
    let known = |id: ChunkId| held(id).or_else(|| stored(&fetched, id));
    let rest = fetch_missing_now(table, &needed, &known, deadline)?;
    fetched.extend(rest);
    Ok(fetched)
}

/// Fetches the index chunks of the plans that could do without some of their chunks, except those that are `held`, and
/// returns them with the chunks that all the plans need.
pub(crate) fn narrow_all_now(
    table: &dyn Table,
    plans: &[Plan<'_>],
    held: ChunkBytes<'_>,
    deadline: Deadline,
) -> Result<(FetchedChunks, Vec<Chunk>)> {
    let in_doubt = plans.iter().filter(|plan| is_in_doubt(&***plan));
    let index = in_doubt.flat_map(|plan| plan.chunks()).filter(|chunk| chunk.index);
    let fetched = fetch_missing_now(table, index, held, deadline)?;
    let known = |id: ChunkId| held(id).or_else(|| stored(&fetched, id));
    let mut all = Vec::new();
    for plan in plans {
        all.extend(needed(&**plan, &known, None)?.into_owned());
    }
    Ok((fetched, all))
}

/// Fetches the index chunks of a plan that can narrow, except those that are `held`.
pub(crate) fn fetch_index_now(
    table: &dyn Table,
    plan: &dyn ColumnPlan,
    held: ChunkBytes<'_>,
    deadline: Deadline,
) -> Result<FetchedChunks> {
    let narrows = plan.can_narrow();
    let index = plan.chunks().iter().filter(|chunk| narrows && chunk.index);
    fetch_missing_now(table, index, held, deadline)
}

/// Fetches the chunks that have to be fetched from sources that never wait, except those that are `held`.
pub(crate) fn fetch_missing_now<'p>(
    table: &dyn Table,
    chunks: impl IntoIterator<Item = &'p Chunk>,
    held: ChunkBytes<'_>,
    deadline: Deadline,
) -> Result<FetchedChunks> {
    let mut files: BTreeMap<FileIndex, Vec<ByteRange>> = BTreeMap::new();
    for chunk in chunks.into_iter().filter(|chunk| chunk.is_stored() && held(chunk.id()).is_none()) {
        files.entry(chunk.file).or_default().push(chunk.range);
    }
    let mut fetched = FetchedChunks::new();
    for (file, mut ranges) in files {
        ranges.sort_unstable();
        ranges.dedup();
        let bytes = table.fetcher(file).fetch_now(&ranges, deadline)?;
        let ids = ranges.iter().map(|range| ChunkId { file, offset: range.start });
        fetched.extend(ids.zip(bytes));
    }
    Ok(fetched)
}

/// A chunk that was fetched.
pub(crate) fn stored(fetched: &FetchedChunks, id: ChunkId) -> Option<ChunkContent> {
    fetched.get(&id).cloned().map(ChunkContent::Stored)
}

/// The chunks that a plan needs, according to its index chunks. Chunks that hold no other entries are needed anyway.
pub(crate) fn needed<'p>(
    plan: &'p dyn ColumnPlan,
    index: ChunkBytes<'_>,
    likely: Option<&Arc<Buffer>>,
) -> Result<Cow<'p, [Chunk]>> {
    let narrowed = if is_in_doubt(plan) { plan.narrow(index, likely)? } else { None };
    Ok(narrowed.map_or(Cow::Borrowed(plan.chunks()), Cow::Owned))
}

/// True if a plan could do without some of its chunks, according to its index chunks.
fn is_in_doubt(plan: &dyn ColumnPlan) -> bool {
    let all = plan.entries();
    let reaches_out = |chunk: &Chunk| chunk.entries.start < all.start || all.end < chunk.entries.end;
    plan.can_narrow() && plan.chunks().iter().any(|chunk| !chunk.index && reaches_out(chunk))
}

/// Runs `work` for each plan on the threads of the current pool, until `cancelled` is set.
///
/// Columns with the same offsets key usually have the same offsets: they are decoded after the first of them, and
/// `work` gets its offsets. The groups of such columns with the most bytes in their files are begun first.
pub(crate) fn in_parallel<'t>(
    plans: &[Plan<'t>],
    cancelled: &AtomicBool,
    work: impl Fn(&Plan<'t>, Option<&Arc<Buffer>>) -> Result<Column> + Sync,
) -> Result<Vec<Column>> {
    let work = |plan: &Plan<'t>, likely: Option<&Arc<Buffer>>| {
        if cancelled.load(Ordering::Relaxed) { Err(Call::interrupted()) } else { work(plan, likely) }
    };
    let stored_bytes = |group: &Vec<usize>| {
        let chunks = group.iter().flat_map(|index| plans[*index].chunks());
        chunks.map(|chunk| chunk.range.len).fold(0, u64::saturating_add)
    };
    let decoded = largest_first(by_offsets(plans), stored_bytes, |group| {
        let Some((first, others)) = group.split_first() else { return Ok(Vec::new()) };
        let column = work(&plans[*first], None)?;
        let likely = column.buffers.first().cloned();
        let others = others.par_iter().map(|index| Ok((*index, work(&plans[*index], likely.as_ref())?)));
        let mut columns = others.collect::<Result<Vec<(usize, Column)>>>()?;
        columns.push((*first, column));
        Ok(columns)
    })?;
    let mut columns: Vec<(usize, Column)> = decoded.into_iter().flatten().collect();
    columns.sort_unstable_by_key(|(index, _)| *index);
    Ok(columns.into_iter().map(|(_, column)| column).collect())
}

/// Groups the indices of plans by their offsets keys.
fn by_offsets(plans: &[Plan<'_>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut of_key: HashMap<usize, usize> = HashMap::new();
    for (index, plan) in plans.iter().enumerate() {
        match plan.offsets_key() {
            Some(key) => match of_key.entry(key) {
                Entry::Occupied(group) => groups[*group.get()].push(index),
                Entry::Vacant(free) => {
                    free.insert(groups.len());
                    groups.push(vec![index]);
                }
            },
            None => groups.push(vec![index]),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::ThreadPoolBuilder;
    use sapwood_core::{Form, Primitive};

    /// A plan of chunks at these offsets, which needs only those that are index chunks if it may narrow.
    struct Stub {
        key: Option<usize>,
        chunks: Vec<Chunk>,
        narrows: bool,
    }

    impl ColumnPlan for Stub {
        fn entries(&self) -> Range<u64> {
            0..10
        }

        fn chunks(&self) -> &[Chunk] {
            &self.chunks
        }

        fn can_narrow(&self) -> bool {
            self.narrows
        }

        fn narrow(&self, _: ChunkBytes<'_>, _: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
            Ok(Some(self.chunks.iter().filter(|chunk| chunk.index).cloned().collect()))
        }

        fn decode(&self, _: ChunkBytes<'_>, _: Option<&Arc<Buffer>>, _: &Counters) -> Result<Column> {
            unimplemented!("nothing is decoded here")
        }

        fn offsets_key(&self) -> Option<usize> {
            self.key
        }
    }

    fn chunk(start: u64, len: u64, index: bool) -> Chunk {
        let range = ByteRange { start, len };
        Chunk { file: 0, range, entries: 0..20, uncompressed_bytes: len, index, shared: false }
    }

    #[test]
    fn a_plan_needs_all_chunks_unless_it_narrows() {
        let chunks = vec![chunk(0, 4, true), chunk(8, 4, false)];
        let offsets = |narrows| -> Vec<u64> {
            let plan = Stub { key: None, chunks: chunks.clone(), narrows };
            needed(&plan, &|_| None, None).unwrap().iter().map(|chunk| chunk.range.start).collect()
        };
        assert_eq!(offsets(false), [0, 8]);
        assert_eq!(offsets(true), [0]);
    }

    #[test]
    fn columns_come_in_the_order_of_plans_and_share_the_offsets_of_the_first_of_their_key() {
        let keys = [Some(1), None, Some(2), Some(1)];
        let plans: Vec<Plan<'_>> = keys
            .iter()
            .map(|key| {
                let plan = Box::new(Stub { key: *key, chunks: Vec::new(), narrows: false });
                Plan { plan, table: "t", column: "c" }
            })
            .collect();
        let work = |plan: &Plan<'_>, likely: Option<&Arc<Buffer>>| {
            let key = plan.offsets_key().unwrap_or(0) as u8;
            let buffer = likely.cloned().unwrap_or_else(|| Arc::new(Buffer::from_slice(&[key])));
            Ok(Column { form: Form::Primitive(Primitive::U8), length: 1, buffers: vec![buffer] })
        };
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let columns = pool.install(|| in_parallel(&plans, &AtomicBool::new(false), work)).unwrap();
        let values: Vec<u8> = columns.iter().map(|column| column.buffers[0].as_bytes()[0]).collect();
        assert_eq!(values, [1, 0, 2, 1]);
        assert!(Arc::ptr_eq(&columns[0].buffers[0], &columns[3].buffers[0]));
        let cancelled = pool.install(|| in_parallel(&plans, &AtomicBool::new(true), work)).unwrap_err();
        assert_eq!(cancelled.kind(), sapwood_core::ErrorKind::Cancelled);
    }

    #[test]
    fn the_groups_of_columns_with_the_most_bytes_are_begun_first() {
        let plans: Vec<Plan<'_>> = [(Some(1), 8), (None, 12), (None, 9), (Some(1), 8)]
            .into_iter()
            .map(|(key, len)| {
                let plan = Box::new(Stub { key, chunks: vec![chunk(0, len, false)], narrows: false });
                Plan { plan, table: "t", column: "c" }
            })
            .collect();
        let begun = std::sync::Mutex::new(Vec::new());
        let work = |plan: &Plan<'_>, _: Option<&Arc<Buffer>>| {
            begun.lock().unwrap().push(plan.chunks()[0].range.len);
            Ok(Column { form: Form::Primitive(Primitive::U8), length: 0, buffers: Vec::new() })
        };
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let columns = pool.install(|| in_parallel(&plans, &AtomicBool::new(false), work)).unwrap();
        assert_eq!(columns.len(), 4);
        assert_eq!(begun.into_inner().unwrap(), [8, 8, 12, 9]);
    }
}
