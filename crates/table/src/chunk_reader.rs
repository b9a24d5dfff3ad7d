//! Reads chunks in batches, ahead of their use, and then the chunks that the index chunks of a batch ask for. A chunk
//! that consecutive batches need is fetched once.

use crate::plan::{FetchedChunks, needed};
use crate::pool;
use crate::table::{Chunk, ChunkContent, ChunkId, ColumnPlan};
use bytes::Bytes;
use sapwood_core::{ByteRange, Call, Result};
use sapwood_fetch::{Ahead, Fetcher, FileIndex, Job, ReadAhead};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// Where some chunks are.
pub(crate) type FileRanges = Vec<(FileIndex, ByteRange)>;

/// Fetches batches of chunks ahead of their use.
#[derive(Debug)]
pub(crate) struct ChunkReader {
    batches: ReadAhead<BatchTag>,
    fetched: BatchChunks,
}

/// The chunks of a batch.
#[derive(Debug)]
struct BatchTag {
    /// Those that are fetched with it.
    fetched: Vec<ChunkId>,
    /// Those that the next batch needs as well.
    kept: HashSet<ChunkId>,
}

/// The chunks in memory.
#[derive(Debug, Default)]
pub(crate) struct BatchChunks {
    /// Those of the current batch.
    batch: FetchedChunks,
    /// Those that index chunks asked for, each with the entries that need it.
    rest: HashMap<ChunkId, (Range<u64>, Bytes)>,
    /// Those that were there before the batch.
    held: HashSet<ChunkId>,
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

    /// True if a chunk was there before the current batch came.
    pub(crate) fn is_held(&self, id: ChunkId) -> bool {
        self.held.contains(&id)
    }

    /// True if a chunk has to be fetched. A chunk of the batch that reaches beyond `entries` is kept for the next.
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
    /// Starts to fetch the first batch.
    ///
    /// # Errors
    /// `Io` if no threads can be started.
    pub(crate) fn new(
        mut batches: Vec<FileRanges>,
        fetcher: impl Fn(FileIndex) -> Fetcher + Send + Sync + 'static,
        ahead: Ahead,
    ) -> Result<ChunkReader> {
        for batch in &mut batches {
            batch.sort_unstable();
            batch.dedup();
        }
        let batches = pool::read_ahead(jobs(&batches), fetcher, ahead)?;
        Ok(ChunkReader { batches, fetched: BatchChunks::default() })
    }

    /// Waits for the next batch. Returns the chunks that the batch after it needs as well; pass them to
    /// [`release`](ChunkReader::release).
    ///
    /// # Errors
    /// Those of fetching; `Timeout` or `Cancelled`.
    pub(crate) fn next(&mut self, call: &mut Call<'_>) -> Result<HashSet<ChunkId>> {
        let Some(batch) = self.batches.next(call) else { return Ok(HashSet::new()) };
        let (tag, bytes) = batch?;
        self.fetched.held = self.fetched.batch.keys().chain(self.fetched.rest.keys()).copied().collect();
        self.fetched.batch.extend(tag.fetched.into_iter().zip(bytes));
        Ok(tag.kept)
    }

    /// Fetches the chunks that the plans for `entries` need beyond the batch, in one round trip.
    ///
    /// # Errors
    /// As [`next`](ChunkReader::next); those of decoding the index chunks.
    pub(crate) fn fetch_rest<'p>(
        &mut self,
        plans: impl IntoIterator<Item = &'p dyn ColumnPlan>,
        entries: &Range<u64>,
        call: &mut Call<'_>,
    ) -> Result<()> {
        let fetched = &mut self.fetched;
        fetched.rest.retain(|_, (here, _)| here.start < entries.end && entries.start < here.end);
        let mut missing: BTreeMap<(FileIndex, ByteRange), Range<u64>> = BTreeMap::new();
        for plan in plans.into_iter().filter(|plan| plan.can_narrow()) {
            let needed = needed(plan, &|id| fetched.get(id), None)?;
            for chunk in needed.iter().filter(|chunk| chunk.is_stored()) {
                if fetched.is_missing(chunk, entries) {
                    let here = &chunk.entries;
                    let all = missing.entry((chunk.file, chunk.range)).or_insert_with(|| here.clone());
                    *all = all.start.min(here.start)..all.end.max(here.end);
                }
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let wanted: FileRanges = missing.keys().copied().collect();
        let chunks = missing.into_iter().zip(self.batches.fetch(&wanted, call)?);
        fetched.rest.extend(chunks.map(|(((file, range), entries), bytes)| {
            (ChunkId { file, offset: range.start }, (entries, bytes))
        }));
        Ok(())
    }

    /// The chunks in memory.
    pub(crate) fn fetched(&self) -> &BatchChunks {
        &self.fetched
    }

    /// Drops all chunks of the batch but these.
    pub(crate) fn release(&mut self, kept: &HashSet<ChunkId>) {
        self.fetched.batch.retain(|id, _| kept.contains(id));
    }
}

/// The chunks to fetch for each batch, without those that the previous batch fetched.
fn jobs(batches: &[FileRanges]) -> Vec<Job<BatchTag>> {
    let id = |(file, range): &(FileIndex, ByteRange)| ChunkId { file: *file, offset: range.start };
    let none = FileRanges::new();
    let jobs = batches.iter().enumerate().map(|(number, batch)| {
        let previous = number.checked_sub(1).and_then(|before| batches.get(before)).unwrap_or(&none);
        let next = batches.get(number + 1).unwrap_or(&none);
        let new = batch.iter().filter(|chunk| previous.binary_search(chunk).is_err());
        let wanted: FileRanges = new.copied().collect();
        let kept = batch.iter().filter(|chunk| next.binary_search(chunk).is_ok());
        Job {
            tag: BatchTag { fetched: wanted.iter().map(id).collect(), kept: kept.map(id).collect() },
            wanted,
        }
    });
    jobs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::ChunkBytes;
    use sapwood_core::{Buffer, Column, Counters, Deadline, ErrorKind};
    use sapwood_source::{DelayedSource, Fault, FaultySource, MemorySource, Source};
    use std::sync::Arc;
    use std::time::Duration;

    /// Two distant files of 100 bytes each, whose bytes are their offsets; the second counts on.
    fn fetcher(counters: &Arc<Counters>) -> impl Fn(FileIndex) -> Fetcher + use<> {
        let counters = Arc::clone(counters);
        move |file| {
            let content: Vec<u8> = (0..100).map(|byte| byte + 100 * file as u8).collect();
            let source = DelayedSource::new(MemorySource::new(content), Duration::ZERO, None);
            Fetcher::new(Arc::new(source), Arc::clone(&counters))
        }
    }

    fn range(start: u64) -> ByteRange {
        ByteRange { start, len: 4 }
    }

    fn id(file: FileIndex, offset: u64) -> ChunkId {
        ChunkId { file, offset }
    }

    fn chunk(start: u64, entries: Range<u64>, index: bool) -> Chunk {
        Chunk { file: 0, range: range(start), entries, uncompressed_bytes: 4, index, shared: false }
    }

    fn reader(batches: Vec<FileRanges>, counters: &Arc<Counters>) -> ChunkReader {
        ChunkReader::new(batches, fetcher(counters), Ahead { jobs: 2, bytes: 1000 }).unwrap()
    }

    fn next(reader: &mut ChunkReader) -> HashSet<ChunkId> {
        reader.next(&mut Call::new(Deadline::default(), &mut || false)).unwrap()
    }

    /// A plan whose chunk at 0 shows which others it needs.
    struct NarrowingPlan(Vec<Chunk>);

    impl ColumnPlan for NarrowingPlan {
        fn entries(&self) -> Range<u64> {
            0..1
        }

        fn chunks(&self) -> &[Chunk] {
            &self.0
        }

        fn can_narrow(&self) -> bool {
            true
        }

        fn narrow(&self, index: ChunkBytes<'_>, _: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
            assert!(index(id(0, 0)).is_some());
            Ok(Some(self.0.clone()))
        }

        fn decode(&self, _: ChunkBytes<'_>, _: Option<&Arc<Buffer>>, _: &Counters) -> Result<Column> {
            unimplemented!("nothing is decoded here")
        }
    }

    #[test]
    fn a_chunk_of_consecutive_batches_is_fetched_once() {
        let counters = Arc::default();
        let batches =
            vec![vec![(0, range(8)), (0, range(0)), (0, range(8))], vec![(0, range(8)), (1, range(4))]];
        let mut reader = reader(batches, &counters);
        let again = next(&mut reader);
        assert_eq!(again, HashSet::from([id(0, 8)]));
        assert_eq!(reader.fetched().stored(id(0, 0)).unwrap()[..], [0, 1, 2, 3]);
        reader.release(&again);
        assert!(reader.fetched().stored(id(0, 0)).is_none());
        assert!(next(&mut reader).is_empty());
        assert_eq!(reader.fetched().stored(id(0, 8)).unwrap()[..], [8, 9, 10, 11]);
        assert_eq!(reader.fetched().stored(id(1, 4)).unwrap()[..], [104, 105, 106, 107]);
        assert_eq!(counters.snapshot().wanted_bytes, 12);
    }

    #[test]
    fn chunks_that_an_index_asks_for_are_fetched_once_and_kept_while_needed() {
        let counters = Arc::default();
        let mut reader = reader(vec![vec![(0, range(0)), (0, range(20))]; 3], &counters);
        let mut rest = |entries: Range<u64>, shown: &[Chunk]| {
            let again = next(&mut reader);
            let plan = NarrowingPlan(shown.to_vec());
            let plans = [&plan as &dyn ColumnPlan, &plan];
            let mut interrupt = || false;
            let mut call = Call::new(Deadline::default(), &mut interrupt);
            reader.fetch_rest(plans, &entries, &mut call).unwrap();
            let known = [0, 20, 40, 60].map(|offset| reader.fetched().get(id(0, offset)).is_some());
            reader.release(&again);
            (known, counters.snapshot().wanted_bytes)
        };
        let (first, reaching) = (chunk(40, 0..10, false), chunk(60, 5..25, false));
        assert_eq!(rest(0..10, &[first, reaching.clone()]), ([true; 4], 16));
        assert_eq!(rest(10..20, &[reaching]), ([true, true, false, true], 16));
        assert_eq!(rest(25..30, &[]), ([true, true, false, false], 16));
    }

    #[test]
    fn an_error_ends_the_batches() {
        let fail = |_| {
            let source =
                FaultySource::new(MemorySource::new([0; 100].to_vec()), [(0, Fault::Fail(ErrorKind::Io))]);
            let source: Arc<dyn Source> = Arc::new(DelayedSource::new(source, Duration::ZERO, None));
            Fetcher::new(source, Arc::default())
        };
        let ahead = Ahead { jobs: 2, bytes: 1000 };
        let mut reader = ChunkReader::new(vec![vec![(0, range(0))]], fail, ahead).unwrap();
        let error = reader.next(&mut Call::new(Deadline::default(), &mut || false)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io);
    }
}
