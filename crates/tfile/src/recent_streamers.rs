//! The class descriptions that were parsed last: those of the files of a dataset are the same, byte for byte.

use crate::record::payload_of;
use crate::{Key, Record, StreamerInfos};
use bytes::Bytes;
use sapwood_core::Result;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

/// Most records that are kept.
const MOST: usize = 8;

/// Most bytes of a record that is kept, before and after decompression.
const LARGEST: usize = 4 << 20;

static RECENT: Mutex<VecDeque<ParsedRecord>> = Mutex::new(VecDeque::new());

/// A record, and what it describes.
struct ParsedRecord {
    key_len: u32,
    object_len: u32,
    file_version: u32,
    /// The object as it is stored.
    stored: Box<[u8]>,
    streamers: StreamerInfos,
}

/// Parses the record of the class descriptions at `offset`, or recalls the result if a record with the same content was
/// parsed not long ago.
///
/// # Errors
/// `Truncated`, `Corrupt` or `Checksum`, with the offset.
pub(crate) fn parse(record: &Bytes, offset: u64, file_version: u32) -> Result<StreamerInfos> {
    let key = Key::parse_at(record, offset)?;
    let stored = payload_of(&key, record)?;
    let is_same = |parsed: &ParsedRecord| {
        (parsed.key_len, parsed.object_len, parsed.file_version)
            == (key.key_len, key.object_len, file_version)
            && *parsed.stored == *stored
    };
    let recent = || RECENT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(parsed) = recent().iter().find(|parsed| is_same(parsed)) {
        return Ok(parsed.streamers.clone());
    }
    let streamers = StreamerInfos::parse(&Record::decode(&key, record)?, file_version)?;
    if stored.len().max(key.object_len as usize) <= LARGEST {
        let (key_len, object_len) = (key.key_len, key.object_len);
        let stored = stored.into();
        let parsed = ParsedRecord { key_len, object_len, file_version, stored, streamers: streamers.clone() };
        let mut recent = recent();
        recent.truncate(MOST - 1);
        recent.push_front(parsed);
    }
    Ok(streamers)
}
