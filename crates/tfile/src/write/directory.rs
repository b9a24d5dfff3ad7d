//! Writes a directory: its record, and the list of its keys.

use super::free::BIG_FILE;
use super::key::{NewKey, RecordExtent};
use super::{Datime, FileStamp, RecordBuffer};
use crate::key::LARGE;
use crate::{Cursor, Key};
use bytes::Bytes;
use sapwood_core::{Error, Result};

/// Bytes of a directory's fields, whatever the width of its offsets (root-io-spec Directory §7.1).
pub(super) const FIELDS_LEN: usize = 60;
/// `TDirectoryFile`'s class version.
const VERSION: u16 = 5;

/// A directory and its keys.
#[derive(Debug, Clone, Default)]
pub(super) struct DirectoryRecord {
    pub(super) name: String,
    pub(super) title: String,
    /// `fSeekDir` and `fSeekParent`.
    pub(super) offset: u64,
    pub(super) parent: u64,
    /// `fNbytesName`: bytes before the fields.
    pub(super) fields_at: u32,
    pub(super) created: Datime,
    pub(super) uuid: [u8; 16],
    pub(super) keys: Vec<ListedKey>,
    /// Bytes in the record for the fields.
    pub(super) room: usize,
    /// Offset and length of the key list in the file; 0 before there is one.
    pub(super) seek_keys: u64,
    pub(super) nbytes_keys: u32,
    /// True if it has changes that are not in the file yet.
    pub(super) changed: bool,
}

/// A key in the list of a directory.
#[derive(Debug, Clone)]
pub(super) struct ListedKey {
    pub(super) name: String,
    pub(super) cycle: i16,
    /// The bytes of the key at the head of the record.
    pub(super) image: Bytes,
}

impl ListedKey {
    /// The key.
    pub(super) fn key(&self) -> Result<Key> {
        Key::parse(&mut Cursor::new(&self.image, 0))
    }
}

impl DirectoryRecord {
    /// A new directory, with `fields_at` bytes before its fields.
    pub(super) fn new(key: &NewKey, place: RecordExtent, fields_at: u32, uuid: [u8; 16]) -> DirectoryRecord {
        DirectoryRecord {
            name: key.name.clone(),
            title: key.title.clone(),
            offset: place.offset,
            parent: place.parent,
            fields_at,
            created: place.datime,
            uuid,
            keys: Vec::new(),
            room: FIELDS_LEN,
            seek_keys: 0,
            nbytes_keys: 0,
            changed: true,
        }
    }

    /// The index of a new key in the list, and its cycle: in front of the keys of the same name (WritingFiles
    /// §8.1).
    pub(super) fn next(&self, name: &str, cycle: Option<i16>) -> (usize, i16) {
        let run = |key: &&ListedKey| key.name == name;
        let newest = self.keys.iter().filter(run).map(|key| key.cycle.unsigned_abs()).max();
        let next = newest.map_or(1, |cycle| i16::try_from(cycle.saturating_add(1)).unwrap_or(i16::MAX));
        let cycle = cycle.unwrap_or(next);
        // Only copies of old cycles do not have the highest cycle of their name.
        let older = |key: &ListedKey| key.name == name && key.cycle.unsigned_abs() < cycle.unsigned_abs();
        let last = self.keys.iter().rposition(|key| key.name == name);
        let place = self.keys.iter().position(older).or(last.map(|last| last + 1));
        (place.unwrap_or(self.keys.len()), cycle)
    }

    /// The fields of the record (root-io-spec Directory §2).
    pub(super) fn fields(&self, modified: Datime) -> Result<Vec<u8>> {
        let wide = [self.offset, self.parent, self.seek_keys].iter().any(|&offset| offset > BIG_FILE);
        let mut buffer = RecordBuffer::new(0);
        buffer.u16(VERSION + if wide { LARGE } else { 0 });
        buffer.u32(self.created.0);
        buffer.u32(modified.0);
        buffer.u32(self.nbytes_keys);
        buffer.u32(self.fields_at);
        for offset in [self.offset, self.parent, self.seek_keys] {
            buffer.file_offset(offset, wide);
        }
        buffer.u16(1);
        buffer.bytes(&self.uuid);
        let mut fields = buffer.finish()?;
        if fields.len() > self.room {
            let message =
                format!("the record of the directory '{}' has no room for larger offsets", self.name);
            return Err(Error::unsupported(message).hint("copy the contents of the file to a new one"));
        }
        fields.resize(self.room.min(FIELDS_LEN), 0);
        Ok(fields)
    }

    /// The payload of the list of keys.
    pub(super) fn key_list(&self) -> Result<Vec<u8>> {
        let mut buffer = RecordBuffer::new(0);
        buffer.count(self.keys.len());
        self.keys.iter().for_each(|key| buffer.bytes(&key.image));
        buffer.finish()
    }
}

/// The record of a new directory below another: its bytes and its state.
pub(super) fn record(
    key: &NewKey,
    place: RecordExtent,
    stamp: &FileStamp,
) -> Result<(Vec<u8>, DirectoryRecord)> {
    let directory = DirectoryRecord::new(key, place, key.len(), stamp.uuid_at(place.offset));
    let mut bytes = key.image(&place, &[])?;
    bytes.extend(directory.fields(place.datime)?);
    Ok((bytes, directory))
}
