//! Takes the events of a block apart into the entries of each column.

use super::column::Column;
use super::flat_block::{is_placed, too_long};
use sapwood_core::{Error, ErrorKind, Result};
use sapwood_ttree::Entries;

/// Bytes of events that are taken apart at a time. Together with the ends of all columns they fit into the cache of a
/// core, where the entries of one event end up in as many places as there are columns.
const TILE: usize = 256 << 10;

/// The entries of a column, joined.
struct JoinedEntries {
    data: Vec<u8>,
    starts: Vec<u32>,
    origins: Vec<u32>,
}

/// Where an entry is in the block, and its length.
#[derive(Clone, Copy)]
struct EntryPlace {
    start: u32,
    len: u32,
}

/// The entries of each column in the `content` of a block; `None` for a column without data.
///
/// # Errors
/// `Truncated` or `Corrupt` if the content does not hold exactly `events` events.
pub(super) fn split(content: &[u8], columns: &[Column], events: u64) -> Result<Vec<Option<Entries>>> {
    let filled: Vec<&Column> = columns.iter().filter(|column| column.has_data).collect();
    // Without data, a file could claim any number of events.
    let mut left = if filled.is_empty() { 0 } else { events };
    let most = content.len() / 4 / filled.len().max(1);
    let expected = usize::try_from(left).map_or(most, |left| left.min(most));
    let mut joined: Vec<JoinedEntries> =
        filled.iter().map(|column| JoinedEntries::new(column, expected)).collect();
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
        for (number, (column, entries)) in filled.iter().zip(&mut joined).enumerate() {
            for &place in tile.iter().skip(number).step_by(filled.len()) {
                entries.add(content, place, is_placed(column))?;
            }
        }
    }
    if scan.at != content.len() {
        return Err(Error::corrupt("a block of events has extra bytes"));
    }
    let mut joined = joined.into_iter();
    let entries = columns.iter().map(|column| match column.has_data {
        true => joined.next().map(|entries| entries.finish(column)).transpose(),
        false => Ok(None),
    });
    entries.collect()
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

impl JoinedEntries {
    /// No entries yet, and room for the starts of as many as are `expected`.
    fn new(column: &Column, expected: usize) -> JoinedEntries {
        let origins = if is_placed(column) { expected } else { 0 };
        JoinedEntries {
            data: Vec::new(),
            starts: Vec::with_capacity(expected + 1),
            origins: Vec::with_capacity(origins),
        }
    }

    fn add(&mut self, content: &[u8], place: EntryPlace, is_placed: bool) -> Result<()> {
        let start = place.start as usize;
        let entry = content.get(start..start + place.len as usize).ok_or_else(ends)?;
        self.starts.push(self.end()?);
        self.data.extend_from_slice(entry);
        if is_placed {
            self.origins.push(start.checked_sub(4).and_then(|at| word(content, at)).ok_or_else(ends)?);
        }
        Ok(())
    }

    /// Where the last entry ends.
    fn end(&self) -> Result<u32> {
        u32::try_from(self.data.len()).map_err(|_| too_long())
    }

    fn finish(mut self, column: &Column) -> Result<Entries> {
        if !is_placed(column) {
            self.origins.clone_from(&self.starts);
        }
        self.starts.push(self.end()?);
        Entries::new(self.data, self.starts, self.origins, &column.form.references)
    }
}

fn word(content: &[u8], at: usize) -> Option<u32> {
    content.get(at..)?.first_chunk().map(|word| u32::from_le_bytes(*word))
}

fn ends() -> Error {
    Error::new(ErrorKind::Truncated, "a block of events is too short")
}
