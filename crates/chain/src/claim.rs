//! The batch that a lane works on. Baskets are decompressed on first use.

use super::column::PlainBasket;
use super::run::BasketEntries;
use super::shared_block::SharedBlock;
use bytes::Bytes;
use sapwood_core::Result;
use sapwood_ttree::{BasketRef, References};
use std::sync::{Arc, Mutex, PoisonError};

/// A batch that a lane works on.
pub(super) struct Claim {
    /// The number of the batch, from 0.
    pub(super) number: u64,
    pub(super) first: u64,
    pub(super) entries: u64,
    /// Bytes that were read for this batch and for no batch before it.
    pub(super) read_bytes: u64,
    pub(super) content: Content,
}

pub(super) enum Content {
    /// The baskets of each column.
    Baskets(Vec<Vec<Arc<SharedBasket>>>),
    Blocks(Vec<Arc<SharedBlock>>),
    Nothing,
}

/// A basket that several batches may need: the first of them decompresses it.
pub(super) struct SharedBasket {
    basket: BasketRef,
    bytes: Bytes,
    references: References,
    plain: Mutex<Option<Arc<PlainBasket>>>,
}

impl Claim {
    /// Decodes its blocks, so that no thread of a column waits for that of another.
    pub(super) fn open(&self) -> Result<()> {
        match &self.content {
            Content::Blocks(blocks) => blocks.iter().try_for_each(|block| block.open()),
            Content::Baskets(_) | Content::Nothing => Ok(()),
        }
    }

    /// The entries of a column, basket by basket. Decompresses baskets on first use.
    pub(super) fn pieces(&self, column: usize) -> Result<Vec<BasketEntries>> {
        let plain: Vec<Arc<PlainBasket>> = match &self.content {
            Content::Nothing => return Ok(Vec::new()),
            Content::Baskets(columns) => {
                let baskets = columns.get(column).map(Vec::as_slice).unwrap_or_default();
                baskets.iter().map(|stored| stored.plain()).collect::<Result<_>>()?
            }
            Content::Blocks(blocks) => {
                let columns = blocks.iter().map(|block| block.column(column)).collect::<Result<Vec<_>>>()?;
                columns.into_iter().flatten().collect()
            }
        };
        let end = self.first + self.entries;
        let pieces = plain.into_iter().map(|plain| {
            let first = plain.basket.first_entry;
            let place = |entry: u64| usize::try_from(entry.saturating_sub(first)).unwrap_or(usize::MAX);
            let range = place(self.first)..place(end).min(plain.entries.len());
            BasketEntries { plain, range }
        });
        Ok(pieces.collect())
    }
}

impl SharedBasket {
    pub(super) fn new(basket: BasketRef, bytes: Bytes, references: References) -> SharedBasket {
        SharedBasket { basket, bytes, references, plain: Mutex::new(None) }
    }

    fn plain(&self) -> Result<Arc<PlainBasket>> {
        let mut plain = self.plain.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plain) = &*plain {
            return Ok(Arc::clone(plain));
        }
        let found = PlainBasket::new(self.basket.clone(), &self.bytes, &self.references).map_err(
            |error| match self.basket.embedded {
                None => error.inside(self.basket.offset),
                Some(_) => error,
            },
        )?;
        Ok(Arc::clone(plain.insert(Arc::new(found))))
    }
}
