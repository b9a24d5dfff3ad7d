//! A table whose chunks are fetched through a source that delays, damages or withholds them, and takes notes.

use super::subject::Subject;
use bytes::Bytes;
use sapwood_core::{BoxFuture, Buffer, ByteRange, Call, Column, Counters, Deadline, Form, Result};
use sapwood_fetch::{Budget, Fetcher};
use sapwood_source::{CostModel, Identity, Source, forward_source};
use sapwood_table::{
    Chunk, ChunkBytes, ChunkContent, ChunkId, ColumnPlan, FileIndex, Selection, Table, forward_table,
};
use std::collections::{BTreeMap, HashMap};
use std::future::pending;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How a table's files are reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Access {
    /// True if reads have to be waited for.
    distant: bool,
    /// True if bytes come from a disk first.
    cold: bool,
    /// True if every read takes a while.
    slow: bool,
    /// Bytes that are cheaper to read than to skip.
    gap: u64,
    /// Bytes that may be fetched ahead.
    budget: u64,
    /// What goes wrong.
    fault: Option<Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// All bits of a byte are flipped.
    Flip(FileIndex, u64),
    /// The file ends at this byte.
    Truncate(FileIndex, u64),
    /// After this many calls, nothing is ever answered.
    Hang(usize),
}

/// How long a slow read takes.
pub(super) const SLOW: Duration = Duration::from_micros(200);

/// Larger than what any of the tables holds.
const LARGE: u64 = 1 << 40;

impl Access {
    /// A source that never waits.
    pub(super) const NEAR: Access =
        Access { distant: false, cold: false, slow: false, gap: 0, budget: LARGE, fault: None };
    /// A local file that is read ahead.
    pub(super) const COLD: Access = Access { cold: true, ..Access::NEAR };
    /// A distant source, of which only what is needed is fetched.
    pub(super) const SPARING: Access = Access { distant: true, ..Access::NEAR };
    /// A distant source, of which more is fetched sooner than less in more round trips.
    pub(super) const GENEROUS: Access = Access { gap: LARGE, ..Access::SPARING };
    /// A distant source with windows of one cluster each.
    pub(super) const NARROW: Access = Access { budget: 1, ..Access::SPARING };

    /// In all ways that are fit for the table.
    pub(super) fn all(table: &dyn Table) -> Vec<Access> {
        let mut all =
            vec![Access::SPARING, Access::GENEROUS, Access::NARROW, Access { gap: LARGE, ..Access::NARROW }];
        if table.fetcher(0).source().cost_model().immediate {
            all.extend([Access::NEAR, Access::COLD]);
        }
        all
    }

    pub(super) fn with(self, fault: Fault) -> Access {
        Access { fault: Some(fault), ..self }
    }

    /// True if reads have to be waited for.
    pub(super) fn is_distant(&self) -> bool {
        self.distant
    }

    /// With reads that take long enough for other threads to get ahead.
    pub(super) fn slow(self) -> Access {
        Access { slow: true, ..self }
    }
}

/// A table that is reached in another way.
#[derive(Debug)]
pub(super) struct ProbedTable {
    table: Arc<dyn Table>,
    access: Access,
    pub(super) counters: Arc<Counters>,
    fetchers: Mutex<BTreeMap<FileIndex, Fetcher>>,
    asked: RequestLog,
    announced: RequestLog,
    /// The chunks that were decompressed, and those that were given to plans as stored: once for each time that a column
    /// was decoded.
    stored: Mutex<Vec<(ChunkId, Bytes)>>,
}

type RequestLog = Arc<Mutex<Vec<(FileIndex, ByteRange)>>>;

impl ProbedTable {
    pub(super) fn new(subject: &Subject, access: Access) -> Arc<ProbedTable> {
        let table = subject.decorated();
        let (counters, fetchers, asked, announced, stored) = Default::default();
        Arc::new(ProbedTable { table, access, counters, fetchers, asked, announced, stored })
    }

    /// The ranges that were asked of the sources, in order.
    pub(super) fn asked(&self) -> Vec<(FileIndex, ByteRange)> {
        let mut asked = lock(&self.asked).clone();
        asked.sort_unstable();
        asked
    }

    /// The ranges that were announced to the sources, in order.
    pub(super) fn announced(&self) -> Vec<(FileIndex, ByteRange)> {
        lock(&self.announced).clone()
    }

    /// How often this chunk was decompressed.
    pub(super) fn decompressions(&self, chunk: &Chunk) -> usize {
        let is_compressed = |stored: &Bytes| self.table.uncompressed_len(chunk, stored).is_some();
        let stored = lock(&self.stored);
        stored.iter().filter(|(id, stored)| *id == chunk.id() && is_compressed(stored)).count()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[deny(clippy::missing_trait_methods)]
impl Table for ProbedTable {
    forward_table!(self => self.table);

    fn fetcher(&self, file: FileIndex) -> Fetcher {
        let mut fetchers = lock(&self.fetchers);
        let fetcher = fetchers.entry(file).or_insert_with(|| {
            let inner = Arc::clone(self.table.fetcher(file).source());
            let mut identity = inner.identity().clone();
            match self.access.fault {
                Some(Fault::Truncate(broken, size)) if broken == file => identity.size = size,
                _ => {}
            }
            let (asked, announced) = (Arc::clone(&self.asked), Arc::clone(&self.announced));
            let (access, calls) = (self.access, AtomicUsize::new(0));
            let source = ProbedSource { inner, identity, file, access, asked, announced, calls };
            Fetcher::new(Arc::new(source), Arc::clone(&self.counters)).with_budget(Budget::new(access.budget))
        });
        fetcher.clone()
    }

    fn plan<'t>(&'t self, selection: &Selection, entries: &Range<u64>) -> Result<Box<dyn ColumnPlan + 't>> {
        Ok(Box::new(ProbedPlan { plan: self.table.plan(selection, entries)?, stored: &self.stored }))
    }

    fn uncompress(&self, chunk: &Chunk, stored: &Bytes) -> Result<Bytes> {
        lock(&self.stored).push((chunk.id(), stored.clone()));
        self.table.uncompress(chunk, stored)
    }

    fn decoded(
        &self,
        selections: &[Selection],
        entries: &Range<u64>,
        columns: Vec<Column>,
        time: Duration,
    ) -> Vec<Column> {
        self.table.decoded(selections, entries, columns, time)
    }
}

/// A plan that takes notes of the chunks that it decompresses.
struct ProbedPlan<'t> {
    plan: Box<dyn ColumnPlan + 't>,
    stored: &'t Mutex<Vec<(ChunkId, Bytes)>>,
}

#[deny(clippy::missing_trait_methods)]
impl ColumnPlan for ProbedPlan<'_> {
    fn entries(&self) -> Range<u64> {
        self.plan.entries()
    }

    fn chunks(&self) -> &[Chunk] {
        self.plan.chunks()
    }

    fn narrow(&self, index: ChunkBytes<'_>, likely: Option<&Arc<Buffer>>) -> Result<Option<Vec<Chunk>>> {
        self.plan.narrow(index, likely)
    }

    fn can_narrow(&self) -> bool {
        self.plan.can_narrow()
    }

    fn decode(
        &self,
        chunks: ChunkBytes<'_>,
        likely: Option<&Arc<Buffer>>,
        counters: &Counters,
    ) -> Result<Column> {
        let given = Mutex::new(HashMap::new());
        let content = |id: ChunkId| {
            let content = chunks(id);
            if let Some(ChunkContent::Stored(bytes)) = &content {
                lock(&given).insert(id, bytes.clone());
            }
            content
        };
        let column = self.plan.decode(&content, likely, counters);
        lock(self.stored).extend(lock(&given).drain());
        column
    }

    fn offsets_key(&self) -> Option<usize> {
        self.plan.offsets_key()
    }

    fn decodes_whole_chunks(&self) -> bool {
        self.plan.decodes_whole_chunks()
    }

    fn counts_bytes(&self) -> bool {
        self.plan.counts_bytes()
    }
}

#[derive(Debug)]
struct ProbedSource {
    inner: Arc<dyn Source>,
    identity: Identity,
    file: FileIndex,
    access: Access,
    asked: RequestLog,
    announced: RequestLog,
    calls: AtomicUsize,
}

#[deny(clippy::missing_trait_methods)]
impl Source for ProbedSource {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn cost_model(&self) -> CostModel {
        CostModel { immediate: !self.access.distant, gap: self.access.gap, ..self.inner.cost_model() }
    }

    fn is_cold(&self, _: &[ByteRange]) -> bool {
        self.access.cold
    }

    fn announce(&self, ranges: &[ByteRange]) {
        lock(&self.announced).extend(ranges.iter().map(|range| (self.file, *range)));
    }

    forward_source!(self => self.inner; checksums);

    fn server(&self) -> Option<String> {
        None
    }

    fn round_trip(&self) -> Option<Duration> {
        None
    }

    fn read_ranges<'a>(
        &'a self,
        ranges: &'a [ByteRange],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<Bytes>>> {
        Box::pin(async move {
            lock(&self.asked).extend(ranges.iter().map(|range| (self.file, *range)));
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            if let Some(Fault::Hang(answered)) = self.access.fault
                && call >= answered
            {
                return pending().await;
            }
            if self.access.slow {
                std::thread::sleep(SLOW);
            }
            if self.access.distant {
                // Whoever waits is seen to wait.
                tokio::task::yield_now().await;
            }
            let mut answers = self.inner.read_ranges(ranges, deadline).await?;
            if let Some(Fault::Flip(file, offset)) = self.access.fault
                && file == self.file
            {
                for (range, answer) in ranges.iter().zip(&mut answers) {
                    flip(answer, offset.checked_sub(range.start));
                }
            }
            Ok(answers)
        })
    }
}

fn flip(bytes: &mut Bytes, index: Option<u64>) {
    let mut flipped = bytes.to_vec();
    if let Some(byte) = index.and_then(|index| flipped.get_mut(usize::try_from(index).ok()?)) {
        *byte = !*byte;
        *bytes = flipped.into();
    }
}
