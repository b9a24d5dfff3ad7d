//! What is done with the bytes of baskets.

use super::entry_ranges::EntryRanges;
use bytes::Bytes;
use sapwood_codec::{Compression, Search, is_of_stripes, with_encoder};
use sapwood_core::{Error, Result};
use sapwood_ttree::{BasketHeader, BasketRef, Cutter, Entries, NewBasket, References};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Most bytes that a thread keeps for the content of the next basket.
const KEPT: usize = 4 << 20;

/// Processor time that all threads took together.
#[derive(Debug, Default)]
pub struct CodecTimes {
    /// Of decompression.
    pub decompress: AtomicU64,
    /// Of compression.
    pub compress: AtomicU64,
}

/// Adds the time of `work` to `sum`.
pub fn timed<T>(sum: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let begin = processor_time();
    let result = work();
    let took = processor_time().saturating_sub(begin);
    sum.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    result
}

/// What the processor did for this thread: others on a busy machine do not count.
#[cfg(unix)]
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(not(unix))]
fn processor_time() -> Duration {
    static BEGIN: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    BEGIN.elapsed()
}

/// Who is to read baskets that are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BasketEncoding {
    /// ROOT, and all that read its files.
    Root,
    /// Sapwood alone: they are in stripes.
    Stripe,
}

/// A basket that can be written.
#[derive(Debug)]
pub struct OutputBasket {
    /// First entry in the new tree, and number of entries.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// Its content.
    pub body: OutputKey,
    /// What is stored.
    pub payload: Bytes,
    /// Length of the content before compression.
    pub object_len: usize,
}

impl OutputBasket {
    /// The same behind a narrow key, if its key is made.
    pub fn narrow(self) -> OutputBasket {
        match self.body {
            OutputKey::Made(fields) => OutputBasket { body: OutputKey::MadeNarrow(fields), ..self },
            body => OutputBasket { body, ..self },
        }
    }
}

/// The key of a basket that can be written.
#[derive(Debug)]
pub enum OutputKey {
    /// As it was, with the fields of the basket; true if its payload is as it was, too.
    Copied(Bytes, bool),
    /// The fields behind a key that is made.
    Made(Vec<u8>),
    /// As `Made`, behind a narrow key.
    MadeNarrow(Vec<u8>),
}

/// A basket that keeps its entries: as it is or, if that is wanted or it is one that ROOT does not read, compressed anew.
pub fn whole(
    basket: &BasketRef,
    first_entry: u64,
    record: &Bytes,
    recompress: bool,
    compression: Compression,
    times: &CodecTimes,
) -> Result<OutputBasket> {
    let header = BasketHeader::parse(record)?;
    header.check_record(record)?;
    if header.entries as u64 != basket.entries {
        return Err(Error::corrupt(format!(
            "a basket has {} entries, where the tree says {}",
            header.entries, basket.entries
        )));
    }
    let key = record.slice(..header.key_len);
    let stored = record.slice(header.key_len..header.record_len);
    let object_len = header.object_len;
    let ready = |payload, body| OutputBasket { first_entry, entries: basket.entries, body, payload, object_len };
    if !recompress && !is_of_stripes(&stored, object_len) {
        return Ok(ready(stored, OutputKey::Copied(key, true)));
    }
    let payload = with_room(object_len, |content| {
        timed(&times.decompress, || header.decompress_into(record, content))?;
        compressed(content, header.data_len, compression, BasketEncoding::Root, times)
    })?;
    Ok(ready(payload, OutputKey::Copied(key, false)))
}

/// What is stored of a basket: of entries, and the tables behind these.
fn compressed(
    content: &[u8],
    data_len: usize,
    compression: Compression,
    readers: BasketEncoding,
    times: &CodecTimes,
) -> Result<Bytes> {
    let mut payload = Vec::new();
    let smaller = timed(&times.compress, || {
        with_encoder(|encoder| match readers {
            BasketEncoding::Root => {
                encoder.compress_basket(Search::default(), content, data_len, compression, &mut payload)
            }
            BasketEncoding::Stripe => encoder.compress_stripe(content, data_len, compression, &mut payload),
        })
    })?;
    Ok(Bytes::copy_from_slice(if smaller { &payload } else { content }))
}

/// Calls `work` with so many bytes, which this thread keeps: new ones would have to be cleared for every basket.
fn with_room<T>(len: usize, work: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
    thread_local! {
        static ROOM: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut room = ROOM.take();
    if room.len() < len {
        room.resize(len, 0);
    }
    let result = work(room.get_mut(..len).unwrap_or_default());
    if room.len() <= KEPT {
        ROOM.set(room);
    }
    result
}

/// A basket that was cut, ready to be written. `base` is the entry that the cutter began with.
pub fn made(
    cut: NewBasket,
    base: u64,
    compression: Compression,
    readers: BasketEncoding,
    times: &CodecTimes,
) -> Result<OutputBasket> {
    let object_len = cut.content.len();
    Ok(OutputBasket {
        first_entry: base + cut.first_entry,
        entries: cut.entries,
        body: OutputKey::Made(cut.fields),
        payload: compressed(&cut.content, cut.data_len, compression, readers, times)?,
        object_len,
    })
}

/// Takes a basket apart; `references` are those of its branch.
pub fn entries(basket: &BasketRef, bytes: &Bytes, references: &References, times: &CodecTimes) -> Result<Entries> {
    let embedded = basket.embedded.is_some();
    let entries = timed(&times.decompress, || Entries::parse(bytes, embedded, references))?;
    if entries.len() as u64 == basket.entries {
        return Ok(entries);
    }
    Err(Error::corrupt(format!(
        "a basket has {} entries, where the tree says {}",
        entries.len(),
        basket.entries
    )))
}

/// The places in a basket of the entries that were chosen.
pub fn places<'c>(basket: &BasketRef, chosen: &'c EntryRanges) -> impl Iterator<Item = Range<usize>> + 'c {
    let first = basket.first_entry;
    let place = move |entry: u64| usize::try_from(entry - first).unwrap_or(usize::MAX);
    chosen.within(first..first + basket.entries).map(move |range| place(range.start)..place(range.end))
}

/// Where clusters end in the new tree.
#[derive(Debug, Clone)]
pub enum ClusterBorders {
    /// After so many entries, each.
    Every(u64),
    /// At these entries.
    At(Vec<u64>),
}

impl ClusterBorders {
    /// The cluster that holds an entry.
    pub fn cluster(&self, entry: u64) -> u64 {
        match self {
            ClusterBorders::Every(entries) => entry / entries.max(&1),
            ClusterBorders::At(borders) => borders.partition_point(|&border| border <= entry) as u64,
        }
    }

    /// Where the cluster ends that holds an entry.
    fn end(&self, entry: u64) -> u64 {
        match self {
            ClusterBorders::Every(entries) => (self.cluster(entry) + 1).saturating_mul(*entries.max(&1)),
            ClusterBorders::At(borders) => {
                let next = borders.partition_point(|&border| border <= entry);
                borders.get(next).copied().unwrap_or(u64::MAX)
            }
        }
    }
}

/// Cuts baskets of one branch, cluster by cluster.
#[derive(Debug)]
pub struct ClusterCutter {
    /// What cuts the entries into baskets.
    pub cutter: Cutter,
    /// First entry in the new tree that it cuts, and the next one that is added: one before the first is passed over.
    pub base: u64,
    /// The next entry that it expects.
    pub next: u64,
}

impl ClusterCutter {
    /// Closes the basket before one that is kept whole, with so many entries.
    pub fn pass(&mut self, entries: u64, out: &mut Vec<NewBasket>) -> Result<()> {
        out.extend(self.cutter.close()?);
        self.cutter.pass(entries);
        self.next += entries;
        Ok(())
    }

    /// Adds chosen entries of a basket; those that became full go to `out`.
    pub fn add(
        &mut self,
        entries: &Entries,
        places: impl Iterator<Item = Range<usize>>,
        borders: &ClusterBorders,
        out: &mut Vec<NewBasket>,
    ) -> Result<()> {
        for range in places {
            let passed = self.base.saturating_sub(self.next).min(range.len() as u64);
            self.next += passed;
            let mut from = range.start + usize::try_from(passed).unwrap_or(usize::MAX);
            while from < range.end {
                let end = borders.end(self.next);
                let room = usize::try_from(end - self.next).unwrap_or(usize::MAX);
                let step = room.min(range.end - from);
                self.cutter.add(entries, from..from + step, out)?;
                from += step;
                self.next += step as u64;
                if self.next == end {
                    out.extend(self.cutter.close()?);
                }
            }
        }
        Ok(())
    }
}
