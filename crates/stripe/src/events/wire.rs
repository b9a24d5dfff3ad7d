//! An index of events as an object: blocks of entries, each with its bounds, so that a reader can fetch only
//! some.

use super::{EventId, EventIndex, LumiMask};
use crate::envelope::{Envelope, ObjectKind, seal, unseal};
use crate::wire::{Reader, checksum, put_packed, put_planes, size};
use bytes::Bytes;
use sapwood_core::{ByteRange, Error, ErrorKind, Result};
use std::ops::Range;

/// Entries of a block; the last may have fewer.
const BLOCK: usize = 1 << 16;
/// Bytes of an uncompressed entry.
const WIDTH: usize = 4 + 4 + 8;
/// Bytes of the bounds of a block, its length and its checksum.
const BOUNDS: usize = 2 * WIDTH + 4 + 8;

/// The head of an index of events: where its blocks lie, and their bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventHead {
    /// The blocks, in the order of entries.
    pub blocks: Vec<EventBlock>,
}

/// Some entries of an index of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBlock {
    /// Which.
    pub entries: Range<u64>,
    /// Where they lie in the object.
    pub bytes: ByteRange,
    /// The least of each number.
    pub least: EventId,
    /// The greatest of each number.
    pub greatest: EventId,
    /// XXH64 of the bytes.
    pub checksum: u64,
}

impl EventHead {
    /// Bytes at the beginning of an object that hold the head of an index of this many entries.
    pub fn bytes_needed(entries: u64) -> u64 {
        let blocks = entries.div_ceil(BLOCK as u64);
        (Envelope::LEN as u64 + 12 + 8).saturating_add(blocks.saturating_mul(BOUNDS as u64))
    }

    /// Reads the head of an object that must have as many entries as its segment.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset in the object.
    pub fn parse(object: &[u8], entries: u64) -> Result<EventHead> {
        let envelope = Envelope::parse(object)?;
        if envelope.kind != ObjectKind::Events {
            let message = format!("an object is {}, not an index of events", envelope.kind.name());
            return Err(Error::corrupt(message).at(8));
        }
        let mut reader = Reader::new(object, "an index of events");
        reader.take(Envelope::LEN)?;
        let (has, count) = (reader.u64()?, reader.u32()?);
        let wanted = entries.div_ceil(BLOCK as u64);
        reader.rule(has == entries && u64::from(count) == wanted, || {
            format!("it has {has} entries in {count} blocks, not {entries} in {wanted}")
        })?;
        let mut at = EventHead::bytes_needed(entries);
        let mut blocks = Vec::new();
        for number in 0..u64::from(count) {
            let (least, greatest) = (event(&mut reader)?, event(&mut reader)?);
            let bytes = ByteRange::new(at, u64::from(reader.u32()?))?;
            let checksum = reader.u64()?;
            at = bytes.end();
            let start = number * BLOCK as u64;
            let entries = start..entries.min(start + BLOCK as u64);
            blocks.push(EventBlock { entries, bytes, least, greatest, checksum });
        }
        let head = object.get(Envelope::LEN..reader.place()).unwrap_or_default();
        if reader.u64()? != checksum(head) {
            let message = "the checksum of the head of an index of events does not match";
            return Err(Error::new(ErrorKind::Checksum, message).at(Envelope::LEN as u64));
        }
        let end = Envelope::LEN as u64 + envelope.len;
        reader.rule(at == end, || format!("its blocks end at byte {at}, it at {end}"))?;
        Ok(EventHead { blocks })
    }
}

fn event(reader: &mut Reader<'_>) -> Result<EventId> {
    Ok(EventId { run: reader.u32()?, lumi: reader.u32()?, event: reader.u64()? })
}

fn put_event(out: &mut Vec<u8>, event: EventId) {
    out.extend(event.run.to_le_bytes());
    out.extend(event.lumi.to_le_bytes());
    out.extend(event.event.to_le_bytes());
}

impl EventBlock {
    /// Whether it may contain a luminosity block of a mask: false is certain.
    pub fn may_hold(&self, mask: &LumiMask) -> bool {
        mask.meets(self.least.run..=self.greatest.run, self.least.lumi..=self.greatest.lumi)
    }

    /// Whether it may contain an event: false is certain.
    pub fn may_have(&self, event: EventId) -> bool {
        (self.least.run..=self.greatest.run).contains(&event.run)
            && (self.least.lumi..=self.greatest.lumi).contains(&event.lumi)
            && (self.least.event..=self.greatest.event).contains(&event.event)
    }

    /// Reads its bytes.
    ///
    /// # Errors
    /// As [`EventIndex::decode`]; offsets are those in the object.
    pub fn decode(&self, bytes: &[u8]) -> Result<EventIndex> {
        if checksum(bytes) != self.checksum {
            let message = "the checksum of a block of an index of events does not match";
            return Err(Error::new(ErrorKind::Checksum, message).at(self.bytes.start));
        }
        let count = size(self.entries.end - self.entries.start)?;
        let mut reader = Reader::new(bytes, "a block of an index of events");
        let content = reader.packed(count.saturating_mul(WIDTH));
        let content = content.and_then(|content| reader.end().map(|()| content));
        let content = content.map_err(|error| error.inside(self.bytes.start))?;
        let mut reader = Reader::new(&content, "a block of an index of events");
        let (runs, lumis) = (reader.planes(count, 4)?, reader.planes(count, 4)?);
        let events = reader.planes(count, 8)?;
        reader.end()?;
        EventIndex::new(narrow(&sums(runs)), narrow(&sums(lumis)), sums(events))
    }
}

fn narrow(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().map(|number| *number as u32).collect()
}

/// Differences of consecutive numbers, the negative ones odd: 0, -1, 1, -2 become 0, 1, 2, 3.
fn steps(numbers: &[u64]) -> impl Iterator<Item = u64> + Clone {
    let before = std::iter::once(&0).chain(numbers);
    numbers.iter().zip(before).map(|(number, before)| {
        let step = number.wrapping_sub(*before).cast_signed();
        ((step << 1) ^ (step >> 63)).cast_unsigned()
    })
}

/// The same for 32-bit numbers.
fn steps32(numbers: &[u32]) -> impl Iterator<Item = u64> + Clone {
    let before = std::iter::once(&0).chain(numbers);
    numbers.iter().zip(before).map(|(number, before)| {
        let step = number.wrapping_sub(*before).cast_signed();
        u64::from(((step << 1) ^ (step >> 31)).cast_unsigned())
    })
}

/// The inverse of [`steps`], and of [`steps32`], for which the lowest 32 bits count.
fn sums(mut steps: Vec<u64>) -> Vec<u64> {
    let mut sum = 0u64;
    for step in &mut steps {
        sum = sum.wrapping_add((*step >> 1) ^ (*step & 1).wrapping_neg());
        *step = sum;
    }
    steps
}

impl EventIndex {
    /// The object.
    ///
    /// # Errors
    /// `Limit` if there is not enough memory for the compressor.
    pub fn encode(&self) -> Result<Bytes> {
        let (mut bounds, mut blocks) = (Vec::new(), Vec::new());
        let columns = self.runs.chunks(BLOCK).zip(self.lumis.chunks(BLOCK)).zip(self.events.chunks(BLOCK));
        for ((runs, lumis), events) in columns {
            let least = |numbers: &[u32]| numbers.iter().copied().min().unwrap_or_default();
            let greatest = |numbers: &[u32]| numbers.iter().copied().max().unwrap_or_default();
            let (first, last) = (events.iter().copied().min(), events.iter().copied().max());
            let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
            put_event(&mut bounds, EventId { run: least(runs), lumi: least(lumis), event: first });
            put_event(&mut bounds, EventId { run: greatest(runs), lumi: greatest(lumis), event: last });
            let mut block = Vec::with_capacity(events.len() * WIDTH);
            put_planes(&mut block, 4, steps32(runs));
            put_planes(&mut block, 4, steps32(lumis));
            put_planes(&mut block, 8, steps(events));
            let start = blocks.len();
            put_packed(&mut blocks, &block)?;
            bounds.extend(((blocks.len() - start) as u32).to_le_bytes());
            bounds.extend(checksum(blocks.get(start..).unwrap_or_default()).to_le_bytes());
        }
        let mut content = (self.len() as u64).to_le_bytes().to_vec();
        content.extend((self.len().div_ceil(BLOCK) as u32).to_le_bytes());
        content.extend(bounds);
        content.extend(checksum(&content).to_le_bytes());
        content.extend(blocks);
        Ok(seal(ObjectKind::Events, &content))
    }

    /// Reads a whole object, an index of this many entries.
    ///
    /// # Errors
    /// `Corrupt`, `Truncated`, `Checksum` or `Unsupported`, with the offset in the object.
    pub fn decode(object: &Bytes, entries: u64) -> Result<EventIndex> {
        unseal(ObjectKind::Events, object)?;
        let mut index = EventIndex::default();
        for block in EventHead::parse(object, entries)?.blocks {
            let range = size(block.bytes.start)?..size(block.bytes.end())?;
            let part = block.decode(object.get(range).unwrap_or_default())?;
            index.runs.extend(part.runs);
            index.lumis.extend(part.lumis);
            index.events.extend(part.events);
        }
        EventIndex::new(index.runs, index.lumis, index.events)
    }
}
