//! Batches of chunks, fetched ahead of their reader from one or more files. A chunk that consecutive batches need is
//! fetched once.

use crate::plan::FetchedChunks;
use crate::pool;
use crate::table::{ChunkId, FileIndex};
use sapwood_core::{ByteRange, Call, Result};
use sapwood_fetch::{Ahead, Fetcher, Job, ReadAhead};
use std::collections::HashSet;

/// The chunks of a batch: where they are.
pub(crate) type Batch = Vec<(FileIndex, ByteRange)>;

/// Fetches batches of chunks ahead of its reader.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    /// What is fetched from each file, batch by batch.
    files: Vec<(FileIndex, ReadAhead<Vec<ByteRange>>)>,
    /// Chunks of each batch, those to come last, that the batch after it needs, too.
    kept: std::vec::IntoIter<HashSet<ChunkId>>,
    fetched: FetchedChunks,
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
        Ok(ChunkReader { files, kept, fetched: FetchedChunks::new() })
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
            self.fetched.extend(ids.zip(bytes));
        }
        Ok(self.kept.next().unwrap_or_default())
    }

    /// What was fetched for the batch.
    pub(crate) fn fetched(&self) -> &FetchedChunks {
        &self.fetched
    }

    /// Forgets all chunks but these.
    pub(crate) fn release(&mut self, kept: &HashSet<ChunkId>) {
        self.fetched.retain(|id, _| kept.contains(id));
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
