//! Batches of chunks, fetched ahead of their reader from one or more files, and the chunks that these show to be needed.
//! A chunk that consecutive batches need is fetched once.

use crate::plan::{FetchedChunks, needed};
use crate::pool;
use crate::table::{Chunk, ChunkContent, ChunkId, ColumnPlan, FileIndex};
use bytes::Bytes;
use futures::future::try_join_all;
use sapwood_core::{ByteRange, Call, Result};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// The chunks of a batch: where they are.
pub(crate) type Batch = Vec<(FileIndex, ByteRange)>;

/// Fetches batches of chunks ahead of its reader.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    /// What is fetched from each file, batch by batch.
    files: Vec<(FileIndex, ReadAhead<Vec<ByteRange>>)>,
    /// Chunks of each batch, those to come last, that the batch after it needs, too.
    kept: std::vec::IntoIter<HashSet<ChunkId>>,
    fetched: BatchChunks,
}

/// The chunks that are at hand.
#[derive(Debug, Default)]
pub(crate) struct BatchChunks {
    /// Those of the batch.
    batch: FetchedChunks,
    /// Those that others showed to be needed, and the entries that they hold values of.
    rest: HashMap<ChunkId, (Range<u64>, Bytes)>,
}

impl BatchChunks {
    /// A chunk as it is stored.
    pub(crate) fn stored(&self, id: ChunkId) -> Option<&Bytes> {
        self.batch.get(&id).or_else(|| self.rest.get(&id).map(|(_, bytes)| bytes))
    }

    /// A chunk for the plan that needs it.
    pub(crate) fn get(&self, id: ChunkId) -> Option<ChunkContent> {
        self.stored(id).cloned().map(ChunkContent::Stored)
    }

    /// True if a chunk has to be fetched. One of the batch that reaches beyond `entries` stays for the next.
    fn is_missing(&mut self, chunk: &Chunk, entries: &Range<u64>) -> bool {
        let id = chunk.id();
        if !self.rest.contains_key(&id) && chunk.entries.end > entries.end {
            let known = self.batch.get(&id).map(|bytes| (chunk.entries.clone(), bytes.clone()));
            self.rest.extend(known.map(|known| (id, known)));
        }
        self.stored(id).is_none()
    }
}

impl ChunkReader {
    /// Starts with the first batch at once.
    ///
    /// # Errors
    /// `Io` if no threads can be started.
    pub(crate) fn new(
        mut batches: Vec<Batch>,
        fetcher: impl Fn(FileIndex) -> Fetcher,
        ahead: Ahead,
    ) -> Result<ChunkReader> {
        for batch in &mut batches {
            batch.sort_unstable();
            batch.dedup();
        }
        let mut files: Vec<FileIndex> = batches.iter().flatten().map(|(file, _)| *file).collect();
        files.sort_unstable();
        files.dedup();
        let handle = pool::runtime()?;
        let files = files.into_iter().map(|file| {
            let jobs = jobs(&batches, file);
            (file, ReadAhead::new(jobs, fetcher(file), handle.clone(), ahead))
        });
        let (files, kept) = (files.collect(), kept(&batches).into_iter());
        Ok(ChunkReader { files, kept, fetched: BatchChunks::default() })
    }

    /// Waits for the next batch. Returns which of its chunks the batch after it needs, too: the others are forgotten
    /// by [`release`](ChunkReader::release).
    ///
    /// # Errors
    /// Those of fetching; `Timeout` or `Cancelled` as the call says.
    pub(crate) fn next(&mut self, call: &mut Call<'_>) -> Result<HashSet<ChunkId>> {
        for (file, ahead) in &mut self.files {
            let Some(answer) = ahead.next(call.deadline(), call.interrupt()) else { continue };
            let (ranges, bytes) = answer?;
            let ids = ranges.iter().map(|range| ChunkId { file: *file, offset: range.start });
            self.fetched.batch.extend(ids.zip(bytes));
        }
        Ok(self.kept.next().unwrap_or_default())
    }

    /// Fetches what the plans for `entries` need beyond the batch, as its chunks say: all of it in one round trip.
    ///
    /// # Errors
    /// As [`next`](ChunkReader::next); those of decoding the chunks that say what is needed.
    pub(crate) fn fetch_rest<'p>(
        &mut self,
        plans: impl IntoIterator<Item = &'p dyn ColumnPlan>,
        entries: &Range<u64>,
        fetcher: impl Fn(FileIndex) -> Fetcher,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let fetched = &mut self.fetched;
        fetched.rest.retain(|_, (here, _)| here.start < entries.end && entries.start < here.end);
        let mut missing: BTreeMap<(FileIndex, ByteRange), Range<u64>> = BTreeMap::new();
        for plan in plans.into_iter().filter(|plan| plan.can_narrow()) {
            for chunk in needed(plan, &|id| fetched.get(id))? {
                if fetched.is_missing(&chunk, entries) {
                    let here = chunk.entries;
                    let all = missing.entry((chunk.file, chunk.range)).or_insert_with(|| here.clone());
                    *all = all.start.min(here.start)..all.end.max(here.end);
                }
            }
        }
        let mut files: BTreeMap<FileIndex, Vec<ByteRange>> = BTreeMap::new();
        missing.keys().for_each(|(file, range)| files.entry(*file).or_default().push(*range));
        let deadline = call.deadline();
        let files: Vec<_> = files.into_iter().map(|(file, ranges)| (fetcher(file), ranges)).collect();
        if files.is_empty() {
            return Ok(());
        }
        let fetch = files.iter().map(|(fetcher, ranges)| fetcher.fetch(ranges, deadline));
        let bytes = pool::wait(try_join_all(fetch), call)?.into_iter().flatten();
        let chunks = missing.into_iter().zip(bytes);
        fetched.rest.extend(chunks.map(|(((file, range), entries), bytes)| {
            (ChunkId { file, offset: range.start }, (entries, bytes))
        }));
        Ok(())
    }

    /// The chunks that are at hand.
    pub(crate) fn fetched(&self) -> &BatchChunks {
        &self.fetched
    }

    /// Forgets all chunks of the batch but these.
    pub(crate) fn release(&mut self, kept: &HashSet<ChunkId>) {
        self.fetched.batch.retain(|id, _| kept.contains(id));
    }
}

/// What to fetch from a file for each batch, but for what the batch before it fetched.
fn jobs(batches: &[Batch], file: FileIndex) -> Vec<Job<Vec<ByteRange>>> {
    let before = [Vec::new()];
    let pairs = before.iter().chain(batches).zip(batches);
    let jobs = pairs.map(|(before, batch)| {
        let new = batch.iter().filter(|chunk| chunk.0 == file && before.binary_search(chunk).is_err());
        let wanted: Vec<ByteRange> = new.map(|(_, range)| *range).collect();
        Job { tag: wanted.clone(), wanted }
    });
    jobs.collect()
}

/// For each batch, the chunks that the one after it needs, too.
fn kept(batches: &[Batch]) -> Vec<HashSet<ChunkId>> {
    let pairs = batches.windows(2).filter_map(|pair| pair.first().zip(pair.get(1)));
    let kept = pairs.map(|(batch, next)| {
        let both = batch.iter().filter(|chunk| next.binary_search(chunk).is_ok());
        both.map(|(file, range)| ChunkId { file: *file, offset: range.start }).collect()
    });
    kept.collect()
}
