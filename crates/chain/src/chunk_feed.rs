//! The chunks of a table, batch by batch: each is fetched once, ahead of the first batch that needs it.

use bytes::Bytes;
use sapwood_core::{Call, Error, Result};
use sapwood_fetch::{Ahead, Job, ReadAhead};
use sapwood_table::pool::read_ahead;
use sapwood_table::{Chunk, Table};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Compressed bytes, and batches, to fetch ahead.
const AHEAD: u64 = 32 << 20;
const BATCHES_AHEAD: usize = 64;

/// The chunks that each batch needs.
struct BatchPlan {
    /// Those of each column, in order.
    columns: Vec<Vec<Chunk>>,
    entries: u64,
    batch: u64,
}

impl BatchPlan {
    fn needed(&self, chunks: &[Chunk], batch: u64) -> Range<usize> {
        let first = batch.saturating_mul(self.batch);
        let end = first.saturating_add(self.batch).min(self.entries);
        let from = chunks.partition_point(|chunk| chunk.entries.end <= first);
        from..chunks.partition_point(|chunk| chunk.entries.start < end)
    }

    /// The chunks of a batch that no batch before it needed.
    fn first_needed(&self, chunks: &[Chunk], batch: u64) -> Range<usize> {
        let needed = self.needed(chunks, batch);
        let known = batch.checked_sub(1).map_or(0, |before| self.needed(chunks, before).end);
        needed.start.max(known)..needed.end
    }

    /// The chunks to fetch for a batch, tagged with column and index.
    fn job(&self, batch: u64) -> Job<Vec<(usize, usize)>> {
        let mut job = Job { wanted: Vec::new(), tag: Vec::new() };
        for (place, chunks) in self.columns.iter().enumerate() {
            for index in self.first_needed(chunks, batch) {
                if let Some(chunk) = chunks.get(index).filter(|chunk| chunk.is_stored()) {
                    job.tag.push((place, index));
                    job.wanted.push((chunk.file, chunk.range));
                }
            }
        }
        job
    }
}

/// Delivers the chunks of a table, as what they are made to.
pub(super) struct ChunkFeed<T> {
    plan: Arc<BatchPlan>,
    reader: ReadAhead<Vec<(usize, usize)>>,
    /// For each column, the last chunk of the previous batch, and its index.
    kept: Vec<Option<(usize, Arc<T>)>>,
}

impl<T> ChunkFeed<T> {
    /// Starts to fetch the chunks of the first batches. `columns` are the chunks of each column, in order.
    pub(super) fn new(
        table: Arc<dyn Table>,
        columns: Vec<Vec<Chunk>>,
        entries: u64,
        batch: u64,
    ) -> Result<ChunkFeed<T>> {
        let kept = columns.iter().map(|_| None).collect();
        let plan = Arc::new(BatchPlan { columns, entries, batch });
        let of_jobs = Arc::clone(&plan);
        let jobs = (0..entries.div_ceil(batch)).map(move |batch| of_jobs.job(batch));
        let ahead = Ahead { jobs: BATCHES_AHEAD, bytes: AHEAD };
        Ok(ChunkFeed { plan, reader: read_ahead(jobs, move |file| table.fetcher(file), ahead)?, kept })
    }

    /// The chunks of each column in a batch. `make` gets the column, the chunk, and its bytes, which are empty if the
    /// table already holds them.
    pub(super) fn claim(
        &mut self,
        batch: u64,
        call: &mut Call<'_>,
        mut make: impl FnMut(usize, &Chunk, Bytes) -> Result<T>,
    ) -> Result<Vec<Vec<Arc<T>>>> {
        let lost = || Error::corrupt("a chunk was not fetched");
        let (tags, bytes) = self.reader.next(call).ok_or_else(lost)??;
        let mut fetched: HashMap<(usize, usize), Bytes> = tags.into_iter().zip(bytes).collect();
        let mut columns = Vec::with_capacity(self.plan.columns.len());
        for (place, (chunks, kept)) in self.plan.columns.iter().zip(&mut self.kept).enumerate() {
            let mut made = Vec::new();
            for index in self.plan.needed(chunks, batch) {
                if let Some((_, known)) = kept.as_ref().filter(|(known, _)| *known == index) {
                    made.push(Arc::clone(known));
                    continue;
                }
                let chunk = chunks.get(index).ok_or_else(lost)?;
                let bytes =
                    if chunk.is_stored() { fetched.remove(&(place, index)) } else { Some(Bytes::new()) };
                let new = Arc::new(make(place, chunk, bytes.ok_or_else(lost)?)?);
                *kept = Some((index, Arc::clone(&new)));
                made.push(new);
            }
            columns.push(made);
        }
        Ok(columns)
    }
}
