//! Copies records from another file: their keys change only in lengths and offsets.

use super::file::{DirectoryId, FileWriter, RecordPosition};
use super::key::NewKey;
use crate::key::{ADDRESS, LARGE};
use crate::{Cursor, Key};
use bytes::Bytes;
use sapwood_core::{Error, ErrorKind, Result};

/// Positions of a key's version and of its `fSeekKey` (root-io-spec Record §2).
const VERSION_AT: usize = 4;
const SEEK_AT: usize = 18;

impl FileWriter {
    /// True if the record of this key fits at the end of the file, with its process IDs shifted by
    /// `pid_shift`: a key with 4-byte offsets ends at 2 GiB and has no process IDs.
    fn can_take(&self, key: &[u8], pid_shift: u16) -> bool {
        is_wide(key) || (pid_shift == 0 && self.end() <= u64::from(u32::MAX >> 1))
    }

    /// Places a record with its key from another file, including the fields of its class, so that references
    /// inside the object stay valid for any class. `payload` may be compressed differently. `pid_shift` is
    /// added to `fPidOffset`.
    ///
    /// # Errors
    /// `Corrupt` if the key is invalid; `Limit` if the key has 4-byte offsets and the file is too long for
    /// it, or the record is too long.
    pub fn copied(
        &mut self,
        directory: DirectoryId,
        key: &[u8],
        payload: Bytes,
        pid_shift: u16,
    ) -> Result<RecordPosition> {
        let (placed, image) = self.moved(directory, key, &payload, pid_shift)?;
        self.append(image, false);
        self.append(payload, false);
        Ok(placed)
    }

    /// As [`copied`](FileWriter::copied), and lists the record in the directory under its old name and cycle.
    ///
    /// # Errors
    /// Those of `copied`.
    pub fn copied_and_listed(
        &mut self,
        directory: DirectoryId,
        key: &[u8],
        payload: Bytes,
        pid_shift: u16,
    ) -> Result<RecordPosition> {
        let old = Key::parse(&mut Cursor::new(key, 0))?;
        let named = NewKey::new(&old.class_name, &old.name, &old.title, is_wide(key));
        let (placed, image) = self.moved(directory, key, &payload, pid_shift)?;
        self.append(image.clone(), false);
        self.append(payload, false);
        self.list(directory, &named, placed.cycle, image)?;
        Ok(placed)
    }

    fn moved(
        &self,
        directory: DirectoryId,
        key: &[u8],
        payload: &Bytes,
        pid_shift: u16,
    ) -> Result<(RecordPosition, Bytes)> {
        let cut = || Error::new(ErrorKind::Truncated, "a key is cut off");
        let parent = self.get(directory)?.offset;
        let offset = self.end();
        if !self.can_take(key, pid_shift) {
            let message = format!("a record that begins at {offset} does not fit the key that it had");
            return Err(Error::new(ErrorKind::Limit, message).hint(
                "it was written for files below 2 GiB: write fewer entries or branches into one file",
            ));
        }
        let too_long = || Error::new(ErrorKind::Limit, "a record is longer than 1 GiB");
        let nbytes = i32::try_from(key.len() + payload.len()).map_err(|_| too_long())?;
        let mut image = key.to_vec();
        let mut put = |at: usize, bytes: &[u8]| -> Result<()> {
            image.get_mut(at..at + bytes.len()).ok_or_else(cut)?.copy_from_slice(bytes);
            Ok(())
        };
        put(0, &nbytes.to_be_bytes())?;
        if is_wide(key) {
            let old = key.get(SEEK_AT + 8..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
            let pid = (u64::from_be_bytes(*old) & !ADDRESS).saturating_add(u64::from(pid_shift) << 48);
            put(SEEK_AT, &offset.to_be_bytes())?;
            put(SEEK_AT + 8, &(pid | parent).to_be_bytes())?;
        } else {
            let word = |value: u64| u32::try_from(value).unwrap_or_default().to_be_bytes();
            put(SEEK_AT, &word(offset))?;
            put(SEEK_AT + 4, &word(parent))?;
        }
        let key_len = u32::try_from(key.len()).unwrap_or(u32::MAX);
        let cycle = key.get(16..).and_then(|rest| rest.first_chunk()).ok_or_else(cut)?;
        let placed = RecordPosition {
            offset,
            key_len,
            bytes: u32::try_from(nbytes).unwrap_or(u32::MAX),
            cycle: i16::from_be_bytes(*cycle),
        };
        Ok((placed, image.into()))
    }
}

/// `fPidOffset` of a key: the number added to the process IDs of references in its object.
pub fn pid_offset(key: &[u8]) -> u16 {
    let parent = key.get(SEEK_AT + 8..).and_then(|rest| rest.first_chunk()).filter(|_| is_wide(key));
    parent.map_or(0, |parent| u16::from_be_bytes(*parent))
}

/// True if a key, or the key at the start of a record, has 8-byte offsets.
pub fn is_wide(key: &[u8]) -> bool {
    key.get(VERSION_AT..)
        .and_then(|rest| rest.first_chunk())
        .is_some_and(|word| u16::from_be_bytes(*word) > LARGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::FileStamp;
    use sapwood_codec::Compression;

    #[test]
    fn a_record_keeps_all_but_its_place() {
        let mut file = FileWriter::new("a.root", "", Compression::default(), FileStamp::now()).unwrap();
        let top = file.top();
        let offset = file.end();
        let old = NewKey { pid_offset: 2, ..NewKey::new("X", "x", "title", true) };
        let place = super::super::key::RecordExtent {
            offset: 5000,
            parent: 100,
            cycle: 7,
            datime: crate::write::Datime(1),
            payload_len: 3,
            object_len: 9,
        };
        let image = old.image(&place, b"fields").unwrap();
        let placed = file.copied_and_listed(top, &image, Bytes::from_static(b"stored"), 3).unwrap();
        assert_eq!((placed.offset, placed.cycle), (offset, 7));
        let pieces = file.take();
        let key = Key::parse_at(&pieces[1].bytes, offset).unwrap();
        assert_eq!(
            (key.nbytes as usize, key.object_len, key.parent, key.cycle),
            (image.len() + 6, 9, 100, 7)
        );
        assert_eq!(pieces[1].bytes[SEEK_AT + 8..SEEK_AT + 10], [0, 5]);
        assert!(pieces[1].bytes.ends_with(b"fields"));
    }

    #[test]
    fn a_narrow_key_has_no_process_ids() {
        let mut file = FileWriter::new("a.root", "", Compression::default(), FileStamp::now()).unwrap();
        let narrow = [0; 40];
        assert!(file.can_take(&narrow, 0) && !file.can_take(&narrow, 1));
        assert!(file.copied(file.top(), &narrow, Bytes::new(), 1).is_err());
        assert!(file.copied(file.top(), &narrow[..10], Bytes::new(), 0).is_err());
    }
}
