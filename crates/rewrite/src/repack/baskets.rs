//! The bytes of baskets: copied, recompressed, parsed into entries, re-split.

use super::entry_ranges::EntryRanges;
use bytes::Bytes;
use sapwood_codec::{Compression, Search, is_of_stripes, with_encoder};
use sapwood_core::{Error, Result};
use sapwood_ttree::{BasketHeader, BasketRef, Cutter, Entries, NewBasket, References};
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Size of the largest buffer that a thread keeps for the content of its next basket.
const MOST_KEPT: usize = 4 << 20;

/// CPU time in nanoseconds, summed over all threads.
#[derive(Debug, Default)]
pub struct CodecTimes {
    /// Time spent decompressing.
    pub decompress: AtomicU64,
    /// Time spent compressing.
    pub compress: AtomicU64,
}

/// Adds the CPU time of `work` to `sum`.
pub fn timed<T>(sum: &AtomicU64, work: impl FnOnce() -> T) -> T {
    let begin = processor_time();
    let result = work();
    let took = processor_time().saturating_sub(begin);
    sum.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    result
}

/// CPU time of this thread, which does not depend on the load of the machine.
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

/// How baskets are compressed, which depends on their readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BasketEncoding {
    /// As ROOT does.
    Root,
    /// As in stripes, which only sapwood reads.
    Stripe,
}

/// A basket that is ready to be written.
#[derive(Debug)]
pub struct OutputBasket {
    /// First entry in the new tree.
    pub first_entry: u64,
    /// Number of entries.
    pub entries: u64,
    /// The key of its record.
    pub key: OutputKey,
    /// The rest of its record, compressed.
    pub payload: Bytes,
    /// Uncompressed length of the payload.
    pub object_len: usize,
}

impl OutputBasket {
    /// The same basket with a narrow key, if its key is a new one.
    pub fn narrow(self) -> OutputBasket {
        match self.key {
            OutputKey::New(fields) => OutputBasket { key: OutputKey::NewNarrow(fields), ..self },
            key => OutputBasket { key, ..self },
        }
    }
}

/// The key of a basket that is ready to be written.
#[derive(Debug)]
pub enum OutputKey {
    /// The key of the input, followed by the fields of the basket; true if the payload is that of the input, too.
    Copied(Bytes, bool),
    /// A new key; these are the fields that follow it.
    New(Vec<u8>),
    /// A new narrow key; these are the fields that follow it.
    NewNarrow(Vec<u8>),
}

/// A basket with the same entries: copied, or recompressed if that is asked for or ROOT cannot read its compression.
///
/// # Errors
/// `Corrupt` if the basket is broken or does not have the entries that the tree states.
pub fn copy_basket(
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
            "a basket has {} entries, but the tree states {}",
            header.entries, basket.entries
        )));
    }
    let key = record.slice(..header.key_len);
    let stored = record.slice(header.key_len..header.record_len);
    let object_len = header.object_len;
    let ready =
        |payload, key| OutputBasket { first_entry, entries: basket.entries, key, payload, object_len };
    if !recompress && !is_of_stripes(&stored, object_len) {
        return Ok(ready(stored, OutputKey::Copied(key, true)));
    }
    let payload = with_buffer(object_len, |content| {
        timed(&times.decompress, || header.decompress_into(record, content))?;
        compress(content, header.data_len, compression, BasketEncoding::Root, times)
    })?;
    Ok(ready(payload, OutputKey::Copied(key, false)))
}

/// Compresses the content of a basket: `data_len` bytes of entries, then tables. Content that does not become smaller
/// is stored as it is.
fn compress(
    content: &[u8],
    data_len: usize,
    compression: Compression,
    encoding: BasketEncoding,
    times: &CodecTimes,
) -> Result<Bytes> {
    let mut payload = Vec::new();
    let smaller = timed(&times.compress, || {
        with_encoder(|encoder| match encoding {
            BasketEncoding::Root => {
                encoder.compress_basket(Search::default(), content, data_len, compression, &mut payload)
            }
            BasketEncoding::Stripe => encoder.compress_stripe(content, data_len, compression, &mut payload),
        })
    })?;
    Ok(Bytes::copy_from_slice(if smaller { &payload } else { content }))
}

/// Calls `work` with a buffer that this thread keeps: a new one would have to be zeroed for every basket.
fn with_buffer<T>(len: usize, work: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
    thread_local! {
        static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    }
    let mut buffer = BUFFER.take();
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    let result = work(buffer.get_mut(..len).unwrap_or_default());
    if buffer.len() <= MOST_KEPT {
        BUFFER.set(buffer);
    }
    result
}

/// Compresses a new basket. `base` is the first entry of its cutter.
///
/// # Errors
/// Those of the codec.
pub fn encode_basket(
    cut: NewBasket,
    base: u64,
    compression: Compression,
    encoding: BasketEncoding,
    times: &CodecTimes,
) -> Result<OutputBasket> {
    let object_len = cut.content.len();
    Ok(OutputBasket {
        first_entry: base + cut.first_entry,
        entries: cut.entries,
        key: OutputKey::New(cut.fields),
        payload: compress(&cut.content, cut.data_len, compression, encoding, times)?,
        object_len,
    })
}

/// Parses a basket into its entries; `references` are those of its branch.
///
/// # Errors
/// `Corrupt` if the basket is broken or does not have the entries that the tree states; `Unsupported` if its entries
/// cannot be told apart.
pub fn parse_entries(
    basket: &BasketRef,
    bytes: &Bytes,
    references: &References,
    times: &CodecTimes,
) -> Result<Entries> {
    let embedded = basket.embedded.is_some();
    let entries = timed(&times.decompress, || Entries::parse(bytes, embedded, references))?;
    if entries.len() as u64 == basket.entries {
        return Ok(entries);
    }
    Err(Error::corrupt(format!(
        "a basket has {} entries, but the tree states {}",
        entries.len(),
        basket.entries
    )))
}

/// The positions in a basket of the selected entries.
pub fn chosen_positions<'c>(
    basket: &BasketRef,
    chosen: &'c EntryRanges,
) -> impl Iterator<Item = Range<usize>> + 'c {
    let first = basket.first_entry;
    let place = move |entry: u64| usize::try_from(entry - first).unwrap_or(usize::MAX);
    chosen.within(first..first + basket.entries).map(move |range| place(range.start)..place(range.end))
}

/// Where clusters end in the new tree.
#[derive(Debug, Clone)]
pub enum ClusterBorders {
    /// Each has this number of entries.
    Every(u64),
    /// At these entries.
    At(Vec<u64>),
}

impl ClusterBorders {
    /// Index of the cluster that contains an entry.
    pub fn cluster(&self, entry: u64) -> u64 {
        match self {
            ClusterBorders::Every(entries) => entry / entries.max(&1),
            ClusterBorders::At(borders) => borders.partition_point(|&border| border <= entry) as u64,
        }
    }

    /// One past the last entry of the cluster that contains an entry.
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

/// Re-splits the entries of one branch into baskets that end where clusters end.
#[derive(Debug)]
pub struct ClusterCutter {
    /// Splits entries into baskets by size.
    pub cutter: Cutter,
    /// First entry of its first basket in the new tree; entries before it are skipped.
    pub base: u64,
    /// The next entry that it expects.
    pub next: u64,
}

impl ClusterCutter {
    /// Closes the open basket, and skips the entries of one that is kept whole.
    pub fn pass(&mut self, entries: u64, out: &mut Vec<NewBasket>) -> Result<()> {
        out.extend(self.cutter.close()?);
        self.cutter.pass(entries);
        self.next += entries;
        Ok(())
    }

    /// Adds the entries at some positions of a basket; full baskets go to `out`.
    pub fn add(
        &mut self,
        entries: &Entries,
        places: impl Iterator<Item = Range<usize>>,
        borders: &ClusterBorders,
        out: &mut Vec<NewBasket>,
    ) -> Result<()> {
        for range in places {
            let skipped = self.base.saturating_sub(self.next).min(range.len() as u64);
            self.next += skipped;
            let mut from = range.start + usize::try_from(skipped).unwrap_or(usize::MAX);
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
