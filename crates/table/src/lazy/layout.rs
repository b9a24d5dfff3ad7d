//! The chunks of a lazy reader's columns, window by window, and their decoding.

use crate::carried::CarriedChunks;
use crate::plan::{ColumnAccount, in_parallel, plan};
use crate::queries::Queries;
use crate::read::{LocalRead, is_partly_cold};
use crate::selection::{Query, Selection};
use crate::table::{ChunkContent, ChunkId, Table};
use crate::{pool, recording};
use bytes::Bytes;
use sapwood_core::{Call, Column, Result};
use sapwood_fetch::Fetcher;
use sapwood_fetch::learn::{ColumnMap, ColumnRange, FetchedColumn};
use sapwood_source::record::ReadRecording;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// The columns and windows of a lazy reader: a column is one query.
#[derive(Debug)]
pub(super) struct LazyLayout {
    pub(super) table: Arc<dyn Table>,
    pub(super) windows: Vec<Range<u64>>,
    columns: Vec<LazyColumn>,
    /// The chunks that reach from one window into the next.
    carried: CarriedChunks,
    recorded: Option<ReadRecording>,
}

/// One query.
#[derive(Debug)]
struct LazyColumn {
    query: Query,
    /// What it reads on its own.
    selections: Vec<Selection>,
    /// True if other queries read the same column.
    shares: bool,
}

impl LazyLayout {
    /// A layout that holds up to `carried_bytes` of decompressed chunks for the next window.
    pub(super) fn new(
        table: Arc<dyn Table>,
        queries: Vec<Query>,
        windows: Vec<Range<u64>>,
        carried_bytes: u64,
    ) -> LazyLayout {
        let (mut once, mut often) = (HashSet::new(), HashSet::new());
        for query in &queries {
            if !once.insert(query.column) {
                often.insert(query.column);
            }
        }
        let recorded = recording::begin("lazy", &*table, &queries);
        let column = |query: Query| {
            let shares = often.contains(&query.column);
            let selections = Queries::new(&*table, std::slice::from_ref(&query)).selections;
            LazyColumn { query, selections, shares }
        };
        let columns = queries.into_iter().map(column).collect();
        LazyLayout { table, windows, columns, carried: CarriedChunks::within(carried_bytes), recorded }
    }

    /// Decodes fetched columns of a window on all threads; a loop is expected to read them in `following` afterwards.
    /// Returns each with its size in bytes.
    pub(super) fn decode(
        &self,
        fetched: &[FetchedColumn],
        window: usize,
        following: Option<usize>,
        threads: Option<usize>,
        call: &mut Call<'_>,
    ) -> Result<Vec<(Column, u64)>> {
        let table = &*self.table;
        let entries = self.windows.get(window).cloned().unwrap_or_default();
        let columns = fetched.iter().filter_map(|fetched| self.columns.get(fetched.column));
        let queries: Vec<Query> = columns.map(|column| column.query.clone()).collect();
        // Members of the same objects are decoded together.
        let queries = Queries::new(table, &queries);
        let selections = &queries.selections;
        let pool = pool::computing(threads)?;
        let fetcher = table.fetcher(0);
        let (carried, next) =
            (&self.carried, self.windows.get(window + 1).map_or(u64::MAX, |next| next.start));
        carried.forget_before(entries.start);
        let columns = if fetcher.source().cost_model().immediate {
            let following = following.and_then(|window| self.windows.get(window));
            let is_cold = |entries: &Range<u64>| is_partly_cold(table, selections, entries);
            let together = selections.len() > 1 && is_cold(&entries)?;
            let local = LocalRead {
                pool: &pool,
                recorded: None,
                carried: Some((carried, next)),
                together,
                next: following.filter(|next| is_cold(next).unwrap_or_default()),
            };
            local.read(table, selections, &entries, call)?
        } else {
            let pieces = fetched.iter().flat_map(|fetched| &fetched.pieces);
            let bytes: HashMap<ChunkId, &Bytes> = pieces
                .map(|((file, range), bytes)| (ChunkId { file: *file, offset: range.start }, bytes))
                .collect();
            let begin = Instant::now();
            let plans = plan(table, selections, &entries)?;
            let decoded = pool::compute(&pool, call, |cancelled| {
                let columns = in_parallel(&plans, cancelled, |plan, likely| {
                    let account = ColumnAccount::of(plan, fetcher.counters());
                    for chunk in plan.chunks().iter().filter(|chunk| chunk.entries.end > next) {
                        if let Some(bytes) = bytes.get(&chunk.id()) {
                            carried.add(table, chunk, bytes, account.counters());
                        }
                    }
                    let stored =
                        |id: ChunkId| bytes.get(&id).map(|bytes| ChunkContent::Stored((*bytes).clone()));
                    let chunk = |id: ChunkId| carried.get(id).or_else(|| stored(id));
                    account.decode(&chunk, |id| !bytes.contains_key(&id), likely)
                })?;
                Ok(table.decoded(selections, &entries, columns, begin.elapsed()))
            });
            decoded.map_err(|error| error.url(table.url()))?
        };
        let sized = |column: Column| {
            let bytes = column.byte_count() as u64;
            (column, bytes)
        };
        Ok(queries.split(table, &columns)?.into_iter().map(sized).collect())
    }
}

impl ColumnMap for LazyLayout {
    fn columns(&self) -> usize {
        self.columns.len()
    }

    fn windows(&self) -> usize {
        self.windows.len()
    }

    /// A column that cannot be planned has no pieces; decoding it reports the error.
    fn pieces(&self, column: usize, window: usize) -> Vec<ColumnRange> {
        let (Some(lazy), Some(entries)) = (self.columns.get(column), self.windows.get(window)) else {
            return Vec::new();
        };
        let plans = plan(&*self.table, &lazy.selections, entries).unwrap_or_default();
        let chunks = plans.iter().flat_map(|plan| plan.chunks()).filter(|chunk| chunk.is_stored());
        let pieces = chunks.map(|chunk| {
            let inside = entries.start <= chunk.entries.start && chunk.entries.end <= entries.end;
            ColumnRange {
                object: chunk.file,
                range: chunk.range,
                shared: lazy.shares || chunk.shared || !inside,
            }
        });
        pieces.collect()
    }

    fn fetcher(&self, object: usize) -> Fetcher {
        self.table.fetcher(object)
    }

    fn recorded(&self) -> Option<&ReadRecording> {
        self.recorded.as_ref()
    }
}
