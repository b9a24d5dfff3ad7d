//! Directories: their record, and the list of their keys.

use crate::key::LARGE;
use crate::reader::Reader;
use crate::{Cursor, Key};
use sapwood_core::{ByteRange, Error, Result};
use std::ops::Range;

/// Bytes of the longest directory record: two versions, two dates, two lengths, three offsets, a UUID
/// (root-io-spec Directory §7.1).
const FIELDS_LEN: u64 = 60;
/// Minimum size of a key in a key list.
const KEY_MIN_LEN: usize = 29;

/// A directory: the keys of what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    /// `fSeekDir`: offset of the directory's own record.
    pub offset: u64,
    /// `fDatimeC`: when it was made, packed as [`Key::datime`].
    pub created: u32,
    /// `fDatimeM`: when it was last changed, packed as [`Key::datime`].
    pub modified: u32,
    /// The range of its key list; `None` if it was never saved and is therefore empty.
    pub key_list: Option<ByteRange>,
    /// Its UUID; `None` in files before ROOT 3.03/07 and of some other writers.
    pub uuid: Option<[u8; 16]>,
    /// Its keys, in the order of the file: for each name, the highest cycle first.
    pub keys: Vec<Key>,
}

impl Directory {
    /// The key with a name: the given cycle, or the highest.
    pub fn key(&self, name: &str, cycle: Option<u16>) -> Option<&Key> {
        self.keys
            .iter()
            .filter(|key| key.name == name && cycle.is_none_or(|cycle| key.cycle == cycle))
            .max_by_key(|key| key.cycle)
    }

    /// Reads the directory whose record is at `offset`, with `fields_at` bytes before its fields.
    ///
    /// `None` if bytes are missing; the reader keeps their ranges.
    pub(crate) fn read(reader: &mut Reader<'_>, offset: u64, fields_at: u32) -> Result<Option<Directory>> {
        let start = offset.saturating_add(u64::from(fields_at));
        let Some(fields) = reader.get_up_to(start, FIELDS_LEN, "the directory")? else { return Ok(None) };
        let mut directory = Directory::parse(&fields, start)?;
        if directory.offset != offset {
            let message = format!("the directory at {offset} states the offset {}", directory.offset);
            return Err(Error::corrupt(message).at(start));
        }
        if let Some(range) = directory.key_list {
            let Some(record) = reader.get(range.start, range.len, "the list of keys")? else {
                return Ok(None);
            };
            directory.keys = parse_keys(&record, range.start)?;
        }
        Ok(Some(directory))
    }

    /// Parses the fields of a directory, without its keys.
    fn parse(fields: &[u8], offset: u64) -> Result<Directory> {
        let mut cursor = Cursor::new(fields, 0).at_offset(offset);
        let version = cursor.u16()?;
        let created = cursor.u32()?;
        let modified = cursor.u32()?;
        let nbytes_keys = cursor.u32()?;
        cursor.skip(4)?; // fNbytesName, known from the header or the key
        let mut seek = || cursor.file_offset(version > LARGE);
        let offset = seek()?;
        seek()?; // fSeekParent is the top directory before ROOT 6.38: Directory §4.3
        let seek_keys = seek()?;
        // The class version and the width of the offsets are independent: Directory §3.1.
        let uuid = match version % LARGE {
            0 | 1 => None,
            2 => Some(cursor.array()?),
            _ => {
                cursor.skip(2)?;
                Some(cursor.array()?)
            }
        };
        let key_list =
            if seek_keys == 0 { None } else { Some(ByteRange::new(seek_keys, u64::from(nbytes_keys))?) };
        Ok(Directory { offset, created, modified, key_list, uuid, keys: Vec::new() })
    }
}

fn parse_keys(record: &[u8], offset: u64) -> Result<Vec<Key>> {
    Ok(keys_with_ranges(record, offset)?.into_iter().map(|(key, _)| key).collect())
}

/// Parses a key list: its own key, a count, and that many keys. Garbage may follow (Directory §6.1). Returns
/// each key with its range in the record.
pub(crate) fn keys_with_ranges(record: &[u8], offset: u64) -> Result<Vec<(Key, Range<usize>)>> {
    let own = Key::parse_at(record, offset)?;
    let mut cursor = Cursor::new(record, 0).at_offset(offset);
    cursor.skip(own.key_len as usize)?;
    let count = cursor.count(KEY_MIN_LEN)?;
    let key = |_| {
        let start = cursor.position();
        let key = Key::parse(&mut cursor)?;
        Ok((key, start..cursor.position()))
    };
    (0..count).map(key).collect()
}
