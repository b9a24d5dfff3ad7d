//! Takes the events of a block apart into the entries of each column.

use super::column::Column;
use super::flat_block::{is_placed, too_long};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_ttree::BasketRecord;

/// Bytes of events that are taken apart at a time. Together with the ends of all columns they fit into the cache of a
/// core, where the entries of one event end up in as many places as there are columns.
const TILE: usize = 256 << 10;

/// Where an entry is in the block, and its length.
#[derive(Clone, Copy)]
struct EntryPlace {
    start: u32,
    len: u32,
}

impl EntryPlace {
    /// Its bytes, and its original position if that is stored.
    fn entry(self, content: &[u8], is_placed: bool) -> Result<(&[u8], Option<u32>)> {
        let start = self.start as usize;
        let entry = content.get(start..start + self.len as usize).ok_or_else(ends)?;
        let origin = || start.checked_sub(4).and_then(|at| word(content, at)).ok_or_else(ends);
        Ok((entry, is_placed.then(origin).transpose()?))
    }
}

/// The entries of each column in the `content` of a block; `None` for a column without data.
///
/// # Errors
/// `Truncated` or `Corrupt` if the content does not hold exactly `events` events.
pub(super) fn split(content: &[u8], columns: &[Column], events: u64) -> Result<Vec<Option<BasketRecord>>> {
    let filled: Vec<&Column> = columns.iter().filter(|column| column.has_data).collect();
    // Without data, a file could claim any number of events.
    let mut left = if filled.is_empty() { 0 } else { events };
    let most = content.len() / 4 / filled.len().max(1);
    let expected = usize::try_from(left).map_or(most, |left| left.min(most));
    let mut joined: Vec<BasketRecord> =
        filled.iter().map(|column| BasketRecord::new(&column.form.key, expected)).collect();
    let (mut scan, mut tile) = (Scan { content, at: 0 }, Vec::new());
    while left > 0 {
        let begin = scan.at;
        tile.clear();
        while left > 0 && scan.at - begin < TILE {
            for column in &filled {
                tile.push(scan.entry(is_placed(column))?);
            }
            left -= 1;
        }
        for ((number, column), entries) in filled.iter().enumerate().zip(&mut joined) {
            for place in tile.iter().skip(number).step_by(filled.len()) {
                let (entry, origin) = place.entry(content, is_placed(column))?;
                entries.add(entry, origin)?;
            }
        }
        if begin == 0 {
            // The other tiles are probably alike.
            let others = content.len().div_ceil(scan.at.max(1)) - 1;
            joined.iter_mut().for_each(|entries| entries.reserve(entries.entry_bytes() * others));
        }
    }
    if scan.at != content.len() {
        return Err(Error::corrupt("a block of events has extra bytes"));
    }
    let mut joined = joined.into_iter();
    Ok(columns.iter().map(|column| if column.has_data { joined.next() } else { None }).collect())
}

/// Passes over the entries of a block.
struct Scan<'c> {
    content: &'c [u8],
    at: usize,
}

impl Scan<'_> {
    /// The next entry.
    fn entry(&mut self, is_placed: bool) -> Result<EntryPlace> {
        let len = word(self.content, self.at).ok_or_else(ends)?;
        let start = self.at + if is_placed { 8 } else { 4 };
        self.at =
            start.checked_add(len as usize).filter(|&end| end <= self.content.len()).ok_or_else(ends)?;
        Ok(EntryPlace { start: u32::try_from(start).map_err(|_| too_long())?, len })
    }
}

fn word(content: &[u8], at: usize) -> Option<u32> {
    content.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn ends() -> Error {
    Error::new(ErrorKind::Truncated, "a block of events is too short")
}
