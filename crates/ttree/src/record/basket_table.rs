//! Locates the baskets of a branch: `fBasketSeek`, `fBasketBytes`, `fBasketEntry`, and baskets inside the
//! record.

use crate::basket::BasketHeader;
use crate::meta::BasketRef;
use bytes::Bytes;
use sapwood_core::{ByteRange, Error, Result};
use sapwood_tfile::Cursor;

/// An array of big-endian integers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum IntegerArray<'a> {
    /// The array is not on file.
    #[default]
    Absent,
    /// Four bytes each.
    Int(&'a [u8]),
    /// Eight bytes each.
    Long(&'a [u8]),
}

impl<'a> IntegerArray<'a> {
    /// Reads `count` integers, with eight bytes each if `long`.
    pub(super) fn read(cursor: &mut Cursor<'a>, count: usize, long: bool) -> Result<Self> {
        let size = if long { 8 } else { 4 };
        let bytes = cursor.bytes(count.saturating_mul(size))?;
        Ok(if long { IntegerArray::Long(bytes) } else { IntegerArray::Int(bytes) })
    }

    /// Number of integers.
    fn len(self) -> usize {
        match self {
            IntegerArray::Absent => 0,
            IntegerArray::Int(bytes) => bytes.len() / 4,
            IntegerArray::Long(bytes) => bytes.len() / 8,
        }
    }

    /// The value at `index`, if it exists.
    #[inline]
    pub(super) fn get(self, index: usize) -> Option<i64> {
        match self {
            IntegerArray::Absent => None,
            IntegerArray::Int(bytes) => {
                bytes.get(index.checked_mul(4)?..)?.first_chunk().map(|b| i64::from(i32::from_be_bytes(*b)))
            }
            IntegerArray::Long(bytes) => {
                bytes.get(index.checked_mul(8)?..)?.first_chunk().map(|b| i64::from_be_bytes(*b))
            }
        }
    }
}

/// The members of a branch that locate its baskets (root-io-spec TBranch §4, §5).
#[derive(Debug, Default)]
pub(super) struct BasketTable<'a> {
    /// `fWriteBasket`: number of closed baskets; one more may be in `embedded`.
    pub(super) write_basket: i32,
    /// `fEntryNumber`: one past the last entry.
    pub(super) entry_number: u64,
    /// `fBasketBytes`.
    pub(super) bytes: IntegerArray<'a>,
    /// `fBasketEntry`.
    pub(super) entry: IntegerArray<'a>,
    /// `fBasketSeek`.
    pub(super) seek: IntegerArray<'a>,
    /// `fBaskets`: the slots that hold a basket, in ascending order.
    pub(super) embedded: Vec<(usize, Bytes)>,
}

impl BasketTable<'_> {
    /// The baskets that hold entries, checked to be in ascending order and inside a file of `file_size`
    /// bytes, if that is known.
    pub(super) fn baskets(&self, file_size: Option<u64>) -> Result<Vec<BasketRef>> {
        let count = usize::try_from(self.write_basket)
            .map_err(|_| Error::corrupt(format!("the branch has {} baskets", self.write_basket)))?;
        let mut embedded = self.embedded.iter().peekable();
        let mut baskets: Vec<BasketRef> = Vec::with_capacity(self.entry.len().min(count.saturating_add(1)));
        // Slot `count` holds the open basket, if any; higher slots have no meaning (TBranch §5).
        for index in 0..=count {
            let stored = embedded.next_if(|(slot, _)| *slot == index).map(|(_, stored)| stored);
            if index == count && stored.is_none() {
                break;
            }
            let first_entry = self.first_entry(index)?;
            if index == count && first_entry >= self.entry_number {
                break; // the open basket holds nothing yet
            }
            // A closed basket that also has an offset was read back before the tree was written (TBranch
            // §5.1), or only its header is here. For the open basket, the offset has no meaning (TBranch
            // §13.4).
            let on_file = index < count && self.seek.get(index).is_some_and(|seek| seek > 0);
            let basket = match stored.filter(|_| !on_file) {
                Some(stored) => embedded_basket(first_entry, stored)?,
                None => self.basket_on_file(index, first_entry, file_size)?,
            };
            if basket.entries == 0 {
                continue;
            }
            let free_from = baskets.last().map_or(0, |last| last.first_entry + last.entries);
            if basket.first_entry < free_from {
                return Err(Error::corrupt(format!(
                    "basket {index} begins at entry {first_entry}, the one before it ends at {free_from}"
                )));
            }
            baskets.push(basket);
        }
        Ok(baskets)
    }

    /// True if the last closed basket has no entries, although others may have.
    pub(super) fn ends_with_an_empty_basket(&self) -> bool {
        let last = usize::try_from(self.write_basket).ok().and_then(|count| count.checked_sub(1));
        let first_entry = last.and_then(|last| self.first_entry(last).ok());
        self.entry_number > 0 && first_entry == Some(self.entry_number)
    }

    fn first_entry(&self, index: usize) -> Result<u64> {
        let entry = self
            .entry
            .get(index)
            .ok_or_else(|| Error::corrupt(format!("basket {index} is not in the table")))?;
        u64::try_from(entry).map_err(|_| Error::corrupt(format!("basket {index} begins at entry {entry}")))
    }

    fn basket_on_file(&self, index: usize, first_entry: u64, file_size: Option<u64>) -> Result<BasketRef> {
        let end = self.end_entry(index, first_entry)?;
        let missing = || Error::corrupt(format!("the table of baskets has no place for basket {index}"));
        let mut basket =
            BasketRef { first_entry, entries: end - first_entry, offset: 0, len: 0, embedded: None };
        if basket.entries == 0 {
            return Ok(basket);
        }
        let (seek, bytes) = self.seek.get(index).zip(self.bytes.get(index)).ok_or_else(missing)?;
        let (seek, bytes) = u64::try_from(seek).ok().zip(u64::try_from(bytes).ok()).ok_or_else(missing)?;
        if seek == 0 || bytes == 0 {
            return Err(Error::corrupt(format!("basket {index} was never written")));
        }
        let range = ByteRange::new(seek, bytes)?;
        if file_size.is_some_and(|size| range.end() > size) {
            return Err(
                Error::corrupt(format!("basket {index} ({range}) is beyond the end of the file")).at(seek)
            );
        }
        (basket.offset, basket.len) = (range.start, range.len);
        Ok(basket)
    }

    /// One past the last entry of a basket: the first of the next one. After the last one comes the number of
    /// entries, which some old files lack (TBranch §4.1).
    fn end_entry(&self, index: usize, first_entry: u64) -> Result<u64> {
        let next = self.entry.get(index + 1).and_then(|next| u64::try_from(next).ok());
        match next {
            Some(next) if next >= first_entry => Ok(next),
            _ if i64::from(self.write_basket) == index as i64 + 1 && self.entry_number >= first_entry => {
                Ok(self.entry_number)
            }
            _ => Err(Error::corrupt(format!(
                "basket {index} begins at entry {first_entry}, behind the next one"
            ))),
        }
    }
}

/// A basket inside the tree's record. The number of entries is that of its header (TBranch §11.6).
fn embedded_basket(first_entry: u64, stored: &Bytes) -> Result<BasketRef> {
    let entries = BasketHeader::parse(stored)?.entries as u64;
    Ok(BasketRef { first_entry, entries, offset: 0, len: 0, embedded: Some(stored.clone()) })
}
