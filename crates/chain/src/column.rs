//! A column of events, and its uncompressed baskets.

use bytes::Bytes;
use sapwood_core::{Error, Result};
use sapwood_dataset::BasketForm;
use sapwood_ttree::{BasketRecord, BasketRef, Entries, Interpretation, References, uncompressed_record};

/// A branch.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) path: String,
    /// False if only its sub-branches have entries.
    pub(super) has_data: bool,
    /// How its bytes are decoded, if that is known.
    pub(super) interpretation: Option<Interpretation>,
    /// The form of the baskets made of it.
    pub(super) form: BasketForm,
}

/// A basket after decompression.
#[derive(Debug)]
pub(super) struct PlainBasket {
    pub(super) basket: BasketRef,
    /// Its uncompressed record, or the bytes that the tree's record embeds.
    pub(super) record: Bytes,
    pub(super) entries: Entries,
}

impl PlainBasket {
    pub(super) fn new(basket: BasketRef, bytes: &Bytes, references: &References) -> Result<PlainBasket> {
        let record = if basket.embedded.is_some() { bytes.clone() } else { uncompressed_record(bytes)? };
        let entries = Entries::parse(&record, basket.embedded.is_some(), references)?;
        if entries.len() as u64 != basket.entries {
            let message =
                format!("a basket has {} entries, where the tree says {}", entries.len(), basket.entries);
            return Err(Error::corrupt(message));
        }
        Ok(PlainBasket { basket, record, entries })
    }

    /// A basket whose record was made in place.
    pub(super) fn of_record(column: &Column, first_entry: u64, record: BasketRecord) -> Result<PlainBasket> {
        let (record, entries) = column.form.finish(record)?;
        let (len, count) = (record.len() as u64, entries.len() as u64);
        let basket = BasketRef { first_entry, entries: count, offset: 0, len, embedded: None };
        Ok(PlainBasket { basket, record, entries })
    }
}
