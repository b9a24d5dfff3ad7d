//! Writes the key before a record.

use super::{Datime, RecordBuffer};
use crate::key::LARGE;
use sapwood_core::{Error, ErrorKind, Result};

/// Bytes of a key without its strings, with 4-byte and with 8-byte offsets (root-io-spec Record §2).
const FIXED_LEN: usize = 26;
const FIXED_LEN_WIDE: usize = 34;
/// `TKey`'s class version.
const VERSION: u16 = 4;

/// The key of a record before it is placed.
///
/// Its length is known at once; references inside the object count from the start of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewKey {
    /// Class of the object.
    pub class_name: String,
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// True if its offsets have 8 bytes: needed beyond 2 GiB, allowed everywhere. See
    /// [`FileWriter::wide`](super::FileWriter::wide).
    pub wide: bool,
    /// `fCycle`, with the sign by which ROOT marks keys to be kept; by default, the next cycle of its name in
    /// the directory.
    pub cycle: Option<i16>,
    /// `fDatime`; by default the time of the file.
    pub datime: Option<Datime>,
    /// `fPidOffset`, by which references in the object find their process ID; requires a wide key.
    pub pid_offset: u16,
}

impl NewKey {
    /// A key with a name; its offsets have 8 bytes if it is `wide`.
    pub fn new(class_name: &str, name: &str, title: &str, wide: bool) -> Self {
        NewKey {
            class_name: class_name.to_owned(),
            name: name.to_owned(),
            title: title.to_owned(),
            wide,
            cycle: None,
            datime: None,
            pid_offset: 0,
        }
    }

    /// `fKeylen`: bytes of the key. The additional fields of a basket's key are not included.
    pub fn len(&self) -> u32 {
        let fixed = if self.is_wide() { FIXED_LEN_WIDE } else { FIXED_LEN };
        let strings: usize = [&self.class_name, &self.name, &self.title]
            .iter()
            .map(|text| text.len() + if text.len() < 255 { 1 } else { 5 })
            .sum();
        u32::try_from(fixed + strings).unwrap_or(u32::MAX)
    }

    /// False: a key has at least its fixed fields.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn is_wide(&self) -> bool {
        self.wide || self.pid_offset != 0
    }

    /// A record that is not in a file yet: its key with address 0, then `fields`, then the stored bytes of an
    /// object of `object_len` bytes.
    ///
    /// # Errors
    /// `Limit` if the record or its key is too long.
    pub fn record(&self, fields: &[u8], payload: &[u8], object_len: usize) -> Result<Vec<u8>> {
        let mut record = self.before(fields, payload.len(), object_len)?;
        record.extend_from_slice(payload);
        Ok(record)
    }

    /// The bytes of such a record before its payload.
    ///
    /// # Errors
    /// `Limit` if the record or its key is too long.
    pub fn before(&self, fields: &[u8], payload_len: usize, object_len: usize) -> Result<Vec<u8>> {
        let datime = self.datime.unwrap_or(Datime(0));
        let cycle = self.cycle.unwrap_or(1);
        self.image(&RecordExtent { offset: 0, parent: 0, cycle, datime, payload_len, object_len }, fields)
    }

    /// The bytes of the key of a placed record, followed by `fields`.
    ///
    /// # Errors
    /// `Limit` if the record or its key is too long, or its offset is too large for a narrow key.
    pub(crate) fn image(&self, place: &RecordExtent, fields: &[u8]) -> Result<Vec<u8>> {
        let key_len = self.len() as usize + fields.len();
        let nbytes = i32::try_from(key_len + place.payload_len);
        let (Ok(short_len), Ok(nbytes), Ok(object_len)) =
            (i16::try_from(key_len), nbytes, i32::try_from(place.object_len))
        else {
            let message = format!("'{}' is too long for a ROOT file", self.name);
            let hint = "names and titles together can have 32 KiB, an object 1 GiB";
            return Err(Error::new(ErrorKind::Limit, message).hint(hint));
        };
        let mut buffer = RecordBuffer::new(0);
        buffer.i32(nbytes);
        buffer.u16(VERSION + if self.is_wide() { LARGE } else { 0 });
        buffer.i32(object_len);
        buffer.u32(place.datime.0);
        buffer.i16(short_len);
        buffer.i16(place.cycle);
        if self.is_wide() {
            buffer.u64(place.offset);
            buffer.u64(u64::from(self.pid_offset) << 48 | place.parent);
        } else {
            let (Ok(offset), Ok(parent)) = (i32::try_from(place.offset), i32::try_from(place.parent)) else {
                let message = format!(
                    "the record of '{}' is at {}, beyond the range of its key",
                    self.name, place.offset
                );
                return Err(Error::new(ErrorKind::Limit, message).hint("make its key wide"));
            };
            buffer.i32(offset);
            buffer.i32(parent);
        }
        for text in [&self.class_name, &self.name, &self.title] {
            buffer.tstring(text);
        }
        buffer.bytes(fields);
        buffer.finish()
    }
}

/// The position and the lengths of a record: the numbers in its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RecordExtent {
    pub(crate) offset: u64,
    pub(crate) parent: u64,
    pub(crate) cycle: i16,
    pub(crate) datime: Datime,
    pub(crate) payload_len: usize,
    pub(crate) object_len: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;

    const PLACE: RecordExtent = RecordExtent {
        offset: 1000,
        parent: 100,
        cycle: 3,
        datime: Datime(7),
        payload_len: 50,
        object_len: 60,
    };

    #[test]
    fn what_is_written_is_read() {
        for wide in [false, true] {
            let new = NewKey::new("TTree", "Events", "title", wide);
            let image = new.image(&PLACE, b"").unwrap();
            assert_eq!(image.len(), new.len() as usize);
            let key = Key::parse_at(&image, 1000).unwrap();
            assert_eq!((key.key_len, key.payload_len(), key.object_len), (new.len(), 50, 60));
            assert_eq!((key.cycle, key.parent, key.datime), (3, 100, 7));
            assert_eq!(
                (key.class_name.as_str(), key.name.as_str(), key.title.as_str()),
                ("TTree", "Events", "title")
            );
        }
    }

    #[test]
    fn a_process_id_makes_a_key_wide() {
        let new = NewKey { pid_offset: 3, ..NewKey::new("X", "x", "", false) };
        let image = new.image(&PLACE, b"").unwrap();
        let key = Key::parse_at(&image, 1000).unwrap();
        assert_eq!((key.version, key.parent), (1004, 100));
    }

    #[test]
    fn a_narrow_key_reaches_two_gigabytes() {
        let far = RecordExtent { offset: 1 << 31, ..PLACE };
        assert!(NewKey::new("X", "x", "", false).image(&far, b"").is_err());
        assert!(NewKey::new("X", "x", "", true).image(&far, b"").is_ok());
        let long = "x".repeat(40_000);
        assert!(NewKey::new("X", &long, "", true).image(&PLACE, b"").is_err());
    }
}
