//! A block of a flat file that several batches may need.

use super::column::{Column, PlainBasket};
use super::flat_block::BlockPlace;
use super::flat_split::split;
use bytes::Bytes;
use sapwood_codec::{is_compressed, with_decoder};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_stripe::checksum;
use sapwood_ttree::BasketRecord;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The columns of a block; `None` for a column without data.
type BlockColumns = Arc<[Option<Mutex<BlockColumn>>]>;

/// A column of a block.
enum BlockColumn {
    Entries(BasketRecord),
    Basket(Arc<PlainBasket>),
    /// Its entries do not make a basket.
    Lost,
}

/// What the blocks of a file have in common.
pub(super) struct BlockFormat {
    url: String,
    columns: Vec<Column>,
    /// Memory for the events of blocks, to be used again: new memory would take a tenth of the time.
    rooms: Mutex<Vec<Vec<u8>>>,
}

impl BlockFormat {
    pub(super) fn new(url: &str, columns: &[Column]) -> BlockFormat {
        BlockFormat { url: url.to_owned(), columns: columns.to_vec(), rooms: Mutex::default() }
    }
}

/// A block that several batches may need: the first of them decodes it.
pub(super) struct SharedBlock {
    place: BlockPlace,
    first: u64,
    events: u64,
    stored: Bytes,
    format: Arc<BlockFormat>,
    split: Mutex<Option<BlockColumns>>,
}

impl SharedBlock {
    pub(super) fn new(
        place: BlockPlace,
        first: u64,
        events: u64,
        stored: Bytes,
        format: &Arc<BlockFormat>,
    ) -> SharedBlock {
        SharedBlock { place, first, events, stored, format: Arc::clone(format), split: Mutex::new(None) }
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
        let found = self.decode().map_err(|error| error.inside(self.place.offset).url(&self.format.url))?;
        let columns = found.into_iter().map(|entries| Some(Mutex::new(BlockColumn::Entries(entries?))));
        Ok(Arc::clone(split.insert(columns.collect())))
    }

    /// The entries of a column as a basket; `None` for a column without data.
    pub(super) fn column(&self, number: usize) -> Result<Option<Arc<PlainBasket>>> {
        let columns = self.opened()?;
        let (Some(Some(found)), Some(column)) = (columns.get(number), self.format.columns.get(number)) else {
            return Ok(None);
        };
        let found = &mut *locked(found);
        let basket = match std::mem::replace(found, BlockColumn::Lost) {
            BlockColumn::Basket(basket) => Ok(basket),
            BlockColumn::Entries(entries) => {
                PlainBasket::of_record(column, self.first, entries).map(Arc::new)
            }
            BlockColumn::Lost => Err(Error::corrupt("a column of a block of events is damaged")),
        };
        let basket = basket.map_err(|error| error.inside(self.place.offset).url(&self.format.url))?;
        *found = BlockColumn::Basket(Arc::clone(&basket));
        Ok(Some(basket))
    }

    /// The entries of each column.
    fn decode(&self) -> Result<Vec<Option<BasketRecord>>> {
        if checksum(&self.stored) != self.place.checksum {
            let message = "the checksum of a block of events does not match";
            return Err(Error::new(ErrorKind::Checksum, message));
        }
        let len = self.place.len as usize;
        if !is_compressed(len, self.stored.len()) {
            return split(&self.stored, &self.format.columns, self.events);
        }
        let mut room = locked(&self.format.rooms).pop().unwrap_or_default();
        if with_decoder(|decoder| decoder.decode_over(&self.stored, len, &mut room))? != len {
            return Err(Error::corrupt("the length of a block of events does not match the index"));
        }
        let content = room.get(..len).unwrap_or_default();
        let columns = split(content, &self.format.columns, self.events);
        locked(&self.format.rooms).push(room);
        columns
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
