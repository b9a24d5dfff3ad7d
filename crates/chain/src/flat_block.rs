//! The format of flat files (`docs/specs/flat.md`): constants, integers, and blocks of events.

use super::column::{Column, PlainBasket, plain_of};
use super::run::Run;
use bytes::Bytes;
use sapwood_codec::{Compression, is_compressed, uncompressed_len, with_decoder, with_encoder};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_stripe::checksum;
use sapwood_ttree::Entries;
use std::sync::{Arc, Mutex, PoisonError};

/// The first bytes of a flat file.
pub(super) const MAGIC: &[u8; 8] = b"\x89SAPPDS\n";
pub(super) const VERSION: u32 = 1;
/// Bytes of the fields before the path of the tree, of a block in the index, and of the trailer.
pub(super) const HEAD: u64 = 24;
pub(super) const BLOCK: usize = 24;
pub(super) const TRAILER: u64 = 24;

/// A column whose entries do not depend on their position.
const PLAIN: u8 = 0;
/// A column whose entries are stored with their original positions.
const PLACED: u8 = 1;
/// A column without entries.
pub(super) const EMPTY: u8 = 2;

pub(super) fn kind(column: &Column) -> u8 {
    match (column.has_data, column.form.references.are_possible()) {
        (false, _) => EMPTY,
        (true, false) => PLAIN,
        (true, true) => PLACED,
    }
}

/// A block as it is stored.
#[derive(Debug)]
pub(super) struct PackedBlock {
    pub(super) stored: Bytes,
    pub(super) len: u32,
    /// Bytes of the entries of each column.
    pub(super) bytes: Vec<u64>,
}

/// Serialized events, and the bytes of each column in them.
pub(super) struct SerialisedEvents {
    content: Vec<u8>,
    bytes: Vec<u64>,
}

/// Joins the entries of all columns, event by event.
pub(super) fn events(columns: &[Column], runs: &[Vec<Run>], events: u64) -> Result<SerialisedEvents> {
    let short = || Error::corrupt("a column has fewer entries than the others");
    let mut cursors: Vec<_> = runs
        .iter()
        .map(|runs| {
            runs.iter().map(Run::entries).flat_map(|(entries, range)| range.map(move |i| (entries, i)))
        })
        .collect();
    let (mut content, mut bytes) = (Vec::new(), vec![0; columns.len()]);
    for _ in 0..events {
        for ((column, cursor), sum) in columns.iter().zip(&mut cursors).zip(&mut bytes) {
            if !column.has_data {
                continue;
            }
            let (entries, index) = cursor.next().ok_or_else(short)?;
            let entry = entries.entry(index);
            let len = u32::try_from(entry.len()).map_err(|_| too_long())?;
            content.extend(len.to_le_bytes());
            if column.form.references.are_possible() {
                let origin = entries.origins(index..index + 1).first().copied().ok_or_else(short)?;
                content.extend(origin.to_le_bytes());
            }
            content.extend_from_slice(entry);
            *sum += u64::from(len);
        }
    }
    Ok(SerialisedEvents { content, bytes })
}

/// Compresses a block.
pub(super) fn pack(events: SerialisedEvents, compression: Compression) -> Result<PackedBlock> {
    let SerialisedEvents { content, bytes } = events;
    let len = u32::try_from(content.len()).map_err(|_| too_long())?;
    let mut payload = Vec::new();
    let smaller = with_encoder(|encoder| encoder.compress(&content, compression, &mut payload))?;
    let stored = if smaller { payload } else { content };
    Ok(PackedBlock { stored: stored.into(), len, bytes })
}

pub(super) fn too_long() -> Error {
    Error::new(ErrorKind::Limit, "a block of events has more than 4 GiB").hint("choose smaller batches")
}

/// The position of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) stored: u32,
    pub(super) len: u32,
    pub(super) checksum: u64,
}

/// The entries of each column; `None` for a column without data.
type Columns = Arc<[Option<Arc<PlainBasket>>]>;

/// A block that several batches may need: the first of them decodes it.
pub(super) struct Block {
    place: BlockPlace,
    first: u64,
    events: u64,
    stored: Bytes,
    url: String,
    columns: Arc<[Column]>,
    plain: Mutex<Option<Columns>>,
}

impl Block {
    pub(super) fn new(
        place: BlockPlace,
        first: u64,
        events: u64,
        stored: Bytes,
        url: &str,
        columns: &Arc<[Column]>,
    ) -> Block {
        let (url, columns) = (url.to_owned(), Arc::clone(columns));
        Block { place, first, events, stored, url, columns, plain: Mutex::new(None) }
    }

    /// The entries of a column as a basket; `None` for a column without data.
    pub(super) fn column(&self, column: usize) -> Result<Option<Arc<PlainBasket>>> {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        let columns = match &*plain {
            Some(columns) => Arc::clone(columns),
            None => {
                let found = self.open().map_err(|error| error.inside(self.place.offset).url(&self.url))?;
                Arc::clone(plain.insert(found.into()))
            }
        };
        Ok(columns.get(column).cloned().flatten())
    }

    fn open(&self) -> Result<Vec<Option<Arc<PlainBasket>>>> {
        if checksum(&self.stored) != self.place.checksum {
            let message = "the checksum of a block of events does not match";
            return Err(Error::new(ErrorKind::Checksum, message));
        }
        let len = self.place.len as usize;
        let content = if is_compressed(len, self.stored.len()) {
            if uncompressed_len(&self.stored, len)? != len {
                return Err(Error::corrupt("the length of a block of events does not match the index"));
            }
            Bytes::from(with_decoder(|decoder| decoder.decode_to_vec(&self.stored, len))?)
        } else {
            self.stored.clone()
        };
        let mut found: Vec<(Vec<u8>, Vec<u32>, Vec<u32>)> = vec![Default::default(); self.columns.len()];
        let mut numbers = Numbers(&content);
        // Without data, a file could claim any number of events.
        let events = if self.columns.iter().any(|column| column.has_data) { self.events } else { 0 };
        for _ in 0..events {
            for (column, (data, starts, origins)) in self.columns.iter().zip(&mut found) {
                if !column.has_data {
                    continue;
                }
                let len = numbers.u32()? as usize;
                let start = u32::try_from(data.len()).map_err(|_| too_long())?;
                let origin = if column.form.references.are_possible() { numbers.u32()? } else { start };
                starts.push(start);
                origins.push(origin);
                data.extend_from_slice(numbers.take(len)?);
            }
        }
        if !numbers.0.is_empty() {
            return Err(Error::corrupt("a block of events has extra bytes"));
        }
        let columns = found.into_iter().zip(&*self.columns).map(|((data, mut starts, origins), column)| {
            if !column.has_data {
                return Ok(None);
            }
            starts.push(u32::try_from(data.len()).map_err(|_| too_long())?);
            let entries = Entries::new(data, starts, origins, &column.form.references)?;
            plain_of(column, self.first, entries).map(|plain| Some(Arc::new(plain)))
        });
        columns.collect()
    }
}

/// A reader of little-endian numbers.
pub(super) struct Numbers<'a>(pub(super) &'a [u8]);

impl<'a> Numbers<'a> {
    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let ends = || Error::new(ErrorKind::Truncated, "a part of the flat file is too short");
        let (taken, rest) = self.0.split_at_checked(len).ok_or_else(ends)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}
