//! The format of flat files (`docs/specs/flat.md`): constants, integers, and blocks of events.

use super::column::{Column, PlainBasket, plain_of};
use super::flat_split::{split, too_long};
use super::run::Run;
use bytes::Bytes;
use sapwood_codec::{Compression, Search, is_compressed, uncompressed_len, with_decoder, with_encoder};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_stripe::checksum;
use sapwood_ttree::Entries;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

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
    let smaller = with_encoder(|encoder| {
        encoder.compress_basket(Search::default(), &content, content.len(), compression, &mut payload)
    })?;
    let stored = if smaller { payload } else { content };
    Ok(PackedBlock { stored: stored.into(), len, bytes })
}

/// The position of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockPlace {
    pub(super) offset: u64,
    pub(super) stored: u32,
    pub(super) len: u32,
    pub(super) checksum: u64,
}

/// The columns of a block; `None` for a column without data.
type BlockColumns = Arc<[Option<Mutex<BlockColumn>>]>;

/// A column of a block.
enum BlockColumn {
    Entries(Entries),
    Basket(Arc<PlainBasket>),
}

/// A block that several batches may need: the first of them decodes it.
pub(super) struct Block {
    place: BlockPlace,
    first: u64,
    events: u64,
    stored: Bytes,
    url: String,
    columns: Arc<[Column]>,
    split: Mutex<Option<BlockColumns>>,
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
        Block { place, first, events, stored, url, columns, split: Mutex::new(None) }
    }

    /// Decodes the block, unless that was done before.
    pub(super) fn open(&self) -> Result<()> {
        self.opened().map(drop)
    }

    fn opened(&self) -> Result<BlockColumns> {
        let mut split = locked(&self.split);
        if let Some(columns) = &*split {
            return Ok(Arc::clone(columns));
        }
        let found = self.decode().map_err(|error| error.inside(self.place.offset).url(&self.url))?;
        let columns = found.into_iter().map(|entries| Some(Mutex::new(BlockColumn::Entries(entries?))));
        Ok(Arc::clone(split.insert(columns.collect())))
    }

    /// The entries of a column as a basket; `None` for a column without data.
    pub(super) fn column(&self, number: usize) -> Result<Option<Arc<PlainBasket>>> {
        let columns = self.opened()?;
        let (Some(Some(found)), Some(column)) = (columns.get(number), self.columns.get(number)) else {
            return Ok(None);
        };
        let found = &mut *locked(found);
        if let BlockColumn::Entries(entries) = found {
            let basket = plain_of(column, self.first, std::mem::take(entries));
            let basket = basket.map_err(|error| error.inside(self.place.offset).url(&self.url))?;
            *found = BlockColumn::Basket(Arc::new(basket));
        }
        match found {
            BlockColumn::Basket(basket) => Ok(Some(Arc::clone(basket))),
            BlockColumn::Entries(_) => Ok(None),
        }
    }

    /// The entries of each column.
    fn decode(&self) -> Result<Vec<Option<Entries>>> {
        if checksum(&self.stored) != self.place.checksum {
            let message = "the checksum of a block of events does not match";
            return Err(Error::new(ErrorKind::Checksum, message));
        }
        let len = self.place.len as usize;
        if !is_compressed(len, self.stored.len()) {
            return split(&self.stored, &self.columns, self.events);
        }
        if uncompressed_len(&self.stored, len)? != len {
            return Err(Error::corrupt("the length of a block of events does not match the index"));
        }
        let content = with_decoder(|decoder| decoder.decode_to_vec(&self.stored, len))?;
        split(&content, &self.columns, self.events)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
